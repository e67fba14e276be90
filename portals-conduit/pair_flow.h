/* pair_flow.h - flow control of the Active Messages that two neighbours write into rings in each
 * other's memory, pure.
 *
 * Each of the two has a pair of rings in its memory: the other writes its Requests into one, and
 * into the other one the Replies to this process's Requests.  A Request is written only while fewer
 * than `slots` earlier ones are unsettled.  One is settled when its Reply is released, with all
 * Replies before it, or when its handler has ended without a Reply.  So each Reply finds a slot,
 * whatever other messages wait for, and a handler never waits.
 */
#ifndef PORTALS_PAIR_FLOW_H
#define PORTALS_PAIR_FLOW_H

#include <stdbool.h>

#include "core/rings/amrdma.h"

/* Settled Requests, as of the last look.  The counts wrap round. */
typedef struct pair_flow {
    uint32_t released;   /* Replies */
    uint32_t unanswered; /* handlers that have ended without a Reply */
} pair_flow_t;

/* Whether a Request may be written after `sent` of them. */
static inline bool pair_may_request(const pair_flow_t *flow, uint32_t sent, uint32_t slots)
{
    return sent - flow->released - flow->unanswered < slots;
}

/* False: the peer has settled more than was sent. */
static inline bool pair_is_sound(const pair_flow_t *flow, uint32_t sent, uint32_t slots)
{
    return sent - flow->released - flow->unanswered <= slots;
}

/* `replies`: the ring in local memory.  `unanswered`: the peer's count. */
static inline void pair_look(pair_flow_t *flow, amrdma_in_t *replies, bool in_order,
                             const _Atomic uint32_t *unanswered)
{
    amrdma_freed(replies, in_order);
    flow->released = replies->freed;
    flow->unanswered = atomic_load_explicit(unanswered, memory_order_acquire);
}

/* The handler of a Request has ended without a Reply; one thread at a time. */
static inline void pair_count_unanswered(_Atomic uint32_t *unanswered)
{
    atomic_store_explicit(unanswered, atomic_load_explicit(unanswered, memory_order_relaxed) + 1,
                          memory_order_release);
}

#endif
