/*
 * pool.c - objects in chunks; see pool.h.
 *
 * Called with the engine's lock, or while the interface opens and closes.  Memory is returned to
 * the system only when the interface closes.
 */
#include "other/portals3/src/engine/pool.h"

#include <stdlib.h>
#include <string.h>

bool ptli_pool_open(struct ptli_pool *pool, enum ptli_kind kind, uint32_t interface, size_t size,
                    uint32_t limit)
{
    memset(pool, 0, sizeof *pool);
    pool->kind = kind;
    pool->interface = interface;
    pool->size = (size + 63) / 64 * 64;
    pool->limit = limit;
    pool->chunks = calloc((limit + PTLI_CHUNK - 1) / PTLI_CHUNK, sizeof *pool->chunks);
    return pool->chunks != NULL;
}

void ptli_pool_forget(struct ptli_pool *pool)
{
    for (uint32_t i = 0; i < PTLI_LATEST; i++)
        atomic_store_explicit(&pool->latest[i], NULL, memory_order_relaxed);
    pool->limit = pool->made = 0;
}

void ptli_pool_close(struct ptli_pool *pool)
{
    const uint32_t made = pool->made;
    ptli_pool_forget(pool);
    for (uint32_t i = 0; pool->chunks && i < made; i += PTLI_CHUNK)
        free(atomic_load_explicit(&pool->chunks[i / PTLI_CHUNK], memory_order_relaxed));
    free(pool->chunks);
    pool->chunks = NULL;
}

static void pool_append(struct ptli_pool *pool, struct ptli_slot *slot)
{
    slot->next = NULL;
    if (pool->first)
        pool->last->next = slot;
    else
        pool->first = slot;
    pool->last = slot;
}

static void pool_grow(struct ptli_pool *pool)
{
    char *chunk;
    if (pool->made >= pool->limit) return;
    chunk = aligned_alloc(64, PTLI_CHUNK * pool->size);
    if (!chunk) return;
    memset(chunk, 0, PTLI_CHUNK * pool->size);
    for (uint32_t i = 0; i < PTLI_CHUNK && pool->made + i < pool->limit; i++) {
        struct ptli_slot *slot = (struct ptli_slot *)(chunk + i * pool->size);
        slot->index = pool->made + i;
        atomic_store_explicit(&slot->handle, PTL_INVALID_HANDLE, memory_order_relaxed);
        pool_append(pool, slot);
    }
    atomic_store_explicit(&pool->chunks[pool->made / PTLI_CHUNK], chunk, memory_order_release);
    pool->made += PTLI_CHUNK;
}

void *ptli_pool_take(struct ptli_pool *pool)
{
    struct ptli_slot *slot;
    if (!pool->first) pool_grow(pool);
    slot = pool->first;
    if (!slot) return NULL;
    pool->first = slot->next;
    if (!pool->keeps) memset(slot + 1, 0, pool->size - sizeof *slot);
    slot->serial++;
    pool->allocated++;
    if (pool->allocated - pool->freed > pool->most) pool->most = pool->allocated - pool->freed;
    atomic_store_explicit(&slot->handle,
                          ptli_handle(pool->kind, pool->interface, slot->serial, slot->index),
                          memory_order_release);
    return slot;
}

void ptli_pool_give(struct ptli_pool *pool, struct ptli_slot *slot)
{
    ptli_pool_kill(slot);
    pool->freed++;
    pool_append(pool, slot);
}
