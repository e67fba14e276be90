/* rpc_server.c - the RPC thread: greets peers and answers their requests.
 *
 * It sends every process that connects the memfd of the segment, hands out channel descriptors, and
 * copies to and from this process's memory for peers that may not use process_vm_*. It never waits
 * for a peer and takes no lock of a verbs object, so an initiator may wait for its reply while
 * holding its own locks.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/softhca/src/segment/process.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/settings/say.h"

static struct {
    int listener, epoll;
    int *client; /* connected sockets, for a forked child to close */
    int clients, room;
    _Atomic uint16_t connections[SHCA_SLOTS]; /* number from the process in each slot */
    pthread_mutex_t lock;                     /* protects all descriptors above */
} server = {.listener = -1, .epoll = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* Sends FD too, unless it is -1. */
static bool rpc_server_send_with_fd(int sock, const void *data, size_t len, int fd)
{
    union {
        char space[CMSG_SPACE(sizeof fd)];
        struct cmsghdr align;
    } control = {0};
    struct iovec iov = {(void *)data, len};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(sizeof fd);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    ssize_t sent;
    while ((sent = sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0 && errno == EINTR) continue;
    return sent >= 0;
}

static bool rpc_server_same_user(int sock)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
           (cred.uid == geteuid() || cred.uid == 0);
}

/* The epoll data of a client: its socket, and 1 + its slot once it has sent it. */
static uint64_t rpc_server_client_data(int sock, uint32_t who)
{
    return (uint64_t)who << 32 | (uint32_t)sock;
}

/* Whether a living process in this slot is connected, and so may hold the segment. */
bool shca_slot_attached(uint32_t slot)
{
    return slot == shca.slot || server.connections[slot] > 0;
}

static void rpc_server_drop_client(int sock, uint32_t who)
{
    if (who) server.connections[who - 1]--;
    pthread_mutex_lock(&server.lock);
    for (int i = 0; i < server.clients; i++)
        if (server.client[i] == sock) {
            server.client[i] = server.client[--server.clients];
            break;
        }
    close(sock); /* also removes it from the epoll set */
    pthread_mutex_unlock(&server.lock);
}

/* Accepts one connection: 0 or an errno value. */
static int rpc_server_accept(void)
{
    int sock = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
    if (sock < 0) return errno;
    if (server.clients == server.room) {
        int room = server.room ? 2 * server.room : 16;
        int *more = realloc(server.client, room * sizeof *more);
        if (more) server.client = more, server.room = room;
    }
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP,
                            .data.u64 = rpc_server_client_data(sock, 0)};
    int error = 0;
    if (server.clients == server.room)
        error = ENOMEM;
    else if (epoll_ctl(server.epoll, EPOLL_CTL_ADD, sock, &e) < 0)
        error = errno;
    if (!error && rpc_server_same_user(sock)) {
        server.client[server.clients++] = sock;
        return 0;
    }
    close(sock); /* also removes it from the epoll set */
    return error;
}

static void rpc_server_admit(void)
{
    static int reported; /* once: the peer retries */
    pthread_mutex_lock(&server.lock);
    int error = rpc_server_accept();
    pthread_mutex_unlock(&server.lock);
    const bool files = error == EMFILE || error == ENFILE;
    if (error && error != EINTR && error != EAGAIN && error != ECONNABORTED && !reported++)
        shca_say("cannot accept a peer: %s%s", strerror(error), files ? " (raise ulimit -n)" : "");
    if (files) usleep(100000); /* the backlog stays readable */
}

/* The first message is the slot of the client. Only then is the segment sent: after a death the
 * worker thread must know whose claims to recover. */
static void rpc_server_greet(int sock, uint32_t slot)
{
    uint32_t who = slot % SHCA_SLOTS + 1;
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP,
                            .data.u64 = rpc_server_client_data(sock, who)};
    epoll_ctl(server.epoll, EPOLL_CTL_MOD, sock, &e);
    server.connections[who - 1]++;
    struct shca_greeting g = {.slot = shca.slot,
                              .memfd = shca.me.memfd,
                              .dev = shca.me.dev,
                              .ino = shca.me.ino,
                              .heap_end = shca.me.h->heap_end,
                              .arena_end = shca.me.h->arena_end};
    if (!rpc_server_send_with_fd(sock, &g, sizeof g, shca.me.memfd) &&
        !rpc_server_send_with_fd(sock, &g, sizeof g, -1))
        shutdown(sock, SHUT_RDWR); /* the client must not wait for it */
}

/* The socket calls themselves read and write the memory: the kernel reports EFAULT instead of a
 * crash. */
static void rpc_server_answer_read(int sock, const struct shca_rpc_request *q)
{
    struct shca_rpc_reply a = {0};
    struct iovec iov[2] = {{&a, sizeof a}, {(void *)(uintptr_t)q->va, q->len}};
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
    if (sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return;
    a.error = errno;
    rpc_server_send_with_fd(sock, &a, sizeof a, -1);
}

static void rpc_server_answer_write(int sock, const struct shca_rpc_request *peeked)
{
    struct shca_rpc_request q;
    struct shca_rpc_reply a = {0};
    struct iovec iov[2] = {{&q, sizeof q}, {(void *)(uintptr_t)peeked->va, peeked->len}};
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
    if (recvmsg(sock, &m, MSG_DONTWAIT) < 0) {
        a.error = errno;
        recv(sock, &q, sizeof q, MSG_DONTWAIT); /* the request may still be queued */
    }
    rpc_server_send_with_fd(sock, &a, sizeof a, -1);
}

static void rpc_server_answer_atomic(int sock, const struct shca_rpc_request *q)
{
    struct shca_rpc_reply a = {0};
    uint64_t *word = (uint64_t *)(uintptr_t)q->va;
    if (q->what == RPC_ADD)
        a.value = __atomic_fetch_add(word, q->a, __ATOMIC_SEQ_CST);
    else {
        a.value = q->a;
        __atomic_compare_exchange_n(word, &a.value, q->b, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    }
    rpc_server_send_with_fd(sock, &a, sizeof a, -1);
}

static void rpc_server_answer_descriptor(int sock, int fd)
{
    struct shca_rpc_reply a = {.error = fd < 0 ? ENOENT : 0};
    rpc_server_send_with_fd(sock, &a, sizeof a, fd);
}

static void rpc_server_answer(int sock, uint32_t who, uint32_t events)
{
    struct shca_rpc_request q;
    ssize_t n = recv(sock, &q, sizeof q, MSG_PEEK | MSG_DONTWAIT);
    if (!who && n == sizeof(uint32_t)) {
        recv(sock, &q, sizeof q, MSG_DONTWAIT);
        rpc_server_greet(sock, q.what);
        return;
    }
    if (!who || n < (ssize_t)sizeof q) {
        if (n < 0 && errno == EAGAIN && !(events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))) return;
        rpc_server_drop_client(sock, who);
        shca_worker_sweep();
        return;
    }
    if (q.what == RPC_WRITE) {
        rpc_server_answer_write(sock, &q);
        return;
    }
    recv(sock, &q, sizeof q, MSG_DONTWAIT);
    if (q.what == RPC_READ) rpc_server_answer_read(sock, &q);
    if (q.what == RPC_CHANNEL) rpc_server_answer_descriptor(sock, shca_channel_fd(q.id));
    if (q.what == RPC_MEMORY) rpc_server_answer_descriptor(sock, shca.me.memfd);
    if (q.what == RPC_RING) shca_worker_wake();
    if (q.what == RPC_ADD || q.what == RPC_SWAP) rpc_server_answer_atomic(sock, &q);
}

static void rpc_server_make_alive_mark(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shca.h->alive, &attr);
}

static void *rpc_server_main(void *unused)
{
    pthread_mutex_lock(&shca.h->alive);
    for (;;) {
        struct epoll_event e[16];
        int n = epoll_wait(server.epoll, e, 16, -1);
        for (int i = 0; i < n; i++) {
            if (e[i].data.u64 == rpc_server_client_data(server.listener, 0))
                rpc_server_admit();
            else
                rpc_server_answer((int)(uint32_t)e[i].data.u64, e[i].data.u64 >> 32, e[i].events);
        }
    }
    return NULL;
}

int shca_rpc_server_start(int listener)
{
    rpc_server_make_alive_mark();
    server.listener = listener;
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = rpc_server_client_data(listener, 0)};
    if (server.epoll < 0 || epoll_ctl(server.epoll, EPOLL_CTL_ADD, listener, &e) < 0) return errno;
    return shca_thread(rpc_server_main);
}

void shca_rpc_server_lock(void)
{
    pthread_mutex_lock(&server.lock);
}

void shca_rpc_server_unlock(void)
{
    pthread_mutex_unlock(&server.lock);
}

/* The child must not keep connections of its parent. */
void shca_rpc_server_in_child(void)
{
    if (server.listener >= 0) close(server.listener);
    if (server.epoll >= 0) close(server.epoll);
    for (int i = 0; i < server.clients; i++) close(server.client[i]);
    server.listener = server.epoll = -1;
    server.clients = 0;
    memset(server.connections, 0, sizeof server.connections);
    shca_rpc_server_unlock(); /* locked before the fork */
}
