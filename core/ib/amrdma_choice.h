/* amrdma_choice.h - which peers get a ring for their Active Messages (IB-R11, IB-R12), pure.
 *
 * Called by amrdma_rings.c, under the poll lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The number of peers that may get a ring.  A Reply that arrives by a ring leaves its posted
 * receive buffer to the same peer's next Reply.  So where the buffers for Replies are too few for
 * all peers, as many buffers as one peer has credits are kept for the peers without a ring. */
static inline uint32_t amrdma_max_rings(uint32_t wanted, uint32_t peers, uint32_t credits,
                                        uint32_t replies)
{
    uint32_t rings = wanted < peers ? wanted : peers, most = replies / credits;
    if (replies >= (uint64_t)credits * peers) return rings;
    if (most > 0) most--;
    return rings < most ? rings : most;
}

/* After `cycle` messages have arrived, rings are given to the peers that sent the most: to the peer
 * with most messages, and to each that sent at least total / max_rings.  Then counting starts
 * again. */
typedef struct amrdma_choice {
    uint32_t cycle; /* 0: no peer is ever chosen */
    uint32_t max_rings;
    uint32_t given;
    uint32_t peers;
    uint32_t total;     /* messages in this cycle */
    uint32_t chosen;    /* peers chosen in this cycle */
    uint32_t *arrivals; /* [peers]: in this cycle, from peers without a ring; the caller's memory */
} amrdma_choice_t;

/* True while rings are left to give. */
static inline bool amrdma_choosing(const amrdma_choice_t *choice)
{
    return choice->cycle && choice->given < choice->max_rings;
}

/* Counts `count` messages from `peer`, or from peers that have a ring (AMRDMA_HAS_RING).  True at
 * the end of the cycle: call amrdma_choose until it returns -1. */
enum { AMRDMA_HAS_RING = -1 };
static inline bool amrdma_count_arrival(amrdma_choice_t *choice, int64_t peer, uint32_t count)
{
    if (peer != AMRDMA_HAS_RING) choice->arrivals[peer] += count;
    choice->total += count;
    return choice->total >= choice->cycle;
}

static inline uint32_t amrdma_most_arrivals(const amrdma_choice_t *choice)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < choice->peers; i++)
        if (choice->arrivals[i] > choice->arrivals[best]) best = i;
    return best;
}

static inline int64_t amrdma_end_cycle(amrdma_choice_t *choice)
{
    for (uint32_t i = 0; i < choice->peers; i++) choice->arrivals[i] = 0;
    choice->total = choice->chosen = 0;
    return -1;
}

/* The next peer to get a ring; -1: no more in this cycle. */
static inline int64_t amrdma_choose(amrdma_choice_t *choice)
{
    if (choice->given == choice->max_rings) return amrdma_end_cycle(choice);
    uint32_t best = amrdma_most_arrivals(choice);
    uint64_t arrivals = choice->arrivals[best];
    bool enough = choice->chosen ? arrivals * choice->max_rings >= choice->total : true;
    if (arrivals == 0 || !enough) return amrdma_end_cycle(choice);
    choice->arrivals[best] = 0;
    choice->chosen++;
    choice->given++;
    return best;
}
