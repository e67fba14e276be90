/* topology.h - which members of a group of ranks share memory: the job's ranks, or a team's.
 *
 * Barriers and collectives send across the network from the leaders of supernodes alone.  All
 * members compute the same topology.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Supernodes are numbered in the order of their first members, which lead them. */
typedef struct gasnete_topology {
    uint32_t count;        /* of supernodes */
    bool ranges;           /* each supernode is a range of ranks, so that `ranks` is in order */
    const uint32_t *first; /* [count + 1] by supernode: index in `ranks` of its first rank */
    const uint32_t *ranks; /* [size] the ranks of each supernode, in order */
    const uint32_t *index; /* [size] by rank: its index in `ranks` */
    const uint32_t *of;    /* [size] by rank: its supernode */
} gasnete_topology_t;

/* The topology of the job, made by gasnete_init; NULL: no two ranks share memory, or all do. */
#pragma GCC visibility push(hidden)
extern gasnete_topology_t *gasnete_topology_job;
#pragma GCC visibility pop

/* Sets *topology to that of a group of `size` ranks, to be freed by free(); to NULL if no two
 * members share memory, or all do.  Member r is in supernode[r], or with `nodes` in
 * supernode[nodes[r]], which is any number below `numbers`.  false: out of memory. */
bool gasnete_topology_new(gasnete_topology_t **topology, const uint32_t *supernode,
                          uint32_t numbers, const uint32_t *nodes, uint32_t size);

/* The number of ranks of a supernode. */
static inline uint32_t gasnete_topology_members(const gasnete_topology_t *topology,
                                                uint32_t supernode)
{
    return topology->first[supernode + 1] - topology->first[supernode];
}

static inline uint32_t gasnete_topology_leader(const gasnete_topology_t *topology,
                                               uint32_t supernode)
{
    return topology->ranks[topology->first[supernode]];
}
