/* peer.c - what this process holds of another one: its mapped segment and three descriptors.
 *
 * A peer is attached when a QP is connected to it and let go with the last such QP. The mapping
 * of its arena grows when an MR beyond the mapped part is used; older, shorter mappings stay
 * until the peer is let go, because another thread may be copying through them.
 */
#include "object.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct shca_window {
    void *base;
    size_t len;
    struct shca_window *next;
};

/* The answer to our slot: that of the answering thread, and with it the memfd and the doorbell. */
static int receive_greeting(struct shca_peer *p)
{
    uint32_t slot = 0;
    union {
        char space[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {&slot, sizeof slot};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    ssize_t n;
    do n = recvmsg(p->sock, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n == sizeof slot ? CMSG_FIRSTHDR(&m) : NULL;
    if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(2 * sizeof(int))) {
        if (n == sizeof slot && m.msg_flags & MSG_CTRUNC)
            shca_say("no descriptors left for a peer's memory (raise ulimit -n)");
        else if (n < 0 && errno == EAGAIN) /* else it has just died */
            shca_say("the process in slot %u does not answer: %m (is it stopped?)", p->slot);
        return -1;
    }
    int fd[2];
    memcpy(fd, CMSG_DATA(c), sizeof fd);
    p->memfd = fd[0];
    p->doorbell = fd[1];
    return 0;
}

static void learn_pid(struct shca_peer *p)
{
    struct ucred cred = {0};
    socklen_t len = sizeof cred;
    getsockopt(p->sock, SOL_SOCKET, SO_PEERCRED, &cred, &len);
    p->pid = cred.pid; /* 0 when it lives in a pid namespace we cannot see */
    if (p->pid == 0) p->no_pvm = true;
}

/* Let go of everything but the structure itself. */
static void part_from(struct shca_peer *p)
{
    if (p->h) munmap(p->h, shm_arena_start());
    for (struct shca_window *w = p->windows, *next; w; w = next) {
        next = w->next;
        munmap(w->base, w->len);
        free(w);
    }
    for (int i = 0; p->channel_fd && i < SHCA_CHANNELS; i++)
        if (p->channel_fd[i]) close((int)(uint32_t)p->channel_fd[i]);
    free(p->channel_fd);
    if (p->sock >= 0) close(p->sock);
    if (p->memfd >= 0) close(p->memfd);
    if (p->doorbell >= 0) close(p->doorbell);
}

static void detach(struct shca_peer *p)
{
    part_from(p);
    free(p);
}

static struct shca_peer *attach(uint32_t slot)
{
    struct shca_peer *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->slot = slot;
    p->memfd = p->doorbell = -1;
    p->sock = shca_connect_slot(slot);
    if (p->sock < 0 || send(p->sock, &shca.slot, sizeof shca.slot, MSG_NOSIGNAL) < 0 ||
        receive_greeting(p) < 0) {
        detach(p);
        return NULL;
    }
    learn_pid(p);
    p->h = mmap(NULL, shm_arena_start(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                p->memfd, 0);
    if (p->h == MAP_FAILED) {
        shca_say("cannot map a peer's tables: %m (see ulimit -v)");
        p->h = NULL;
        detach(p);
        return NULL;
    }
    if (p->h->magic != SHCA_MAGIC || p->h->layout != SHCA_LAYOUT) {
        shca_say("process %d uses another version of libsofthca; use one version in a job",
                 (int)p->pid);
        detach(p);
        return NULL;
    }
    return p;
}

/* Process SLOT of HOST, or NULL. */
struct shca_peer *shca_peer_get(int host, uint32_t slot)
{
    if (host != SHCA_HERE && host != SHCA_OUTSIDE) return NULL;
    if (slot == shca.slot && host == SHCA_HERE) return &shca.me;
    pthread_mutex_lock(&shca.peer_lock);
    struct shca_peer *p = shca.peer[slot];
    if (p && shca_peer_dead_slow(p)) {
        /* The slot may have a new owner; QPs of the dead one keep what they hold. */
        shca.peer[slot] = NULL;
        p = NULL;
    }
    if (!p && (p = shca.peer[slot] = attach(slot))) {
        p->next = shca.peers;
        shca.peers = p;
    }
    if (p) p->refs++;
    pthread_mutex_unlock(&shca.peer_lock);
    return p;
}

void shca_peer_put(struct shca_peer *p)
{
    if (!p || p->self) return;
    pthread_mutex_lock(&shca.peer_lock);
    bool last = --p->refs == 0;
    if (last) {
        if (shca.peer[p->slot] == p) shca.peer[p->slot] = NULL;
        struct shca_peer **link = &shca.peers;
        while (*link != p) link = &(*link)->next;
        *link = p->next;
    }
    pthread_mutex_unlock(&shca.peer_lock);
    if (last) detach(p);
}

/* The child of a fork is nobody's peer. Dead QPs may point to these for ever. */
void shca_peers_in_child(void)
{
    for (struct shca_peer *p = shca.peers; p; p = p->next) part_from(p);
}

/* Its last thread has ended: it does nothing any more. The mark of shca_peer_dead() comes a little
 * earlier, when one thread of a dying process ends. */
bool shca_peer_gone(struct shca_peer *p)
{
    struct pollfd f = {.fd = p->sock, .events = POLLRDHUP};
    return !p->self && poll(&f, 1, 0) > 0 && f.revents & (POLLHUP | POLLRDHUP | POLLERR);
}

/* For callers with time: does not depend on the robust mutex alone. */
bool shca_peer_dead_slow(struct shca_peer *p)
{
    return !p->self && (shca_peer_dead(p) || shca_peer_gone(p));
}

static char *map_arena(struct shca_peer *p, uint64_t need)
{
    struct shca_window *w = malloc(sizeof *w);
    uint64_t len = 1 << 26;
    while (len < need) len *= 2;
    void *base = w ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, p->memfd,
                          shm_arena_start())
                   : MAP_FAILED;
    if (base == MAP_FAILED) {
        free(w);
        return NULL;
    }
    *w = (struct shca_window){base, len, p->windows};
    p->windows = w;
    atomic_store(&p->arena, base);
    atomic_store(&p->arena_len, len); /* after the base: a reader takes them the other way round */
    return base;
}

/* The slow half of shca_peer_map(): map more of its arena. */
void *shca_peer_map_more(struct shca_peer *p, uint64_t offset, uint64_t len)
{
    uint64_t in = offset - shm_arena_start();
    shca_lock(&p->rpc);
    char *base = in + len <= p->arena_len ? p->arena : map_arena(p, in + len);
    shca_unlock(&p->rpc);
    return base ? base + in : NULL;
}

void shca_peer_ring(struct shca_peer *p)
{
    uint64_t one = 1;
    if (write(p->doorbell, &one, sizeof one) < 0) return; /* EAGAIN: it is rung already */
}

/* Ring the process in SLOT if we are attached to it. */
void shca_peer_ring_slot(uint32_t slot)
{
    pthread_mutex_lock(&shca.peer_lock);
    struct shca_peer *p = slot == shca.slot ? &shca.me : shca.peer[slot];
    if (p) shca_peer_ring(p);
    pthread_mutex_unlock(&shca.peer_lock);
}

/* A descriptor that wakes the sleeper on the peer's channel, or -1. */
int shca_peer_channel(struct shca_peer *p, uint32_t id)
{
    if (p->self) return shca_channel_fd(id);
    if (id == 0) return -1; /* the CQ went away meanwhile */
    shca_lock(&p->rpc);
    if (!p->channel_fd) p->channel_fd = calloc(SHCA_CHANNELS, sizeof *p->channel_fd);
    uint64_t *entry = p->channel_fd ? &p->channel_fd[id & (SHCA_CHANNELS - 1)] : NULL;
    int fd = -1;
    if (entry && *entry >> 32 == id)
        fd = (int)(uint32_t)*entry;
    else if (entry) {
        fd = shca_ask_channel(p, id);
        if (*entry) close((int)(uint32_t)*entry);
        *entry = fd < 0 ? 0 : (uint64_t)id << 32 | (uint32_t)fd;
    }
    shca_unlock(&p->rpc);
    return fd;
}
