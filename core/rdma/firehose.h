/* firehose.h - the registration cache of the core, an instance of other/firehose.
 *
 * Memory of this node outside its segment is registered when it is first used, and stays registered
 * within a pool.  rdma.c uses it for puts and gets.  A transfer holds its region until its
 * completion is reaped: the region is its gasnetc_sent_t.held.
 */
#ifndef GASNETC_FIREHOSE_H
#define GASNETC_FIREHOSE_H

#include "core/completion.h"
#include "core/network.h"
#include "core/rdma/given_back.h"
#include "other/firehose/include/firehose.h"

/* Opens the cache; at attach, when the segment is registered.  Collective.  Fatal, naming the two
 * settings or limits that contradict each other. */
void gasnetc_firehose_open(void);

/* Exit: deregisters all that is registered. */
void gasnetc_firehose_close(void);

/* The program gives [addr, addr+len) back, or is about to: no transfer that starts later uses a
 * registration of it.  In any thread, also within free or munmap and in a signal handler: takes no
 * lock and allocates nothing.  Does nothing while there is no cache. */
void gasnetc_firehose_invalidate(void *addr, size_t len);

/* What transfers need of the cache.  `above` SIZE_MAX: there is none. */
typedef struct gasnetc_cache {
    firehose_t *instance; /* NULL: none */
    size_t above;         /* longer transfers use it, others are copied */
    size_t max_region, page;
    uintptr_t keys;   /* the regions' records in memory, which gasnetc_sent_t.held points to */
    size_t keys_size; /* bytes */
} gasnetc_cache_t;
#pragma GCC visibility push(hidden)
extern gasnetc_cache_t gasnetc_cache;
#pragma GCC visibility pop

/* After reaping, with no lock held: deregisters what was given back or evicted. */
void gasnetc_firehose_tidy(void);

#endif
