/* server.c - the answering thread, and the questions that peers put to it.
 *
 * It greets whoever connects with the descriptors of the segment, hands out channel descriptors,
 * and copies to and from this process's memory for peers that may not use process_vm_*. It never
 * waits for a peer and takes no lock of a verbs object, so an initiator may wait for its answer
 * while holding locks of its own.
 */
#include "object.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ASK_CHANNEL = 1, ASK_READ, ASK_WRITE, ASK_ADD, ASK_SWAP };
enum { CHUNK = 32768 };

struct question {
    uint32_t what, id;
    uint64_t va, len;
    uint64_t a, b;
};
struct answer {
    int32_t error, pad;
    uint64_t value;
};

static struct {
    int listener, epoll;
    int *client; /* connected descriptors, for the child of a fork to close */
    int clients, room;
    _Atomic uint16_t connections[SHCA_SLOTS]; /* of the process in each slot */
    pthread_mutex_t lock;                     /* descriptors come and go under it */
} server = {.listener = -1, .epoll = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static void send_with_fds(int sock, const void *data, size_t len, const int *fd, int n)
{
    union {
        char space[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec iov = {(void *)data, len};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    if (n > 0) {
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(c), fd, n * sizeof(int));
    }
    sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool same_user(int sock)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
           (cred.uid == geteuid() || cred.uid == 0);
}

/* What an epoll entry knows of a client: its socket, and 1 + its slot once it has said it. */
static uint64_t client_data(int sock, uint32_t who)
{
    return (uint64_t)who << 32 | (uint32_t)sock;
}

/* Whether a living process holds this slot and our segment. */
bool shca_guest(uint32_t slot)
{
    return slot == shca.slot || server.connections[slot] > 0;
}

static void drop_client(int sock, uint32_t who)
{
    if (who) server.connections[who - 1]--;
    pthread_mutex_lock(&server.lock);
    for (int i = 0; i < server.clients; i++)
        if (server.client[i] == sock) {
            server.client[i] = server.client[--server.clients];
            break;
        }
    close(sock); /* leaves the epoll set by itself */
    pthread_mutex_unlock(&server.lock);
}

/* Take in the next who knocks: 0, or an errno value. */
static int let_in(void)
{
    int sock = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
    if (sock < 0) return errno;
    if (server.clients == server.room) {
        int room = server.room ? 2 * server.room : 16;
        int *more = realloc(server.client, room * sizeof *more);
        if (more) server.client = more, server.room = room;
    }
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = client_data(sock, 0)};
    if (!same_user(sock) || server.clients == server.room ||
        epoll_ctl(server.epoll, EPOLL_CTL_ADD, sock, &e) < 0)
        close(sock);
    else
        server.client[server.clients++] = sock;
    return 0;
}

static void admit(void)
{
    static int told; /* once: the peer tries again and again */
    pthread_mutex_lock(&server.lock);
    int error = let_in();
    pthread_mutex_unlock(&server.lock);
    if (error != EMFILE && error != ENFILE) return;
    if (!told++) shca_say("cannot accept a peer: %s (raise ulimit -n)", strerror(error));
    usleep(100000); /* the backlog stays readable */
}

/* Its first message tells its slot. Only then is it handed the segment: what it leaves half done
 * in there must be known for the work of a dead one. */
static void greet(int sock, uint32_t slot)
{
    uint32_t who = slot % SHCA_SLOTS + 1;
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = client_data(sock, who)};
    epoll_ctl(server.epoll, EPOLL_CTL_MOD, sock, &e);
    server.connections[who - 1]++;
    int fd[2] = {shca.me.memfd, shca.me.doorbell};
    send_with_fds(sock, &shca.slot, sizeof shca.slot, fd, 2);
}

/* Data moves by the socket calls themselves: the kernel answers EFAULT where we would crash. */
static void answer_read(int sock, const struct question *q)
{
    struct answer a = {0};
    struct iovec iov[2] = {{&a, sizeof a}, {(void *)(uintptr_t)q->va, q->len}};
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
    if (sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return;
    a.error = errno;
    send_with_fds(sock, &a, sizeof a, NULL, 0);
}

static void answer_write(int sock, const struct question *peeked)
{
    struct question q;
    struct answer a = {0};
    struct iovec iov[2] = {{&q, sizeof q}, {(void *)(uintptr_t)peeked->va, peeked->len}};
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
    if (recvmsg(sock, &m, MSG_DONTWAIT) < 0) {
        a.error = errno;
        recv(sock, &q, sizeof q, MSG_DONTWAIT); /* in case it is still queued */
    }
    send_with_fds(sock, &a, sizeof a, NULL, 0);
}

static void answer_atomic(int sock, const struct question *q)
{
    struct answer a = {0};
    uint64_t *word = (uint64_t *)(uintptr_t)q->va;
    if (q->what == ASK_ADD)
        a.value = __atomic_fetch_add(word, q->a, __ATOMIC_SEQ_CST);
    else {
        a.value = q->a;
        __atomic_compare_exchange_n(word, &a.value, q->b, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    }
    send_with_fds(sock, &a, sizeof a, NULL, 0);
}

static void answer_channel(int sock, const struct question *q)
{
    int fd = shca_channel_fd(q->id);
    struct answer a = {.error = fd < 0 ? ENOENT : 0};
    send_with_fds(sock, &a, sizeof a, &fd, fd < 0 ? 0 : 1);
}

static void answer(int sock, uint32_t who, uint32_t events)
{
    struct question q;
    ssize_t n = recv(sock, &q, sizeof q, MSG_PEEK | MSG_DONTWAIT);
    if (!who && n == sizeof(uint32_t)) {
        recv(sock, &q, sizeof q, MSG_DONTWAIT);
        greet(sock, q.what);
        return;
    }
    if (!who || n < (ssize_t)sizeof q) {
        if (n < 0 && errno == EAGAIN && !(events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))) return;
        drop_client(sock, who);
        shca_service_sweep();
        return;
    }
    if (q.what == ASK_WRITE) {
        answer_write(sock, &q);
        return;
    }
    recv(sock, &q, sizeof q, MSG_DONTWAIT);
    if (q.what == ASK_READ) answer_read(sock, &q);
    if (q.what == ASK_CHANNEL) answer_channel(sock, &q);
    if (q.what == ASK_ADD || q.what == ASK_SWAP) answer_atomic(sock, &q);
}

static void make_alive_mark(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shca.h->alive, &attr);
}

static void *server_main(void *unused)
{
    pthread_mutex_lock(&shca.h->alive);
    for (;;) {
        struct epoll_event e[16];
        int n = epoll_wait(server.epoll, e, 16, -1);
        for (int i = 0; i < n; i++) {
            if (e[i].data.u64 == client_data(server.listener, 0))
                admit();
            else
                answer((int)(uint32_t)e[i].data.u64, e[i].data.u64 >> 32, e[i].events);
        }
    }
    return NULL;
}

int shca_server_start(int listener)
{
    make_alive_mark();
    server.listener = listener;
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = client_data(listener, 0)};
    if (server.epoll < 0 || epoll_ctl(server.epoll, EPOLL_CTL_ADD, listener, &e) < 0) return errno;
    return shca_thread(server_main);
}

void shca_server_hold(void)
{
    pthread_mutex_lock(&server.lock);
}

void shca_server_release(void)
{
    pthread_mutex_unlock(&server.lock);
}

/* Peers must not take the child for its parent. */
void shca_server_in_child(void)
{
    if (server.listener >= 0) close(server.listener);
    if (server.epoll >= 0) close(server.epoll);
    for (int i = 0; i < server.clients; i++) close(server.client[i]);
    server.listener = server.epoll = -1;
    server.clients = 0;
    memset(server.connections, 0, sizeof server.connections);
    shca_server_release(); /* held since before the fork */
}

/* Put Q (and DATA, for a write) and await the answer; DATA also receives what a read returns. */
static int ask(struct shca_peer *p, struct question *q, void *data, uint64_t *value, int *fd)
{
    struct iovec out[2] = {{q, sizeof *q}, {data, q->len}};
    struct msghdr m = {.msg_iov = out, .msg_iovlen = q->what == ASK_WRITE ? 2 : 1};
    ssize_t n;
    do n = sendmsg(p->sock, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0) return errno;
    struct answer a;
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec in[2] = {{&a, sizeof a}, {data, q->len}};
    m = (struct msghdr){.msg_iov = in,
                        .msg_iovlen = q->what == ASK_READ ? 2 : 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof control};
    do n = recvmsg(p->sock, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < (ssize_t)sizeof a) {
        int e = n < 0 ? errno : ECONNRESET;
        shutdown(p->sock, SHUT_RDWR); /* a late answer must not be taken for the next one */
        return e;
    }
    if (value) *value = a.value;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (fd && c && c->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return a.error;
}

/* p->rpc held. */
int shca_ask_channel(struct shca_peer *p, uint32_t id)
{
    struct question q = {.what = ASK_CHANNEL, .id = id};
    int fd = -1;
    ask(p, &q, NULL, NULL, &fd);
    return fd;
}

int shca_ask_copy(struct shca_peer *p, bool write, uint64_t va, void *data, size_t len)
{
    int error = 0;
    shca_lock(&p->rpc);
    for (size_t done = 0; done < len && !error;) {
        size_t n = len - done < CHUNK ? len - done : CHUNK;
        struct question q = {.what = write ? ASK_WRITE : ASK_READ, .va = va + done, .len = n};
        error = ask(p, &q, (char *)data + done, NULL, NULL);
        done += n;
    }
    shca_unlock(&p->rpc);
    return error;
}

int shca_ask_atomic(struct shca_peer *p, bool swap, uint64_t va, uint64_t a, uint64_t b,
                    uint64_t *old)
{
    struct question q = {.what = swap ? ASK_SWAP : ASK_ADD, .va = va, .a = a, .b = b};
    shca_lock(&p->rpc);
    int error = ask(p, &q, NULL, old, NULL);
    shca_unlock(&p->rpc);
    return error;
}
