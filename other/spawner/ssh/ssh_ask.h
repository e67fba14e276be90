/* ssh_ask.h - a look into a running job: somebody asks its launcher, which asks the ranks.
 *
 * The launcher listens on a socket of the abstract kind, named after its process id: nothing of it
 * is in a file system.  Only its own user, and root, get an answer.  What the ranks say is text,
 * and none of the spawner's business.
 */
#ifndef SSH_ASK_H
#define SSH_ASK_H

#include "other/spawner/ssh/ssh_wire.h"

#include <poll.h>

struct ssh_master;

/* One question at a time; who asks meanwhile waits in the listener's queue. */
struct ssh_ask {
    int listener; /* -1: cannot be asked */
    int client;   /* -1: nobody asks */
    uint32_t number;
    uint32_t waiting;          /* ranks that have not answered */
    struct ssh_wire_buf *text; /* [ranks] of each, so far */
    bool *pending;             /* [ranks] */
    struct ssh_wire_buf out;   /* for the client */
    size_t sent;
};

enum { SSH_ASK_FDS = 2 };

void ssh_ask_open(struct ssh_master *m);
void ssh_ask_close(struct ssh_master *m);
/* What to poll, at most SSH_ASK_FDS; ready ones are handled afterwards. */
size_t ssh_ask_poll(struct ssh_master *m, struct pollfd *fds);
void ssh_ask_ready(struct ssh_master *m, const struct pollfd *fds, size_t count);
/* A rank answers. */
void ssh_ask_frame(struct ssh_master *m, uint32_t rank, const struct ssh_wire_frame *frame);
/* The ranks had their time. */
void ssh_ask_late(struct ssh_master *m);

#endif
