/* span.h - parts of a text, for the parsers of SOFTHCA_DEVICES and SOFTHCA_FAULTS.
 *
 * A span is a part of another string, without surrounding blanks. Pure.
 */
#ifndef SOFTHCA_SPAN_H
#define SOFTHCA_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct shca_span {
    const char *at;
    size_t n;
};

struct shca_span shca_span(const char *text);
/* Cuts the text before the first SEPARATOR, or all of it, from the front of *REST. */
struct shca_span shca_span_cut(struct shca_span *rest, char separator);
/* The next item of a list: one more item than separators. Consumes *REST. */
bool shca_span_next(struct shca_span *rest, char separator, struct shca_span *item);
bool shca_span_has(struct shca_span s, char c);
bool shca_span_is(struct shca_span s, const char *word);
bool shca_span_begins(struct shca_span s, const char *word);
/* A whole number, decimal or 0x, that may end in K, M, G or T (times 1024 each). */
bool shca_span_number(struct shca_span s, uint64_t least, uint64_t most, uint64_t *value);
/* "softhcaN", N up to MOST. */
bool shca_span_device(struct shca_span s, uint64_t most, uint64_t *n);

/* Names of numbers; the last row has no name. */
struct shca_word {
    const char *name;
    uint64_t value;
};
bool shca_span_word(struct shca_span s, const struct shca_word *words, uint64_t *value);
/* For messages: appends NAME to the list in LIST; appends all words. */
void shca_list_add(char *list, size_t room, const char *name);
void shca_list_words(char *list, size_t room, const struct shca_word *words);
/* Records in *NEAR the name nearest to the misspelt one. */
struct shca_near {
    const char *name;
    unsigned distance;
};
void shca_span_near(struct shca_span s, const char *name, struct shca_near *near);

/* For messages: the arguments of %.*s, bounded. */
#define SHCA_SPAN(s) (int)((s).n < 40 ? (s).n : 40), (s).at

#endif
