/* peer.c - peers: a connected socket and the mapped segment of another process.
 *
 * A peer exists while a QP refers to it. No function waits for the other program: the socket is
 * connected at once, and the peer's RPC thread sends the segment as soon as it is scheduled. Until
 * then sends wait as they do for a target that is not ready.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/futex.h"
#include "other/base/uncancelled.h"
#include "other/softhca/src/segment/process.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/settings/say.h"

/* Releases everything but the structure itself. */
static void peer_release(struct shca_peer *p)
{
    shca_peer_map_drop(p);
    for (int i = 0; p->channel_fd && i < SHCA_CHANNELS; i++)
        if (p->channel_fd[i]) close((int)(uint32_t)p->channel_fd[i]);
    free(p->channel_fd);
    p->channel_fd = NULL;
    if (p->sock >= 0) close(p->sock);
    p->sock = -1;
}

static struct shca_peer *peer_begin(uint32_t slot)
{
    GASNETI_UNCANCELLED;
    struct shca_peer *p = calloc(1, sizeof *p);
    if (!p) {
        shca_say_of_peer("out of memory for a connection to the process in slot %u", slot);
        return NULL;
    }
    p->slot = slot;
    p->sock = shca_connect_slot(slot);
    if (p->sock == SHCA_NO_SOCKET) { /* the process may exist */
        p->lost = p->unmappable = true;
        return p;
    }
    /* Sends the own slot; the greeting with the segment follows. */
    if (p->sock >= 0 &&
        send(p->sock, &shca.slot, sizeof shca.slot, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        return p;
    peer_release(p);
    free(p);
    return NULL;
}

/* Whether the process that answers is of this user: anyone may take a name that is free. */
static bool peer_learn_process(struct shca_peer *p)
{
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t len = sizeof cred;
    getsockopt(p->sock, SOL_SOCKET, SO_PEERCRED, &cred, &len);
    p->pid = cred.pid; /* 0 when the peer is in another pid namespace */
    if (p->pid == 0) p->no_pvm = true;
    return cred.uid == geteuid() || cred.uid == 0;
}

static bool peer_take_segment(struct shca_peer *p, const struct shca_greeting *g, int fd)
{
    errno = shca_inject_creation(SHCA_PEER_MAP);
    if (errno || !shca_peer_map_tables(p, fd, g->heap_end)) {
        shca_say_of_peer("cannot map the tables of process %d: %m (see ulimit -v)", (int)p->pid);
        p->unmappable = true;
        return false;
    }
    /* Memory of the arena that cannot be mapped is accessed by process_vm_*. */
    if (g->arena_end) shca_peer_map_arena(p, fd, g->arena_end);
    const struct shm_header *h = p->h;
    if (h->magic == SHCA_MAGIC && h->layout == SHCA_LAYOUT) return true;
    shca_say("process %d uses another version of libsofthca; use one version in a job",
             (int)p->pid);
    return false;
}

/* Receives the greeting if it has arrived; p->rpc held. */
static void peer_take_greeting(struct shca_peer *p)
{
    struct shca_greeting g;
    struct iovec iov = {&g, sizeof g};
    int fd = -1;
    ssize_t n = shca_receive(p->sock, &iov, 1, &fd, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    bool attached = false;
    if (n > 0 && !peer_learn_process(p)) {
        shca_say("the process in slot %u is of another user, and is not connected to", p->slot);
    } else if (n == sizeof g) {
        p->memfd = g.memfd;
        p->dev = g.dev;
        p->ino = g.ino;
        if (fd < 0) fd = shca_peer_map_open(p);
        if (fd < 0) {
            shca_say_of_peer("no descriptor of the memory of process %d: %m (see ulimit -n)",
                             (int)p->pid);
            p->unmappable = true;
        } else {
            attached = peer_take_segment(p, &g, fd);
        }
    } else if (n > 0)
        shca_say("the process in slot %u uses another version of libsofthca; use one in a job",
                 p->slot);
    if (!attached) shca_peer_map_drop(p);
    if (fd >= 0) close(fd);
    atomic_store(&p->lost, !attached);
    atomic_store(&p->attached, attached);
}

/* Waits up to MS for the greeting. A thread that finds the lock taken returns at once. */
static bool peer_await_greeting(struct shca_peer *p, int ms)
{
    GASNETI_UNCANCELLED;
    struct pollfd f = {.fd = p->sock, .events = POLLIN};
    if (atomic_load_explicit(&p->attached, memory_order_acquire)) return true;
    if (p->lost || !shca_trylock(&p->rpc)) return false;
    if (!p->attached && !p->lost && (ms == 0 || poll(&f, 1, ms) > 0)) peer_take_greeting(p);
    shca_unlock(&p->rpc);
    return p->attached;
}

/* Whether the segment is mapped. Does not wait. */
bool shca_peer_attached(struct shca_peer *p)
{
    return peer_await_greeting(p, 0);
}

/* True when the segment is mapped. Called by a thread that is about to send; waits up to MS, once
 * per peer, because a peer may be stopped. Sleeping lets the peer's thread run where processors are
 * few. */
bool shca_peer_attach_within(struct shca_peer *p, int ms)
{
    if (shca_peer_attached(p)) return true;
    if (p->lost || atomic_exchange(&p->awaited, true)) return false;
    return peer_await_greeting(p, ms);
}

/* True when the segment is mapped. Called by a verb that cannot be retried; waits up to 10 s. */
bool shca_peer_attach(struct shca_peer *p)
{
    static const uint64_t timeout = 10000000000;
    uint64_t start = gasneti_clock_ns();
    while (!peer_await_greeting(p, 100) && !p->lost && gasneti_clock_ns() - start < timeout)
        sched_yield(); /* another thread is receiving the greeting */
    return p->attached;
}

/* A reference to process SLOT of HOST, or NULL. */
struct shca_peer *shca_peer_get(int host, uint32_t slot)
{
    if (host != SHCA_HERE && host != SHCA_OUTSIDE) return NULL;
    if (slot == shca.slot && host == SHCA_HERE) return &shca.me;
    pthread_mutex_lock(&shca.peer_lock);
    struct shca_peer *p = shca.peer[slot];
    if (p && (p->lost || shca_peer_dead_slow(p))) {
        /* The slot may belong to another process now; QPs of the ended process keep their
         * references. */
        shca.peer[slot] = NULL;
        p = NULL;
    }
    if (!p && (p = shca.peer[slot] = peer_begin(slot))) {
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
        struct shca_peer **at = &shca.peers;
        while (*at != p) at = &(*at)->next;
        *at = p->next;
    }
    pthread_mutex_unlock(&shca.peer_lock);
    if (!last) return;
    peer_release(p);
    free(p);
}

/* In a forked child: releases sockets and mappings. The structures stay, because inherited QPs
 * point to them. */
void shca_peers_in_child(void)
{
    for (struct shca_peer *p = shca.peers; p; p = p->next) peer_release(p);
}

/* True when the last thread of the process has ended. The mark of shca_peer_dead() comes a little
 * earlier, when its RPC thread ends. */
bool shca_peer_gone(struct shca_peer *p)
{
    GASNETI_UNCANCELLED;
    struct pollfd f = {.fd = p->sock, .events = POLLRDHUP};
    return !p->self && poll(&f, 1, 0) > 0 && f.revents & (POLLHUP | POLLRDHUP | POLLERR);
}

/* True for a process that has ended, even if its robust mutex is not marked; takes a system
 * call. */
bool shca_peer_dead_slow(struct shca_peer *p)
{
    return !p->self && ((p->attached && shca_peer_dead(p)) || shca_peer_gone(p));
}

/* Wakes the worker thread, which sleeps on the doorbell. */
void shca_peer_ring(struct shca_peer *p)
{
    if (!p->attached) {
        shca_rpc_ring(p);
        return;
    }
    /* Store and wake even if the doorbell is set: the process that set it may have died before it
     * woke the thread. */
    atomic_store(&p->h->doorbell, 1);
    gasneti_futex_wake(&p->h->doorbell, GASNETI_FUTEX_SHARED, 1);
}

void shca_worker_wake(void)
{
    shca_peer_ring(&shca.me);
}

void shca_worker_sweep(void)
{
    shca.sweep_due = true;
    shca_worker_wake();
}

void shca_peer_wake_sleeper(struct shca_peer *p)
{
    uint32_t number = atomic_exchange(&p->h->sleeper, 0);
    if (number && shca.wake) shca.wake(number - 1);
}

/* Wakes the process in SLOT if it is a peer. */
void shca_peer_ring_slot(uint32_t slot)
{
    pthread_mutex_lock(&shca.peer_lock);
    struct shca_peer *p = slot == shca.slot ? &shca.me : shca.peer[slot];
    if (p) shca_peer_ring(p);
    pthread_mutex_unlock(&shca.peer_lock);
}

/* A descriptor of the peer's channel ID, or -1. */
int shca_peer_channel(struct shca_peer *p, uint32_t id)
{
    if (p->self) return shca_channel_fd(id);
    if (id == 0) return -1; /* the CQ was destroyed meanwhile */
    shca_lock(&p->rpc);
    if (!p->channel_fd) p->channel_fd = calloc(SHCA_CHANNELS, sizeof *p->channel_fd);
    uint64_t *entry = p->channel_fd ? &p->channel_fd[id & (SHCA_CHANNELS - 1)] : NULL;
    int fd = -1;
    if (entry && *entry >> 32 == id)
        fd = (int)(uint32_t)*entry;
    else if (entry) {
        GASNETI_UNCANCELLED;
        fd = shca_rpc_channel(p, id);
        if (*entry) close((int)(uint32_t)*entry);
        *entry = fd < 0 ? 0 : (uint64_t)id << 32 | (uint32_t)fd;
    }
    shca_unlock(&p->rpc);
    return fd;
}
