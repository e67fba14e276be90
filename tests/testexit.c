/* testexit.c - the ways a job can end (IB-X1), by name on the command line; exit.sh drives and
 * judges it.
 *
 *   testexit list              one line a case: name, expected status, who prints LAST, tag
 *   testexit CASE first|last   runs it; the odd one out is rank 0 or the last rank
 *
 * Expected status: a number, `nonzero`, or `max` (100 + highest rank).  LAST lines are printed, not
 * flushed, just before leaving: `all` ranks, the odd `one`, or `none` have a chance to.
 */
#include "test.h"
#include <signal.h>
#include <unistd.h>
#ifdef GASNET_PAR
#include <pthread.h>
#include <sched.h>
#endif

static int odd; /* the rank that acts alone */
static volatile unsigned spinning;

static void last_words(void)
{
    printf("LAST %d\n", test_rank); /* stdout is fully buffered here: the library must flush */
}

static void leave(int code) __attribute__((noreturn));
static void leave(int code)
{
    last_words();
    gasnet_exit(code);
}

/* ---- what the others do meanwhile ---- */

static void poll_on(void) __attribute__((noreturn));
static void poll_on(void)
{
    for (;;) gasnet_AMPoll();
}
static void sit_in_barrier(void) __attribute__((noreturn));
static void sit_in_barrier(void)
{
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
    fprintf(stderr, "# rank %d left a barrier that nobody completed\n", test_rank);
    _exit(99);
}
static void spin_on(void) __attribute__((noreturn));
static void spin_on(void)
{
    for (;;) spinning++;
}
static void sleep_on(void) __attribute__((noreturn));
static void sleep_on(void)
{
    for (;;) pause();
}

/* ---- handlers ---- */

enum { H_EXIT = 128, H_UNREGISTERED = 240 };

static void on_exit_request(gasnet_token_t t, gasnet_handlerarg_t code)
{
    (void)t;
    leave(code);
}

static gasnet_handlerentry_t table[] = {{H_EXIT, on_exit_request}};

/* ---- the cases; each runs after attach with all ranks in step ---- */

static int all_return_0(void)
{
    return last_words(), 0;
}
static int all_return_7(void)
{
    return last_words(), 7;
}
static int all_exit_0(void)
{
    leave(0);
}
static int all_exit_9(void)
{
    leave(9);
}
static int all_exit_minus_1(void)
{
    leave(-1);
}
static int codes_differ(void)
{
    leave(100 + test_rank);
}

static int one_exits_others_poll(void)
{
    if (test_rank == odd) leave(11);
    poll_on();
}
static int one_exits_others_barrier(void)
{
    if (test_rank == odd) leave(11);
    sit_in_barrier();
}
static int one_exits_others_spin(void)
{
    if (test_rank == odd) leave(11);
    spin_on();
}
static int one_exits_others_sleep(void)
{
    if (test_rank == odd) leave(11);
    sleep_on();
}
static int one_exits_other_stopped(void)
{
    if (test_rank == odd) leave(11);
    raise(SIGSTOP);
    sleep_on();
}
static int one_returns_others_barrier(void)
{
    if (test_rank == odd) return last_words(), 16;
    sit_in_barrier();
}
static int one_returns_others_spin(void)
{
    if (test_rank == odd) return last_words(), 16;
    spin_on();
}

static void print_at_exit(void)
{
    printf("ATEXIT %d\n", test_rank);
}
static int one_calls_exit(void)
{
    if (test_rank != odd) sit_in_barrier();
    atexit(print_at_exit);
    last_words();
    exit(15);
}
static int one_calls_underscore_exit(void)
{
    if (test_rank == odd) _exit(14);
    poll_on();
}
static int underscore_exit_0(void)
{
    if (test_rank == odd) _exit(0); /* a rank that vanishes is an error, whatever its code */
    poll_on();
}

static int handler_on_peer(void)
{
    if (test_rank == odd)
        gasnet_AMRequestShort1((gasnet_node_t)test_next, H_EXIT, 12); /* ends there */
    poll_on();
}
static int handler_on_self(void)
{
    if (test_rank == odd) gasnet_AMRequestShort1((gasnet_node_t)odd, H_EXIT, 12);
    sit_in_barrier();
}
static int handler_everywhere(void)
{
    gasnet_AMRequestShort1((gasnet_node_t)test_next, H_EXIT, 12);
    poll_on();
}
static int handler_from_all(void)
{
    gasnet_AMRequestShort1((gasnet_node_t)odd, H_EXIT, 12);
    poll_on();
}

static int killed_others_poll(void)
{
    if (test_rank == odd) raise(SIGKILL);
    poll_on();
}
static int killed_others_sleep(void)
{
    if (test_rank == odd) raise(SIGKILL);
    sleep_on();
}
static int killed_others_spin(void)
{
    if (test_rank == odd) raise(SIGKILL);
    spin_on();
}
static volatile int *volatile nowhere;
static int segv(void)
{
    if (test_rank == odd) *nowhere = 1;
    poll_on();
}
static int aborts(void)
{
    if (test_rank == odd) abort();
    sit_in_barrier();
}
static int fpe(void)
{
    if (test_rank == odd) raise(SIGFPE);
    poll_on();
}
static int sigterm_to_rank(void)
{
    if (test_rank == odd) raise(SIGTERM);
    poll_on();
}

static void on_quit(int number)
{
    (void)number;
    gasnet_exit(18);
}
static int sigint_client_quit_handler(void)
{
    signal(SIGQUIT, on_quit);
    test_sync();
    if (test_rank != odd) sit_in_barrier();
    raise(SIGINT);
    spin_on();
}

static int leave_at_different_times(void)
{
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
    for (int i = 0; i < test_rank * 20000000; i++) spinning++;
    leave(0);
}
static int late_return_counts(void)
{
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
    if (test_rank != odd) leave(0);
    for (int i = 0; i < 20000000; i++) spinning++;
    return last_words(), 17;
}

static int unregistered_handler(void)
{
    if (test_rank == odd) gasnet_AMRequestShort0((gasnet_node_t)test_next, H_UNREGISTERED);
    poll_on();
}

/* The driver waits for READY, then signals the launcher. */
static int wait_for_signal(void)
{
    if (test_rank == 0) {
        printf("READY\n");
        fflush(stdout);
    }
    if (test_rank % 2) sleep_on();
    poll_on();
}

/* ---- between init and attach (run by main, not in step) ---- */

static int before_attach_all(void)
{
    leave(13);
}
static int before_attach_one(void)
{
    if (test_rank == odd) leave(13);
    test_attach(table, TEST_COUNT(table), GASNET_PAGESIZE);
    _exit(99);
}

/* ---- threads ---- */

#ifdef GASNET_PAR
enum { THREADS = 4 };
static void *exit_thread(void *code)
{
    gasnet_exit((int)(intptr_t)code);
}
static void *storm_thread(void *unused)
{
    (void)unused;
    for (int r = 0;; r = (r + 1) % test_size) {
        gasnet_put_val((gasnet_node_t)r, test_at(r, 0), 1, 4);
        (void)gasnet_get_val((gasnet_node_t)r, test_at(r, 8), 4);
    }
    return NULL;
}
static void start(void *(*body)(void *), int code)
{
    pthread_t thread;
    pthread_create(&thread, NULL, body, (void *)(intptr_t)code);
    pthread_detach(thread);
}
static int threads_all_exit(void)
{
    for (int i = 1; i < THREADS; i++) start(exit_thread, 19);
    gasnet_exit(19);
}
static int threads_storm(void)
{
    for (int i = 1; i < THREADS; i++) start(storm_thread, 0);
    if (test_rank != odd) sit_in_barrier();
    start(exit_thread, 19);
    poll_on();
}
static int threads_main_sleeps(void)
{
    if (test_rank == odd) start(exit_thread, 19);
    sleep_on();
}
#endif

static const struct exit_case {
    const char *name, *expect, *printed, *tag;
    int (*run)(void);
    bool early;
} cases[] = {
    {"all_return_0", "0", "all", "B101", all_return_0, false},
    {"all_return_7", "7", "all", "B101", all_return_7, false},
    {"all_exit_0", "0", "all", "B100", all_exit_0, false},
    {"all_exit_9", "9", "all", "B100", all_exit_9, false},
    {"all_exit_minus_1", "255", "all", "B114", all_exit_minus_1, false},
    {"codes_differ", "max", "all", "2.6", codes_differ, false},
    {"one_exits_others_poll", "11", "one", "B102", one_exits_others_poll, false},
    {"one_exits_others_barrier", "11", "one", "B102", one_exits_others_barrier, false},
    {"one_exits_others_spin", "11", "one", "B104", one_exits_others_spin, false},
    {"one_exits_others_sleep", "11", "one", "B104", one_exits_others_sleep, false},
    {"one_exits_others_stopped", "11", "one", "2.6", one_exits_other_stopped, false},
    {"one_returns_others_barrier", "16", "one", "B106", one_returns_others_barrier, false},
    {"one_returns_others_spin", "16", "one", "B106", one_returns_others_spin, false},
    {"one_calls_exit", "15", "one", "B113", one_calls_exit, false},
    {"one_calls_underscore_exit", "nonzero", "none", "2.6", one_calls_underscore_exit, false},
    {"one_calls_underscore_exit_0", "nonzero", "none", "2.6", underscore_exit_0, false},
    {"handler_on_peer", "12", "one", "B107", handler_on_peer, false},
    {"handler_on_self", "12", "one", "B107", handler_on_self, false},
    {"handler_everywhere", "12", "one", "B107", handler_everywhere, false},
    {"handler_from_all", "12", "one", "B107", handler_from_all, false},
    {"before_attach_all", "13", "all", "B105", before_attach_all, true},
    {"before_attach_one", "13", "one", "B105", before_attach_one, true},
    {"killed_others_poll", "nonzero", "none", "2.6", killed_others_poll, false},
    {"killed_others_sleep", "nonzero", "none", "2.6", killed_others_sleep, false},
    {"killed_others_spin", "nonzero", "none", "2.6", killed_others_spin, false},
    {"segv", "nonzero", "none", "B110", segv, false},
    {"abort", "nonzero", "none", "B110", aborts, false},
    {"fpe", "nonzero", "none", "B110", fpe, false},
    {"sigterm_to_rank", "nonzero", "none", "2.12", sigterm_to_rank, false},
    {"sigint_client_quit_handler", "18", "none", "B103", sigint_client_quit_handler, false},
    {"leave_at_different_times", "0", "all", "B116", leave_at_different_times, false},
    {"late_return_counts", "17", "all", "B116", late_return_counts, false},
    {"unregistered_handler", "nonzero", "none", "B38", unregistered_handler, false},
    {"launcher_signal", "signal", "none", "8.5", wait_for_signal, false},
#ifdef GASNET_PAR
    {"threads_all_exit", "19", "none", "B108", threads_all_exit, false},
    {"threads_storm", "19", "none", "B108", threads_storm, false},
    {"threads_main_sleeps", "19", "none", "B108", threads_main_sleeps, false},
#endif
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (int i = 0; i < TEST_COUNT(cases); i++)
            printf("%s %s %s %s\n", cases[i].name, cases[i].expect, cases[i].printed, cases[i].tag);
        return 0;
    }
    test_init(&argc, &argv);
    static char room[BUFSIZ];
    setvbuf(stdout, room, _IOFBF, sizeof room);
    const struct exit_case *chosen = NULL;
    for (int i = 0; argc > 1 && i < TEST_COUNT(cases); i++)
        if (strcmp(argv[1], cases[i].name) == 0) chosen = &cases[i];
    if (!chosen) {
        fprintf(stderr, "usage: testexit list | testexit CASE first|last\n");
        gasnet_exit(98);
    }
    odd = argc > 2 && strcmp(argv[2], "last") == 0 ? test_size - 1 : 0;
    if (chosen->early) return chosen->run();
    test_attach(table, TEST_COUNT(table), GASNET_PAGESIZE);
    test_phase("%s", chosen->name);
    test_sync();
    return chosen->run();
}
