/* numbers.h - numbers as a person writes them in environment variables, parsed and printed.
 *
 * Pure, and visible to no client: gasnett_parse_int and gasnett_format_number of env.c are the
 * public calls.
 */
#ifndef OTHER_NUMBERS_H
#define OTHER_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one number and returns the end of it, or `text` if there is none.  *fits is false if the
 * number has no representation; *value is then the nearest one.  A `mem_multiplier` other than 0 is
 * the unit of a number without suffix, and allows fractions and the suffixes K, M, G and T. */
const char *gasneti_read_number(const char *text, uint64_t mem_multiplier, int64_t *value,
                                bool *fits);

/* The whole text is one number.  If not, false, and errno is EINVAL, or ERANGE for a number that
 * does not fit; *value is then the nearest one that does. */
bool gasneti_parse_int(const char *text, uint64_t mem_multiplier, int64_t *value);

/* A number or a fraction such as 1/4; false when the text is anything else. */
bool gasneti_parse_double(const char *text, double *value);

/* 1 yes, 0 no, -1 neither. */
int gasneti_parse_yesno(const char *text);

/* Prints `value` in a form that gasneti_parse_int reads back; returns `buf`. */
char *gasneti_format_number(int64_t value, char *buf, size_t size, bool is_mem_size);

#endif
