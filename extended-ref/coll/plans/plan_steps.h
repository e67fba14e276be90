/* plan_steps.h - the rounds of a dissemination, after which every node has the blocks of all nodes.
 *
 * Round k is of distance d = 2^k.  If the number of nodes is a power of two, pairs of nodes d apart
 * exchange the d blocks of their half of an aligned range of 2d; no range wraps around the end.
 * Otherwise a node has the blocks from its own on, and sends them to the node d before it.
 *
 * Blocks, or pieces, lie in the order of nodes.  A range that wraps around the end is two parts,
 * which are two messages; parts of few bytes are copied into one message.
 */
#pragma once

#include "extended-ref/coll/plans/plan_parts.h"

enum { PLAN_TOGETHER = 32 << 10 }; /* most bytes of two parts that are one message */

typedef struct plan_step {
    uint32_t to, give;  /* sends the blocks from `give` on to node `to` */
    uint32_t from, get; /* receives the blocks from `get` on from node `from` */
    uint32_t count;     /* of blocks, in each direction */
} plan_step_t;

/* The step of node v of `size` in the round of distance 2^k.  */
static inline plan_step_t plan_step(uint32_t size, uint32_t v, uint32_t k)
{
    const uint32_t d = (uint32_t)1 << k, others = size - d;
    if ((size & (size - 1)) == 0)
        return (plan_step_t){v ^ d, v & ~(d - 1), v ^ d, (v ^ d) & ~(d - 1), d};
    const uint32_t after = (uint32_t)(((uint64_t)v + d) % size);
    const uint32_t before = v < d ? v + others : v - d;
    return (plan_step_t){before, v, after, after, d < others ? d : others};
}

/* The gathering of all blocks or pieces in DST, by dissemination: plan_dissemination.c.  */
typedef struct plan_gathering {
    uint32_t v;                      /* the node's number */
    enum gasnete_coll_buffer source; /* of what the node has in the beginning */
    size_t scratch;                  /* offset in TMP */
    uint32_t tag;                    /* the first one; there are two for each round */
} plan_gathering_t;

size_t gasnete_coll_gathering_scratch(const gasnete_coll_plan_t *plan);
uint32_t gasnete_coll_gathering_rounds(const gasnete_coll_plan_t *plan);
/* An action of round k.  */
bool gasnete_coll_gathering(const gasnete_coll_plan_t *plan, const plan_gathering_t *g, uint32_t k,
                            offer_t *o);

typedef struct plan_message {
    plan_range_t part[2]; /* of the memory in the order of nodes; empty ones are not sent */
    bool together;        /* both, copied */
} plan_message_t;

static inline plan_message_t plan_message(plan_range_t part0, plan_range_t part1)
{
    const bool both = part0.nbytes && part1.nbytes;
    return (plan_message_t){{part0, part1}, both && part0.nbytes + part1.nbytes <= PLAN_TOGETHER};
}

/* The `count` blocks from `from` on.  */
static inline plan_message_t plan_message_of(const gasnete_coll_plan_t *plan, uint32_t from,
                                             uint32_t count)
{
    return plan_message(plan_part(plan, from, count, 0), plan_part(plan, from, count, 1));
}

static inline size_t plan_message_bytes(const plan_message_t *m)
{
    return m->part[0].nbytes + m->part[1].nbytes;
}

/* Bytes that `together` needs for a message.  */
static inline size_t plan_together(const gasnete_coll_plan_t *plan)
{
    const size_t all = plan_offset(plan, plan->size);
    if ((plan->size & (plan->size - 1)) == 0) return 0;
    return plan_aligned(all < PLAN_TOGETHER ? all : PLAN_TOGETHER);
}

static inline gasnete_coll_address_t plan_behind(gasnete_coll_address_t at, size_t nbytes)
{
    at.offset += nbytes;
    return at;
}

/* Sends a message whose parts are in `whole`; `copy` has room for them together.  Uses the tags
 * `tag` and `tag` + 1.  */
static inline bool offer_message(offer_t *o, uint32_t peer, uint32_t tag, const plan_message_t *m,
                                 enum gasnete_coll_buffer whole, gasnete_coll_address_t copy)
{
    if (m->together)
        return offer_copy(o, copy, address(whole, m->part[0].offset), m->part[0].nbytes) ||
               offer_copy(o, plan_behind(copy, m->part[0].nbytes),
                          address(whole, m->part[1].offset), m->part[1].nbytes) ||
               offer_send(o, peer, tag, copy, plan_message_bytes(m));
    for (uint32_t part = 0; part < 2; part++)
        if (m->part[part].nbytes &&
            offer_send(o, peer, tag + part, address(whole, m->part[part].offset),
                       m->part[part].nbytes))
            return true;
    return false;
}

/* Receives a message: parts that are sent together into `copy`, other parts into `whole`.  */
static inline bool offer_arrival(offer_t *o, uint32_t peer, uint32_t tag, const plan_message_t *m,
                                 enum gasnete_coll_buffer whole, gasnete_coll_address_t copy)
{
    if (m->together) return offer_recv(o, peer, tag, copy, plan_message_bytes(m));
    for (uint32_t part = 0; part < 2; part++)
        if (m->part[part].nbytes &&
            offer_recv(o, peer, tag + part, address(whole, m->part[part].offset),
                       m->part[part].nbytes))
            return true;
    return false;
}

/* Copies parts that were received together to `whole`.  */
static inline bool offer_unpacking(offer_t *o, const plan_message_t *m,
                                   enum gasnete_coll_buffer whole, gasnete_coll_address_t copy)
{
    return m->together &&
           (offer_copy(o, address(whole, m->part[0].offset), copy, m->part[0].nbytes) ||
            offer_copy(o, address(whole, m->part[1].offset), plan_behind(copy, m->part[0].nbytes),
                       m->part[1].nbytes));
}
