/* firehose.c - the registration cache of the core, as transfers use it; firehose_open.c opens it.
 */
#include "core/rdma/firehose.h"

#include <errno.h>

#include "core/job/job.h"
#include "core/job/thread.h"
#include "core/rdma/lease.h"
#include "core/rdma/remote.h"
#include "core/report.h"

gasnetc_cache_t gasnetc_cache = {.max_region = SIZE_MAX};
gasnetc_link_t gasnetc_cache_due;

static atomic_bool is_due;         /* gasnetc_cache_due is on the list */
static gasneti_lock_t taking_lock; /* of gasnetc_unmapped_take */

/* --- unmapped memory --- */

void gasnetc_cache_make_due(void)
{
    if (!atomic_exchange(&is_due, true)) gasnetc_retire(&gasnetc_cache_due);
}

void gasnetc_firehose_invalidate(void *addr, size_t len)
{
    if (!gasnetc_unmapped_report((uintptr_t)addr, len)) return;
    gasnetc_cache_make_due();
    if (REMOTE_PENDS) gasnetc_remote_make_due();
}

static void drop(uintptr_t start, size_t size)
{
    firehose_invalidate(gasnetc_cache.instance, start, size);
}

static void take_reports(void)
{
    gasneti_lock(&taking_lock);
    if (gasnetc_unmapped_pending()) {
        gasnetc_unmapped_take(drop);
        gasnetc_lease_take_back(GASNETC_LOCAL);
    }
    gasneti_unlock(&taking_lock);
}

/* Acts on reports of unmapped memory first: no look-up of the call finds memory that was unmapped
 * before it. */
void gasnetc_cache_work(void)
{
    if (!gasnetc_cache.instance) return;
    if (gasnetc_unmapped_pending()) take_reports();
    gasnetc_lease_retire();
    gasnetc_unmapped_watch_all();
    firehose_poll(gasnetc_cache.instance);
    gasnetc_unmapped_watch_some();
}

void gasnetc_firehose_retire(void)
{
    atomic_store(&is_due, false);
    gasnetc_cache_work();
}

bool gasnetc_cache_shed(void)
{
    firehose_t *fh = gasnetc_cache.instance;
    if (!fh) return false;
    gasnetc_lease_take_back(GASNETC_LOCAL);
    gasneti_lock(&gasnetc_cache.lock);
    const bool any = firehose_hit_evict_all(fh);
    gasneti_unlock(&gasnetc_cache.lock);
    gasnetc_unmapped_watch_all();
    const bool worked = firehose_poll(fh);
    gasnetc_unmapped_watch_some();
    return worked || any;
}

/* --- transfers --- */

const net_region_t *gasnetc_cache_hit(gasnetc_peer_t *peer, const void *start, size_t nbytes)
{
    firehose_t *fh = gasnetc_cache.instance;
    if (!fh || !gasnetc_still_watched() || gasnetc_unmapped_pending()) return NULL;
    gasneti_lock(&gasnetc_cache.lock);
    const uint32_t region = firehose_hit(fh, (uintptr_t)start, nbytes);
    if (region && peer) gasnetc_lease_offer(peer, GASNETC_LOCAL, region);
    gasneti_unlock(&gasnetc_cache.lock);
    return region ? gasnetc_cache_region(region) : NULL;
}

static void __attribute__((noreturn, cold)) refused(const void *start, size_t nbytes)
{
    char why[256];
    net_explain_register(ENOMEM, nbytes, why, sizeof why);
    gasneti_fatal("cannot register %zu bytes at %p for a transfer: %s; %s", nbytes, start,
                  firehose_error(gasnetc_cache.instance), why);
}

/* A thread that waits in this call polls, and so may call it again.  Waiting requests are served in
 * their order, so a nested call must not wait. */
enum gasnetc_cache_answer gasnetc_cache_pin(const void *start, size_t nbytes, bool may_wait,
                                            const net_region_t **region)
{
    static GASNETI_OF_THREAD bool waits;
    firehose_t *fh = gasnetc_cache.instance;
    firehose_request_t request;
    if (!fh) return GASNETC_NO_CACHE;
    if (gasnetc_unmapped_pending()) take_reports();
    *region = gasnetc_cache_hit(NULL, start, nbytes);
    if (*region) return GASNETC_CACHED;
    if (!may_wait || waits) return GASNETC_CACHE_BUSY;
    waits = true;
    gasnetc_lease_take_back(GASNETC_LOCAL);
    gasnetc_unmapped_watch_all();
    const int result = firehose_local_pin(fh, (uintptr_t)start, nbytes, &request);
    const int error = errno;
    gasnetc_unmapped_watch_some();
    waits = false;
    if (result == 0) {
        *region = request.key;
        return GASNETC_CACHED;
    }
    if (error == ENOMEM) refused(start, nbytes);
    return GASNETC_READ_ONLY;
}

void gasnetc_cache_release(gasnetc_held_t held)
{
    firehose_t *fh = gasnetc_cache.instance;
    if (!fh) return; /* closed */
    gasneti_lock(&gasnetc_cache.lock);
    const bool due = firehose_hit_release(fh, gasnetc_cache_region_of(held));
    gasneti_unlock(&gasnetc_cache.lock);
    if (due) gasnetc_cache_make_due();
}
