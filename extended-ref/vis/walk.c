/* walk.c - the calls of walk.h that are made once for each description: levels, shape, rules; pure.
 */
#include "extended-ref/vis/walk.h"

/* Drops levels without effect and joins levels that touch.  False if the section is larger than
 * memory.  */
static bool walk_levels(gasnete_vis_section_t *section, const gasnete_vis_side_t *side)
{
    const ptrdiff_t *strides = side->list;
    const size_t *counts = side->counts;
    section->block = counts[0];
    section->levels = 0;
    for (size_t i = 0; i <= side->count; i++)
        if (counts[i] == 0) section->block = 0;
    if (section->block == 0) return true;
    for (size_t i = 0; i < side->count; i++) {
        const ptrdiff_t stride = strides[i];
        const size_t count = counts[i + 1];
        gasnete_vis_level_t *below = section->levels ? &section->level[section->levels - 1] : NULL;
        ptrdiff_t touching;
        if (count == 1) continue;
        if (!below && stride >= 0 && (size_t)stride == section->block) {
            if (__builtin_mul_overflow(section->block, count, &section->block)) return false;
        } else if (below &&
                   !__builtin_mul_overflow(below->stride, (ptrdiff_t)below->count, &touching) &&
                   stride == touching) {
            if (__builtin_mul_overflow(below->count, count, &below->count)) return false;
        } else {
            if (section->levels == GASNETE_VIS_LEVELS) return false;
            section->level[section->levels++] = (gasnete_vis_level_t){stride, count, 0};
        }
    }
    return true;
}

static const gasnete_vis_shape_t walk_too_large = {.runs = SIZE_MAX, .bytes = SIZE_MAX};

static gasnete_vis_shape_t walk_section_shape(const gasnete_vis_side_t *side)
{
    gasnete_vis_section_t section;
    if (!walk_levels(&section, side)) return walk_too_large;
    if (section.block == 0) return (gasnete_vis_shape_t){0};
    uintptr_t low = (uintptr_t)side->start, high;
    size_t runs = 1, bytes;
    if (__builtin_add_overflow(low, section.block, &high)) return walk_too_large;
    for (size_t i = 0; i < section.levels; i++) {
        const gasnete_vis_level_t *level = &section.level[i];
        const bool back = level->stride < 0;
        size_t distance = back ? 0 - (size_t)level->stride : (size_t)level->stride;
        if (__builtin_mul_overflow(runs, level->count, &runs) ||
            __builtin_mul_overflow(level->count - 1, distance, &distance) ||
            (back ? __builtin_sub_overflow(low, distance, &low)
                  : __builtin_add_overflow(high, distance, &high)))
            return walk_too_large;
    }
    if (__builtin_mul_overflow(runs, section.block, &bytes)) return walk_too_large;
    return (gasnete_vis_shape_t){runs, bytes, low, high};
}

/* The shape of a description; entries of a list are counted as the walk merges them.  */
gasnete_vis_shape_t gasnete_vis_shape(const gasnete_vis_side_t *side)
{
    gasnete_vis_shape_t shape = {0};
    gasnete_vis_walk_t walk = {.side = side};
    char *at;
    size_t length;
    uintptr_t end = 0;
    if (side->kind == GASNETE_VIS_STRIDED) return walk_section_shape(side);
    while (gasnete_vis_entry(&walk, &at, &length)) {
        uintptr_t start = (uintptr_t)at;
        if (shape.runs == 0) shape.low = shape.high = start;
        if (shape.runs == 0 || start != end) shape.runs++;
        if (__builtin_add_overflow(start, length, &end) ||
            __builtin_add_overflow(shape.bytes, length, &shape.bytes))
            return walk_too_large;
        if (start < shape.low) shape.low = start;
        if (end > shape.high) shape.high = end;
    }
    return shape;
}

bool gasnete_vis_valid(const gasnete_vis_side_t *side, const char **why)
{
    *why = NULL;
    if (side->kind == GASNETE_VIS_INDEXED && side->count && side->length == 0)
        *why = "has a length of 0 and a count that is not 0";
    if (side->kind != GASNETE_VIS_STRIDED) return *why == NULL;
    const size_t *strides = side->list;
    size_t span = side->counts[0]; /* bytes of the levels below */
    for (size_t i = 0; i <= side->count; i++)
        if (side->counts[i] == 0) return true;
    for (size_t i = 0; i < side->count; i++) {
        size_t count = side->counts[i + 1];
        if (count == 1) continue;
        if (strides[i] < span) *why = "has a stride smaller than the section that it repeats";
        if (__builtin_mul_overflow(strides[i], count, &span)) *why = "is larger than memory";
        if (*why) return false;
    }
    return true;
}

void gasnete_vis_next_row(gasnete_vis_walk_t *walk)
{
    gasnete_vis_section_t *section = &walk->section;
    walk->length = 0;
    for (size_t i = 1; i < section->levels; i++) {
        gasnete_vis_level_t *level = &section->level[i];
        walk->start += level->stride;
        if (++level->made < level->count) {
            walk->at = walk->start;
            walk->length = section->block;
            walk->row = section->level[0].count;
            return;
        }
        walk->start -= (ptrdiff_t)level->count * level->stride;
        level->made = 0;
    }
}

/* Moves to the first row of a section, or to the end if the section is empty or larger than memory.
 */
static void walk_begin_section(gasnete_vis_walk_t *walk)
{
    gasnete_vis_section_t *section = &walk->section;
    walk->length = 0;
    if (!walk_levels(section, walk->side) || section->block == 0) return;
    walk->at = walk->start = walk->side->start;
    walk->length = section->block;
    walk->row = section->levels ? section->level[0].count : 1;
    walk->stride = section->levels ? section->level[0].stride : 0;
}

void gasnete_vis_begin(gasnete_vis_walk_t *walk, const gasnete_vis_side_t *side)
{
    walk->side = side;
    walk->index = walk->stride = 0;
    walk->row = 1;
    walk->at = walk->next = NULL;
    walk->section.block = 0;
    if (side->kind == GASNETE_VIS_STRIDED) {
        walk_begin_section(walk);
        return;
    }
    if (!gasnete_vis_entry(walk, &walk->next, &walk->next_length)) walk->next_length = 0;
    gasnete_vis_next_run(walk);
}
