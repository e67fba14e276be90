/* pieces.h - the addresses of pieces in a message: a writer and a reader; pure.
 *
 * Groups of pieces follow each other.  A group is `times` pieces of `length` bytes, each of which
 * begins `gap` bytes behind the end of the one before; the first piece of all counts from address
 * 0.  A group is written as numbers of seven bits a byte, the lowest first: the length (doubled,
 * odd if `times` follows, which else is 1), the gap (doubled, odd if negative) and `times`.
 * Contiguous pieces are joined.  So a section of an array is one group, and a piece at a random
 * address takes some four bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of one group: its length and times are limited by the data of one message, below
 * 2^34. */
enum { GASNETE_VIS_GROUP_MAX = 20 };

typedef struct gasnete_vis_writer {
    unsigned char *out;
    size_t used;
    uintptr_t end; /* of the last piece of the group */
    size_t length; /* of the group's pieces */
    uintptr_t gap; /* modulo 2^64 */
    size_t times;  /* 0: no group yet */
    uintptr_t at;  /* the last piece, which may still grow */
    size_t pending;
} gasnete_vis_writer_t;

static inline void gasnete_vis_write(gasnete_vis_writer_t *writer, void *out)
{
    *writer = (gasnete_vis_writer_t){.out = out};
}

/* The most bytes that the description can have after one more call of gasnete_vis_add.  */
static inline size_t gasnete_vis_written(const gasnete_vis_writer_t *writer)
{
    return writer->used + 5 * (size_t)GASNETE_VIS_GROUP_MAX;
}

void gasnete_vis_close_group(gasnete_vis_writer_t *writer);

/* Counts the pending piece in a group.  */
static inline void gasnete_vis_group(gasnete_vis_writer_t *writer)
{
    uintptr_t gap = writer->at - writer->end;
    if (writer->times == 0 || gap != writer->gap || writer->pending != writer->length) {
        gasnete_vis_close_group(writer);
        writer->length = writer->pending;
        writer->gap = gap;
    }
    writer->times++;
    writer->end = writer->at + writer->pending;
}

/* Adds a piece of nbytes >= 1.  */
static inline void gasnete_vis_add_piece(gasnete_vis_writer_t *writer, uintptr_t at, size_t nbytes)
{
    if (writer->pending && at == writer->at + writer->pending) {
        writer->pending += nbytes;
        return;
    }
    if (writer->pending) gasnete_vis_group(writer);
    writer->at = at;
    writer->pending = nbytes;
}

/* Adds `times` pieces of nbytes >= 1 at a distance of `stride` bytes.  From the third piece on all
 * pieces but the last join one group, that of the second piece.  */
static inline void gasnete_vis_add(gasnete_vis_writer_t *writer, const void *first, size_t nbytes,
                                   ptrdiff_t stride, size_t times)
{
    uintptr_t at = (uintptr_t)first;
    if (stride == (ptrdiff_t)nbytes) nbytes *= times, times = 1;
    for (size_t i = 0; i < times && i < 3; i++, at += stride)
        gasnete_vis_add_piece(writer, at, nbytes);
    if (times <= 3) return;
    writer->times += times - 3;
    writer->at += (ptrdiff_t)(times - 3) * stride;
    writer->end = writer->at - stride + nbytes;
}

/* Ends the description; returns its bytes.  */
size_t gasnete_vis_finish(gasnete_vis_writer_t *writer);

/* The reader, for descriptions by a peer, which may be malformed: checks that groups have `data`
 * bytes altogether, and that no group is empty or wraps around memory.  */
typedef struct gasnete_vis_reader {
    const unsigned char *in, *end;
    size_t data; /* bytes of the groups to come */
    uintptr_t behind;
} gasnete_vis_reader_t;

typedef struct gasnete_vis_group {
    char *first, *last; /* the other pieces have addresses between these */
    ptrdiff_t stride;
    size_t length, times;
} gasnete_vis_group_t;

enum gasnete_vis_read { GASNETE_VIS_GROUP, GASNETE_VIS_END, GASNETE_VIS_BROKEN };
enum gasnete_vis_read gasnete_vis_read(gasnete_vis_reader_t *reader, gasnete_vis_group_t *group);

/* Copies `times` pieces of `length` bytes at the distance `stride` from `first` to contiguous
 * memory, or from it.  */
void gasnete_vis_gather(char *to, const char *first, size_t length, ptrdiff_t stride, size_t times);
void gasnete_vis_scatter(char *first, size_t length, ptrdiff_t stride, size_t times,
                         const char *from);
