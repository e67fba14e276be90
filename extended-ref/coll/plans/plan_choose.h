/* plan_choose.h - which algorithm an operation takes: one table by kind, team size and bytes. Pure.
 *
 * The thresholds come from `make bench`; GASNET_COLL_* variables override them (settings).
 */
#pragma once

#include "extended-ref/coll/plans/plan.h"

enum gasnete_coll_algorithm {
    GASNETE_COLL_FLAT,          /* the root with each other rank */
    GASNETE_COLL_TREE,          /* k-nomial */
    GASNETE_COLL_SCATTER_FIRST, /* BROADCAST: scatter, then gather all; REDUCE and REDUCE_ALL:
                                   reduce-scatter, then gather or gather all */
    GASNETE_COLL_DISSEMINATION, /* GATHER_ALL, BARRIER; EXCHANGE: by store and forward (Bruck);
                                   REDUCE_ALL: by doubling */
    GASNETE_COLL_PAIRWISE,      /* EXCHANGE, GATHER_ALL: each pair of ranks in one message;
                                   REDUCE and REDUCE_ALL: one for the part, one for the result */
    GASNETE_COLL_ALGORITHMS
};

extern const char *const gasnete_coll_kind_name[GASNETE_COLL_KINDS];
extern const char *const gasnete_coll_algorithm_name[GASNETE_COLL_ALGORITHMS];

/* Overrides of the table, from the environment or gasnet_coll_set_...; 0: not set.  */
typedef struct gasnete_coll_settings {
    uint32_t radix;                   /* of trees */
    size_t segment;                   /* GASNET_COLL_PIPE_SEG_SIZE */
    size_t dissemination_limit[2];    /* GATHER_ALL, EXCHANGE: most bytes of a node's blocks */
    uint8_t tree[GASNETE_COLL_KINDS]; /* by kind: 1 + algorithm, if it is forced */
} gasnete_coll_settings_t;

/* Sets algorithm, radix and segment of a plan whose other members are set; supernodes to NULL if
 * they are to be ignored.  The result is equal on all ranks if the other members and the settings
 * are.  */
void gasnete_coll_choose(gasnete_coll_plan_t *plan, const gasnete_coll_settings_t *settings);

/* True if the operation has such an algorithm: FLAT and TREE if it has a root; SCATTER_FIRST unless
 * the order of combination counts; DISSEMINATION for EXCHANGE of even images.  */
bool gasnete_coll_plan_possible(const gasnete_coll_plan_t *plan,
                                enum gasnete_coll_algorithm algorithm);
