/* testflow.c - Active Messages where flow control is at its limits; tests/am/flow.sh runs the
 * scenes under settings of their own and reads the counters that the job leaves behind.
 *
 * No scene sends a message but those it is about: even the start is kept together by barriers,
 * which go by puts.
 */
#include <gasnet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { H_PING = 128, H_PING_BYTES, H_STORM, H_STORMED, H_WEDGE, H_WEDGED, H_HOLD };
enum { SEGMENT = 1 << 20, BYTES = 500 };

static gasnet_node_t rank, size;
static gasnet_seginfo_t *segment;
static int heard, replied, held;
static uint8_t bytes[BYTES];

static int get(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void add(int *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL);
}

static void fail(const char *what)
{
    printf("rank %u: %s\n", (unsigned)rank, what);
    fflush(stdout);
    gasnet_exit(1);
}

static void check_bytes(const void *buf, size_t n)
{
    if (n != BYTES || memcmp(buf, bytes, n) != 0) fail("a damaged Medium");
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* --- handlers --- */

static void on_ping(gasnet_token_t token)
{
    (void)token;
    add(&heard);
}

static void on_ping_bytes(gasnet_token_t token, void *buf, size_t n)
{
    check_bytes(buf, n);
    on_ping(token);
}

/* A Reply of another kind each time, or none. */
static void on_storm(gasnet_token_t token, void *buf, size_t n, gasnet_handlerarg_t kind)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(token, &from);
    check_bytes(buf, n);
    if (kind == 1) gasnet_AMReplyMedium0(token, H_STORMED, bytes, BYTES);
    if (kind == 2)
        gasnet_AMReplyLong0(token, H_STORMED, bytes, BYTES,
                            (char *)segment[from].addr + 4096 * (1 + rank));
    add(&heard);
}

static void on_stormed(gasnet_token_t token, void *buf, size_t n)
{
    (void)token;
    check_bytes(buf, n);
    add(&replied);
}

/* Reports to the client that it runs, and never returns. */
static void on_wedge(gasnet_token_t token)
{
    gasnet_AMReplyShort0(token, H_WEDGED);
    for (;;) pause();
}

static void on_wedged(gasnet_token_t token)
{
    (void)token;
    add(&replied);
}

/* Runs until rank 0 says so, and has no Reply until then. */
static void on_hold(gasnet_token_t token)
{
    volatile int *step = segment[rank].addr;
    (void)token;
    add(&held);
    while (*step < 2) usleep(1000);
}

/* --- scenes --- */

static void ping(gasnet_node_t to, int number)
{
    if (number % 16 == 15)
        gasnet_AMRequestMedium0(to, H_PING_BYTES, bytes, BYTES);
    else
        gasnet_AMRequestShort0(to, H_PING);
}

/* Each Request is answered by a Request, from the main program. */
static void ping_pong(int turns)
{
    if (rank > 1) return;
    for (int i = 0; i < turns; i++) {
        if (rank == 1) GASNET_BLOCKUNTIL(get(&heard) == i + 1);
        ping(1 - rank, i);
        if (rank == 0) GASNET_BLOCKUNTIL(get(&heard) == i + 1);
    }
}

/* Rank 0 sends, the other ranks receive without a reply. */
static void one_way(int messages)
{
    if (rank == 0)
        for (int i = 0; i < messages; i++) ping((gasnet_node_t)(1 + i % (int)(size - 1)), i);
    else
        GASNET_BLOCKUNTIL(get(&heard) == messages / (int)(size - 1));
    barrier();
}

/* All send to all; a third of the Requests is not replied to.  Nothing is reaped between puts in a
 * row but where the send queue is full. */
static void storm(int messages)
{
    enum { PUTS = 4 };
    int expected = 0;
    for (int i = 0; i < messages; i++)
        for (gasnet_node_t to = 0; to < size; to++) {
            if (to == rank) continue;
            gasnet_AMRequestMedium1(to, H_STORM, bytes, BYTES, i % 3);
            expected += i % 3 != 0;
            char *row = (char *)segment[to].addr + 4096 * (1 + size + rank);
            for (int put = 0; put < PUTS; put++) gasnet_put_nbi(to, row + put, bytes, 1);
        }
    gasnet_wait_syncnbi_puts();
    GASNET_BLOCKUNTIL(get(&replied) == expected && get(&heard) == messages * (int)(size - 1));
    barrier();
}

static void tell_others(int step)
{
    for (gasnet_node_t to = 1; to < size; to++)
        gasnet_put(to, segment[to].addr, &step, sizeof step);
}

/* Rank 0 has given its last receive buffers away for Replies when Requests come: these must be
 * moved before they are handled.  The others only look at their memory until then. */
static void no_spare(int unused)
{
    (void)unused;
    volatile int *step = segment[rank].addr; /* [0]: rank 0's; [r] at rank 0: that r is ready */
    int ready = 1;
    if (rank == 0) {
        for (gasnet_node_t r = 1; r < size; r++)
            while (!step[r]) usleep(1000);
        for (gasnet_node_t to = 1; to < size; to++) gasnet_AMRequestShort0(to, H_PING);
        tell_others(1);
        GASNET_BLOCKUNTIL(get(&heard) == (int)size - 1);
        tell_others(2);
    } else {
        gasnet_put(0, (int *)segment[0].addr + rank, &ready, sizeof ready);
        while (*step < 1) usleep(1000);
        gasnet_AMRequestMedium0(0, H_PING_BYTES, bytes, BYTES);
        while (*step < 2) usleep(1000);
        GASNET_BLOCKUNTIL(get(&heard) == 1);
    }
    barrier();
}

/* Starts a handler of rank `who` that never returns; the next rank ends the job. */
static void wedge(int who)
{
    if (rank == (gasnet_node_t)(who + 1) % size) {
        gasnet_AMRequestShort0((gasnet_node_t)who, H_WEDGE);
        GASNET_BLOCKUNTIL(get(&replied) == 1);
        gasnet_exit(21);
    }
    for (;;) gasnet_AMPoll();
}

#ifdef GASNET_PAR
/* As no_spare, but the receive thread of rank 0 handles the Requests, and has a receive buffer of
 * its own.  No thread of the client polls after the first Request, or waits for an operation. */
static void own_spare(int unused)
{
    (void)unused;
    static int one = 1, two = 2;
    volatile int *step = segment[rank].addr;
    if (rank == 0) {
        for (gasnet_node_t r = 1; r < size; r++)
            while (!step[r]) usleep(1000);
        for (gasnet_node_t to = 1; to < size; to++) gasnet_AMRequestShort0(to, H_HOLD);
        for (gasnet_node_t to = 1; to < size; to++)
            gasnet_put_nbi_bulk(to, segment[to].addr, &one, sizeof one);
        while (get(&heard) < (int)size - 1) usleep(1000);
        for (gasnet_node_t to = 1; to < size; to++)
            gasnet_put_nbi_bulk(to, segment[to].addr, &two, sizeof two);
    } else {
        gasnet_put_nbi_bulk(0, (int *)segment[0].addr + rank, &one, sizeof one);
        while (*step < 1 || !get(&held)) usleep(1000);
        gasnet_AMRequestMedium0(0, H_PING_BYTES, bytes, BYTES);
        while (*step < 2) usleep(1000);
    }
    gasnet_wait_syncnbi_all();
    barrier();
}

static void *flood(void *messages)
{
    for (int i = 0; i < *(int *)messages; i++) ping(0, i);
    return NULL;
}

/* Rank 0 does not poll until a put of each other rank has come, while one thread of each floods it
 * with more Requests than it has room for (IB-A8). */
static void beside_flood(int messages)
{
    volatile int *done = segment[rank].addr;
    pthread_t thread;
    barrier();
    if (rank == 0) {
        for (gasnet_node_t r = 1; r < size; r++)
            while (done[r] != messages) usleep(1000);
        GASNET_BLOCKUNTIL(get(&heard) == messages * (int)(size - 1));
    } else {
        pthread_create(&thread, NULL, flood, &messages);
        for (int i = 1; i <= messages; i++)
            gasnet_put_val(0, (int *)segment[0].addr + rank, (gasnet_register_value_t)i, sizeof i);
        pthread_join(thread, NULL);
    }
    barrier();
}
#endif

/* Rank 0 has as many unanswered Requests at rank 1, which does not poll, as it has send buffers
 * for; transfers from and to its stack complete all the same, and so does the message of a barrier
 * (PO-18). */
static void beside_requests(int messages)
{
    volatile int *const mine = segment[rank].addr;
    int *const theirs = segment[1].addr;
    if (rank == 0) {
        int sent[3] = {messages, messages + 1, messages + 2}, got[3] = {0};
        for (int i = 0; i < messages; i++) gasnet_AMRequestShort0(1, H_PING);
        gasnet_put(1, theirs, sent, sizeof *sent);
        gasnet_put_bulk(1, theirs + 1, sent + 1, sizeof *sent);
        gasnet_wait_syncnb(gasnet_put_nb_bulk(1, theirs + 2, sent + 2, sizeof *sent));
        gasnet_get(got, 1, theirs, sizeof got);
        if (memcmp(got, sent, sizeof got) != 0) fail("a get of other bytes than were put");
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        gasnet_put_val(1, theirs + 3, 1, sizeof *sent);
    } else {
        while (rank == 1 && !mine[3]) usleep(1000);
        if (rank == 1) GASNET_BLOCKUNTIL(get(&heard) == messages);
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    }
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* All others flood rank 0, which ends the job amid that. */
static void leave(int messages)
{
    barrier();
    if (rank == 0) {
        GASNET_BLOCKUNTIL(get(&heard) >= messages);
        gasnet_exit(23);
    }
    for (int i = 0;; i++) ping(0, i);
}

static const struct scene {
    const char *name;
    void (*run)(int);
} scenes[] = {
    {"ping_pong", ping_pong},
    {"one_way", one_way},
    {"storm", storm},
    {"no_spare", no_spare},
    {"wedge", wedge},
    {"leave", leave},
    {"beside_requests", beside_requests},
#ifdef GASNET_PAR
    {"own_spare", own_spare},
    {"beside_flood", beside_flood},
#endif
};

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {
        {H_PING, (void (*)(void))on_ping},   {H_PING_BYTES, (void (*)(void))on_ping_bytes},
        {H_STORM, (void (*)(void))on_storm}, {H_STORMED, (void (*)(void))on_stormed},
        {H_WEDGE, (void (*)(void))on_wedge}, {H_WEDGED, (void (*)(void))on_wedged},
        {H_HOLD, (void (*)(void))on_hold},
    };
    if (gasnet_init(&argc, &argv) != GASNET_OK ||
        gasnet_attach(table, sizeof table / sizeof *table, SEGMENT, 0) != GASNET_OK)
        return 1;
    rank = gasnet_mynode();
    size = gasnet_nodes();
    segment = calloc(size, sizeof *segment);
    gasnet_getSegmentInfo(segment, (int)size);
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(i * 7 + 1);
    memset(segment[rank].addr, 0, 4096);
    barrier();
    bool found = false;
    for (size_t i = 0; argc > 2 && i < sizeof scenes / sizeof *scenes; i++) {
        if (strcmp(scenes[i].name, argv[1]) != 0) continue;
        found = true;
        scenes[i].run(atoi(argv[2]));
    }
    if (!found) fprintf(stderr, "usage: testflow SCENE NUMBER\n");
    free(segment);
    gasnet_exit(found ? 0 : 2);
    return 0;
}
