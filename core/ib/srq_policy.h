/* srq_policy.h - whether all peers share one receive queue, and how its buffers are divided
 * (IB-W4, IB-A8): the rule, apart from verbs.
 *
 * Every message in flight has a buffer: a peer's Requests by its credits, Replies by the Requests
 * in flight from this process, system messages by a fixed number for each peer.  So a device never
 * finds the queue empty, and no message delays the operations behind it on its queue pair.
 */
#pragma once

#include <stdint.h>

#include "core/ib/system_messages.h"
#include "other/base/min.h"

enum {
    NET_IB_RBUF_DEFAULT = 1024,  /* GASNET_RBUF_COUNT; the default grows with the job: */
    NET_IB_RBUF_PER_PROCESS = 10 /* three credits for each peer remain in the largest jobs */
};

/* The most Requests that a process has in flight to all of its peers (IB-R4).  `total` is
 * GASNET_AM_CREDITS_TOTAL, whose default grows with the job; `depth` the operations in flight, 0:
 * no more than the peers have together. */
enum { NET_IB_CREDITS_TOTAL_DEFAULT = 1024 };

static inline uint32_t net_ib_credits_total(uint64_t total, uint64_t depth, uint32_t peers,
                                            uint32_t credits)
{
    const uint64_t all = (uint64_t)peers * credits;
    if (total == NET_IB_CREDITS_TOTAL_DEFAULT && total < (uint64_t)peers + 1) total = peers + 1;
    if (total == 0 || total > all) total = all;
    return (uint32_t)gasneti_min(total, depth ? depth : all);
}

enum net_ib_sharing { NET_IB_OWN, NET_IB_SHARE, NET_IB_CANNOT_SHARE };

/* The plan of receive buffers.  Without a shared queue each peer has buffers of its own: `credits`
 * and NET_IB_SYS_RECVS; buffers for `replies` are posted to the peer to which a Request is sent. */
typedef struct net_ib_recv_plan {
    enum net_ib_sharing sharing;
    uint32_t buffers; /* in each device's shared queue */
    uint32_t credits; /* Requests in flight from each peer */
    uint32_t replies; /* Requests in flight to all peers together */
} net_ib_recv_plan_t;

/* `use` is GASNET_USE_SRQ; `buffers` GASNET_RBUF_COUNT, raised to what the peers need at least;
 * `most` what a device's shared queue takes, 0: it has none; `spares` come on top of `buffers` for
 * each of `devices`; `credits` and `replies` are the most that any plan has. */
static inline net_ib_recv_plan_t net_ib_recv_plan(int64_t use, uint32_t peers, uint32_t buffers,
                                                  uint32_t most, uint32_t spares, uint32_t devices,
                                                  uint32_t credits, uint32_t replies)
{
    net_ib_recv_plan_t plan = {.sharing = NET_IB_OWN, .credits = credits, .replies = replies};
    const uint64_t system = (uint64_t)peers * NET_IB_SYS_RECVS, least = system + peers + 1;
    const uint64_t own = system + (uint64_t)peers * credits + replies;
    uint64_t all = buffers > least ? buffers : least;
    if (all > most) all = most;
    if (use == 0 || (use < 0 && (most < least || own <= all * devices + spares))) return plan;
    plan.sharing = most < least ? NET_IB_CANNOT_SHARE : NET_IB_SHARE;
    if (plan.sharing == NET_IB_CANNOT_SHARE) return plan;
    plan.buffers = (uint32_t)all;
    /* Half is for Requests from peers, half for Replies; what one half does not need goes to the
     * other. */
    const uint64_t rest = all - system;
    uint64_t half = rest / 2 / peers;
    if (half == 0) half = 1;
    if (half > credits) half = credits;
    plan.replies = (uint32_t)gasneti_min(replies, rest - half * peers);
    plan.credits = (uint32_t)gasneti_min(credits, (rest - plan.replies) / peers);
    return plan;
}

static inline uint32_t net_ib_rbuf_default(uint32_t peers)
{
    const uint64_t grown = ((uint64_t)peers + 1) * NET_IB_RBUF_PER_PROCESS;
    return grown > NET_IB_RBUF_DEFAULT ? (uint32_t)grown : NET_IB_RBUF_DEFAULT;
}
