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

/* Reads a number and returns the end of it, or `text` if that does not begin with a number. *fits
 * is false if the number has no representation; *value is then the nearest one. A `mem_multiplier`
 * other than 0 is the unit of a number without suffix, and allows fractions and the suffixes K, M,
 * G and T. */
const char *gasneti_read_number(const char *text, uint64_t mem_multiplier, int64_t *value,
                                bool *fits);

/* Reads a text that is one number. If it is not, false, and errno is EINVAL, or ERANGE for a number
 * that does not fit; *value is then the nearest one that does. */
bool gasneti_parse_int(const char *text, uint64_t mem_multiplier, int64_t *value);

/* A number or a fraction such as 1/4; false when the text is anything else. */
bool gasneti_parse_double(const char *text, double *value);

/* An amount of memory as a person writes it. */
struct gasneti_memory {
    double amount; /* bytes, or a part of a host's memory, at most 1 */
    char is_part;  /* 1 or 0 */
    char per;      /* 'P': of each process; 'H': of all processes of a host; 0: not written */
};

/* A size with or without a suffix such as MB, or a part of a host's memory: 0.85 or 2/3, a number
 * below 1 or a ratio of at most 1, without a suffix.  Either may be followed by /P or /H.  False as
 * with gasneti_parse_int. */
bool gasneti_parse_memory(const char *text, struct gasneti_memory *memory);

/* The index of the word at `text` among those of `words`, such as "auto|on=yes|off", in any case;
 * -1 if it is none of them.  Words joined by = have one index. */
int gasneti_parse_word(const char *words, const char *text, size_t length);

/* 1: y, yes, true or 1, in any case; 0: n, no, false or 0; -1: anything else. */
int gasneti_parse_yesno(const char *text);

/* Prints `value` in a form that gasneti_parse_int reads back; returns `buf`. */
char *gasneti_format_number(int64_t value, char *buf, size_t size, bool is_mem_size);

#endif
