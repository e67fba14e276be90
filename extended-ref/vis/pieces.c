/* pieces.c - groups of pieces to bytes and back, and their copies; pure.  */
#include "extended-ref/vis/pieces.h"

#include <string.h>

static inline void pieces_number(gasnete_vis_writer_t *writer, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        writer->out[writer->used++] = (unsigned char)(number | 0x80);
    writer->out[writer->used++] = (unsigned char)number;
}

void gasnete_vis_close_group(gasnete_vis_writer_t *writer)
{
    if (writer->times == 0) return;
    uint64_t gap = (uint64_t)writer->gap, sign = 0 - (gap >> 63);
    pieces_number(writer, writer->length << 1 | (writer->times > 1));
    pieces_number(writer, gap << 1 ^ sign);
    if (writer->times > 1) pieces_number(writer, writer->times);
    writer->times = 0;
}

size_t gasnete_vis_finish(gasnete_vis_writer_t *writer)
{
    if (writer->pending) gasnete_vis_group(writer);
    writer->pending = 0;
    gasnete_vis_close_group(writer);
    return writer->used;
}

/* Reads a number of more than one byte; false if the description ends within the number, or the
 * number has more than 64 bits.  */
static bool pieces_read_long(gasnete_vis_reader_t *reader, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; reader->in < reader->end && shift < 64; shift += 7) {
        unsigned char byte = *reader->in++;
        if (shift == 63 && byte > 1) return false;
        *number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static inline bool pieces_read_number(gasnete_vis_reader_t *reader, uint64_t *number)
{
    if (reader->in == reader->end || *reader->in >= 0x80) return pieces_read_long(reader, number);
    *number = *reader->in++;
    return true;
}

enum gasnete_vis_read gasnete_vis_read(gasnete_vis_reader_t *reader, gasnete_vis_group_t *group)
{
    uint64_t length, gap, times = 1, bytes;
    int64_t stride, distance;
    uintptr_t first, last, end;
    if (reader->in == reader->end) return reader->data ? GASNETE_VIS_BROKEN : GASNETE_VIS_END;
    if (!pieces_read_number(reader, &length) || !pieces_read_number(reader, &gap) ||
        ((length & 1) && !pieces_read_number(reader, &times)) || length < 2 || times == 0 ||
        __builtin_mul_overflow(length >> 1, times, &bytes) || bytes > reader->data)
        return GASNETE_VIS_BROKEN;
    length >>= 1;
    gap = gap >> 1 ^ (0 - (gap & 1));
    if (__builtin_add_overflow((int64_t)gap, (int64_t)length, &stride) ||
        __builtin_mul_overflow(stride, (int64_t)(times - 1), &distance))
        return GASNETE_VIS_BROKEN;
    if (__builtin_add_overflow(reader->behind, (int64_t)gap, &first) ||
        __builtin_add_overflow(first, distance, &last) ||
        __builtin_add_overflow(first, length, &end) || __builtin_add_overflow(last, length, &end))
        return GASNETE_VIS_BROKEN;
    *group = (gasnete_vis_group_t){(char *)first, (char *)last, (ptrdiff_t)stride, length, times};
    reader->behind = end;
    reader->data -= bytes;
    return GASNETE_VIS_GROUP;
}

/* Expands a loop for each length of array elements: for these a call of memcpy costs more than the
 * copy.  */
#define FOR_EACH_LENGTH(length, each)                                                              \
    switch (length) {                                                                              \
    case 1:                                                                                        \
        each(1);                                                                                   \
        break;                                                                                     \
    case 4:                                                                                        \
        each(4);                                                                                   \
        break;                                                                                     \
    case 8:                                                                                        \
        each(8);                                                                                   \
        break;                                                                                     \
    case 16:                                                                                       \
        each(16);                                                                                  \
        break;                                                                                     \
    default:                                                                                       \
        each(length);                                                                              \
    }

void gasnete_vis_gather(char *to, const char *first, size_t length, ptrdiff_t stride, size_t times)
{
#define GATHER(length)                                                                             \
    for (size_t i = 0; i < times; i++)                                                             \
    memcpy(to + i * (length), first + (ptrdiff_t)i * stride, length)
    if (stride == (ptrdiff_t)length) length *= times, times = 1;
    FOR_EACH_LENGTH(length, GATHER)
}

void gasnete_vis_scatter(char *first, size_t length, ptrdiff_t stride, size_t times,
                         const char *from)
{
#define SCATTER(length)                                                                            \
    for (size_t i = 0; i < times; i++)                                                             \
    memcpy(first + (ptrdiff_t)i * stride, from + i * (length), length)
    if (stride == (ptrdiff_t)length) length *= times, times = 1;
    FOR_EACH_LENGTH(length, SCATTER)
}
