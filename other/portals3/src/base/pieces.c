/*
 * pieces.c - iteration over memory in pieces, and copies; see pieces.h.
 *
 * Called by the engine for short messages and for operations on the own process, and by transports
 * to split transfers.  Never accesses memory beyond a span.
 */
#include "other/portals3/src/base/pieces.h"

#include <string.h>

#include "other/base/min.h"

void ptli_cursor_start(struct ptli_cursor *cursor, const struct ptli_span *span)
{
    cursor->piece = span->pieces;
    cursor->within = span->offset;
    cursor->left = span->length;
    if (cursor->left == 0) return; /* an empty span may have no piece */
    while (cursor->within >= cursor->piece->length) cursor->within -= cursor->piece++->length;
}

struct ptli_stretch ptli_cursor_next(struct ptli_cursor *cursor, uint64_t most)
{
    struct ptli_stretch stretch = {NULL, 0, NULL};
    if (cursor->left == 0 || most == 0) return stretch;
    while (cursor->within == cursor->piece->length) {
        cursor->piece++;
        cursor->within = 0;
    }
    stretch.base = cursor->piece->base + cursor->within;
    stretch.length =
        gasneti_min(most, gasneti_min(cursor->left, cursor->piece->length - cursor->within));
    stretch.region = cursor->piece->region;
    cursor->within += stretch.length;
    cursor->left -= stretch.length;
    return stretch;
}

void ptli_remote_start(struct ptli_remote_cursor *cursor, const struct ptli_remote *remote,
                       uint32_t count)
{
    cursor->remote = remote;
    cursor->count = count;
    cursor->within = 0;
}

struct ptli_remote ptli_remote_peek(const struct ptli_remote_cursor *cursor)
{
    struct ptli_remote rest = {0, 0, 0};
    if (cursor->count == 0) return rest;
    rest = *cursor->remote;
    rest.address += cursor->within;
    rest.length -= cursor->within;
    return rest;
}

void ptli_remote_skip(struct ptli_remote_cursor *cursor, uint32_t bytes)
{
    cursor->within += bytes;
    if (cursor->count > 0 && cursor->within == cursor->remote->length) {
        cursor->remote++;
        cursor->count--;
        cursor->within = 0;
    }
}

void ptli_span_read(const struct ptli_span *span, void *to)
{
    struct ptli_cursor cursor;
    struct ptli_stretch stretch;
    char *at = to;
    ptli_cursor_start(&cursor, span);
    while ((stretch = ptli_cursor_next(&cursor, UINT64_MAX)).length > 0) {
        memcpy(at, stretch.base, stretch.length);
        at += stretch.length;
    }
}

void ptli_span_write(const struct ptli_span *span, const void *from)
{
    struct ptli_cursor cursor;
    struct ptli_stretch stretch;
    const char *at = from;
    if (span->length == 0) return;
    if (span->count == 1) {
        ptli_store(span->pieces->base + span->offset, from, span->length);
        return;
    }
    ptli_cursor_start(&cursor, span);
    while ((stretch = ptli_cursor_next(&cursor, UINT64_MAX)).length > 0) {
        ptli_store(stretch.base, at, stretch.length);
        at += stretch.length;
    }
}

/* Of equal length. */
void ptli_span_move(const struct ptli_span *to, const struct ptli_span *from)
{
    struct ptli_cursor source, target;
    struct ptli_stretch there;
    ptli_cursor_start(&source, from);
    ptli_cursor_start(&target, to);
    while ((there = ptli_cursor_next(&target, UINT64_MAX)).length > 0) {
        while (there.length > 0) {
            struct ptli_stretch here = ptli_cursor_next(&source, there.length);
            if (here.length == 0) return;
            memmove(there.base, here.base, here.length);
            there.base += here.length;
            there.length -= here.length;
        }
    }
}
