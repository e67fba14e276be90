/* ssh_control.c - the control process: starts the ranks of one host and forwards their frames.
 *
 * In a job on many hosts a control process also starts those of other hosts. They connect to the
 * launcher directly; only their output passes through this process.
 *
 * A control process is the launcher program in a hidden mode, started through a remote shell. It
 * takes no decisions: frames are forwarded unchanged. It obeys only a launcher that has proved to
 * know the job's secret, and ends, with all its children, when the launcher does.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/launch/environment.h"
#include "other/launch/hosts.h"
#include "other/launch/launcher_log.h"
#include "other/launch/output.h"
#include "other/launch/ssh/ssh_launch.h"
#include "other/launch/ssh/ssh_meeting.h"
#include "other/launch/ssh/ssh_shell.h"

extern char **environ;

enum {
    LINE_PATIENCE = 200,  /* ms that output without an end of line is kept */
    DRAIN_STEPS = 10,     /* silent intervals of that length until sources are given up */
    INPUT_PATIENCE = 500, /* ms for the end of the input */
};

/* A remote shell that the launcher ordered. */
struct below {
    struct ssh_shell shell;
    uint32_t slot; /* the launcher's index of that host */
};

struct control {
    struct ssh_stream up; /* to the launcher */
    struct ssh_wire_assembly in;
    struct ssh_children children;
    struct hosts_block block;
    uint32_t alive;
    char secret[SSH_WIRE_SECRET + 1];
    struct ssh_shell *outputs; /* of the ranks: [children.count] */
    struct below *below;       /* [below_most] */
    uint32_t below_count, below_most;
    bool unfinished; /* an output line waits for its end */
    bool set_up, wrong;
    bool terminated; /* by SIGTERM */
};

static const char *host = "?"; /* this host's name in the launcher's list */

static int control_complain(const char *what, const char *why)
{
    launcher_log("control process on host %s: %s: %s", host, what, why);
    return 1;
}

/* --- reaching the launcher --- */

/* Byte by byte: input behind the line belongs to rank 0. */
static bool control_read_secret(char secret[SSH_WIRE_SECRET + 1])
{
    for (size_t i = 0; i <= SSH_WIRE_SECRET; i++) {
        ssize_t got = read(STDIN_FILENO, &secret[i], 1);
        if (got != 1) return false;
    }
    bool good = secret[SSH_WIRE_SECRET] == '\n';
    secret[SSH_WIRE_SECRET] = 0;
    return good;
}

static bool control_join(struct control *c, char *addresses, uint16_t port, uint32_t slot)
{
    struct ssh_seals seals;
    char why[1024];
    if (!control_read_secret(c->secret))
        return control_complain("standard input", "not the launcher's"), false;
    int fd = ssh_meeting_find(addresses, port, slot, c->secret, &seals, why, sizeof why);
    if (fd < 0) return control_complain("cannot connect to the launcher", why), false;
    ssh_stream_open(&c->up, fd, false);
    if (!ssh_stream_seal(&c->up, &seals))
        return control_complain("cannot prepare", "no memory"), false;
    return true;
}

/* --- upwards --- */

static void control_send(struct control *c, enum ssh_wire_type type, uint32_t rank, uint32_t value)
{
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                        (uint8_t)(value >> 24)};
    struct ssh_parcel *parcel = ssh_parcel_new(type, rank, bytes, sizeof bytes);
    ssh_stream_post(&c->up, parcel);
    ssh_parcel_drop(parcel);
}

static void control_report_shell(struct control *c, pid_t pid, int status)
{
    for (uint32_t i = 0; i < c->below_count; i++) {
        struct ssh_wire_buf buf = {0};
        if (c->below[i].shell.pid != pid) continue;
        c->below[i].shell.pid = 0;
        ssh_shell_drain(&c->below[i].shell); /* the last output may give the reason */
        ssh_wire_put_u32(&buf, c->below[i].slot);
        ssh_wire_put_u32(&buf, ssh_wire_shell(status, (int)c->below[i].shell.key));
        struct ssh_parcel *parcel = ssh_parcel_new(SSH_WIRE_SHELL, SSH_WIRE_ALL, buf.data, buf.len);
        ssh_stream_post(&c->up, parcel);
        ssh_parcel_drop(parcel);
        ssh_wire_free(&buf);
    }
}

struct from_child {
    struct control *c;
    struct ssh_child *child;
    bool wrong;
};

static void control_pass_up(void *ctx, const struct ssh_wire_frame *frame)
{
    struct from_child *from = ctx;
    /* A rank sends frames of its own number only, and none of a control process's types. */
    if (frame->rank != from->child->rank || frame->type >= SSH_WIRE_WELCOME) {
        from->wrong = true;
        return;
    }
    if (frame->type == SSH_WIRE_HELLO && frame->len == 4)
        ssh_children_note_program(&from->c->children, from->child,
                                  (pid_t)ssh_wire_u32(frame->data));
    struct ssh_parcel *parcel = ssh_parcel_of_frame(frame);
    ssh_stream_post(&from->c->up, parcel);
    ssh_parcel_drop(parcel);
}

static void control_read_child(struct control *c, struct ssh_child *child)
{
    struct from_child from = {c, child, false};
    const char *why;
    enum ssh_stream_state state = ssh_stream_read(&child->stream, control_pass_up, &from, &why);
    if (state == SSH_STREAM_OPEN && !from.wrong) return;
    ssh_stream_close(&child->stream);
    control_send(c, SSH_WIRE_SILENT, child->rank,
                 state == SSH_STREAM_EOF && ssh_children_ending(child));
}

static void control_reap_children(struct control *c)
{
    int status;
    pid_t pid;
    while ((pid = ssh_children_reap(&c->children, false, &status)) > 0) {
        struct ssh_child *child = ssh_children_find(&c->children, pid);
        if (!child) {
            control_report_shell(c, pid, status);
            continue;
        }
        child->pid = 0;
        if (child->stream.fd >= 0) control_read_child(c, child);
        ssh_children_forget(child);
        control_send(c, SSH_WIRE_ENDED, child->rank, (uint32_t)status);
        c->alive--;
    }
}

/* --- downwards --- */

/* Returns this host's environment, overridden by the launcher's. */
static const char **control_merge_environment(const char *strings, uint32_t envc)
{
    size_t own = 0;
    while (environ[own]) own++;
    const char **given = calloc((size_t)envc + 1, sizeof *given), **all = NULL;
    const char *s = strings;
    for (uint32_t i = 0; given && i < envc; i++, s += strlen(s) + 1) given[i] = s;
    if (given) all = environment_merge(given, envc, (const char *const *)environ, own);
    free(given);
    return all;
}

/* Each rank has pipes of its own, so that its output can be forwarded in whole lines. */
static void control_start_rank(struct control *c, uint32_t i, int null)
{
    uint32_t rank = hosts_rank(&c->block, i);
    int output[2];
    bool good = ssh_shell_listen(&c->outputs[i], output);
    const int fds[3] = {rank == 0 ? STDIN_FILENO : null, output[0], output[1]};
    good = good && ssh_children_start_rank(&c->children, i, rank, fds);
    if (!good) control_complain("cannot start a process", strerror(errno));
    for (int which = 0; which < 2; which++)
        if (output[which] >= 0) close(output[which]);
    c->alive += good;
    c->wrong = c->wrong || !good;
}

/* Warns when ssh connected through a loopback address: the host name then means whichever machine
 * looks it up, and the ranks do not run where the list says. */
static void control_check_interface(const struct ssh_wire_message *setup)
{
    const char *way = getenv("SSH_CONNECTION"); /* client address, port, server address, port */
    char address[64] = "";
    if (!way || setup->setup.count == setup->setup.size) return;
    if (sscanf(way, "%*s %*s %63s", address) == 1 &&
        (strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0))
        launcher_log("warning: host %s is reached by the loopback address %s: its name means the "
                     "machine that looks it up; its ranks run there (see /etc/hosts)",
                     host, address);
}

static void control_start_ranks(struct control *c, const struct ssh_wire_message *setup)
{
    const char *cwd = (const char *)setup->data, *path = cwd + strlen(cwd) + 1;
    const char *s = path + strlen(path) + 1;
    const char **argv = calloc((size_t)setup->setup.argc + 1, sizeof *argv);
    for (uint32_t i = 0; argv && i < setup->setup.argc; i++, s += strlen(s) + 1) argv[i] = s;
    const char **envp = argv ? control_merge_environment(s, setup->setup.envc) : NULL;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    control_check_interface(setup);
    c->block = (struct hosts_block){setup->setup.first, setup->setup.count, setup->setup.stride};
    c->below_most = setup->setup.below;
    c->below = calloc((size_t)c->below_most + 1, sizeof *c->below);
    c->outputs = calloc(setup->setup.count, sizeof *c->outputs);
    for (uint32_t i = 0; c->outputs && i < setup->setup.count; i++) ssh_shell_init(&c->outputs[i]);
    c->set_up = true;
    if (chdir(cwd) != 0) {
        control_complain(cwd, strerror(errno));
        c->wrong = true;
    } else if (!ssh_children_make_room(&c->children, setup->setup.count, c->below_most, true)) {
        c->wrong = true;
    } else if (!envp || null < 0 || !c->below || !c->outputs ||
               !ssh_children_open(&c->children, setup->setup.count, c->below_most, c->up.fd) ||
               !ssh_children_open_nursery(&c->children,
                                          &(struct ssh_program){path, (char *const *)argv, envp})) {
        control_complain("cannot prepare", strerror(errno));
        c->wrong = true;
    }
    for (uint32_t i = 0; i < setup->setup.count && !c->wrong; i++) control_start_rank(c, i, null);
    ssh_children_close_nursery(&c->children);
    free(argv);
    free(envp);
    if (null >= 0) close(null);
}

/* Starts the control process of another host.  The command comes from the launcher; the secret is
 * this process's. */
static void control_start_below(struct control *c, const struct ssh_wire_message *start)
{
    char **argv = calloc((size_t)start->start.argc + 1, sizeof *argv);
    char *s = (char *)(uintptr_t)start->data; /* execvp's type is not const */
    for (uint32_t i = 0; argv && i < start->start.argc; i++, s += strlen(s) + 1) argv[i] = s;
    struct below *below = &c->below[c->below_count++];
    ssh_shell_init(&below->shell);
    below->slot = start->start.slot;
    if (!argv || !ssh_shell_start(&below->shell, &c->children, argv, c->secret, false)) {
        control_complain("cannot start a remote shell", strerror(errno));
        c->wrong = true;
    }
    free(argv);
}

static void control_pass_down(struct control *c, const struct ssh_wire_frame *frame)
{
    struct ssh_parcel *parcel = ssh_parcel_of_frame(frame);
    for (uint32_t i = 0; i < c->children.count; i++)
        if (frame->rank == SSH_WIRE_ALL || frame->rank == hosts_rank(&c->block, i))
            ssh_stream_post(&c->children.ranks[i].stream, parcel);
    ssh_parcel_drop(parcel);
}

static void control_take_order(void *ctx, const struct ssh_wire_frame *frame)
{
    struct control *c = ctx;
    struct ssh_wire_message message;
    const char *why;
    if (c->wrong) return;
    if (frame->type == SSH_WIRE_SETUP && !c->set_up) {
        int complete = ssh_wire_assemble(&c->in, frame, &message, &why);
        if (complete > 0) control_start_ranks(c, &message);
        c->wrong = c->wrong || complete < 0;
    } else if (!c->set_up) {
        c->wrong = true;
    } else if (frame->type == SSH_WIRE_START) {
        int complete = ssh_wire_assemble(&c->in, frame, &message, &why);
        if (complete > 0 && c->below_count < c->below_most)
            control_start_below(c, &message);
        else
            c->wrong = c->wrong || complete != 0;
    } else if (frame->type == SSH_WIRE_SIGNAL && frame->len == 4) {
        for (uint32_t i = 0; i < c->children.count; i++)
            if (frame->rank == SSH_WIRE_ALL || frame->rank == hosts_rank(&c->block, i))
                ssh_children_signal(&c->children, i, (int)ssh_wire_u32(frame->data));
    } else if (frame->type == SSH_WIRE_ECHO) {
        control_send(c, SSH_WIRE_ECHO, SSH_WIRE_ALL, 0);
    } else {
        control_pass_down(c, frame);
    }
}

/* --- output: of this host's ranks, and of hosts below --- */

/* Outputs: one for each rank, then one for each host below. */
static uint32_t control_outputs(const struct control *c)
{
    return (c->set_up && c->outputs ? c->children.count : 0) + c->below_count;
}

static struct ssh_shell *control_output(struct control *c, uint32_t i)
{
    uint32_t ranks = control_outputs(c) - c->below_count;
    return i < ranks ? &c->outputs[i] : &c->below[i - ranks].shell;
}

/* Fills two entries for each output, and one for what was written. */
static size_t control_poll_output(struct control *c, struct pollfd *fds)
{
    uint32_t count = 2 * control_outputs(c);
    for (uint32_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = ssh_shell_wants(control_output(c, i / 2), (int)i % 2),
                                 .events = POLLIN};
    fds[count] = (struct pollfd){.fd = output_events(), .events = POLLIN};
    return count + 1;
}

static void control_read_output(struct control *c, const struct pollfd *fds, size_t count)
{
    if (fds[--count].revents) output_noted();
    for (uint32_t i = 0; i < count; i++)
        if (fds[i].revents && fds[i].fd >= 0 &&
            ssh_shell_read(control_output(c, i / 2), (int)i % 2))
            c->unfinished = true;
}

static void control_flush_output(struct control *c)
{
    for (uint32_t i = 0; i < control_outputs(c); i++) ssh_shell_flush(control_output(c, i));
    c->unfinished = false;
}

/* Closes the outputs of ranks that are empty: the ranks have ended, and other processes that hold
 * their pipes are not waited for. */
static void control_end_rank_output(struct control *c)
{
    for (uint32_t i = 0; c->outputs && i < c->children.count; i++) {
        ssh_shell_drain(&c->outputs[i]);
        if (!ssh_shell_unread(&c->outputs[i])) ssh_shell_close(&c->outputs[i]);
    }
}

static bool control_has_output(struct control *c)
{
    bool any = output_pending() > 0;
    for (uint32_t i = 0; i < 2 * control_outputs(c) && !any; i++)
        any = control_output(c, i / 2)->output[i % 2] >= 0;
    return any;
}

/* Forwards the last output of the ranks, and of the hosts below, whose control processes end with
 * the launcher's connection.  `orderly`: the launcher closed that, and takes the output as fast as
 * its own reader does; if it is killed, so is this process's remote shell, on which writing fails.
 */
static void control_end_output(struct control *c, struct pollfd *fds, bool orderly)
{
    int pauses = 0;
    if (orderly) ssh_children_ending_well(&c->children);
    for (;;) {
        control_end_rank_output(c);
        if (!control_has_output(c) || pauses == DRAIN_STEPS) break;
        const size_t count = control_poll_output(c, fds);
        if (poll(fds, count, LINE_PATIENCE) > 0) {
            control_read_output(c, fds, count);
            pauses = 0;
        } else if (!orderly || !output_pending()) {
            pauses++;
        }
    }
    for (uint32_t i = 0; i < control_outputs(c); i++) ssh_shell_close(control_output(c, i));
    free(c->outputs);
    free(c->below);
}

/* Reports lost output to the launcher; if the connection has ended, on standard error. */
static void control_report_loss(struct control *c, enum output_stream stream,
                                const struct output_loss *loss)
{
    struct ssh_wire_buf buf = {0};
    char what[80];
    c->wrong = true;
    if (c->up.fd < 0) {
        snprintf(what, sizeof what, "%" PRIu64 " bytes of output are lost: %s", loss->bytes,
                 output_name(stream));
        control_complain(what, strerror(loss->error));
        return;
    }
    ssh_wire_put_u32(&buf, (uint32_t)stream);
    ssh_wire_put_u32(&buf, (uint32_t)loss->error);
    ssh_wire_put_u64(&buf, loss->bytes);
    struct ssh_parcel *parcel = ssh_parcel_new(SSH_WIRE_LOST, SSH_WIRE_ALL, buf.data, buf.len);
    ssh_stream_post(&c->up, parcel);
    ssh_parcel_drop(parcel);
    ssh_wire_free(&buf);
}

/* Reports all lost output. Without the launcher, a closed reader or remote shell is not
 * reported. */
static void control_report_losses(struct control *c)
{
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        const struct output_loss loss = output_lost((enum output_stream)i);
        if (loss.error && (loss.error != EPIPE || c->up.fd >= 0))
            control_report_loss(c, (enum output_stream)i, &loss);
    }
    for (;;) {
        struct pollfd room = {.fd = c->up.fd, .events = POLLOUT};
        if (!(ssh_stream_events(&c->up) & POLLOUT) || poll(&room, 1, OUTPUT_GRACE) <= 0) break;
        ssh_stream_flush(&c->up);
    }
    output_finish();
}

/* Counts what rank 0 has left of its input, whose end comes with that of the job. */
static void control_count_input(struct control *c)
{
    static char bytes[16384];
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    uint32_t unread = 0;
    if (c->up.fd < 0 || hosts_index(&c->block, 0) == UINT32_MAX) return;
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK); /* processes that rank 0 left may read it too */
    while (poll(&in, 1, INPUT_PATIENCE) > 0) {
        const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) {
            control_send(c, SSH_WIRE_UNREAD, 0, unread);
            return;
        }
        unread += (uint32_t)got;
    }
}

static void control_hang_up(struct control *c)
{
    if (c->up.fd >= 0) shutdown(c->up.fd, SHUT_RDWR); /* the guard has the descriptor too */
    ssh_stream_close(&c->up);
}

/* --- the loop --- */

/* Returns false when the process has to end. */
static bool control_step(struct control *c, struct pollfd *fds, size_t max)
{
    size_t n = 0, children = c->set_up ? c->children.count : 0;
    const char *why;
    if (3 + 4 * children + 2 * (size_t)c->below_most > max) return false;
    fds[n++] = (struct pollfd){.fd = c->up.fd, .events = ssh_stream_events(&c->up)};
    fds[n++] = (struct pollfd){.fd = c->set_up ? c->children.signals : -1, .events = POLLIN};
    if (c->set_up) ssh_children_poll(&c->children, fds + n);
    n += 2 * children;
    size_t outputs = control_poll_output(c, fds + n);
    int ready = poll(fds, n + outputs, c->unfinished ? LINE_PATIENCE : -1);
    if (ready < 0) return errno == EINTR;
    if (ready == 0) control_flush_output(c);
    control_read_output(c, fds + n, outputs);
    if (fds[1].revents) {
        struct signalfd_siginfo info;
        while (read(c->children.signals, &info, sizeof info) == (ssize_t)sizeof info)
            if (info.ssi_signo == SIGTERM) return c->terminated = true, false;
        control_reap_children(c);
    }
    for (size_t i = 0; i < children; i++) {
        struct ssh_child *child = &c->children.ranks[i];
        if (fds[2 + 2 * i].revents && child->stream.fd >= 0) {
            ssh_stream_flush(&child->stream);
            control_read_child(c, child);
        }
        if (fds[3 + 2 * i].revents && child->program >= 0) { /* the wrapper still runs */
            if (child->stream.fd >= 0) control_read_child(c, child);
            ssh_children_forget(child);
            control_send(c, SSH_WIRE_SILENT, child->rank, 0);
        }
    }
    if (!fds[0].revents) return true;
    ssh_stream_flush(&c->up);
    const enum ssh_stream_state state = ssh_stream_read(&c->up, control_take_order, c, &why);
    if (state == SSH_STREAM_GARBAGE) c->wrong = control_complain("connection to the launcher", why);
    return state == SSH_STREAM_OPEN && !c->wrong;
}

int ssh_control_main(int argc, char **argv)
{
    struct control c = {0};
    enum { MOST = 4 * 65536 };
    if (argc != 6) return control_complain("command line", "not the launcher's"), 1;
    host = argv[5];
    signal(SIGPIPE, SIG_IGN); /* the remote shell may end while output is written */
    struct pollfd *fds = calloc(MOST, sizeof *fds);
    if (!fds || !output_open() ||
        !control_join(&c, argv[2], (uint16_t)atoi(argv[3]), (uint32_t)strtoul(argv[4], NULL, 10))) {
        output_finish(); /* of the reason */
        return 1;
    }
    while (control_step(&c, fds, MOST)) continue;
    if (c.set_up && c.children.ranks) {
        const bool orderly = !c.wrong && !c.terminated && c.up.error == 0;
        for (uint32_t i = 0; i < c.children.count; i++)
            ssh_children_signal(&c.children, i, SIGKILL);
        if (!orderly) control_hang_up(&c);
        control_end_output(&c, fds, orderly);
        control_count_input(&c);
    }
    control_report_losses(&c);
    control_hang_up(&c);
    if (c.set_up && c.children.ranks) ssh_children_close(&c.children);
    ssh_wire_free(&c.in.buf);
    free(fds);
    return c.wrong;
}
