/* ssh_shell.h - one remote shell as its starter sees it: a process, its input, its output.
 *
 * Used by the launcher and by control processes, which both start further control processes; by the
 * latter also for the output alone of the ranks that they start.
 */
#ifndef SSH_SHELL_H
#define SSH_SHELL_H

#include "other/spawner/lines.h"
#include "other/spawner/ssh/ssh_children.h"

/* What ssh says of the other host's key before it gives up. */
enum ssh_shell_key { SSH_KEY_FINE, SSH_KEY_UNKNOWN, SSH_KEY_CHANGED };

struct ssh_shell {
    pid_t pid; /* 0: none (any more) */
    enum ssh_shell_key key;
    int input;     /* pipe to its stdin, or -1 */
    int output[2]; /* pipes from its stdout and stderr, or -1 */
    struct lines lines[2];
};

void ssh_shell_init(struct ssh_shell *shell);
/* Starts it and hands it the secret; its input stays open if `keep_input`.  False: errno tells. */
bool ssh_shell_start(struct ssh_shell *shell, struct ssh_children *kids, char *const *argv,
                     const char *secret, bool keep_input);
/* Only the output, of a process that is given `theirs` as 1 and 2; the caller closes them, also
 * when this fails (-1: not made). */
bool ssh_shell_listen(struct ssh_shell *shell, int theirs[2]);
void ssh_shell_close_input(struct ssh_shell *shell);
/* Passes on what it wrote, in whole lines; true if an unfinished one waits. */
bool ssh_shell_read(struct ssh_shell *shell, int which);
/* The same with all that is there already. */
void ssh_shell_drain(struct ssh_shell *shell);
void ssh_shell_flush(struct ssh_shell *shell);
/* It is gone, and all it said has been passed on. */
bool ssh_shell_done(const struct ssh_shell *shell);
void ssh_shell_close(struct ssh_shell *shell); /* kills it */

#endif
