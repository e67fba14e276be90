/* registry.c - which process has which slot, kept in names of abstract AF_UNIX sockets.
 *
 * A process owns slot N while it holds the name "softhca.UID.N" bound. The kernel drops the name
 * with the last descriptor, so nothing can be left behind, and no directory has to be writable.
 * Whoever connects to the name is given the segment by the owner's answering thread.
 */
#include "other/softhca/interpose/edge.h"
#include "other/softhca/objects/object.h"
#include "other/softhca/segment/segment.h"
#include "other/softhca/tcp/fabric.h"
#include "other/softhca/tcp/tcp.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t registry_slot_address(struct sockaddr_un *a, uint32_t slot)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "softhca.%u.%u", (unsigned)getuid(),
                     slot);
    return offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

/* Hold the name of SLOT, and its port when there are other hosts: a listening socket, or -1; with
 * EADDRINUSE somebody else has one of them, else it was said what is wrong. */
static int registry_bind_slot(uint32_t slot)
{
    struct sockaddr_un a;
    socklen_t len = registry_slot_address(&a, slot);
    int error = 0, s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (s < 0) {
        shca_say("cannot create an AF_UNIX socket: %m (see ulimit -n)");
        return -1;
    }
    if (bind(s, (struct sockaddr *)&a, len) < 0 || listen(s, SHCA_SLOTS) < 0) {
        error = errno;
        if (error != EADDRINUSE)
            shca_say("cannot bind the abstract socket @%s: %m", a.sun_path + 1);
    } else if (shca_fabric()->names.n > 0)
        error = shca_tcp_listen(slot);
    if (!error) return s;
    close(s);
    errno = error;
    return -1;
}

int shca_claim_slot(uint32_t *slot)
{
    /* Slot 0 stays unused so that no QP has number 0 or 1. Starting at the pid spreads the
     * processes of a job and keeps a QP number from being reused at once by another process. */
    uint32_t start = (uint32_t)getpid() % (SHCA_SLOTS - 1);
    for (uint32_t i = 0; i < SHCA_SLOTS - 1; i++) {
        *slot = 1 + (start + i) % (SHCA_SLOTS - 1);
        int s = registry_bind_slot(*slot);
        if (s >= 0 || errno != EADDRINUSE) return s;
    }
    shca_say("all %d process slots of this user are taken", SHCA_SLOTS - 1);
    errno = EUSERS;
    return -1;
}

/* The system allows a shorter queue than we asked for (net.core.somaxconn), and it is full. */
static int registry_connect_within(int s, const struct sockaddr_un *a, socklen_t len)
{
    struct timeval timeout = {.tv_sec = 10}; /* a stopped peer must not stop us for ever */
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    fcntl(s, F_SETFL, 0);
    int error = connect(s, (const struct sockaddr *)a, len);
    fcntl(s, F_SETFL, O_NONBLOCK);
    return error;
}

/* Does not wait: there is room for every process in the queue of each. A socket, -1 when no process
 * has that slot, SHCA_NO_SOCKET when there is none to be had. */
int shca_connect_slot(uint32_t slot)
{
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) {
        shca_say_of_peer("cannot create a socket to a peer: %m%s",
                         errno == EMFILE ? " (raise ulimit -n: one descriptor per peer)" : "");
        return SHCA_NO_SOCKET;
    }
    struct sockaddr_un a;
    socklen_t len = registry_slot_address(&a, slot);
    if (connect(s, (struct sockaddr *)&a, len) == 0) return s;
    if (errno == EAGAIN && registry_connect_within(s, &a, len) == 0) return s;
    close(s);
    return -1;
}
