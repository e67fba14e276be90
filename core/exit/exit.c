/* exit.c - how a job ends: the engine around the state machine of exit_protocol (IB-X1..X8).
 *
 * An exit starts with gasnet_exit, an exit request from another rank or the launcher, or the end of
 * main or exit().  The first caller in this process stores its code (head).  It flushes the output,
 * coordinates with the other ranks for a bounded time, by the launcher or by messages, and leaves
 * the network and the launcher (body); then the process ends (tail).  Signal handlers are in
 * exit_signals.c: they only set gasnetc_exit_pending, which the next poll acts upon.
 */
#define _GNU_SOURCE
#include "core/exit/exit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/exit/exit_protocol.h"
#include "core/job/ending.h"
#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/log.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/firehose.h"
#include "core/rdma/remote_flags.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "core/stats/stats.h"
#include "core/trace/trace.h"
#include "gasnet.h"
#include "other/base/clock.h"
#include "other/base/patience.h"
#include "other/base/printed.h"
#include "other/base/quiet_thread.h"
#include "other/base/ranges.h"

static struct {
    bool joined;         /* the process has joined the job: the launcher can end it */
    pid_t process;       /* the process that joined; a forked child ends only itself */
    gasneti_lock_t lock; /* protects protocol */
    gasnetc_exit_protocol_t protocol;
    _Atomic double deadline; /* of the whole coordination; 0: not started */
    uint32_t *others; /* room for a list of all other ranks: allocated early, since a signal handler
                         may exit */
    uint8_t *heard;   /* by rank: the messages that it has sent, a bit each */
    struct gasneti_processors processors;
} the_exit;

/* The launcher's orders; stored by the spawner's thread, which must not do more. */
static struct {
    atomic_bool noted; /* the launcher knows that this process wants to end */
    /* The codes of the orders BOOTSTRAP_LEAVE (other processes end) and BOOTSTRAP_TOGETHER (all
     * processes end), plus 1; 0: not received. */
    _Atomic uint32_t leave, together;
} launcher;

/* The thread that runs the exit, and the code: 0, or FIRST | thread << 8 | code.  One word, so that
 * a signal handler finds both or none. */
static _Atomic uint64_t first_caller;
static const uint64_t FIRST = UINT64_C(1) << 63;
static atomic_bool closing, closed; /* body has begun; has ended */
static atomic_uint performing;      /* threads between a step of the protocol and its message */

/* Seconds between a timeout that the engine tests and the alarm behind it. */
#define SPARE 0.25

static uint64_t this_thread(void)
{
    return FIRST | (uint64_t)gettid() << 8;
}

static bool is_ours(void)
{
    return (atomic_load(&first_caller) & ~UINT64_C(255)) == this_thread();
}

/* Changes the code; called by the thread that runs the exit. */
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

/* The deadline of the exit.  The first call starts the timeout: at a signal that ends the job, or
 * an order of another rank. */
static double exit_deadline(void)
{
    double deadline = 0, from_now = gasneti_clock() + exit_timeout();
    bool begins = atomic_compare_exchange_strong(&the_exit.deadline, &deadline, from_now);
    return begins ? from_now : deadline;
}

void gasnetc_exit_start_clock(void)
{
    (void)exit_deadline();
}

/* Starts the timeout again, for the next part of the exit. */
static void restart_clock(void)
{
    atomic_store(&the_exit.deadline, gasneti_clock() + exit_timeout());
}

/* The part of the timeout that has passed (1: all of it), extended where processes share few
 * processors. Any thread, and async-signal-safe; of several callers at once one computes, the
 * others get 0.
 */
static double time_passed(void)
{
    static atomic_flag looking = ATOMIC_FLAG_INIT;
    static struct gasneti_patience patience;
    const double every = 0.005, now = gasneti_clock(), began = exit_deadline() - exit_timeout();
    if (atomic_flag_test_and_set(&looking)) return 0;
    if (patience.began < began || patience.began > began) gasneti_patience_begin(&patience, began);
    if (now - patience.last >= every)
        gasneti_patience_tick(
            &patience, now,
            gasneti_crowding(&the_exit.processors, gasneti_running(), gasnetc_job.host_size));
    const double part = gasneti_patience_part(&patience, exit_timeout());
    atomic_flag_clear(&looking);
    return part;
}

bool gasnetc_exit_time_is_up(void)
{
    return time_passed() >= 1;
}

/* --- messages between the ranks --- */

static enum net_result try_send(uint32_t node, const gasnetc_exit_action_t *action)
{
    gasnetc_peer_t *peer = &gasnetc_peers[node];
    gasneti_lock(&peer->lock);
    enum net_result result = net_sys(&peer->net, action->message, action->code);
    gasneti_unlock(&peer->lock);
    return result;
}

/* Sends to all `nodes`, trying each in turn, so that ranks that were never used connect at the same
 * time, and a rank that has ended delays no other. */
static void send_to(uint32_t *nodes, uint32_t count, const gasnetc_exit_action_t *action)
{
    const double deadline = gasneti_clock() + exit_timeout(); /* of a rank that is not ending yet */
    for (unsigned turn = 0;; turn++) {
        uint32_t left = 0;
        bool connecting = false;
        for (uint32_t i = 0; i < count; i++) {
            enum net_result result = try_send(nodes[i], action);
            if (result == NET_CONNECTING) connecting = true;
            if (result != NET_POSTED) nodes[left++] = nodes[i];
        }
        count = left;
        if (!count || (gasneti_ending() ? gasnetc_exit_time_is_up() : gasneti_clock() >= deadline))
            return;
        gasnetc_poll_sends();
        if (connecting) gasnetc_pause(turn);
    }
}

/* Sends to all other ranks, at most once in a process: the master's requests, or TOGETHER from rank
 * 0. */
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

/* True for the one caller that runs the exit. */
static bool head(int code)
{
    uint64_t none = 0;
    return atomic_compare_exchange_strong(&first_caller, &none,
                                          this_thread() | (uint64_t)(code & 255));
}

void gasnetc_exit_abort(int code)
{
    atomic_store(&closed, true); /* an MPI may call exit() during this call */
    bootstrap_abort(code);
}

static bool at_once(void)
{
    return true;
}

static void __attribute__((noreturn)) tail(void)
{
    gasnetc_exit_write_profile();
    gasnetc_exit_write_streams();
    (void)gasnetc_exit_write_files(at_once);
    fflush(stdout);
    fflush(stderr);
    _exit(gasnetc_exit_code());
}

/* The second and later calls of an exit.  A thread that does not run the exit waits for the end of
 * the process.  The thread that runs it returns if it calls from the client's SIGQUIT handler,
 * before body.  If a signal handler has interrupted body, the launcher must end the job; after body
 * the call ends the process. */
static void second_call(void)
{
    while (!is_ours()) pause();
    if (gasnetc_exit_closing()) gasnetc_exit_abort(gasnetc_exit_code());
    if (atomic_load(&closed)) _exit(gasnetc_exit_code());
}

static bool did_not_answer(const void *unused, uint32_t node)
{
    (void)unused;
    return node != gasnetc_job.rank && !(the_exit.heard[node] & 1u << GASNETC_EXIT_ANSWER);
}

/* Warns before the launcher kills the processes that did not answer.  Ranks other than the master
 * know only that rank 0 did not answer, and one line is enough for that: where the launcher does
 * not merge equal lines, rank 1 prints at once and the other ranks 0.25 s later, when the job
 * usually has ended. */
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
    double deadline = gasneti_clock() + (master || gasnetc_job.rank == 1 ? 0 : 0.25);
    while (gasneti_clock() < deadline) gasnetc_poll_ending();
    gasneti_warn("%s", line);
}

/* Ends the coordination if the launcher has ordered all processes to exit, which it may do late: a
 * rank that has turned to messages meanwhile would wait for ranks that have left. */
static void take_order_of_launcher(void)
{
    const uint32_t together = atomic_load(&launcher.together);
    if (!together) return;
    gasneti_lock(&the_exit.lock);
    (void)gasnetc_exit_receive(&the_exit.protocol, 0, GASNETC_EXIT_TOGETHER,
                               (uint8_t)(together - 1));
    gasneti_unlock(&the_exit.lock);
}

/* Coordinates by the launcher: waits until all processes have announced their exit to it, or were
 * ordered by it to exit.  False if the launcher does not support this, or does not answer. */
static bool agree_by_launcher(int code)
{
    double left = exit_deadline() - gasneti_clock();
    if (!bootstrap_leaving(code, left > 0 ? left : 0)) return false;
    bool noted = false;
    while (take_order_of_launcher(), state_now() == GASNETC_EXIT_WAITING) {
        /* From now on the launcher ends the job at its own timeout. */
        if (!noted && atomic_load(&launcher.noted)) gasnetc_exit_arm(4 * exit_timeout());
        noted = atomic_load(&launcher.noted);
        if (time_passed() >= (noted ? 2 : 0.5)) return false;
        gasnetc_poll_ending();
    }
    return true;
}

/* Coordinates by messages, until all ranks are coordinated, or time is up.  `action` is the first
 * step. */
static void agree_among_nodes(gasnetc_exit_action_t action)
{
    bool master = false;
    enum gasnetc_exit_state state;
    perform(&action);
    while (take_order_of_launcher(),
           (state = state_now()) != GASNETC_EXIT_DONE && state != GASNETC_EXIT_FAILED) {
        const double passed = time_passed();
        gasneti_lock(&the_exit.lock);
        master = the_exit.protocol.state == GASNETC_EXIT_COLLECTING;
        action = gasnetc_exit_passed(&the_exit.protocol, passed);
        gasneti_unlock(&the_exit.lock);
        perform(&action);
        gasnetc_poll_ending();
    }
    if (state == GASNETC_EXIT_FAILED) warn_time_over(master);
}

/* Coordinates the exit; true if all ranks end with one code. */
static bool coordinate(int code)
{
    gasneti_info(exit, "wants to end with code %d", code & 255);
    gasneti_lock(&the_exit.lock);
    gasnetc_exit_action_t action = gasnetc_exit_want(&the_exit.protocol, (uint8_t)code);
    gasneti_unlock(&the_exit.lock);
    if (state_now() == GASNETC_EXIT_DONE) {
        perform(&action); /* ordered to exit, or the last to want it: rank 0 tells the others */
    } else if (!agree_by_launcher(code)) {
        gasneti_info(exit, "not all ranks end: agrees with the others by messages");
        restart_clock();
        gasnetc_exit_arm(exit_timeout() + SPARE);
        agree_among_nodes(action);
    }
    /* All sends must have completed before the queues are destroyed. */
    while ((atomic_load(&performing) || !net_quiet()) && !gasnetc_exit_time_is_up())
        gasnetc_poll_ending();
    gasneti_info(exit, "ends with code %d", gasnetc_exit_code());
    return state_now() == GASNETC_EXIT_DONE;
}

/* Closes the network, unless other threads may still use it: then the end of the process closes it.
 */
static void close_network(void)
{
    if (GASNETC_THREADED) return;
    gasnetc_stats_close();
    gasnetc_firehose_close();
    gasnetc_segment_close();
    gasnetc_remote_flags_close();
    gasnetc_bbuf_fini();
    net_close();
}

/* A job whose output is lost, for instance on a full file system, does not end with 0.  Output is
 * not lost if the program has closed its standard output, or the reader of the pipe has ended. */
static bool output_is_lost, files_are_stuck;

static void lost(const char *what, const char *why)
{
    gasneti_warn("what this process %s is lost: %s", what, why);
    output_is_lost = true;
    if (gasnetc_exit_code() == 0) change_code(1);
}

/* True when a quarter of the timeout has passed: writing the program's files may take no longer,
 * since the rest of the exit needs time too. */
static bool time_of_files_is_up(void)
{
    return time_passed() >= 0.25;
}

static void flush_output(void)
{
    gasnetc_exit_write_streams();
    int error = gasneti_printed();
    if (error && error != EBADF && error != EPIPE)
        lost("printed to its standard output", strerror(error));
    fflush(stderr);
    error = gasnetc_exit_write_files(time_of_files_is_up);
    files_are_stuck = error == ETIMEDOUT;
    if (files_are_stuck)
        lost("wrote to a file", "another thread has locked it (flockfile), or the reader of its "
                                "pipe does not read");
    else if (error && error != EBADF && error != EPIPE)
        lost("wrote to a file", strerror(error));
}

/* The middle part of an exit.  An alarm bounds each of its two halves: the first may block, on the
 * lock of stdout or inside the library if a signal has interrupted a call; the second may block on
 * corrupted memory. */
static void body(void)
{
    double left = exit_deadline() - gasneti_clock();
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
        gasneti_trace_close();
        gasnetc_firehose_report();
        net_report_at_exit();
        close_network();
    }
    bootstrap_fini(gasnetc_exit_code());
    atomic_store(&closed, true);
}

/* --- starts of an exit --- */

void gasnetc_exit(int code)
{
    if (!the_exit.joined) exit(code);
    if (gasnetc_exit_of_child()) _exit(code);
    if (!head(code)) second_call();
    body();
    tail();
}

/* The exit at the end of main, or in exit(): the C library continues to end the process afterwards.
 */
static void at_exit(int status, void *unused)
{
    (void)unused;
    if (gasnetc_exit_of_child() || atomic_load(&closed)) return;
    if (!head(status)) second_call();
    body();
    /* The client's own atexit handlers may take any time, but exit() would wait for a file that is
     * stuck. */
    if (files_are_stuck)
        gasnetc_exit_arm(exit_timeout());
    else
        gasnetc_exit_disarm();
    /* Launchers other than ssh get the code from the system alone.  A nested exit() of glibc
     * continues with the remaining handlers. */
    if (status == 0 && output_is_lost) exit(1);
}

void gasnetc_exit_fatal(int code)
{
    bool first = head(code);
    if (!the_exit.joined || gasnetc_exit_of_child()) _exit(code);
    while (!first && !is_ours()) pause();
    fflush(stderr);
    if (first) {
        gasnetc_exit_arm(exit_timeout()); /* files may not take writes, and others wait */
        gasnetc_stats_write("at a fatal error");
        gasneti_trace_close();
    }
    gasnetc_exit_abort(gasnetc_exit_code() ? gasnetc_exit_code() : code);
}

/* Exits because other processes do.  `first`: no exit was running in this process. */
static void __attribute__((noreturn)) follow(bool first)
{
    if (first) gasnetc_exit_raise_sigquit();
    if (!first) second_call();
    body();
    tail();
}

/* Passes a message to the protocol, with the lock held.  No rank sends a message twice: a repeated
 * one, and an answer to a request that was not made, are ignored. */
static gasnetc_exit_action_t receive_once(uint32_t from, enum gasnetc_exit_message message,
                                          uint8_t code)
{
    const gasnetc_exit_action_t nothing = {.send = GASNETC_EXIT_SEND_NONE};
    const uint8_t bit = (uint8_t)(1u << message);
    if (the_exit.heard[from] & bit ||
        (message == GASNETC_EXIT_ANSWER && the_exit.protocol.state != GASNETC_EXIT_COLLECTING))
        return nothing;
    the_exit.heard[from] |= bit;
    return gasnetc_exit_receive(&the_exit.protocol, from, message, code);
}

void gasnetc_exit_system_message(uint32_t from, uint64_t word0, uint64_t word1)
{
    if (word0 > GASNETC_EXIT_ANSWER || word1 > 255)
        gasneti_fatal("a malformed system message from %s", gasneti_rank_name(from));
    atomic_fetch_add(&performing, 1);
    gasneti_lock(&the_exit.lock);
    const gasnetc_exit_action_t action =
        receive_once(from, (enum gasnetc_exit_message)word0, (uint8_t)word1);
    gasneti_unlock(&the_exit.lock);
    /* From now on the code of the order is that of this process, even if the client's handler exits
     * too. */
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

/* A failed connection may mean that the peer has died, or that the job is ending and the peer has
 * left.  In the second case a peer's or the launcher's order to exit arrives during this wait. */
static void __attribute__((noreturn)) await_exit_order(void)
{
    double deadline = gasneti_clock() + exit_timeout() / 2;
    while (gasneti_clock() < deadline) {
        follow_launcher();
        gasnetc_poll_ending();
    }
    static atomic_flag reported = ATOMIC_FLAG_INIT;
    if (gasneti_ending()) second_call();
    while (atomic_flag_test_and_set(&reported))
        pause(); /* another thread reports the failure, and ends the process */
    gasneti_fatal("%s", gasneti_failure());
}

void gasnetc_exit_act(void)
{
    int pending = atomic_load(&gasnetc_exit_pending);
    if (gasnetc_exit_of_child()) gasneti_fatal("a poll in a child");
    if (pending == GASNETC_EXIT_FAILURE) await_exit_order();
    /* Only the thread that clears the pending exit acts upon it. */
    if (!pending || !atomic_compare_exchange_strong(&gasnetc_exit_pending, &pending, 0) ||
        pending == GASNETC_EXIT_PROBE)
        return;
    if (pending == GASNETC_EXIT_CALLED) follow_launcher();
    gasnetc_exit_raise_sigquit();
    gasnetc_exit(1);
}

static void *act_for_receive_thread(void *unused)
{
    gasnetc_exit_act();
    return unused;
}

/* An order of the launcher, in the spawner's thread.  A client thread that polls acts upon it. */
static void on_launcher_order(enum bootstrap_word word, int code)
{
    const uint32_t with_code = 1 + (uint32_t)(code & 255);
    int pending = 0;
    if (word == BOOTSTRAP_NOTED) atomic_store(&launcher.noted, true);
    if (word == BOOTSTRAP_TOGETHER) atomic_store(&launcher.together, with_code);
    if (word != BOOTSTRAP_LEAVE) return;
    atomic_store(&launcher.leave, with_code);
    /* Replaces a probe, which a poll may take away meanwhile; any other pending exit stays. */
    while ((pending == 0 || pending == GASNETC_EXIT_PROBE) &&
           !atomic_compare_exchange_weak(&gasnetc_exit_pending, &pending, GASNETC_EXIT_CALLED))
        continue;
    /* The receive thread sleeps until a message arrives, so another thread acts. */
    if (GASNETC_THREADED && gasnetc_params.rcv_thread)
        (void)gasneti_quiet_thread(NULL, 0, act_for_receive_thread, NULL);
}

bool gasnetc_exit_polls(double seconds)
{
    const struct timespec turn = {.tv_nsec = 1000000};
    const double deadline = gasneti_clock() + seconds;
    int probe = 0;
    if (!atomic_compare_exchange_strong(&gasnetc_exit_pending, &probe, GASNETC_EXIT_PROBE))
        return true; /* another exit is pending; the next poll acts upon it */
    while (atomic_load(&gasnetc_exit_pending) == GASNETC_EXIT_PROBE && gasneti_clock() < deadline)
        nanosleep(&turn, NULL);
    probe = GASNETC_EXIT_PROBE;
    return !atomic_compare_exchange_strong(&gasnetc_exit_pending, &probe, 0);
}

/* A forked child must not use the network: its first poll is fatal. */
static void in_child(void)
{
    gasnetc_exit_pending = GASNETC_EXIT_FAILURE;
}

void gasnetc_exit_init(void)
{
    gasnetc_exit_protocol_init(&the_exit.protocol, gasnetc_job.rank, gasnetc_job.size);
    the_exit.others = malloc(gasnetc_job.size * sizeof *the_exit.others);
    the_exit.heard = calloc(gasnetc_job.size, sizeof *the_exit.heard);
    if (!the_exit.others || !the_exit.heard)
        gasneti_fatal("out of memory for %u ranks", gasnetc_job.size);
    the_exit.processors = gasneti_processors();
    the_exit.joined = true;
    the_exit.process = getpid();
    gasnetc_exit_make_timer();
    bootstrap_listen(on_launcher_order);
    pthread_atfork(NULL, NULL, in_child);
    on_exit(at_exit, NULL);
}
