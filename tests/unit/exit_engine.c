/* exit_engine.c - the exit engine of PAR with several threads inside (IB-X2, IB-X4, IB-X5): which
 * thread acts upon a note, whose message must leave first, which thread a signal reaches, how often
 * a failure is reported, how often the engine sleeps for peers that are being connected.
 *
 * core/exit/exit.c, exit_signals.c and report.c are the real ones; this file stands in for the rest
 * of a job. A scene runs in a process of its own and prints the outcome on standard error.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/counters/counters.h"
#include "core/exit/exit.h"
#include "core/exit/exit_protocol.h"
#include "core/job/ending.h"
#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/firehose.h"
#include "core/rdma/remote_flags.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "core/stats/stats.h"
#include "gasnet.h"
#include "tests/unit/check.h"

/* --- the job around the engine --- */

struct bootstrap_job gasnetc_job;
_Atomic(enum gasnetc_phase) gasnetc_phase;
gasnetc_peer_t *gasnetc_peers;
gasnetc_params_t gasnetc_params;

static struct {
    atomic_bool wanted;   /* a thread exits, and node 0 was notified */
    atomic_bool refused;  /* an answer found no room */
    atomic_int turns;     /* polls since then */
    atomic_bool answered; /* now it is on its way */
    atomic_bool told;     /* the client's handler has run */
    atomic_bool disturb;  /* a signal whose handler exits comes while this process ends */
    atomic_bool early;    /* an alarm comes then, before the time is up */
    atomic_int resting;   /* threads that wait for the end of the process */
    int others;           /* a thread that will, before it ends */
    int connecting;       /* number of tries for which each peer is still being connected */
    unsigned naps;        /* sleeps that the engine took for that */
    int late_order;       /* the launcher's code, when this process has turned to messages */
} scene;

enum { SIZE = 3, ME = 1, MANY = 1000, POLLERS = 4 };

static bootstrap_word_fn launcher_says;
static int tried[MANY]; /* by peer, while that one was being connected */

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(98);
}

enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    (void)word1;
    int *tries = &tried[gasnetc_peer_of(peer) - gasnetc_peers];
    if (*tries < scene.connecting) {
        ++*tries;
        return NET_CONNECTING;
    }
    if (word0 == GASNETC_EXIT_CANDIDATE) atomic_store(&scene.wanted, true);
    if (word0 == GASNETC_EXIT_CANDIDATE && scene.late_order)
        launcher_says(BOOTSTRAP_TOGETHER, scene.late_order);
    if (word0 != GASNETC_EXIT_ANSWER) return NET_POSTED;
    atomic_store(&scene.refused, true);
    if (atomic_load(&scene.turns) < 100) return NET_BUSY;
    atomic_store(&scene.answered, true);
    return NET_POSTED;
}

bool net_quiet(void)
{
    return true;
}

/* In a scene with connections ranks that are asked to end answer at once. */
void gasnetc_poll_ending(void)
{
    for (uint32_t node = 1; scene.connecting && node < MANY; node++)
        gasnetc_exit_system_message(node, GASNETC_EXIT_ANSWER, 0);
    if (atomic_load(&scene.refused)) atomic_fetch_add(&scene.turns, 1);
    if (atomic_load(&scene.disturb)) raise(SIGUSR1);
    if (atomic_exchange(&scene.early, false)) raise(SIGALRM);
    sched_yield();
}

void gasnetc_poll_sends(void)
{
    sched_yield();
}

void gasnetc_pause(unsigned turn)
{
    scene.naps += turn == scene.naps;
}

int pause(void)
{
    atomic_fetch_add(&scene.resting, 1);
    for (;;) sched_yield();
}

/* The end of the process, in good order or not. */
void bootstrap_fini(int code)
{
    char line[100];
    snprintf(line, sizeof line, "leaves with %d%s%s", code,
             atomic_load(&scene.answered) ? ", has answered" : "",
             atomic_load(&scene.told) ? ", the client was told" : "");
    if (scene.connecting)
        snprintf(line + strlen(line), sizeof line - strlen(line), ", %u naps", scene.naps);
    strcat(line, "\n");
    say(line);
}

void bootstrap_abort(int code)
{
    while (atomic_load(&scene.resting) < scene.others) sched_yield();
    say("has the job ended\n");
    _exit(code);
}

/* The processes have to agree among themselves. */
void bootstrap_listen(bootstrap_word_fn on_word)
{
    launcher_says = on_word;
}

bool bootstrap_leaving(int code, double seconds)
{
    (void)code, (void)seconds;
    return false;
}

bool bootstrap_complain(const char *what, const char *why, bool once)
{
    (void)what, (void)why, (void)once;
    return false;
}

bool bootstrap_host_name(uint32_t host, char *name, size_t size)
{
    (void)host, (void)name, (void)size;
    return false;
}

/* Functions that these tests do not call. */
void bootstrap_barrier(void) {}
void bootstrap_exchange(const void *mine, size_t length, void *all)
{
    (void)mine, (void)length, (void)all;
}
void net_report_at_exit(void) {}
void net_close(void) {}
__thread gasneti_thread_t *gasneti_my_thread; /* no thread runs handlers here */
__thread int32_t gasneti_my_handlers;
void gasnetc_stats_close(void) {}
void gasnetc_stats_write(const char *when)
{
    (void)when;
}
void gasnetc_counts_summary(char *text, size_t size)
{
    (void)size;
    *text = 0;
}
void gasnetc_firehose_report(void) {}
void gasnetc_firehose_close(void) {}
void gasnetc_segment_close(void) {}
void gasnetc_remote_flags_close(void) {}
void gasnetc_bbuf_fini(void) {}

/* --- scenes --- */

/* The thread sanitizer keeps a signal back while a handler runs. */
#ifdef __SANITIZE_THREAD__
enum { ALARMS_COME = false };
#else
enum { ALARMS_COME = true };
#endif

static void begin_as(uint32_t rank, uint32_t size, double timeout)
{
    static gasnetc_peer_t peers[MANY];
    gasnetc_peers = peers;
    gasnetc_job = (struct bootstrap_job){.rank = rank, .size = size};
    gasnetc_phase = GASNETC_RUNNING;
    gasnetc_params.exit_timeout = timeout;
    gasneti_report_init(rank, size, NULL);
    gasnetc_exit_init();
}

static void begin(double timeout)
{
    begin_as(ME, SIZE, timeout);
}

static void start(void *(*run)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL)) _exit(97);
    pthread_detach(thread);
}

/* As every poll does; between seeing a note and acting other threads may run. */
static void *poll_on(void *unused)
{
    (void)unused;
    for (;;) {
        bool seen = gasnetc_exit_pending != 0;
        sched_yield();
        if (seen) gasnetc_exit_act();
    }
    return NULL;
}

/* Acts on a note that another thread has taken after this one had seen it. */
static void late_for_a_note(const void *unused)
{
    (void)unused;
    begin(20);
    gasnetc_exit_act();
    say("goes on\n");
    _exit(0);
}

static void asked_often(const void *unused)
{
    (void)unused;
    begin(20);
    for (int i = 0; i < POLLERS; i++) start(poll_on);
    for (int i = 0; i < 200; i++)
        if (!gasnetc_exit_polls(20)) say("nobody polls\n");
    say(gasneti_ending() ? "ends\n" : "goes on\n");
    _exit(0);
}

/* A thread exits, and another takes the master's order, whose answer finds no room for a while. */
static void *takes_order(void *unused)
{
    (void)unused;
    while (!atomic_load(&scene.wanted)) sched_yield();
    gasnetc_exit_system_message(2, GASNETC_EXIT_REQUEST, 7);
    return NULL;
}
/* The launcher, which did not answer in time, orders all processes to exit after all. */
static void late_order(const void *unused)
{
    (void)unused;
    begin(20);
    scene.late_order = 9;
    gasnetc_exit(5);
}
static void last_message(const void *unused)
{
    (void)unused;
    begin(20);
    start(takes_order);
    gasnetc_exit(5);
}

static void client_is_told(int number)
{
    (void)number;
    atomic_store(&scene.told, true);
}
static void order_behind_blocked_signals(const void *unused)
{
    (void)unused;
    sigset_t all;
    begin(20);
    signal(SIGQUIT, client_is_told);
    atomic_store(&scene.turns, 100);
    sigfillset(&all); /* as the receive thread does */
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    gasnetc_exit_system_message(2, GASNETC_EXIT_REQUEST, 7);
}

/* Between gasnet_init and gasnet_attach. */
static void order_before_attach(const void *unused)
{
    (void)unused;
    begin(20);
    gasnetc_phase = GASNETC_BEFORE_ATTACH;
    gasnetc_exit_system_message(2, GASNETC_EXIT_REQUEST, 7);
    say("goes on\n");
    _exit(0);
}

/* A client's handler that never returns: its time is bounded, and it is not called again when that
 * is over. */
static void stay(int number)
{
    (void)number;
    say("the client is told\n");
    for (;;) sched_yield();
}
static void handler_that_stays(const void *unused)
{
    (void)unused;
    begin(20);
    signal(SIGQUIT, stay);
    gasnetc_exit_pending = SIGTERM;
    gasnetc_exit_act();
}

/* The launcher is notified of an end that was cut short, with its code. */
static void exit_again(int number)
{
    (void)number;
    gasnet_exit(9);
}
static void exits_within_exit(const void *unused)
{
    (void)unused;
    begin(20);
    signal(SIGUSR1, exit_again);
    atomic_store(&scene.disturb, true);
    gasnet_exit(0);
}

/* An exit whose time, on a host with few processors, is longer than what the alarm was set to. */
static void early_alarm(const void *unused)
{
    (void)unused;
    begin_as(0, MANY, 20);
    scene.connecting = 1;
    atomic_store(&scene.early, true);
    gasnet_exit(3);
}

static void two_fail_all_poll(const void *unused)
{
    (void)unused;
    begin(0.1);
    scene.others = POLLERS;
    gasneti_failed("the first failure");
    gasneti_failed("the second failure");
    for (int i = 0; i < POLLERS; i++) start(poll_on);
    poll_on(NULL);
}

/* A rank that must reach many unconnected peers sleeps once per poll, not once for each of them. */
static void orders_to_strangers(const void *unused)
{
    (void)unused;
    begin_as(0, MANY, 20);
    scene.connecting = 5;
    gasnet_exit(0);
}

/* Two threads fail together, again and again: the text is that of one. */
static pthread_barrier_t together;
static void *fails(void *word)
{
    for (int i = 0; i < 10000; i++) {
        pthread_barrier_wait(&together);
        gasneti_failed("%s%s%s%s%s%s%s%s", (char *)word, (char *)word, (char *)word, (char *)word,
                       (char *)word, (char *)word, (char *)word, (char *)word);
        pthread_barrier_wait(&together);
    }
    return NULL;
}
static void fail_together(const void *unused)
{
    static char words[2][100];
    pthread_t thread[2];
    (void)unused;
    begin(20);
    pthread_barrier_init(&together, NULL, 3);
    for (int i = 0; i < 2; i++) {
        memset(words[i], 'a' + i, sizeof words[i] - 1);
        if (pthread_create(&thread[i], NULL, fails, words[i])) _exit(97);
    }
    for (int i = 0; i < 10000; i++) {
        gasnetc_exit_pending = 0;
        pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
        const char *text = gasneti_failure();
        if (gasnetc_exit_pending != GASNETC_EXIT_FAILURE) say("no note\n");
        if (strspn(text, (char[]){text[0], 0}) != 8 * (sizeof words[0] - 1)) say("mixed\n");
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    say("goes on\n");
    _exit(0);
}

/* A scene ends its process with `status` and these words, as often as they are here. */
static void play(const char *name, void (*run)(const void *), int status, const char *words)
{
    int got;
    const char *text = check_stderr(run, NULL, &got);
    if (check(WIFEXITED(got) && WEXITSTATUS(got) == status && strcmp(text, words) == 0, "%s", name))
        return;
    check_note("wait status %#x; it wrote: %.2000s", (unsigned)got, text);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    play("IB-X1 a thread that comes too late for a note does nothing", late_for_a_note, 0,
         "goes on\n");
    play("IB-X1 a question is answered once, by any of several threads", asked_often, 0,
         "goes on\n");
    play("IB-X4 no thread leaves before another thread's message has", last_message, 7,
         "leaves with 7, has answered\n");
    play("IB-X4 an order of the launcher that comes late is obeyed", late_order, 9,
         "leaves with 9\n");
    play("IB-A5 an order to exit is obeyed before attach", order_before_attach, 7,
         "leaves with 7\n");
    play("IB-X5 a thread that blocks signals, asked to end, runs the client's handler",
         order_behind_blocked_signals, 7, "leaves with 7, has answered, the client was told\n");
    if (ALARMS_COME)
        play("IB-X5 it runs once, however long it takes", handler_that_stays, 1,
             "the client is told\nhas the job ended\n");
    play("IB-X2 a handler that exits while this thread does ends the job, with the first code",
         exits_within_exit, 0, "has the job ended\n");
    play("IB-X4 an alarm before the time is up lets the exit go on", early_alarm, 3,
         "leaves with 3, 1 naps\n");
    play("IB-X4 in a turn for 999 peers that are being connected it sleeps once",
         orders_to_strangers, 0, "leaves with 0, 5 naps\n");
    char line[200], host[64] = "";
    gethostname(host, sizeof host - 1);
    snprintf(line, sizeof line,
             "*** FATAL ERROR (rank %d of %d on %s): the first failure\nhas the job ended\n", ME,
             SIZE, host);
    play("IB-X7 of several failures one is reported, by one thread", two_fail_all_poll, 1, line);
    play("IB-X7 failures at the same time do not mix", fail_together, 0, "goes on\n");
    return check_end();
}
