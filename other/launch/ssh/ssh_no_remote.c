/* ssh_no_remote.c - ssh_remote.c, ssh_unauthenticated.c, ssh_shell.c and ssh_seal.c in programs
 * that are the launchers of their own ranks (ssh_forked.c): there are no other hosts.
 *
 * Thus a program needs neither remote shells nor libcrypto.
 */
#include <stdlib.h>
#include <unistd.h>

#include "other/launch/ssh/ssh_master.h"

bool ssh_remote_command(const struct ssh_master *m, uint32_t s, struct shell_words *command)
{
    return false;
}

bool ssh_remote_start(struct ssh_master *m)
{
    return true;
}

size_t ssh_remote_poll_max(const struct ssh_master *m)
{
    return 0;
}

size_t ssh_remote_poll(struct ssh_master *m, struct pollfd *fds)
{
    return 0;
}

void ssh_remote_ready(struct ssh_master *m, const struct pollfd *fds, size_t count) {}

/* A process that a rank has left behind. */
bool ssh_remote_shell_ended(struct ssh_master *m, pid_t pid, int status)
{
    return false;
}

void ssh_remote_send(struct ssh_host_slot *slot, struct ssh_parcel *parcel) {}

void ssh_remote_signal(struct ssh_host_slot *slot, uint32_t rank, int signo) {}

void ssh_remote_end(struct ssh_master *m) {}

void ssh_remote_connect_late(struct ssh_master *m) {}

void ssh_remote_connect_slow(struct ssh_master *m) {}

uint32_t ssh_remote_awaited(const struct ssh_master *m, const struct ssh_host_slot **first)
{
    return 0;
}

void ssh_remote_flush_lines(struct ssh_master *m) {}

void ssh_remote_ask_echo(struct ssh_master *m) {}

void ssh_remote_no_echo(struct ssh_master *m) {}

void ssh_remote_leave_mute(struct ssh_master *m) {}

bool ssh_remote_finished(struct ssh_master *m)
{
    return true;
}

size_t ssh_remote_unread(const struct ssh_master *m)
{
    return 0;
}

void ssh_remote_close(struct ssh_master *m) {}

void ssh_unauthenticated_late(struct ssh_master *m) {}

/* The pipe to rank 0 is the only input. */
void ssh_shell_init(struct ssh_shell *shell)
{
    shell->input = -1;
}

void ssh_shell_close_input(struct ssh_shell *shell)
{
    if (shell->input >= 0) close(shell->input);
    shell->input = -1;
}

/* No stream is sealed. */
void ssh_seal_close(struct ssh_seal *seal, const uint8_t *plain, size_t len,
                    struct ssh_wire_buf *record)
{
    abort();
}

ssize_t ssh_seal_open(struct ssh_seal *seal, uint8_t *bytes, size_t len, uint8_t **plain,
                      size_t *plain_len)
{
    abort();
}
