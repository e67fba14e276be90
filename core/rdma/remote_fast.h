/* remote_fast.h - the variant of remote.h for SEGMENT_FAST.
 *
 * Included by remote.h alone.
 */
#ifndef GASNETC_REMOTE_FAST_H
#define GASNETC_REMOTE_FAST_H

#include "core/rdma/remote.h"

static inline uint32_t remote_nodes(void)
{
    return 1;
}

static inline firehose_outcome_t remote_register(uintptr_t addr, size_t len, void *key)
{
    if (net_register((void *)addr, len, NET_LOCAL, key)) return FIREHOSE_PINNED;
    return errno == ENOMEM || errno == EAGAIN ? FIREHOSE_REFUSED : FIREHOSE_INVALID;
}

static inline bool remote_keeps(uintptr_t addr, size_t len)
{
    (void)addr, (void)len;
    return false;
}

static inline void remote_wait(void)
{
    gasnetc_poll_stalled();
}

static inline void remote_make_due(void) {}

HOT void remote_settle(void) {}

static inline void remote_agree(firehose_sizes_t *sizes)
{
    (void)sizes;
}

static inline void remote_configure(firehose_config_t *config)
{
    (void)config;
}

static inline void remote_register_handler(void) {}

HOT void remote_progress(void) {}

#endif
