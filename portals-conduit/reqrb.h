/* reqrb.h - when a receive buffer for Requests may be used again, as a plain state machine (PO-8).
 *
 * While it is attached the library holds it, and so does every Request in it that has not been
 * released.  The library's UNLINK event comes after the last Request's; whoever gives the buffer up
 * last attaches it anew, at the end of the chain.  The engine orders events by its poll lock;
 * Requests may be released by any thread.  Pure.
 */
#ifndef PORTALS_REQRB_H
#define PORTALS_REQRB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct reqrb {
    _Atomic uint32_t holders;
} reqrb_t;

/* It is in the chain again. */
static inline void reqrb_attached(reqrb_t *buffer)
{
    atomic_store_explicit(&buffer->holders, 1, memory_order_relaxed);
}

/* A Request has arrived in it. */
static inline void reqrb_filled(reqrb_t *buffer)
{
    atomic_fetch_add_explicit(&buffer->holders, 1, memory_order_relaxed);
}

/* A Request was released, or the library has unlinked it: true if it is to be attached anew. */
static inline bool reqrb_given_up(reqrb_t *buffer)
{
    return atomic_fetch_sub_explicit(&buffer->holders, 1, memory_order_acq_rel) == 1;
}

#endif
