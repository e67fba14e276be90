/* pair.h - the record of a shared-memory peer ("neighbour"), with which this process exchanges
 * Active Messages by rings in shared memory (pair_flow.h, core/rings).
 *
 * A Request that may not be written goes through Portals, as do all Requests until both processes
 * have a pair of rings for each other (pairs.c).
 */
#ifndef PORTALS_PAIR_H
#define PORTALS_PAIR_H

#include "core/rings/neighbours.h"
#include "pair_flow.h"

enum pair_ring { PAIR_REQUESTS, PAIR_REPLIES, PAIR_RINGS };

/* ASKED: a pair is reserved for the peer, and the peer was asked for one.  OPEN: the peer has been
 * given a pair, and gives or has given one.  REFUSED: neither process gets a pair. */
enum pair_state { PAIR_NONE, PAIR_ASKED, PAIR_OPEN, PAIR_REFUSED };

/* The word of a BITS_PAIR message. */
enum { PAIR_WANTED, PAIR_NOT_GIVEN };

/* Fields are under the peer's lock, but for `state`, whose release store publishes the fields below
 * it. */
typedef struct net_pair {
    struct net_pair *next;          /* the next in the list of all records */
    net_near_out_t out[PAIR_RINGS]; /* rings in the peer's memory */
    pair_flow_t flow;
    _Atomic int state;                 /* enum pair_state */
    _Atomic uint32_t *unanswered_here; /* count of the peer's Requests without a Reply; in memory
                                          that the peer reads */
    net_ring_t *in;                    /* [PAIR_RINGS], in local memory; NULL unless OPEN */
} net_pair_t;

static inline bool net_portals_pair_open(const net_pair_t *pair)
{
    return atomic_load_explicit(&pair->state, memory_order_acquire) == PAIR_OPEN;
}

#endif
