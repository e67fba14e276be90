/*
 * pieces.h - memory in pieces, and iteration over it.  Pure, without allocation.
 *
 * An MD is an array of pieces (one, unless it is an iovec).  A span is a range of the concatenated
 * pieces; it points to the array, which is valid while an operation is pending on the MD.
 */
#ifndef PTLI_PIECES_H
#define PTLI_PIECES_H

#include <stddef.h>
#include <stdint.h>
#include "other/portals3/transport/portals_wire.h"

struct ptli_region;

struct ptli_piece {
    char *base;
    uint64_t length;
    struct ptli_region *region; /* NULL: not registered, so the data must be copied */
};

struct ptli_span {
    const struct ptli_piece *pieces;
    uint32_t count;
    uint64_t offset, length;
};

/* The position of an iteration over a span.  */
struct ptli_cursor {
    const struct ptli_piece *piece;
    uint64_t within; /* bytes of this piece already passed */
    uint64_t left;   /* bytes left of the span */
};

void ptli_cursor_start(struct ptli_cursor *cursor, const struct ptli_span *span);

/* The next contiguous stretch of at most `most` bytes: its address, length and region; length 0 at
 * the end. */
struct ptli_stretch {
    char *base;
    uint64_t length;
    struct ptli_region *region;
};
struct ptli_stretch ptli_cursor_next(struct ptli_cursor *cursor, uint64_t most);

/* The same through a remote list. */
struct ptli_remote_cursor {
    const struct ptli_remote *remote;
    uint32_t count, within;
};
void ptli_remote_start(struct ptli_remote_cursor *cursor, const struct ptli_remote *remote,
                       uint32_t count);
/* The rest of the current piece (length 0: the end), and an advance by at most that length.  */
struct ptli_remote ptli_remote_peek(const struct ptli_remote_cursor *cursor);
void ptli_remote_skip(struct ptli_remote_cursor *cursor, uint32_t bytes);

/* Copy from and to contiguous memory; and between spans, which may overlap only if both are
 * contiguous. */
void ptli_span_read(const struct ptli_span *span, void *to);
void ptli_span_write(const struct ptli_span *span, const void *from);
void ptli_span_move(const struct ptli_span *to, const struct ptli_span *from);

#endif
