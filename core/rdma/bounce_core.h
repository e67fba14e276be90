/* bounce_core.h - the variant of bounce.h with the core's bounce buffers (buffers.h).
 *
 * Included by bounce.h alone.
 */
#ifndef GASNETC_BOUNCE_CORE_H
#define GASNETC_BOUNCE_CORE_H

#include "core/rdma/bounce.h"

static inline void bounce_init(uint32_t count)
{
    gasnetc_bbuf_init(count);
}

HOT bool bounce_inlines(size_t length)
{
    return length <= NET_STACK_MESSAGE && length <= gasnetc_caps.inline_max;
}

HOT bool bounce_inline_copies(void)
{
    return false;
}

HOT size_t bounce_put_max(void)
{
    return GASNETC_BBUF_SIZE;
}

HOT size_t bounce_get_max(void)
{
    return GASNETC_BBUF_SIZE;
}

static inline size_t bounce_unpinnable_put_max(void)
{
    return GASNETC_BBUF_SIZE;
}

static inline size_t bounce_unpinnable_get_max(void)
{
    return GASNETC_BBUF_SIZE;
}

HOT bool bounce_get_begin(bounce_get_t *get, void *dst, size_t nbytes, gasnetc_counter_t *counter,
                          bool wait)
{
    void *bbuf = wait ? gasnetc_bbuf_try() : gasnetc_pool_take_now(&gasnetc_free_bbufs);
    get->sent.held = GASNETC_HELD_NOTHING;
    if (!bbuf) return false;
    *get = (bounce_get_t){bbuf,
                          &gasnetc_bbuf_region,
                          {.counter = counter,
                           .held = gasnetc_hold(bbuf, GASNETC_HELD_GET),
                           .copy_to = dst,
                           .copy_length = (uint32_t)nbytes}};
    return true;
}

static inline const net_region_t *bounce_destination(void *start, size_t nbytes)
{
    return gasnetc_pin_permanent(start, nbytes);
}

static inline void bounce_counts(const struct net_counts *net, uint64_t *all, uint64_t *most)
{
    (void)net;
    gasnetc_bbuf_counts(all, most);
}

#endif
