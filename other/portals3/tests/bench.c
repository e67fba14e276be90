/* bench.c - libportals on its fast path: N operations of one kind, of which bench.sh counts
 * the instructions under callgrind; or how long they take.
 *
 *   portals3 count OPERATION N
 *   portals3 times
 *
 * Process 0 drives; process 1 has published its memory and sleeps.  What is to be counted happens
 * inside counted() alone (callgrind's --toggle-collect).  While counting, process 0 makes progress
 * in its own calls, so that nothing is done for it elsewhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "other/portals3/tests/family.h"

enum { PT = 38, BATCH = 16, BYTES = 1 << 16, PLACE = 64, EVENTS = 64, ROUNDS = 5 };

static const char *mode = "times", *operation = "";
static int times;
static ptl_handle_eq_t eq;
static ptl_handle_md_t md, quiet, mute; /* quiet: without events; mute: with ACKs alone */
static ptl_process_id_t peer;
static ptl_size_t length = 8;
static int ends; /* events to come */

/* Callgrind collects from entry to exit; what it costs by itself is measured by `nothing`. */
void counted(void (*body)(void));
__attribute__((noinline)) void counted(void (*body)(void))
{
    body();
    __asm__ volatile("" ::: "memory");
}

static void nothing(void) {}

static void put(void)
{
    PtlPutRegion(md, 0, length, PTL_ACK_REQ, peer, PT, 0, 0, PLACE, 0);
}

static void put_unacknowledged(void)
{
    PtlPutRegion(md, 0, length, PTL_NOACK_REQ, peer, PT, 0, 0, PLACE, 0);
}

static void put_for_ack(void)
{
    PtlPutRegion(mute, 0, length, PTL_ACK_REQ, peer, PT, 0, 0, PLACE, 0);
}

static void get(void)
{
    PtlGetRegion(md, 0, length, peer, PT, 0, 0, PLACE);
}

static void take(void)
{
    ptl_event_t event;
    while (ends > 0)
        if (PtlEQGet(eq, &event) == PTL_OK) ends--;
}

static void put_whole(void)
{
    put();
    ends = 2;
    take();
}

static void ack_whole(void)
{
    put_for_ack();
    ends = 1;
    take();
}

static void get_whole(void)
{
    get();
    ends = 1;
    take();
}

static void quiet_put(void)
{
    PtlPutRegion(quiet, 0, length, PTL_NOACK_REQ, peer, PT, 0, 0, PLACE, 0);
}

static void poll_once(void)
{
    ptl_event_t event;
    PtlEQGet(eq, &event);
}

static const struct {
    const char *name;
    void (*start)(void);
    int events;          /* of each operation */
    bool reap;           /* the taking of events is counted, not the start */
    void (*batch)(void); /* called at the end of a batch, and counted; or NULL */
} operations[] = {
    {"nothing", nothing, 0, false, NULL},
    {"poll", poll_once, 0, false, NULL},
    {"put", put, 2, false, NULL},
    {"put_reap", put, 2, true, NULL},
    {"put_whole", put_whole, 0, false, NULL},
    {"ack_whole", ack_whole, 0, false, NULL},
    {"get_whole", get_whole, 0, false, NULL},
    {"quiet_whole", quiet_put, 0, false, poll_once},
    {"send", put_unacknowledged, 1, false, NULL},
    {"send_reap", put_unacknowledged, 1, true, NULL},
    {"ack", put_for_ack, 1, false, NULL},
    {"ack_reap", put_for_ack, 1, true, NULL},
    {"get", get, 1, false, NULL},
    {"get_reap", get, 1, true, NULL},
};

static void count(void)
{
    unsigned o = 0;
    while (o < sizeof operations / sizeof *operations && strcmp(operations[o].name, operation)) o++;
    if (o == sizeof operations / sizeof *operations) family_fail("no operation %s", operation);
    for (int i = 0; i < times; i += BATCH) {
        for (int n = 0; n < BATCH; n++) {
            if (operations[o].reap)
                operations[o].start();
            else
                counted(operations[o].start);
        }
        ends = operations[o].events * BATCH;
        if (operations[o].batch) counted(operations[o].batch);
        if (operations[o].reap)
            counted(take);
        else
            take();
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Microseconds for each, or megabytes a second; the best of some rounds.  Names are those of
 * testlat. */
static void row(const char *name, void (*start)(void), int events, ptl_size_t bytes, int batch)
{
    enum { EACH = 2000 };
    double best = 1e9;
    length = bytes;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now();
        for (int i = 0; i < EACH; i += batch) {
            for (int n = 0; n < batch; n++) start();
            ends = events * batch;
            take();
        }
        double each = (now() - begin) / EACH * 1e6;
        if (each < best) best = each;
    }
    if (bytes > 4096)
        printf("# libportals %-34s %10.1f MB/s\n", name, (double)bytes / best);
    else
        printf("# libportals %-34s %10.2f us\n", name, best);
}

static void rows(void)
{
    row("put, 8 B", put, 2, 8, 1);
    row("put, 4 KiB", put, 2, 4096, 1);
    row("get, 8 B", get, 1, 8, 1);
    row("get, 4 KiB", get, 1, 4096, 1);
    row("put, 8 B, 16 in flight", put, 2, 8, BATCH);
    row("put, 64 KiB, 16 in flight", put, 2, BYTES, BATCH);
    row("get, 64 KiB, 16 in flight", get, 1, BYTES, BATCH);
}

static void open_all(bool counting)
{
    ptl_md_t memory = {.start = family_memory(PLACE + BYTES),
                       .length = PLACE + BYTES,
                       .threshold = PTL_MD_THRESH_INF,
                       .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
                                  PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
                       .eq_handle = PTL_EQ_NONE};
    if (counting && family_rank == 0) setenv("PTL_PROGRESS", "none", 1);
    family_open(PTL_PID_ANY);
    family_attach(PT, 0, memory, PTL_RETAIN);
    must(PtlEQAlloc(family_ni, EVENTS, PTL_EQ_HANDLER_NONE, &eq));
    memory.options = PTL_MD_EVENT_START_DISABLE;
    memory.eq_handle = eq;
    must(PtlMDBind(family_ni, memory, PTL_RETAIN, &md));
    memory.options |= PTL_MD_EVENT_END_DISABLE;
    must(PtlMDBind(family_ni, memory, PTL_RETAIN, &mute));
    memory.eq_handle = PTL_EQ_NONE;
    must(PtlMDBind(family_ni, memory, PTL_RETAIN, &quiet));
}

/* Until puts go by RDMA. */
static void warm_up(void)
{
    ptl_sr_value_t fast = 0;
    for (int i = 0; i < 1000 && fast < BATCH; i++) {
        put();
        ends = 2;
        take();
        must(PtlNIStatus(family_ni, PTL_SR_FAST_PUTS, &fast));
    }
    if (fast < BATCH) family_fail("the fast path was never taken");
}

static void process(void)
{
    bool counting = !strcmp(mode, "count");
    open_all(counting);
    family_barrier(NULL);
    if (family_rank == 0) {
        peer = family->id[1];
        warm_up();
        if (counting)
            count();
        else
            rows();
        fflush(stdout);
    }
    family_barrier(NULL);
    family_close();
}

int main(int argc, char **argv)
{
    if (argc > 1) mode = argv[1];
    if (argc > 3) {
        operation = argv[2];
        times = atoi(argv[3]);
    }
    return family_run(2, process, NULL) != 0;
}
