/* ssh_input.c - standard input on its way to rank 0, where the launcher forwards it.
 *
 * Called by the launcher's event loop.  A rank 0 on another host gets its input through the remote
 * shell.  One on this machine shares the launcher's own descriptor, unless that is a terminal in
 * whose background the job was started: then it gets a pipe.  Bytes that rank 0 has not read must
 * not be lost to whoever reads the same file after this job, and what is typed to a shell is not
 * this job's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "other/launch/ssh/ssh_master.h"

enum { LOOK_EVERY = 300 }; /* ms between two looks whether the job is in the foreground */

/* A terminal's input is for the process group in its foreground.  The kernel would stop this
 * process if it read, and does not stop the ranks, which are in another session. */
static bool input_is_ours(void)
{
    const pid_t group = tcgetpgrp(STDIN_FILENO);
    return group < 0 || group == getpgrp();
}

static struct ssh_host_slot *input_slot(const struct ssh_master *m)
{
    return &m->slots[m->slot_of[0]];
}

int ssh_input_open(int *forward)
{
    int ends[2];
    *forward = -1;
    if (input_is_ours() || pipe2(ends, O_CLOEXEC) != 0) return STDIN_FILENO;
    *forward = ends[1];
    return ends[0];
}

void ssh_input_forward(struct ssh_master *m, int forward)
{
    if (forward < 0) return;
    fcntl(forward, F_SETFL, O_NONBLOCK);
    signal(SIGPIPE, SIG_IGN); /* rank 0 may end while input is written */
    input_slot(m)->shell.input = forward;
}

static void input_write(struct ssh_master *m, struct ssh_shell *to)
{
    struct ssh_input *in = &m->input;
    ssize_t wrote = write(to->input, in->bytes + in->at, in->len - in->at);
    if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (wrote > 0)
        in->at += (size_t)wrote;
    else
        ssh_shell_close_input(to);
}

static void input_read(struct ssh_master *m, struct ssh_shell *to)
{
    struct ssh_input *in = &m->input;
    ssize_t got = read(STDIN_FILENO, in->bytes, sizeof in->bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    in->at = 0;
    in->len = got > 0 ? (size_t)got : 0;
    if (got <= 0) ssh_shell_close_input(to);
}

size_t ssh_input_poll(struct ssh_master *m, struct pollfd *fds)
{
    const struct ssh_host_slot *slot = input_slot(m);
    size_t n = 0;
    if (slot->shell.input < 0 || (slot->placement->remote && !slot->joined)) return 0;
    if (m->input.at < m->input.len)
        ssh_poll_add(fds, &n, slot->shell.input, POLLOUT);
    else if (input_is_ours())
        ssh_poll_add(fds, &n, STDIN_FILENO, POLLIN);
    else if (!m->due[SSH_TIMER_INPUT])
        ssh_timer_set(m, SSH_TIMER_INPUT, LOOK_EVERY);
    return n;
}

void ssh_input_ready(struct ssh_master *m, const struct pollfd *fds, size_t count)
{
    struct ssh_shell *to = &input_slot(m)->shell;
    if (to->input < 0) return;
    if (m->input.at < m->input.len && ssh_poll_ready(fds, count, to->input))
        input_write(m, to);
    else if (ssh_poll_ready(fds, count, STDIN_FILENO) && input_is_ours())
        input_read(m, to);
}

void ssh_input_return(const struct ssh_master *m)
{
    const struct ssh_input *in = &m->input;
    const off_t left = (off_t)in->unread + (off_t)(in->len - in->at);
    if (in->told && left) lseek(STDIN_FILENO, -left, SEEK_CUR); /* a pipe takes nothing back */
}
