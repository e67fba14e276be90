/* reqrb.h - reference count of a receive buffer for Requests, as a plain state machine (PO-8).
 *
 * libportals holds a reference while the buffer is attached, and so does every Request in it that
 * has not been released.  The UNLINK event follows the event of the last Request.  The thread that
 * drops the last reference attaches the buffer again, at the end of the chain.  The engine orders
 * events by its poll lock; any thread may release a Request.  Pure.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct reqrb {
    _Atomic uint32_t holders;
} reqrb_t;

static inline void reqrb_attached(reqrb_t *buffer)
{
    atomic_store_explicit(&buffer->holders, 1, memory_order_relaxed);
}

/* Adds the reference of a Request that arrived in the buffer. */
static inline void reqrb_filled(reqrb_t *buffer)
{
    atomic_fetch_add_explicit(&buffer->holders, 1, memory_order_relaxed);
}

/* Drops a reference: a Request was released, or libportals unlinked the buffer.  True if the buffer
 * is to be attached again.
 */
static inline bool reqrb_given_up(reqrb_t *buffer)
{
    return atomic_fetch_sub_explicit(&buffer->holders, 1, memory_order_acq_rel) == 1;
}
