/* firehose.c - operations of other/firehose that tests/bench/firehose.sh counts: look-ups among a
 * few regions and among many, hits inline and through the public calls, memory.
 *
 *   firehose OPERATION REGIONS N [warm]   N operations within counted(), on regions in random
 *                                         order, or on one
 *   firehose memory REGIONS               bytes that an instance allocates
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/firehose/engine.h"

enum { PAGE = 4096, REGION = 128 << 10, SPACING = 256 << 10, KEY = 16 };
static const uintptr_t base = (uintptr_t)1 << 40;

static firehose_outcome_t pin(void *context, uintptr_t addr, size_t len, void *key)
{
    (void)context;
    (void)len;
    memcpy(key, &addr, sizeof addr);
    return FIREHOSE_PINNED;
}

static void unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    (void)context;
    (void)addr;
    (void)len;
    (void)key;
}

/* The peer registers everything. */
static firehose_t *asked_by;

static int send_request(void *context, uint32_t peer, const void *bytes, size_t size)
{
    (void)context;
    return !firehose_receive(asked_by, !peer, bytes, size);
}

static void progress(void *context)
{
    (void)context;
    abort();
}

static firehose_t *make(uint32_t regions)
{
    const uint64_t bytes = (uint64_t)regions * REGION;
    const firehose_config_t config = {
        .sizes = {bytes, regions, bytes, regions, REGION},
        .page = PAGE,
        .nodes = 2,
        .key_size = KEY,
        .max_message = 4000,
        .callbacks = {
            .pin = pin, .unpin = unpin, .send_request = send_request, .progress = progress}};
    return firehose_init(&config, NULL);
}

/* Regions of 1 to 31 pages. */
static uintptr_t start_of(uint32_t region)
{
    return base + (uintptr_t)region * SPACING;
}

static size_t size_of(uint32_t region)
{
    return (size_t)(1 + region * 7 % 31) * PAGE;
}

/* Fills the table of firehoses with the answers of a peer that does not exist. */
static void fill_remote(firehose_t *fh, uint32_t regions)
{
    fh_ask_t ask;
    fh_want_t *want;
    for (uint32_t i = 0; i < regions; i++) {
        fh_want_t one = {.from = start_of(i), .to = start_of(i) + size_of(i), .peer = 1};
        fh_remote_want(&fh->remote, &one);
        if (!fh_remote_next(&fh->remote, &ask)) abort();
        fh_remote_answer(&fh->remote, 1, i + 1, one.from, one.to);
        fh_remote_answered(&fh->remote, 1);
        while ((want = fh_remote_served(&fh->remote)) != NULL)
            fh_remote_release(&fh->remote, want->region);
    }
}

static void fill_local(firehose_t *fh, uint32_t regions)
{
    firehose_request_t q;
    for (uint32_t i = 0; i < regions; i++) {
        if (firehose_local_pin(fh, start_of(i), size_of(i), &q)) abort();
        firehose_release(fh, &q, 1);
    }
}

static uint32_t missed;

static void nothing(firehose_t *fh, uintptr_t from)
{
    missed += from == 0 || !fh;
}

static void look(firehose_t *fh, uintptr_t from)
{
    missed += fh_table_find(&fh->local.table, 0, from, from + 8) == FH_NONE;
}

static void local(firehose_t *fh, uintptr_t from)
{
    const uint32_t region = fh_local_try(&fh->local, from, from + 8);
    missed += region == FH_NONE;
    fh_local_release(&fh->local, region);
}

static void remote(firehose_t *fh, uintptr_t from)
{
    const uint32_t region = fh_remote_try(&fh->remote, 1, from, from + 8);
    missed += region == FH_NONE;
    fh_remote_release(&fh->remote, region);
}

static void call(firehose_t *fh, uintptr_t from)
{
    firehose_request_t q;
    missed += !firehose_try_local_pin(fh, from, 8, &q);
    firehose_release(fh, &q, 1);
}

static void (*const operations[])(firehose_t *, uintptr_t) = {nothing, look, local, remote, call};
static const char *const names[] = {"nothing", "look", "local", "remote", "call"};

__attribute__((noinline)) static void counted(firehose_t *fh, unsigned operation,
                                              const uintptr_t *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) operations[operation](fh, from[i]);
}

static unsigned operation_of(const char *name)
{
    unsigned i = 0;
    while (i < 4 && strcmp(name, names[i])) i++;
    return i;
}

static size_t allocated(void)
{
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    const uint32_t regions = (uint32_t)atoi(argv[2]), n = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
    const size_t before = allocated();
    firehose_t *fh = asked_by = make(regions);
    if (!fh) return 2;
    if (!strcmp(argv[1], "memory")) {
        /* Of regions of both kinds of this process, and of firehoses to peers. */
        printf("%zu\n", (allocated() - before) / (3 * (size_t)regions));
        return 0;
    }
    fill_local(fh, regions);
    fill_remote(fh, regions);
    uintptr_t *from = malloc((n + 1) * sizeof *from);
    if (!from) return 2;
    uint64_t random = 1;
    const bool warm = argc > 4; /* all on one region */
    for (uint32_t i = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t region = warm ? 3 : (uint32_t)(random >> 33) % regions;
        from[i] = start_of(region) + (random >> 20) % (size_of(region) - 8);
    }
    counted(fh, operation_of(argv[1]), from, n);
    if (missed) fprintf(stderr, "%u of %u were not found\n", missed, n);
    free(from);
    firehose_fini(fh, 0);
    return missed != 0;
}
