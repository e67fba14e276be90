/* shm.h - shared memory within a host (PSHM): the processes of a supernode map one memory file,
 * which holds their segments.
 *
 * SEGMENT_FAST alone; elsewhere, and with --disable-pshm, each process is a supernode.  Called by
 * init, attach and segment.c; the fast paths read gasneti_shm_peers (gasnet_pshm.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/network.h"
#include "gasnet.h"

/* Init, collective: decides which processes form supernodes. */
void gasnetc_shm_find(void);

/* The supernode of a rank; numbers are from 0 without gaps. */
uint32_t gasnetc_shm_supernode(uint32_t rank);

/* Init, after gasnetc_shm_find: maps the memory for messages.  After a barrier, Active Messages to
 * the ranks of this supernode may be stores. */
void gasnetc_shm_open(void);

/* Attach, collective: maps the supernode's segments, and returns this rank's; NULL if size is 0.
 * Fatal if they cannot be mapped.  A supernode of one rank uses net_alloc. */
void *gasnetc_shm_alloc(size_t size);

/* Attach, after all ranks have returned from gasnetc_shm_alloc and their segments are known: puts
 * to the ranks of this supernode may be stores from now on. */
void gasnetc_shm_enter(void);

/* After gasnetc_shm_open: the words of the barrier, 0 at first, if this supernode has several
 * processes; else NULL. */
_Atomic uint64_t *gasnetc_shm_barrier(void);

/* Copies to the segment of a rank of this supernode; false, with nothing done, if the rank is in
 * another one.  The caller has checked the range. */
static inline bool gasnetc_shm_put(uint32_t rank, void *dst, const void *src, size_t nbytes)
{
    if (!GASNET_PSHM) return false;
    const gasneti_shm_peer_t *shm = &gasneti_shm_peers[rank];
    if (shm->number == 0) return false;
    void *here = (void *)(shm->mapped + ((uintptr_t)dst - shm->base));
    GASNETI_SHM_STORE(memmove(here, src, nbytes));
    return true;
}

/* The `supernode` and the `offset` of gasnet_getNodeInfo. */
static inline void gasnetc_shm_info(uint32_t rank, gasnet_nodeinfo_t *info)
{
    info->supernode = (gasnet_node_t)gasnetc_shm_supernode(rank);
#if GASNET_PSHM
    info->offset = gasneti_shm_peers[rank].mapped - gasneti_shm_peers[rank].base;
#endif
}
