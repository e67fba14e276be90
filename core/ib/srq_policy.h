/* srq_policy.h - whether all peers share one receive queue: the rule, apart from verbs (IB-W4). */
#ifndef NET_IB_SHARING_H
#define NET_IB_SHARING_H

#include <stdint.h>

enum net_ib_sharing { NET_IB_OWN, NET_IB_SHARE, NET_IB_CANNOT_SHARE };

/* `wanted` is GASNET_USE_SRQ; `own` and `shared` are the buffers that all peers take when they are
 * connected; a device has room for `most` in a shared queue, 0: it has none. */
static inline enum net_ib_sharing net_ib_sharing(int64_t wanted, uint64_t own, uint64_t shared,
                                                 uint32_t most)
{
    if (wanted == 0 || (wanted < 0 && (most == 0 || own <= shared))) return NET_IB_OWN;
    return most ? NET_IB_SHARE : NET_IB_CANNOT_SHARE;
}

#endif
