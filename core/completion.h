/* completion.h - what the core does at the completion of an operation.
 *
 * A counter has one owner, the thread that starts operations on it.  The fields of puts and gets
 * only grow and have one writer each, so they need no atomic read-modify-write: the owner writes
 * `issued`, the thread that holds the poll lock writes `reaped`.  Operations that complete by an
 * Active Message count in `acked`, which handlers in any thread increment atomically.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gasnet_config.h"

typedef struct gasnetc_counter {
    uint32_t issued;
    _Atomic uint32_t reaped;
    _Atomic uint32_t acked;
} gasnetc_counter_t;

/* True when all issued operations have completed; the effects of these are then visible to the
 * caller. */
static inline bool gasnetc_counter_done(gasnetc_counter_t *counter)
{
    return atomic_load_explicit(&counter->reaped, memory_order_acquire) +
               atomic_load_explicit(&counter->acked, memory_order_acquire) ==
           counter->issued;
}

/* Counts one operation that has completed by an Active Message; called by the handler. */
static inline void gasnetc_counter_ack(gasnetc_counter_t *counter)
{
    atomic_fetch_add_explicit(&counter->acked, 1, memory_order_release);
}

/* The resource that an operation in flight holds: the address of a record, or a number, shifted,
 * with a tag in the low three bits.  0: no resource.  core/rdma/buffers.h makes and reads words. */
typedef uintptr_t gasnetc_held_t;

/* 1: operations in flight pin regions of peers.  In GASNET_SEGMENT_FAST peers' memory is pinned all
 * the time. */
#ifdef GASNET_SEGMENT_FAST
enum { GASNETC_SENT_PINS = 0 };
#else
enum { GASNETC_SENT_PINS = 1 };
#endif

/* The context of a posted operation.  The network keeps a copy until the operation is complete, and
 * passes it to gasnetc_sent. */
typedef struct gasnetc_sent {
    gasnetc_counter_t *counter; /* NULL: no thread waits */
    gasnetc_held_t held;        /* 0: nothing to free */
    void *copy_to;              /* a bounced get: the destination of the bytes in `held` */
    uint32_t copy_length;       /* the number of these bytes; else 0 */
    uint32_t remote_pin;        /* the region of a peer that the operation has pinned, by its number
                                   in the registration cache; 0: no region */
} gasnetc_sent_t;

/* Ends the job, at the end of this poll, when the poll lock is free: a bounced get has a
 * destination in the first page, where no client has memory (NULL). */
enum { GASNETC_FIRST_PAGE = 4096 };
void gasnetc_copy_nowhere(const void *to, size_t nbytes) __attribute__((cold));

/* Frees `held`, after copying a bounced get to its destination. */
void gasnetc_release_held(const gasnetc_sent_t *sent);

/* Copies remote_pin; for networks that copy the fields one by one. */
static inline void gasnetc_sent_copy_pin(gasnetc_sent_t *to, const gasnetc_sent_t *from)
{
    if (GASNETC_SENT_PINS) to->remote_pin = from->remote_pin;
}

/* core/rdma/remote.c: ends the use of remote_pin, and frees `held`. */
void gasnetc_release_pinned(const gasnetc_sent_t *sent);

/* The operation is complete: releases what it held, and sets sent->held to 0. */
static inline void gasnetc_sent_end(gasnetc_sent_t *sent)
{
    if (GASNETC_SENT_PINS && sent->remote_pin)
        gasnetc_release_pinned(sent);
    else if (sent->held)
        gasnetc_release_held(sent);
    else
        return;
    sent->held = 0;
}

/* Counts `count` operations of the counter as ended; NULL: no thread waits for them. */
static inline void gasnetc_counter_reap(gasnetc_counter_t *counter, uint32_t count)
{
    if (counter) {
        uint32_t reaped = atomic_load_explicit(&counter->reaped, memory_order_relaxed);
        atomic_store_explicit(&counter->reaped, reaped + count, memory_order_release);
    }
}

/* Called by the network once for each completed operation, with the poll lock held.  A network may
 * call gasnetc_sent_end for each operation and gasnetc_counter_reap for several at once instead. */
static inline void gasnetc_sent(gasnetc_sent_t *sent)
{
    gasnetc_sent_end(sent);
    gasnetc_counter_reap(sent->counter, 1);
}
