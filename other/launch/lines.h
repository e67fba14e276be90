/* lines.h - collects bytes and hands them on in whole lines.
 *
 * For output of other hosts, which the launcher receives in arbitrary pieces.
 */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>

enum { LINES_MAX = 65536 }; /* a longer line goes out in pieces */

struct lines {
    char *text;
    size_t len;
};

typedef void (*lines_out_fn)(void *ctx, const char *text, size_t len);

/* Adds bytes; calls `out` with whole lines, at most a few times. */
void lines_feed(struct lines *lines, const char *bytes, size_t len, lines_out_fn out, void *ctx);
/* Hands on an unfinished line. */
void lines_flush(struct lines *lines, lines_out_fn out, void *ctx);
void lines_free(struct lines *lines);

#endif
