/* ssh_master.c - the launcher's event loop: starts, serves and ends a job.
 *
 * Called by gasnetrun.  One poll loop, which never blocks (output.h writes); every event is a
 * descriptor or a deadline, except that the load of the machine is read periodically while ranks
 * wait for others to end.
 * ssh_job.c decides; ssh_remote.c handles other hosts.
 */
#include "other/launch/ssh/ssh_master.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/launch/launcher_log.h"
#include "other/launch/output.h"
#include "other/launch/spawner_ops.h"

extern char **environ;

enum {
    LOAD_EVERY = 20,  /* ms between two readings of the load */
    HELD_TIME = 150,  /* ms for other ranks to complain like the first that aborts */
    TERM_AFTER = 250, /* ms until ranks that end themselves get SIGTERM; more where processors */
    KILL_AFTER = 500, /* are few; and until SIGKILL */
    GIVE_UP_AFTER = 2500,   /* ms until the launcher gives up processes that SIGKILL does not end */
    READER_GRACE = 2000,    /* ms in which a rank of a job without reader may begin to exit */
    START_SLOW = 2000,      /* ms after which a start is shown on a terminal */
    INTERRUPT_GRACE = 1400, /* ms for a job to end itself upon a signal */
    SAME_SIGNAL = 500,      /* ms in which another signal to the launcher is part of the first */
    MUTE_AFTER = 1500,      /* ms until silent control processes are given up */
    SILENCE_GRACE = 1000,   /* ms that a wrapper may outlive its program that failed */
    ENDING_GRACE = 60000,   /* ms that the kernel may take to end a process */
};

/* --- timers --- */

void ssh_timer_set(struct ssh_master *m, enum ssh_timer timer, int64_t milliseconds)
{
    m->due[timer] = (int64_t)gasneti_clock_ms() + milliseconds;
}

static int master_next_timeout(const struct ssh_master *m)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < SSH_TIMERS; i++)
        if (m->due[i] && m->due[i] < first) first = m->due[i];
    if (first == INT64_MAX) return -1;
    int64_t left = first - (int64_t)gasneti_clock_ms();
    return left < 0 ? 0 : (int)left + 1;
}

/* --- reaching ranks --- */

static struct ssh_child *master_local_child(struct ssh_master *m, uint32_t rank)
{
    struct ssh_host_slot *slot = &m->slots[m->slot_of[rank]];
    if (slot->placement->remote) return NULL;
    return &m->children.ranks[slot->local_first + hosts_index(&slot->placement->block, rank)];
}

/* The send callback of the job. */
static void master_send(void *ctx, uint32_t rank, enum ssh_wire_type type, const void *data,
                        size_t len)
{
    struct ssh_master *m = ctx;
    struct ssh_parcel *parcel = ssh_parcel_new(type, rank, data, len);
    if (rank != SSH_WIRE_ALL) {
        struct ssh_child *child = master_local_child(m, rank);
        if (child)
            ssh_stream_post(&child->stream, parcel);
        else
            ssh_remote_send(&m->slots[m->slot_of[rank]], parcel);
    } else {
        for (uint32_t i = 0; i < m->children.count; i++)
            ssh_stream_post(&m->children.ranks[i].stream, parcel);
        for (uint32_t s = 0; s < m->placement.count; s++)
            if (m->slots[s].placement->remote) ssh_remote_send(&m->slots[s], parcel);
    }
    ssh_parcel_drop(parcel);
}

static void master_signal_rank(struct ssh_master *m, uint32_t rank, int signo)
{
    struct ssh_host_slot *slot = &m->slots[m->slot_of[rank]];
    if (m->job.ranks[rank].phase == SSH_RANK_GONE) return;
    if (slot->placement->remote)
        ssh_remote_signal(slot, rank, signo);
    else
        ssh_children_signal(&m->children,
                            slot->local_first + hosts_index(&slot->placement->block, rank), signo);
}

static void master_signal_all(struct ssh_master *m, int signo)
{
    for (uint32_t r = 0; r < m->job.size; r++) master_signal_rank(m, r, signo);
}

/* --- ending --- */

static void master_report_complaints(struct ssh_master *m)
{
    char line[4096];
    while (ssh_job_next_complaint(&m->job, line, sizeof line - 1)) {
        strcat(line, "\n");
        output_put(OUTPUT_STDERR, line, strlen(line));
    }
}

/* Ranks with a death function are ordered to end; others get SIGTERM. */
static void master_start_end(struct ssh_master *m)
{
    uint8_t code[4] = {(uint8_t)m->job.code};
    m->end_started = true;
    master_report_complaints(m);
    if (m->job.reason[0]) launcher_log("%s", m->job.reason);
    for (uint32_t r = 0; r < m->job.size; r++) {
        enum ssh_rank_phase phase = m->job.ranks[r].phase;
        if (phase == SSH_RANK_STARTED) master_signal_rank(m, r, SIGTERM);
        if (phase == SSH_RANK_JOINED || phase == SSH_RANK_ANNOUNCED)
            master_send(m, r, SSH_WIRE_DIE, code, sizeof code);
    }
    ssh_remote_end(m);
    gasneti_patience_begin(&m->patience, gasneti_clock());
    ssh_timer_set(m, SSH_TIMER_TERM, LOAD_EVERY);
    if (m->remotes) {
        ssh_remote_ask_echo(m);
        ssh_timer_set(m, SSH_TIMER_MUTE, MUTE_AFTER);
    }
    m->due[SSH_TIMER_ECHO] = m->due[SSH_TIMER_CONNECT] = m->due[SSH_TIMER_SLOW] = 0;
    m->due[SSH_TIMER_INTERRUPT] = 0;
}

static void master_give_up(struct ssh_master *m)
{
    for (uint32_t r = 0; r < m->job.size; r++) {
        struct ssh_child *child = master_local_child(m, r);
        if (m->job.ranks[r].phase == SSH_RANK_GONE) continue;
        launcher_log("rank %" PRIu32 " on host %s (process %d) does not end even by SIGKILL or is "
                     "beyond reach; leaving it",
                     r, m->job.ranks[r].host, child ? (int)child->pid : 0);
    }
    m->gave_up = true;
}

/* A job in which a rank exits ends by itself, with the rank's code, however long that takes here.
 */
static void master_end_without_reader(struct ssh_master *m)
{
    if (m->job.leaving) {
        ssh_timer_set(m, SSH_TIMER_READER, READER_GRACE);
        return;
    }
    ssh_job_fail(&m->job, 128 + SIGPIPE,
                 "standard output, to which the output of other hosts goes, has no reader any "
                 "more; ending the job");
}

/* Counts the time that ranks could use; the part of `seconds` that has passed. */
static double master_patience(struct ssh_master *m, double seconds)
{
    if (m->processors.all <= 0) m->processors = gasneti_processors();
    gasneti_patience_tick(&m->patience, gasneti_clock(),
                          gasneti_crowding(&m->processors, gasneti_running(), m->children.count));
    return gasneti_patience_part(&m->patience, seconds);
}

/* Ends the ranks that do not end themselves: by SIGTERM, and after the same time again by SIGKILL.
 */
static void master_check_ending(struct ssh_master *m, enum ssh_timer timer)
{
    const double terms = (double)KILL_AFTER / TERM_AFTER,
                 part = master_patience(m, (double)TERM_AFTER / 1000);
    if (part < (timer == SSH_TIMER_TERM ? 1 : terms)) {
        ssh_timer_set(m, timer, LOAD_EVERY);
    } else if (timer == SSH_TIMER_TERM) {
        master_signal_all(m, SIGTERM);
        ssh_timer_set(m, SSH_TIMER_KILL, LOAD_EVERY);
    } else {
        master_signal_all(m, SIGKILL);
        ssh_timer_set(m, SSH_TIMER_GIVE_UP, GIVE_UP_AFTER);
    }
}

/* Some ranks asked to end.  The others have half of the time to ask as well, counted from the
 * latest request, and the other half after they were asked to; the time is longer where processors
 * are few. */
static void master_check_leaving(struct ssh_master *m)
{
    if (!m->job.leaving || m->job.settled || m->job.ending) return;
    if (m->patient_since != m->job.leaving && !m->job.called) {
        m->patient_since = m->job.leaving;
        gasneti_patience_begin(&m->patience, gasneti_clock());
    }
    const double part = master_patience(m, m->job.leave_seconds);
    if (part >= 0.5) ssh_job_call(&m->job);
    if (part >= 1) ssh_job_late(&m->job);
    ssh_timer_set(m, SSH_TIMER_LEAVING, LOAD_EVERY);
}

/* How far the start is, while it takes long and a terminal shows it. */
static void master_show_start(struct ssh_master *m)
{
    enum { NEXT = 500 };
    char text[100];
    const bool over = m->job.joined == m->job.size || m->job.gone || m->job.ending;
    snprintf(text, sizeof text, "%" PRIu32 " of %" PRIu32 " ranks have called gasnet_init",
             m->job.joined, m->job.size);
    launcher_progress(over ? NULL : text);
    if (!over) ssh_timer_set(m, SSH_TIMER_STARTING, NEXT);
}

static void master_timer_expired(struct ssh_master *m, enum ssh_timer timer)
{
    switch (timer) {
    case SSH_TIMER_TERM:
    case SSH_TIMER_KILL:
        master_check_ending(m, timer);
        break;
    case SSH_TIMER_GIVE_UP:
        master_give_up(m);
        break;
    case SSH_TIMER_INTERRUPT:
        if (ssh_job_over(&m->job)) break; /* the job is over, and its output is being read */
        ssh_job_fail(&m->job, 128 + m->job.interrupt,
                     "the job did not end within %d.%d s of the signal; "
                     "ending it",
                     INTERRUPT_GRACE / 1000, INTERRUPT_GRACE % 1000 / 100);
        break;
    case SSH_TIMER_SILENCE:
    case SSH_TIMER_ENDING:
        for (uint32_t r = 0; r < m->job.size; r++)
            if (m->silent[r] == timer) ssh_job_silent(&m->job, r);
        break;
    case SSH_TIMER_CONNECT:
        ssh_remote_connect_late(m);
        break;
    case SSH_TIMER_SLOW:
        ssh_remote_connect_slow(m);
        break;
    case SSH_TIMER_HELD:
        ssh_job_release(&m->job);
        break;
    case SSH_TIMER_LEAVING:
        master_check_leaving(m);
        break;
    case SSH_TIMER_ASK:
        ssh_ask_late(m);
        break;
    case SSH_TIMER_WATCH:
        ssh_watch_due(m);
        break;
    case SSH_TIMER_ECHO:
        ssh_remote_no_echo(m);
        break;
    case SSH_TIMER_MUTE:
        ssh_remote_leave_mute(m);
        break;
    case SSH_TIMER_UNAUTHENTICATED:
        ssh_unauthenticated_late(m);
        break;
    case SSH_TIMER_LINES:
        ssh_remote_flush_lines(m);
        break;
    case SSH_TIMER_STARTING:
        master_show_start(m);
        break;
    case SSH_TIMER_READER:
        master_end_without_reader(m);
        break;
    case SSH_TIMER_OUTPUT:
        m->output_given_up = output_done() == m->output_done;
        break;
    default:
        break;
    }
}

static void master_run_timers(struct ssh_master *m)
{
    int64_t now = (int64_t)gasneti_clock_ms();
    for (int i = 0; i < SSH_TIMERS; i++) {
        if (!m->due[i] || m->due[i] > now) continue;
        m->due[i] = 0;
        master_timer_expired(m, (enum ssh_timer)i);
    }
}

/* --- news from ranks --- */

void ssh_master_frame(struct ssh_master *m, uint32_t rank, const struct ssh_wire_frame *frame)
{
    if (frame->type == SSH_WIRE_ANSWER)
        ssh_ask_frame(m, rank, frame);
    else if (frame->type == SSH_WIRE_MOVES)
        ssh_watch_frame(m, rank, frame);
    else
        ssh_job_frame(&m->job, rank, frame);
}

/* The process usually ends in the same moment, with a status that says more; wait for that. */
void ssh_master_silent(struct ssh_master *m, uint32_t rank, bool ending)
{
    const enum ssh_timer timer = ending ? SSH_TIMER_ENDING : SSH_TIMER_SILENCE;
    if (!ssh_job_silence_matters(&m->job, rank)) return;
    m->silent[rank] = timer;
    if (!m->due[timer]) ssh_timer_set(m, timer, ending ? ENDING_GRACE : SILENCE_GRACE);
}

struct local_frame {
    struct ssh_master *m;
    struct ssh_child *child;
};

static void master_take_local_frame(void *ctx, const struct ssh_wire_frame *frame)
{
    const struct local_frame *from = ctx;
    if (frame->type == SSH_WIRE_HELLO && frame->len == 4)
        ssh_children_note_program(&from->m->children, from->child,
                                  (pid_t)ssh_wire_u32(frame->data));
    ssh_master_frame(from->m, from->child->rank, frame);
}

static void master_read_child(struct ssh_master *m, struct ssh_child *child)
{
    const char *why;
    struct local_frame from = {m, child};
    enum ssh_stream_state state =
        ssh_stream_read(&child->stream, master_take_local_frame, &from, &why);
    if (state == SSH_STREAM_OPEN) return;
    ssh_stream_close(&child->stream);
    if (state == SSH_STREAM_EOF)
        ssh_master_silent(m, child->rank, ssh_children_ending(child));
    else
        ssh_job_fail(&m->job, 1,
                     "rank %" PRIu32 " on host %s: %s on its control connection; ending "
                     "the job",
                     child->rank, m->job.ranks[child->rank].host, why);
}

static void master_reap_children(struct ssh_master *m)
{
    int status;
    pid_t pid;
    while ((pid = ssh_children_reap(&m->children, m->job.ending, &status)) > 0) {
        struct ssh_child *child = ssh_children_find(&m->children, pid);
        if (!child) {
            ssh_remote_shell_ended(m, pid, status);
            continue;
        }
        child->pid = 0;
        if (child->stream.fd >= 0) master_read_child(m, child); /* frames come before the end */
        ssh_children_forget(child);
        ssh_job_ended(&m->job, child->rank, status);
    }
}

/* The program ended; its wrapper still runs. */
static void master_program_ended(struct ssh_master *m, struct ssh_child *child)
{
    if (child->stream.fd >= 0) master_read_child(m, child);
    ssh_children_forget(child);
    ssh_master_silent(m, child->rank, false);
}

/* --- signals to the launcher --- */

/* INT, TERM, HUP, QUIT: the job has some time to end in an orderly way, which a second signal cuts
 * short.  timeout(1) and batch systems send each signal to the launcher and to its process group:
 * what comes right after the first is not a second one. */
static void master_pass_on(struct ssh_master *m, int signo)
{
    const int64_t now = (int64_t)gasneti_clock_ms();
    if (m->job.interrupt && now - m->interrupted < SAME_SIGNAL) return;
    if (ssh_job_over(&m->job) && (m->job.ending || m->job.interrupt)) m->output_given_up = true;
    if (m->job.ending) return;
    if (m->job.interrupt) {
        ssh_job_fail(&m->job, 128 + signo, "second signal (%s); ending the job", strsignal(signo));
        return;
    }
    m->job.interrupt = signo;
    m->interrupted = now;
    launcher_log("signal %d (%s): ending the job", signo, strsignal(signo));
    if (ssh_remote_awaited(m, NULL)) { /* no rank has joined: the job cannot end itself */
        ssh_job_end(&m->job, 128 + signo);
        return;
    }
    master_signal_all(m, signo);
    ssh_timer_set(m, SSH_TIMER_INTERRUPT, INTERRUPT_GRACE);
}

static void master_take_signal(struct ssh_master *m, int signo)
{
    switch (signo) {
    case SIGCHLD:
        break; /* children are reaped in any case */
    case SIGTSTP:
        master_signal_all(m, SIGSTOP);
        raise(SIGSTOP);
        ssh_watch_stopped(m);
        master_signal_all(m, SIGCONT);
        break;
    case SIGCONT:
    case SIGUSR1:
    case SIGUSR2:
        master_signal_all(m, signo);
        break;
    default:
        master_pass_on(m, signo);
    }
}

static void master_read_signals(struct ssh_master *m)
{
    struct signalfd_siginfo info;
    while (read(m->children.signals, &info, sizeof info) == (ssize_t)sizeof info)
        master_take_signal(m, (int)info.ssi_signo);
    master_reap_children(m);
}

/* --- the loop --- */

/* A job that ends well waits for the reader of its output as long as it takes; one that fails or is
 * interrupted, only while some output is taken. */
static void master_await_reader(struct ssh_master *m)
{
    if (!m->job.interrupt && (!m->job.ending || m->job.code == 0)) return;
    if (!output_pending()) {
        m->output_given_up = false;
        m->due[SSH_TIMER_OUTPUT] = 0;
    } else if (!m->due[SSH_TIMER_OUTPUT]) {
        m->output_done = output_done();
        ssh_timer_set(m, SSH_TIMER_OUTPUT, OUTPUT_GRACE);
    }
}

static bool master_finished(struct ssh_master *m)
{
    master_await_reader(m);
    if (!m->gave_up && !ssh_job_over(&m->job)) return false;
    bool all = m->gave_up || ssh_remote_finished(m);
    return m->output_given_up || (all && !output_pending());
}

/* A rank on this machine is ended by SIGPIPE when its reader is gone; a job whose ranks are
 * elsewhere ends likewise, unless it is about to end with a code of its own. */
static void master_note_output(struct ssh_master *m)
{
    output_noted();
    if (output_lost(OUTPUT_STDOUT).error == EPIPE && !m->due[SSH_TIMER_READER])
        ssh_timer_set(m, SSH_TIMER_READER, READER_GRACE);
}

static void master_loop(struct ssh_master *m)
{
    size_t locals = m->children.count,
           most = 2 + 2 * locals + ssh_remote_poll_max(m) + SSH_INPUT_FDS + SSH_ASK_FDS;
    struct pollfd *fds = calloc(most, sizeof *fds);
    if (!fds) ssh_job_fail(&m->job, 1, "out of memory");
    for (;;) {
        if (m->job.held && !m->job.ending && !m->due[SSH_TIMER_HELD])
            ssh_timer_set(m, SSH_TIMER_HELD, HELD_TIME);
        if (!m->due[SSH_TIMER_LEAVING]) master_check_leaving(m);
        if (m->job.ending && !m->end_started) master_start_end(m);
        if (m->due[SSH_TIMER_STARTING] && m->job.joined == m->job.size) {
            m->due[SSH_TIMER_STARTING] = 0;
            launcher_progress(NULL);
        }
        if (m->remotes && m->job.gone && !m->job.ending && !m->due[SSH_TIMER_ECHO])
            ssh_remote_ask_echo(m); /* a rank is gone: all others should end soon */
        if (!fds || master_finished(m)) break;
        fds[0] = (struct pollfd){.fd = m->children.signals, .events = POLLIN};
        ssh_children_poll(&m->children, fds + 1);
        size_t remote = ssh_remote_poll(m, fds + 1 + 2 * locals);
        remote += ssh_input_poll(m, fds + 1 + 2 * locals + remote);
        struct pollfd *asks = fds + 1 + 2 * locals + remote;
        size_t asked = ssh_ask_poll(m, asks);
        struct pollfd *output = asks + asked;
        *output = (struct pollfd){.fd = output_events(), .events = POLLIN};
        int ready = poll(fds, 2 + 2 * locals + remote + asked, master_next_timeout(m));
        if (ready < 0 && errno != EINTR) {
            ssh_job_fail(&m->job, 1, "poll: %s (see ulimit -n); ending the job", strerror(errno));
            usleep(10000); /* poll failed: no events any more, but children can be reaped */
            master_read_signals(m);
        }
        if (ready > 0) {
            if (fds[0].revents) master_read_signals(m);
            for (size_t i = 0; i < locals; i++) {
                struct ssh_child *child = &m->children.ranks[i];
                if (fds[1 + 2 * i].revents && child->stream.fd >= 0) {
                    ssh_stream_flush(&child->stream);
                    master_read_child(m, child);
                }
                if (fds[2 + 2 * i].revents && child->program >= 0) master_program_ended(m, child);
            }
            ssh_input_ready(m, fds + 1 + 2 * locals, remote);
            ssh_remote_ready(m, fds + 1 + 2 * locals, remote);
            ssh_ask_ready(m, asks, asked);
            if (output->revents) master_note_output(m);
        }
        master_run_timers(m);
    }
    free(fds);
    launcher_progress(NULL);
}

/* --- starting --- */

static void master_make_welcome(struct ssh_master *m)
{
    struct ssh_wire_buf buf = {0};
    ssh_wire_put_u32(&buf, m->job.size);
    for (uint32_t r = 0; r < m->job.size; r++) ssh_wire_put_u32(&buf, m->placement.host_of[r]);
    for (char **e = environ; *e; e++) ssh_wire_put_string(&buf, *e);
    m->welcome =
        buf.failed ? NULL : ssh_parcel_new(SSH_WIRE_WELCOME, SSH_WIRE_ALL, buf.data, buf.len);
    ssh_wire_free(&buf);
}

static void master_start_local_rank(struct ssh_master *m, uint32_t rank, int null)
{
    struct ssh_host_slot *slot = &m->slots[m->slot_of[rank]];
    uint32_t index = slot->local_first + hosts_index(&slot->placement->block, rank);
    int forward = -1;
    const int input = rank == 0 ? ssh_input_open(&forward) : null;
    const int fds[3] = {input, STDOUT_FILENO, STDERR_FILENO};
    const bool good = !m->job.ending && ssh_children_start_rank(&m->children, index, rank, fds);
    const int error = errno;
    ssh_input_forward(m, forward);
    if (input != STDIN_FILENO && input != null) close(input);
    if (!good) {
        ssh_job_fail(&m->job, 1,
                     "rank %" PRIu32 " on host %s cannot be started: %s (see ulimit -u and "
                     "ulimit -n)",
                     rank, m->job.ranks[rank].host, strerror(error));
        ssh_job_unreachable(&m->job, rank, 1);
        return;
    }
    ssh_stream_post(&m->children.ranks[index].stream, m->welcome);
}

/* Takes over the ranks that this program has forked. */
static void master_adopt_all(struct ssh_master *m)
{
    master_make_welcome(m);
    if (!m->welcome) ssh_job_fail(&m->job, 1, "out of memory for the environment of the ranks");
    ssh_input_forward(m, m->request->forward);
    for (uint32_t r = 0; r < m->job.size; r++) {
        ssh_children_adopt(&m->children, r, r, m->request->forked[r].pid, m->request->forked[r].fd);
        if (m->welcome) ssh_stream_post(&m->children.ranks[r].stream, m->welcome);
    }
}

static void master_start_all(struct ssh_master *m)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct ssh_program program = {
        .path = m->request->path, .argv = m->request->argv, .envp = (const char *const *)environ};
    if (!ssh_children_open_nursery(&m->children, &program))
        ssh_job_fail(&m->job, 1, "no process can be started: %s (see ulimit -u and ulimit -n)",
                     strerror(errno));
    if (null < 0)
        ssh_job_fail(&m->job, 1, "cannot open /dev/null, the standard input of all ranks but 0: %s",
                     strerror(errno));
    master_make_welcome(m);
    if (!m->welcome) ssh_job_fail(&m->job, 1, "out of memory for the environment of the ranks");
    if (!m->job.ending) ssh_remote_start(m); /* remote shells take longest */
    for (uint32_t r = 0; r < m->job.size; r++)
        if (!m->slots[m->slot_of[r]].placement->remote) master_start_local_rank(m, r, null);
    ssh_children_close_nursery(&m->children);
    if (null >= 0) close(null);
}

/* --- entry --- */

static void master_name_ranks(const struct hosts_block *block, char *text, size_t size)
{
    uint32_t last = hosts_rank(block, block->count - 1);
    if (block->count == 1)
        snprintf(text, size, "rank %" PRIu32, last);
    else if (block->stride == 1)
        snprintf(text, size, "ranks %" PRIu32 "-%" PRIu32, block->first, last);
    else
        snprintf(text, size, "ranks %" PRIu32 "-%" PRIu32 " by %" PRIu32, block->first, last,
                 block->stride);
}

static void master_describe(const struct ssh_master *m)
{
    char *line = shell_join(m->request->argv);
    if (!m->request->dry_run)
        launcher_log("this is job %d; --stats %d shows its counters, --why %d what it waits for, "
                     "--top %d a live view",
                     (int)getpid(), (int)getpid(), (int)getpid(), (int)getpid());
    for (uint32_t s = 0; s < m->placement.count; s++) {
        const struct ssh_placed_slot *slot = &m->placement.slots[s];
        struct shell_words command = {0};
        char ranks[64];
        master_name_ranks(&slot->block, ranks, sizeof ranks);
        launcher_log("%s on host %s%s: %s", ranks, slot->host,
                     slot->remote ? "" : " (this machine)", line ? line : "");
        if (slot->remote && ssh_remote_command(m, s, &command)) {
            char *text = shell_join(command.word);
            uint32_t starter = m->slots[s].starter;
            launcher_log("  by %s%s%s", text ? text : "",
                         starter == SSH_LAUNCHER ? "" : " on host ",
                         starter == SSH_LAUNCHER ? "" : m->placement.slots[starter].host);
            free(text);
        }
        shell_free(&command);
    }
    free(line);
}

/* A tree of remote shells: remote slot i starts the `degree` slots from degree * (i + 1) on.  The
 * launcher starts the first ones, among them that of rank 0, whose input comes from the launcher.
 */
static void master_grow_tree(struct ssh_master *m)
{
    uint32_t *remote = calloc(m->placement.count, sizeof *remote), count = 0,
             degree = m->placement.degree;
    for (uint32_t s = 0; remote && degree && s < m->placement.count; s++) {
        if (!m->slots[s].placement->remote) continue;
        if (count >= degree) {
            m->slots[s].starter = remote[count / degree - 1];
            m->slots[m->slots[s].starter].below++;
        }
        remote[count++] = s;
    }
    free(remote);
}

static bool master_lay_out(struct ssh_master *m, uint32_t *locals)
{
    *locals = 0;
    m->slots = calloc(m->placement.count, sizeof *m->slots);
    m->slot_of = calloc(m->request->ranks, sizeof *m->slot_of);
    m->silent = calloc(m->request->ranks, sizeof *m->silent);
    if (!m->slots || !m->slot_of || !m->silent) {
        launcher_log("out of memory for the tables of %" PRIu32 " processes", m->request->ranks);
        return false;
    }
    for (uint32_t s = 0; s < m->placement.count; s++) {
        struct ssh_host_slot *slot = &m->slots[s];
        slot->placement = &m->placement.slots[s];
        slot->local_first = *locals;
        slot->stream.fd = -1;
        slot->starter = SSH_LAUNCHER;
        ssh_shell_init(&slot->shell);
        if (slot->placement->remote)
            m->remotes++;
        else
            *locals += slot->placement->block.count;
        for (uint32_t i = 0; i < slot->placement->block.count; i++)
            m->slot_of[hosts_rank(&slot->placement->block, i)] = s;
    }
    master_grow_tree(m);
    return true;
}

/* Reports output that did not reach its reader; returns the exit status. */
static int master_end_output(struct ssh_master *m, int status)
{
    const size_t left = output_pending() + ssh_remote_unread(m);
    const int bad = m->job.interrupt ? 128 + m->job.interrupt : 1;
    if (left) {
        launcher_log("at least %zu bytes of output of other hosts are lost: their reader does not "
                     "take them",
                     left);
        if (!status) status = bad;
    }
    if (m->output_lost && !status) status = bad; /* reported before */
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        const struct output_loss loss = output_lost((enum output_stream)i);
        if (!loss.error) continue;
        launcher_log("%" PRIu64 " bytes of output are lost: cannot write to %s: %s", loss.bytes,
                     output_name((enum output_stream)i), strerror(loss.error));
        if (!status) status = loss.error == EPIPE && bad == 1 ? 128 + SIGPIPE : bad;
    }
    output_finish();
    return status;
}

static int master_run(struct ssh_master *m, uint32_t locals)
{
    if (!ssh_children_make_room(&m->children, locals, m->remotes, false)) return 1;
    if (!ssh_job_open(&m->job, m->request->ranks, m->placement.host_name_of, master_send, m) ||
        !output_open() || !ssh_children_open(&m->children, locals, m->remotes, -1)) {
        launcher_log("cannot prepare %" PRIu32 " processes: %s", m->request->ranks,
                     strerror(errno));
        output_finish();
        return 1;
    }
    m->job.program = m->request->path;
    ssh_ask_open(m);
    if (isatty(STDERR_FILENO)) ssh_timer_set(m, SSH_TIMER_STARTING, START_SLOW);
    if (m->request->forked)
        master_adopt_all(m);
    else
        master_start_all(m);
    master_loop(m);
    ssh_ask_close(m);
    ssh_watch_close(m);
    int status = master_end_output(m, ssh_job_status(&m->job));
    ssh_input_return(m);
    ssh_remote_close(m);
    ssh_children_close(&m->children);
    return status;
}

/* For messages.  Passed in the environment, which limits the length of a variable. */
static void master_export_host_names(const struct ssh_placement *placement)
{
    enum { LONGEST = 64 * 1024 };
    struct ssh_wire_buf names = {0};
    uint32_t count = 0;
    unsetenv(SPAWNER_HOSTS);
    for (uint32_t s = 0; s < placement->count; s++) {
        const struct ssh_placed_slot *slot = &placement->slots[s];
        if (placement->host_of[slot->block.first] != count) continue; /* dense numbers */
        if (count++) ssh_wire_put(&names, " ", 1);
        ssh_wire_put(&names, slot->host, strlen(slot->host));
    }
    ssh_wire_put(&names, "", 1);
    if (count > 1 && !names.failed && names.len < LONGEST)
        setenv(SPAWNER_HOSTS, (const char *)names.data, 1);
    ssh_wire_free(&names);
}

int ssh_launch(const struct ssh_request *request)
{
    struct ssh_master m = {.request = request, .listener = -1};
    int status = 1;
    if (ssh_placement_make(&m.placement, request)) {
        uint32_t locals;
        master_export_host_names(&m.placement);
        bool good = master_lay_out(&m, &locals);
        if (good && (request->verbose || request->dry_run)) master_describe(&m);
        status = !good               ? 1
                 : !request->dry_run ? master_run(&m, locals)
                                     : output_lost(OUTPUT_STDERR).error != 0;
    }
    ssh_parcel_drop(m.welcome);
    ssh_job_close(&m.job);
    free(m.slots);
    free(m.slot_of);
    free(m.silent);
    ssh_placement_free(&m.placement);
    return status;
}
