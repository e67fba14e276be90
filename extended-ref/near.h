/* near.h - transfers to and from ranks whose segments this rank has mapped, itself among them
 * (gasnet_pshm.h): copies, complete when they return.
 *
 * Each function returns true if it has done the transfer, and false, with nothing done, if it is
 * for the network: the other rank shares no memory with this one, or the memory is outside its
 * segment.  In a library without PSHM all functions return false, also for this rank.
 */
#ifndef GASNETE_NEAR_H
#define GASNETE_NEAR_H

#include <string.h>

#include "extended-ref/handles.h"

#if GASNET_PSHM
#define GASNETE_SHARED     1
#define GASNETE_NEAR_STORE GASNETI_NEAR_STORE
#define GASNETE_NEAR_LOAD  GASNETI_NEAR_LOAD
typedef gasneti_near_t gasnete_near_t;
static inline const gasnete_near_t *gasnete_near(gasnet_node_t node)
{
    return gasneti_near[node].place ? &gasneti_near[node] : NULL;
}
#else
#define GASNETE_SHARED           0
#define GASNETE_NEAR_STORE(copy) copy
#define GASNETE_NEAR_LOAD(copy)  copy
typedef struct gasnete_near {
    uintptr_t base, inner, here;
} gasnete_near_t;
static inline const gasnete_near_t *gasnete_near(gasnet_node_t node)
{
    (void)node;
    return NULL;
}
#endif

/* The local address of [start, start+nbytes) of the other rank, or NULL if that range is not in its
 * segment.  */
static inline void *gasnete_near_at(const gasnete_near_t *near, const void *start, size_t nbytes)
{
    const uintptr_t size = near->inner ? near->inner + GASNETI_NEAR_INLINE - 1 : 0;
    const uintptr_t offset = (uintptr_t)start - near->base;
    if (offset >= size || nbytes > size - offset) return NULL;
    return (void *)(near->here + offset);
}

static inline bool gasnete_near_put(const char *call, gasnet_node_t node, void *dst,
                                    const void *src, size_t nbytes)
{
    const gasnete_near_t *near = gasnete_near(node);
    if (!near) return false;
    if (GASNETC_CHECKING) gasnete_check_transfer(call, node);
    void *here = gasnete_near_at(near, dst, nbytes);
    if (!here) return gasnete_copy_local(call, node, dst, src, nbytes);
    GASNETE_NEAR_STORE(memmove(here, src, nbytes));
    return true;
}

static inline bool gasnete_near_get(const char *call, void *dst, gasnet_node_t node,
                                    const void *src, size_t nbytes)
{
    const gasnete_near_t *near = gasnete_near(node);
    if (!near) return false;
    if (GASNETC_CHECKING) gasnete_check_transfer(call, node);
    const void *here = gasnete_near_at(near, src, nbytes);
    if (!here) return gasnete_copy_local(call, node, dst, src, nbytes);
    GASNETE_NEAR_LOAD(memmove(dst, here, nbytes));
    return true;
}

static inline bool gasnete_near_fill(gasnet_node_t node, void *dst, int value, size_t nbytes)
{
    const gasnete_near_t *near = gasnete_near(node);
    void *here = near ? gasnete_near_at(near, dst, nbytes) : NULL;
    if (!here) return false;
    GASNETE_NEAR_STORE(memset(here, value, nbytes));
    return true;
}

#endif
