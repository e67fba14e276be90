/* ssh_ask.h - gasnetrun --stats, --why and --top: a client asks the launcher, which asks the ranks.
 *
 * The launcher listens on a socket in the abstract namespace, named after its process id; no file
 * is created.  Only its own user and root get an answer, which is text that the spawner does not
 * interpret.
 */
#ifndef SSH_ASK_H
#define SSH_ASK_H

#include <poll.h>

#include "other/launch/ssh/ssh_wire.h"

struct ssh_master;

/* The client that asks, one at a time; further clients wait in the listener's queue. */
struct ssh_ask {
    int listener; /* -1: not available */
    int client;   /* -1: none */
    bool read;    /* the client has sent its question */
    bool own;     /* instead of a client the launcher asks, with ssh_ask_why */
    uint32_t number;
    uint32_t waiting;          /* ranks that have not answered */
    struct ssh_wire_buf *text; /* [ranks] of each, so far */
    bool *pending;             /* [ranks] */
    struct ssh_wire_buf out;   /* to be sent to the client */
    size_t sent;
};

enum { SSH_ASK_FDS = 2 };

void ssh_ask_open(struct ssh_master *m);
void ssh_ask_close(struct ssh_master *m);
/* Fills at most SSH_ASK_FDS entries to poll; ssh_ask_ready handles those that are ready. */
size_t ssh_ask_poll(struct ssh_master *m, struct pollfd *fds);
void ssh_ask_ready(struct ssh_master *m, const struct pollfd *fds, size_t count);
/* Takes a rank's answer. */
void ssh_ask_frame(struct ssh_master *m, uint32_t rank, const struct ssh_wire_frame *frame);
/* The ranks' time to answer, or that of the client to ask, is over. */
void ssh_ask_late(struct ssh_master *m);
/* The launcher itself asks what the ranks wait for, and prints the report; false: a client's
 * question is not answered yet. */
bool ssh_ask_why(struct ssh_master *m);

#endif
