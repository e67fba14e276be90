/* locales.c - a program that calls GASNet-EX as the communication layer of Chapel does.
 *
 * A rank is a locale, which runs many tasks, each a thread.  Start, puts and gets are those of
 * GASNet-EX; messages and barriers those of GASNet-1.  A handler runs the function that a message
 * names, or starts a task for it.  Tasks wait without a call of the library: messages are served by
 * the receive thread of the library (GASNET_RCV_THREAD=1), which the program runs in a thread of
 * its own, or else by one thread of the program that polls.  A locale that shares its memory with
 * others always polls, and never starts the thread that it has asked for.
 *
 * Chapel also calls gex_VIS_StridedPutBlocking and _GetBlocking, and gex_Coll_BroadcastNB at its
 * start; tests/programs/testex.c has these.
 *
 *   locales [one]      with `one` a thread of locale 0 ends the job while all other threads are in
 * calls
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "tests/programs/test.h"

enum {
    TASKS = 4,            /* of each locale, in each rule */
    AREA = 32 << 10,      /* bytes of a segment that one task of one locale may put to */
    REPLY_SIZE = 64 << 10 /* bytes of a segment that Replies to one of its own tasks may fill */
};
enum { FORK = 128, FORK_FAST, FORK_LARGE, SIGNAL, SIGNAL_LONG, PIECE, GET, HANDLERS = 7 };

static gex_Client_t client;
static gex_EP_t endpoint;
static gex_TM_t tm;
static gex_Segment_t segment;
static bool shares_memory;    /* with other locales */
static unsigned int progress; /* receive threads that the program has started */

/* --- memory --- */

/* Segments hold an area for each task of each locale, then memory for Replies, by task, and for
 * large arguments, by task. */
static char *area_at(int locale, int of_locale, int task)
{
    return test_at(locale, (size_t)(of_locale * TASKS + task) * AREA);
}
static char *own_reply(int task)
{
    return test_at(test_rank, (size_t)test_size * TASKS * AREA + (size_t)task * REPLY_SIZE);
}
static char *own_argument(int task)
{
    return own_reply(TASKS + task);
}
static uintptr_t segment_size(void)
{
    const uintptr_t size = (uintptr_t)test_size * TASKS * AREA + 2 * (uintptr_t)TASKS * REPLY_SIZE;
    return (size + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
}

/* --- waiting --- */

static void yield_until(const int *counter, int value)
{
    while (test_get(counter) < value) sched_yield();
}

/* The answers that a task awaits; its address travels in messages. */
struct due {
    int signals;
};
static gasnet_handlerarg_t high(const void *p)
{
    return (gasnet_handlerarg_t)((uint64_t)(uintptr_t)p >> 32);
}
static gasnet_handlerarg_t low(const void *p)
{
    return (gasnet_handlerarg_t)(uintptr_t)p;
}
static void signalled(gasnet_handlerarg_t h, gasnet_handlerarg_t l)
{
    struct due *due = (void *)(uintptr_t)((uint64_t)(uint32_t)h << 32 | (uint32_t)l);
    test_add(&due->signals, 1);
}

/* --- messages --- */

/* Payload of FORK and FORK_FAST; of FORK_LARGE, where the argument is in the caller's segment. */
struct call {
    struct due *due; /* at the caller */
    char *argument;
    uint64_t key; /* of the pattern of the argument */
    uint32_t caller, hops;
    size_t nbytes; /* of the argument, which follows, or which `argument` names */
};

static int ran, wrong; /* calls, and those with a wrong argument */

static size_t most_argument(void)
{
    return gasnet_AMMaxMedium() - sizeof(struct call);
}

static void call(int locale, gasnet_handler_t handler, struct call *about, struct due *due)
{
    char message[gasnet_AMMaxMedium()];
    const size_t follows = handler == FORK_LARGE ? 0 : about->nbytes;
    about->due = due;
    about->caller = (uint32_t)test_rank;
    memcpy(message, about, sizeof *about);
    test_fill(message + sizeof *about, follows, about->key);
    gasnet_AMRequestMedium0((gasnet_node_t)locale, handler, message, sizeof *about + follows);
}

static void run_function(const struct call *about, const void *argument)
{
    if (test_mismatch(argument, about->nbytes, about->key) >= 0) test_add(&wrong, 1);
    test_add(&ran, 1);
}

static void fork_fast(gasnet_token_t token, void *payload, size_t nbytes)
{
    const struct call *about = payload; /* the payload is aligned for it */
    if (nbytes != sizeof *about + about->nbytes) test_add(&wrong, 1);
    run_function(about, about + 1);
    gasnet_AMReplyShort2(token, SIGNAL, high(about->due), low(about->due));
}

/* A large argument, fetched in pieces by gets that are under way together. */
static void fetch(const struct call *about, char *argument)
{
    enum { PIECES = 8 };
    gex_Event_t events[PIECES];
    const size_t piece = about->nbytes / PIECES + 1;
    size_t n = 0;
    for (size_t at = 0; at < about->nbytes; at += piece) {
        const size_t left = about->nbytes - at;
        events[n++] = gex_RMA_GetNB(tm, argument + at, about->caller, about->argument + at,
                                    left < piece ? left : piece, 0);
    }
    gex_Event_WaitAll(events, n, 0);
}

/* The task of FORK and FORK_LARGE: calls the next locale while hops are left. */
static void *forked(void *message)
{
    struct call *about = message, next = *about;
    char *fetched = NULL;
    if (about->argument) {
        fetched = malloc(about->nbytes);
        fetch(about, fetched);
    }
    run_function(about, fetched ? fetched : (char *)(about + 1));
    if (about->hops) {
        struct due due = {0};
        next.argument = NULL;
        next.hops--;
        next.nbytes = test_mix(next.key) % most_argument();
        call(test_next, FORK, &next, &due);
        yield_until(&due.signals, 1);
    }
    gasnet_AMRequestShort2(about->caller, SIGNAL, high(about->due), low(about->due));
    free(fetched);
    free(about);
    return NULL;
}

static void fork_task(gasnet_token_t token, void *payload, size_t nbytes)
{
    pthread_t thread;
    void *message = malloc(nbytes);
    (void)token;
    memcpy(message, payload, nbytes);
    if (pthread_create(&thread, NULL, forked, message)) {
        fprintf(stderr, "# rank %d: no thread for a task\n", test_rank);
        gasnet_exit(5);
    }
    pthread_detach(thread);
}

static void on_signal(gasnet_token_t token, gasnet_handlerarg_t h, gasnet_handlerarg_t l)
{
    (void)token;
    signalled(h, l);
}

static void on_signal_long(gasnet_token_t token, void *data, size_t nbytes, gasnet_handlerarg_t h,
                           gasnet_handlerarg_t l)
{
    (void)token, (void)data, (void)nbytes;
    signalled(h, l);
}

/* A piece of a private variable that one locale sends to all. */
static char private_variable[3 << 14];
static void on_piece(gasnet_token_t token, void *data, size_t nbytes, gasnet_handlerarg_t offset,
                     gasnet_handlerarg_t all, gasnet_handlerarg_t h, gasnet_handlerarg_t l)
{
    if (all != sizeof private_variable || (size_t)offset + nbytes > (size_t)all)
        test_add(&wrong, 1);
    else
        memcpy(private_variable + offset, data, nbytes);
    gasnet_AMReplyShort2(token, SIGNAL, h, l);
}

/* Asks for private memory of a locale, which comes by a Long Reply. */
struct get {
    struct due *due;
    char *from, *to;
    size_t nbytes;
};
static void on_get(gasnet_token_t token, void *payload, size_t nbytes)
{
    const struct get *get = payload;
    if (nbytes != sizeof *get) test_add(&wrong, 1);
    gasnet_AMReplyLong2(token, SIGNAL_LONG, get->from, get->nbytes, get->to, high(get->due),
                        low(get->due));
}

/* --- threads --- */

static int never;

/* A loop of gasnet_AMPoll and sched_yield instead, in 8 processes on 2 processors, keeps threads
 * that wake up from running for seconds on Linux 6.18, those of other programs too. */
static void *poll_for_ever(void *unused)
{
    GASNET_BLOCKUNTIL(test_get(&never));
    return unused;
}

static void start_thread(void *(*function)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, arg)) {
        fprintf(stderr, "# rank %d: no thread\n", test_rank);
        gasnet_exit(5);
    }
}

/* Runs the function in a thread for each task, whose number it is given, and waits for them. */
static void in_tasks(void *(*function)(void *))
{
    pthread_t threads[TASKS];
    for (int t = 0; t < TASKS; t++)
        if (pthread_create(&threads[t], NULL, function, (void *)(uintptr_t)t)) gasnet_exit(5);
    for (int t = 0; t < TASKS; t++) pthread_join(threads[t], NULL);
}

static int task_number(const void *arg)
{
    return (int)(uintptr_t)arg;
}
static struct test_random random_of(int task, uint64_t rule)
{
    return test_random_for(rule << 8 | (uint64_t)task);
}
static int some_locale(struct test_random *random)
{
    return (int)test_below(random, (uint64_t)test_size);
}

/* The calls that all locales have made are those that have run. */
static int made;
static void all_ran(void)
{
    const uint32_t calls = test_sync_sum((uint32_t)test_get(&made));
    const uint32_t runs = test_sync_sum((uint32_t)test_get(&ran));
    test_check(calls == runs, "%u calls, of which %u ran", calls, runs);
    test_check(test_get(&wrong) == 0, "%d arguments are wrong", test_get(&wrong));
}

/* --- rules --- */

static void *hook_base;
static uintptr_t hook_size;
static int hook_calls;
static void on_attach(void *base, uintptr_t size)
{
    hook_base = base, hook_size = size, hook_calls++;
    memset(base, 0, size); /* what places the pages */
}

static void started(void)
{
    gex_RankInfo_t *info;
    gex_Rank_t count, mine, on_host;
    const gex_ProgressThreadInfo_t *threads;
    unsigned int n;
    gex_System_QueryNbrhdInfo(&info, &count, &mine);
    test_check(mine < count && (int)info[mine].gex_jobrank == test_rank, "this locale is a member");
    gex_System_QueryHostInfo(&info, &on_host, &mine);
    test_check(mine < on_host && (int)info[mine].gex_jobrank == test_rank && count <= on_host,
               "%u locales share memory, %u the host", count, on_host);
    test_check(hook_calls == 1 && hook_base == gex_Segment_QueryAddr(segment) &&
                   hook_size == gex_Segment_QuerySize(segment) &&
                   hook_base == test_seg[test_rank].addr && hook_size == test_seg[test_rank].size,
               "the hook was called %d times, for %lu bytes", hook_calls, (unsigned long)hook_size);
    gex_System_SetVerboseErrors(0);
    test_check(gex_System_QueryProgressThreads(client, &n, &threads, 0) == GASNET_ERR_RESOURCE,
               "the threads are asked for once");
    gex_System_SetVerboseErrors(1);
    test_check(gex_System_QueryMaxThreads() >= 64, "threads");
}

/* On-statements that the handler runs, some under way at once. */
static void *call_fast(void *arg)
{
    enum { TOGETHER = 8 };
    struct test_random random = random_of(task_number(arg), 1);
    for (int i = 0; i < test_iterations(40); i++) {
        struct due due = {0};
        for (int k = 0; k < TOGETHER; k++) {
            struct call about = {.key = test_random(&random)};
            about.nbytes = test_below(&random, k % 2 ? most_argument() + 1 : 64);
            test_add(&made, 1);
            call(some_locale(&random), FORK_FAST, &about, &due);
        }
        yield_until(&due.signals, TOGETHER);
    }
    return NULL;
}
static void fast(void)
{
    in_tasks(call_fast);
    all_ran();
}

/* On-statements that run as tasks, which call on other locales. */
static void *call_tasks(void *arg)
{
    struct test_random random = random_of(task_number(arg), 2);
    for (int i = 0; i < test_iterations(20); i++) {
        struct due due = {0};
        struct call about = {.key = test_random(&random), .hops = (uint32_t)(i % 4)};
        about.nbytes = test_below(&random, most_argument() + 1);
        test_add(&made, 1 + i % 4);
        call(some_locale(&random), FORK, &about, &due);
        yield_until(&due.signals, 1);
    }
    return NULL;
}
static void tasks(void)
{
    in_tasks(call_tasks);
    all_ran();
}

static void *call_large(void *arg)
{
    const int task = task_number(arg);
    struct test_random random = random_of(task, 3);
    for (int i = 0; i < test_iterations(20); i++) {
        struct due due = {0};
        struct call about = {.key = test_random(&random), .argument = own_argument(task)};
        about.nbytes = 1 + test_below(&random, REPLY_SIZE);
        test_fill(about.argument, about.nbytes, about.key);
        test_add(&made, 1);
        call(some_locale(&random), FORK_LARGE, &about, &due);
        yield_until(&due.signals, 1);
    }
    return NULL;
}
static void large(void)
{
    in_tasks(call_large);
    all_ran();
}

/* Each locale in turn sends its private variable to all others, in pieces. */
static void broadcast(void)
{
    static char source[sizeof private_variable];
    const size_t all = sizeof source;
    for (int root = 0; root < test_size; root++) {
        if (root == test_rank) {
            struct due due = {0};
            int pieces = 0;
            test_fill(source, all, (uint64_t)root);
            for (int r = 0; r < test_size; r++)
                for (size_t at = 0; at < all; at += gasnet_AMMaxMedium(), pieces++) {
                    size_t n = all - at;
                    if (n > gasnet_AMMaxMedium()) n = gasnet_AMMaxMedium();
                    gasnet_AMRequestMedium4((gasnet_node_t)r, PIECE, source + at, n,
                                            (gasnet_handlerarg_t)at, (gasnet_handlerarg_t)all,
                                            high(&due), low(&due));
                }
            yield_until(&due.signals, pieces);
        }
        test_sync();
        test_check(test_mismatch(private_variable, all, (uint64_t)root) < 0,
                   "the variable of locale %d", root);
        test_sync();
    }
    test_check(test_get(&wrong) == 0, "%d pieces are wrong", test_get(&wrong));
}

/* Gets of private memory, by Longs in Replies; all locales have it at addresses that they tell. */
static char private_memory[REPLY_SIZE];
static char **private_at; /* [test_size] */
static void *get_private(void *arg)
{
    const int task = task_number(arg);
    struct test_random random = random_of(task, 4);
    size_t most = gasnet_AMMaxLongReply();
    if (most > REPLY_SIZE) most = REPLY_SIZE;
    for (int i = 0; i < test_iterations(50); i++) {
        struct due due = {0};
        const int locale = some_locale(&random);
        const size_t nbytes = 1 + test_below(&random, i % 2 ? most : 100);
        char *to = own_reply(task) + REPLY_SIZE - nbytes;
        struct get get = {&due, private_at[locale], to, nbytes};
        memset(to, 0, nbytes);
        gasnet_AMRequestMedium0((gasnet_node_t)locale, GET, &get, sizeof get);
        yield_until(&due.signals, 1);
        if (!test_check(test_mismatch(to, nbytes, (uint64_t)locale) < 0, "%zu bytes of locale %d",
                        nbytes, locale))
            break;
    }
    return NULL;
}
static void replies(void)
{
    char *mine = private_memory;
    private_at = calloc((size_t)test_size, sizeof *private_at);
    test_fill(private_memory, sizeof private_memory, (uint64_t)test_rank);
    gex_RMA_PutBlocking(tm, (gex_Rank_t)test_rank, area_at(test_rank, test_rank, 0), &mine,
                        sizeof mine, 0);
    test_sync();
    for (int r = 0; r < test_size; r++)
        gex_RMA_GetBlocking(tm, &private_at[r], (gex_Rank_t)r, area_at(r, r, 0), sizeof mine, 0);
    test_sync();
    in_tasks(get_private);
    test_check(test_get(&wrong) == 0, "%d messages are wrong", test_get(&wrong));
    test_sync();
    free(private_at);
}

/* Waits for all of the events, until some are complete, then the rest.  Tests do not poll: the
 * program's poller does, if there is one; a receive thread does not complete puts and gets. */
static void complete(gex_Event_t *events, size_t n, bool by_tests)
{
    for (;;) {
        bool left = false;
        for (size_t i = 0; i < n && !left; i++) left = events[i] != GEX_EVENT_INVALID;
        if (!left) return;
        if (!by_tests || progress)
            gex_Event_WaitSome(events, n, 0);
        else if (gex_Event_TestSome(events, n, 0) != GASNET_OK)
            sched_yield();
    }
}

static void *put_and_get(void *arg)
{
    enum { MANY = 16, PIECE_SIZE = AREA / MANY };
    const int task = task_number(arg);
    struct test_random random = random_of(task, 5);
    char source[PIECE_SIZE], *sources = malloc(AREA), *back = malloc(AREA);
    gex_Event_t events[MANY];
    for (int i = 0; i < test_iterations(20); i++) {
        const uint64_t key = test_random(&random);
        const int locale = some_locale(&random);
        const gex_Rank_t rank = (gex_Rank_t)locale;
        char *area = area_at(locale, test_rank, task);
        size_t sizes[MANY];
        for (int k = 0; k < MANY; k++) {
            char *from = sources + k * PIECE_SIZE, *to = area + k * PIECE_SIZE;
            sizes[k] = 1 + test_below(&random, k % 3 ? PIECE_SIZE : 100);
            test_fill(from, sizes[k], key + (uint64_t)k);
            memcpy(source, from, sizes[k]);
            switch (k % 3) {
            case 0:
                events[k] = gex_RMA_PutNB(tm, rank, to, source, sizes[k], GEX_EVENT_NOW, 0);
                memset(source, 0, sizes[k]);
                break;
            case 1:
                events[k] = gex_RMA_PutNB(tm, rank, to, from, sizes[k], GEX_EVENT_DEFER, 0);
                break;
            case 2:
                events[k] = GEX_EVENT_INVALID;
                gex_RMA_PutBlocking(tm, rank, to, from, sizes[k], 0);
                break;
            }
        }
        complete(events, MANY, i % 2);
        memset(back, 0, AREA);
        for (int k = 0; k < MANY; k++)
            events[k] =
                gex_RMA_GetNB(tm, back + k * PIECE_SIZE, rank, area + k * PIECE_SIZE, sizes[k], 0);
        complete(events, MANY, i % 2);
        for (int k = 0; k < MANY; k++)
            test_check(test_mismatch(back + k * PIECE_SIZE, sizes[k], key + (uint64_t)k) < 0,
                       "piece %d of %zu bytes at locale %d", k, sizes[k], locale);
        gex_RMA_GetBlocking(tm, back, rank, area, sizes[0], 0);
        test_check(test_mismatch(back, sizes[0], key) < 0, "GetBlocking from locale %d", locale);
    }
    free(sources), free(back);
    return NULL;
}
static void transfers(void)
{
    in_tasks(put_and_get);
}

/* The barrier of all locales, whose thread does not block in it, while tasks call. */
static int barriers_over;
static void *call_until_over(void *arg)
{
    struct test_random random = random_of(task_number(arg), 6);
    while (!test_get(&barriers_over)) {
        struct due due = {0};
        struct call about = {.key = test_random(&random), .nbytes = 100};
        test_add(&made, 1);
        call(some_locale(&random), FORK_FAST, &about, &due);
        yield_until(&due.signals, 1);
    }
    return NULL;
}
static void barriers(void)
{
    pthread_t threads[TASKS];
    for (int t = 0; t < TASKS; t++)
        if (pthread_create(&threads[t], NULL, call_until_over, (void *)(uintptr_t)t))
            gasnet_exit(5);
    for (int i = 0; i < test_iterations(30); i++) {
        int result;
        gasnet_barrier_notify(i, 0);
        if (i % 2) {
            while ((result = gasnet_barrier_try(i, 0)) == GASNET_ERR_NOT_READY) sched_yield();
            test_check(result == GASNET_OK, "barrier %d: %s", i, gasnet_ErrorName(result));
        } else {
            GASNET_BLOCKUNTIL((result = gasnet_barrier_try(i, 0)) != GASNET_ERR_NOT_READY);
            test_check(result == GASNET_OK, "barrier %d: %s", i, gasnet_ErrorName(result));
        }
    }
    test_add(&barriers_over, 1);
    for (int t = 0; t < TASKS; t++) pthread_join(threads[t], NULL);
    all_ran();
}

/* More tasks than there may be threads, one after the other. */
static void *put_once(void *arg)
{
    const int task = task_number(arg);
    const uint64_t key = (uint64_t)task;
    char data[64], back[64];
    test_fill(data, sizeof data, key);
    gex_RMA_PutBlocking(tm, (gex_Rank_t)test_next, area_at(test_next, test_rank, task), data,
                        sizeof data, 0);
    gex_RMA_GetBlocking(tm, back, (gex_Rank_t)test_next, area_at(test_next, test_rank, task),
                        sizeof back, 0);
    test_check(memcmp(data, back, sizeof data) == 0, "a put of a short task");
    return NULL;
}
static void short_tasks(void)
{
    const uint64_t most = gex_System_QueryMaxThreads();
    for (uint64_t n = 0; n < most + 2 * TASKS; n += TASKS) in_tasks(put_once);
}

/* --- the end --- */

static void *block_without_calls(void *unused)
{
    for (;;) pause();
    return unused;
}
static void *transfer_for_ever(void *arg)
{
    for (;;) put_once(arg);
    return NULL;
}
static void *leave(void *status)
{
    gasnet_exit((int)(uintptr_t)status);
    return NULL;
}

/* A thread of locale 0 ends the job; the others are in calls, one of them in a barrier that is
 * never complete. */
static void end_by_one(int status)
{
    test_phase("exit while others block");
    start_thread(block_without_calls, NULL);
    start_thread(poll_for_ever, NULL);
    start_thread(transfer_for_ever, NULL);
    if (test_rank == 0) {
        start_thread(leave, (void *)(uintptr_t)status);
        block_without_calls(NULL);
    }
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    fprintf(stderr, "# rank %d: the last barrier is complete\n", test_rank);
    gasnet_exit(6);
}

/* --- start --- */

static void require(int status, const char *call_name)
{
    if (status == GASNET_OK) return;
    fprintf(stderr, "# %s: %s\n", call_name, gasnet_ErrorName(status));
    exit(4);
}

static void start(int *argc, char ***argv)
{
    enum {
        SHORT = GEX_FLAG_AM_SHORT,
        MEDIUM = GEX_FLAG_AM_MEDIUM,
        REQUEST = GEX_FLAG_AM_REQUEST,
        REPLY = GEX_FLAG_AM_REPLY
    };
    gex_AM_Entry_t table[HANDLERS] = {
        {FORK, (gex_AM_Fn_t)fork_task, MEDIUM | REQUEST, 0, NULL, "fork"},
        {FORK_FAST, (gex_AM_Fn_t)fork_fast, MEDIUM | REQUEST, 0, NULL, "fork_fast"},
        {FORK_LARGE, (gex_AM_Fn_t)fork_task, MEDIUM | REQUEST, 0, NULL, "fork_large"},
        {SIGNAL, (gex_AM_Fn_t)on_signal, SHORT | REQUEST | REPLY, 2, NULL, "signal"},
        {SIGNAL_LONG, (gex_AM_Fn_t)on_signal_long, GEX_FLAG_AM_LONG | REPLY, 2, NULL, "long"},
        {PIECE, (gex_AM_Fn_t)on_piece, MEDIUM | REQUEST, 4, NULL, "piece"},
        {GET, (gex_AM_Fn_t)on_get, MEDIUM | REQUEST, 0, NULL, "get"},
    };
    const gex_ProgressThreadInfo_t *threads;
    unsigned int count;
    gex_Rank_t neighbours;
    require(gex_Client_Init(&client, &endpoint, &tm, "CHAPEL", argc, argv,
                            GEX_FLAG_USES_GASNET1 | GEX_FLAG_DEFER_THREADS),
            "gex_Client_Init");
    test_size = (int)gasnet_nodes();
    gex_System_QueryNbrhdInfo(NULL, &neighbours, NULL);
    shares_memory = neighbours > 1;
    uintptr_t size = segment_size();
    if (size > gasnet_getMaxLocalSegmentSize()) {
        fprintf(stderr, "# the segment may have only %lu bytes\n",
                (unsigned long)gasnet_getMaxLocalSegmentSize());
        exit(4);
    }
    gasnet_client_attach_hook = on_attach;
    require(gex_EP_RegisterHandlers(endpoint, table, HANDLERS), "gex_EP_RegisterHandlers");
    require(gex_Segment_Attach(&segment, tm, size), "gex_Segment_Attach");
    test_seg = calloc((size_t)test_size, sizeof *test_seg);
    require(gasnet_getSegmentInfo(test_seg, test_size), "gasnet_getSegmentInfo");
    test_ex_join(client, tm);

    require(gex_System_QueryProgressThreads(client, &count, &threads, 0),
            "gex_System_QueryProgressThreads");
    const char *asked = gasnet_getenv("GASNET_RCV_THREAD");
    if ((count != 0) != (asked && *asked == '1')) {
        fprintf(stderr, "# GASNET_RCV_THREAD=%s: %u threads\n", asked ? asked : "", count);
        gasnet_exit(4);
    }
    for (unsigned int i = 0; i < count && !shares_memory; i++, progress++) {
        if (!threads[i].gex_device_list || threads[i].gex_thread_roles == 0) gasnet_exit(4);
        start_thread(threads[i].gex_progress_fn, threads[i].gex_progress_arg);
    }
    if (!progress) start_thread(poll_for_ever, NULL);
    require(gasnet_set_waitmode(GASNET_WAIT_BLOCK), "gasnet_set_waitmode");
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"EX 17, Chapel: start", started},
        {"EX 17, Chapel: functions run by handlers", fast},
        {"EX 17, Chapel: functions run by tasks, which call others", tasks},
        {"EX 17, Chapel: large arguments are fetched", large},
        {"EX 17, Chapel: private variables", broadcast},
        {"EX 17, Chapel: private memory, by Long Replies", replies},
        {"EX 17, Chapel: puts, gets and arrays of events", transfers},
        {"EX 17, Chapel: barriers while tasks call", barriers},
        {"EX 17, Chapel: short tasks, more than threads", short_tasks},
    };
    test_watch();
    start(&argc, &argv);
    test_run(rules, TEST_COUNT(rules));
    const int status = test_close();
    if (argc > 1 && !strcmp(argv[1], "one")) end_by_one(status);
    gasnet_exit(status);
}
