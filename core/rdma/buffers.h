/* buffers.h - bounce buffers (bbufs): registered 4 KB buffers for AMs that are not inlined, and for
 * small transfers of memory that is not registered.
 *
 * One arena, registered once.  An operation holds its bbuf until its completion is reaped.  So
 * reaping, which runs no handlers, is enough to obtain a bbuf while any is in flight.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/completion.h"
#include "core/job/progress.h"
#include "core/lock.h"
#include "core/network.h"
#include "other/base/hot.h"

enum { GASNETC_BBUF_SIZE = 4096 };

#pragma GCC visibility push(hidden)
extern net_region_t gasnetc_bbuf_region; /* covers every bbuf */
#pragma GCC visibility pop

/* Allocates and registers `count` buffers; fatal, naming limit and remedy, when that fails.
 */
void gasnetc_bbuf_init(uint32_t count);
void gasnetc_bbuf_fini(void);

/* The tags of gasnetc_held_t. */
enum gasnetc_held_tag {
    GASNETC_HELD_NOTHING,
    GASNETC_HELD_GET,       /* a bbuf; its bytes are copied to the destination of a get */
    GASNETC_HELD_BBUF,      /* a bbuf that nothing is copied from */
    GASNETC_HELD_LEASE,     /* a lease (lease.h), under which the operation is counted */
    GASNETC_HELD_CACHED,    /* a region of the registration cache, by its number */
    GASNETC_HELD_TRANSIENT, /* the record of a registration for this operation alone */
    GASNETC_HELD_TAGS = 8
};

/* The word for a record, whose address is a multiple of 8. */
HOT gasnetc_held_t gasnetc_hold(const void *record, enum gasnetc_held_tag tag)
{
    return (uintptr_t)record + tag;
}

HOT enum gasnetc_held_tag gasnetc_held_tag(gasnetc_held_t held)
{
    return (enum gasnetc_held_tag)(held % GASNETC_HELD_TAGS);
}

/* The record of a word with this tag. */
HOT void *gasnetc_held_record(gasnetc_held_t held, enum gasnetc_held_tag tag)
{
    return (void *)(held - tag);
}

/* A bbuf or the record of a transient registration, while it is in a pool. */
typedef struct gasnetc_link {
    struct gasnetc_link *next;
} gasnetc_link_t;
typedef struct gasnetc_pool {
    gasnetc_link_t *first;
    gasneti_lock_t lock;
} gasnetc_pool_t;
#pragma GCC visibility push(hidden)
extern gasnetc_pool_t gasnetc_free_bbufs;
#pragma GCC visibility pop

/* NULL when none is free. */
static inline void *gasnetc_pool_take(gasnetc_pool_t *pool)
{
    gasneti_lock(&pool->lock);
    gasnetc_link_t *link = pool->first;
    if (link) pool->first = link->next;
    gasneti_unlock(&pool->lock);
    return link;
}

static inline void gasnetc_pool_give(gasnetc_pool_t *pool, gasnetc_link_t *link)
{
    gasneti_lock(&pool->lock);
    link->next = pool->first;
    pool->first = link;
    gasneti_unlock(&pool->lock);
}

/* gasnetc_pool_take and gasnetc_pool_give without waiting for the lock: NULL, or false, also while
 * another thread holds the lock. */
static inline void *gasnetc_pool_take_now(gasnetc_pool_t *pool)
{
    if (!gasneti_trylock_quiet(&pool->lock)) return NULL;
    gasnetc_link_t *link = pool->first;
    if (link) pool->first = link->next;
    gasneti_unlock(&pool->lock);
    return link;
}

static inline bool gasnetc_pool_give_now(gasnetc_pool_t *pool, gasnetc_link_t *link)
{
    if (!gasneti_trylock_quiet(&pool->lock)) return false;
    link->next = pool->first;
    pool->first = link;
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

/* net_register, which a trace shows. */
bool gasnetc_register(void *start, size_t length, enum net_access access, net_region_t *region);

/* Registers [start, start+length) for one transfer, until its completion.  Pass the result as
 * gasnetc_sent_t.held, and `*region` to the posting call.  Waits while the network returns EAGAIN;
 * fatal when it refuses.  0: no device can access the memory, but the program can, so that the
 * bytes can be copied. */
gasnetc_held_t gasnetc_pin_transient(const void *start, size_t length, enum net_access access,
                                     const net_region_t **region, bool in_handler);

/* Deregisters the memory of completed transfers; called after reaping, with no lock held. */
#pragma GCC visibility push(hidden)
extern gasnetc_link_t *_Atomic gasnetc_retired_pins;
#pragma GCC visibility pop
void gasnetc_deregister_retired(void);

/* Puts a registration on the list that the next gasnetc_retire_regions deregisters; lock-free. */
void gasnetc_retire(gasnetc_link_t *pin);

static inline void gasnetc_retire_regions(void)
{
    if (atomic_load_explicit(&gasnetc_retired_pins, memory_order_relaxed) != NULL)
        gasnetc_deregister_retired();
}

/* Registers memory for local use, until gasnetc_bbuf_fini; NULL when the network refuses. */
const net_region_t *gasnetc_pin_permanent(void *start, size_t length);
