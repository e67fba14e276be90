/* calls.c - the public calls of collectives: each fills in a gasnete_coll_call_t.
 *
 * With SINGLE a list of addresses has one for each image of the team, with LOCAL one for each image
 * of the node; a call uses the address of the calling image.
 */
#include "core/report.h"
#include "extended-ref/coll/op.h"

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
#define CALLS(name, parameters, filled_in)                                                         \
    void name parameters                                                                           \
    {                                                                                              \
        const gasnete_coll_call_t call = filled_in;                                                \
        gasnete_coll_execute(&call);                                                               \
    }                                                                                              \
    gasnet_coll_handle_t name##_nb parameters                                                      \
    {                                                                                              \
        const gasnete_coll_call_t call = filled_in;                                                \
        return gasnete_coll_start(&call);                                                          \
    }

/* The forms of a collective that moves data: with the address of the calling image, and (M) with
 * lists of addresses. */
#define FROM_ROOT(name, KIND)                                                                      \
    CALLS(gasnet_coll_##name,                                                                      \
          (gasnet_team_handle_t team, void *dst, gasnet_image_t root, void *src, size_t nbytes,    \
           int flags),                                                                             \
          calls_move(__func__, KIND, team, root, dst, src, nbytes, flags))                         \
    CALLS(gasnet_coll_##name##M,                                                                   \
          (gasnet_team_handle_t team, void *const dst[], gasnet_image_t root, void *src,           \
           size_t nbytes, int flags),                                                              \
          calls_move(__func__, KIND, team, root, calls_own(__func__, team, dst, flags), src,       \
                     nbytes, flags))
#define TO_ROOT(name, KIND)                                                                        \
    CALLS(gasnet_coll_##name,                                                                      \
          (gasnet_team_handle_t team, gasnet_image_t root, void *dst, void *src, size_t nbytes,    \
           int flags),                                                                             \
          calls_move(__func__, KIND, team, root, dst, src, nbytes, flags))                         \
    CALLS(gasnet_coll_##name##M,                                                                   \
          (gasnet_team_handle_t team, gasnet_image_t root, void *dst, void *const src[],           \
           size_t nbytes, int flags),                                                              \
          calls_move(__func__, KIND, team, root, dst, calls_own(__func__, team, src, flags),       \
                     nbytes, flags))
#define TO_ALL(name, KIND)                                                                         \
    CALLS(gasnet_coll_##name,                                                                      \
          (gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags),             \
          calls_move(__func__, KIND, team, 0, dst, src, nbytes, flags))                            \
    CALLS(gasnet_coll_##name##M,                                                                   \
          (gasnet_team_handle_t team, void *const dst[], void *const src[], size_t nbytes,         \
           int flags),                                                                             \
          calls_move(__func__, KIND, team, 0, calls_own(__func__, team, dst, flags),               \
                     calls_own(__func__, team, src, flags), nbytes, flags))

FROM_ROOT(broadcast, GASNETE_COLL_BROADCAST)
FROM_ROOT(scatter, GASNETE_COLL_SCATTER)
TO_ROOT(gather, GASNETE_COLL_GATHER)
TO_ALL(gather_all, GASNETE_COLL_GATHER_ALL)
TO_ALL(exchange, GASNETE_COLL_EXCHANGE)

CALLS(gasnet_coll_reduce,
      (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, size_t src_blksz,
       size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func,
       int func_arg, int flags),
      calls_reduce(__func__, team, dstimage, dst, src, src_blksz, src_offset, elem_size, elem_count,
                   func, func_arg, flags))

CALLS(gasnet_coll_reduceM,
      (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[],
       size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
       gasnet_coll_fn_handle_t func, int func_arg, int flags),
      calls_reduce(__func__, team, dstimage, dst, calls_own(__func__, team, srclist, flags),
                   src_blksz, src_offset, elem_size, elem_count, func, func_arg, flags))
