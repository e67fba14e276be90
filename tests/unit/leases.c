/* leases.c - the registration cache of the core on the scripted network: hits under leases, and how
 * leases are revoked when memory was unmapped, when a transfer waits for room, and when there are
 * more peers than leases.
 *
 * Rank 0 is the engine.  The script ends the program at a transfer from memory that is not
 * registered.
 */
#include <stdlib.h>
#include <string.h>

#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/rdma/lease.h"
#include "core/rdma/rdma.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { NODES = 24, PIECE = 8192, PIECES = 32, SEGMENT = 2 * PIECE };

static char *outside; /* pieces of memory outside the segment, each with a page between */
static gasnetc_counter_t counter;
static unsigned regions; /* registered without the cache */

static char *piece(unsigned i)
{
    return outside + (size_t)i * 2 * PIECE;
}

static void begin(unsigned most)
{
    net_script_reset();
    unit_job_begin(&(unit_job_t){NODES, 0, 8, 1, SEGMENT, 40});
    gasnetc_job.host_size = 1;
    gasnetc_params.use_firehose = true;
    gasnetc_params.firehose_keep = GASNETC_KEEP_TRUST;
    gasnetc_params.firehose_max_region = 2 * PIECE;
    gasnetc_params.firehose_maxvictim_m = (int64_t)most * 2 * PIECE;
    gasnetc_params.firehose_maxvictim_r = most;
    counter = (gasnetc_counter_t){0};
    regions = net_script.regions;
    gasnetc_firehose_open();
}

static void complete_all(void)
{
    net_script_complete(UINT32_MAX);
    net_script.hold = false;
    while (!gasnetc_counter_done(&counter)) gasnetc_poll();
    for (int i = 0; i < 4; i++) gasnetc_poll_sends(); /* deregisters */
}

static void end(void)
{
    uint64_t under = 0;
    complete_all();
    for (unsigned i = 0; i < GASNETC_LEASES; i++)
        under += gasnetc_leases[GASNETC_LOCAL][i].issued - gasnetc_leases[GASNETC_LOCAL][i].ended;
    gasnetc_firehose_close();
    check(under == 0 && net_script.regions == regions,
          "no transfer is under a lease, and nothing is left registered");
    unit_job_end();
}

static void put(unsigned node, unsigned i)
{
    gasnetc_rdma_put_bulk(node, unit_segment(node), piece(i), PIECE, &counter);
}

static const net_script_event_t *last_put(void)
{
    return net_script_get_event(NET_SCRIPT_PUT, -1);
}

static bool under_lease(const net_script_event_t *event)
{
    return gasnetc_held_tag(event->sent.held) == GASNETC_HELD_LEASE;
}

/* Puts and reaps until the peer has a lease; returns the registration. */
static unsigned lease(unsigned node, unsigned i)
{
    bool leased = false;
    for (int n = 0; n < 4 && !leased; n++) {
        put(node, i);
        leased = under_lease(last_put());
        gasnetc_poll();
    }
    check_each(leased, "piece %u has no lease", i);
    return last_put()->region;
}

static void get(unsigned node, unsigned i)
{
    gasnetc_rdma_get(node, piece(i), unit_segment(node), PIECE, &counter);
}

/* --- */

static void hits(void)
{
    gasnetc_cache_counts_t before, after;
    begin(8);
    lease(1, 0);
    gasnetc_cache_counts(&before);
    put(1, 0);
    get(1, 0);
    check(under_lease(last_put()) && under_lease(net_script_get_event(NET_SCRIPT_GET, -1)),
          "puts and gets of a region that was used before are under its lease");
    gasnetc_cache_counts(&after);
    check(after.firehose.local_hits == before.firehose.local_hits + 2 &&
              after.firehose.local_misses == 1,
          "they are hits");
    gasnetc_rdma_put_bulk(1, unit_segment(1), piece(0) - 1, PIECE, &counter);
    check(!under_lease(last_put()), "a range that is not all in the region is not under the lease");
    lease(1, 0);
    net_script.busy = 5;
    put(1, 0);
    check(net_script.busy_answers == 5, "a put that finds the network busy is posted later");
    end();
}

static void in_turns(void)
{
    begin(8);
    for (int i = 0; i < 12; i++) {
        put(1, 2 * (i % 2));
        gasnetc_poll();
    }
    check(net_script_count(NET_SCRIPT_REGISTER) == 2, "two regions in turns are registered once");
    end();
}

static void unmapped(void)
{
    begin(8);
    const unsigned region = lease(1, 0);
    gasnetc_firehose_invalidate(piece(0), 1);
    put(1, 0);
    check(last_put()->region != region && !under_lease(last_put()),
          "memory given back: the next put has another registration");
    complete_all();
    check(net_script.regions == regions + 1, "and the old one has ended");
    lease(1, 0);
    net_script.hold = true;
    put(1, 0);
    check(under_lease(last_put()), "a put is under way, under a lease");
    gasnetc_firehose_invalidate(piece(0), PIECE);
    for (int i = 0; i < 3; i++) gasnetc_poll_sends();
    check(net_script.regions == regions + 1, "its registration lasts until it is complete");
    put(1, 0);
    check(net_script.regions == regions + 2, "while another put has another");
    complete_all();
    check(net_script.regions == regions + 1, "and ends then");
    end();
}

static void complete_one(void)
{
    if (net_script.reaps > 3) net_script_complete(1);
}

/* Others go on to use the region that makes room. */
static void complete_one_and_post(void)
{
    static bool inside;
    if (inside || net_script.reaps > 100) return;
    inside = true;
    complete_one();
    if (gasnetc_peers[2].lease[GASNETC_LOCAL]) put(2, 2);
    inside = false;
}

static void least_recently_used(void)
{
    begin(2);
    lease(1, 0);
    put(1, 2);
    gasnetc_poll();
    put(1, 4);
    gasnetc_poll();
    put(1, 2);
    check(net_script_count(NET_SCRIPT_REGISTER) == 3,
          "a region with a lease is evicted if others were used since");
    end();
}

static void no_room(void)
{
    begin(1);
    lease(1, 0);
    put(2, 2);
    check(last_put()->local == piece(2) && net_script.regions == regions + 1,
          "a lease that no transfer is under makes room");
    gasnetc_poll();
    lease(2, 2);
    net_script.hold = true;
    put(2, 2);
    net_script.reaps = 0;
    net_script.on_reap = complete_one_and_post;
    put(1, 4);
    net_script.on_reap = NULL;
    check(last_put()->local == piece(4) && net_script.regions == regions + 1 &&
              net_script.reaps < 100,
          "another makes room when the transfer is complete");
    end();
}

static void many_peers(void)
{
    begin(PIECES);
    for (unsigned node = 1; node < NODES; node++) put(node, node); /* misses end leases */
    for (unsigned node = 1; node < NODES; node++) lease(node, node);
    unsigned owners = 0;
    for (unsigned node = 1; node < NODES; node++) owners += gasnetc_peers[node].lease[0] != NULL;
    check(owners == GASNETC_LEASES, "so many peers have leases: %u", owners);
    put(1, 1);
    check(!under_lease(last_put()), "the peer whose turn came first has lost its lease");
    end();
}

/* Puts, completions and unmapping of memory in any order. No put uses a registration that was made
 * before its memory was unmapped. */
static void any_order(void)
{
    unsigned newest = 0, since[PIECES] = {0};
    begin(1 + check_below(PIECES));
    net_script.hold = true;
    net_script.on_reap = complete_one; /* completes a transfer for a thread that waits for room */
    for (int step = 0; step < 400; step++) {
        const unsigned i = check_below(check_below(PIECES) + 1);
        const unsigned what = check_below(20);
        if (what == 0) {
            gasnetc_firehose_invalidate(piece(i), PIECE);
            since[i] = newest;
        } else if (what < 5) {
            net_script_complete(check_below(4));
            gasnetc_poll();
        } else {
            net_script.reaps = 0;
            put(1 + check_below(3), i);
            const unsigned region = last_put()->region;
            if (region > newest) newest = region;
            check_each(region > since[i], "piece %u: registration %u, given back after %u", i,
                       region, since[i]);
        }
    }
    net_script.on_reap = NULL;
    complete_all();
    for (unsigned i = 0; i < PIECES; i++) gasnetc_firehose_invalidate(piece(i), PIECE);
    complete_all();
    check_each(net_script.regions == regions, "%u registrations are left",
               net_script.regions - regions);
    gasnetc_firehose_close();
    unit_job_end();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    outside = (char *)aligned_alloc(4096, (size_t)(PIECES + 2) * 2 * PIECE) + 2 * PIECE;
    memset(outside, 1, (size_t)PIECES * 2 * PIECE);
    hits();
    in_turns();
    unmapped();
    least_recently_used();
    no_room();
    many_peers();
    for (int round = 0; round < 300; round++) any_order();
    check_all("any order of puts, completions and memory given back");
    free(outside - 2 * PIECE);
    return check_end();
}
