/* calls.c - the public calls of collectives: each fills in a gasnete_coll_call_t.
 *
 * With SINGLE a list of addresses has one for each image of the team, with LOCAL one for each image
 * of the node; a call uses the address of the calling image.
 */
#include "core/report.h"
#include "extended-ref/coll/op.h"

/* The team that a call works on.  */
static inline gasnete_team_t *calls_team(const char *name, gasnet_team_handle_t team, int flags)
{
    gasnete_coll_check_team(name, team);
    return flags & GASNET_COLL_NO_IMAGES ? team->plain : team;
}

/* The calling image's address.  */
static void *calls_own(const char *name, gasnet_team_handle_t any, void *const list[], int flags)
{
    const gasnete_team_t *team = calls_team(name, any, flags);
    uint32_t image = team->local == 1 ? 0 : gasnete_coll_local_image(name);
    if (flags & GASNET_COLL_SINGLE) image += gasnete_coll_first_image(team, team->rank);
    if (list == NULL) gasneti_fatal("%s is given a NULL list of addresses", name);
    return list[image];
}

/* Fills in a call that moves data.  */
static inline gasnete_coll_call_t calls_move(const char *name, enum gasnete_coll_kind kind,
                                             gasnet_team_handle_t team, gasnet_image_t root,
                                             void *dst, void *src, size_t nbytes, int flags)
{
    gasnete_coll_call_t call = {.name = name,
                                .team = calls_team(name, team, flags),
                                .kind = kind,
                                .flags = flags,
                                .root = root,
                                .nbytes = nbytes,
                                .dst = dst,
                                .src = src};
    gasnete_coll_check_call(&call);
    return call;
}

static gasnete_coll_call_t calls_reduce(const char *name, gasnet_team_handle_t team,
                                        gasnet_image_t root, void *dst, void *src, size_t blksz,
                                        size_t offset, size_t elem_size, size_t elem_count,
                                        gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
    gasnete_coll_call_t call = {.name = name,
                                .team = calls_team(name, team, flags),
                                .kind = GASNETE_COLL_REDUCE,
                                .flags = flags,
                                .root = root,
                                .unit = elem_size,
                                .function = func,
                                .argument = func_arg,
                                .dst = dst,
                                .src = src};
    if (__builtin_mul_overflow(elem_size, elem_count, &call.nbytes))
        gasneti_fatal("%s is called with %zu elements of %zu bytes, which are larger than memory",
                      name, elem_count, elem_size);
    if (blksz || offset)
        gasneti_fatal("%s is called with src_blksz %zu and src_offset %zu: only reductions of "
                      "whole vectors, with both 0, are implemented",
                      name, blksz, offset);
    gasnete_coll_check_call(&call);
    return call;
}

/* Defines the blocking and the non-blocking form of a collective: the parameters of both, and the
 * call that both make. */
#define CALLS(blocking, nonblocking, parameters, filled_in)                                        \
    void blocking parameters                                                                       \
    {                                                                                              \
        const gasnete_coll_call_t call = filled_in;                                                \
        gasnete_coll_execute(&call);                                                               \
    }                                                                                              \
    gasnet_coll_handle_t nonblocking parameters                                                    \
    {                                                                                              \
        const gasnete_coll_call_t call = filled_in;                                                \
        return gasnete_coll_start(&call);                                                          \
    }

CALLS(gasnet_coll_broadcast, gasnet_coll_broadcast_nb,
      (gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src, size_t nbytes,
       int flags),
      calls_move(__func__, GASNETE_COLL_BROADCAST, team, srcimage, dst, src, nbytes, flags))

CALLS(gasnet_coll_broadcastM, gasnet_coll_broadcastM_nb,
      (gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage, void *src,
       size_t nbytes, int flags),
      calls_move(__func__, GASNETE_COLL_BROADCAST, team, srcimage,
                 calls_own(__func__, team, dstlist, flags), src, nbytes, flags))

CALLS(gasnet_coll_scatter, gasnet_coll_scatter_nb,
      (gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src, size_t nbytes,
       int flags),
      calls_move(__func__, GASNETE_COLL_SCATTER, team, srcimage, dst, src, nbytes, flags))

CALLS(gasnet_coll_scatterM, gasnet_coll_scatterM_nb,
      (gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage, void *src,
       size_t nbytes, int flags),
      calls_move(__func__, GASNETE_COLL_SCATTER, team, srcimage,
                 calls_own(__func__, team, dstlist, flags), src, nbytes, flags))

CALLS(gasnet_coll_gather, gasnet_coll_gather_nb,
      (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, size_t nbytes,
       int flags),
      calls_move(__func__, GASNETE_COLL_GATHER, team, dstimage, dst, src, nbytes, flags))

CALLS(gasnet_coll_gatherM, gasnet_coll_gatherM_nb,
      (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[],
       size_t nbytes, int flags),
      calls_move(__func__, GASNETE_COLL_GATHER, team, dstimage, dst,
                 calls_own(__func__, team, srclist, flags), nbytes, flags))

CALLS(gasnet_coll_gather_all, gasnet_coll_gather_all_nb,
      (gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags),
      calls_move(__func__, GASNETE_COLL_GATHER_ALL, team, 0, dst, src, nbytes, flags))

CALLS(gasnet_coll_gather_allM, gasnet_coll_gather_allM_nb,
      (gasnet_team_handle_t team, void *const dstlist[], void *const srclist[], size_t nbytes,
       int flags),
      calls_move(__func__, GASNETE_COLL_GATHER_ALL, team, 0,
                 calls_own(__func__, team, dstlist, flags),
                 calls_own(__func__, team, srclist, flags), nbytes, flags))

CALLS(gasnet_coll_exchange, gasnet_coll_exchange_nb,
      (gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags),
      calls_move(__func__, GASNETE_COLL_EXCHANGE, team, 0, dst, src, nbytes, flags))

CALLS(gasnet_coll_exchangeM, gasnet_coll_exchangeM_nb,
      (gasnet_team_handle_t team, void *const dstlist[], void *const srclist[], size_t nbytes,
       int flags),
      calls_move(__func__, GASNETE_COLL_EXCHANGE, team, 0,
                 calls_own(__func__, team, dstlist, flags),
                 calls_own(__func__, team, srclist, flags), nbytes, flags))

CALLS(gasnet_coll_reduce, gasnet_coll_reduce_nb,
      (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, size_t src_blksz,
       size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func,
       int func_arg, int flags),
      calls_reduce(__func__, team, dstimage, dst, src, src_blksz, src_offset, elem_size, elem_count,
                   func, func_arg, flags))

CALLS(gasnet_coll_reduceM, gasnet_coll_reduceM_nb,
      (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[],
       size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
       gasnet_coll_fn_handle_t func, int func_arg, int flags),
      calls_reduce(__func__, team, dstimage, dst, calls_own(__func__, team, srclist, flags),
                   src_blksz, src_offset, elem_size, elem_count, func, func_arg, flags))
