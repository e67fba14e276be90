/* reqrb.h - reference count of a receive buffer for Requests, as a plain state machine (PO-8).
 *
 * The library holds a reference while the buffer is attached, and so does every Request in it that
 * has not been released.  The library's UNLINK event follows that of the last Request.  The thread
 * that drops the last reference attaches the buffer again, at the end of the chain.  The engine
 * orders events by its poll lock; any thread may release a Request.  Pure.
 */
#ifndef PORTALS_REQRB_H
#define PORTALS_REQRB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct reqrb {
    _Atomic uint32_t holders;
} reqrb_t;

/* The buffer is attached. */
static inline void reqrb_attached(reqrb_t *buffer)
{
    atomic_store_explicit(&buffer->holders, 1, memory_order_relaxed);
}

/* A Request arrived in the buffer. */
static inline void reqrb_filled(reqrb_t *buffer)
{
    atomic_fetch_add_explicit(&buffer->holders, 1, memory_order_relaxed);
}

/* A Request was released, or the library unlinked the buffer: true if it is to be attached again.
 */
static inline bool reqrb_given_up(reqrb_t *buffer)
{
    return atomic_fetch_sub_explicit(&buffer->holders, 1, memory_order_acq_rel) == 1;
}

#endif
