/* testamrdma.c - which Active Messages go by RDMA, or are written by shared-memory peers, and to
 * which peers (IB-R9..R12), by the state of the network.
 *
 *   testamrdma SCENARIO [NUMBER]
 *
 * amrdma.sh sets the parameters that each scenario is about.  Rank 0 receives and judges; ranks
 * keep in step by barriers and puts, which are no Active Messages.
 */
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "core/am/am_wire.h"
#include "core/job/job.h"
#include "core/shm/messages.h"
#include "tests/programs/test.h"

enum { H_PING = 128, H_PONG, H_BYTES, H_LONG, SEGMENT = 64 * 1024 };

static int pings, pongs, wrong;
static int due; /* Requests to rank 0 since the start: one may be there before the call below */

static void on_ping(gasnet_token_t t)
{
    pings++;
    gasnet_AMReplyShort0(t, H_PONG);
}
static void on_pong(gasnet_token_t t)
{
    (void)t;
    pongs++;
}
static void on_bytes(gasnet_token_t t, void *buf, size_t n)
{
    wrong += test_mismatch(buf, n, n) >= 0;
    on_ping(t);
}
static void on_long(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t a0,
                    gasnet_handlerarg_t a1, gasnet_handlerarg_t a2, gasnet_handlerarg_t a3,
                    gasnet_handlerarg_t a4, gasnet_handlerarg_t a5, gasnet_handlerarg_t a6,
                    gasnet_handlerarg_t a7, gasnet_handlerarg_t a8, gasnet_handlerarg_t a9,
                    gasnet_handlerarg_t a10, gasnet_handlerarg_t a11, gasnet_handlerarg_t a12,
                    gasnet_handlerarg_t a13)
{
    wrong += a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11 + a12 + a13 != 91;
    on_bytes(t, buf, n);
}
static gasnet_handlerentry_t table[] = {
    {H_PING, on_ping}, {H_PONG, on_pong}, {H_BYTES, on_bytes}, {H_LONG, on_long}};

static void step(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static int lines;
/* Collective: no rank continues before rank 0 has looked. */
static void judge(bool ok, const char *name)
{
    if (test_rank == 0) printf("%sok %d - %s\n", ok ? "" : "not ", ++lines, name);
    step();
}

/* --- the state of the network --- */

/* The ring for that rank's messages, for its Requests if this one shares memory with it; or NULL.
 */
static amrdma_in_t *ring_of(gasnetc_peer_t *peer)
{
    gasnetc_shm_peer_t *shm = gasnetc_shm_of(peer);
    if (shm) return atomic_load(&shm->admitted) ? &shm->in[GASNETC_SHM_REQUESTS].in : NULL;
#if NET_HAS_FLOW_CONTROL
    return NULL;
#else
    const net_peer_rings_t *rings = atomic_load(&peer->net.rings);
    return rings ? atomic_load(&rings->in) : NULL;
#endif
}

static amrdma_in_t *ring_from(int rank)
{
    return rank == test_rank ? NULL : ring_of(&gasnetc_peers[rank]);
}

/* Messages that came by the ring of that rank; -1: it has none. */
static int by_ring(int rank)
{
    const amrdma_in_t *in = ring_from(rank);
    return in ? (int)(in->expected - 1) : -1;
}

static int rings_given(void)
{
    int n = 0;
    for (int r = 0; r < test_size; r++) n += ring_from(r) != NULL;
    return n;
}

/* As by_ring(rank), before anything that follows. */
static int by_ring_now(int rank)
{
    int n = by_ring(rank);
    step();
    return n;
}

/* --- conversations --- */

/* Rank `rank` sends `count` Requests to rank 0, each after the Reply to the one before. */
static void ping(int rank, int count)
{
    due += count;
    for (int i = 0; test_rank == rank && i < count; i++) {
        int before = pongs;
        gasnet_AMRequestShort0(0, H_PING);
        GASNET_BLOCKUNTIL(pongs > before);
    }
    if (test_rank == 0) GASNET_BLOCKUNTIL(pings == due);
    step();
}

/* Rank 1 sends one message of `length` bytes in all; how many came by the ring. */
static int medium(uint32_t length)
{
    static char bytes[4096];
    int before = by_ring_now(1);
    const size_t n = length - 8; /* its header */
    test_fill(bytes, n, n);
    due++;
    if (test_rank == 1) gasnet_AMRequestMedium0(0, H_BYTES, bytes, n);
    if (test_rank == 0) GASNET_BLOCKUNTIL(pings == due);
    step();
    return by_ring(1) - before;
}

static int packed_long(size_t n)
{
    static char bytes[4096];
    int before = by_ring_now(1);
    test_fill(bytes, n, n);
    due++;
    if (test_rank == 1)
        gasnet_AMRequestLong14(0, H_LONG, bytes, n, test_at(0, 4096), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                               10, 11, 12, 13);
    if (test_rank == 0) GASNET_BLOCKUNTIL(pings == due);
    step();
    return by_ring(1) - before;
}

/* --- scenarios --- */

static void first(int places)
{
    judge(rings_given() == 0, "no peer that has sent nothing has a ring");
    ping(2, 1);
    judge(by_ring(2) == 0, "IB-R12 cycle 1: the first peer that sends has one");
    ping(3, 1);
    ping(1, 300);
    judge(rings_given() == places && by_ring(3) == 0 && by_ring(1) == -1,
          "IB-R11 two places: the second has one, the third has none however much it sends");
    ping(2, 1); /* reports, not by a ring, that rank 0 has got one */
    int before = by_ring_now(2);
    ping(2, 50);
    judge(by_ring(2) == before + 50, "status is not revoked, and all that may goes by the ring");
}

/* The ranks share memory. */
static void shared(int unused)
{
    (void)unused;
    judge(rings_given() == 0, "no rank that has sent nothing has its rings looked at");
    for (int rank = 1; rank < test_size; rank++) ping(rank, 1);
    judge(rings_given() == test_size - 1, "each has them with its first message");
    const int before = by_ring_now(1);
    ping(1, 300);
    judge(by_ring(1) == before + 300 && before == 1, "and all messages go by them");
}

static void cycle(int length)
{
    ping(1, 10);
    ping(2, length - 11);
    judge(rings_given() == 0, "IB-R12 no peer is chosen before the cycle is over");
    ping(2, 1);
    judge(rings_given() == 1 && by_ring(2) == 0, "IB-R12 then the peer that sent most");
    ping(1, length);
    judge(by_ring(1) == -1, "IB-R11 one place, one ring");
}

static void limit(int bytes)
{
    ping(1, 2);
    judge(medium((uint32_t)bytes) == 1, "IB-R9 a message of the limit goes by the ring");
    judge(medium((uint32_t)bytes + 1) == 0, "IB-R9 one of a byte more does not");
    judge(medium((uint32_t)bytes - 3) == 1, "IB-R9 an odd length goes by the ring");
    judge(wrong == 0, "all of them arrive whole");
}

static void longest(int bytes)
{
    ping(1, 2);
    judge(packed_long((size_t)bytes) == 1,
          "IB-R9 a packed Long of the default limit goes by the ring");
    judge(wrong == 0, "it arrives whole");
}

/* Rank 1 sends so many while rank 0 does not look. */
static void burst(int count)
{
    volatile uint64_t *flag = test_at(test_rank, 0);
    static uint64_t turn;
    int before = pongs;
    turn++;
    due += count;
    if (test_rank == 1) {
        while (*flag < turn) sched_yield(); /* until rank 0 does not look */
        for (int i = 0; i < count; i++) gasnet_AMRequestShort0(0, H_PING);
        gasnet_put(0, test_at(0, 0), &turn, sizeof turn);
        GASNET_BLOCKUNTIL(pongs >= before + count);
    } else if (test_rank == 0) {
        /* Not a blocking put, which polls, and might find what rank 1 has sent by then. */
        gasnet_put_nbi_bulk(1, test_at(1, 0), &turn, sizeof turn);
        while (*flag < turn) sched_yield();
        GASNET_BLOCKUNTIL(pings == due);
        gasnet_wait_syncnbi_puts();
    }
    step();
}

static void depth(int slots)
{
    ping(1, 2);
    for (int i = 0; i < 5; i++) {
        int before = by_ring_now(1);
        burst(32);
        judge(by_ring(1) - before == slots, "IB-R10 as many messages as slots go by the ring, the "
                                            "others as ever");
    }
}

/* Rank 1, which alone has a receive thread, calls nothing of the library until it is told. */
static void one_sleeper(int count)
{
    volatile uint64_t *told = test_at(test_rank, 0);
    uint64_t yes = 1;
    ping(1, 2);
    if (test_rank == 0) {
        for (int i = 0; i < count; i++) {
            int before = pongs;
            gasnet_AMRequestShort0(1, H_PING);
            GASNET_BLOCKUNTIL(pongs > before);
        }
        gasnet_put(1, test_at(1, 0), &yes, sizeof yes);
    }
    while (test_rank == 1 && !*told) sched_yield();
    judge(true, "a message wakes the receive thread of a rank that computes");
}

static void off(int unused)
{
    (void)unused;
    for (int rank = 1; rank < test_size; rank++) ping(rank, 100);
    judge(rings_given() == 0, "no peer gets a ring");
}

/* A broken peer: what it may write is a slot's trailer. */
static void nonsense(int length)
{
    ping(1, 2);
    if (test_rank != 0) GASNET_BLOCKUNTIL(false);
    gasnetc_shm_peer_t *shm = gasnetc_shm_of(&gasnetc_peers[1]);
    gasnetc_ring_t *ring = shm ? &shm->in[GASNETC_SHM_REQUESTS] : gasnetc_rings;
    uint64_t trailer = amrdma_trailer(ring->in.expected, 0, (uint32_t)length);
    *(uint64_t *)(uintptr_t)ring->message->trailer = trailer;
    GASNET_BLOCKUNTIL(false);
}

/* A broken shared-memory peer: a Reply among its Requests. */
static void stray(int unused)
{
    const gasnetc_am_header_t header = {.head = gasnetc_am_head(GASNETC_AM_SHORT, false, 0),
                                        .handler = H_PONG};
    (void)unused;
    ping(1, 2);
    if (test_rank == 1) {
        memcpy(gasnetc_shm_request_slot(&gasnetc_peers[0], sizeof header), &header, sizeof header);
        gasnetc_shm_written(&gasnetc_peers[0], GASNETC_SHM_REQUESTS, sizeof header);
    }
    GASNET_BLOCKUNTIL(false);
}

/* The part of rank 0's segment that `rank` writes to; only its first 4000 bytes are written. */
enum { WRITTEN = 4000, OF_RANK = 8192 };
static char *area(int rank)
{
    return (char *)test_at(0, (size_t)rank * OF_RANK);
}

static bool wrote_elsewhere(void)
{
    for (int rank = 1; rank < test_size; rank++)
        if (test_mismatch(area(rank) + WRITTEN, OF_RANK - WRITTEN, OF_RANK) >= 0) return true;
    return false;
}

/* Rank 1 is killed at some instruction of its own while it and others write into rank 0's rings and
 * segment.  What rank 0 takes is whole, and what nobody writes stays, up to the end of the job. */
static void killed(int microseconds)
{
    static char bytes[WRITTEN];
    struct sigevent end = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    const struct itimerspec soon = {.it_value.tv_nsec = 1000L * (microseconds + 1)};
    timer_t timer;
    bool armed = false;
    if (test_rank == 0)
        for (int rank = 1; rank < test_size; rank++)
            test_fill(area(rank) + WRITTEN, OF_RANK - WRITTEN, OF_RANK);
    ping(1, 2);
    if (test_rank == 0) {
        GASNET_BLOCKUNTIL(pings > due);
        printf("# the first has arrived\n");
        fflush(stdout);
        for (int rank = 1; rank < test_size; rank++)
            gasnet_AMRequestShort0((gasnet_node_t)rank, H_PING);
        GASNET_BLOCKUNTIL(wrong || wrote_elsewhere());
        printf("not ok - a message is not whole, or bytes were written that nobody writes\n");
        gasnet_exit(3);
    }
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &end, &timer)) gasnet_exit(5);
    for (size_t n = 1;; n = n % WRITTEN + 1) {
        test_fill(bytes, n, n);
        gasnet_AMRequestMedium0(0, H_BYTES, bytes, n);
        gasnet_put(0, area(test_rank), bytes, n);
        if (n != 1 || armed) continue;
        GASNET_BLOCKUNTIL(pings > 0);
        armed = test_rank != 1 || timer_settime(timer, 0, &soon, NULL) == 0;
        if (!armed) gasnet_exit(5);
    }
}

/* A slot with all of a message but its trailer is no message. */
static void unfinished(int unused)
{
    (void)unused;
    ping(1, 2);
    const gasnetc_shm_out_t *out =
        &gasnetc_shm_of(&gasnetc_peers[1 - test_rank])->out[GASNETC_SHM_REQUESTS];
    judge(test_rank != 0 || ring_from(1), "the peer has a ring");
    if (test_rank == 1) {
        const gasnetc_am_header_t header = {.head = gasnetc_am_head(GASNETC_AM_SHORT, true, 0),
                                            .handler = H_PING};
        memcpy(gasnetc_shm_trailer(out, amrdma_next(&out->out)) - sizeof header, &header,
               sizeof header);
    }
    step();
    for (int i = 0; i < 1000; i++) gasnet_AMPoll();
    judge(pings == due, "a message without its trailer is not taken");
    ping(1, 50);
    judge(pings == due, "and those that follow arrive");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int number);
    } scenarios[] = {{"first", first},           {"shared", shared},
                     {"cycle", cycle},           {"limit", limit},
                     {"longest", longest},       {"depth", depth},
                     {"nonsense", nonsense},     {"off", off},
                     {"stray", stray},           {"killed", killed},
                     {"unfinished", unfinished}, {"one_sleeper", one_sleeper}};
    if (gasnet_init(&argc, &argv) != GASNET_OK ||
        gasnet_attach(table, TEST_COUNT(table), SEGMENT, 0) != GASNET_OK)
        return 4;
    test_rank = (int)gasnet_mynode();
    test_size = (int)gasnet_nodes();
    gasnet_seginfo_t segments[GASNET_MAXNODES < 64 ? GASNET_MAXNODES : 64];
    test_seg = segments;
    gasnet_getSegmentInfo(segments, test_size);
    *(uint64_t *)test_at(test_rank, 0) = 0;
    step();
    for (int i = 0; argc > 1 && i < TEST_COUNT(scenarios); i++)
        if (!strcmp(scenarios[i].name, argv[1])) scenarios[i].run(argc > 2 ? atoi(argv[2]) : 0);
    if (test_rank == 0) printf("1..%d\n", lines);
    step();
    gasnet_exit(0);
}
