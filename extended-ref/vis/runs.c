/* runs.c - transfers by the puts and gets of the Extended API: of each run, or, where the remote
 * side is contiguous, of lists of local runs, or of a buffer into which or out of which the local
 * runs are copied.
 *
 * No handler of the target takes part.
 */
#include <stdlib.h>

#include "core/job/progress.h"
#include "extended-ref/transfer.h"
#include "extended-ref/vis/pieces.h"
#include "extended-ref/vis/vis.h"

/* The most bytes of the buffer.  */
enum { RUNS_BUFFER = 64 * 1024 };

void gasnete_vis_each(gasnet_node_t node, bool put, gasnete_vis_pair_t *pair,
                      gasnetc_counter_t *counter)
{
    gasnete_vis_match_t match;
    while (gasnete_vis_next(pair, SIZE_MAX, &match))
        for (size_t i = 0; i < match.times; i++)
            (put ? gasnete_transfer_put_bulk : gasnete_transfer_get)(
                node, match.dst + (ptrdiff_t)i * match.dst_stride,
                match.src + (ptrdiff_t)i * match.src_stride, match.length, counter);
}

/* The buffer is used again as soon as its put has returned.  */
void gasnete_vis_put_copied(gasnet_node_t node, gasnete_vis_pair_t *pair, size_t nbytes,
                            gasnetc_counter_t *counter)
{
    size_t room = nbytes < RUNS_BUFFER ? nbytes : RUNS_BUFFER, filled = 0, taken;
    char *buffer = gasnete_vis_buffer(room), *dst = pair->dst.at;
    gasnete_vis_match_t match;
    while ((taken = gasnete_vis_next(pair, room - filled, &match)) != 0) {
        gasnete_vis_gather(buffer + filled, match.src, match.length, match.src_stride, match.times);
        filled += taken;
        if (filled < room) continue;
        gasnete_transfer_put(node, dst, buffer, filled, counter);
        dst += filled;
        filled = 0;
    }
    if (filled) gasnete_transfer_put(node, dst, buffer, filled, counter);
    free(buffer);
}

void gasnete_vis_get_copied(gasnet_node_t node, gasnete_vis_pair_t *pair, size_t nbytes,
                            gasnetc_counter_t *counter)
{
    size_t room = nbytes < RUNS_BUFFER ? nbytes : RUNS_BUFFER;
    char *buffer = gasnete_vis_buffer(room), *src = pair->src.at;
    gasnete_vis_match_t match;
    for (size_t left = nbytes, part; left; left -= part, src += part) {
        part = left < room ? left : room;
        gasnete_transfer_get(node, buffer, src, part, counter);
        gasnetc_wait(counter);
        for (size_t used = 0, taken;
             used < part && (taken = gasnete_vis_next(pair, part - used, &match)) != 0;
             used += taken)
            gasnete_vis_scatter(match.dst, match.length, match.dst_stride, match.times,
                                buffer + used);
    }
    free(buffer);
}

/* A list that is being filled.  */
typedef struct runs_list {
    gasnet_node_t node;
    bool put;
    char *remote; /* of the list's first piece */
    uint32_t count, most;
    size_t nbytes;
    gasnetc_counter_t *counter;
    gasnetc_piece_t piece[GASNETC_LIST_MOST];
} runs_list_t;

/* Transfers a list piece by piece, since it crosses the end of a region.  */
static void runs_each_of(const runs_list_t *list)
{
    char *remote = list->remote;
    for (uint32_t i = 0; i < list->count; i++) {
        const gasnetc_piece_t *piece = &list->piece[i];
        if (list->put)
            gasnete_transfer_put_bulk(list->node, remote, piece->at, piece->length, list->counter);
        else
            gasnete_transfer_get(list->node, piece->at, remote, piece->length, list->counter);
        remote += piece->length;
    }
}

static void runs_send(runs_list_t *list)
{
    if (!gasnete_transfer_list(list->node, list->put, list->remote, list->piece, list->count,
                               list->counter))
        runs_each_of(list);
    list->remote += list->nbytes;
    list->nbytes = 0;
    list->count = 0;
}

void gasnete_vis_listed(gasnet_node_t node, bool put, gasnete_vis_pair_t *pair,
                        gasnetc_counter_t *counter)
{
    runs_list_t list = {.node = node,
                        .put = put,
                        .remote = put ? pair->dst.at : pair->src.at,
                        .most = gasnete_transfer_list_max(put),
                        .counter = counter};
    gasnete_vis_match_t match;
    while (gasnete_vis_next(pair, SIZE_MAX, &match)) {
        char *local = put ? match.src : match.dst;
        const ptrdiff_t stride = put ? match.src_stride : match.dst_stride;
        for (size_t i = 0; i < match.times; i++, local += stride) {
            list.piece[list.count++] = (gasnetc_piece_t){local, match.length};
            list.nbytes += match.length;
            if (list.count == list.most) runs_send(&list);
        }
    }
    if (list.count) runs_send(&list);
}
