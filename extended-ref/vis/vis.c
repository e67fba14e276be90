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
#include "core/trace/trace.h"
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
    gex_TM_t tm; /* NULL: of GASNet-1, which has rules that GASNet-EX has not (gasnete_vis_valid) */
} vis_call_t;

static const gasnete_vis_side_t *vis_remote(const vis_call_t *call)
{
    return call->direction == PUT ? call->dst : call->src;
}

static const char *vis_name(const vis_call_t *call)
{
#define FORMS(name, ex)                                                                            \
    {                                                                                              \
        {"gex_VIS_" ex "Blocking", "gex_VIS_" ex "NB", "gex_VIS_" ex "NBI", "gex_VIS_" ex "NBI"},  \
        {                                                                                          \
            "gasnet_" name "_bulk", "gasnet_" name "_nb_bulk", "gasnet_" name "_nbi_bulk", ""      \
        }                                                                                          \
    }
    static const char *const names[2][3][2][4] = {
        {FORMS("putv", "VectorPut"), FORMS("puti", "IndexedPut"), FORMS("puts", "StridedPut")},
        {FORMS("getv", "VectorGet"), FORMS("geti", "IndexedGet"), FORMS("gets", "StridedGet")}};
    return names[call->direction][call->dst->kind][!call->tm][call->form];
}

/* --- checks --- */

static void vis_check_piece(const vis_call_t *call, const void *start, size_t nbytes)
{
#if GASNET_DEBUG
    if (call->tm && call->tm->index)
        gasnete_check_bound(vis_name(call), call->tm, call->node, start, nbytes);
    else
#endif
        gasnete_check_attached(call->node, start, nbytes, vis_name(call));
}

/* Checks, in debug builds, the context of the call, the rules of both descriptions, and each remote
 * piece.  */
static void vis_check(const vis_call_t *call)
{
    const gasnete_vis_side_t *sides[] = {call->dst, call->src};
    const char *const names[] = {"destination", "source"}, *why;
    if (!call->tm) gasneti_check_classic(vis_name(call));
    gasnete_check_transfer(vis_name(call), call->node);
    for (int i = 0; i < 2; i++)
        if (!call->tm && !gasnete_vis_valid(sides[i], &why))
            gasneti_fatal("%s: the %s %s", vis_name(call), names[i], why);
    gasnete_vis_walk_t walk;
    gasnete_vis_begin(&walk, vis_remote(call));
    for (; walk.length; gasnete_vis_advance(&walk, walk.length, 1))
        vis_check_piece(call, walk.at, walk.length);
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
            memmove(dst + (ptrdiff_t)i * match.dst_stride, src + (ptrdiff_t)i * match.src_stride,
                    match.length);
    }
}

/* Copies and returns true if all of the remote side is memory that this rank has mapped.  */
static bool vis_copy_shm(const vis_call_t *call, gasnete_vis_pair_t *pair,
                         const gasnete_vis_shape_t *remote)
{
    const gasnete_shm_peer_t *shm = gasnete_shm_peer(call->node);
    if (!shm) return false;
    const void *low = (const void *)remote->low;
    const size_t extent = remote->high - remote->low;
    if (!gasnete_shm_at(shm, low, extent) &&
        !(GASNET_PSHM && gasnete_shm_traced_at(call->node, low, extent)))
        return false;
    if (call->direction == PUT)
        GASNETI_SHM_STORE(vis_copy(pair, shm->mapped - shm->base, 0));
    else
        GASNETI_SHM_LOAD(vis_copy(pair, 0, shm->mapped - shm->base));
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
        gasnete_vis_each(call->node, put, pair, counter);
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

static enum gasnete_set vis_set(const vis_call_t *call)
{
    if (call->direction == GET) return GASNETE_GETS;
    return call->form == GASNETE_VIS_NBI ? GASNETE_PUTS : GASNETE_GROUPED_PUTS;
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
    case GASNETE_VIS_NBI_GROUPED:
        me = gasnete_self();
        vis_start(call, pair, dst, src, me->implicit[vis_set(call)]);
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

static gasnet_handle_t vis_do(const vis_call_t *call)
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
    if (vis_copy_shm(call, &pair, remote)) return GASNET_INVALID_HANDLE;
    gasnetc_require_attached(vis_name(call));
    gasnete_check_segment(call->node, (void *)remote->low, remote->high - remote->low,
                          vis_name(call));
    return vis_transfer(call, &pair, &dst, &src);
}

/* A put to which the thread has bound a handler. */
static gasnet_handle_t vis_do_and_tell(vis_call_t call)
{
    call.form = GASNETE_VIS_BULK;
    (void)vis_do(&call);
    gasnete_vis_tell(call.node);
    return GASNET_INVALID_HANDLE;
}

static gasnet_handle_t vis_call(const vis_call_t *call)
{
    const uint64_t began = gasneti_trace_begin();
    const bool tells = call->tm && call->direction == PUT && gasnete_self()->at_peer.handler;
    const gasnet_handle_t handle = tells ? vis_do_and_tell(*call) : vis_do(call);
    gasneti_trace_end(
        began, .kind = call->direction == PUT ? GASNETI_TRACE_vis_put : GASNETI_TRACE_vis_get,
        .peer = call->node, .bytes = gasnete_vis_shape(call->dst).bytes);
    return handle;
}

/* --- the calls --- */

static gasnet_node_t vis_node(gex_TM_t tm, gex_Rank_t rank)
{
    return tm ? gasneti_jobrank(tm, rank) : rank;
}

/* list: of gasnet_memvec_t or gex_Memvec_t. */
static gasnete_vis_side_t vis_vector(size_t count, const void *list)
{
    return (gasnete_vis_side_t){.kind = GASNETE_VIS_VECTOR, .count = count, .list = list};
}

static gasnete_vis_side_t vis_indexed(size_t count, void *const *list, size_t length)
{
    return (gasnete_vis_side_t){
        .kind = GASNETE_VIS_INDEXED, .count = count, .list = list, .length = length};
}

/* strides: of size_t or ptrdiff_t. */
static gasnete_vis_side_t vis_strided(void *start, const void *strides, const size_t *count,
                                      size_t stridelevels)
{
    return (gasnete_vis_side_t){.kind = GASNETE_VIS_STRIDED,
                                .count = stridelevels,
                                .list = strides,
                                .start = start,
                                .counts = count};
}

gasnet_handle_t gasnete_vis_vector(int put, enum gasnete_vis_form form, gex_TM_t tm,
                                   gex_Rank_t rank, size_t dstcount, const void *dstlist,
                                   size_t srccount, const void *srclist)
{
    gasnete_vis_side_t dst = vis_vector(dstcount, dstlist), src = vis_vector(srccount, srclist);
    return vis_call(&(vis_call_t){put ? PUT : GET, form, vis_node(tm, rank), &dst, &src, tm});
}

gasnet_handle_t gasnete_vis_indexed(int put, enum gasnete_vis_form form, gex_TM_t tm,
                                    gex_Rank_t rank, size_t dstcount, void *const *dstlist,
                                    size_t dstlen, size_t srccount, void *const *srclist,
                                    size_t srclen)
{
    gasnete_vis_side_t dst = vis_indexed(dstcount, dstlist, dstlen),
                       src = vis_indexed(srccount, srclist, srclen);
    return vis_call(&(vis_call_t){put ? PUT : GET, form, vis_node(tm, rank), &dst, &src, tm});
}

gasnet_handle_t gasnete_vis_strided(int put, enum gasnete_vis_form form, gasnet_node_t node,
                                    void *dstaddr, const size_t *dststrides, void *srcaddr,
                                    const size_t *srcstrides, const size_t *count,
                                    size_t stridelevels)
{
    gasnete_vis_side_t dst = vis_strided(dstaddr, dststrides, count, stridelevels),
                       src = vis_strided(srcaddr, srcstrides, count, stridelevels);
    return vis_call(&(vis_call_t){put ? PUT : GET, form, node, &dst, &src, NULL});
}

/* --- strided, of GASNet-EX --- */

/* The levels that are repeated, of which memory has no more than fit in these arrays. */
typedef struct vis_levels {
    ptrdiff_t dst[GASNETE_VIS_LEVELS], src[GASNETE_VIS_LEVELS];
    size_t counts[GASNETE_VIS_LEVELS + 1];
    size_t used;
} vis_levels_t;

/* Returns false for a section of no bytes. */
static bool vis_take_levels(vis_levels_t *levels, const ptrdiff_t *dststrides,
                            const ptrdiff_t *srcstrides, size_t elemsz, const size_t *count,
                            size_t stridelevels)
{
    levels->counts[0] = elemsz;
    levels->used = 0;
    if (elemsz == 0) return false;
    for (size_t i = 0; i < stridelevels; i++)
        if (count[i] == 0) return false;
    for (size_t i = 0; i < stridelevels; i++) {
        if (count[i] == 1) continue;
        if (levels->used == GASNETE_VIS_LEVELS)
            gasneti_fatal("a strided transfer has more than %d levels that are repeated, and so is "
                          "larger than memory",
                          GASNETE_VIS_LEVELS);
        levels->dst[levels->used] = dststrides[i];
        levels->src[levels->used] = srcstrides[i];
        levels->counts[++levels->used] = count[i];
    }
    return true;
}

gasnet_handle_t gasnete_ex_strided(int put, enum gasnete_vis_form form, gex_TM_t tm,
                                   gex_Rank_t rank, void *dst, const ptrdiff_t *dststrides,
                                   void *src, const ptrdiff_t *srcstrides, size_t elemsz,
                                   const size_t *count, size_t stridelevels)
{
    vis_levels_t levels;
    if (!vis_take_levels(&levels, dststrides, srcstrides, elemsz, count, stridelevels))
        return GASNET_INVALID_HANDLE;
    const gasnete_vis_side_t to = vis_strided(dst, levels.dst, levels.counts, levels.used),
                             from = vis_strided(src, levels.src, levels.counts, levels.used);
    return vis_call(
        &(vis_call_t){put ? PUT : GET, form, gasneti_jobrank(tm, rank), &to, &from, tm});
}
