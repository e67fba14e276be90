/* probe.c - does what a parameter of portals-conduit bears upon, and prints what libportals saw.
 *
 * usage: probe NAME NUMBER [NAME NUMBER ...]; run.sh gives the environment and judges the lines.
 * Rank 0 acts and prints; a rank that is to stay away from the library sleeps until a signal.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "portals-conduit/bits.h"
#include "spy.h"
#include "tests/programs/test.h"

enum { SEGMENT = 4 << 20, DATA = 4096, MOST = 1 << 20, RANKS = 64 };
enum { H_PID = 128, H_ONE_WAY, H_SIZED, H_PING, H_LONG, H_DONE };

static pid_t pids[RANKS]; /* of all ranks, at all ranks */
static int pids_known, handled, answered;
static char outside[MOST];

/* ---- handlers */

static void on_pid(gasnet_token_t t, gasnet_handlerarg_t rank, gasnet_handlerarg_t pid)
{
    (void)t;
    pids[rank] = pid;
    test_add(&pids_known, 1);
}

static void on_one_way(gasnet_token_t t)
{
    (void)t;
    test_add(&handled, 1);
}

static void on_sized(gasnet_token_t t, void *data, size_t n)
{
    (void)t, (void)data, (void)n;
    test_add(&handled, 1);
}

static void on_ping(gasnet_token_t t)
{
    gasnet_AMReplyShort0(t, H_DONE);
}

static void on_long(gasnet_token_t t, void *data, size_t n)
{
    (void)data, (void)n;
    gasnet_AMReplyShort0(t, H_DONE);
}

static void on_done(gasnet_token_t t)
{
    (void)t;
    test_add(&answered, 1);
}

/* ---- signals: what reaches a rank that is not inside the library */

enum { STALLED = 1, FINISHED = 2 };

static void tell(int rank, int what)
{
    const union sigval value = {.sival_int = test_rank << 8 | what};
    sigqueue(pids[rank], SIGRTMIN, value);
}

/* Waits for a signal, or takes a pending one; false if none is pending. */
static bool told(bool wait, int *rank, int *what)
{
    static const struct timespec now;
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    int got;
    while ((got = wait ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, &now)) < 0)
        if (errno != EINTR) return false;
    *rank = info.si_value.sival_int >> 8;
    *what = info.si_value.sival_int & 255;
    return true;
}

/* All that was sent before has been answered, and all that moves credits has arrived: what went
 * ahead on the way to a peer is there when a put is. */
static void settle(void)
{
    for (int r = 0; r < test_size; r++) {
        if (r == test_rank) continue;
        int before = test_get(&answered);
        gasnet_AMRequestShort0((gasnet_node_t)r, H_PING);
        GASNET_BLOCKUNTIL(test_get(&answered) > before);
    }
    for (int round = 0; round < 3; round++) {
        for (int r = 0; r < test_size; r++)
            gasnet_put_val((gasnet_node_t)r, test_at(r, 8 * (size_t)test_rank), 1, 8);
        gasnet_barrier_notify(round, 0);
        gasnet_barrier_wait(round, 0);
        for (int i = 0; i < 20; i++) gasnet_AMPoll();
    }
}

/* ---- sizes */

static void sizes(int n)
{
    (void)n;
    if (test_rank) return;
    printf("memory reqsb=%llu rplsb=%llu reqrb=%llu buffers=%llu\n",
           (unsigned long long)spy.attached[BITS_REQSB], (unsigned long long)spy.bound_first,
           (unsigned long long)spy.attached[BITS_REQRB], (unsigned long long)spy.count[BITS_REQRB]);
    printf("others rar=%llu raram=%llu rarsrc=%llu sys=%llu\n",
           (unsigned long long)spy.count[BITS_RAR], (unsigned long long)spy.count[BITS_RARAM],
           (unsigned long long)spy.count[BITS_RARSRC], (unsigned long long)spy.count[BITS_SYS]);
    printf("segment local=%llu\n", (unsigned long long)gasnet_getMaxLocalSegmentSize());
}

/* ---- how a transfer goes */

static const char *place(const struct spy_op *op, const char *here)
{
    if (op->from == BITS_REQSB) return "chunk";
    if (op->from == BITS_RARSRC) return "segment";
    return op->start && (ptl_size_t)(here - op->start) >= op->size ? "ticket" : "temporary";
}

/* Messages are counted here: the peer must send none of its own, for a barrier, say, until then. */
static void ways(int n)
{
    if (test_rank) {
        volatile uint64_t *counted = test_at(test_rank, 0);
        GASNET_BLOCKUNTIL(*counted == (uint64_t)n);
        return;
    }
    for (int inside = 0; inside < 2; inside++) {
        char *here = inside ? test_at(0, DATA) : outside;
        const char *name = inside ? "segment" : "outside";
        spy_reset();
        gasnet_put_bulk(1, test_at(1, DATA), here, (size_t)n);
        printf("put-%s %d from=%s\n", name, n, place(&spy.op[0], here));
        spy_reset();
        gasnet_get_bulk(here, 1, test_at(1, DATA), (size_t)n);
        printf("get-%s %d from=%s\n", name, n, place(&spy.op[0], here));
    }
    int before = test_get(&answered);
    spy_reset();
    gasnet_AMRequestLong0(1, H_LONG, test_at(0, DATA), (size_t)n, test_at(1, DATA));
    GASNET_BLOCKUNTIL(test_get(&answered) > before);
    printf("long %d messages=%u\n", n, spy.ops);
    gasnet_put_val(1, test_at(1, 0), (gasnet_register_value_t)n, 8);
}

/* ---- how much is in flight */

static unsigned stalled_at;

static void release(void)
{
    if (!stalled_at) stalled_at = spy.ops;
    spy.on_stall = NULL;
    for (int i = 0; i < SPY_QUEUES; i++) spy.queue[i].hold = false;
}

static void wake_one(void)
{
    release();
    tell(1, STALLED);
}

static void hold_back(void)
{
    spy_reset();
    stalled_at = 0;
    spy.queue[SPY_SAFE].hold = true;
    spy.on_stall = release;
}

static void depth(int n)
{
    settle();
    if (test_rank) return;
    hold_back();
    for (int i = 0; i < n; i++) gasnet_put_nbi_bulk(1, test_at(1, DATA), test_at(0, DATA), 8);
    unsigned most = stalled_at;
    release();
    gasnet_wait_syncnbi_puts();
    printf("depth most=%u\n", most);
}

static void temporaries(int n)
{
    settle();
    if (test_rank) return;
    hold_back();
    for (int i = 0; i < n; i++) gasnet_put_nbi_bulk(1, test_at(1, DATA), outside, 8192);
    release();
    gasnet_wait_syncnbi_puts();
    printf("temporaries most=%u left=%u\n", spy.bound_most, spy.bound);
}

/* Rank 1 leaves the library until a message asks it back; rank 0 knows that it has left. */
static void leave_one(void)
{
    int rank, what;
    settle();
    if (test_rank == 1) tell(0, FINISHED);
    if (test_rank < 2 && !told(true, &rank, &what)) abort();
}

/* Requests to a peer that does not look. */
static void credits(int n)
{
    leave_one();
    if (test_rank == 0) {
        spy_reset();
        stalled_at = 0;
        spy.on_stall = wake_one;
        for (int i = 0; i < n; i++) gasnet_AMRequestShort0(1, H_ONE_WAY);
        unsigned stalled = stalled_at;
        if (!stalled) tell(1, FINISHED);
        printf("credits stalled=%u\n", stalled);
    } else if (test_rank == 1) {
        GASNET_BLOCKUNTIL(test_get(&handled) == n);
    }
}

/* The largest Requests to a peer that serves none, whose space is soon used up; it looks for
 * everything else. */
static void basin(int n)
{
    settle();
    if (test_rank == 0) {
        for (int i = 0; i < n; i++)
            gasnet_AMRequestMedium0(1, H_SIZED, outside, gasnet_AMMaxMedium());
    } else if (test_rank == 1) {
        spy.queue[SPY_AM].hold = true;
        GASNET_BLOCKUNTIL(test_get(&handled) == n);
    }
}

/* ---- how many events one poll takes */

static void show_served(const char *name, int queue)
{
    unsigned stored = spy.queue[queue].stored;
    spy.queue[queue].hold = false;
    spy.queue[queue].served = 0;
    gasnet_AMPoll();
    printf("%s there=%d taken=%u\n", name, stored >= 64, spy.queue[queue].served);
}

static void limits(int n)
{
    settle();
    spy_reset();
    if (test_rank == 0) {
        spy.queue[SPY_AM].hold = true;
        gasnet_put_val(1, test_at(1, 0), 2, 8);
        while (spy.queue[SPY_AM].stored < (unsigned)n) gasnet_AMPoll();
        show_served("requests", SPY_AM);
        GASNET_BLOCKUNTIL(test_get(&handled) == n);
        spy.queue[SPY_SAFE].hold = true;
        for (int i = 0; i < n; i++) gasnet_put_nbi_bulk(1, test_at(1, DATA), test_at(0, DATA), 8);
        while (spy.queue[SPY_SAFE].stored < (unsigned)n) gasnet_AMPoll();
        show_served("completions", SPY_SAFE);
        gasnet_wait_syncnbi_puts();
    } else if (test_rank == 1) {
        GASNET_BLOCKUNTIL(__atomic_load_n((uint64_t *)test_at(1, 0), __ATOMIC_ACQUIRE) == 2);
        for (int i = 0; i < n; i++) gasnet_AMRequestShort0(0, H_ONE_WAY);
    }
}

/* ---- a flood */

static void say_stalled(void)
{
    tell(0, STALLED);
}

/* All ranks send to rank 0 as fast as they can; rank 0 polls only when no rank can send any more.
 */
static void flood_target(int n)
{
    int state[RANKS] = {0}, rank, what;
    while (test_get(&handled) < n * (test_size - 1)) {
        int moving = 0;
        for (int r = 1; r < test_size; r++)
            if (state[r] != FINISHED) moving++, state[r] = 0;
        while (told(false, &rank, &what))
            if (what == FINISHED) moving--, state[rank] = FINISHED;
        while (moving > 0) {
            if (!told(true, &rank, &what) || state[rank]) continue;
            state[rank] = what;
            moving--;
        }
        for (int i = 0; i < 8; i++) gasnet_AMPoll();
    }
}

static void flood(int n)
{
    struct test_random random = test_random_for(31);
    settle();
    if (test_rank == 0) {
        flood_target(n);
    } else {
        spy_reset();
        spy.on_stall = say_stalled;
        for (int i = 0; i < n; i++) {
            size_t size =
                test_below(&random, 2) ? 0 : test_below(&random, gasnet_AMMaxMedium() + 1);
            gasnet_AMRequestMedium0(0, H_SIZED, outside, size);
        }
        spy.on_stall = NULL;
        tell(0, FINISHED);
    }
    settle();
    if (test_rank == 0) printf("flood handled=%d\n", test_get(&handled));
}

/* Sends Requests of each rank to the next one, one after the other. */
static void requests(int n)
{
    for (int i = 0; i < n; i++) {
        int before = test_get(&answered);
        gasnet_AMRequestShort0((gasnet_node_t)test_next, H_PING);
        GASNET_BLOCKUNTIL(test_get(&answered) > before);
    }
    settle();
}

/* ---- */

static const struct probe {
    const char *name;
    void (*run)(int number);
} probes[] = {
    {"sizes", sizes},      {"ways", ways},   {"depth", depth},   {"temporaries", temporaries},
    {"credits", credits},  {"basin", basin}, {"limits", limits}, {"flood", flood},
    {"requests", requests}};

static void run_one(const char *name, int number)
{
    const struct probe *p = probes;
    while (p < probes + TEST_COUNT(probes) && strcmp(p->name, name)) p++;
    if (p == probes + TEST_COUNT(probes)) {
        fprintf(stderr, "probe: no such thing as %s\n", name);
        gasnet_exit(2);
    }
    test_phase("%s", name);
    p->run(number);
    fflush(stdout);
    test_sync();
}

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[] = {{H_PID, on_pid},     {H_ONE_WAY, on_one_way},
                                            {H_SIZED, on_sized}, {H_PING, on_ping},
                                            {H_LONG, on_long},   {H_DONE, on_done}};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    for (int r = 0; r < test_size; r++)
        gasnet_AMRequestShort2((gasnet_node_t)r, H_PID, test_rank, (gasnet_handlerarg_t)getpid());
    GASNET_BLOCKUNTIL(test_get(&pids_known) == test_size);
    test_sync();
    handled = answered = 0;
    for (int i = 1; i + 1 < argc; i += 2) run_one(argv[i], atoi(argv[i + 1]));
    settle();
    gasnet_exit(0);
}
