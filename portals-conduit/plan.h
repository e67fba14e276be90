/* plan.h - computes the receive space of a job, and the length of its event queues (PO-4, PO-9,
 * PO-11).
 *
 * They come from a table by the number of ranks, interpolated between its rows, or from the user's
 * parameters.  Every rank computes the same.  Pure.
 */
#ifndef PORTALS_PLAN_H
#define PORTALS_PLAN_H

#include "include/gasnet_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLAN_CHUNK = GASNETI_PORTALS_CHUNK, /* bytes; bounds an Active Message */
    PLAN_CREDIT = 256,                  /* bytes of receive space for each credit */
    PLAN_COST_MOST =
        PLAN_CHUNK / PLAN_CREDIT, /* credits of the largest Request, and least credits of a peer */
    PLAN_CHUNKS_MOST = 1024,      /* chunks in one receive buffer */
    PLAN_CEILING_MOST = 65535,
};

/* The user's parameters; -1: from the table. */
typedef struct plan_input {
    uint32_t nodes;
    uint32_t spare;     /* buffers that credits do not cover: full ones not attached again yet */
    int64_t each, bank; /* credits: initial ones of each peer, and of the bank */
    int64_t space;      /* bytes of receive space; 0: from the table */
    uint32_t tickets, send_chunks, reply_chunks;
} plan_input_t;

typedef struct plan {
    uint32_t buffers, chunks; /* receive buffers, chunks in each */
    uint32_t credits;         /* total, with the bank */
    uint16_t each;
    uint64_t am_events, safe_events, system_events;
} plan_t;

/* Computes the plan. false, with the reason as one sentence in `why` (size bytes), if the
 * parameters contradict each other. */
bool plan_make(const plan_input_t *input, plan_t *plan, char *why, size_t size);

/* Credits that a Request of `length` bytes costs. */
static inline uint32_t plan_cost(size_t length)
{
    return length <= PLAN_CREDIT ? 1 : (uint32_t)((length + PLAN_CREDIT - 1) / PLAN_CREDIT);
}

#endif
