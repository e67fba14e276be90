/* atomics.c - atomic operations of the adapter on memory of any rank, with the results of rdma.h.
 *
 * The device writes the earlier value of the word to a bounce buffer, also if nobody wants it.
 * SEGMENT_FAST alone: in the other modes memory has no key before it is used (init.c).
 */
#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/rdma/bounce.h"
#include "core/rdma/rdma.h"
#include "core/rdma/remote.h"
#include "core/rdma/segment.h"
#include "other/base/hot.h"

bool gasnetc_rdma_atomics(bool favors_remote, bool *global)
{
    *global = gasnetc_caps.atomics == NET_GLOBAL_ATOMICS;
    return gasnetc_caps.atomics != NET_NO_ATOMICS &&
           gasnetc_params.atomics >= (favors_remote ? GASNETC_ATOMICS_FAVORED : GASNETC_ATOMICS_ON);
}

HOT bounce_get_t atomics_buffer(void *result, gasnetc_counter_t *counter)
{
    bounce_get_t get;
    while (!bounce_get_begin(&get, result, sizeof(uint64_t), counter, true))
        gasnetc_stall_bbuf(false);
    if (!result) get.sent.held = gasnetc_hold(get.to, GASNETC_HELD_BBUF);
    return get;
}

HOT enum net_result atomics_post(gasnetc_peer_t *peer, const net_atomic_t *atomic, uintptr_t at,
                                 const bounce_get_t *get)
{
    remote_t remote;
    if (!remote_enter(peer, true, at, sizeof(uint64_t), REMOTE_THOROUGH, &remote))
        gasnetc_out_of_segment(peer, at, sizeof(uint64_t), "an atomic operation");
    get->sent.counter->issued++;
    const enum net_result result =
        net_atomic(&peer->net, atomic, at, remote.key, get->to, get->region, &get->sent);
    if (result != NET_POSTED) {
        get->sent.counter->issued--;
        gasnetc_count_stall(peer, result);
    }
    gasneti_unlock(&peer->lock);
    return result;
}

HOT void atomics_start(uint32_t node, const net_atomic_t *atomic, void *at, void *result,
                       gasnetc_counter_t *counter)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    const bounce_get_t get = atomics_buffer(result, counter);
    for (enum net_result posted;
         (posted = atomics_post(peer, atomic, (uintptr_t)at, &get)) != NET_POSTED;)
        gasnetc_stall_at(peer, posted, false);
    gasneti_self()->counts.atomics++;
}

void gasnetc_rdma_fetch_add(uint32_t node, void *at, uint64_t operand, void *result,
                            gasnetc_counter_t *counter)
{
    const net_atomic_t atomic = {.kind = NET_FETCH_ADD, .operand = operand};
    atomics_start(node, &atomic, at, result, counter);
}

void gasnetc_rdma_compare_swap(uint32_t node, void *at, uint64_t expected, uint64_t desired,
                               void *result, gasnetc_counter_t *counter)
{
    const net_atomic_t atomic = {NET_COMPARE_SWAP, expected, desired};
    atomics_start(node, &atomic, at, result, counter);
}
