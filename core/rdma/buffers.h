/* buffers.h - bounce buffers (bbufs): registered 4 KB buffers for AMs that are not inlined, and for
 * small transfers of memory that is not registered.
 *
 * One arena, registered once.  An operation holds its bbuf until its completion is reaped.  So
 * reaping, which runs no handlers, is enough to obtain a bbuf while any is in flight.
 */
#ifndef GASNETC_BUFFERS_H
#define GASNETC_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"
#include "core/job/progress.h"
#include "core/lock.h"
#include "core/network.h"

enum { GASNETC_BBUF_SIZE = 4096 };

#pragma GCC visibility push(hidden)
extern net_region_t gasnetc_bbuf_region; /* covers every bbuf */
#pragma GCC visibility pop

/* Allocates and registers `count` buffers; fatal, naming limit and remedy, when that fails.  Not in
 * a core without buffers (NET_BUFFERS), like gasnetc_pin_permanent. */
void gasnetc_bbuf_init(uint32_t count);
void gasnetc_bbuf_fini(void);

/* A bbuf or the record of a transient registration, while it is in a pool. */
struct gasnetc_held {
    gasnetc_held_t *next;
};
typedef struct gasnetc_pool {
    gasnetc_held_t *first;
    gasneti_lock_t lock;
} gasnetc_pool_t;
#pragma GCC visibility push(hidden)
extern gasnetc_pool_t gasnetc_free_bbufs;
#pragma GCC visibility pop

/* NULL when none is free. */
static inline void *gasnetc_pool_take(gasnetc_pool_t *pool)
{
    gasneti_lock(&pool->lock);
    gasnetc_held_t *held = pool->first;
    if (held) pool->first = held->next;
    gasneti_unlock(&pool->lock);
    return held;
}

static inline void gasnetc_pool_give(gasnetc_pool_t *pool, gasnetc_held_t *held)
{
    gasneti_lock(&pool->lock);
    held->next = pool->first;
    pool->first = held;
    gasneti_unlock(&pool->lock);
}

/* gasnetc_pool_take and gasnetc_pool_give without waiting for the lock: NULL, or false, also while
 * another thread holds the lock. */
static inline void *gasnetc_pool_take_now(gasnetc_pool_t *pool)
{
    if (!gasneti_trylock_quiet(&pool->lock)) return NULL;
    gasnetc_held_t *held = pool->first;
    if (held) pool->first = held->next;
    gasneti_unlock(&pool->lock);
    return held;
}

static inline bool gasnetc_pool_give_now(gasnetc_pool_t *pool, gasnetc_held_t *held)
{
    if (!gasneti_trylock_quiet(&pool->lock)) return false;
    held->next = pool->first;
    pool->first = held;
    gasneti_unlock(&pool->lock);
    return true;
}

/* A bbuf that was never used; NULL when none is left. */
void *gasnetc_bbuf_fresh(void);

/* NULL when none is free. */
static inline void *gasnetc_bbuf_try(void)
{
    void *bbuf = gasnetc_pool_take(&gasnetc_free_bbufs);
    return bbuf ? bbuf : gasnetc_bbuf_fresh();
}

/* Takes a bbuf; polls until one is free, or with `in_handler` reaps. */
static inline void *gasnetc_bbuf_wait(bool in_handler)
{
    void *bbuf;
    while (!(bbuf = gasnetc_bbuf_try())) gasnetc_stall_bbuf(in_handler);
    return bbuf;
}

static inline void gasnetc_bbuf_free(void *bbuf)
{
    gasnetc_pool_give(&gasnetc_free_bbufs, bbuf);
}

/* The number of bbufs, and the most in use at once; no lock. */
void gasnetc_bbuf_counts(uint64_t *all, uint64_t *most);

/* Registers [start, start+length) for one transfer, until its completion.  Pass the result as
 * gasnetc_sent_t.held, and `*region` to the posting call.  Waits while the network returns EAGAIN;
 * fatal when it refuses.  NULL: no device can access the memory, but the program can, so that the
 * bytes can be copied. */
gasnetc_held_t *gasnetc_pin_transient(const void *start, size_t length, enum net_access access,
                                      const net_region_t **region, bool in_handler);

/* Deregisters the memory of completed transfers; called after reaping, with no lock held. */
#pragma GCC visibility push(hidden)
extern gasnetc_held_t *_Atomic gasnetc_retired_pins;
#pragma GCC visibility pop
void gasnetc_deregister_retired(void);

/* Puts a registration on the list that the next gasnetc_tidy_pins deregisters; lock-free. */
void gasnetc_retire(gasnetc_held_t *pin);

static inline void gasnetc_tidy_pins(void)
{
    if (atomic_load_explicit(&gasnetc_retired_pins, memory_order_relaxed) != NULL)
        gasnetc_deregister_retired();
}

/* Registers memory for local use, until gasnetc_bbuf_fini; NULL when the network refuses. */
const net_region_t *gasnetc_pin_permanent(void *start, size_t length);

#endif
