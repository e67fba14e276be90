/* bounce.h - when a message, a put or a get is inlined, and when it goes through a bounce buffer.
 *
 * Two variants define the calls, of which the network chooses one by NET_BUFFERS:
 *   bounce_core.h     the core has bounce buffers (buffers.h), for more than caps.inline_max bytes;
 *   bounce_network.h  the network has send buffers of its own, and the core has none.
 * Included by the code that sends and by the counters' tally.
 */
#ifndef GASNETC_BOUNCE_H
#define GASNETC_BOUNCE_H

#include "core/job/job.h"
#include "core/rdma/buffers.h"
#include "other/base/hot.h"

/* Allocates the core's buffers, at most `count`, at start-up. */
static inline void bounce_init(uint32_t count);

/* True if a message of `length` bytes is built on the stack and inlined by net_am; also for a word
 * and net_put. */
HOT bool bounce_inlines(size_t length);

/* True if the network copies an inlined put: a put from a region then saves the copy. */
HOT bool bounce_inline_copies(void);

/* The longest put that one buffer of the core holds; 0: the core has no buffers. */
HOT size_t bounce_put_max(void);

/* The longest get to memory that is not registered, without a registration for the transfer. */
HOT size_t bounce_get_max(void);

/* The longest put from memory that no device can access, and the longest get to it: buffers of the
 * core or of the network hold so much, whatever limits the user has set. */
static inline size_t bounce_unpinnable_put_max(void);
static inline size_t bounce_unpinnable_get_max(void);

/* The arguments of net_get for a get to memory that is not registered. */
typedef struct bounce_get {
    void *to;
    const net_region_t *region;
    gasnetc_sent_t sent;
} bounce_get_t;

/* Sets *get, for `nbytes` <= bounce_get_max() or bounce_unpinnable_get_max() to `dst`.  False, with
 * get->sent.held 0, when no buffer is free or, without `wait`, when another thread holds their
 * lock, or a buffer of the network is needed. */
HOT bool bounce_get_begin(bounce_get_t *get, void *dst, size_t nbytes, gasnetc_counter_t *counter,
                          bool wait);

/* Registers [start, start+nbytes) for repeated small gets, for the life of the process.  NULL if
 * that would not speed them up, or the network refuses. */
static inline const net_region_t *bounce_destination(void *start, size_t nbytes);

/* The number of buffers, and the most in use at once; `net` is from net_counts. */
static inline void bounce_counts(const struct net_counts *net, uint64_t *all, uint64_t *most);

#if NET_BUFFERS
#include "core/rdma/bounce_network.h"
#else
#include "core/rdma/bounce_core.h"
#endif

#endif
