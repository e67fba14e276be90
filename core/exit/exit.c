/* exit.c - how a job ends: head, body and tail around the state machine of exit_protocol
 * (IB-X1..X8).
 *
 * Three ways in: gasnet_exit, an exit request from another node, and the end of main or exit(). The
 * first one in this process wins and stores its code (head); it flushes, coordinates with the other
 * nodes for a bounded time, by the launcher or by messages, and leaves the network and the launcher
 * (body); then the process ends (tail).  Signals are in exit_signals.c: they leave a note here,
 * which the next poll acts upon.
 */
#define _GNU_SOURCE
#include "core/exit/exit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/exit/exit_protocol.h"
#include "core/exit/exit_signals.h"
#include "core/job/ending.h"
#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/remote_flags.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "core/stats/stats.h"
#include "gasnet.h"
#include "other/tools/patience.h"
#include "other/tools/quiet_thread.h"
#include "other/tools/ranges.h"

static struct {
    bool joined;         /* the job exists: the launcher can end it */
    pid_t process;       /* that joined; a child of it ends for itself alone */
    gasneti_lock_t lock; /* of protocol */
    gasnetc_exit_protocol_t protocol;
    _Atomic double deadline; /* of the whole coordination; 0: not begun */
    uint32_t *others;        /* room for a list of all other nodes, since a handler may exit */
    bool *answered;          /* by node; of the master */
    struct gasneti_processors processors;
} the_exit;

/* What the launcher has said; stored by the spawner's thread, which must not do more. */
static struct {
    atomic_bool noted;                /* it knows that this process wants to end */
    _Atomic uint32_t leave, together; /* 1 + a code: come along; all have, end now */
} launcher;

/* Whose exit it is, and its code: 0, or FIRST | thread << 8 | code.  One word, so that a signal at
 * any moment finds all of it, or nothing. */
static _Atomic uint64_t first_caller;
static const uint64_t FIRST = UINT64_C(1) << 63;
static atomic_bool closing, closed; /* body has begun, and is through */
static atomic_uint performing;      /* threads between a step of the protocol and its message */

/* Seconds that an alarm leaves to whoever watches the time itself. */
#define SPARE 0.25

static uint64_t this_thread(void)
{
    return FIRST | (uint64_t)gettid() << 8;
}

static bool is_ours(void)
{
    return (atomic_load(&first_caller) & ~UINT64_C(255)) == this_thread();
}

/* By the thread whose exit it is. */
static void change_code(int code)
{
    atomic_store(&first_caller, this_thread() | (uint64_t)(code & 255));
}

bool gasneti_ending(void)
{
    return atomic_load(&first_caller) != 0;
}

bool gasnetc_exit_closing(void)
{
    return atomic_load(&closing) && !atomic_load(&closed);
}

bool gasnetc_exit_of_child(void)
{
    return the_exit.joined && getpid() != the_exit.process;
}

int gasnetc_exit_code(void)
{
    return (int)(atomic_load(&first_caller) & 255);
}

static double exit_timeout(void)
{
    const gasnetc_params_t *p = &gasnetc_params;
    if (p->exit_timeout > 0) return p->exit_timeout;
    double computed = p->exit_timeout_min + gasnetc_job.size * p->exit_timeout_factor;
    return computed < p->exit_timeout_max ? computed : p->exit_timeout_max;
}

/* Time runs from when this is first asked: by a signal that ends the job, by news from others. */
static double exit_deadline(void)
{
    double deadline = 0, from_now = gasnetc_clock() + exit_timeout();
    bool begins = atomic_compare_exchange_strong(&the_exit.deadline, &deadline, from_now);
    return begins ? from_now : deadline;
}

void gasnetc_exit_start_clock(void)
{
    (void)exit_deadline();
}

/* The next part of the exit has all of the time for itself. */
static void restart_clock(void)
{
    atomic_store(&the_exit.deadline, gasnetc_clock() + exit_timeout());
}

/* Whether so much of the time is over (1: all of it), for processes that must share few processors
 * too.  Any thread, and async-signal-safe: of several at once one looks. */
static bool time_is_up(double part)
{
    static atomic_flag looking = ATOMIC_FLAG_INIT;
    static struct gasneti_patience patience;
    const double every = 0.005, now = gasnetc_clock(), began = exit_deadline() - exit_timeout();
    if (atomic_flag_test_and_set(&looking)) return false;
    if (patience.began < began || patience.began > began) gasneti_patience_begin(&patience, began);
    if (now - patience.last >= every)
        gasneti_patience_tick(
            &patience, now,
            gasneti_crowding(&the_exit.processors, gasneti_running(), gasnetc_job.host_size));
    bool over = gasneti_patience_over(&patience, exit_timeout(), part);
    atomic_flag_clear(&looking);
    return over;
}

bool gasnetc_exit_time_is_up(void)
{
    return time_is_up(1);
}

/* --- messages between the nodes --- */

static enum net_result try_send(uint32_t node, const gasnetc_exit_action_t *action)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    gasneti_lock(&peer->lock);
    enum net_result result = net_sys(&peer->net, action->message, action->code);
    gasneti_unlock(&peer->lock);
    return result;
}

/* By turns: a node that was never spoken to is connected now, all of them at the same time, and one
 * that is gone holds nobody up; naps are taken once for all. */
static void send_to(uint32_t *nodes, uint32_t count, const gasnetc_exit_action_t *action)
{
    double deadline = gasneti_ending() ? exit_deadline() : gasnetc_clock() + exit_timeout();
    for (unsigned turn = 0;; turn++) {
        uint32_t left = 0;
        bool connecting = false;
        for (uint32_t i = 0; i < count; i++) {
            enum net_result result = try_send(nodes[i], action);
            if (result == NET_CONNECTING) connecting = true;
            if (result != NET_POSTED) nodes[left++] = nodes[i];
        }
        count = left;
        if (!count || gasnetc_clock() >= deadline) return;
        gasnetc_poll_sends();
        if (connecting) gasnetc_nap(turn);
    }
}

/* Once in a job's life: to all go the master's orders, or node 0's word that all end together. */
static void send_to_all(const gasnetc_exit_action_t *action)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < gasnetc_job.size; node++)
        if (node != gasnetc_job.rank) the_exit.others[count++] = node;
    send_to(the_exit.others, count, action);
}

static void perform(const gasnetc_exit_action_t *action)
{
    uint32_t to = action->to;
    if (action->send == GASNETC_EXIT_SEND_ONE) send_to(&to, 1, action);
    if (action->send == GASNETC_EXIT_SEND_ALL) send_to_all(action);
}

static enum gasnetc_exit_state state_now(void)
{
    gasneti_lock(&the_exit.lock);
    enum gasnetc_exit_state state = the_exit.protocol.state;
    gasneti_unlock(&the_exit.lock);
    return state;
}

/* --- head, body, tail --- */

/* True for the one caller that is to do the work. */
static bool head(int code)
{
    uint64_t nobody = 0;
    return atomic_compare_exchange_strong(&first_caller, &nobody,
                                          this_thread() | (uint64_t)(code & 255));
}

void gasnetc_exit_abort(int code)
{
    atomic_store(&closed, true); /* an MPI may call exit() on its way */
    bootstrap_abort(code);
}

static void __attribute__((noreturn)) tail(void)
{
    fflush(stdout);
    fflush(stderr);
    _exit(gasnetc_exit_code());
}

/* A second caller.  Another thread waits here for the end of the process.  The same one comes again
 * from the client's SIGQUIT handler, before it has done the work; from another handler, which cut
 * the work short, and so the launcher has to end the job; or when all is done. */
static void come_again(void)
{
    while (!is_ours()) pause();
    if (gasnetc_exit_closing()) gasnetc_exit_abort(gasnetc_exit_code());
    if (atomic_load(&closed)) _exit(gasnetc_exit_code());
}

static bool did_not_answer(const void *unused, uint32_t node)
{
    (void)unused;
    return node != gasnetc_job.rank && !the_exit.answered[node];
}

/* The launcher is about to end processes that may not know why.  All but the master know only that
 * node 0 is deaf, and one line is enough for that: where the launcher does not put theirs together,
 * node 1 has a moment in which it is the only one. */
static void warn_time_over(bool master)
{
    char who[256] = "0", line[640];
    uint32_t count = 1;
    if (master) count = gasneti_ranges(who, sizeof who, gasnetc_job.size, did_not_answer, NULL);
    snprintf(line, sizeof line,
             "the job ends, and %u of %u processes, which compute, sleep or are stopped, did not "
             "answer within %.2f s (GASNET_EXITTIMEOUT) and are killed: rank%s %s",
             count, gasnetc_job.size, exit_timeout(), count > 1 ? "s" : "", who);
    if (gasnetc_params.quiet || bootstrap_complain("*** WARNING", line, false)) return;
    double deadline = gasnetc_clock() + (master || gasnetc_job.rank == 1 ? 0 : 0.25);
    while (gasnetc_clock() < deadline) gasnetc_poll_ending();
    gasneti_warn("%s", line);
}

/* Where the launcher helps: until all have told it that they want to end, or have been told by it.
 * False if it does not, or says nothing any more. */
static bool agree_by_launcher(int code)
{
    if (state_now() == GASNETC_EXIT_DONE) return true; /* alone */
    double left = exit_deadline() - gasnetc_clock();
    if (!bootstrap_leaving(code, left > 0 ? left : 0)) return false;
    bool noted = false;
    while (state_now() == GASNETC_EXIT_WAITING) {
        uint32_t together = atomic_load(&launcher.together);
        gasneti_lock(&the_exit.lock);
        if (together)
            (void)gasnetc_exit_receive(&the_exit.protocol, 0, GASNETC_EXIT_TOGETHER,
                                       (uint8_t)(together - 1));
        gasneti_unlock(&the_exit.lock);
        if (together) break;
        /* From then on it ends the job when its time has come. */
        if (!noted && atomic_load(&launcher.noted)) gasnetc_exit_arm(4 * exit_timeout());
        noted = atomic_load(&launcher.noted);
        if (time_is_up(noted ? 2 : 0.5)) return false;
        gasnetc_poll_ending();
    }
    return true;
}

/* Until all nodes know, or time is up; `action` is the first thing to do. */
static void agree_among_nodes(gasnetc_exit_action_t action)
{
    bool waited = false, master = false;
    enum gasnetc_exit_state state;
    perform(&action);
    while ((state = state_now()) != GASNETC_EXIT_DONE && state != GASNETC_EXIT_FAILED) {
        bool late = time_is_up(1), grace_over = time_is_up(0.5);
        gasneti_lock(&the_exit.lock);
        action = (gasnetc_exit_action_t){.send = GASNETC_EXIT_SEND_NONE};
        master = the_exit.protocol.state == GASNETC_EXIT_COLLECTING;
        if (late)
            gasnetc_exit_time_over(&the_exit.protocol);
        else if (!waited && grace_over) {
            waited = true;
            action = gasnetc_exit_grace_over(&the_exit.protocol);
        }
        gasneti_unlock(&the_exit.lock);
        perform(&action);
        gasnetc_poll_ending();
    }
    if (state == GASNETC_EXIT_FAILED) warn_time_over(master);
}

/* Returns whether the end is coordinated. */
static bool coordinate(int code)
{
    gasneti_lock(&the_exit.lock);
    gasnetc_exit_action_t action = gasnetc_exit_want(&the_exit.protocol, (uint8_t)code);
    gasneti_unlock(&the_exit.lock);
    if (!agree_by_launcher(code)) {
        restart_clock();
        gasnetc_exit_arm(exit_timeout() + SPARE);
        agree_among_nodes(action);
    }
    /* What was sent must be on its way before the queues go. */
    while ((atomic_load(&performing) || !net_quiet()) && !time_is_up(1)) gasnetc_poll_ending();
    return state_now() == GASNETC_EXIT_DONE;
}

/* Where other threads may still be inside, the end of the process has to do it. */
static void close_network(void)
{
    if (GASNETC_THREADED) return;
    gasnetc_stats_close();
    gasnetc_segment_close();
    gasnetc_remote_flags_close();
    gasnetc_bbuf_fini();
    net_close();
}

/* A full file system loses what the program printed.  A program that has closed its standard
 * output, or whose reader is gone, expects that. */
static void flush_output(void)
{
    int error = fflush(stdout) ? errno : 0;
    if (error && error != EBADF && error != EPIPE)
        gasneti_warn("what this process printed to its standard output is lost: %s",
                     strerror(error));
    fflush(stderr);
}

/* An alarm bounds each of its halves: who holds the lock of stdout, or was interrupted inside the
 * library, may keep the first for ever, and whoever broke something the second. */
static void body(void)
{
    double left = exit_deadline() - gasnetc_clock();
    atomic_store(&closing, true);
    gasnetc_exit_arm((left > 0 ? left : 0) + SPARE);
    flush_output();
    if (gasnetc_phase != GASNETC_BEFORE_INIT) {
        bool coordinated = coordinate(gasnetc_exit_code());
        change_code(the_exit.protocol.code);
        if (!coordinated) gasnetc_exit_abort(gasnetc_exit_code());
        restart_clock();
        gasnetc_exit_arm(exit_timeout());
        gasnetc_stats_write("at exit");
        net_report_at_exit();
        close_network();
    }
    bootstrap_fini(gasnetc_exit_code());
    atomic_store(&closed, true);
}

/* --- the ways in --- */

void gasnetc_exit(int code)
{
    if (!the_exit.joined) exit(code);
    if (gasnetc_exit_of_child()) _exit(code);
    if (!head(code)) come_again();
    body();
    tail();
}

/* The end of main, or exit(): the C library goes on ending the process after this. */
static void at_exit(int status, void *unused)
{
    (void)unused;
    if (gasnetc_exit_of_child() || atomic_load(&closed)) return;
    if (!head(status)) come_again();
    body();
    gasnetc_exit_disarm(); /* the client's own handlers may take their time */
}

void gasnetc_exit_fatal(int code)
{
    bool first = head(code);
    if (!the_exit.joined || gasnetc_exit_of_child()) _exit(code);
    while (!first && !is_ours()) pause();
    fflush(stderr);
    if (first) gasnetc_stats_write("at a fatal error");
    gasnetc_exit_abort(gasnetc_exit_code() ? gasnetc_exit_code() : code);
}

/* Others want to end, and this process heard of it first from them. */
static void __attribute__((noreturn)) follow(bool first)
{
    if (first) gasnetc_exit_tell_client();
    if (!first) come_again();
    body();
    tail();
}

void gasnetc_exit_system_message(uint32_t from, uint64_t word0, uint64_t word1)
{
    if (word0 > GASNETC_EXIT_ANSWER || word1 > 255)
        gasneti_fatal("a malformed system message from %s", gasneti_rank_name(from));
    if (word0 == GASNETC_EXIT_ANSWER) the_exit.answered[from] = true;
    atomic_fetch_add(&performing, 1);
    gasneti_lock(&the_exit.lock);
    gasnetc_exit_action_t action = gasnetc_exit_receive(
        &the_exit.protocol, from, (enum gasnetc_exit_message)word0, (uint8_t)word1);
    gasneti_unlock(&the_exit.lock);
    /* From now on its code stands, whatever the client's handler does. */
    bool first = action.begin && head((int)word1);
    perform(&action);
    atomic_fetch_sub(&performing, 1);
    if (action.begin) follow(first);
}

static void follow_launcher(void)
{
    uint32_t leave = atomic_load(&launcher.leave);
    if (leave) follow(head((int)(leave - 1)));
}

/* A peer that leaves because the job is ending looks like one that died; the order to end, or the
 * launcher, tells them apart within a moment. */
static void __attribute__((noreturn)) wait_for_word(void)
{
    double deadline = gasnetc_clock() + exit_timeout() / 2;
    while (gasnetc_clock() < deadline) {
        follow_launcher();
        gasnetc_poll_ending();
    }
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (gasneti_ending()) come_again();
    while (atomic_flag_test_and_set(&told))
        pause(); /* another thread says it, and ends the process */
    gasneti_fatal("%s", gasneti_failure());
}

void gasnetc_exit_act(void)
{
    int note = atomic_load(&gasnetc_exit_pending);
    if (gasnetc_exit_of_child()) gasneti_fatal("a poll in a child");
    if (note == GASNETC_EXIT_FAILURE) wait_for_word();
    /* Whoever takes the note acts upon it, and nobody else. */
    if (!note || !atomic_compare_exchange_strong(&gasnetc_exit_pending, &note, 0) ||
        note == GASNETC_EXIT_ASKED)
        return;
    if (note == GASNETC_EXIT_CALLED) follow_launcher();
    gasnetc_exit_tell_client();
    gasnetc_exit(1);
}

static void *act_for_receive_thread(void *unused)
{
    gasnetc_exit_act();
    return unused;
}

/* The launcher's word is acted upon by a thread of the client's that polls, which finds a note. */
static void hear_launcher(enum bootstrap_word word, int code)
{
    const uint32_t with_code = 1 + (uint32_t)(code & 255);
    int none = 0, asked = GASNETC_EXIT_ASKED;
    if (word == BOOTSTRAP_NOTED) atomic_store(&launcher.noted, true);
    if (word == BOOTSTRAP_TOGETHER) atomic_store(&launcher.together, with_code);
    if (word != BOOTSTRAP_LEAVE) return;
    atomic_store(&launcher.leave, with_code);
    if (!atomic_compare_exchange_strong(&gasnetc_exit_pending, &none, GASNETC_EXIT_CALLED))
        atomic_compare_exchange_strong(&gasnetc_exit_pending, &asked, GASNETC_EXIT_CALLED);
    /* The receive thread sleeps until a message comes. */
    if (GASNETC_THREADED && gasnetc_params.rcv_thread)
        (void)gasneti_quiet_thread(NULL, 0, act_for_receive_thread, NULL);
}

bool gasnetc_exit_polls(double seconds)
{
    const struct timespec turn = {.tv_nsec = 1000000};
    const double deadline = gasnetc_clock() + seconds;
    int asked = 0;
    if (!atomic_compare_exchange_strong(&gasnetc_exit_pending, &asked, GASNETC_EXIT_ASKED))
        return true; /* it has something to act on, and that will show */
    while (atomic_load(&gasnetc_exit_pending) == GASNETC_EXIT_ASKED && gasnetc_clock() < deadline)
        nanosleep(&turn, NULL);
    asked = GASNETC_EXIT_ASKED;
    return !atomic_compare_exchange_strong(&gasnetc_exit_pending, &asked, 0);
}

/* A child of fork may not use what the network has open, and meets its end at its first poll. */
static void in_child(void)
{
    gasnetc_exit_pending = GASNETC_EXIT_FAILURE;
}

void gasnetc_exit_init(void)
{
    gasnetc_exit_protocol_init(&the_exit.protocol, gasnetc_job.rank, gasnetc_job.size);
    the_exit.others = malloc(gasnetc_job.size * sizeof *the_exit.others);
    the_exit.answered = calloc(gasnetc_job.size, sizeof *the_exit.answered);
    if (!the_exit.others || !the_exit.answered)
        gasneti_fatal("out of memory for %u nodes", gasnetc_job.size);
    the_exit.processors = gasneti_processors();
    the_exit.joined = true;
    the_exit.process = getpid();
    gasnetc_exit_make_timer();
    bootstrap_listen(hear_launcher);
    pthread_atfork(NULL, NULL, in_child);
    on_exit(at_exit, NULL);
}
