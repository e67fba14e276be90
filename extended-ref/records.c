/* records.c - allocates records of operations, and passes free ones from thread to thread. */
#include "extended-ref/records.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

enum { POOL_FIRST = 64, POOL_CHUNK_MOST = 4096, CACHE_LINE = 64 };

/* Whole cache lines, because other threads complete this thread's operations. */
void *gasnete_alloc(size_t size)
{
    size = (size + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
    void *memory = aligned_alloc(CACHE_LINE, size);
    if (memory == NULL)
        gasneti_fatal("out of memory: %zu bytes for records of non-blocking operations; raise the "
                      "limit (ulimit -v) or keep fewer operations outstanding",
                      size);
    memset(memory, 0, size);
    return memory;
}

/* The range of a number of records; checking builds keep all ranges, to recognise values that are
 * not handles.  */
typedef struct chunk {
    struct chunk *next;
    const char *records;
    size_t size; /* bytes of one record */
    uint32_t count;
} chunk_t;
static chunk_t *_Atomic chunks;

static void records_add_chunk(const char *records, size_t size, uint32_t count)
{
    chunk_t *chunk = gasnete_alloc(sizeof *chunk);
    *chunk = (chunk_t){atomic_load(&chunks), records, size, count};
    while (!atomic_compare_exchange_weak(&chunks, &chunk->next, chunk)) continue;
}

bool gasnete_is_record(const void *handle)
{
    for (const chunk_t *chunk = atomic_load(&chunks); chunk; chunk = chunk->next) {
        size_t offset = (uintptr_t)handle - (uintptr_t)chunk->records;
        if (offset < chunk->size * chunk->count) return offset % chunk->size == 0;
    }
    return false;
}

/* Makes the pool the home of a list of records. */
static void records_adopt(gasnete_pool_t *pool, gasnete_op_t *list)
{
    while (list) {
        gasnete_op_t *next = list->next;
        list->home = pool;
        list->next = pool->free;
        pool->free = list;
        list = next;
    }
}

/* A batch of the reserve, or what it has; NULL: nothing. */
static gasnete_op_t *records_from_reserve(gasnete_reserve_t *reserve)
{
    gasneti_spin_lock(&reserve->lock);
    gasnete_op_t *list = reserve->free, **end = &reserve->free;
    for (uint32_t i = 0; *end && i < GASNETE_BATCH; i++) end = &(*end)->next;
    reserve->free = *end;
    if (list) *end = NULL;
    gasneti_spin_unlock(&reserve->lock);
    return list;
}

static void records_to_reserve(gasnete_reserve_t *reserve, gasnete_op_t *list)
{
    gasnete_op_t **end = &list->next;
    while (*end) end = &(*end)->next;
    gasneti_spin_lock(&reserve->lock);
    *end = reserve->free;
    reserve->free = list;
    gasneti_spin_unlock(&reserve->lock);
}

static gasnete_op_t *records_take_strays(gasnete_pool_t *pool)
{
    gasnete_op_t *list = pool->strays;
    pool->strays = NULL;
    pool->stray_count = 0;
    return list;
}

__attribute__((cold)) void gasnete_pool_take_stray(gasnete_pool_t *pool, gasnete_op_t *op)
{
    op->next = pool->strays;
    pool->strays = op;
    if (++pool->stray_count == GASNETE_BATCH)
        records_to_reserve(op->home->reserve, records_take_strays(pool));
}

/* Doubles what the pool has made, by at least POOL_FIRST and at most POOL_CHUNK_MOST records.  */
static void *records_make(gasnete_pool_t *pool, uint32_t *count)
{
    const size_t size = pool->reserve->size;
    *count = pool->made;
    if (*count < POOL_FIRST) *count = POOL_FIRST;
    if (*count > POOL_CHUNK_MOST) *count = POOL_CHUNK_MOST;
    char *records = gasnete_alloc(*count * size);
    if (GASNETC_CHECKING) records_add_chunk(records, size, *count);
    for (uint32_t i = 0; i < *count; i++)
        ((gasnete_op_t *)(void *)(records + i * size))->home = pool;
    pool->made += *count;
    return records;
}

__attribute__((cold)) void *gasnete_pool_refill(gasnete_pool_t *pool, gasnete_reserve_t *reserve,
                                                uint32_t *count)
{
    pool->reserve = reserve;
    records_adopt(pool, records_take_strays(pool));
    if (!pool->free) records_adopt(pool, records_from_reserve(reserve));
    return pool->free ? NULL : records_make(pool, count);
}
