/* long_id.c - the hash table of halves: see long_id.h. */
#include "long_id.h"

#include <stdlib.h>

bool long_ids_init(long_ids_t *ids, uint32_t expected)
{
    uint32_t size = 16;
    while (size < expected && size < 1U << 20) size *= 2;
    *ids = (long_ids_t){.bucket = calloc(size, sizeof(long_id_half_t *)), .mask = size - 1};
    return ids->bucket;
}

static void long_id_free_list(long_id_half_t *half)
{
    for (long_id_half_t *next; half; half = next) {
        next = half->next;
        free(half);
    }
}

void long_ids_fini(long_ids_t *ids)
{
    for (uint32_t i = 0; ids->bucket && i <= ids->mask; i++) long_id_free_list(ids->bucket[i]);
    long_id_free_list(ids->spare);
    free(ids->bucket);
    *ids = (long_ids_t){.bucket = NULL};
}

/* Numbers are offsets of chunks: their low bits are 0, so the hash uses higher ones. */
static long_id_half_t **long_id_bucket(long_ids_t *ids, uint32_t source, uint32_t number)
{
    uint32_t hash = (number ^ source * UINT32_C(0x9e3779b1)) * UINT32_C(0x85ebca6b);
    return &ids->bucket[(hash ^ hash >> 15) & ids->mask];
}

enum long_id_meeting long_ids_meet(long_ids_t *ids, uint32_t source, uint32_t number,
                                   bool is_header, long_id_half_t **half)
{
    long_id_half_t **link = long_id_bucket(ids, source, number);
    while (*link && ((*link)->source != source || (*link)->number != number)) link = &(*link)->next;
    long_id_half_t *found = *half = *link;
    if (found) {
        if (found->is_header == is_header) return LONG_ID_TWICE;
        *link = found->next;
        ids->waiting--;
        return LONG_ID_SECOND;
    }
    long_id_half_t *made = ids->spare;
    if (made)
        ids->spare = made->next;
    else if (!(made = malloc(sizeof *made)))
        return LONG_ID_MEMORY;
    made->next = NULL;
    made->source = source;
    made->number = number;
    made->is_header = is_header;
    *link = *half = made;
    if (++ids->waiting > ids->most) ids->most = ids->waiting;
    return LONG_ID_FIRST;
}

void long_ids_done(long_ids_t *ids, long_id_half_t *half)
{
    half->next = ids->spare;
    ids->spare = half;
}
