/* ranges.h - prints a set of numbers for messages: "3, 7-12 and 15". */
#ifndef OTHER_RANGES_H
#define OTHER_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints those of 0 .. count-1 for which `listed` is true; "..." stands for those that do not fit.
 * Returns how many there are. */
uint32_t gasneti_ranges(char *text, size_t size, uint32_t count,
                        bool (*listed)(const void *of, uint32_t number), const void *of);

#endif
