/* held.c - what an operation holds (gasnetc_held_t), tag by tag: what the completion does, and that
 * each resource is free afterwards.
 *
 * Rank 0 of 2 is the engine; no operation is posted.
 */
#include <stdlib.h>
#include <string.h>

#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/firehose.h"
#include "core/rdma/lease.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

static char target[4096];

static void begin(void)
{
    net_script_reset();
    unit_job_begin(&(unit_job_t){2, 0, 8, 1, 65536, 40});
    gasnetc_job.host_size = 1;
    memset(target, 0x11, sizeof target);
}

/* Ends an operation, and checks that the word of the slot is 0 then. */
static void end(gasnetc_sent_t sent)
{
    gasnetc_counter_t counter = {.issued = 1};
    sent.counter = &counter;
    gasnetc_sent(&sent);
    check_each(sent.held == GASNETC_HELD_NOTHING && gasnetc_counter_done(&counter),
               "the operation has not ended");
}

static bool only_copied(const void *bytes, size_t length)
{
    for (size_t i = length; i < sizeof target; i++)
        if (target[i] != 0x11) return false;
    return memcmp(target, bytes, length) == 0;
}

static void words(void)
{
    void *record = aligned_alloc(8, 8);
    for (unsigned tag = 1; tag < GASNETC_HELD_TAGS; tag++) {
        const gasnetc_held_t held = gasnetc_hold(record, tag);
        check_each(gasnetc_held_tag(held) == tag && gasnetc_held_record(held, tag) == record,
                   "tag %u", tag);
    }
    check_each(gasnetc_held_tag(0) == GASNETC_HELD_NOTHING, "0");
    check_all("a word gives back its record and its tag");
    free(record);
}

static void buffers(void)
{
    static const size_t lengths[] = {1, 7, 8, 9, 4096};
    begin();
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char *bbuf = gasnetc_bbuf_try();
        memset(bbuf, 0x22 + (int)i, GASNETC_BBUF_SIZE);
        const uint64_t bounced = gasnetc_poll_counts.gets_bounced;
        end((gasnetc_sent_t){.held = gasnetc_hold(bbuf, GASNETC_HELD_GET),
                             .copy_to = target,
                             .copy_length = (uint32_t)lengths[i]});
        char wanted[4096];
        memset(wanted, 0x22 + (int)i, sizeof wanted);
        check_each(only_copied(wanted, lengths[i]), "%zu bytes", lengths[i]);
        check_each(gasnetc_poll_counts.gets_bounced == bounced + 1, "the get is not counted");
        check_each(unit_free_bbufs() == UNIT_BBUFS, "%u bbufs are free", unit_free_bbufs());
        memset(target, 0x11, sizeof target);
    }
    check_all("a get's buffer is copied to its destination, and freed");
    end((gasnetc_sent_t){.held = gasnetc_hold(gasnetc_bbuf_try(), GASNETC_HELD_BBUF),
                         .copy_to = target,
                         .copy_length = 8});
    check(unit_free_bbufs() == UNIT_BBUFS && only_copied("", 0),
          "another buffer is freed and not copied");
    unit_job_end();
}

static void transient(void)
{
    const net_region_t *region;
    begin();
    const unsigned regions = net_script.regions;
    const gasnetc_held_t held = gasnetc_pin_transient(target, 100, NET_LOCAL, &region, false);
    check(gasnetc_held_tag(held) == GASNETC_HELD_TRANSIENT && net_script.regions == regions + 1,
          "a registration for one transfer has its tag");
    end((gasnetc_sent_t){.held = held});
    check(net_script.regions == regions + 1, "it is not deregistered under the poll lock");
    gasnetc_retire_regions();
    check(net_script.regions == regions, "but behind it");
    unit_job_end();
}

/* Two regions of the cache and a lease: the right one is released. */
static void cached(void)
{
    static char memory[4 * 4096] __attribute__((aligned(4096)));
    const net_region_t *first, *second;
    begin();
    gasnetc_params.use_firehose = true;
    gasnetc_params.firehose_keep = GASNETC_KEEP_TRUST;
    gasnetc_params.firehose_max_region = 4096;
    gasnetc_firehose_open();
    fh_table_t *table = &gasnetc_cache.instance->local.table;
    gasnetc_cache_pin(memory, 100, true, &first);
    gasnetc_cache_pin(memory + 8192, 100, true, &second);
    const gasnetc_held_t held[] = {gasnetc_cache_held(first), gasnetc_cache_held(second)};
    check(held[0] != held[1] && gasnetc_held_tag(held[0]) == GASNETC_HELD_CACHED &&
              gasnetc_held_tag(held[1]) == GASNETC_HELD_CACHED &&
              gasnetc_cache_region(gasnetc_cache_region_of(held[1])) == second,
          "regions of the cache are held by number");
    end((gasnetc_sent_t){.held = held[1]});
    check(fh_region(table, gasnetc_cache_region_of(held[0]))->uses == 1 &&
              fh_region(table, gasnetc_cache_region_of(held[1]))->uses == 0,
          "the use of the region that was held has ended, not that of another");
    end((gasnetc_sent_t){.held = held[0]});
    gasnetc_lease_t *lease = &gasnetc_leases[GASNETC_LOCAL][GASNETC_LEASES - 1];
    const uint64_t ended = lease->ended, before = lease[-1].ended;
    check_each(gasnetc_held_tag(gasnetc_lease_held(lease)) == GASNETC_HELD_LEASE, "tag");
    end((gasnetc_sent_t){.held = gasnetc_lease_held(lease)});
    check(lease->ended == ended + 1 && lease[-1].ended == before,
          "a transfer under a lease is counted there");
    lease->ended = ended;
    gasnetc_firehose_close();
    end((gasnetc_sent_t){.held = held[0]});
    check(gasnetc_cache.instance == NULL, "a region is released after the cache is closed");
    unit_job_end();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    words();
    buffers();
    transient();
    cached();
    return check_end();
}
