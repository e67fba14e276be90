/* ssh_shell.h - a remote shell: its process, its input, its output.
 *
 * For the launcher and control processes, which both start control processes of other hosts.  A
 * control process uses the output part alone for its ranks.
 */
#ifndef SSH_SHELL_H
#define SSH_SHELL_H

#include "other/launch/lines.h"
#include "other/launch/ssh/ssh_children.h"

/* The report of ssh on the key of the remote host. */
enum ssh_shell_key { SSH_KEY_FINE, SSH_KEY_UNKNOWN, SSH_KEY_CHANGED };

struct ssh_shell {
    pid_t pid; /* 0: none, or ended */
    enum ssh_shell_key key;
    int input;     /* pipe to the shell's stdin, or -1 */
    int output[2]; /* pipes from the shell's stdout and stderr, or -1 */
    struct lines lines[2];
};

void ssh_shell_init(struct ssh_shell *shell);
/* Starts the process and writes the secret to its input, which stays open if `keep_input`.
 * Returns false with errno. */
bool ssh_shell_start(struct ssh_shell *shell, struct ssh_children *children, char *const *argv,
                     const char *secret, bool keep_input);
/* Makes pipes for the output alone, of a process that gets `theirs` as 1 and 2.  The caller closes
 * `theirs`, also on failure (-1: not made). */
bool ssh_shell_listen(struct ssh_shell *shell, int theirs[2]);
void ssh_shell_close_input(struct ssh_shell *shell);
/* The output to poll, -1: none. While output.h keeps as much as it may of that stream, nothing is
 * read, so a process that writes to the shell waits. */
int ssh_shell_wants(const struct ssh_shell *shell, int which);
/* Forwards one read of output in whole lines; returns whether an unfinished line is left. */
bool ssh_shell_read(struct ssh_shell *shell, int which);
/* Forwards all output that is available, up to the bound of output.h. */
void ssh_shell_drain(struct ssh_shell *shell);
void ssh_shell_flush(struct ssh_shell *shell);
/* Bytes that are available and have not been read. */
size_t ssh_shell_unread(const struct ssh_shell *shell);
/* Whether the process has ended and all its output is forwarded. */
bool ssh_shell_done(const struct ssh_shell *shell);
void ssh_shell_close(struct ssh_shell *shell); /* kills the process */

#endif
