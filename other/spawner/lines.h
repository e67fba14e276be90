/* lines.h - keeps lines whole: bytes in as they come, whole lines out.
 *
 * For output of other hosts, which reaches the launcher cut at arbitrary places.
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

/* Takes bytes; calls `out` at most a few times with whole lines. */
void lines_feed(struct lines *lines, const char *bytes, size_t len, lines_out_fn out, void *ctx);
/* Lets an unfinished line go. */
void lines_flush(struct lines *lines, lines_out_fn out, void *ctx);
void lines_free(struct lines *lines);

#endif
