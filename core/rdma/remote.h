/* remote.h - memory of peers: pinned all the time, or by remote firehoses.
 *
 * Two variants define the calls, of which the segment mode chooses one:
 *   remote_fast.h      SEGMENT_FAST: peers' segments are registered during attach; rdma.c;
 *   remote_firehose.h  SEGMENT_LARGE and _EVERYTHING: registered where and when they are used;
 *                      rdma_firehose.c.
 * Included by the code that opens the registration cache (firehose_open.c), and by polls. README.md
 * describes remote_firehose.h.
 */
#ifndef GASNETC_REMOTE_H
#define GASNETC_REMOTE_H

#include <errno.h>

#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/rdma/firehose.h"
#include "other/base/hot.h"

/* The number of ranks that hold firehoses to each other's memory; 1: no rank does. */
static inline uint32_t remote_nodes(void);

/* Registers whole pages. */
static inline firehose_outcome_t remote_register(uintptr_t addr, size_t len, void *key);

/* True if a registration is kept even where unmapped memory cannot be seen.  That is so for the
 * segment, which peers hold: otherwise each of their transfers would register it again. */
static inline bool remote_keeps(uintptr_t addr, size_t len);

/* One step of waiting for room in the cache. */
static inline void remote_wait(void);

/* Memory was unmapped that peers may hold: the next poll tells the peers. */
static inline void remote_make_due(void);

/* Waits until no peer accesses memory that the program unmapped before the call.  Polls meanwhile;
 * not in a handler, no lock held. */
HOT void remote_settle(void);

/* Collective: reduces the pools to what all ranks can have. */
static inline void remote_agree(firehose_sizes_t *sizes);

/* Sets what the cache needs in addition, to reach peers. */
static inline void remote_configure(firehose_config_t *config);

/* Registers the handler of messages, at attach, after the handlers of the Extended API. */
static inline void remote_register_handler(void);

/* Called in each poll, not in a handler and with no lock held. */
HOT void remote_progress(void);

#ifdef GASNET_SEGMENT_FAST
#include "core/rdma/remote_fast.h"
#else
#include "core/rdma/remote_firehose.h"
#endif

#endif
