/* testexit.c - the cases of a job's exit (IB-X1..X8), by name on the command line; exit.py runs and
 * judges them.
 *
 *   testexit list                     a line for each case: name, expected status, ranks that print
 *                                     LAST, what exit.py does, ranks it needs, tags
 *   testexit CASE [first|last|RANK]   runs it; the odd rank is rank 0, the last rank or RANK
 *
 * Here are the cases in which several ranks act; exit_cases.c has those of one rank.
 * TEST_EXIT_DELAY (microseconds) delays each rank at random, by TEST_SEED.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/exit/exit_cases.h"

/* The state of the other ranks while the odd rank acts. */
static const struct peer_state *peer_state = &peer_states[0];

/* --- all ranks exit: no time-out is needed, so exit.py sets a long one --- */

static int all_return_0(void)
{
    return print_last(), 0;
}
static int all_return_7(void)
{
    return print_last(), 7;
}
static int all_call_exit(void)
{
    print_last();
    exit(5);
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
static int all_mixed(void)
{
    if (test_rank % 3 == 0) return print_last(), 100 + test_rank;
    if (test_rank % 3 == 1) leave(100 + test_rank);
    print_last();
    exit(100 + test_rank);
}
static int handler_everywhere(void)
{
    gasnet_AMRequestShort1((gasnet_node_t)test_next, H_EXIT, 12);
    poll_on();
}

static volatile unsigned counted;
static void count_to(int limit)
{
    for (int i = 0; i < limit; i++) counted++;
}
static int leave_at_different_times(void)
{
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
    count_to(test_rank * 2000000);
    leave(0);
}
static int late_return_counts(void)
{
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
    if (test_rank != odd) leave(0);
    count_to(20000000);
    return print_last(), 17;
}

/* Rank 0 begins when the exits of all others have reached it, so that its own is the last word. */
static int others_came_first(void)
{
    if (test_rank != 0) {
        gasnet_AMRequestShort0(0, H_COUNT);
        leave(0);
    }
    while (exits_announced < test_size - 1) gasnet_AMPoll();
    for (int i = 0; i < 2000; i++) { /* the next messages of the peers are of their exit */
        gasnet_AMPoll();
        sched_yield();
    }
    leave(0);
}

/* An exit does not wait for operations in flight. */
static int operations_in_flight(void)
{
    static char data[EXIT_SEGMENT / 2];
    for (int r = 0; r < test_size; r++) {
        gasnet_put_nbi_bulk((gasnet_node_t)r, test_at(r, 0), data, sizeof data);
        gasnet_get_nbi_bulk(data, (gasnet_node_t)r, test_at(r, sizeof data), sizeof data);
        gasnet_AMRequestShort0((gasnet_node_t)r, H_NOTHING);
    }
    leave(6);
}

/* A forked child that exits does not end the rank. */
static int child_leaves_by(void (*way)(int))
{
    pid_t child = fork();
    if (child == 0) way(3);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 3)
        _exit(99);
    test_sync();
    leave(0);
}
static int forked_child_exits(void)
{
    return child_leaves_by(exit);
}
static int forked_child_gasnet_exits(void)
{
    return child_leaves_by(gasnet_exit);
}

static volatile sig_atomic_t signals_seen;
static void count_signal(int number)
{
    (void)number;
    signals_seen++;
}
/* The library does not replace signal handlers of the client. */
static int signals_handled(void)
{
    static const int asked[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
    for (int i = 0; i < TEST_COUNT(asked); i++) signal(asked[i], count_signal);
    for (int i = 0; i < TEST_COUNT(asked); i++) raise(asked[i]);
    test_sync();
    leave(signals_seen == TEST_COUNT(asked) ? 0 : 98);
}

/* --- a rank that acts on others --- */

static int handler_on_peer(void)
{
    if (test_rank == odd)
        gasnet_AMRequestShort1((gasnet_node_t)test_next, H_EXIT, 12); /* ends there */
    poll_on();
}
static int handler_from_all(void)
{
    gasnet_AMRequestShort1((gasnet_node_t)odd, H_EXIT, 12);
    poll_on();
}
static int unregistered_handler(void)
{
    if (test_rank == odd) gasnet_AMRequestShort0((gasnet_node_t)test_next, H_UNREGISTERED);
    poll_on();
}

/* IB-X5: a rank that learns of the exit from a peer runs the client's SIGQUIT handler, once. */
static void print_told(int number)
{
    static const char line[] = "TOLD\n";
    (void)number;
    if (write(STDOUT_FILENO, line, sizeof line - 1) < 0) _exit(99);
}
static int others_handle_quit(void (*handler)(int))
{
    signal(SIGQUIT, handler);
    test_sync();
    if (test_rank == odd) leave(11);
    poll_on();
}
static int quit_told(void)
{
    return others_handle_quit(print_told);
}
static void exit_otherwise(int number)
{
    print_told(number);
    gasnet_exit(77);
}
static int quit_handler_exits(void)
{
    return others_handle_quit(exit_otherwise);
}
static void stay(int number)
{
    (void)number;
    spin_on();
}
static int quit_handler_stays(void)
{
    return others_handle_quit(stay);
}
static int quit_ignored(void)
{
    return others_handle_quit(SIG_IGN);
}

/* IB-X6: the time-out passes and the ranks' codes differ: a code that is not 0 is not lost. */
static int odd_code_survives(int stopped)
{
    int who = odd == stopped ? test_size - 1 : odd;
    await_release_of(who);
    if (test_rank == stopped) stop_here();
    leave(test_rank == who ? 23 : 0);
}
static int nonzero_survives(void)
{
    return odd_code_survives((odd + 1) % test_size);
}
/* IB-X3 */
static int node_0_wedged(void)
{
    return odd_code_survives(0);
}

/* --- the launcher --- */

static int wait_for_signal(void)
{
    print_ready();
    peer_state->enter();
    return 0;
}
/* Some ranks poll, some sleep. */
static int launcher_signal(void)
{
    print_ready();
    if (test_rank % 2) sleep_on();
    poll_on();
}
static void exit_25(int number)
{
    (void)number;
    gasnet_exit(25);
}
static int launcher_told_otherwise(void)
{
    signal(SIGQUIT, exit_25);
    test_sync();
    print_ready();
    poll_on();
}
/* The ranks end without the launcher, which returns their code when it continues. */
static int launcher_stopped(void)
{
    if (test_rank == odd) {
        kill(getppid(), SIGSTOP);
        leave(11);
    }
    poll_on();
}

/* --- before attach, and before init (no barrier before these) --- */

static int before_attach_all(void)
{
    leave(13);
}
static int before_attach_return(void)
{
    return print_last(), 13;
}
static void go_on_into_attach(void) __attribute__((noreturn));
static void go_on_into_attach(void)
{
    test_attach(exit_table, exit_table_count, EXIT_SEGMENT);
    _exit(99);
}
static int before_attach_one(void)
{
    if (test_rank == odd) leave(13);
    go_on_into_attach();
}
static int before_attach_one_returns(void)
{
    if (test_rank == odd) return print_last(), 13;
    go_on_into_attach();
}
/* Nobody is killed: the status would be 1, and the output of the others would be lost. */
static int before_attach_one_with_0(void)
{
    print_last();
    if (test_rank == odd) gasnet_exit(0);
    go_on_into_attach();
}
static int before_attach_told(void)
{
    signal(SIGQUIT, print_told);
    if (test_rank == odd) leave(0);
    go_on_into_attach();
}
static int before_attach_killed(void)
{
    if (test_rank == odd) raise(SIGKILL);
    go_on_into_attach();
}
static int before_attach_sigterm(void)
{
    print_last();
    if (test_rank == odd) raise(SIGTERM);
    go_on_into_attach();
}

static int all_exit_before_init(void)
{
    gasnet_exit(21);
}
static int all_return_before_init(void)
{
    return 21;
}
static int all_return_0_before_init(void)
{
    return 0;
}

/* From the launchers' variables: the library does not know its rank yet. */
static bool rank_0_before_init(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    const char *control = getenv("GASNET_SPAWN_CONTROL");
    const char *last = control ? strrchr(control, ' ') : NULL;
    for (int i = 0; !last && i < TEST_COUNT(names); i++) last = getenv(names[i]);
    return last && atoi(last) == 0;
}
static int the_argc; /* main's */
static char **the_argv;
static void go_on_into_init(void) __attribute__((noreturn));
static void go_on_into_init(void)
{
    test_init(&the_argc, &the_argv);
    go_on_into_attach();
}
static int crash_in_backtrace(void)
{
    setenv("GASNET_BACKTRACE", "1", 1);
    test_init(&the_argc, &the_argv);
    test_attach(exit_table, exit_table_count, EXIT_SEGMENT);
    test_sync();
    if (test_rank == test_size - 1) raise(SIGSEGV);
    poll_on();
}
static int before_init_one(void)
{
    if (rank_0_before_init()) gasnet_exit(21);
    go_on_into_init();
}
/* Returns before it joins the job, so the other ranks cannot start. */
static int before_init_one_with_0(void)
{
    if (rank_0_before_init()) return 0;
    go_on_into_init();
}

#ifdef GASNET_PAR
static int before_attach_thread(void)
{
    start_thread(exit_thread, 13);
    sleep_on();
}
static int threads_all_exit(void)
{
    for (int i = 1; i < 4; i++) start_thread(exit_thread, 19);
    leave(19);
}
#endif

/* The moment when the case begins; in ODD_ALONE the other ranks are in the peer state. */
enum exit_when { ATTACHED, ODD_ALONE, INITIALISED, AT_ONCE };

static const struct special {
    struct exit_case is;
    enum exit_when when;
} specials[] = {
    {{"all_return_0", "0", "all", "together", "IB-X4 B101", 1, all_return_0}, ATTACHED},
    {{"all_return_7", "7", "all", "together", "IB-X4 B101", 1, all_return_7}, ATTACHED},
    {{"all_call_exit", "5", "all", "together", "IB-X1 B113", 1, all_call_exit}, ATTACHED},
    {{"all_exit_0", "0", "all", "together", "IB-X4 B100", 1, all_exit_0}, ATTACHED},
    {{"all_exit_9", "9", "all", "together", "IB-X4 B100", 1, all_exit_9}, ATTACHED},
    {{"all_exit_minus_1", "255", "all", "together", "B114", 1, all_exit_minus_1}, ATTACHED},
    {{"codes_differ", "max", "all", "together", "2.6", 1, codes_differ}, ATTACHED},
    {{"all_mixed", "max/nonzero", "all", "together", "2.6", 1, all_mixed}, ATTACHED},
    {{"handler_everywhere", "12", "one", "-", "B107", 1, handler_everywhere}, ATTACHED},
    {{"leave_at_different_times", "0", "all", "together", "B116", 1, leave_at_different_times},
     ATTACHED},
    {{"late_return_counts", "17", "all", "together", "B116", 1, late_return_counts}, ATTACHED},
    {{"others_came_first", "0", "all", "together", "B116", 1, others_came_first}, ATTACHED},
    {{"operations_in_flight", "6", "all", "together", "2.6", 1, operations_in_flight}, ATTACHED},
    {{"forked_child_exits", "0", "all", "together", "IB-X7", 1, forked_child_exits}, ATTACHED},
    {{"forked_child_gasnet_exits", "0", "all", "together", "IB-X7", 1, forked_child_gasnet_exits},
     ATTACHED},
    {{"signals_handled", "0", "all", "together", "2.12", 1, signals_handled}, ATTACHED},
    {{"handler_on_peer", "12", "one", "-", "IB-X1 B107", 1, handler_on_peer}, ATTACHED},
    {{"handler_from_all", "12", "one", "-", "IB-X1 B107", 1, handler_from_all}, ATTACHED},
    {{"unregistered_handler", "1/nonzero", "none", "-", "B38", 1, unregistered_handler}, ATTACHED},
    {{"quit_told", "11", "told", "patient", "IB-X5", 1, quit_told}, ATTACHED},
    {{"quit_handler_exits", "11", "told", "patient", "IB-X5", 1, quit_handler_exits}, ATTACHED},
    {{"quit_handler_stays", "11", "one", "-", "IB-X5", 1, quit_handler_stays}, ATTACHED},
    {{"quit_ignored", "11", "one", "-", "IB-X5", 1, quit_ignored}, ATTACHED},
    {{"nonzero_survives", "23/any", "one", "patient", "IB-X6", 3, nonzero_survives}, ATTACHED},
    {{"node_0_wedged", "23/any", "one", "patient", "IB-X3 IB-X6", 3, node_0_wedged}, ATTACHED},
    {{"launcher_signal", "143/nonzero", "none", "TERM", "8.5", 1, launcher_signal}, ATTACHED},
    {{"launcher_told_otherwise", "25/nonzero", "none", "TERM", "8.5", 1, launcher_told_otherwise},
     ATTACHED},
    {{"launcher_interrupted", "25/nonzero", "none", "INT", "8.5", 1, launcher_told_otherwise},
     ATTACHED},
    {{"launcher_quit", "25/nonzero", "none", "QUIT", "8.5", 1, launcher_told_otherwise}, ATTACHED},
    {{"launcher_stopped", "11/-", "one", "STOP", "IB-X7", 1, launcher_stopped}, ATTACHED},
    {{"before_attach_all", "13", "all", "together", "B105", 1, before_attach_all}, INITIALISED},
    {{"before_attach_return", "13", "all", "together", "B105", 1, before_attach_return},
     INITIALISED},
    {{"before_attach_one", "13", "one", "-", "IB-X1 B105", 1, before_attach_one}, INITIALISED},
    {{"before_attach_one_returns", "13", "one", "-", "B105", 1, before_attach_one_returns},
     INITIALISED},
    {{"before_attach_one_with_0", "0", "all", "patient", "IB-X1 B105", 1, before_attach_one_with_0},
     INITIALISED},
    {{"before_attach_told", "0", "told", "patient", "IB-X5 B105", 1, before_attach_told},
     INITIALISED},
    {{"before_attach_killed", "137/nonzero", "none", "-", "2.6", 1, before_attach_killed},
     INITIALISED},
    {{"before_attach_sigterm", "1/nonzero", "all", "patient", "2.12", 1, before_attach_sigterm},
     INITIALISED},
    {{"crash_in_backtrace", "139/nonzero", "none", "-", "B110", 1, crash_in_backtrace}, AT_ONCE},
    {{"all_exit_before_init", "21", "none", "together", "2.6", 1, all_exit_before_init}, AT_ONCE},
    {{"all_return_before_init", "21", "none", "together", "2.6", 1, all_return_before_init},
     AT_ONCE},
    {{"all_return_0_before_init", "0", "none", "together", "2.6", 1, all_return_0_before_init},
     AT_ONCE},
    {{"before_init_one", "21/-", "none", "-", "2.6", 1, before_init_one}, AT_ONCE},
    {{"before_init_one_with_0", "1/-", "none", "-", "IB-X7", 2, before_init_one_with_0}, AT_ONCE},
#ifdef GASNET_PAR
    {{"before_attach_thread", "13", "all", "together", "B105 B108", 1, before_attach_thread},
     INITIALISED},
    {{"threads_all_exit", "19", "all", "together", "B108", 1, threads_all_exit}, ATTACHED},
#endif
};

/* --- the command line --- */

static void show(const struct exit_case *c, const struct peer_state *others)
{
    static const char *const heard[] = {[LEARNS] = "0", [IS_DEAF] = "cut", [EITHER] = "0_or_cut"};
    const char *expect = strcmp(c->expect, "by_peers") == 0 ? heard[others->learns] : c->expect;
    printf("%s%s%s %s %s %s %d %s\n", c->name, others ? "_others_" : "", others ? others->name : "",
           expect, c->printed, c->outside, c->least, c->tag);
}

static int list(void)
{
    for (int i = 0; i < TEST_COUNT(specials); i++) show(&specials[i].is, NULL);
    for (int w = 0; w < exit_cases_count; w++)
        for (int p = 0; p < peer_states_count; p++) show(&exit_cases[w], &peer_states[p]);
    return 0;
}

/* CASE_others_STATE; without a state the peers poll. */
static struct special case_and_peer_state(const char *name)
{
    const char *others = strstr(name, "_others_");
    size_t length = others ? (size_t)(others - name) : strlen(name);
    struct special chosen = {.is.run = NULL};
    if (others) peer_state = NULL;
    for (int i = 0; others && i < peer_states_count; i++)
        if (strcmp(others + strlen("_others_"), peer_states[i].name) == 0)
            peer_state = &peer_states[i];
    for (int i = 0; peer_state && i < exit_cases_count; i++) {
        if (strlen(exit_cases[i].name) != length || strncmp(exit_cases[i].name, name, length) != 0)
            continue;
        chosen.is = exit_cases[i];
        chosen.when = chosen.is.run ? ODD_ALONE : ATTACHED;
        if (!chosen.is.run) chosen.is.run = wait_for_signal; /* exit.py acts */
    }
    return chosen;
}

static struct special choose(const char *name)
{
    for (int i = 0; i < TEST_COUNT(specials); i++)
        if (strcmp(name, specials[i].is.name) == 0) return specials[i];
    return case_and_peer_state(name);
}

static void come_later(void)
{
    const char *most = getenv("TEST_EXIT_DELAY");
    struct test_random random = test_random_for(16);
    if (most && atol(most) > 0) usleep((useconds_t)test_below(&random, strtoul(most, NULL, 0)));
}

static int which_rank(const char *word)
{
    if (!word || strcmp(word, "first") == 0) return 0;
    return strcmp(word, "last") == 0 ? test_size - 1 : atoi(word) % test_size;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) return list();
    struct special chosen = choose(argc > 1 ? argv[1] : "");
    if (!chosen.is.run) {
        fprintf(stderr, "usage: testexit list | testexit CASE [first|last|RANK]\n");
        return 98;
    }
    the_argc = argc;
    the_argv = argv;
    if (chosen.when == AT_ONCE) return chosen.is.run();
    test_init(&the_argc, &the_argv);
    static char room[BUFSIZ];
    setvbuf(stdout, room, _IOFBF, sizeof room);
    odd = which_rank(argc > 2 ? argv[2] : NULL);
    if (chosen.when == INITIALISED) return chosen.is.run();
    test_attach(exit_table, exit_table_count, EXIT_SEGMENT);
    test_phase("%s", chosen.is.name);
    test_sync();
    if (chosen.when == ODD_ALONE && peer_state->stops) await_release_of(odd);
    come_later();
    if (chosen.when == ODD_ALONE && test_rank != odd) peer_state->enter();
    return chosen.is.run();
}
