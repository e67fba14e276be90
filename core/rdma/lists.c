/* lists.c - puts from several pieces of this rank's segment to contiguous remote memory, and gets
 * into them, by one post, where the network has such lists.
 */
#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/rdma/rdma.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/remote.h"

_Static_assert((int)GASNETC_LIST_MOST == (int)NET_LIST_MOST, "the same number");

uint32_t gasnetc_rdma_list_max(bool put)
{
    if (REMOTE_PENDS) return 0; /* lists are for memory that is registered already */
    return put ? gasnetc_caps.put_list_max : gasnetc_caps.get_list_max;
}

/* Finds the regions of the pieces that are not empty; returns their number, or 0 if a piece is not
 * in a region of the segment.  *nbytes is the total. */
static uint32_t lists_fill(net_piece_t *list, const gasnetc_piece_t *pieces, uint32_t count,
                           size_t *nbytes)
{
    uint32_t n = 0;
    *nbytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (pieces[i].length == 0) continue;
        const net_region_t *local = gasnetc_local_region(pieces[i].at, pieces[i].length);
        if (!local) return 0;
        list[n++] = (net_piece_t){pieces[i].at, pieces[i].length, local};
        *nbytes += pieces[i].length;
    }
    return n;
}

bool gasnetc_rdma_list(uint32_t node, bool put, void *remote, const gasnetc_piece_t *pieces,
                       uint32_t count, gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    const gasnetc_sent_t sent = {.counter = counter};
    const uintptr_t there = (uintptr_t)remote;
    net_piece_t list[NET_LIST_MOST];
    size_t nbytes;
    if (count > gasnetc_rdma_list_max(put)) return false;
    const uint32_t n = lists_fill(list, pieces, count, &nbytes);
    remote_t end;
    if (n == 0 || nbytes > gasnetc_caps.transfer_max) return false;
    while (remote_enter(peer, put, there, nbytes, REMOTE_THOROUGH, &end)) {
        counter->issued++;
        enum net_result result =
            put ? net_put_list(&peer->net, there, end.key, list, n, nbytes, &sent)
                : net_get_list(&peer->net, list, n, there, end.key, nbytes, &sent);
        if (result != NET_POSTED) {
            counter->issued--;
            gasnetc_count_stall(peer, result);
        }
        gasneti_unlock(&peer->lock);
        if (result == NET_POSTED) return true;
        gasnetc_stall_at(peer, result, false);
    }
    return false;
}
