/* plan_parts.h - helpers that the files plan_*.c share: offers, ranges of ranks, the shape of
 * trees.
 *
 * An algorithm describes a round by offering its actions in order; the offer keeps the action that
 * the caller asked for.  Where a round has an action for each of many ranks, the action is computed
 * from its number instead, so that each takes about constant time.
 */
#pragma once

#include "extended-ref/coll/plans/plan.h"
#include "extended-ref/coll/plans/plan_choose.h"

typedef struct offer {
    uint32_t left; /* actions of the round before the one that is asked for */
    gasnete_coll_action_t *action;
} offer_t;

/* The functions of plan.h, of one algorithm.  */
typedef struct gasnete_coll_method {
    uint32_t (*rounds)(const gasnete_coll_plan_t *plan);
    uint32_t ahead;
    size_t (*scratch)(const gasnete_coll_plan_t *plan); /* NULL: 0 */
    bool (*action)(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *offer);
} gasnete_coll_method_t;

extern const gasnete_coll_method_t gasnete_coll_method_barrier, gasnete_coll_method_broadcast_tree,
    gasnete_coll_method_broadcast_pieces, gasnete_coll_method_scatter_tree,
    gasnete_coll_method_gather_tree, gasnete_coll_method_gather_all, gasnete_coll_method_pairwise,
    gasnete_coll_method_bruck, gasnete_coll_method_reduce_tree, gasnete_coll_method_reduce_pieces,
    gasnete_coll_method_reduce_all_pieces, gasnete_coll_method_doubling, gasnete_coll_method_pairs,
    gasnete_coll_method_stages, gasnete_coll_method_stages_in_segments;

const gasnete_coll_method_t *gasnete_coll_method(const gasnete_coll_plan_t *plan);
/* True if a plan is carried out in the stages of plan_stages.c.  */
bool gasnete_coll_in_stages(const gasnete_coll_plan_t *plan);

/* --- offers: true if the action is the one that is asked for --- */

static inline bool offer(offer_t *o, const gasnete_coll_action_t *action)
{
    if (o->left--) return false;
    *o->action = *action;
    return true;
}

static inline gasnete_coll_address_t address(enum gasnete_coll_buffer buffer, size_t offset)
{
    return (gasnete_coll_address_t){buffer, offset};
}

static inline bool offer_send(offer_t *o, uint32_t peer, uint32_t tag, gasnete_coll_address_t from,
                              size_t nbytes)
{
    return offer(
        o,
        &(gasnete_coll_action_t){
            .verb = GASNETE_COLL_SEND, .peer = peer, .tag = tag, .from = from, .nbytes = nbytes});
}

static inline bool offer_recv(offer_t *o, uint32_t peer, uint32_t tag, gasnete_coll_address_t to,
                              size_t nbytes)
{
    return offer(
        o, &(gasnete_coll_action_t){
               .verb = GASNETE_COLL_RECV, .peer = peer, .tag = tag, .to = to, .nbytes = nbytes});
}

/* Offers a copy, unless it has no bytes.  */
static inline bool offer_copy(offer_t *o, gasnete_coll_address_t to, gasnete_coll_address_t from,
                              size_t nbytes)
{
    return nbytes && offer(o, &(gasnete_coll_action_t){.verb = GASNETE_COLL_COPY,
                                                       .to = to,
                                                       .from = from,
                                                       .nbytes = nbytes,
                                                       .count = 1});
}

static inline bool offer_combine(offer_t *o, gasnete_coll_address_t to, gasnete_coll_address_t from,
                                 gasnete_coll_address_t with, size_t nbytes)
{
    return nbytes && offer(o, &(gasnete_coll_action_t){.verb = GASNETE_COLL_COMBINE,
                                                       .to = to,
                                                       .from = from,
                                                       .with = with,
                                                       .nbytes = nbytes});
}

/* A RECV into DST in place comes this many empty rounds after a DRAIN, so that it is not posted
 * while a SEND needs the memory: no method of REDUCE_ALL posts RECVs earlier.  */
enum { PLAN_FENCE = 2 };

static inline bool offer_drain(offer_t *o)
{
    return offer(o, &(gasnete_coll_action_t){.verb = GASNETE_COLL_DRAIN});
}

/* --- sizes --- */

static inline bool plan_is_reduction(const gasnete_coll_plan_t *plan)
{
    return plan->kind == GASNETE_COLL_REDUCE || plan->kind == GASNETE_COLL_REDUCE_ALL;
}

/* The least k with 2^k >= size.  */
static inline uint32_t plan_log2(uint32_t size)
{
    return size < 2 ? 0 : 32 - (uint32_t)__builtin_clz(size - 1);
}

static inline uint32_t plan_rank(const gasnete_coll_plan_t *plan, uint64_t any)
{
    return (uint32_t)(any % plan->size);
}

/* The number of images of the ranks before `rank`.  */
static inline size_t plan_first(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    return plan->first ? plan->first[rank] : rank;
}

static inline size_t plan_images(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    return plan_first(plan, rank + 1) - plan_first(plan, rank);
}

static inline size_t plan_blocks(const gasnete_coll_plan_t *plan, uint32_t rank)
{
    return plan_images(plan, rank) * plan->nbytes;
}

/* Bytes that a rank has for another one in an EXCHANGE where all have as many images.  */
static inline size_t plan_pair(const gasnete_coll_plan_t *plan)
{
    return plan_images(plan, 0) * plan_blocks(plan, 0);
}

/* The size of segments: tags number the segments, which limits how many there may be.  */
static inline size_t plan_segment(size_t wanted, size_t nbytes)
{
    const size_t least = nbytes >> 20;
    return wanted > least ? wanted : least;
}

/* SCATTER_FIRST, and PAIRWISE of reductions, divide the whole into `size` pieces, whose numbers of
 * units differ by at most one; with few units some pieces are empty.  */
static inline bool plan_in_pieces(const gasnete_coll_plan_t *plan)
{
    return plan->algorithm == GASNETE_COLL_SCATTER_FIRST ||
           (plan->algorithm == GASNETE_COLL_PAIRWISE && plan_is_reduction(plan));
}

static inline size_t plan_unit(const gasnete_coll_plan_t *plan)
{
    if (plan_is_reduction(plan)) return plan->unit;
    return plan->nbytes / 1024 < plan->size ? 1 : 64;
}

static inline size_t plan_units(const gasnete_coll_plan_t *plan)
{
    return (plan->nbytes + plan_unit(plan) - 1) / plan_unit(plan);
}

/* Most bytes of a piece.  */
static inline size_t plan_piece(const gasnete_coll_plan_t *plan)
{
    return (plan_units(plan) + plan->size - 1) / plan->size * plan_unit(plan);
}

/* The offset of block or piece `i`, or of the end of the last one; pieces are counted from the
 * root.  */
static inline size_t plan_offset(const gasnete_coll_plan_t *plan, uint32_t i)
{
    if (!plan_in_pieces(plan)) return plan_first(plan, i) * plan->nbytes;
    size_t offset = (size_t)((uint64_t)plan_units(plan) * i / plan->size) * plan_unit(plan);
    return offset < plan->nbytes ? offset : plan->nbytes;
}

typedef struct plan_range {
    size_t offset, nbytes;
} plan_range_t;

/* `count` ranks from `from` on; `low` follows `high` - 1. */
typedef struct plan_ring {
    uint32_t from, count, low, high;
} plan_ring_t;

/* The range of one part of the blocks or pieces of a ring: those up to the end (part 0), or those
 * from the beginning on (part 1).  */
static inline plan_range_t plan_ring_part(const gasnete_coll_plan_t *plan, plan_ring_t ring,
                                          uint32_t part)
{
    const uint32_t behind = ring.high - ring.from;
    const uint32_t first = ring.count < behind ? ring.count : behind;
    const uint32_t begin = part ? ring.low : ring.from;
    const size_t offset = plan_offset(plan, begin);
    const uint32_t count = part ? ring.count - first : first;
    return (plan_range_t){offset, plan_offset(plan, begin + count) - offset};
}

/* The range of one part of the `count` blocks or pieces from `from` on, where 0 follows the last.
 */
static inline plan_range_t plan_part(const gasnete_coll_plan_t *plan, uint64_t from, uint32_t count,
                                     uint32_t part)
{
    return plan_ring_part(plan, (plan_ring_t){plan_rank(plan, from), count, 0, plan->size}, part);
}

/* --- k-nomial trees --- */

/* The node v of a tree of the numbers 0..span - 1: numbers are written with the digits of the
 * radix, and the parent of v is v without its lowest digit other than 0.  A subtree is a range of
 * numbers.  */
typedef struct plan_tree {
    uint32_t v, span, radix, children;
    uint64_t weight; /* of v's lowest digit other than 0; of 0: not less than span */
} plan_tree_t;

plan_tree_t gasnete_coll_tree(const gasnete_coll_plan_t *plan, uint32_t v, uint32_t span);
/* Child i of the tree's node; a larger i has a larger number and subtree.  */
uint32_t gasnete_coll_tree_child(const plan_tree_t *tree, uint32_t i);
/* The number of nodes in the subtree of a child.  */
uint32_t gasnete_coll_tree_below(const plan_tree_t *tree, uint32_t child);
/* The child of the tree's node in whose subtree `number` is; `number` must be below the node.  */
uint32_t gasnete_coll_tree_towards(const plan_tree_t *tree, uint32_t number);

static inline uint32_t plan_tree_parent(const plan_tree_t *tree)
{
    return (uint32_t)(tree->v / (tree->weight * tree->radix) * (tree->weight * tree->radix));
}

/* The binomial tree of all ranks, counted from the root.  */
static inline plan_tree_t plan_binomial(const gasnete_coll_plan_t *plan)
{
    gasnete_coll_plan_t with = *plan;
    with.radix = 2;
    return gasnete_coll_tree(&with, plan_rank(plan, (uint64_t)plan->rank + plan->size - plan->root),
                             plan->size);
}

/* The number of nodes in the node's subtree.  */
static inline uint32_t plan_tree_nodes(const plan_tree_t *tree)
{
    uint32_t behind = tree->span - tree->v;
    return tree->weight < behind ? (uint32_t)tree->weight : behind;
}

/* --- trees of two levels: plan_levels.c --- */

/* A rank in its supernode.  The root leads its own supernode, the first rank any other. */
typedef struct plan_position {
    const gasnete_topology_t *by; /* NULL: all ranks are one supernode */
    uint32_t own, root_supernode; /* supernodes: of the rank, of the root */
    uint32_t first, count;   /* the supernode's ranks: index of the first in by->ranks; number */
    uint32_t number, leader; /* of the rank and of the leader among these ranks */
} plan_position_t;

/* A rank in the tree of its supernode's ranks (within), whose number 0 is the leader, and in the
 * tree of the leaders (between), whose number 0 is the root. */
typedef struct plan_levels {
    plan_position_t at;
    plan_tree_t within, between; /* between.children: 0 unless the rank is a leader */
    uint32_t children;           /* of both trees */
} plan_levels_t;

typedef struct plan_child {
    bool between;    /* the leader of another supernode */
    uint32_t number; /* in the tree; 0: none */
} plan_child_t;

plan_position_t gasnete_coll_position(const gasnete_coll_plan_t *plan, uint32_t rank,
                                      const gasnete_topology_t *by);
plan_levels_t gasnete_coll_levels(const gasnete_coll_plan_t *plan, uint32_t rank);
/* Child i; a larger i has a larger subtree, and children in other supernodes come last.  */
plan_child_t gasnete_coll_child(const plan_levels_t *levels, uint32_t i);
uint32_t gasnete_coll_child_rank(const plan_levels_t *levels, plan_child_t child);
/* The parent of a rank that is not the root.  */
uint32_t gasnete_coll_parent_rank(const gasnete_coll_plan_t *plan, const plan_levels_t *levels);

static inline bool plan_is_root(const gasnete_coll_plan_t *plan)
{
    return plan->rank == plan->root;
}
