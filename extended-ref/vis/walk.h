/* walk.h - the pieces of a vector, indexed or strided description as a walk of contiguous runs, and
 * two such walks in step; pure.
 *
 * A run is as long as memory is contiguous: adjacent entries of a list are one run, and so are
 * levels of a section that touch.  The bytes of all runs, in the order of the walk, are the stream
 * that gasnet_vis.h defines.  The description must stay unchanged until the walk ends.
 */
#ifndef GASNETE_VIS_WALK_H
#define GASNETE_VIS_WALK_H

#include "gasnet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * one at least doubles the section, so that addresses of 64 bits have no more.  */
enum { GASNETE_VIS_LEVELS = 64 };
typedef struct gasnete_vis_level {
    size_t stride, count;
    size_t made; /* repetitions before the present one */
} gasnete_vis_level_t;

/* The levels of a section; `block` contiguous bytes, 0 for an empty section.  */
typedef struct gasnete_vis_section {
    size_t block, levels;
    gasnete_vis_level_t level[GASNETE_VIS_LEVELS];
} gasnete_vis_section_t;

/* What a description amounts to.  All of it lies in [low, high); bytes is SIZE_MAX if there are
 * more than that, or if a piece wraps around the end of memory.  */
typedef struct gasnete_vis_shape {
    size_t runs, bytes;
    uintptr_t low, high;
} gasnete_vis_shape_t;

gasnete_vis_shape_t gasnete_vis_shape(const gasnete_vis_side_t *side);

/* False, with NULL or the reason in *why, if the description breaks a rule of gasnet_vis.h.  */
bool gasnete_vis_valid(const gasnete_vis_side_t *side, const char **why);

typedef struct gasnete_vis_walk {
    char *at;      /* the rest of the present run; */
    size_t length; /* 0 at the end */
    char *next;    /* the entry behind the run, which does not touch it; */
    size_t next_length;
    const gasnete_vis_side_t *side;
    size_t index; /* of the entry behind that */
    char *here;   /* strided: the address of that entry, NULL behind the last */
    gasnete_vis_section_t section;
} gasnete_vis_walk_t;

void gasnete_vis_begin(gasnete_vis_walk_t *walk, const gasnete_vis_side_t *side);

/* The address of the section's next block; NULL behind the last.  */
static inline char *gasnete_vis_step(gasnete_vis_section_t *section, char *here)
{
    for (size_t i = 0; i < section->levels; i++) {
        gasnete_vis_level_t *level = &section->level[i];
        if (++level->made < level->count) return here + level->stride;
        here -= (level->count - 1) * level->stride;
        level->made = 0;
    }
    return NULL;
}

/* Takes the next entry that is not empty; false behind the last.  */
static inline bool gasnete_vis_entry(gasnete_vis_walk_t *walk, char **at, size_t *length)
{
    const gasnete_vis_side_t *side = walk->side;
    switch (side->kind) {
    case GASNETE_VIS_VECTOR:
        while (walk->index < side->count) {
            const gasnet_memvec_t *entry = (const gasnet_memvec_t *)side->list + walk->index++;
            *at = entry->addr;
            *length = entry->len;
            if (entry->len) return true;
        }
        return false;
    case GASNETE_VIS_INDEXED:
        if (walk->index >= side->count) return false;
        *at = ((void *const *)side->list)[walk->index++];
        *length = side->length;
        return *length != 0;
    default:
        if (walk->here == NULL) return false;
        *at = walk->here;
        *length = walk->section.block;
        walk->here = gasnete_vis_step(&walk->section, walk->here);
        return true;
    }
}

/* Moves to the next run.  */
static inline void gasnete_vis_run(gasnete_vis_walk_t *walk)
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

/* Goes on by nbytes <= walk->length.  */
static inline void gasnete_vis_advance(gasnete_vis_walk_t *walk, size_t nbytes)
{
    walk->at += nbytes;
    walk->length -= nbytes;
    if (walk->length == 0) gasnete_vis_run(walk);
}

/* Both sides of a transfer.  */
typedef struct gasnete_vis_pair {
    gasnete_vis_walk_t dst, src;
} gasnete_vis_pair_t;

/* Takes the next bytes that are contiguous on both sides, at most `most` >= 1: sets *dst and *src
 * and returns their number; 0 at the end of either side.  */
static inline size_t gasnete_vis_next(gasnete_vis_pair_t *pair, size_t most, char **dst, char **src)
{
    size_t nbytes = pair->dst.length < pair->src.length ? pair->dst.length : pair->src.length;
    if (nbytes > most) nbytes = most;
    if (nbytes == 0) return 0;
    *dst = pair->dst.at;
    *src = pair->src.at;
    gasnete_vis_advance(&pair->dst, nbytes);
    gasnete_vis_advance(&pair->src, nbytes);
    return nbytes;
}

#endif
