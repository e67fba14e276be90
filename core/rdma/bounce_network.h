/* bounce_network.h - the variant of bounce.h for a network that has send buffers of its own.
 *
 * Included by bounce.h alone.
 */
#ifndef GASNETC_BOUNCE_NETWORK_H
#define GASNETC_BOUNCE_NETWORK_H

#include "core/rdma/bounce.h"

static inline void bounce_init(uint32_t count)
{
    (void)count;
}

HOT bool bounce_inlines(size_t length)
{
    (void)length;
    return true;
}

HOT bool bounce_inline_copies(void)
{
    return true;
}

HOT size_t bounce_put_max(void)
{
    return 0;
}

HOT size_t bounce_get_max(void)
{
    return gasnetc_caps.get_inline_max;
}

static inline size_t bounce_unpinnable_put_max(void)
{
    return NET_BUFFER_PUT;
}

static inline size_t bounce_unpinnable_get_max(void)
{
    return NET_BUFFER_GET;
}

HOT bool bounce_get_begin(bounce_get_t *get, void *dst, size_t nbytes, gasnetc_counter_t *counter,
                          bool wait)
{
    *get = (bounce_get_t){.to = dst, .sent = {.counter = counter}};
    return wait || nbytes <= NET_TICKET_DATA;
}

static inline const net_region_t *bounce_destination(void *start, size_t nbytes)
{
    (void)start, (void)nbytes;
    return NULL;
}

static inline void bounce_counts(const struct net_counts *net, uint64_t *all, uint64_t *most)
{
    *all = net->buffers;
    *most = net->buffers_most;
}

#endif
