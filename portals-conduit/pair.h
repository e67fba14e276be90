/* pair.h - Active Messages between two neighbours, which write them into rings in each other's
 * memory (core/rings): their flow control, pure, and the record of a neighbour.
 *
 * Each of the two has a pair of rings in its memory: the other writes its Requests into one, and
 * into the other one the Replies to this process's Requests.  A Request is written only while fewer
 * than `slots` earlier ones are unsettled.  One is settled when its Reply is released, with all
 * Replies before it, or when its handler has ended without a Reply.  So each Reply finds a slot,
 * whatever other messages wait for, and a handler never waits.  A Request that may not be written
 * goes through Portals, as do all until both processes have a pair for each other (pairs.c).
 */
#ifndef PORTALS_PAIR_H
#define PORTALS_PAIR_H

#include "core/rings/neighbours.h"

/* `sent`: Requests written so far; `released`: their Replies that are; `unanswered`: those whose
 * handlers have ended without one.  The counts wrap round. */
static inline bool pair_may_request(uint32_t sent, uint32_t released, uint32_t unanswered,
                                    uint32_t slots)
{
    return sent - released - unanswered < slots;
}

enum pair_ring { PAIR_REQUESTS, PAIR_REPLIES, PAIR_RINGS };

/* Under the peer's lock, but for what the poll lock protects. */
typedef struct net_pair {
    net_near_out_t out[PAIR_RINGS];    /* rings in the peer's memory */
    uint32_t released, unanswered;     /* as of the last look */
    _Atomic uint32_t *unanswered_here; /* of the peer's Requests; in memory that the peer reads */
    _Atomic bool asked;                /* the peer was asked for a pair */
    net_ring_t *_Atomic in; /* [PAIR_RINGS], in local memory; NULL: none yet.  The poll lock */
} net_pair_t;

#endif
