/* plan.h - how much receive space a job gets, and how long its event queues are (PO-4, PO-9,
 * PO-11).
 *
 * By a table of the number of nodes, between whose rows it is interpolated, or as the user says.
 * Every node computes the same.  Pure.
 */
#ifndef PORTALS_PLAN_H
#define PORTALS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLAN_CHUNK = 2048,                         /* bytes: the largest Active Message */
    PLAN_CREDIT = 256,                         /* bytes of receive space for each credit */
    PLAN_COST_MOST = PLAN_CHUNK / PLAN_CREDIT, /* of one Request: what a peer cannot do without */
    PLAN_CHUNKS_MOST = 1024,                   /* in one receive buffer */
    PLAN_CEILING_MOST = 65535,
};

/* What the user says; -1 leaves it to the table. */
typedef struct plan_wishes {
    uint32_t nodes;
    uint32_t spare;     /* buffers that credits do not cover: full ones not yet attached anew */
    int64_t each, bank; /* credits: for each peer, and to be lent at need */
    int64_t space;      /* bytes of receive space; 0: the table's */
    uint32_t tickets, send_chunks, reply_chunks;
} plan_wishes_t;

typedef struct plan {
    uint32_t buffers, chunks; /* receive buffers, chunks in each */
    uint32_t credits;         /* in all */
    uint16_t each;
    uint64_t am_events, safe_events, system_events;
} plan_t;

/* false, and why in one sentence, when there is no such plan. */
bool plan_make(const plan_wishes_t *wishes, plan_t *plan, char *why, size_t size);

/* What a Request of so many bytes costs. */
static inline uint32_t plan_cost(size_t length)
{
    return length <= PLAN_CREDIT ? 1 : (uint32_t)((length + PLAN_CREDIT - 1) / PLAN_CREDIT);
}

#endif
