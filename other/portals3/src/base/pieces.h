/*
 * pieces.h - memory in pieces, and iteration over it.  Pure, without allocation.
 *
 * An MD is an array of pieces (one, unless it is an iovec).  A span is a range of the concatenated
 * pieces; it points to the array, which is valid while an operation is pending on the MD.
 */
#ifndef PTLI_PIECES_H
#define PTLI_PIECES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "other/portals3/src/base/portals_wire.h"

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

/* The next contiguous range of at most `most` bytes: its address, length and region; length 0 at
 * the end. */
struct ptli_stretch {
    char *base;
    uint64_t length;
    struct ptli_region *region;
};
struct ptli_stretch ptli_cursor_next(struct ptli_cursor *cursor, uint64_t most);

/* The position of an iteration over a list of remote memory. */
struct ptli_remote_cursor {
    const struct ptli_remote *remote;
    uint32_t count, within;
};
void ptli_remote_start(struct ptli_remote_cursor *cursor, const struct ptli_remote *remote,
                       uint32_t count);
/* ptli_remote_peek returns the rest of the current piece, with length 0 at the end;
 * ptli_remote_skip advances by at most that length. */
struct ptli_remote ptli_remote_peek(const struct ptli_remote_cursor *cursor);
void ptli_remote_skip(struct ptli_remote_cursor *cursor, uint32_t bytes);

/* Copies to memory in one piece.  The program may poll the memory meanwhile, and write to it when
 * it has seen a word.  So an aligned word is stored once, atomically, and the last word after all
 * others, as devices do. memcpy may store bytes twice.  */
static inline void ptli_store(char *to, const char *from, size_t length)
{
    uint64_t eight;
    uint32_t four;
    uint16_t two;
    if (length >= sizeof eight && (uintptr_t)(to + length) % sizeof eight == 0) {
        size_t before = length - sizeof eight;
        if (before) memcpy(to, from, before);
        memcpy(&eight, from + before, sizeof eight);
        atomic_store_explicit((_Atomic uint64_t *)(void *)(to + before), eight,
                              memory_order_release);
    } else if (length == sizeof four && (uintptr_t)to % sizeof four == 0) {
        memcpy(&four, from, sizeof four);
        atomic_store_explicit((_Atomic uint32_t *)(void *)to, four, memory_order_release);
    } else if (length == sizeof two && (uintptr_t)to % sizeof two == 0) {
        memcpy(&two, from, sizeof two);
        atomic_store_explicit((_Atomic uint16_t *)(void *)to, two, memory_order_release);
    } else {
        memcpy(to, from, length);
    }
}

/* Copy from and to contiguous memory; and between spans, which may overlap only if both are
 * contiguous. */
void ptli_span_read(const struct ptli_span *span, void *to);
void ptli_span_write(const struct ptli_span *span, const void *from);
void ptli_span_move(const struct ptli_span *to, const struct ptli_span *from);

#endif
