/* verbs_fork.h - keeps registered memory valid when the process forks.
 *
 * Included by files that open verbs devices. Without protection the parent's first write to a
 * pinned page after a fork goes to a copy, which the device does not see. Linux from 5.12 on copies
 * pinned pages for the child instead, and libibverbs then reports that nothing is needed.
 */
#ifndef OTHER_VERBS_FORK_H
#define OTHER_VERBS_FORK_H

#include <infiniband/verbs.h>
#include <stdlib.h>

/* Older releases of rdma-core lack the function and the type of its result: 0 is disabled. */
int gasneti_verbs_fork_state(void) __asm__("ibv_is_fork_initialized") __attribute__((weak));

/* Before the first device is opened, and again before any other. */
static inline void gasneti_verbs_fork_safe(void)
{
    if (!&gasneti_verbs_fork_state || gasneti_verbs_fork_state() != 0) return;
    setenv("RDMAV_HUGEPAGES_SAFE", "1", 0); /* without it huge pages cannot be registered after
                                               ibv_fork_init */
    ibv_fork_init();
}

#endif
