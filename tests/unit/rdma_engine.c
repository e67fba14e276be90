/* rdma_engine.c - one-sided transfers on the scripted network: which way each goes by size, address
 * and form (the table of IB-E1, IB-E3), how it is split, and when its source or target is free.
 *
 * Rank 0 of 3 is the engine; transfers name rank 1, whose segment lies in this process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/rdma.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 256 << 10, INLINE = 72, BOUNCE = 65536 };
enum way { CAPTURED, IN_SEGMENT, BOUNCED, TRANSIENT };
enum form { PUT, PUT_BULK, GET };

static char *outside; /* memory of this node that is not in its segment */
static char *mine, *theirs;
static gasnetc_counter_t counter;

static void begin(unsigned shift)
{
    net_script_reset();
    unit_job_begin(&(unit_job_t){3, 0, 8, 1, SEGMENT, shift});
    mine = unit_segment(0);
    theirs = unit_segment(1);
    check_fill(mine, SEGMENT);
    check_fill(theirs, SEGMENT);
    check_fill(outside, SEGMENT);
    counter = (gasnetc_counter_t){0};
}

static void transfer(enum form form, void *local, void *remote, size_t nbytes)
{
    if (form == PUT) gasnetc_rdma_put(1, remote, local, nbytes, &counter);
    if (form == PUT_BULK) gasnetc_rdma_put_bulk(1, remote, local, nbytes, &counter);
    if (form == GET) gasnetc_rdma_get(1, local, remote, nbytes, &counter);
}

static enum net_script_kind kind_of(enum form form)
{
    return form == GET ? NET_SCRIPT_GET : NET_SCRIPT_PUT;
}

static enum way way_of(const net_script_event_t *event)
{
    if (event->region == 0) return CAPTURED;
    if (event->region == gasnetc_bbuf_region.id) return BOUNCED;
    const char *local = event->local;
    return local >= mine && local < mine + SEGMENT ? IN_SEGMENT : TRANSIENT;
}

static void complete_all(void)
{
    net_script_complete(UINT32_MAX);
    gasnetc_poll_sends();
}

/* --- the table --- */

static const struct row {
    enum form form;
    bool in_segment; /* the local side */
    size_t nbytes;
    enum way way;
    unsigned posts;
    bool waits; /* complete before the call returns */
} table[] = {
    /* Non-bulk: the source is free on return. */
    {PUT, true, 1, CAPTURED, 1, false},
    {PUT, false, INLINE, CAPTURED, 1, false},
    {PUT, true, INLINE + 1, BOUNCED, 1, false},
    {PUT, false, INLINE + 1, BOUNCED, 1, false},
    {PUT, true, 4096, BOUNCED, 1, false},
    {PUT, false, 4097, BOUNCED, 2, false},
    {PUT, true, BOUNCE, BOUNCED, 16, false},
    {PUT, false, BOUNCE, BOUNCED, 16, false},
    {PUT, true, BOUNCE + 1, IN_SEGMENT, 1, true},
    {PUT, false, BOUNCE + 1, TRANSIENT, 1, true},
    /* Bulk and blocking: the source stays until the counter is done. */
    {PUT_BULK, true, INLINE, CAPTURED, 1, false},
    {PUT_BULK, false, INLINE, CAPTURED, 1, false},
    {PUT_BULK, true, INLINE + 1, IN_SEGMENT, 1, false},
    {PUT_BULK, true, SEGMENT / 2, IN_SEGMENT, 1, false},
    {PUT_BULK, false, INLINE + 1, BOUNCED, 1, false},
    {PUT_BULK, false, 4096, BOUNCED, 1, false},
    {PUT_BULK, false, 4097, TRANSIENT, 1, false},
    {PUT_BULK, false, SEGMENT / 2, TRANSIENT, 1, false},
    {GET, true, 1, IN_SEGMENT, 1, false},
    {GET, true, 4096, IN_SEGMENT, 1, false},
    {GET, true, SEGMENT / 2, IN_SEGMENT, 1, false},
    {GET, false, 1, BOUNCED, 1, false},
    {GET, false, 4096, BOUNCED, 1, false},
    {GET, false, 4097, TRANSIENT, 1, false},
    {GET, false, SEGMENT / 2, TRANSIENT, 1, false},
};

static void let_waits_end(void)
{
    if (net_script.reaps > 5) net_script_complete(UINT32_MAX);
}

static void walk_row(const struct row *row)
{
    static const char *const forms[] = {"put", "put_bulk", "get"};
    static const char *const ways[] = {"inline", "from or to the segment", "bounced",
                                       "registered for it"};
    begin(40);
    char *local = (row->in_segment ? mine : outside) + 333, *remote = theirs + 1001;
    unsigned regions = net_script.regions;
    net_script.hold = true;
    net_script.on_reap = let_waits_end;
    transfer(row->form, local, remote, row->nbytes);
    unsigned posts = net_script_count(kind_of(row->form));
    check_each(posts == row->posts, "%u posts", posts);
    for (unsigned i = 0; i < posts; i++) {
        enum way way = way_of(net_script_get_event(kind_of(row->form), (int)i));
        check_each(way == row->way, "post %u is %s", i, ways[way]);
    }
    check_each((net_script.reaps > 0) == row->waits, "%u reaps", net_script.reaps);
    check_each(gasnetc_counter_done(&counter) == row->waits, "the counter is %s",
               gasnetc_counter_done(&counter) ? "done" : "not done");
    check_each(row->waits || counter.issued == posts, "issued %u, posted %u", counter.issued,
               posts);
    net_script.on_reap = NULL;
    complete_all();
    check_each(gasnetc_counter_done(&counter), "issued %u, reaped %u", counter.issued,
               counter.reaped);
    check_each(!memcmp(local, remote, row->nbytes), "the bytes differ");
    check_each(net_script.regions == regions, "a registration is left");
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%u bbufs are free", unit_free_bbufs());
    check_all("IB-E1 %s of %zu bytes %s the segment: %s, %u post%s, %s", forms[row->form],
              row->nbytes, row->in_segment ? "in" : "outside", ways[row->way], row->posts,
              row->posts > 1 ? "s" : "", row->waits ? "waits" : "does not wait");
    unit_job_end();
}

static void limits_that_are_zero(void)
{
    net_script_reset();
    begin(40);
    gasnetc_params.bounce_limit = 0;
    transfer(PUT, mine, theirs, 500);
    check(way_of(net_script_get_event(NET_SCRIPT_PUT, 0)) == IN_SEGMENT &&
              net_script_get_event(NET_SCRIPT_PUT, 0)->complete,
          "IB-P5 with a bounce limit of 0 a non-bulk put is never bounced, and waits");
    gasnetc_params.bounce_limit = BOUNCE;
    gasnetc_caps.inline_max = 0;
    transfer(PUT, mine, theirs, 1);
    check(way_of(net_script_get_event(NET_SCRIPT_PUT, -1)) == BOUNCED,
          "IB-P3 with an inline limit of 0 none is inlined");
    unit_job_end();
}

/* --- when bytes are taken and given --- */

/* Non-bulk: what the source held at the call arrives, whatever it holds later. */
static void source_is_free(size_t nbytes)
{
    begin(40);
    static char before[SEGMENT];
    char *sources[] = {mine + 5, outside + 5};
    for (int i = 0; i < 2; i++) {
        memcpy(before, sources[i], nbytes);
        net_script.hold = true;
        net_script.on_reap = let_waits_end;
        transfer(PUT, sources[i], theirs, nbytes);
        memset(sources[i], 0, nbytes);
        complete_all();
        check_each(!memcmp(theirs, before, nbytes), "source %d", i);
    }
    check_all("IB-E1 the source of a non-bulk put of %zu bytes is free on return", nbytes);
    unit_job_end();
}

static void zero_copy(void)
{
    begin(40);
    net_script.hold = true;
    transfer(PUT_BULK, mine + 8, theirs, 5000);
    memset(mine + 8, 0x5a, 5000);
    complete_all();
    check(!memcmp(theirs, mine + 8, 5000), "IB-E3 a bulk put from the segment copies nothing");
    unit_job_end();
}

static void bounced_get(void)
{
    begin(40);
    static char before[4096];
    memcpy(before, outside, sizeof before);
    net_script.hold = true;
    transfer(GET, outside, theirs + 9, 4096);
    check(!memcmp(before, outside, 4096) && !gasnetc_counter_done(&counter),
          "IB-E3 a bounced get touches its target only when it is complete");
    complete_all();
    check(!memcmp(outside, theirs + 9, 4096) && gasnetc_counter_done(&counter),
          "IB-E3 and has filled it when its counter is done");
    unit_job_end();
}

static unsigned regions_then;

static void look_under_the_poll_lock(void)
{
    regions_then = net_script.regions;
}

static void transient_lives(void)
{
    begin(40);
    net_script.hold = true;
    unsigned regions = net_script.regions;
    transfer(PUT_BULK, outside, theirs, 10000);
    transfer(GET, outside + 20000, theirs + 20000, 10000);
    check(net_script.regions == regions + 2 &&
              !net_script_get_event(NET_SCRIPT_REGISTER, 0)->remote_use,
          "IB-E3 what lies outside the segment is registered for the transfer, for local use");
    net_script_complete(1);
    regions_then = 0;
    net_script.on_arrivals = look_under_the_poll_lock;
    gasnetc_poll();
    net_script.on_arrivals = NULL;
    check(regions_then == regions + 2 && counter.reaped == 1,
          "a registration does not end while the poll lock is held");
    check(net_script.regions == regions + 1, "IB-E3 until it is complete");
    complete_all();
    check(net_script.regions == regions, "IB-E3 and no longer");
    unit_job_end();
}

/* --- no room --- */

static void busy(enum form form, bool in_segment, size_t nbytes, const char *name)
{
    begin(40);
    char *local = in_segment ? mine : outside;
    net_script.busy = 7;
    transfer(form, local, theirs, nbytes);
    unsigned posts = net_script_count(kind_of(form));
    check_each(net_script.busy_answers == 7 && net_script.polls >= 6, "%u polls", net_script.polls);
    check_each(counter.issued == posts, "issued %u, posted %u", counter.issued, posts);
    net_script_reap();
    check_each(gasnetc_counter_done(&counter) && !memcmp(local, theirs, nbytes), "incomplete");
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%u bbufs are free", unit_free_bbufs());
    check_all("IB-R1 %s on a busy network polls and is posted once", name);
    unit_job_end();
}

static void one_completes(void)
{
    net_script_complete(1);
}

/* More bounce buffers are wanted than there are. */
static void few_bbufs(enum form form, const char *name)
{
    begin(40);
    net_script.hold = true;
    net_script.on_reap = one_completes;
    for (int i = 0; i < 3 * UNIT_BBUFS; i++)
        transfer(form, outside + i * 4000, theirs + i * 4000, 4000);
    complete_all();
    check(gasnetc_counter_done(&counter) && !memcmp(outside, theirs, 3 * UNIT_BBUFS * 4000) &&
              net_script.polls > 0 && unit_free_bbufs() == UNIT_BBUFS,
          "IB-R6 %s that finds no bbuf polls until one is back", name);
    unit_job_end();
}

/* --- splitting --- */

/* Transfers of random size, address, pin size and largest transfer; the network itself checks that
 * no post leaves a region. The bytes around the target stay as they are. */
static void random_transfer(void)
{
    static char wanted[SEGMENT];
    enum form form = (enum form)check_below(3);
    bool in_segment = check_below(2), huge = check_below(3) == 0;
    size_t nbytes = 1 + check_below(huge ? SEGMENT / 2 : 9000);
    char *local = (in_segment ? mine : outside) + check_below((uint32_t)(SEGMENT - nbytes + 1));
    char *remote = theirs + check_below((uint32_t)(SEGMENT - nbytes + 1));
    char *target = form == GET ? (in_segment ? mine : outside) : theirs;
    char *to = form == GET ? local : remote;
    memcpy(wanted, target, SEGMENT);
    memcpy(wanted + (to - target), form == GET ? remote : local, nbytes);
    net_script.busy = check_below(8) ? 0 : check_below(4);
    transfer(form, local, remote, nbytes);
    while (!gasnetc_counter_done(&counter)) gasneti_wait_poll();
    counter = (gasnetc_counter_t){0};
    check_each(!memcmp(wanted, target, SEGMENT),
               "form %u, %zu bytes, local %+ld, remote %+ld, "
               "pin 2^%u, inline %zu",
               form, nbytes, (long)(local - (in_segment ? mine : outside)), (long)(remote - theirs),
               gasnetc_pin_shift, gasnetc_caps.inline_max);
    for (unsigned i = 0; i < net_script_count(kind_of(form)); i++) {
        size_t length = net_script_get_event(kind_of(form), (int)i)->length;
        check_each(length <= gasnetc_caps.transfer_max, "a post of %zu bytes", length);
    }
    net_script_forget();
}

static void splitting(void)
{
    for (int round = 0; round < 40; round++) {
        begin(12 + check_below(7));
        gasnetc_caps.inline_max = net_script.caps.inline_max =
            check_below(2) ? 72 : check_below(1024);
        gasnetc_caps.transfer_max = net_script.caps.transfer_max = 4096u << check_below(8);
        for (int i = 0; i < 20; i++) random_transfer();
        unit_job_end();
    }
    check_all("IB-R8 transfers are split at pin boundaries and at the largest transfer, and arrive "
              "whole");
}

static void split_exactly(void)
{
    begin(14);
    transfer(PUT_BULK, mine + 100, theirs + 16384 - 300, 16384 + 600);
    const net_script_event_t *first = net_script_get_event(NET_SCRIPT_PUT, 0);
    check(first->length == 300 && first->remote == (uintptr_t)theirs + 16384 - 300,
          "IB-R8 the first piece ends with the peer's region");
    size_t sum = 0;
    for (unsigned i = 0; i < net_script_count(NET_SCRIPT_PUT); i++)
        sum += net_script_get_event(NET_SCRIPT_PUT, (int)i)->length;
    check(net_script_count(NET_SCRIPT_PUT) == 4 && sum == 16384 + 600,
          "IB-R8 four pieces: two of the peer's boundaries and one of this node's are crossed");
    net_script_forget();
    transfer(PUT_BULK, outside, theirs + 16384 - 5000, 5000 + 300);
    check(net_script_count(NET_SCRIPT_PUT) == 2 &&
              way_of(net_script_get_event(NET_SCRIPT_PUT, 0)) == TRANSIENT &&
              way_of(net_script_get_event(NET_SCRIPT_PUT, 1)) == BOUNCED,
          "IB-R8 a short piece behind a boundary is bounced, not registered");
    net_script_reap();
    net_script_forget();
    transfer(PUT, mine, theirs + 16384 - 1, 2);
    check(net_script_count(NET_SCRIPT_PUT) == 2, "IB-R8 even two bytes are split at a boundary");
    net_script_forget();
    transfer(PUT, mine, theirs + SEGMENT - 1, 1);
    check(net_script_count(NET_SCRIPT_PUT) == 1, "IB-R8 the segment's last byte is in it");
    unit_job_end();
}

/* --- fills, and gets into registered memory --- */

/* Fills memory: the bytes around stay as they are, and only a bounce buffer is used, which the
 * value is written to directly. */
static void fill(size_t nbytes, size_t offset, unsigned posts)
{
    static char wanted[SEGMENT];
    int value = (int)check_random();
    begin(14);
    memcpy(wanted, theirs, SEGMENT);
    memset(wanted + offset, value, nbytes);
    net_script.busy = 2;
    gasnetc_rdma_fill(1, theirs + offset, value, nbytes, &counter);
    check_each(net_script_count(NET_SCRIPT_PUT) == posts && counter.issued == posts, "%u posts",
               net_script_count(NET_SCRIPT_PUT));
    enum way way = way_of(net_script_get_event(NET_SCRIPT_PUT, 0));
    check_each(way == (nbytes <= INLINE ? CAPTURED : BOUNCED), "by way %u", way);
    net_script_reap();
    check_each(gasnetc_counter_done(&counter) && !memcmp(wanted, theirs, SEGMENT), "wrong bytes");
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%u bbufs are free", unit_free_bbufs());
    check_all("IB-E4 a fill of %zu bytes is a put in %u piece%s", nbytes, posts,
              posts > 1 ? "s" : "");
    unit_job_end();
}

static void get_into(size_t offset, bool refused)
{
    begin(14);
    uint64_t value = 0;
    if (refused) net_script.refuse = ENOMEM;
    const struct net_region *destination = gasnetc_destination(&value, sizeof value);
    net_script.refuse = 0;
    net_script.busy = 2;
    check_each((destination == NULL) == refused, "registration");
    gasnetc_rdma_get_into(1, &value, destination, theirs + offset, sizeof value, &counter);
    const bool crosses = offset % 16384 > 16384 - sizeof value;
    check_each(net_script_count(NET_SCRIPT_GET) == (crosses ? 2 : 1), "%u posts",
               net_script_count(NET_SCRIPT_GET));
    for (int i = 0; i <= crosses; i++)
        check_each((way_of(net_script_get_event(NET_SCRIPT_GET, i)) == BOUNCED) == refused,
                   "post %d", i);
    net_script_reap();
    check_each(gasnetc_counter_done(&counter) && !memcmp(&value, theirs + offset, sizeof value),
               "wrong bytes");
    check_all("IB-W1 a value at %zu %s%s", offset,
              refused ? "bounces when registration is refused" : "lands where it belongs",
              crosses ? ", in two pieces when it crosses the peer's regions" : "");
    unit_job_end();
}

/* --- fatal errors --- */

struct range {
    enum form form;
    long offset;
    size_t nbytes;
};

static void try_range(const void *arg)
{
    const struct range *range = arg;
    transfer(range->form, outside, theirs + range->offset, range->nbytes);
}

static void fill_outside(const void *unused)
{
    (void)unused;
    gasnetc_rdma_fill(1, theirs + SEGMENT - 99, 0, 100, &counter);
}

static void value_outside(const void *destination)
{
    gasnetc_rdma_get_into(1, outside, destination, theirs + SEGMENT - 7, 8, &counter);
}

static void out_of_segment(void)
{
    static const struct range ranges[] = {
        {PUT, SEGMENT, 1},         {PUT, -1, 1},
        {PUT, SEGMENT - 7, 8},     {PUT, -4, 8},
        {PUT, SEGMENT - 99, 5000}, {PUT_BULK, SEGMENT - 4999, 5000},
        {PUT_BULK, SEGMENT, 1},    {PUT_BULK, 0, (size_t)-1},
        {GET, SEGMENT, 1},         {GET, -1, 1},
        {GET, SEGMENT - 7, 8},     {GET, SEGMENT - 4999, 5000},
        {GET, 1, (size_t)-1}};
    begin(40);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        char name[100], bytes[40];
        snprintf(name, sizeof name, "rdma.h: a %s of %zu bytes at %+ld is outside and fatal",
                 ranges[i].form == GET ? "get" : "put", ranges[i].nbytes, ranges[i].offset);
        snprintf(bytes, sizeof bytes, "of %zu bytes", ranges[i].nbytes);
        check_fatal(name, try_range, &ranges[i], ranges[i].form == GET ? "a get" : "a put", bytes,
                    "outside the segment of rank 1");
    }
    check_fatal("rdma.h: a fill outside is fatal", fill_outside, NULL, "a fill of 100 bytes",
                "outside the segment of rank 1");
    check_fatal("rdma.h: a value outside is fatal", value_outside, gasnetc_destination(outside, 8),
                "a get of 8 bytes", "outside the segment of rank 1");
    unit_job_end();
}

static void refused(const void *form)
{
    net_script.refuse = ENOMEM;
    transfer(*(const enum form *)form, outside, theirs, 5000);
}

static void no_registration(void)
{
    static const enum form forms[] = {PUT_BULK, GET};
    begin(40);
    for (int i = 0; i < 2; i++)
        check_fatal("IB-A7 a registration that is refused is fatal and says why", refused,
                    &forms[i], "cannot register 5000 bytes", "the script refused 5000 bytes",
                    "change the script");
    unit_job_end();
}

/* The network refuses the memory itself, which this process can access: all of it is bounced. */
static void unpinnable(enum form form, size_t nbytes)
{
    static const char *const forms[] = {"put", "put_bulk", "get"};
    begin(40);
    net_script.refuse = EFAULT;
    net_script.hold = true;
    net_script.on_reap = let_waits_end;
    transfer(form, outside + 333, theirs + 1001, nbytes);
    const unsigned posts = net_script_count(kind_of(form));
    check_each(posts == (nbytes + 4095) / 4096, "%u posts", posts);
    for (unsigned i = 0; i < posts; i++)
        check_each(way_of(net_script_get_event(kind_of(form), (int)i)) == BOUNCED, "post %u", i);
    net_script.on_reap = NULL;
    complete_all();
    check_each(gasnetc_counter_done(&counter), "the counter is not done");
    check_each(!memcmp(outside + 333, theirs + 1001, nbytes), "the bytes differ");
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%u bbufs are free", unit_free_bbufs());
    check_all("IB-R13 a %s of %zu bytes of memory that cannot be registered is bounced",
              forms[form], nbytes);
    net_script.refuse = 0;
    unit_job_end();
}

static void get_into_memory(const void *memory)
{
    net_script.refuse = EFAULT;
    transfer(GET, (void *)(uintptr_t)memory, theirs, 5000);
}

/* Memory that this process cannot access either. */
static void inaccessible(void)
{
    char *memory = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin(40);
    check_fatal("IB-R13 a get into memory that may only be read is fatal", get_into_memory, memory,
                "cannot register 5000 bytes", "the script refused 5000 bytes");
    munmap(memory + 4096, 4096);
    mprotect(memory, 4096, PROT_READ | PROT_WRITE);
    check_fatal("IB-R13 and so is one into memory with a hole", get_into_memory, memory,
                "cannot register 5000 bytes", "the script refused 5000 bytes");
    munmap(memory, 4096);
    unit_job_end();
}

static void no_bbuf_arena(const void *unused)
{
    (void)unused;
    net_script.refuse = ENOMEM;
    gasnetc_bbuf_init(64);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    outside = malloc(SEGMENT);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) walk_row(&table[i]);
    limits_that_are_zero();
    source_is_free(INLINE);
    source_is_free(4096);
    source_is_free(BOUNCE);
    source_is_free(BOUNCE + 1);
    zero_copy();
    bounced_get();
    transient_lives();
    busy(PUT, true, 8, "an inline put");
    busy(PUT, false, 4000, "a bounced put");
    busy(PUT_BULK, true, 4000, "a zero-copy put");
    busy(PUT_BULK, false, 9000, "a put of unregistered memory");
    busy(GET, true, 4000, "a get");
    busy(GET, false, 4000, "a bounced get");
    busy(GET, false, 9000, "a get to unregistered memory");
    few_bbufs(PUT, "a put");
    few_bbufs(GET, "a get");
    split_exactly();
    splitting();
    fill(1, 0, 1);
    fill(INLINE, 16384 - INLINE, 1);
    fill(INLINE + 1, 99, 1);
    fill(4096, 1, 1);
    fill(4096, 16384 - 7, 2);
    get_into(16384 - 8, false);
    get_into(16384 - 3, false);
    get_into(40, true);
    out_of_segment();
    no_registration();
    unpinnable(PUT, BOUNCE + 1);
    unpinnable(PUT_BULK, 4097);
    unpinnable(PUT_BULK, 30000);
    unpinnable(GET, 4097);
    unpinnable(GET, 30000);
    inaccessible();
    check_fatal("IB-R6 bbufs that cannot be registered are fatal and say why", no_bbuf_arena, NULL,
                "cannot register 256 KB of send buffers", "change the script");
    free(outside);
    return check_end();
}
