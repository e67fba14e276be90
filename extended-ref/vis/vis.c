/* vis.c - vector, indexed and strided puts and gets: gasnet_{put,get}{v,i,s}{,_nb,_nbi}_bulk.
 *
 * Each call checks both descriptions, chooses the way of the transfer (choose.h) and its counter.
 * All messages are sent before the call returns; any poll handles the answers.
 */
#include "extended-ref/vis/vis.h"

#include <string.h>

#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/report.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/shm_transfer.h"
#include "extended-ref/transfer.h"
#include "extended-ref/vis/choose.h"

enum vis_direction { PUT, GET };

/* One call of a client.  */
typedef struct vis_call {
    enum vis_direction direction;
    enum gasnete_vis_form form;
    gasnet_node_t node;
    const gasnete_vis_side_t *dst, *src;
} vis_call_t;

static const gasnete_vis_side_t *vis_remote(const vis_call_t *call)
{
    return call->direction == PUT ? call->dst : call->src;
}

static const char *vis_name(const vis_call_t *call)
{
#define FORMS(name)                                                                                \
    {                                                                                              \
        "gasnet_" name "_bulk", "gasnet_" name "_nb_bulk", "gasnet_" name "_nbi_bulk"              \
    }
    static const char *const names[2][3][3] = {{FORMS("putv"), FORMS("puti"), FORMS("puts")},
                                               {FORMS("getv"), FORMS("geti"), FORMS("gets")}};
    return names[call->direction][call->dst->kind][call->form];
}

/* --- checks --- */

/* Checks, in debug builds, the context of the call, the rules of both descriptions, and each remote
 * piece.  */
static void vis_check(const vis_call_t *call)
{
    const gasnete_vis_side_t *sides[] = {call->dst, call->src};
    const char *const names[] = {"destination", "source"}, *why;
    gasnete_check_transfer(vis_name(call), call->node);
    for (int i = 0; i < 2; i++)
        if (!gasnete_vis_valid(sides[i], &why))
            gasneti_fatal("%s: the %s %s", vis_name(call), names[i], why);
    gasnete_vis_walk_t walk;
    gasnete_vis_begin(&walk, vis_remote(call));
    for (; walk.length; gasnete_vis_advance(&walk, walk.length, 1))
        gasnete_check_segment(call->node, walk.at, walk.length, vis_name(call));
}

static void vis_check_totals(const vis_call_t *call, const gasnete_vis_shape_t *dst,
                             const gasnete_vis_shape_t *src)
{
    if (dst->bytes != src->bytes)
        gasneti_fatal("%s: the destination has %zu bytes and the source %zu; they must be equal",
                      vis_name(call), dst->bytes, src->bytes);
    if (dst->bytes == SIZE_MAX)
        gasneti_fatal("%s: the descriptions are larger than memory", vis_name(call));
}

/* --- the transfer --- */

/* Copies the data; the sides are at these distances from the addresses that the client gave.  */
static void vis_copy(gasnete_vis_pair_t *pair, uintptr_t dst_offset, uintptr_t src_offset)
{
    gasnete_vis_match_t match;
    while (gasnete_vis_next(pair, SIZE_MAX, &match)) {
        char *dst = (char *)((uintptr_t)match.dst + dst_offset);
        const char *src = (const char *)((uintptr_t)match.src + src_offset);
        for (size_t i = 0; i < match.times; i++)
            memmove(dst + i * match.dst_stride, src + i * match.src_stride, match.length);
    }
}

/* Copies and returns true if all of the remote side is memory that this rank has mapped.  */
static bool vis_copy_near(const vis_call_t *call, gasnete_vis_pair_t *pair,
                          const gasnete_vis_shape_t *remote)
{
    const gasnete_shm_peer_t *shm = gasnete_shm_peer(call->node);
    if (!shm || !gasnete_shm_at(shm, (void *)remote->low, remote->high - remote->low)) return false;
    if (call->direction == PUT)
        GASNETE_SHM_STORE(vis_copy(pair, shm->mapped - shm->base, 0));
    else
        GASNETE_SHM_LOAD(vis_copy(pair, 0, shm->mapped - shm->base));
    return true;
}

static bool vis_may_list(const gasnete_vis_shape_t *local, bool put)
{
    return gasnetc_params.vis_remotecontig && gasnete_transfer_list_max(put) != 0 &&
           gasnete_in_segment(gasnet_mynode(), (void *)local->low, local->high - local->low);
}

static void vis_start(const vis_call_t *call, gasnete_vis_pair_t *pair,
                      const gasnete_vis_shape_t *dst, const gasnete_vis_shape_t *src,
                      gasnetc_counter_t *counter)
{
    bool put = call->direction == PUT;
    const gasnete_vis_shape_t *local = put ? src : dst, *remote = put ? dst : src;
    gasnete_vis_limits_t limits = {gasnetc_params.vis_ampipe, gasnetc_params.vis_remotecontig,
                                   vis_may_list(local, put), (size_t)gasnetc_params.vis_maxchunk};
    switch (gasnete_vis_choose(local, remote, put, call->form == GASNETE_VIS_BULK, limits)) {
    case GASNETE_VIS_EACH:
        (put ? gasnete_vis_put_each : gasnete_vis_get_each)(call->node, pair, counter);
        break;
    case GASNETE_VIS_PACK:
        (put ? gasnete_vis_put_packed : gasnete_vis_get_packed)(call->node, pair, counter);
        break;
    case GASNETE_VIS_COPY:
        (put ? gasnete_vis_put_copied : gasnete_vis_get_copied)(call->node, pair, dst->bytes,
                                                                counter);
        break;
    case GASNETE_VIS_LIST:
        gasnete_vis_listed(call->node, put, pair, counter);
        break;
    }
}

/* Starts the transfer to or from another rank, and waits or returns a handle as the form says.  */
static gasnet_handle_t vis_transfer(const vis_call_t *call, gasnete_vis_pair_t *pair,
                                    const gasnete_vis_shape_t *dst, const gasnete_vis_shape_t *src)
{
    gasnetc_counter_t blocking = {0};
    gasnete_thread_t *me;
    gasnete_op_t *op;
    switch (call->form) {
    case GASNETE_VIS_BULK:
        vis_start(call, pair, dst, src, &blocking);
        gasnetc_wait(&blocking);
        return GASNET_INVALID_HANDLE;
    case GASNETE_VIS_NBI:
        me = gasnete_self();
        vis_start(call, pair, dst, src, me->implicit[call->direction == PUT ? GASNETE_PUTS : GASNETE_GETS]);
        return GASNET_INVALID_HANDLE;
    default:
        me = gasnete_self();
        op = gasnete_op_new(me, GASNETE_OP_HANDLE);
        vis_start(call, pair, dst, src, &op->counter);
        if (!gasnetc_counter_done(&op->counter)) return op;
        gasnete_op_free(me, op);
        return GASNET_INVALID_HANDLE;
    }
}

static gasnet_handle_t vis_call(const vis_call_t *call)
{
    if (GASNETC_CHECKING) vis_check(call);
    if (call->node >= gasnetc_job.size) gasnetc_no_such_rank(vis_name(call), call->node);
    gasnete_vis_shape_t dst = gasnete_vis_shape(call->dst), src = gasnete_vis_shape(call->src);
    vis_check_totals(call, &dst, &src);
    if (dst.bytes == 0) return GASNET_INVALID_HANDLE;
    gasnete_vis_pair_t pair;
    gasnete_vis_begin(&pair.dst, call->dst);
    gasnete_vis_begin(&pair.src, call->src);
    if (!gasnete_is_remote(call->node)) {
        vis_copy(&pair, 0, 0);
        return GASNET_INVALID_HANDLE;
    }
    const gasnete_vis_shape_t *remote = call->direction == PUT ? &dst : &src;
    if (vis_copy_near(call, &pair, remote)) return GASNET_INVALID_HANDLE;
    gasnetc_require_attached(vis_name(call));
    gasnete_check_segment(call->node, (void *)remote->low, remote->high - remote->low,
                          vis_name(call));
    return vis_transfer(call, &pair, &dst, &src);
}

/* --- the calls --- */

static gasnete_vis_side_t vis_vector(size_t count, gasnet_memvec_t const *list)
{
    return (gasnete_vis_side_t){.kind = GASNETE_VIS_VECTOR, .count = count, .list = list};
}

static gasnete_vis_side_t vis_indexed(size_t count, void *const *list, size_t length)
{
    return (gasnete_vis_side_t){
        .kind = GASNETE_VIS_INDEXED, .count = count, .list = list, .length = length};
}

static gasnete_vis_side_t vis_strided(void *start, const size_t *strides, const size_t *count,
                                      size_t stridelevels)
{
    return (gasnete_vis_side_t){.kind = GASNETE_VIS_STRIDED,
                                .count = stridelevels,
                                .list = strides,
                                .start = start,
                                .counts = count};
}

gasnet_handle_t gasnete_putv(enum gasnete_vis_form form, gasnet_node_t dstnode, size_t dstcount,
                             gasnet_memvec_t const *dstlist, size_t srccount,
                             gasnet_memvec_t const *srclist)
{
    gasnete_vis_side_t dst = vis_vector(dstcount, dstlist), src = vis_vector(srccount, srclist);
    return vis_call(&(vis_call_t){PUT, form, dstnode, &dst, &src});
}

gasnet_handle_t gasnete_getv(enum gasnete_vis_form form, size_t dstcount,
                             gasnet_memvec_t const *dstlist, gasnet_node_t srcnode, size_t srccount,
                             gasnet_memvec_t const *srclist)
{
    gasnete_vis_side_t dst = vis_vector(dstcount, dstlist), src = vis_vector(srccount, srclist);
    return vis_call(&(vis_call_t){GET, form, srcnode, &dst, &src});
}

gasnet_handle_t gasnete_puti(enum gasnete_vis_form form, gasnet_node_t dstnode, size_t dstcount,
                             void *const *dstlist, size_t dstlen, size_t srccount,
                             void *const *srclist, size_t srclen)
{
    gasnete_vis_side_t dst = vis_indexed(dstcount, dstlist, dstlen),
                       src = vis_indexed(srccount, srclist, srclen);
    return vis_call(&(vis_call_t){PUT, form, dstnode, &dst, &src});
}

gasnet_handle_t gasnete_geti(enum gasnete_vis_form form, size_t dstcount, void *const *dstlist,
                             size_t dstlen, gasnet_node_t srcnode, size_t srccount,
                             void *const *srclist, size_t srclen)
{
    gasnete_vis_side_t dst = vis_indexed(dstcount, dstlist, dstlen),
                       src = vis_indexed(srccount, srclist, srclen);
    return vis_call(&(vis_call_t){GET, form, srcnode, &dst, &src});
}

gasnet_handle_t gasnete_puts(enum gasnete_vis_form form, gasnet_node_t dstnode, void *dstaddr,
                             const size_t *dststrides, void *srcaddr, const size_t *srcstrides,
                             const size_t *count, size_t stridelevels)
{
    gasnete_vis_side_t dst = vis_strided(dstaddr, dststrides, count, stridelevels),
                       src = vis_strided(srcaddr, srcstrides, count, stridelevels);
    return vis_call(&(vis_call_t){PUT, form, dstnode, &dst, &src});
}

gasnet_handle_t gasnete_gets(enum gasnete_vis_form form, void *dstaddr, const size_t *dststrides,
                             gasnet_node_t srcnode, void *srcaddr, const size_t *srcstrides,
                             const size_t *count, size_t stridelevels)
{
    gasnete_vis_side_t dst = vis_strided(dstaddr, dststrides, count, stridelevels),
                       src = vis_strided(srcaddr, srcstrides, count, stridelevels);
    return vis_call(&(vis_call_t){GET, form, srcnode, &dst, &src});
}
