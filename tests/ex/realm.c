/* realm.c - a program that calls GASNet-EX as Realm, the runtime of Legion, does.
 *
 * Worker threads send messages with GEX_FLAG_IMMEDIATE; what is refused waits in a queue of its
 * peer, which one thread, the poller, sends later.  The poller alone polls, and tests the events of
 * the sources of messages.  Each message has a checksum; a sender that asks for it gets a Reply
 * with the address of its counter.  Handlers forward messages by the queues, and the job finds out
 * when none is under way any more.  Puts are started by workers and waited for by other threads.
 * Every call names its endpoints by gex_TM_Pair; no call is of GASNet-1.
 *
 * Realm also calls gex_Coll_BroadcastNB, gex_Coll_ReduceToAllNB and gex_Coll_BarrierNB at its start
 * and for quiescence, for which test_sync_sum stands, and makes endpoints for memory of devices:
 * ex/endpoints.c and ex/rpc.c.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/programs/test.h"

enum {
    WORKERS = 3,     /* of each rank, in each rule */
    WAITERS = 2,     /* of puts */
    SLOTS = 4,       /* of each worker in the segment of each rank */
    SLOT = 64 << 10, /* bytes */
    LONG_SIZE = SLOT,
    HOPS = 5
};

static struct world {
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    gex_Segment_t segment;
    int polls; /* non-zero: the poller goes on */
    pthread_t poller;
} world;

static gex_TM_t pair(void)
{
    return gex_TM_Pair(world.ep, 0);
}

/* --- what is counted --- */

static int sent, received; /* Requests with a payload or hops; modulo 2^32 */
static int wrong;          /* of them, and tokens, events, lent buffers */
static int refused, in_flight;

struct completion {
    int left;
};

static uint32_t high(const void *p)
{
    return (uint32_t)((uint64_t)(uintptr_t)p >> 32);
}
static uint32_t low(const void *p)
{
    return (uint32_t)(uintptr_t)p;
}
static void *joined_pointer(gex_AM_Arg_t h, gex_AM_Arg_t l)
{
    return (void *)(uintptr_t)((uint64_t)(uint32_t)h << 32 | (uint32_t)l);
}

static uint32_t checksum(const void *data, size_t nbytes)
{
    const unsigned char *byte = data;
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < nbytes; i++) sum = (sum ^ byte[i]) * 16777619u;
    return sum;
}

/* --- messages --- */

static const gex_AM_Index_t h_short = 140, h_medium = 150, h_long = 160, h_check = 170;
static gex_AM_Index_t h_sixteen, h_done; /* chosen by the library */

enum kind {
    SHORT,      /* no payload */
    NEGOTIATED, /* in a buffer that the library lends */
    CLIENT,     /* negotiated, in the sender's own buffer */
    FIXED,      /* with an event */
    SIXTEEN,    /* FIXED with as many arguments as there may be */
    LONG,       /* with an event */
    CHECK,      /* asks for a checksum of memory of the peer */
    DONE,       /* a completion whose Reply was refused */
    KINDS
};

/* A message that has not been sent, or whose source is not free yet. */
struct message {
    struct message *next;
    enum kind kind;
    int hops;
    gex_Rank_t peer;
    gex_Event_t source;
    struct completion *completion; /* in the process that gets the Reply; may be NULL */
    char *dest;
    uint32_t sum;
    size_t nbytes;
    char data[];
};

static struct message *message_new(enum kind kind, gex_Rank_t peer, size_t nbytes)
{
    struct message *m = calloc(1, sizeof *m + nbytes);
    m->kind = kind, m->peer = peer, m->nbytes = nbytes;
    return m;
}

/* The arguments that most handlers have. */
#define ABOUT(m)                                                                                   \
    (gex_AM_Arg_t) high((m)->completion), (gex_AM_Arg_t)low((m)->completion),                      \
        (gex_AM_Arg_t)(m)->sum, (gex_AM_Arg_t)(m)->nbytes, (gex_AM_Arg_t)(m)->hops

/* Returns false if the library refuses; else the message is sent, and its source is free when the
 * event is complete. */
static bool try_negotiated(struct message *m, const void *buffer, gex_Event_t *event,
                           gex_Flags_t flags)
{
    gex_AM_SrcDesc_t sd =
        gex_AM_PrepareRequestMedium(pair(), m->peer, buffer, m->nbytes, m->nbytes, event, flags, 5);
    if (sd == GEX_AM_SRCDESC_NO_OP) return false;
    if (gex_AM_SrcDescSize(sd) != m->nbytes || (buffer && gex_AM_SrcDescAddr(sd) != buffer))
        test_add(&wrong, 1);
    if (!buffer) memcpy(gex_AM_SrcDescAddr(sd), m->data, m->nbytes);
    gex_AM_CommitRequestMedium5(sd, h_medium, m->nbytes, ABOUT(m));
    return true;
}

static bool try_send(struct message *m, gex_Flags_t flags)
{
    const int sum = (int)m->sum;
    m->source = GEX_EVENT_INVALID;
    switch (m->kind) {
    case SHORT:
        return !gex_AM_RequestShort5(pair(), m->peer, h_short, flags, ABOUT(m));
    case NEGOTIATED:
        return try_negotiated(m, NULL, NULL, flags);
    case CLIENT:
        return try_negotiated(m, m->data, &m->source, flags);
    case FIXED:
        return !gex_AM_RequestMedium5(pair(), m->peer, h_medium, m->data, m->nbytes, &m->source,
                                      flags, ABOUT(m));
    case SIXTEEN:
        return !gex_AM_RequestMedium16(pair(), m->peer, h_sixteen, m->data, m->nbytes, &m->source,
                                       flags, ABOUT(m), sum + 5, sum + 6, sum + 7, sum + 8, sum + 9,
                                       sum + 10, sum + 11, sum + 12, sum + 13, sum + 14, sum + 15);
    case LONG:
        return !gex_AM_RequestLong7(pair(), m->peer, h_long, m->data, m->nbytes, m->dest,
                                    &m->source, flags, ABOUT(m), (gex_AM_Arg_t)high(m->dest),
                                    (gex_AM_Arg_t)low(m->dest));
    case CHECK:
        return !gex_AM_RequestShort7(pair(), m->peer, h_check, flags,
                                     (gex_AM_Arg_t)high(m->completion),
                                     (gex_AM_Arg_t)low(m->completion), sum, (gex_AM_Arg_t)m->hops,
                                     0, (gex_AM_Arg_t)high(m->dest), (gex_AM_Arg_t)low(m->dest));
    default:
        return !gex_AM_RequestShort2(pair(), m->peer, h_done, flags,
                                     (gex_AM_Arg_t)high(m->completion),
                                     (gex_AM_Arg_t)low(m->completion));
    }
}

/* --- queues --- */

struct queue {
    pthread_mutex_t lock;
    struct message *first, **last;
};
static struct queue *queues;                                       /* [test_size] */
static struct queue sources = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* of messages that are sent */
static int queued;

static void queue_init(struct queue *q)
{
    pthread_mutex_init(&q->lock, NULL);
    q->first = NULL, q->last = &q->first;
}

/* With the lock; but post() looks at `first` without it. */
static void set_link(struct message **link, struct message *m)
{
    __atomic_store_n(link, m, __ATOMIC_RELAXED);
}
static void append(struct queue *q, struct message *m)
{
    m->next = NULL;
    set_link(q->last, m);
    q->last = &m->next;
}
static void remove_first(struct queue *q)
{
    set_link(&q->first, q->first->next);
    if (!q->first) q->last = &q->first;
}
static void put_back(struct queue *q, struct message *m)
{
    m->next = q->first;
    set_link(&q->first, m);
    if (!m->next) q->last = &m->next;
}

/* A message has been sent. */
static void await_source(struct message *m)
{
    if (m->source == GEX_EVENT_INVALID) {
        free(m);
        return;
    }
    test_add(&in_flight, 1);
    pthread_mutex_lock(&sources.lock);
    append(&sources, m);
    pthread_mutex_unlock(&sources.lock);
}

static void enqueue(struct message *m)
{
    struct queue *q = &queues[m->peer];
    test_add(&queued, 1);
    pthread_mutex_lock(&q->lock);
    append(q, m);
    pthread_mutex_unlock(&q->lock);
}

/* Sends now, if no message to the peer waits and the library does not refuse.  No lock is held:
 * Commit may poll, and a Request to this rank itself runs its handler, which may enqueue more. */
static void post(struct message *m)
{
    if (!__atomic_load_n(&queues[m->peer].first, __ATOMIC_RELAXED) &&
        try_send(m, GEX_FLAG_IMMEDIATE))
        await_source(m);
    else {
        test_add(&refused, 1);
        enqueue(m);
    }
}

/* The poller's. */
static void send_queued(struct queue *q)
{
    struct message *m;
    bool sends = true;
    while (sends) {
        pthread_mutex_lock(&q->lock);
        m = q->first;
        if (m) remove_first(q);
        pthread_mutex_unlock(&q->lock);
        if (!m) return;
        sends = try_send(m, GEX_FLAG_IMMEDIATE);
        if (sends) {
            await_source(m);
            test_add(&queued, -1);
        } else {
            pthread_mutex_lock(&q->lock);
            put_back(q, m);
            pthread_mutex_unlock(&q->lock);
        }
    }
}

/* Frees what is complete.  A test returns one of two values. */
static void test_sources(void)
{
    struct message *m, *over = NULL;
    pthread_mutex_lock(&sources.lock);
    for (struct message **at = &sources.first; (m = *at);) {
        const int status = gex_Event_Test(m->source);
        if (status != GASNET_OK && status != GASNET_ERR_NOT_READY) test_add(&wrong, 1);
        if (status == GASNET_OK) {
            *at = m->next;
            m->next = over, over = m;
        } else
            at = &m->next;
    }
    sources.last = &sources.first;
    while (*sources.last) sources.last = &(*sources.last)->next;
    pthread_mutex_unlock(&sources.lock);
    while ((m = over)) {
        over = m->next;
        free(m);
        test_add(&in_flight, -1);
    }
}

static void *poll_until_the_end(void *unused)
{
    while (test_get(&world.polls)) {
        gasnet_AMPoll();
        for (int r = 0; r < test_size; r++) send_queued(&queues[r]);
        test_sources();
        sched_yield();
    }
    return unused;
}

static void yield_until(const int *counter, int value)
{
    while (test_get(counter) != value) sched_yield();
}

/* --- handlers --- */

/* The sender, after the endpoint is checked. */
static gex_Rank_t sender(gex_Token_t token)
{
    gex_Token_Info_t info = {0};
    const gex_TI_t known = gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_EP);
    if ((known & (GEX_TI_SRCRANK | GEX_TI_EP)) != (GEX_TI_SRCRANK | GEX_TI_EP) ||
        gex_EP_QueryCData(info.gex_ep) != &world || (int)info.gex_srcrank >= test_size) {
        test_add(&wrong, 1);
        return 0;
    }
    return info.gex_srcrank;
}

static void complete(gex_Token_t token, gex_Rank_t peer, gex_AM_Arg_t h, gex_AM_Arg_t l)
{
    if (!h && !l) return;
    if (!gex_AM_ReplyShort2(token, h_done, GEX_FLAG_IMMEDIATE, h, l)) return;
    struct message *m = message_new(DONE, peer, 0);
    m->completion = joined_pointer(h, l);
    enqueue(m);
}

static void forward(int hops, uint32_t key)
{
    if (hops <= 0) return;
    const uint64_t random = test_mix(test_seed ^ key ^ (uint64_t)hops << 40);
    const enum kind kind = random % (SIXTEEN + 1);
    struct message *m =
        message_new(kind, (gex_Rank_t)(random >> 8) % (gex_Rank_t)test_size,
                    kind == SHORT ? 0 : 1 + (random >> 40) % gex_AM_LUBRequestMedium());
    test_fill(m->data, m->nbytes, random);
    m->sum = checksum(m->data, m->nbytes);
    m->hops = hops - 1;
    test_add(&sent, 1);
    enqueue(m);
}

static void take(gex_Token_t token, const void *data, size_t nbytes, gex_AM_Arg_t h, gex_AM_Arg_t l,
                 gex_AM_Arg_t sum, gex_AM_Arg_t size, gex_AM_Arg_t hops)
{
    const gex_Rank_t peer = sender(token);
    if (nbytes != (size_t)size || checksum(data, nbytes) != (uint32_t)sum) test_add(&wrong, 1);
    forward(hops, (uint32_t)sum);
    test_add(&received, 1); /* after what it has caused is counted as sent */
    complete(token, peer, h, l);
}

static void on_short(gex_Token_t token, gex_AM_Arg_t h, gex_AM_Arg_t l, gex_AM_Arg_t sum,
                     gex_AM_Arg_t size, gex_AM_Arg_t hops)
{
    take(token, NULL, 0, h, l, sum, size, hops);
}

static void on_medium(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t h, gex_AM_Arg_t l,
                      gex_AM_Arg_t sum, gex_AM_Arg_t size, gex_AM_Arg_t hops)
{
    take(token, data, nbytes, h, l, sum, size, hops);
}

static void on_sixteen(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t h, gex_AM_Arg_t l,
                       gex_AM_Arg_t sum, gex_AM_Arg_t size, gex_AM_Arg_t hops, gex_AM_Arg_t a5,
                       gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9,
                       gex_AM_Arg_t a10, gex_AM_Arg_t a11, gex_AM_Arg_t a12, gex_AM_Arg_t a13,
                       gex_AM_Arg_t a14, gex_AM_Arg_t a15)
{
    const gex_AM_Arg_t more[] = {a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15};
    for (int i = 0; i < TEST_COUNT(more); i++)
        if ((uint32_t)more[i] != (uint32_t)sum + 5 + (uint32_t)i) test_add(&wrong, 1);
    take(token, data, nbytes, h, l, sum, size, hops);
}

static void on_long(gex_Token_t token, void *data, size_t nbytes, gex_AM_Arg_t h, gex_AM_Arg_t l,
                    gex_AM_Arg_t sum, gex_AM_Arg_t size, gex_AM_Arg_t hops, gex_AM_Arg_t dest_high,
                    gex_AM_Arg_t dest_low)
{
    if (data != joined_pointer(dest_high, dest_low)) test_add(&wrong, 1);
    take(token, data, nbytes, h, l, sum, size, hops);
}

/* Memory that a put has written. */
static void on_check(gex_Token_t token, gex_AM_Arg_t h, gex_AM_Arg_t l, gex_AM_Arg_t sum,
                     gex_AM_Arg_t nbytes, gex_AM_Arg_t zero, gex_AM_Arg_t dest_high,
                     gex_AM_Arg_t dest_low)
{
    const gex_Rank_t peer = sender(token);
    if (zero || checksum(joined_pointer(dest_high, dest_low), (size_t)nbytes) != (uint32_t)sum)
        test_add(&wrong, 1);
    test_add(&received, 1);
    complete(token, peer, h, l);
}

static void on_done(gex_Token_t token, gex_AM_Arg_t h, gex_AM_Arg_t l)
{
    struct completion *completion = joined_pointer(h, l);
    sender(token);
    test_add(&completion->left, -1);
}

/* --- traffic --- */

/* Workers send in the kinds of the rule, to all ranks. */
static struct {
    const enum kind *kinds;
    int n, count, hops;
} load;
static int expected; /* receipts that the messages of this rank cause */

static char *slot_at(gex_Rank_t rank, int worker, int slot)
{
    return test_at((int)rank, (size_t)((test_rank * WORKERS + worker) * SLOTS + slot) * SLOT);
}

/* A medium whose payload is written where the library lends memory, if it does at once. */
static bool sent_in_place(gex_Rank_t peer, size_t nbytes, uint64_t key, int hops,
                          struct completion *completion)
{
    const size_t most = nbytes + 1000; /* may be more than a message has */
    gex_AM_SrcDesc_t sd =
        gex_AM_PrepareRequestMedium(pair(), peer, NULL, nbytes, most, NULL, GEX_FLAG_IMMEDIATE, 5);
    if (sd == GEX_AM_SRCDESC_NO_OP) return false;
    if (gex_AM_SrcDescSize(sd) < nbytes || gex_AM_SrcDescSize(sd) > most) test_add(&wrong, 1);
    test_fill(gex_AM_SrcDescAddr(sd), nbytes, key);
    struct message about = {.completion = completion, .nbytes = nbytes, .hops = hops};
    about.sum = checksum(gex_AM_SrcDescAddr(sd), nbytes);
    gex_AM_CommitRequestMedium5(sd, h_medium, nbytes, ABOUT(&about));
    return true;
}

static void *work(void *arg)
{
    enum { TOGETHER = SLOTS };
    const int worker = (int)(uintptr_t)arg;
    struct test_random random = test_random_for((uint64_t)(worker + 1) << 8 | load.kinds[0]);
    for (int i = 0; i < load.count; i++) {
        struct completion completion = {TOGETHER};
        for (int k = 0; k < TOGETHER; k++) {
            const enum kind kind = load.kinds[test_below(&random, (uint64_t)load.n)];
            const gex_Rank_t peer = (gex_Rank_t)test_below(&random, (uint64_t)test_size);
            const uint64_t key = test_random(&random);
            size_t most = kind == LONG ? LONG_SIZE : gex_AM_LUBRequestMedium();
            if (kind == SHORT) most = 0;
            if (key % 3 == 0 && most > 100) most = 100;
            const size_t nbytes = most ? 1 + test_below(&random, most) : 0;
            const int hops = (int)test_below(&random, (uint64_t)load.hops + 1);
            test_add(&expected, 1 + hops);
            test_add(&sent, 1);
            if (kind == NEGOTIATED && key % 2 &&
                sent_in_place(peer, nbytes, key, hops, &completion))
                continue;
            struct message *m = message_new(kind, peer, nbytes);
            test_fill(m->data, nbytes, key);
            m->sum = checksum(m->data, nbytes);
            m->hops = hops;
            m->completion = &completion;
            m->dest = slot_at(peer, worker, k);
            post(m);
        }
        yield_until(&completion.left, 0);
    }
    return NULL;
}

/* Until nothing is under way: as many messages have been sent, after all ranks have told how many
 * were received, as these. */
static void quiesce(void)
{
    uint32_t before, after;
    do {
        before = test_sync_sum((uint32_t)test_get(&received));
        after = test_sync_sum((uint32_t)test_get(&sent));
        if (before != after) sched_yield();
    } while (before != after);
    const uint32_t all = test_sync_sum((uint32_t)test_get(&expected));
    test_check(before == all, "quiescent after %u messages of %u", before, all);
    test_check(test_get(&wrong) == 0, "%d messages are wrong", test_get(&wrong));
    yield_until(&queued, 0);
    yield_until(&in_flight, 0);
    test_sync();
}

static void traffic(const enum kind *kinds, int n, int count, int hops)
{
    pthread_t threads[WORKERS];
    load.kinds = kinds, load.n = n, load.count = test_iterations(count), load.hops = hops;
    for (int w = 0; w < WORKERS; w++)
        if (pthread_create(&threads[w], NULL, work, (void *)(uintptr_t)w)) gasnet_exit(5);
    for (int w = 0; w < WORKERS; w++) pthread_join(threads[w], NULL);
    quiesce();
}

/* --- rules --- */

static int before_attach;
static void attached(void)
{
    test_check(before_attach == 3 * test_size, "%d messages were complete before attach",
               before_attach);
    test_check(gex_EP_QuerySegment(world.ep) == world.segment &&
                   gex_Segment_QueryAddr(world.segment) == test_seg[test_rank].addr &&
                   gex_EP_QueryIndex(world.ep) == 0 && GASNET_MAXEPS >= 1,
               "the endpoint has the segment");
    test_check(gex_TM_QuerySize(world.tm) == (gex_Rank_t)test_size &&
                   gex_TM_QueryRank(world.tm) == (gex_Rank_t)test_rank,
               "rank and size");
    test_check(h_sixteen == 252 && h_done == 251, "handlers %d, %d", h_sixteen, h_done);
}

static void negotiated(void)
{
    static const enum kind kinds[] = {NEGOTIATED, CLIENT};
    traffic(kinds, TEST_COUNT(kinds), 100, 0);
}
static void fixed(void)
{
    static const enum kind kinds[] = {FIXED, SIXTEEN, SHORT};
    traffic(kinds, TEST_COUNT(kinds), 100, 0);
}
static void longs(void)
{
    static const enum kind kinds[] = {LONG};
    traffic(kinds, TEST_COUNT(kinds), 30, 0);
}
static void forwarded(void)
{
    static const enum kind kinds[] = {SHORT, FIXED, NEGOTIATED, LONG, SIXTEEN, CLIENT};
    traffic(kinds, TEST_COUNT(kinds), 50, HOPS);
}

/* Many more messages at once than there are credits, from a thread that does not poll; the poller
 * resends.  Then messages of which no event tells, waited for by thread. */
static void flood(void)
{
    const int count = test_iterations(3000);
    struct completion completion = {count};
    for (int i = 0; i < count; i++) {
        struct message *m = message_new(i % 4 ? SHORT : FIXED, (gex_Rank_t)test_next, 0);
        m->sum = checksum(NULL, 0);
        m->completion = &completion;
        test_add(&sent, 1), test_add(&expected, 1);
        post(m);
    }
    yield_until(&completion.left, 0);
    completion.left = count / 10;
    for (int i = 0; i < count / 10; i++) {
        char data[100];
        struct message about = {.completion = &completion, .nbytes = sizeof data};
        test_fill(data, sizeof data, (uint64_t)i);
        about.sum = checksum(data, sizeof data);
        test_add(&sent, 1), test_add(&expected, 1);
        gex_AM_RequestMedium5(pair(), (gex_Rank_t)test_next, h_medium, data, sizeof data,
                              GEX_EVENT_GROUP, 0, ABOUT(&about));
        gex_NBI_Wait(GEX_EC_AM, 0);
        memset(data, 0, sizeof data);
    }
    yield_until(&completion.left, 0);
    quiesce();
}

/* Puts that workers have started. */
struct put {
    struct put *next;
    gex_Event_t event;
    gex_Rank_t peer;
    char *dest;
    size_t nbytes;
    uint64_t key;
    int *busy; /* the slot, which is cleared when the peer has checked it */
    char data[];
};
static struct put *started;
static pthread_mutex_t puts_lock = PTHREAD_MUTEX_INITIALIZER;
static int puts_left; /* to be started or waited for */

static void *put(void *arg)
{
    const int worker = (int)(uintptr_t)arg;
    struct test_random random = test_random_for(99 << 8 | (uint64_t)worker);
    int busy[SLOTS] = {0};
    for (int i = 0; i < load.count; i++) {
        int *const slot = &busy[i % SLOTS];
        yield_until(slot, 0);
        const size_t nbytes = 1 + test_below(&random, i % 2 ? SLOT : 100);
        struct put *p = malloc(sizeof *p + nbytes);
        p->peer = (gex_Rank_t)test_below(&random, (uint64_t)test_size);
        p->dest = slot_at(p->peer, worker, i % SLOTS);
        p->nbytes = nbytes, p->key = test_random(&random);
        p->busy = slot, *slot = 1;
        test_fill(p->data, nbytes, p->key);
        gex_Event_t leaf = GEX_EVENT_INVALID;
        p->event = gex_RMA_PutNB(pair(), p->peer, p->dest, p->data, nbytes,
                                 i % 3 ? GEX_EVENT_DEFER : &leaf, 0);
        if (i % 3 == 0) { /* the source may be changed when the poller has seen to it */
            while (gex_Event_Test(leaf) != GASNET_OK) sched_yield();
            memset(p->data, 0, nbytes);
        }
        pthread_mutex_lock(&puts_lock);
        p->next = started, started = p;
        pthread_mutex_unlock(&puts_lock);
    }
    for (int s = 0; s < SLOTS; s++) yield_until(&busy[s], 0);
    return NULL;
}

/* Waits for puts, gets the data back, and lets the peer check it. */
static void wait_for_put(struct put *p, bool by_tests)
{
    char *back = malloc(p->nbytes);
    const size_t half = p->nbytes / 2;
    struct completion completion = {1};
    gex_Event_t gets[2];
    int status;
    if (by_tests) {
        while ((status = gex_Event_Test(p->event)) == GASNET_ERR_NOT_READY) sched_yield();
        if (status != GASNET_OK) test_add(&wrong, 1);
    } else
        gex_Event_Wait(p->event);
    gets[0] = gex_RMA_GetNB(pair(), back, p->peer, p->dest, half, 0);
    gets[1] = gex_RMA_GetNB(pair(), back + half, p->peer, p->dest + half, p->nbytes - half, 0);
    gex_Event_WaitAll(gets, 2, 0);
    test_check(test_mismatch(back, p->nbytes, p->key) < 0, "a put of %zu bytes to %u", p->nbytes,
               p->peer);
    struct message *m = message_new(CHECK, p->peer, 0);
    m->sum = checksum(back, p->nbytes);
    m->hops = (int)p->nbytes;
    m->dest = p->dest;
    m->completion = &completion;
    test_add(&sent, 1), test_add(&expected, 1);
    post(m);
    yield_until(&completion.left, 0);
    free(back);
    test_add(p->busy, -1);
    free(p);
}

static void *wait_for_puts(void *arg)
{
    while (test_get(&puts_left) > 0) {
        pthread_mutex_lock(&puts_lock);
        struct put *p = started;
        if (p) started = p->next;
        pthread_mutex_unlock(&puts_lock);
        if (!p) {
            sched_yield();
            continue;
        }
        wait_for_put(p, (uintptr_t)arg % 2);
        test_add(&puts_left, -1);
    }
    return NULL;
}

static void transfers(void)
{
    pthread_t threads[WORKERS + WAITERS];
    load.count = test_iterations(60);
    puts_left = WORKERS * load.count;
    for (int t = 0; t < WORKERS + WAITERS; t++)
        if (pthread_create(&threads[t], NULL, t < WORKERS ? put : wait_for_puts,
                           (void *)(uintptr_t)t))
            gasnet_exit(5);
    for (int t = 0; t < WORKERS + WAITERS; t++) pthread_join(threads[t], NULL);
    quiesce();
}

/* --- start and end --- */

static void require(int status, const char *call)
{
    if (status == GASNET_OK) return;
    fprintf(stderr, "# %s: %s\n", call, gasnet_ErrorName(status));
    exit(4);
}

static void register_handlers(void)
{
    enum {
        SHORTS = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
        MEDIUMS = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST,
        LONGS = GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST,
        REPLIES = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP
    };
    gex_AM_Entry_t table[] = {
        {h_short, (gex_AM_Fn_t)on_short, SHORTS, 5, NULL, "short"},
        {0, (gex_AM_Fn_t)on_sixteen, MEDIUMS, 16, NULL, "sixteen"},
        {h_medium, (gex_AM_Fn_t)on_medium, MEDIUMS, 5, NULL, "medium"},
        {h_long, (gex_AM_Fn_t)on_long, LONGS, 7, NULL, "long"},
        {0, (gex_AM_Fn_t)on_done, REPLIES, 2, NULL, "done"},
        {h_check, (gex_AM_Fn_t)on_check, SHORTS, 7, NULL, "check"},
    };
    require(gex_EP_RegisterHandlers(world.ep, table, TEST_COUNT(table)), "gex_EP_RegisterHandlers");
    h_sixteen = table[1].gex_index, h_done = table[4].gex_index;
}

/* Some messages to each rank, whose data needs no segment; returns when all are complete. */
static void talk_before_attach(void)
{
    struct completion completion = {3 * test_size};
    for (int i = 0; i < 3 * test_size; i++) {
        const enum kind kind = i % 3 == 0 ? SHORT : i % 3 == 1 ? NEGOTIATED : FIXED;
        struct message *m = message_new(kind, (gex_Rank_t)(i / 3), kind == SHORT ? 0 : 200);
        test_fill(m->data, m->nbytes, (uint64_t)i);
        m->sum = checksum(m->data, m->nbytes);
        m->completion = &completion;
        test_add(&sent, 1), test_add(&expected, 1);
        post(m);
    }
    yield_until(&completion.left, 0);
    before_attach = 3 * test_size;
}

static void start(int *argc, char ***argv)
{
    require(gex_Client_Init(&world.client, &world.ep, &world.tm, "realm", argc, argv, 0),
            "gex_Client_Init");
    gex_EP_SetCData(world.ep, &world);
    queue_init(&sources);
    test_size = (int)gex_TM_QuerySize(world.tm);
    queues = calloc((size_t)test_size, sizeof *queues);
    for (int r = 0; r < test_size; r++) queue_init(&queues[r]);
    test_ex_join(world.client, world.tm);
    register_handlers();
    test_sync();
    world.polls = 1;
    if (pthread_create(&world.poller, NULL, poll_until_the_end, NULL)) gasnet_exit(5);
    talk_before_attach();

    const uintptr_t page = GASNET_PAGESIZE;
    const uintptr_t size = (uintptr_t)test_size * WORKERS * SLOTS * SLOT;
    require(gex_Segment_Attach(&world.segment, world.tm, (size + page - 1) / page * page),
            "gex_Segment_Attach");
    test_seg = calloc((size_t)test_size, sizeof *test_seg);
    gex_Event_t *events = calloc((size_t)test_size, sizeof *events);
    for (int r = 0; r < test_size; r++)
        events[r] = gex_EP_QueryBoundSegmentNB(pair(), (gex_Rank_t)r, &test_seg[r].addr, NULL,
                                               &test_seg[r].size, 0);
    gex_Event_WaitAll(events, (size_t)test_size, 0);
    free(events);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"EX 17, Realm: start, messages before attach", attached},
        {"EX 17, Realm: negotiated mediums", negotiated},
        {"EX 17, Realm: mediums with events, 16 arguments", fixed},
        {"EX 17, Realm: Longs with events", longs},
        {"EX 17, Realm: more immediate messages than credits", flood},
        {"EX 17, Realm: puts waited for by other threads", transfers},
        {"EX 17, Realm: forwarded messages, quiescence", forwarded},
    };
    test_watch();
    start(&argc, &argv);
    test_run(rules, TEST_COUNT(rules));
    if (test_rank == 0) printf("# rank 0: %d messages were refused at first\n", test_get(&refused));
    const int status = test_close();
    test_add(&world.polls, -1);
    pthread_join(world.poller, NULL);
    return status; /* the end of main ends the job */
}
