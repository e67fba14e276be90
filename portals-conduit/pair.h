/* pair.h - the record of a neighbour, with which this process exchanges Active Messages by rings in
 * shared memory (pair_flow.h, core/rings).
 *
 * A Request that may not be written goes through Portals, as do all until both processes have a
 * pair of rings for each other (pairs.c).
 */
#ifndef PORTALS_PAIR_H
#define PORTALS_PAIR_H

#include "core/rings/neighbours.h"
#include "pair_flow.h"

enum pair_ring { PAIR_REQUESTS, PAIR_REPLIES, PAIR_RINGS };

/* Under the peer's lock, but for what the poll lock protects. */
typedef struct net_pair {
    net_near_out_t out[PAIR_RINGS]; /* rings in the peer's memory */
    pair_flow_t flow;
    _Atomic uint32_t *unanswered_here; /* of the peer's Requests; in memory that the peer reads */
    _Atomic bool asked;                /* the peer was asked for a pair */
    net_ring_t *_Atomic in; /* [PAIR_RINGS], in local memory; NULL: none yet.  The poll lock */
} net_pair_t;

#endif
