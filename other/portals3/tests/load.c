/* load.c - libportals' network with many at it: eight processes that flood each other, threads
 * that share a queue; and with nothing to do at all.
 *
 *   bustle [WORD...]     which of the scenes; all without
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "other/portals3/tests/scene.h"

/* --- all with all --- */

/* Each process puts to all others as fast as it can, short and long, and polls its events. */
static void crowd(void)
{
    enum { EACH = 120, ROOM = 20000 };
    begin();
    /* Each message has an offset of its own: the data of two messages are not ordered. */
    const ptl_size_t whole = (ptl_size_t)family_size * EACH * ROOM;
    unsigned char *memory = family_memory(whole);
    ptl_sr_value_t count = 0, drops;
    ptl_handle_eq_t few;
    ptl_event_t event;
    must(PtlEQAlloc(family_ni, 4, PTL_EQ_HANDLER_NONE, &few)); /* never drained */
    family_attach(PT, 0, describe(memory, whole, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, few),
                  PTL_RETAIN);
    ptl_handle_md_t md = bind_md(family_memory(ROOM), ROOM);
    family_barrier(NULL);
    int under_way = 0;
    for (int i = 0; i < EACH * family_size; i++) {
        static const ptl_size_t lengths[] = {8, 200, 5000, ROOM};
        int to = (family_rank + i) % family_size;
        put(md, lengths[family_below(4)], to, 0,
            (ptl_size_t)(family_rank * EACH + i / family_size) * ROOM, PTL_NOACK_REQ);
        for (under_way++; under_way > 1000 || PtlEQGet(eq, &event) == PTL_OK; under_way--)
            if (under_way > 1000) well(PTL_EVENT_SEND_END);
    }
    while (under_way-- > 0) well(PTL_EVENT_SEND_END);
    while (count < (ptl_sr_value_t)EACH * (unsigned)family_size) {
        family_nap();
        must(PtlNIStatus(family_ni, PTL_SR_RECV_COUNT, &count));
    }
    must(PtlNIStatus(family_ni, PTL_SR_DROP_COUNT, &drops));
    if (drops) family_fail("%ju were dropped", (uintmax_t)drops);
    family_barrier(NULL);
    family_close();
}

/* --- processes that compute, with no operation under way --- */

/* Some work without the library. */
static void compute(void)
{
    clock_t until = clock() + CLOCKS_PER_SEC / 10;
    while (clock() < until) {
    }
}

/* Process 0 and its library: whether none of it ran while this process computed. */
static bool sleeps(void)
{
    enum { ALLOWED = 20 }; /* for what else is in the process, such as a device made of software */
    unsigned long before, after;
    bool asleep = family_all(0, 'S', &before);
    compute();
    asleep &= family_all(0, 'S', &after);
    return asleep && after - before <= ALLOWED;
}

/* Process 0 waits for an event, and its library for messages, while process 1 computes. */
static void idle(void)
{
    begin();
    unsigned char *memory = family_memory(LONG);
    family_attach(PT, 0, describe(memory, LONG, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq),
                  PTL_RETAIN);
    family_barrier(NULL);
    if (family_rank == 0) {
        well(PTL_EVENT_PUT_END);
        atomic_store(&family->flag[0], 1);
        ptl_event_t event;
        must(PtlEQWait(eq, &event));
    } else {
        enum { PATIENCE = 50 }; /* the thread may take a moment to fall asleep */
        int tries = 0;
        ptl_handle_md_t md = bind_md(memory, LONG);
        put(md, 8, 0, 0, 0, PTL_ACK_REQ);
        well(PTL_EVENT_SEND_END);
        well(PTL_EVENT_ACK);
        family_await(0, 1);
        while (!sleeps())
            if (++tries == PATIENCE) family_fail("process 0 never sleeps");
        put(md, 8, 0, 0, 0, PTL_ACK_REQ);
        well(PTL_EVENT_SEND_END);
        well(PTL_EVENT_ACK);
    }
    family_barrier(NULL);
    family_close();
}

/* --- threads --- */

enum { THREADS = 4, TURNS = 200 };
static struct turn {
    _Atomic uint32_t events;
    ptl_size_t offset;
    unsigned char *memory;
} turns[THREADS];

/* Each thread has its own slice at the peer: what it puts it gets back. */
static void *take_turns(void *arg)
{
    struct turn *turn = arg;
    int peer = !family_rank;
    for (uint32_t i = 0; i < TURNS; i++) {
        ptl_md_t md = describe(turn->memory, PAGE, 0, eq);
        ptl_handle_md_t handle;
        ptl_size_t length = i % 3 == 0 ? 8 : i % 3 == 1 ? 3000 : PAGE / 2;
        md.user_ptr = turn;
        must(PtlMDBind(family_ni, md, PTL_RETAIN, &handle));
        memset(turn->memory, (int)i, length);
        atomic_store(&turn->events, 0);
        must(PtlPutRegion(handle, 0, length, PTL_ACK_REQ, family->id[peer], PT, 0, 0, turn->offset,
                          0));
        while (atomic_load(&turn->events) < 2) sched_yield();
        must(PtlGetRegion(handle, PAGE / 2, length, family->id[peer], PT, 0, 0, turn->offset));
        while (atomic_load(&turn->events) < 3) sched_yield();
        if (memcmp(turn->memory, turn->memory + PAGE / 2, length))
            family_fail("thread %d got something else", (int)(turn - turns));
        must(PtlMDUnlink(handle)); /* nothing is pending when its last event is seen */
    }
    return NULL;
}

/* As many events as it finds are left to be taken. */
static void *deal_out(void *arg)
{
    _Atomic uint32_t *left = arg;
    for (uint32_t now = atomic_load(left); now > 0;) {
        ptl_event_t event;
        if (!atomic_compare_exchange_weak(left, &now, now - 1)) continue;
        must(PtlEQWait(eq, &event));
        if (event.ni_fail_type != PTL_NI_OK) family_fail("an operation failed");
        atomic_fetch_add(&((struct turn *)event.md.user_ptr)->events, 1);
        now = atomic_load(left);
    }
    return NULL;
}

static void threads(void)
{
    begin();
    unsigned char *memory = family_memory(THREADS * PAGE);
    pthread_t thread[THREADS], dealers[2];
    _Atomic uint32_t left = 3 * THREADS * TURNS;
    family_attach(PT, 0, describe(memory, THREADS * PAGE, QUIET, PTL_EQ_NONE), PTL_RETAIN);
    family_barrier(NULL);
    for (int i = 0; i < 2; i++) pthread_create(&dealers[i], NULL, deal_out, &left);
    for (int i = 0; i < THREADS; i++) {
        turns[i].offset = (ptl_size_t)i * PAGE;
        turns[i].memory = family_memory(PAGE);
        pthread_create(&thread[i], NULL, take_turns, &turns[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) pthread_join(dealers[i], NULL);
    ptl_sr_value_t fast;
    must(PtlNIStatus(family_ni, PTL_SR_FAST_PUTS, &fast));
    if (!fast) family_fail("nothing went the fast way");
    family_barrier(NULL);
    family_close();
}

int main(int argc, char **argv)
{
    family_settle_seed(NULL);
    scene(argc, argv, "crowd", 8, crowd, false,
          "eight processes flood each other, and a queue that is not drained: nothing is lost");
    scene(argc, argv, "idle", 2, idle, false,
          "a thread that waits for an event uses no processor, nor does the library's");
    scene(argc, argv, "threads", 2, threads, false,
          "threads put, get, wait on one queue and unlink");
    return scenes_over();
}
