/* rpc_client.c - requests to the RPC thread of a peer, which replies whatever its program does.
 *
 * One request at a time per peer, under its rpc lock. A stopped peer does not reply: after a
 * timeout the connection is shut down, so that a late reply is not taken for that of the next
 * request.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "other/base/uncancelled.h"
#include "other/softhca/src/segment/peer.h"

enum { TIMEOUT_S = 10 }; /* seconds */

/* Receives a packet and the descriptor that came with it; *FD is unchanged when none did. */
ssize_t shca_receive(int sock, struct iovec *iov, int n, int *fd, int flags)
{
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr m = {
        .msg_iov = iov, .msg_iovlen = n, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (fd && c && c->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return got;
}

/* The socket is non-blocking until its first request. */
static void rpc_client_set_timeout(struct shca_peer *p)
{
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    setsockopt(p->sock, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    setsockopt(p->sock, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    fcntl(p->sock, F_SETFL, 0);
    p->timed = true;
}

/* Sends Q, with DATA for a write, and waits for the reply, with DATA for a read. */
static int rpc_client_call(struct shca_peer *p, struct shca_rpc_request *q, void *data,
                           uint64_t *value, int *fd)
{
    GASNETI_UNCANCELLED;
    struct iovec out[2] = {{q, sizeof *q}, {data, q->len}};
    struct msghdr m = {.msg_iov = out, .msg_iovlen = q->what == RPC_WRITE ? 2 : 1};
    ssize_t n;
    if (!p->timed) rpc_client_set_timeout(p);
    do n = sendmsg(p->sock, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0) return errno;
    struct shca_rpc_reply a;
    struct iovec in[2] = {{&a, sizeof a}, {data, q->len}};
    do n = shca_receive(p->sock, in, q->what == RPC_READ ? 2 : 1, fd, 0);
    while (n < 0 && errno == EINTR);
    if (n < (ssize_t)sizeof a) {
        int e = n < 0 ? errno : ECONNRESET;
        shutdown(p->sock, SHUT_RDWR);
        return e;
    }
    if (value) *value = a.value;
    return a.error;
}

/* p->rpc held. */
int shca_rpc_channel(struct shca_peer *p, uint32_t id)
{
    struct shca_rpc_request q = {.what = RPC_CHANNEL, .id = id};
    int fd = -1;
    rpc_client_call(p, &q, NULL, NULL, &fd);
    return fd;
}

/* p->rpc held. */
int shca_rpc_memory(struct shca_peer *p)
{
    struct shca_rpc_request q = {.what = RPC_MEMORY};
    int fd = -1;
    rpc_client_call(p, &q, NULL, NULL, &fd);
    return fd;
}

int shca_rpc_copy(struct shca_peer *p, bool write, uint64_t va, void *data, size_t len)
{
    int error = 0;
    shca_lock(&p->rpc);
    for (size_t done = 0; done < len && !error;) {
        size_t n = len - done < SHCA_CHUNK ? len - done : SHCA_CHUNK;
        struct shca_rpc_request q = {
            .what = write ? RPC_WRITE : RPC_READ, .va = va + done, .len = n};
        error = rpc_client_call(p, &q, (char *)data + done, NULL, NULL);
        done += n;
    }
    shca_unlock(&p->rpc);
    return error;
}

int shca_rpc_atomic(struct shca_peer *p, bool swap, uint64_t va, uint64_t a, uint64_t b,
                    uint64_t *old)
{
    struct shca_rpc_request q = {.what = swap ? RPC_SWAP : RPC_ADD, .va = va, .a = a, .b = b};
    shca_lock(&p->rpc);
    int error = rpc_client_call(p, &q, NULL, old, NULL);
    shca_unlock(&p->rpc);
    return error;
}

/* Wakes the worker thread of a peer that is not attached yet. There is no reply. */
void shca_rpc_ring(struct shca_peer *p)
{
    GASNETI_UNCANCELLED;
    struct shca_rpc_request q = {.what = RPC_RING};
    send(p->sock, &q, sizeof q, MSG_NOSIGNAL | MSG_DONTWAIT);
}
