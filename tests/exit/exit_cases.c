/* exit_cases.c - the cases of one rank and the peer states of exit_cases.h.
 *
 * Called by testexit.c behind a barrier of all ranks.  Only the odd rank runs the case.  Nothing
 * here waits for a time.
 */
#define _GNU_SOURCE
#include "tests/exit/exit_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <gasnet_tools.h>
#ifdef GASNET_PAR
#include <pthread.h>
#endif

int odd;
static volatile unsigned spinning;

void print_last(void)
{
    printf("LAST %d\n", test_rank); /* stdout is fully buffered here: the library must flush */
}

void leave(int code)
{
    print_last();
    gasnet_exit(code);
}

void print_ready(void)
{
    if (test_rank != 0) return;
    printf("READY\n");
    fflush(stdout);
}

/* --- handlers --- */

static void on_exit_request(gasnet_token_t t, gasnet_handlerarg_t code)
{
    (void)t;
    leave(code);
}

static void on_nothing(gasnet_token_t t)
{
    (void)t;
}

static void on_stay(gasnet_token_t t)
{
    (void)t;
    spin_on();
}

static void on_take(gasnet_token_t t, void *data, size_t bytes)
{
    (void)t, (void)data, (void)bytes;
}

int exits_announced;
static void on_count(gasnet_token_t t)
{
    (void)t;
    exits_announced++;
}

static volatile bool released;
static void on_released(gasnet_token_t t)
{
    (void)t;
    released = true;
}

gasnet_handlerentry_t exit_table[] = {{H_EXIT, on_exit_request}, {H_NOTHING, on_nothing},
                                      {H_STAY, on_stay},         {H_TAKE, on_take},
                                      {H_COUNT, on_count},       {H_RELEASED, on_released}};
const int exit_table_count = TEST_COUNT(exit_table);

/* --- peer states --- */

void poll_on(void)
{
    for (;;) gasnet_AMPoll();
}

void sit_in_barrier(void)
{
    if (test_rank == odd) poll_on(); /* the odd rank would complete the barrier */
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
    fprintf(stderr, "# rank %d left a barrier that nobody completed\n", test_rank);
    _exit(99);
}

void spin_on(void)
{
    for (;;) spinning++;
}

void sleep_on(void)
{
    for (;;) pause();
}

void await_release_of(int actor)
{
    for (int rank = 0; test_rank == actor && rank < test_size; rank++)
        if (rank != actor) gasnet_AMRequestShort0((gasnet_node_t)rank, H_RELEASED);
    GASNET_BLOCKUNTIL(released || test_rank == actor);
}

void stop_here(void)
{
    raise(SIGSTOP);
    sleep_on();
}

/* Ignores every signal that can be ignored, and does not poll. */
static void deaf(void)
{
    static const int asked[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    for (int i = 0; i < TEST_COUNT(asked); i++) signal(asked[i], SIG_IGN);
    spin_on();
}

static gasnet_hsl_t held = GASNET_HSL_INITIALIZER;
#ifdef GASNET_PAR
static void *hold(void *taken)
{
    gasnet_hsl_lock(&held);
    test_add(taken, 1);
    sleep_on();
    return NULL;
}
#endif

/* SEQ: computes with the lock held; PAR: waits for a lock that another thread never releases. */
static void hold_lock(void)
{
#ifdef GASNET_PAR
    static int taken;
    pthread_t thread;
    pthread_create(&thread, NULL, hold, &taken);
    while (!test_get(&taken)) continue;
#endif
    gasnet_hsl_lock(&held);
    spin_on();
}

/* The odd rank does not poll, or drops what arrives, so this soon waits for credits. */
static void want_credits(void)
{
    for (;;) gasnet_AMRequestShort0((gasnet_node_t)odd, H_NOTHING);
}

static void stay_in_handler(void)
{
    gasnet_AMRequestShort0((gasnet_node_t)test_rank, H_STAY);
    poll_on();
}

enum { TRANSFERRERS = 4 };
/* Each thread has its own memory, local and remote. */
static void any_transfer(struct test_random *random, unsigned thread)
{
    enum { SIZE = 4096 };
    static uint8_t memory[TRANSFERRERS][SIZE];
    uint8_t *data = memory[thread];
    gasnet_node_t to = (gasnet_node_t)test_below(random, (uint64_t)test_size);
    char *there = test_at((int)to, thread * 2 * SIZE);
    size_t size = 1 + test_below(random, SIZE);
    switch (test_below(random, 6)) {
    case 0:
        gasnet_put_val(to, there, 1, 4);
        break;
    case 1:
        (void)gasnet_get_val(to, there + 8, 4);
        break;
    case 2:
        gasnet_put_nbi_bulk(to, there, data, size);
        break;
    case 3:
        gasnet_get_bulk(data, to, there, size);
        break;
    case 4:
        gasnet_AMRequestShort0(to, H_NOTHING);
        break;
    default:
        gasnet_AMRequestMedium0(to, H_TAKE, data, size < 512 ? size : 512);
    }
}

static void *transfer_on(void *thread)
{
    struct test_random random = test_random_for((uint64_t)(uintptr_t)thread);
    for (;;) any_transfer(&random, (unsigned)(uintptr_t)thread);
    return NULL;
}

/* PAR: several threads transfer (B108). */
void traffic_on(void)
{
#ifdef GASNET_PAR
    for (int i = 1; i < TRANSFERRERS; i++) start_thread(transfer_on, i);
#endif
    transfer_on(NULL);
    abort();
}

static void mixed(void)
{
    struct test_random random = test_random_for(17);
    peer_states[test_below(&random, (uint64_t)peer_states_count - 1)].enter();
}

const struct peer_state peer_states[] = {
    {"poll", poll_on, LEARNS, false},
    {"barrier", sit_in_barrier, LEARNS, false},
    {"spin", spin_on, IS_DEAF, false},
    {"sleep", sleep_on, IS_DEAF, false},
    {"stopped", stop_here, IS_DEAF, true},
    {"deaf", deaf, IS_DEAF, false},
    {"hold_lock", hold_lock, IS_DEAF, false},
    {"credits", want_credits, LEARNS, false},
    {"handler", stay_in_handler, IS_DEAF, false},
    {"transfer", traffic_on, LEARNS, false},
    {"mixed", mixed, EITHER, true}, /* must be the last: chooses another peer state */
};
const int peer_states_count = TEST_COUNT(peer_states);

/* --- cases; each runs on the odd rank alone --- */

static int exits(void)
{
    leave(11);
}

/* 0 if the peers learn of the exit; a 0 must not hide that some were killed. */
static int exits_with_0(void)
{
    leave(0);
}

static int returns(void)
{
    return print_last(), 16;
}

static void print_at_exit(void)
{
    printf("ATEXIT %d\n", test_rank);
}

static int calls_exit(void)
{
    atexit(print_at_exit);
    print_last();
    exit(15);
}

static void exit_at_exit(void)
{
    gasnet_exit(26);
}

static int exits_at_exit(void)
{
    atexit(exit_at_exit);
    print_last();
    exit(15);
}

static int underscore_exit(void)
{
    _exit(14);
}

static int underscore_exit_0(void)
{
    _exit(0); /* a rank that vanishes is an error, whatever its code */
}

static int exits_in_handler(void)
{
    gasnet_AMRequestShort1((gasnet_node_t)test_rank, H_EXIT, 12);
    poll_on();
}

static int exits_with_lock(void)
{
    gasnet_hsl_lock(&held);
    leave(28);
}

static int die_of(int number)
{
    raise(number);
    sleep_on();
}

static int killed(void)
{
    die_of(SIGKILL);
    return 0;
}

static volatile int *volatile nowhere;
static int segv(void)
{
    *nowhere = 1;
    return 0;
}

static int aborts(void)
{
    abort();
}

static int fpe(void)
{
    return die_of(SIGFPE);
}

static int bus(void)
{
    return die_of(SIGBUS);
}

static int fatal_error(void)
{
    gasnett_fatalerror("of the client");
}

/* The client's part of a backtrace, for GASNET_BACKTRACE. */
static int crash_again(int fd)
{
    (void)fd;
    return segv();
}
gasnett_backtrace_type_t gasnett_backtrace_user = {"CLIENT", crash_again, 1};

/* The library's own signal handlers: the next poll ends the job, or else an alarm does. */
static int sigterm(void)
{
    raise(SIGTERM);
    poll_on();
}

static int sighup_spinning(void)
{
    raise(SIGHUP);
    spin_on();
}

static int sigquit(void)
{
    raise(SIGQUIT);
    poll_on();
}

static int sigterm_twice(void)
{
    raise(SIGTERM);
    return die_of(SIGTERM);
}

static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

/* The alarm that ends the spinning rank is delivered all the same. */
static int sigterm_alone_unblocked(void)
{
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    block_signals();
    sigprocmask(SIG_UNBLOCK, &asked, NULL);
    raise(SIGTERM);
    spin_on();
}

static int exits_signals_blocked(void)
{
    block_signals();
    leave(30);
}

/* A signal handler preserves errno, also when it cannot write its message. */
static int sigterm_stderr_closed(void)
{
    close(STDERR_FILENO);
    errno = EDOM;
    raise(SIGTERM);
    if (errno != EDOM) _exit(99);
    poll_on();
}

/* The parent is the launcher, its control process on this host, or a process of an MPI. */
static int parent_killed(void)
{
    kill(getppid(), SIGKILL);
    spin_on();
}

static int sigpipe(void)
{
    int ends[2];
    if (pipe(ends)) _exit(99);
    close(ends[0]);
    if (write(ends[1], "", 1) == 1) _exit(99);
    poll_on();
}

static void on_quit(int number)
{
    (void)number;
    gasnet_exit(18);
}

static int sigquit_handler(void)
{
    signal(SIGQUIT, on_quit);
    print_last();
    return die_of(SIGQUIT);
}

/* B103 */
static int sigint_quit_handler(void)
{
    signal(SIGQUIT, on_quit);
    print_last();
    raise(SIGINT);
    spin_on();
}

/* The signal arrives anywhere inside the library. */
static int sigquit_in_transfer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGQUIT};
    struct test_random random = test_random_for(18);
    struct itimerspec when = {.it_value.tv_nsec = 1 + (long)test_below(&random, 3000000)};
    timer_t timer;
    signal(SIGQUIT, on_quit);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL))
        _exit(99);
    transfer_on(NULL);
    return 0;
}

/* No descriptor is free. */
static int out_of_files(void)
{
    while (dup(STDERR_FILENO) >= 0) continue;
    if (errno != EMFILE) _exit(99);
    leave(27);
}

static int closes_streams(void)
{
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    leave(29);
}

#ifdef GASNET_PAR
void start_thread(void *(*body)(void *), intptr_t purpose)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, (void *)purpose)) _exit(99);
    pthread_detach(thread);
}

void *exit_thread(void *code)
{
    leave((int)(intptr_t)code);
}

static void *crash_thread(void *unused)
{
    return segv() ? NULL : unused;
}

static void *hold_stdout(void *taken)
{
    flockfile(stdout);
    if (taken) test_add(taken, 1);
    sleep_on();
}

static int thread_exits(void)
{
    start_thread(exit_thread, 19);
    sleep_on();
}

static int thread_exits_others_busy(void)
{
    start_thread(exit_thread, 19);
    traffic_on();
}

static int thread_waits_for_lock(void)
{
    gasnet_hsl_lock(&held);
    start_thread(hold, 0);
    leave(28);
}

/* SIGQUIT is ignored once the exit is under way. */
static void wait_for_exit(void)
{
    struct sigaction quit;
    do sigaction(SIGQUIT, NULL, &quit);
    while (quit.sa_handler != SIG_IGN);
}

static int main_returns_meanwhile(void)
{
    start_thread(exit_thread, 19);
    wait_for_exit();
    return 20;
}

static int thread_segv(void)
{
    start_thread(crash_thread, 0);
    sleep_on();
}

/* The exit cannot flush stdout: another thread holds its lock. */
static int stdout_held(void)
{
    static int taken;
    start_thread(hold_stdout, (intptr_t)&taken);
    while (!test_get(&taken)) continue;
    gasnet_exit(31);
}

static int stdout_held_meanwhile(void)
{
    start_thread(exit_thread, 32);
    wait_for_exit();
    hold_stdout(NULL);
    return 0;
}
#endif

/* --- the table; exit.py acts in cases without a function, all ranks in the peer state --- */

const struct exit_case exit_cases[] = {
    {"one_exits", "11", "one", "-", "IB-X1 B102 B104", 1, exits},
    {"one_exits_with_0", "by_peers", "one", "-", "IB-X6 2.6", 1, exits_with_0},
    {"one_returns", "16", "one", "-", "IB-X1 B106", 1, returns},
    {"one_calls_exit", "15", "one", "-", "IB-X1 B113", 1, calls_exit},
    {"one_exits_at_exit", "26", "one", "-", "IB-X2 B113", 1, exits_at_exit},
    {"one_calls_underscore_exit", "14/nonzero", "none", "-", "IB-X7 2.6", 1, underscore_exit},
    {"one_calls_underscore_exit_0", "1/nonzero", "none", "-", "IB-X7 2.6", 1, underscore_exit_0},
    {"one_exits_in_handler", "12", "one", "-", "IB-X1 B107", 1, exits_in_handler},
    {"one_exits_with_lock", "28", "one", "-", "IB-X2 2.6", 1, exits_with_lock},
    {"killed", "137/nonzero", "none", "-", "IB-X7 2.6", 1, killed},
    {"segv", "139/nonzero", "none", "-", "IB-X7 B110", 1, segv},
    {"abort", "134/nonzero", "none", "-", "IB-X7 B110", 1, aborts},
    {"fpe", "136/nonzero", "none", "-", "IB-X7 B110", 1, fpe},
    {"sigbus", "135/nonzero", "none", "-", "IB-X7 B110", 1, bus},
    {"fatal_error", "134/nonzero", "none", "-", "IB-X7 B110", 1, fatal_error},
    {"parent_killed", "nonzero", "none", "-", "IB-X7 8.5", 1, parent_killed},
    {"signals_blocked", "30", "one", "-", "IB-X2 2.6", 1, exits_signals_blocked},
    {"sigterm_alone_unblocked", "1", "none", "-", "IB-X2 2.12", 1, sigterm_alone_unblocked},
    {"sigterm_stderr_closed", "1", "none", "-", "IB-X1 2.12", 1, sigterm_stderr_closed},
    {"sigterm_to_rank", "1", "none", "-", "IB-X1 2.12", 1, sigterm},
    {"sighup_to_spinning_rank", "1", "none", "-", "IB-X1 2.12", 1, sighup_spinning},
    {"sigquit_to_rank", "1", "none", "-", "IB-X1 2.12", 1, sigquit},
    {"sigterm_twice", "1", "none", "-", "IB-X1 2.12", 1, sigterm_twice},
    {"sigpipe_to_rank", "1", "none", "-", "IB-X1 2.12", 1, sigpipe},
    {"sigquit_handler", "18", "one", "-", "IB-X1 2.12", 1, sigquit_handler},
    {"sigint_quit_handler", "18", "one", "-", "IB-X1 B103", 1, sigint_quit_handler},
    {"sigquit_in_transfer", "18", "none", "-", "IB-X2 2.6", 1, sigquit_in_transfer},
    {"out_of_files", "27", "one", "-", "IB-X2 IB-X7", 1, out_of_files},
    {"streams_closed", "29", "none", "-", "IB-X2 IB-X7", 1, closes_streams},
    {"stdout_closed", "11", "none", "closed", "IB-X2 IB-X7", 1, exits},
    {"stdout_full", "11", "none", "full", "IB-X2 IB-X7", 1, exits},
    {"stdout_broken", "11", "none", "broken", "IB-X2 IB-X7", 1, exits},
    {"launcher_TERM", "143/nonzero", "none", "TERM", "IB-X7 8.5", 1, NULL},
    {"launcher_INT", "130/nonzero", "none", "INT", "IB-X7 8.5", 1, NULL},
    {"launcher_QUIT", "131/nonzero", "none", "QUIT", "IB-X7 8.5", 1, NULL},
    {"launcher_HUP", "129/nonzero", "none", "HUP", "IB-X7 8.5", 1, NULL},
    {"launcher_KILL", "137", "none", "KILL", "IB-X7 8.5", 1, NULL},
#ifdef GASNET_PAR
    {"thread_exits", "19", "one", "-", "IB-X1 B108", 1, thread_exits},
    {"thread_exits_in_storm", "19", "one", "-", "IB-X1 B108", 1, thread_exits_others_busy},
    {"thread_waits_for_lock", "28", "one", "-", "IB-X2 B108", 1, thread_waits_for_lock},
    {"main_returns_meanwhile", "19", "one", "-", "IB-X2 B108", 1, main_returns_meanwhile},
    {"thread_segv", "139/nonzero", "none", "-", "IB-X7 B110", 1, thread_segv},
    {"stdout_held", "31", "none", "-", "IB-X2 2.6", 1, stdout_held},
    {"stdout_held_meanwhile", "32", "none", "-", "IB-X2 2.6", 1, stdout_held_meanwhile},
#endif
};
const int exit_cases_count = TEST_COUNT(exit_cases);
