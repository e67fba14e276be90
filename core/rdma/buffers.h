/* buffers.h - the bbuf pool: pinned 4 KB buffers from which AMs are sent and through which small
 * transfers of unpinned memory bounce.
 *
 * One arena, registered once.  A bbuf is taken by whoever sends and comes back when the send is
 * reaped, so while any is in flight, reaping sends (no handlers) is enough to get one.
 */
#ifndef GASNETC_BUFFERS_H
#define GASNETC_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"
#include "core/lock.h"
#include "core/network.h"

enum { GASNETC_BBUF_SIZE = 4096 };

#pragma GCC visibility push(hidden)
extern net_region_t gasnetc_bbuf_region; /* covers every bbuf */
#pragma GCC visibility pop

/* Allocates and registers `count` buffers; fatal, naming limit and remedy, when that fails. */
void gasnetc_bbuf_init(uint32_t count);
void gasnetc_bbuf_fini(void);

/* Things that may be held, when free. */
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

/* The same two without waiting for the lock, and so without a call: also NULL, or false, when it is
 * taken. */
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

/* One that was never in use, NULL when there is none left. */
void *gasnetc_bbuf_fresh(void);

/* NULL when none is free. */
static inline void *gasnetc_bbuf_try(void)
{
    void *bbuf = gasnetc_pool_take(&gasnetc_free_bbufs);
    return bbuf ? bbuf : gasnetc_bbuf_fresh();
}

static inline void gasnetc_bbuf_free(void *bbuf)
{
    gasnetc_pool_give(&gasnetc_free_bbufs, bbuf);
}

/* How many there are, and how many were in use at most; no lock. */
void gasnetc_bbuf_counts(uint64_t *all, uint64_t *most);

/* Registers [start, start+length) for one transfer: pass as gasnetc_sent_t.held, and `*region` to
 * the posting call; retired when the transfer completes.  Waits while the network has no room, and
 * is fatal when it refuses. */
gasnetc_held_t *gasnetc_pin_transient(const void *start, size_t length, net_region_t **region,
                                      bool in_handler);

/* After reaping, with no lock held: ends the registrations of the transfers that have completed. */
#pragma GCC visibility push(hidden)
extern gasnetc_held_t *_Atomic gasnetc_retired_pins;
#pragma GCC visibility pop
void gasnetc_deregister_retired(void);
static inline void gasnetc_tidy_pins(void)
{
    if (__builtin_expect(atomic_load_explicit(&gasnetc_retired_pins, memory_order_relaxed) != NULL,
                         0))
        gasnetc_deregister_retired();
}

/* Registers memory that lives as long as the process, for local use; NULL when the network refuses.
 */
const net_region_t *gasnetc_pin_for_good(void *start, size_t length);

#endif
