/* pair_flow.h - flow control of the Active Messages that two shared-memory peers write into rings
 * in each other's memory, pure.
 *
 * Each process has a pair of rings in its memory: the peer writes its Requests into one ring, and
 * the Replies to this process's Requests into the second.  A Request is open until its Reply and
 * all Replies before that are released, or until its handler has ended without a Reply.  A Request
 * is written only while fewer than `slots` earlier ones are open.  So each Reply finds a slot,
 * whatever other messages wait for, and a handler never waits.
 */
#ifndef PORTALS_PAIR_FLOW_H
#define PORTALS_PAIR_FLOW_H

#include <stdbool.h>

#include "core/rings/amrdma.h"

/* The numbers of Requests that are not open any more, as of the last pair_look.  The counts wrap
 * around. */
typedef struct pair_flow {
    uint32_t released;   /* Replies */
    uint32_t unanswered; /* handlers that have ended without a Reply */
} pair_flow_t;

/* True if a Request may be written after `sent` Requests. */
static inline bool pair_may_request(const pair_flow_t *flow, uint32_t sent, uint32_t slots)
{
    return sent - flow->released - flow->unanswered < slots;
}

/* False: the peer has ended more Requests than were sent. */
static inline bool pair_is_sound(const pair_flow_t *flow, uint32_t sent, uint32_t slots)
{
    return sent - flow->released - flow->unanswered <= slots;
}

/* Updates the counts.  `replies`: the ring in local memory.  `unanswered`: the peer's count. */
static inline void pair_look(pair_flow_t *flow, amrdma_in_t *replies, bool in_order,
                             const _Atomic uint32_t *unanswered)
{
    amrdma_freed(replies, in_order);
    flow->released = replies->freed;
    flow->unanswered = atomic_load_explicit(unanswered, memory_order_acquire);
}

/* Counts a Request whose handler has ended without a Reply; one thread at a time. */
static inline void pair_count_unanswered(_Atomic uint32_t *unanswered)
{
    atomic_store_explicit(unanswered, atomic_load_explicit(unanswered, memory_order_relaxed) + 1,
                          memory_order_release);
}

#endif
