/* probe.c - does what a parameter bears upon, and prints what the verbs device saw of it.
 *
 * usage: probe NAME [NUMBER...] [NAME ...]; run.sh gives the environment and judges the lines. Rank
 * 0 acts and prints, unless a probe says otherwise; ranks that are not needed wait.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <gasnet_ratomic.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "spy.h"
#include "tests/programs/test.h"
#ifdef GASNET_PAR
#include <pthread.h>
#endif

enum { SEGMENT = 4 << 20, WORDS = 4096, MOST = 1 << 20 }; /* the first WORDS bytes are for signs */
enum { H_PID = 128, H_ONE_WAY, H_LONG, H_DONE, H_REFILLED };

static pid_t pids[64]; /* of all ranks, at rank 0 */
static int pids_known, handled, answered;
static char outside[MOST];
static int before_attach; /* regions there were */

/* ---- handlers */

static void on_pid(gasnet_token_t t, gasnet_handlerarg_t rank, gasnet_handlerarg_t pid)
{
    pids[rank] = pid;
    test_add(&pids_known, 1);
    gasnet_AMReplyShort0(t, H_DONE);
}

static void on_one_way(gasnet_token_t t)
{
    (void)t;
    test_add(&handled, 1);
}

static void on_long(gasnet_token_t t, void *data, size_t n)
{
    (void)data, (void)n;
    gasnet_AMReplyShort0(t, H_DONE);
}

/* Counts at the receiver of Requests: those handled in all; those handled before a receive buffer
 * was posted instead of theirs; those handled while their own buffer was posted again. */
static int requests, late, own;

static void on_refilled(gasnet_token_t t, void *data, size_t n)
{
    (void)n;
    requests++;
    late += spy.receives < requests;
    own += (uintptr_t)data - spy.last_receive < 4096;
    gasnet_AMReplyShort0(t, H_DONE);
}

static void on_done(gasnet_token_t t)
{
    (void)t;
    test_add(&answered, 1);
}

/* ---- signals that need no poll of the receiver: words at the start of a segment */

static uint64_t *my_sign(void)
{
    return test_at(test_rank, 0);
}

static void tell_sign(int rank, uint64_t word)
{
    gasnet_put_val((gasnet_node_t)rank, test_at(rank, 0), word, sizeof word);
}

/* Until a signal, without a call of the library. */
static void sleep_outside(void)
{
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigwait(&set, &got);
}

static int stalled_at;

static void wake_all(void)
{
    stalled_at = spy.posts;
    spy.on_stall = NULL;
    for (int r = 1; r < test_size; r++) kill(pids[r], SIGUSR2);
}

static void note_stall(void)
{
    stalled_at = spy.posts;
    spy.on_stall = NULL;
}

static void wait_answer(int n)
{
    GASNET_BLOCKUNTIL(test_get(&answered) >= n);
}

/* ---- objects that were made */

static void attributes(const int *number)
{
    (void)number;
    for (int r = 1; r < test_size; r++) {
        gasnet_put_val((gasnet_node_t)r, test_at(r, 8), 1, 8);
        gasnet_AMRequestLong0((gasnet_node_t)r, H_LONG, outside, 8, test_at(r, WORDS));
        wait_answer(r);
    }
    for (int i = 0; i < spy.opens; i++) printf("open %s\n", spy.open[i]);
    for (int i = 0; i < spy.qps; i++) {
        const struct spy_qp *q = &spy.qp[i];
        if (!q->qp || !q->port) continue;
        printf("qp %s/%u pkey=%u gid=%d class=%d timeout=%u retries=%u begun=%u served=%u depth=%u "
               "receives=%u shares=%d "
               "inline=%u\n",
               q->qp->context->device->name, q->port, q->pkey_index, q->gid_index, q->traffic_class,
               q->timeout, q->retries, q->reads_begun, q->reads_served, q->send_depth,
               q->recv_depth, q->shares, q->inline_max);
    }
    for (int i = 0; i < spy.srqs; i++) printf("srq depth=%u\n", spy.srq_depth[i]);
    for (int i = 0; i < spy.cqs; i++) printf("cq depth=%d\n", spy.cq[i].depth);
}

static void segment(const int *number)
{
    (void)number;
    size_t largest = 0, probed = 0;
    int pieces = 0;
    for (int i = 0; i < spy.regions; i++) {
        const struct spy_region *r = &spy.region[i];
        bool mine = r->start - (uintptr_t)test_seg[0].addr < test_seg[0].size;
        if (i < before_attach && r->remote && r->length > probed) probed = r->length;
        if (i < before_attach || !mine) continue;
        pieces++;
        if (r->length > largest) largest = r->length;
    }
    printf("segment local=%llu global=%llu probed=%zu pieces=%d largest=%zu\n",
           (unsigned long long)gasnet_getMaxLocalSegmentSize(),
           (unsigned long long)gasnet_getMaxGlobalSegmentSize(), probed, pieces, largest);
}

/* ---- how a transfer goes */

static void tell_ways(const char *what, int n, const void *src)
{
    int by_inline = 0, bounced = 0, direct = 0, sends = 0;
    for (int i = 0; i < spy.posts; i++) {
        const struct spy_post *p = &spy.post[i];
        if (p->opcode == IBV_WR_SEND)
            sends++;
        else if (p->is_inline)
            by_inline++;
        else if (p->local - (uintptr_t)src < (size_t)n)
            direct++;
        else
            bounced++;
    }
    printf("%s %d inline=%d bounced=%d direct=%d sends=%d blocked=%d\n", what, n, by_inline,
           bounced, direct, sends, spy.in_flight == 0);
}

/* A non-bulk and a bulk put, from the segment and from outside. */
static void put(const int *number)
{
    int n = *number;
    for (int place = 0; place < 2; place++) {
        char *src = place ? outside : test_at(0, WORDS), what[40];
        for (int bulk = 0; bulk < 2; bulk++) {
            spy_reset();
            gasnet_handle_t h = bulk ? gasnet_put_nb_bulk(1, test_at(1, WORDS), src, (size_t)n)
                                     : gasnet_put_nb(1, test_at(1, WORDS), src, (size_t)n);
            snprintf(what, sizeof what, "%s-%s", bulk ? "bulk" : "put",
                     place ? "outside" : "segment");
            tell_ways(what, n, src);
            gasnet_wait_syncnb(h);
        }
    }
}

/* AMLong and AMLongAsync. */
static void am_long(const int *number)
{
    int n = *number;
    char *src = test_at(0, WORDS);
    for (int async = 0; async < 2; async++) {
        int before = test_get(&answered);
        spy_reset();
        if (async)
            gasnet_AMRequestLongAsync0(1, H_LONG, src, (size_t)n, test_at(1, WORDS));
        else
            gasnet_AMRequestLong0(1, H_LONG, src, (size_t)n, test_at(1, WORDS));
        tell_ways(async ? "longasync" : "long", n, src);
        wait_answer(before + 1);
    }
}

/* Across the boundary of registered pieces, on both sides. */
static void pins(const int *number)
{
    enum { N = 200 };
    size_t at = (size_t)*number - N / 2;
    char back[N];
    test_fill(test_at(0, at), N, 5);
    spy_reset();
    gasnet_put_bulk(1, test_at(1, at), test_at(0, at), N);
    int puts = spy.posts;
    spy_reset();
    gasnet_get_bulk(back, 1, test_at(1, at), N);
    printf("across puts=%d gets=%d intact=%d\n", puts, spy.posts, test_mismatch(back, N, 5) < 0);
}

/* ---- how much is in flight */

/* Nothing is in flight any more: completions come in the order of posting. */
static void drain(void)
{
    for (int r = 1; r < test_size; r++) gasnet_put_val((gasnet_node_t)r, test_at(r, 8), 1, 8);
    spy_reset();
}

/* Small puts to all peers by turns, whose completions stay away until there is no more room. */
static void depth(const int *number)
{
    uint32_t most = 0;
    drain();
    spy.hold = true;
    spy.on_stall = note_stall;
    stalled_at = 0;
    for (int i = 0; i < *number; i++) {
        int r = 1 + i % (test_size - 1);
        gasnet_put_nbi_val((gasnet_node_t)r, test_at(r, 8), 1, 8);
    }
    spy.hold = false;
    gasnet_wait_syncnbi_puts();
    for (int i = 0; i < spy.qps; i++)
        if (spy.qp[i].most > most) most = spy.qp[i].most;
    printf("depth stalled=%d most=%u one=%u\n", stalled_at, spy.most, most);
}

/* The number of puts in flight that take a bounce buffer each. */
static void bounce(const int *number)
{
    drain();
    spy.hold = true;
    spy.on_stall = note_stall;
    stalled_at = 0;
    for (int i = 0; i < *number; i++) gasnet_put_nbi(1, test_at(1, WORDS), outside, 4096);
    spy.hold = false;
    gasnet_wait_syncnbi_puts();
    printf("bounce stalled=%d most=%u\n", stalled_at, spy.most);
}

/* Requests to peers that do not look, until no more can be sent; then the peers are woken. */
static void credits(const int *number)
{
    if (test_rank) {
        gasnet_put_val(0, test_at(0, 8 * (size_t)test_rank), 1, 8);
        sleep_outside();
        GASNET_BLOCKUNTIL(test_get(&handled) == *number / (test_size - 1));
        return;
    }
    for (int r = 1; r < test_size; r++)
        GASNET_BLOCKUNTIL(__atomic_load_n(my_sign() + r, __ATOMIC_ACQUIRE));
    for (int i = 0; i < 100; i++) gasnet_AMPoll(); /* messages sent before the peers slept */
    spy_reset();
    spy.on_stall = wake_all;
    stalled_at = 0;
    for (int i = 0; i < *number; i++)
        gasnet_AMRequestShort0((gasnet_node_t)(1 + i % (test_size - 1)), H_ONE_WAY);
    int stalled = stalled_at;
    if (!stalled) wake_all();
    printf("credits stalled=%d\n", stalled);
}

/* Sends one-way Requests, each handled before the next; rank 1 reports how many messages returned
 * their credits. */
static void slack(const int *number)
{
    int hidden = 0;
    if (test_rank == 0)
        for (int i = 1; i <= *number; i++) {
            gasnet_AMRequestShort0(1, H_ONE_WAY);
            GASNET_BLOCKUNTIL(__atomic_load_n(my_sign(), __ATOMIC_ACQUIRE) == (uint64_t)i);
        }
    if (test_rank != 1) return;
    spy_reset();
    for (int i = 1; i <= *number; i++) {
        GASNET_BLOCKUNTIL(test_get(&handled) == i);
        gasnet_AMPoll(); /* a hidden Reply leaves at the end of a poll */
        tell_sign(0, (uint64_t)i);
    }
    for (int i = 0; i < spy.posts; i++) hidden += spy.post[i].opcode == IBV_WR_SEND;
    printf("slack requests=%d hidden=%d\n", *number, hidden);
}

/* Requests in a burst, to a peer that serves several in one poll. */
static void refill(const int *number)
{
    if (test_rank == 0) {
        GASNET_BLOCKUNTIL(__atomic_load_n(my_sign(), __ATOMIC_ACQUIRE) == 1);
        int before = test_get(&answered);
        for (int i = 0; i < *number; i++) gasnet_AMRequestMedium0(1, H_REFILLED, outside, 64);
        tell_sign(1, 1);
        wait_answer(before + *number);
    }
    if (test_rank != 1) return;
    spy_reset();
    tell_sign(0, 1);
    while (__atomic_load_n(my_sign(), __ATOMIC_ACQUIRE) != 1) sched_yield();
    GASNET_BLOCKUNTIL(requests == *number);
    printf("refill requests=%d late=%d own=%d\n", requests, late, own);
}

/* A hundred barriers: by what they go. */
static void barrier(const int *number)
{
    (void)number;
    int puts = 0, sends = 0;
    spy_reset();
    for (int i = 0; i < 100; i++) {
        gasnet_barrier_notify(i, 0);
        gasnet_barrier_wait(i, 0);
    }
    for (int i = 0; i < spy.posts; i++) *(spy.post[i].opcode == IBV_WR_SEND ? &sends : &puts) += 1;
    if (test_rank == 0) printf("barrier puts=%d sends=%d\n", puts >= 100, sends >= 100);
}

/* ---- signals and timers */

static void signals(const int *number)
{
    (void)number;
    static const int one[] = {SIGSEGV, SIGTERM};
    for (int i = 0; i < 2; i++) {
        struct sigaction now;
        sigaction(one[i], NULL, &now);
        printf("signal %d %s\n", one[i], now.sa_handler == SIG_DFL ? "default" : "caught");
    }
}

/* The timer that bounds the exit. */
__attribute__((visibility("default"))) int
timer_settime(timer_t timer, int flags, const struct itimerspec *value, struct itimerspec *old)
{
    int (*next)(timer_t, int, const struct itimerspec *, struct itimerspec *);
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "timer_settime");
    double seconds = (double)value->it_value.tv_sec + (double)value->it_value.tv_nsec / 1e9;
    if (seconds > 0 && test_rank == 0) printf("exit bound %g\n", seconds);
    return next(timer, flags, value, old);
}

/* ---- threads */

#ifdef GASNET_PAR
enum { THREADS = 400 };

static pthread_barrier_t together;
static void *be_client(void *unused)
{
    gasnet_wait_syncnb(gasnet_put_nb((gasnet_node_t)test_next, test_at(test_next, 0), &unused,
                                     1)); /* a poll needs no record */
    pthread_barrier_wait(&together);
    return unused;
}

/* Runs `number` threads besides the main thread, all alive at once. */
static void threads(const int *number)
{
    pthread_t thread[THREADS];
    pthread_barrier_init(&together, NULL, (unsigned)*number);
    for (int i = 0; i < *number; i++) pthread_create(&thread[i], NULL, be_client, NULL);
    for (int i = 0; i < *number; i++) pthread_join(thread[i], NULL);
    printf("threads %d\n", *number);
}
#endif

/* ---- */

/* Three atomics on the word of a rank; returns how many the device has seen, and its name in
 * *device, or "several". */
static int atomics_on(int rank, gex_AD_t ad, const char **device)
{
    int64_t before = 0;
    int32_t shorter = 0;
    int seen = 0;
    void *const at = test_at(rank, 64);
    spy_reset();
    for (int i = 0; i < 3; i++)
        gex_Event_Wait(
            gex_AD_QueryDT(ad) == GEX_DT_I32
                ? gex_AD_OpNB_I32(ad, &shorter, (gex_Rank_t)rank, at, GEX_OP_FINC, 0, 0, 0)
                : gex_AD_OpNB_I64(ad, &before, (gex_Rank_t)rank, at, GEX_OP_FINC, 0, 0, 0));
    for (int i = 0; i < spy.posts; i++) {
        if (spy.post[i].opcode != IBV_WR_ATOMIC_FETCH_AND_ADD) continue;
        const char *its = spy.qp[spy.post[i].qp].qp->context->device->name;
        *device = seen++ == 0 || !strcmp(*device, its) ? its : "several";
    }
    return seen;
}

/* Atomics of rank 0 on its own memory and on that of rank 1, in one domain. */
static void atomics_of(const char *name, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
{
    gex_TM_t tm;
    gex_AD_t ad;
    const char *device = "none";
    gasnet_QueryGexObjects(NULL, NULL, &tm, NULL);
    gex_AD_Create(&ad, tm, dt, ops, flags);
    if (test_rank == 0) {
        printf("atomics %s own=%d ", name, atomics_on(0, ad, &device));
        printf("peer=%d ", atomics_on(1, ad, &device));
        printf("by=%s\n", device);
    }
    test_sync();
    gex_AD_Destroy(ad);
}

static void atomics(const int *number)
{
    (void)number;
    atomics_of("plain", GEX_DT_I64, GEX_OP_FINC | GEX_OP_GET | GEX_OP_CAS, 0);
    atomics_of("remote", GEX_DT_I64, GEX_OP_FINC, GEX_FLAG_AD_FAVOR_REMOTE);
    atomics_of("near", GEX_DT_I64, GEX_OP_FINC, GEX_FLAG_AD_FAVOR_MY_NBRHD);
    atomics_of("set", GEX_DT_I64, GEX_OP_FINC | GEX_OP_SET, GEX_FLAG_AD_FAVOR_REMOTE);
    atomics_of("short", GEX_DT_I32, GEX_OP_FINC, GEX_FLAG_AD_FAVOR_REMOTE);
}

static const struct probe {
    const char *name;
    void (*run)(const int *number);
    bool takes_number, all_ranks;
} probes[] = {{"attributes", attributes, false, false},
              {"segment", segment, false, false},
              {"put", put, true, false},
              {"long", am_long, true, false},
              {"pins", pins, true, false},
              {"depth", depth, true, false},
              {"bounce", bounce, true, false},
              {"credits", credits, true, true},
              {"slack", slack, true, true},
              {"refill", refill, true, true},
              {"barrier", barrier, false, true},
              {"atomics", atomics, false, true},
#ifdef GASNET_PAR
              {"threads", threads, true, false},
#endif
              {"signals", signals, false, false}};

static void run_all(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const struct probe *p = probes;
        while (p < probes + TEST_COUNT(probes) && strcmp(p->name, argv[i])) p++;
        if (p == probes + TEST_COUNT(probes)) {
            fprintf(stderr, "probe: no such thing as %s\n", argv[i]);
            gasnet_exit(2);
        }
        test_phase("%s", p->name);
        int number = p->takes_number && i + 1 < argc ? atoi(argv[++i]) : 0;
        if (p->all_ranks || test_rank == 0) p->run(&number);
        fflush(stdout);
        test_sync();
    }
}

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[] = {{H_PID, on_pid},
                                            {H_ONE_WAY, on_one_way},
                                            {H_LONG, on_long},
                                            {H_DONE, on_done},
                                            {H_REFILLED, on_refilled}};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    test_init(&argc, &argv);
    before_attach = spy.regions;
    const char *wanted = getenv("PROBE_SEGMENT");
    test_attach(table, TEST_COUNT(table), wanted ? (uintptr_t)atoll(wanted) : SEGMENT);
    gasnet_AMRequestShort2(0, H_PID, test_rank, (gasnet_handlerarg_t)getpid());
    wait_answer(1);
    if (test_rank == 0) GASNET_BLOCKUNTIL(test_get(&pids_known) == test_size);
    test_sync();
    answered = 0;
    run_all(argc, argv);
    gasnet_exit(0);
}
