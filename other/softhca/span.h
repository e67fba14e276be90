/* span.h - pieces of a text, for the parsers of SOFTHCA_DEVICES and SOFTHCA_FAULTS.
 *
 * A span is a part of somebody else's string, without the blanks around it. Pure.
 */
#ifndef SOFTHCA_SPAN_H
#define SOFTHCA_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shca_span {
    const char *at;
    size_t n;
};

struct shca_span shca_span(const char *text);
/* Takes what stands before the first SEPARATOR, or all, from the front of *REST. */
struct shca_span shca_span_cut(struct shca_span *rest, char separator);
bool shca_span_has(struct shca_span s, char c);
bool shca_span_is(struct shca_span s, const char *word);
bool shca_span_begins(struct shca_span s, const char *word);
/* A whole number, decimal or 0x, that may end in K, M, G or T (times 1024 each). */
bool shca_span_number(struct shca_span s, uint64_t least, uint64_t most, uint64_t *value);
/* For messages: as printf's %.*s wants it, bounded. */
#define SHCA_SPAN(s) (int)((s).n < 40 ? (s).n : 40), (s).at

#endif
