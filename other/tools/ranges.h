/* ranges.h - numbers of a list in words for people: "3, 7-12 and 15". */
#ifndef OTHER_RANGES_H
#define OTHER_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes those of 0 .. count-1 that `listed` says belong to the list; what finds no room is left
 * out, and "..." tells so.  Returns how many there are. */
uint32_t gasneti_ranges(char *text, size_t size, uint32_t count,
                        bool (*listed)(const void *of, uint32_t number), const void *of);

#endif
