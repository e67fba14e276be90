/*
 * pool.h - a pool of objects of one kind: never moved, found by index, reused in FIFO order.
 *
 * An object begins with a struct ptli_slot.  Changes of a pool need the engine's lock, look-ups do
 * not: the memory of a freed object remains an object of its kind until the pool is closed.
 */
#ifndef PTLI_POOL_H
#define PTLI_POOL_H

#include <portals3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kind (2 bits), interface (2), generation (12), index (16).  Interface 3 does not exist, so that
 * none of the special values is ever a handle. */
enum ptli_kind { PTLI_NI, PTLI_ME, PTLI_MD, PTLI_EQ };
enum { PTLI_INTERFACES = 2, PTLI_GENERATIONS = 1 << 12, PTLI_CHUNK = 64, PTLI_LATEST = 4 };

static inline ptl_handle_any_t ptli_handle(enum ptli_kind kind, uint32_t interface,
                                           uint32_t generation, uint32_t index)
{
    return (uint32_t)kind << 30 | interface << 28 | (generation % PTLI_GENERATIONS) << 16 | index;
}
static inline enum ptli_kind ptli_kind_of(ptl_handle_any_t handle)
{
    return handle >> 30;
}
static inline uint32_t ptli_interface_of(ptl_handle_any_t handle)
{
    return handle >> 28 & 3;
}
static inline uint32_t ptli_index_of(ptl_handle_any_t handle)
{
    return handle & 0xffff;
}

struct ptli_slot {
    _Atomic(ptl_handle_any_t) handle; /* PTL_INVALID_HANDLE while the slot is free */
    uint32_t index;
    uint32_t serial; /* incremented with each reuse */
    struct ptli_slot *next;
};

struct ptli_pool {
    enum ptli_kind kind;
    uint32_t interface;
    size_t size;
    uint32_t limit, made;
    bool keeps; /* reused objects are not zeroed: threads may still access their locks */
    _Atomic(char *) *chunks;
    struct ptli_slot *first, *last; /* free objects; the one that was freed first is reused first */
    _Atomic(struct ptli_slot *) latest[PTLI_LATEST]; /* a cache for ptli_pool_again, by index */
    ptl_sr_value_t allocated, freed, most;
};

bool ptli_pool_open(struct ptli_pool *pool, enum ptli_kind kind, uint32_t interface, size_t size,
                    uint32_t limit);
void ptli_pool_close(struct ptli_pool *pool);
/* In a forked child: empties the pool without freeing its memory.  */
void ptli_pool_forget(struct ptli_pool *pool);

/* A new object, zeroed after its slot (but see `keeps`); NULL: out of memory, or the limit is
 * reached.  */
void *ptli_pool_take(struct ptli_pool *pool);
/* Invalidates the handle; the object is not reused before ptli_pool_give.  */
static inline void ptli_pool_kill(struct ptli_slot *slot)
{
    atomic_store_explicit(&slot->handle, PTL_INVALID_HANDLE, memory_order_release);
}
void ptli_pool_give(struct ptli_pool *pool, struct ptli_slot *slot);

/* The object at an index, live or not, or NULL. */
static inline void *ptli_pool_at(const struct ptli_pool *pool, uint32_t index)
{
    char *chunk;
    if (index >= pool->limit) return NULL;
    chunk = atomic_load_explicit(&pool->chunks[index / PTLI_CHUNK], memory_order_acquire);
    return chunk ? chunk + index % PTLI_CHUNK * pool->size : NULL;
}

/* The object of a valid handle, or NULL.  Without the engine's lock the handle may become invalid
 * at any time.  */
static inline void *ptli_pool_find(const struct ptli_pool *pool, ptl_handle_any_t handle)
{
    struct ptli_slot *slot = ptli_pool_at(pool, ptli_index_of(handle));
    if (!slot || handle == PTL_INVALID_HANDLE ||
        atomic_load_explicit(&slot->handle, memory_order_acquire) != handle)
        return NULL;
    return slot;
}

/* The object of a valid handle, if the cache of the objects that were found last has it. NULL: the
 * handle is invalid or the object is not in the cache. */
static inline void *ptli_pool_latest(struct ptli_pool *pool, ptl_handle_any_t handle)
{
    struct ptli_slot *slot =
        atomic_load_explicit(&pool->latest[handle % PTLI_LATEST], memory_order_acquire);
    if (slot && atomic_load_explicit(&slot->handle, memory_order_acquire) == handle)
        return handle == PTL_INVALID_HANDLE ? NULL : slot;
    return NULL;
}

/* The object of a valid handle, or NULL, by the cache of ptli_pool_latest first. The pool may be
 * closed. */
static inline void *ptli_pool_again(struct ptli_pool *pool, ptl_handle_any_t handle)
{
    struct ptli_slot *slot = ptli_pool_latest(pool, handle);
    if (slot != NULL) return slot;
    slot = pool->limit ? ptli_pool_find(pool, handle) : NULL;
    if (slot)
        atomic_store_explicit(&pool->latest[handle % PTLI_LATEST], slot, memory_order_release);
    return slot;
}

#endif
