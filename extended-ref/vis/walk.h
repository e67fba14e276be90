/* walk.h - the pieces of a vector, indexed or strided description as a walk of contiguous runs, and
 * two such walks in step; pure.
 *
 * A run is as long as memory is contiguous: adjacent entries of a list are one run, and so are
 * levels of a section that touch.  Strides have a sign, and need not grow from level to level. Runs
 * of a section that follow each other at one distance are taken together.  The bytes of all runs,
 * in the order of the walk, are the stream that gasnet_vis.h defines.  The description must stay
 * unchanged until the walk ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gasnet.h"

enum gasnete_vis_kind { GASNETE_VIS_VECTOR, GASNETE_VIS_INDEXED, GASNETE_VIS_STRIDED };

/* One side of a transfer, as the client describes it.  */
typedef struct gasnete_vis_side {
    enum gasnete_vis_kind kind;
    size_t count;         /* entries of the list; strided: levels */
    const void *list;     /* gasnet_memvec_t[], void *[], or the strides */
    size_t length;        /* indexed: bytes of each piece */
    char *start;          /* strided: the first byte */
    const size_t *counts; /* strided: count + 1 of them */
} gasnete_vis_side_t;

/* A level of a section that is repeated at least twice and does not touch the level below.  Each
 * level at least doubles the section, so that sizes of 64 bits allow no more.  */
enum { GASNETE_VIS_LEVELS = 64 };
typedef struct gasnete_vis_level {
    ptrdiff_t stride;
    size_t count;
    size_t made; /* repetitions before the present one */
} gasnete_vis_level_t;

/* The levels of a section; `block` contiguous bytes, 0 for an empty section.  */
typedef struct gasnete_vis_section {
    size_t block, levels;
    gasnete_vis_level_t level[GASNETE_VIS_LEVELS];
} gasnete_vis_section_t;

/* The totals of a description.  All pieces lie in [low, high); `bytes` is SIZE_MAX if the sum is
 * larger, or if a piece wraps around the end of memory.  */
typedef struct gasnete_vis_shape {
    size_t runs, bytes;
    uintptr_t low, high;
} gasnete_vis_shape_t;

gasnete_vis_shape_t gasnete_vis_shape(const gasnete_vis_side_t *side);

/* True if the description keeps the rules of gasnet_vis.h; else *why is NULL or the reason.  */
bool gasnete_vis_valid(const gasnete_vis_side_t *side, const char **why);

/* The state of a walk.  Its present run may be followed by further runs of the same row: runs of
 * one length at equal distances.  */
typedef struct gasnete_vis_walk {
    char *at;         /* the rest of the present run */
    size_t length;    /* 0 at the end */
    size_t row;       /* runs of the row from the present one on */
    ptrdiff_t stride; /* their distance */
    const gasnete_vis_side_t *side;
    /* lists */
    size_t index; /* of the first entry that was not looked at */
    char *next;   /* start of the entry before that, which does not touch the present run */
    size_t next_length;
    /* strided */
    char *start; /* of the row */
    gasnete_vis_section_t section;
} gasnete_vis_walk_t;

void gasnete_vis_begin(gasnete_vis_walk_t *walk, const gasnete_vis_side_t *side);

/* Takes the next entry of a list that is not empty; false behind the last.  */
static inline bool gasnete_vis_entry(gasnete_vis_walk_t *walk, char **at, size_t *length)
{
    const gasnete_vis_side_t *side = walk->side;
    if (side->kind == GASNETE_VIS_INDEXED) {
        if (walk->index >= side->count) return false;
        *at = ((void *const *)side->list)[walk->index++];
        *length = side->length;
        return *length != 0;
    }
    while (walk->index < side->count) {
        const gasnet_memvec_t *entry = (const gasnet_memvec_t *)side->list + walk->index++;
        *at = entry->addr;
        *length = entry->len;
        if (entry->len) return true;
    }
    return false;
}

/* Moves to the next run of a list.  */
static inline void gasnete_vis_next_run(gasnete_vis_walk_t *walk)
{
    char *at;
    size_t length;
    walk->at = walk->next;
    walk->length = walk->next_length;
    walk->next_length = 0;
    while (gasnete_vis_entry(walk, &at, &length)) {
        if (at != walk->at + walk->length) {
            walk->next = at;
            walk->next_length = length;
            return;
        }
        walk->length += length;
    }
}

/* Moves to the next row of a section.  */
void gasnete_vis_next_row(gasnete_vis_walk_t *walk);

/* Leaves the present run, which must be used up, and `runs` - 1 more runs of its row.  */
static inline void gasnete_vis_leave(gasnete_vis_walk_t *walk, char *start, size_t runs)
{
    if (walk->side->kind != GASNETE_VIS_STRIDED) {
        gasnete_vis_next_run(walk);
    } else if (walk->row > runs) {
        walk->row -= runs;
        walk->at = start + (ptrdiff_t)runs * walk->stride;
        walk->length = walk->section.block;
    } else {
        gasnete_vis_next_row(walk);
    }
}

/* Advances by `times` pieces of nbytes: parts of the present run, or, if nbytes is all of it, as
 * many runs of the row.  */
static inline void gasnete_vis_advance(gasnete_vis_walk_t *walk, size_t nbytes, size_t times)
{
    if (nbytes < walk->length) {
        walk->at += nbytes * times;
        walk->length -= nbytes * times;
        if (walk->length) return;
        gasnete_vis_leave(walk, walk->at - walk->section.block, 1);
    } else {
        gasnete_vis_leave(walk, walk->at + walk->length - walk->section.block, times);
    }
}

/* The number of pieces of nbytes <= walk->length that follow each other at one distance, which is
 * *stride. */
static inline size_t gasnete_vis_regular(const gasnete_vis_walk_t *walk, size_t nbytes,
                                         ptrdiff_t *stride)
{
    if (nbytes < walk->length) {
        *stride = (ptrdiff_t)nbytes;
        return walk->length / nbytes;
    }
    *stride = walk->stride;
    return nbytes == walk->section.block ? walk->row : 1;
}

/* The walks of the two sides of a transfer.  */
typedef struct gasnete_vis_pair {
    gasnete_vis_walk_t dst, src;
} gasnete_vis_pair_t;

/* Pieces that are contiguous on both sides: `times` of `length` bytes, at equal distances on each
 * side.  */
typedef struct gasnete_vis_match {
    char *dst, *src;
    ptrdiff_t dst_stride, src_stride;
    size_t length, times;
} gasnete_vis_match_t;

/* Takes the next pieces, of at most `most` >= 1 bytes altogether; returns the number of their
 * bytes, 0 at the end of either side.  */
static inline size_t gasnete_vis_next(gasnete_vis_pair_t *pair, size_t most,
                                      gasnete_vis_match_t *match)
{
    gasnete_vis_walk_t *dst = &pair->dst, *src = &pair->src;
    size_t length = dst->length < src->length ? dst->length : src->length;
    if (length > most) length = most;
    if (length == 0) return 0;
    match->dst = dst->at;
    match->src = src->at;
    match->length = length;
    if (dst->row == 1 && src->row == 1 && dst->length == length && src->length == length) {
        match->dst_stride = match->src_stride = (ptrdiff_t)length;
        match->times = 1;
        gasnete_vis_leave(dst, NULL, 1);
        gasnete_vis_leave(src, NULL, 1);
        return length;
    }
    size_t times = gasnete_vis_regular(dst, length, &match->dst_stride),
           others = gasnete_vis_regular(src, length, &match->src_stride);
    if (others < times) times = others;
    if (times > 1 && times > most / length) times = most / length;
    match->times = times;
    gasnete_vis_advance(dst, length, times);
    gasnete_vis_advance(src, length, times);
    return length * times;
}
