/* shm_transfer.h - transfers to and from ranks whose segments this rank has mapped, itself among
 * them (gasnet_pshm.h): copies, complete when they return.
 *
 * Each function returns true if it has done the transfer, and false, with nothing done, if it is
 * for transfer.h: the other rank shares no memory with this one, or the memory is outside the
 * segment that it has attached.  In a library without PSHM all functions return false, also for
 * this rank.
 */
#pragma once

#include <string.h>

#include "extended-ref/handles.h"

typedef gasneti_shm_peer_t gasnete_shm_peer_t;

/* NULL: the rank shares no memory. */
static inline const gasnete_shm_peer_t *gasnete_shm_peer(gasnet_node_t node)
{
    return GASNET_PSHM && GASNETI_SHM_PEER(node).rank == node ? &GASNETI_SHM_PEER(node) : NULL;
}

/* While a trace is written, the segments in the table are empty, so that all transfers come to
 * these functions.  The first returns as gasnete_shm_at, the others as gasnete_shm_put.  NULL, or
 * false, also if no trace is written. */
void *gasnete_shm_traced_at(gasnet_node_t node, const void *start, size_t nbytes);
bool gasnete_shm_put_traced(gasnet_node_t node, void *dst, const void *src, size_t nbytes);
bool gasnete_shm_get_traced(void *dst, gasnet_node_t node, const void *src, size_t nbytes);

/* The local address of [start, start+nbytes) of the other rank, or NULL if that range is not in its
 * segment.  */
static inline void *gasnete_shm_at(const gasnete_shm_peer_t *shm, const void *start, size_t nbytes)
{
    const uintptr_t size = shm->inner ? shm->inner + GASNETI_SHM_INLINE - 1 : 0;
    const uintptr_t offset = (uintptr_t)start - shm->base;
    if (offset >= size || nbytes > size - offset) return NULL;
    return (void *)(shm->mapped + offset);
}

static inline bool gasnete_shm_put(const char *call, gasnet_node_t node, void *dst, const void *src,
                                   size_t nbytes)
{
    const gasnete_shm_peer_t *shm = gasnete_shm_peer(node);
    if (!shm) return false;
    if (GASNETC_CHECKING) gasnete_check_transfer(call, node);
    void *here = gasnete_shm_at(shm, dst, nbytes);
    if (!here)
        return (GASNET_PSHM && gasnete_shm_put_traced(node, dst, src, nbytes)) ||
               gasnete_copy_local(call, node, dst, src, nbytes);
    GASNETI_SHM_STORE(memmove(here, src, nbytes));
    return true;
}

static inline bool gasnete_shm_get(const char *call, void *dst, gasnet_node_t node, const void *src,
                                   size_t nbytes)
{
    const gasnete_shm_peer_t *shm = gasnete_shm_peer(node);
    if (!shm) return false;
    if (GASNETC_CHECKING) gasnete_check_transfer(call, node);
    const void *here = gasnete_shm_at(shm, src, nbytes);
    if (!here)
        return (GASNET_PSHM && gasnete_shm_get_traced(dst, node, src, nbytes)) ||
               gasnete_copy_local(call, node, dst, src, nbytes);
    GASNETI_SHM_LOAD(memmove(dst, here, nbytes));
    return true;
}

static inline bool gasnete_shm_fill(gasnet_node_t node, void *dst, int value, size_t nbytes)
{
    const gasnete_shm_peer_t *shm = gasnete_shm_peer(node);
    void *here = shm ? gasnete_shm_at(shm, dst, nbytes) : NULL;
    if (GASNET_PSHM && shm && !here) here = gasnete_shm_traced_at(node, dst, nbytes);
    if (!here) return false;
    GASNETI_SHM_STORE(memset(here, value, nbytes));
    return true;
}
