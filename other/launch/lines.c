/* lines.c - keeps lines whole; see lines.h.  Pure but for its buffer. */
#define _GNU_SOURCE
#include "other/launch/lines.h"

#include <stdlib.h>
#include <string.h>

void lines_flush(struct lines *lines, lines_out_fn out, void *ctx)
{
    if (lines->len) out(ctx, lines->text, lines->len);
    lines->len = 0;
}

void lines_feed(struct lines *lines, const char *bytes, size_t len, lines_out_fn out, void *ctx)
{
    if (!lines->text && !(lines->text = malloc(LINES_MAX))) {
        out(ctx, bytes, len); /* out of memory: pieces instead of whole lines */
        return;
    }
    while (len) {
        size_t part = LINES_MAX - lines->len < len ? LINES_MAX - lines->len : len;
        memcpy(lines->text + lines->len, bytes, part);
        lines->len += part;
        bytes += part;
        len -= part;
        const char *last = memrchr(lines->text, '\n', lines->len);
        size_t whole = last ? (size_t)(last - lines->text) + 1 : 0;
        if (!whole && lines->len == LINES_MAX) whole = lines->len;
        if (!whole) continue;
        out(ctx, lines->text, whole);
        lines->len -= whole;
        memmove(lines->text, lines->text + whole, lines->len);
    }
}

void lines_free(struct lines *lines)
{
    free(lines->text);
    lines->text = NULL;
    lines->len = 0;
}
