/* registry.c - assigns process slots by names of abstract AF_UNIX sockets.
 *
 * A process owns slot N while it holds the name "softhca.UID.N" bound. The kernel releases the name
 * with the last descriptor, so nothing is left behind and no directory has to be writable. A
 * process that connects to the name receives the segment from the owner's RPC thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "other/base/uncancelled.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/settings/limits.h"
#include "other/softhca/src/settings/say.h"

static socklen_t registry_slot_address(struct sockaddr_un *a, uint32_t slot)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "softhca.%u.%u", (unsigned)getuid(),
                     slot);
    return offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

/* Binds the name of SLOT and calls CLAIM, which takes what else belongs to the slot: a listening
 * socket, or -1. EADDRINUSE: another process has one of them; other errors were reported. */
static int registry_bind_slot(uint32_t slot, int (*claim)(uint32_t slot))
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
    } else if (claim)
        error = claim(slot);
    if (!error) return s;
    close(s);
    errno = error;
    return -1;
}

int shca_claim_slot(uint32_t *slot, int (*claim)(uint32_t slot))
{
    /* Slot 0 stays unused so that no QP has number 0 or 1. Starting at the pid spreads the slots
     * and delays the reuse of QP numbers by another process. */
    uint32_t start = (uint32_t)getpid() % (SHCA_SLOTS - 1);
    for (uint32_t i = 0; i < SHCA_SLOTS - 1; i++) {
        *slot = 1 + (start + i) % (SHCA_SLOTS - 1);
        int s = registry_bind_slot(*slot, claim);
        if (s >= 0 || errno != EADDRINUSE) return s;
    }
    shca_say("all %d process slots of this user are taken", SHCA_SLOTS - 1);
    errno = EUSERS;
    return -1;
}

/* Any user may bind a name that is free: only a process of this one is a peer, or one of root. */
static bool registry_is_peer(int s)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    return getsockopt(s, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
           (cred.uid == geteuid() || cred.uid == 0);
}

/* A connection to a local socket that was interrupted has not begun. */
static int registry_connect(int s, const struct sockaddr_un *a, socklen_t len)
{
    int error;
    while ((error = connect(s, (const struct sockaddr *)a, len)) < 0 && errno == EINTR) continue;
    return error;
}

/* The peer's backlog is full (net.core.somaxconn): wait for room. */
static int registry_connect_within(int s, const struct sockaddr_un *a, socklen_t len)
{
    struct timeval timeout = {.tv_sec = 10}; /* the peer may be stopped */
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    fcntl(s, F_SETFL, 0);
    int error = registry_connect(s, a, len);
    fcntl(s, F_SETFL, O_NONBLOCK);
    return error;
}

/* A connected socket; -1: no process has that slot; SHCA_NO_SOCKET: no socket could be made. Waits
 * only when the backlog of the peer is full. */
int shca_connect_slot(uint32_t slot)
{
    GASNETI_UNCANCELLED;
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) {
        shca_say_of_peer("cannot create a socket to a peer: %m%s",
                         errno == EMFILE ? " (raise ulimit -n: one descriptor per peer)" : "");
        return SHCA_NO_SOCKET;
    }
    struct sockaddr_un a;
    socklen_t len = registry_slot_address(&a, slot);
    bool connected = registry_connect(s, &a, len) == 0;
    if (!connected && errno == EAGAIN) connected = registry_connect_within(s, &a, len) == 0;
    if (connected && registry_is_peer(s)) return s;
    close(s);
    return -1;
}
