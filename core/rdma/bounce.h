/* bounce.h - when a message, a put or a get is inlined, and when it goes through a bounce buffer.
 *
 * The core has bounce buffers (buffers.h), for more than caps.inline_max bytes; with NET_BUFFERS
 * the network has send buffers of its own, and the core has none.
 */
#pragma once

#include "core/job/job.h"
#include "core/rdma/buffers.h"
#include "other/base/hot.h"

/* The longest put from memory that no device can access, and the longest get to it: a buffer holds
 * so much, whatever limits the user has set.  NET_TICKET_DATA: see network.h. */
#if !NET_BUFFERS
enum { NET_BUFFER_PUT = GASNETC_BBUF_SIZE, NET_BUFFER_GET = GASNETC_BBUF_SIZE };
enum { NET_TICKET_DATA = 0 };
#endif

/* True if a message of `length` bytes is built on the stack and inlined by net_am; also for a word
 * and net_put. */
HOT bool bounce_inlines(size_t length)
{
    return NET_BUFFERS || (length <= NET_STACK_MESSAGE && length <= gasnetc_caps.inline_max);
}

/* The longest put that one buffer of the core holds; 0: the core has no buffers. */
HOT size_t bounce_put_max(void)
{
    return NET_BUFFERS ? 0 : GASNETC_BBUF_SIZE;
}

/* The arguments of net_get for a get to memory that is not registered. */
typedef struct bounce_get {
    void *to;
    const net_region_t *region;
    gasnetc_sent_t sent;
} bounce_get_t;

/* Sets *get, for a get to `dst` of `nbytes` <= NET_BUFFER_GET.  False, with get->sent.held 0, when
 * no buffer is free or, without `wait`, when another thread holds their lock, or a buffer of the
 * network is needed. */
HOT bool bounce_get_begin(bounce_get_t *get, void *dst, size_t nbytes, gasnetc_counter_t *counter,
                          bool wait)
{
    if (NET_BUFFERS) {
        *get = (bounce_get_t){.to = dst, .sent = {.counter = counter}};
        return wait || nbytes <= NET_TICKET_DATA;
    }
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

/* The number of buffers, and the most in use at once; `net` is from net_counts. */
static inline void bounce_counts(const struct net_counts *net, uint64_t *all, uint64_t *most)
{
    gasnetc_bbuf_counts(all, most);
    if (NET_BUFFERS) *all = net->buffers, *most = net->buffers_most;
}
