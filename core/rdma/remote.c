/* remote.c - remote firehoses of SEGMENT_LARGE and SEGMENT_EVERYTHING: registration when a peer, or
 * this rank, needs memory; the messages between the caches of two ranks; progress.
 *
 * Called by firehose_open.c, which opens the cache, by polls, and by completions.
 */
#include "core/rdma/remote.h"

#include <stdlib.h>
#include <string.h>

#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/min.h"

atomic_bool gasnetc_remote_due;
atomic_uint gasnetc_unmapped_settled;

/* --- registration --- */

/* True if no page of the range may be written.  A region is of one kind, so that its key says which
 * access each of its bytes allows. */
static bool is_read_only(uintptr_t addr, size_t len)
{
    for (uintptr_t page = addr; len > GASNET_PAGESIZE && page < addr + len;
         page += GASNET_PAGESIZE) {
        net_region_t region;
        if (!net_register((void *)page, GASNET_PAGESIZE, NET_REMOTE, &region)) continue;
        net_deregister(&region);
        return false;
    }
    return true;
}

firehose_outcome_t gasnetc_remote_register(uintptr_t addr, size_t len, gasnetc_cache_key_t *key)
{
    memset(key, 0, sizeof *key);
    bool done = gasnetc_register((void *)addr, len, NET_REMOTE, &key->region);
    if (!done && errno == EFAULT && is_read_only(addr, len)) {
        key->read_only = true;
        done = gasnetc_register((void *)addr, len, NET_READABLE, &key->region);
    }
    if (!done) return errno == ENOMEM || errno == EAGAIN ? FIREHOSE_REFUSED : FIREHOSE_INVALID;
    key->key = net_key(&key->region);
    return FIREHOSE_PINNED;
}

bool gasnetc_remote_keeps(uintptr_t addr, size_t len)
{
    const gasnetc_segment_t *own = &gasnetc_peers[gasnetc_job.rank].segment;
    return addr - own->base < own->size && len <= own->size - (addr - own->base);
}

void gasnetc_remote_make_due(void)
{
    atomic_store_explicit(&gasnetc_remote_due, true, memory_order_release);
}

void gasnetc_unpin_remote(uint32_t region)
{
    firehose_t *fh = gasnetc_cache.instance;
    if (!fh) return; /* closed */
    gasneti_lock(&gasnetc_cache.lock);
    fh_remote_release(&fh->remote, region);
    gasneti_unlock(&gasnetc_cache.lock);
}

/* Begins the use of a peer's region that covers the range, or returns 0.  Cache's lock held. */
static uint32_t remote_region(firehose_t *fh, uint32_t rank, bool put, uintptr_t start,
                              size_t nbytes)
{
    const uint32_t region = fh_remote_try(&fh->remote, rank, start, start + nbytes);
    if (!region || !put || !remote_key_of(region)->read_only) return region;
    fh_remote_release(&fh->remote, region);
    return 0;
}

/* Begins the use of a region that covers the local memory, or returns 0.  Cache's lock held. */
static uint32_t local_region(firehose_t *fh, bool put, const void *local, size_t nbytes)
{
    const uint32_t region = firehose_hit(fh, (uintptr_t)local, nbytes);
    if (!region || put || !remote_read_only(gasnetc_cache_region(region))) return region;
    if (firehose_hit_release(fh, region)) gasnetc_cache_make_due();
    return 0;
}

bool gasnetc_remote_search(gasnetc_peer_t *peer, bool put, uintptr_t start, const void *local,
                           size_t nbytes, remote_t *remote, const net_region_t **region)
{
    firehose_t *fh = gasnetc_cache.instance;
    uint32_t own = 0;
    if (region && (!gasnetc_still_watched() || gasnetc_unmapped_pending())) return false;
    gasneti_lock(&gasnetc_cache.lock);
    uint32_t theirs = remote_region(fh, peer->net.rank, put, start, nbytes);
    if (theirs && region && !(own = local_region(fh, put, local, nbytes))) {
        fh_remote_release(&fh->remote, theirs);
        theirs = 0;
    }
    if (theirs) gasnetc_lease_offer(peer, GASNETC_REMOTE, theirs);
    if (own) {
        gasnetc_lease_offer(peer, GASNETC_LOCAL, own);
        *region = gasnetc_cache_region(own);
    }
    gasneti_unlock(&gasnetc_cache.lock);
    if (!theirs) return false;
    *remote = remote_of(theirs);
    gasneti_lock(&peer->lock);
    return true;
}

void gasnetc_remote_undo(uint32_t pin)
{
    if (pin & REMOTE_LEASES)
        gasnetc_lease_undo(&gasnetc_leases[GASNETC_REMOTE][pin - REMOTE_LEASES]);
    else
        gasnetc_unpin_remote(pin);
}

void gasnetc_check_writable(const rdma_piece_t *p, uint32_t region)
{
    if (p->put && remote_key_of(region)->read_only)
        gasneti_fatal("a put of %zu bytes at %#lx of %s: the memory there may only be read, as "
                      "that of the program's code and constants",
                      p->nbytes, (unsigned long)p->remote, gasneti_rank_name(p->peer->net.rank));
}

/* Releases the regions at both ends, holding the cache's lock once. */
static void release_regions(const gasnetc_sent_t *sent)
{
    firehose_t *fh = gasnetc_cache.instance;
    const gasnetc_held_t held = sent->held;
    const bool cached = gasnetc_held_tag(held) == GASNETC_HELD_CACHED;
    bool due = false;
    if (!fh) return; /* closed */
    gasneti_lock(&gasnetc_cache.lock);
    fh_remote_release(&fh->remote, sent->remote_pin);
    if (cached) due = firehose_hit_release(fh, gasnetc_cache_region_of(held));
    gasneti_unlock(&gasnetc_cache.lock);
    if (due) gasnetc_cache_make_due();
    if (held && !cached) gasnetc_release_held(sent);
}

void gasnetc_release_pinned(const gasnetc_sent_t *sent)
{
    if (!(sent->remote_pin & REMOTE_LEASES)) {
        release_regions(sent);
        return;
    }
    gasnetc_lease_end(&gasnetc_leases[GASNETC_REMOTE][sent->remote_pin - REMOTE_LEASES]);
    if (sent->held) gasnetc_release_held(sent);
}

/* --- messages --- */

static int send_message(void *context, uint32_t peer, const void *bytes, size_t size)
{
    (void)context;
    return gasnetc_send_firehose_message(peer, bytes, size);
}

/* True if the bytes lie in memory that is registered and may not be written. */
static bool may_not_be_written(uintptr_t start, size_t nbytes)
{
    firehose_t *fh = gasnetc_cache.instance;
    gasneti_lock(&gasnetc_cache.lock);
    const uint32_t region = fh_table_find(&fh->local.table, 0, start, start + nbytes);
    const bool read_only = region && ((gasnetc_cache_key_t *)fh_local_key(fh, region))->read_only;
    gasneti_unlock(&gasnetc_cache.lock);
    return read_only;
}

/* Takes the data of a put that came with the request for the memory: the destination, which lies in
 * the segment, then the bytes.  If the destination may not be written, the peer sees that by the
 * key, and ends the job. */
static void data_arrived(void *context, uint32_t peer, uintptr_t addr, const void *data,
                         size_t size)
{
    (void)context, (void)addr;
    const gasnetc_segment_t *own = &gasnetc_peers[gasnetc_job.rank].segment;
    uint64_t to;
    if (size <= sizeof to) gasneti_malformed(peer, (uint32_t)size, "data of a put");
    memcpy(&to, data, sizeof to);
    if (!gasnetc_within(own->base, own->size, (uintptr_t)to, size - sizeof to) &&
        !gasnetc_is_published(gasnetc_job.rank, (uintptr_t)to, size - sizeof to))
        gasneti_malformed(peer, (uint32_t)size, "address of a put (outside the segment)");
    if (may_not_be_written((uintptr_t)to, size - sizeof to)) return;
    memcpy((void *)(uintptr_t)to, (const char *)data + sizeof to, size - sizeof to);
}

const char *gasnetc_firehose_message(uint32_t from, const void *bytes, size_t size)
{
    firehose_t *fh = gasnetc_cache.instance;
    const char *wrong = firehose_receive(fh, from, bytes, size);
    gasneti_lock(&gasnetc_cache.lock);
    atomic_store_explicit(&gasnetc_revoked, (unsigned)fh->remote.revocations, memory_order_release);
    gasneti_unlock(&gasnetc_cache.lock);
    atomic_store_explicit(&gasnetc_remote_due, true, memory_order_release);
    return wrong;
}

/* --- begin --- */

/* Reduces the pools to the least of all ranks, because each rank derives its share of a peer's pool
 * from its own pool. */
void gasnetc_remote_agree(firehose_sizes_t *sizes)
{
    firehose_sizes_t *all = malloc(gasnetc_job.size * sizeof *all);
    if (!all) gasneti_fatal("out of memory for %u ranks", gasnetc_job.size);
    bootstrap_exchange(sizes, sizeof *sizes, all);
    for (uint32_t i = 0; i < gasnetc_job.size; i++) {
        sizes->m = gasneti_min(sizes->m, all[i].m);
        sizes->r = gasneti_min(sizes->r, all[i].r);
        sizes->maxvictim_m = gasneti_min(sizes->maxvictim_m, all[i].maxvictim_m);
        sizes->maxvictim_r = gasneti_min(sizes->maxvictim_r, all[i].maxvictim_r);
        sizes->max_region = gasneti_min(sizes->max_region, all[i].max_region);
    }
    free(all);
}

size_t gasnetc_ride_limit(void)
{
    return (size_t)gasnetc_params.putinmove_limit;
}

void gasnetc_remote_configure(firehose_config_t *config)
{
    config->max_message = GASNETC_MAX_MEDIUM;
    config->max_data = gasnetc_ride_limit() ? gasnetc_ride_limit() + sizeof(uint64_t) : 0;
    config->callbacks.send_request = send_message;
    config->callbacks.send_reply = send_message;
    config->callbacks.data = data_arrived;
}

/* --- progress --- */

void gasnetc_remote_act(void)
{
    firehose_t *fh = gasnetc_cache.instance;
    /* The flag is cleared before any state is read: work recorded later sets it again.  The
     * exchange acquires the work that threads recorded before they set it. */
    atomic_exchange(&gasnetc_remote_due, false);
    if (!fh) return; /* closed */
    /* Requests may wait for regions that leases hold, or a peer has unmapped memory. */
    const bool held = !gasnetc_lease_take_back(GASNETC_REMOTE);
    gasnetc_cache_work();
    if (gasnetc_post_waiting() || held || firehose_busy(fh))
        atomic_store_explicit(&gasnetc_remote_due, true, memory_order_relaxed);
}

/* Waits until peers have returned the firehoses to unmapped memory, which they do when none of
 * their transfers uses them. */
void gasnetc_remote_settle(void)
{
    const unsigned reported = atomic_load(&gasnetc_unmapped_reported);
    for (firehose_t *fh; (fh = gasnetc_cache.instance);) {
        gasnetc_cache_work();
        if (firehose_stale(fh) == 0) {
            atomic_store(&gasnetc_unmapped_settled, reported);
            return;
        }
        gasnetc_poll_stalled();
    }
}
