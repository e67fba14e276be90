/* plan.h - what one node does in one collective operation: rounds of actions, as pure functions.
 *
 * A plan is a value: the operation, the node's rank and the chosen algorithm.  A plan determines,
 * without further state, the node's actions: messages to and from other ranks, and local copies and
 * combinations.  No I/O, no allocation, no globals: op.c executes plans over the network, and
 * tests/sim/coll.c those of 10,000 nodes in virtual time.
 *
 * The rules of execution: - The actions of a round are executed in order.  SEND and RECV only begin
 * in their round. - A round begins when all messages that earlier rounds RECV are in place. - A
 * SEND need not be complete before the operation ends; the plan inserts a DRAIN before an action
 * that overwrites memory of a SEND. - The operation ends when the actions of the last round are
 * done, all messages are in place and all SENDs are complete.  Ranks may have different numbers of
 * rounds. - A RECV may be posted up to `ahead` rounds early; its memory is not used before its
 * round. - A message is identified by its sender, its receiver and its tag, of which a plan uses
 * each once.
 *
 * Memory is named by a buffer and an offset in bytes.  SRC and DST are the caller's (with several
 * images a node, a packed copy): of rank r, GATHER and GATHER_ALL have its blocks at first[r] *
 * nbytes of DST, SCATTER of SRC; EXCHANGE has in SRC, for each rank b in order, images(r) x
 * images(b) blocks, and in DST, for each rank a in order, images(a) x images(r).  TMP is scratch of
 * gasnete_coll_plan_scratch bytes, aligned to 16.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extended-ref/topology.h"

enum gasnete_coll_kind {
    GASNETE_COLL_BARRIER, /* no data: IN_ALLSYNC and OUT_ALLSYNC */
    GASNETE_COLL_BROADCAST,
    GASNETE_COLL_SCATTER,
    GASNETE_COLL_GATHER,
    GASNETE_COLL_GATHER_ALL,
    GASNETE_COLL_EXCHANGE,
    GASNETE_COLL_REDUCE,
    GASNETE_COLL_REDUCE_ALL, /* the result at all ranks, equal to the last bit; one image a node */
};
enum { GASNETE_COLL_KINDS = GASNETE_COLL_REDUCE_ALL + 1 };

typedef struct gasnete_coll_plan {
    enum gasnete_coll_kind kind;
    uint8_t algorithm;     /* plan_choose.h: enum gasnete_coll_algorithm */
    bool in_order;         /* REDUCE, REDUCE_ALL: the function is not commutative */
    bool in_place;         /* REDUCE_ALL: DST is SRC, on all ranks */
    uint32_t rank, size;   /* of this node in the team */
    uint32_t root;         /* a rank; of rooted operations, else 0 */
    uint32_t radix;        /* of trees */
    size_t nbytes;         /* of a block; BROADCAST, REDUCE and REDUCE_ALL: of the whole */
    size_t unit;           /* REDUCE, REDUCE_ALL: bytes of an element, which no message divides */
    size_t segment;        /* most bytes of a message of a pipelined algorithm */
    const uint32_t *first; /* [size + 1] first image of each rank; NULL: one image a node */
    bool even;             /* all ranks have as many images; of no effect if `first` is NULL */
    const gasnete_topology_t *topology; /* NULL: supernodes are ignored */
    /* First images where ranks are in the order of topology->ranks: [size + 1] by their index
     * there, and behind that [topology->count + 1] by supernode; NULL if `first` is. */
    const uint32_t *first_by_index;
} gasnete_coll_plan_t;

enum gasnete_coll_buffer { GASNETE_COLL_SRC, GASNETE_COLL_DST, GASNETE_COLL_TMP };

typedef struct gasnete_coll_address {
    enum gasnete_coll_buffer buffer;
    size_t offset;
} gasnete_coll_address_t;

enum gasnete_coll_verb {
    GASNETE_COLL_SEND, /* `nbytes` from `from` to `peer` */
    GASNETE_COLL_RECV, /* `nbytes` from `peer` into `to` */
    GASNETE_COLL_COPY, /* `count` pieces of `nbytes`, from `from` and each `from_stride` on, to `to`
                          and each `to_stride` on (either may be negative); source and destination
                          may be the same */
    GASNETE_COLL_COMBINE, /* `to` = `from` op `with`, `nbytes` of each, `from` being of the lower
                             images; `to` may be `from`, and DST `with` in place */
    GASNETE_COLL_DRAIN,   /* waits until all SENDs so far no longer need their memory */
};

typedef struct gasnete_coll_action {
    enum gasnete_coll_verb verb;
    uint32_t peer; /* rank */
    uint32_t tag;  /* less than 2^30 */
    gasnete_coll_address_t to, from, with;
    size_t nbytes, count;
    ptrdiff_t to_stride, from_stride;
} gasnete_coll_action_t;

/* The alignment of TMP, and of what is in it.  */
static inline size_t plan_aligned(size_t nbytes)
{
    return (nbytes + 15) & ~(size_t)15;
}

uint32_t gasnete_coll_plan_rounds(const gasnete_coll_plan_t *plan);
uint32_t gasnete_coll_plan_ahead(const gasnete_coll_plan_t *plan);
size_t gasnete_coll_plan_scratch(const gasnete_coll_plan_t *plan);

/* Action `i` of `round`, both from 0; false if the round has no more.  */
bool gasnete_coll_plan_action(const gasnete_coll_plan_t *plan, uint32_t round, uint32_t i,
                              gasnete_coll_action_t *action);
