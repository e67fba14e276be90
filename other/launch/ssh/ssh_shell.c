/* ssh_shell.c - see ssh_shell.h.  Takes no decisions about the end of a shell. */
#define _GNU_SOURCE
#include "other/launch/ssh/ssh_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "other/launch/launcher_log.h"
#include "other/launch/output.h"

/* An output stream of a remote shell. */
struct shell_stream {
    struct ssh_shell *shell;
    int which; /* 0: stdout, 1: stderr */
};

static void shell_close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

void ssh_shell_init(struct ssh_shell *shell)
{
    memset(shell, 0, sizeof *shell);
    shell->input = shell->output[0] = shell->output[1] = -1;
}

bool ssh_shell_start(struct ssh_shell *shell, struct ssh_children *children, char *const *argv,
                     const char *secret, bool keep_input)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    bool good = true;
    for (int i = 0; i < 3; i++) good = good && pipe2(pipes[i], O_CLOEXEC) == 0;
    const int theirs[3] = {pipes[0][0], pipes[1][1], pipes[2][1]};
    pid_t pid = good ? ssh_children_start_helper(children, argv, theirs) : -1;
    int error = errno;
    shell_close_fd(&pipes[0][0]);
    shell_close_fd(&pipes[1][1]);
    shell_close_fd(&pipes[2][1]);
    shell->pid = pid > 0 ? pid : 0;
    shell->input = pipes[0][1];
    shell->output[0] = pipes[1][0];
    shell->output[1] = pipes[2][0];
    errno = error;
    if (pid <= 0) return false;

    char line[SSH_WIRE_SECRET + 2];
    int len = snprintf(line, sizeof line, "%s\n", secret);
    if (write(shell->input, line, (size_t)len) != len) shell_close_fd(&shell->input);
    for (int which = 0; which < 2; which++) fcntl(shell->output[which], F_SETFL, O_NONBLOCK);
    if (keep_input && shell->input >= 0)
        fcntl(shell->input, F_SETFL, O_NONBLOCK);
    else
        shell_close_fd(&shell->input);
    return true;
}

/* Moves the own end to a high number, so that the rank's stay small. */
static bool shell_make_output(int *ours, int *theirs)
{
    enum { OUT_OF_THE_WAY = 32 };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    *ours = fcntl(ends[0], F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (*ours < 0)
        *ours = ends[0]; /* the limit leaves no high number */
    else
        close(ends[0]);
    *theirs = ends[1];
    return fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

bool ssh_shell_listen(struct ssh_shell *shell, int theirs[2])
{
    ssh_shell_init(shell);
    theirs[0] = theirs[1] = -1;
    return shell_make_output(&shell->output[0], &theirs[0]) &&
           shell_make_output(&shell->output[1], &theirs[1]);
}

void ssh_shell_close_input(struct ssh_shell *shell)
{
    shell_close_fd(&shell->input);
}

/* Looks for OpenSSH's messages about host keys. */
static void shell_note_key(struct ssh_shell *shell, const char *text, size_t len)
{
    static const char changed[] = "REMOTE HOST IDENTIFICATION HAS CHANGED";
    static const char refused[] = "Host key verification failed";
    if (memmem(text, len, changed, sizeof changed - 1))
        shell->key = SSH_KEY_CHANGED;
    else if (shell->key == SSH_KEY_FINE && memmem(text, len, refused, sizeof refused - 1))
        shell->key = SSH_KEY_UNKNOWN;
}

static void shell_write_out(void *ctx, const char *text, size_t len)
{
    const struct shell_stream *stream = ctx;
    if (stream->which == 1) shell_note_key(stream->shell, text, len);
    launcher_progress(NULL);
    output_put(stream->which == 0 ? OUTPUT_STDOUT : OUTPUT_STDERR, text, len);
}

static bool shell_held_up(int which)
{
    return output_full(which == 0 ? OUTPUT_STDOUT : OUTPUT_STDERR);
}

int ssh_shell_wants(const struct ssh_shell *shell, int which)
{
    return shell_held_up(which) ? -1 : shell->output[which];
}

/* Reads what the shell has written to one of its streams.  False: there is nothing now, or the
 * stream has ended. */
static bool shell_read_some(struct ssh_shell *shell, int which)
{
    char bytes[16384];
    struct shell_stream to = {shell, which};
    struct lines *lines = &shell->lines[which];
    ssize_t got = read(shell->output[which], bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
    if (got <= 0) {
        lines_flush(lines, shell_write_out, &to);
        shell_close_fd(&shell->output[which]);
        return false;
    }
    lines_feed(lines, bytes, (size_t)got, shell_write_out, &to);
    return true;
}

bool ssh_shell_read(struct ssh_shell *shell, int which)
{
    shell_read_some(shell, which);
    return shell->lines[which].len > 0;
}

void ssh_shell_drain(struct ssh_shell *shell)
{
    for (int which = 0; which < 2; which++)
        while (ssh_shell_wants(shell, which) >= 0 && shell_read_some(shell, which)) continue;
}

void ssh_shell_flush(struct ssh_shell *shell)
{
    for (int which = 0; which < 2; which++) {
        struct shell_stream to = {shell, which};
        lines_flush(&shell->lines[which], shell_write_out, &to);
    }
}

size_t ssh_shell_unread(const struct ssh_shell *shell)
{
    size_t all = 0;
    for (int which = 0; which < 2; which++) {
        int here = 0;
        if (shell->output[which] >= 0 && ioctl(shell->output[which], FIONREAD, &here) == 0)
            all += (size_t)here;
    }
    return all;
}

bool ssh_shell_done(const struct ssh_shell *shell)
{
    return !shell->pid && shell->output[0] < 0 && shell->output[1] < 0;
}

void ssh_shell_close(struct ssh_shell *shell)
{
    ssh_shell_flush(shell);
    ssh_children_kill_helper(shell->pid, SIGKILL);
    shell_close_fd(&shell->input);
    for (int which = 0; which < 2; which++) {
        shell_close_fd(&shell->output[which]);
        lines_free(&shell->lines[which]);
    }
}
