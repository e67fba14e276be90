/* runs.c - transfers by the puts and gets of the Extended API: of each run, or of a buffer in which
 * the runs of the local side are collected.
 *
 * Needs no help of the target.
 */
#include "extended-ref/vis/vis.h"

#include <stdlib.h>

#include "extended-ref/transfer.h"

/* Bytes that one put of collected runs has at most.  */
enum { RUNS_BUFFER = 64 * 1024 };

void gasnete_vis_put_each(gasnet_node_t node, gasnete_vis_pair_t *pair, gasnetc_counter_t *counter)
{
    char *dst, *src;
    for (size_t nbytes; (nbytes = gasnete_vis_next(pair, SIZE_MAX, &dst, &src)) != 0;)
        gasnete_transfer_put_bulk(node, dst, src, nbytes, counter);
}

void gasnete_vis_get_each(gasnet_node_t node, gasnete_vis_pair_t *pair, gasnetc_counter_t *counter)
{
    char *dst, *src;
    for (size_t nbytes; (nbytes = gasnete_vis_next(pair, SIZE_MAX, &dst, &src)) != 0;)
        gasnete_transfer_get(node, dst, src, nbytes, counter);
}

/* The destination is one run of nbytes.  The buffer is used again as soon as its put has returned.
 */
void gasnete_vis_put_gathered(gasnet_node_t node, gasnete_vis_pair_t *pair, size_t nbytes,
                              gasnetc_counter_t *counter)
{
    size_t room = nbytes < RUNS_BUFFER ? nbytes : RUNS_BUFFER;
    char *buffer = gasnete_vis_buffer(room), *dst = pair->dst.at, *to, *src;
    size_t filled = 0;
    for (size_t piece; (piece = gasnete_vis_next(pair, room - filled, &to, &src)) != 0;) {
        gasnete_vis_copy(buffer + filled, src, piece);
        filled += piece;
        if (filled < room) continue;
        gasnete_transfer_put(node, dst, buffer, filled, counter);
        dst += filled;
        filled = 0;
    }
    if (filled) gasnete_transfer_put(node, dst, buffer, filled, counter);
    free(buffer);
}
