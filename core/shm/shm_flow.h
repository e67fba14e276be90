/* shm_flow.h - flow control of the Active Messages that two shared-memory peers write into rings in
 * each other's memory, pure.
 *
 * Each process has two rings for a peer in its memory: the peer writes its Requests into one, and
 * its Replies to this process's Requests into the second.  A Request is open until its Reply and
 * all Replies before that are released, or until its handler has ended without a Reply.  A Request
 * is written only while fewer earlier ones are open than a ring has slots.  So each Reply finds a
 * slot, whatever other messages wait for, and a handler never waits.
 */
#pragma once

#include <stdbool.h>

#include "core/rings/amrdma.h"

/* The numbers of Requests that are not open any more, as of the last shm_flow_look.  The counts
 * wrap around. */
typedef struct shm_flow {
    uint32_t released;   /* Replies */
    uint32_t unanswered; /* handlers that have ended without a Reply */
} shm_flow_t;

/* True if a Request may be written after `sent` Requests. */
static inline bool shm_flow_may_request(const shm_flow_t *flow, uint32_t sent, uint32_t slots)
{
    return sent - flow->released - flow->unanswered < slots;
}

/* True if the counts are possible.  False: the peer has ended more Requests than were sent. */
static inline bool shm_flow_is_sound(const shm_flow_t *flow, uint32_t sent, uint32_t slots)
{
    return sent - flow->released - flow->unanswered <= slots;
}

/* Updates the counts.  `replies`: the ring in local memory.  `unanswered`: the peer's count. */
static inline void shm_flow_look(shm_flow_t *flow, amrdma_in_t *replies, bool in_order,
                                 const _Atomic uint32_t *unanswered)
{
    amrdma_freed(replies, in_order);
    flow->released = replies->freed;
    flow->unanswered = atomic_load_explicit(unanswered, memory_order_acquire);
}

/* Counts a Request whose handler has ended without a Reply; one thread at a time. */
static inline void shm_flow_count_unanswered(_Atomic uint32_t *unanswered)
{
    atomic_store_explicit(unanswered, atomic_load_explicit(unanswered, memory_order_relaxed) + 1,
                          memory_order_release);
}
