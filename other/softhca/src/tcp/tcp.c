/* tcp.c - sockets between hosts, and the wire thread that waits for them.
 *
 * A thin engine: it listens, dials, reads and writes, and calls remote_process.c and tcp_recv.c.
 * Nothing blocks except the wait for events. When a socket takes only part of a frame the rest is
 * kept as bytes, so a connection buffers at most one batch of one QP; everything else waits in its
 * send queue or responder.
 */
#include "other/softhca/src/tcp/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/uncancelled.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"
#include "other/softhca/src/tcp/remote_process.h"

/* Accepted connections whose other end has proven nothing yet: the oldest is closed for one more.
 */
enum { MOST_GREETING = 64 };
enum { TAG_KICK, TAG_TIMER, TAG_LISTENER, TAGS = TAG_LISTENER + SHCA_ADDRESSES };

struct shca_wire shca_wire = {.lock = PTHREAD_MUTEX_INITIALIZER, .epoll = -1};
static uint64_t timer_set = REMOTE_NEVER;
static struct shca_conn *closed_conns; /* in this round, whose events may name them */

bool shca_tcp_random(uint8_t *to, size_t n)
{
    return getrandom(to, n, 0) == (ssize_t)n;
}

static int tcp_open_socket(int family)
{
    int yes = 1, fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    return fd;
}

static void tcp_tune(int fd)
{
    int yes = 1, idle = 60, every = 10, times = 6;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes); /* finds dead idle ones */
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

static int tcp_listen_at(struct sockaddr_storage a, unsigned port)
{
    int yes = 1, fd = tcp_open_socket(a.ss_family);
    if (fd < 0) return -1;
    shca_set_port(&a, port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&a, shca_address_len(&a)) == 0 && listen(fd, 1024) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void tcp_stop_listening(void)
{
    while (shca_wire.listeners > 0) close(shca_wire.listener[--shca_wire.listeners]);
}

/* Listens on the port of SLOT at every address of this host: 0, EADDRINUSE when another process has
 * it, or another errno value, which was reported. */
int shca_tcp_listen(uint32_t slot)
{
    const struct shca_fabric *f = shca_fabric();
    static const struct sockaddr_storage any[2] = {{.ss_family = AF_INET}, {.ss_family = AF_INET6}};
    const struct shca_site *local = &f->site[f->self];
    const struct sockaddr_storage *at = f->anywhere ? any : local->address;
    unsigned n = f->anywhere ? 2 : local->n, port = shca_settings()->tcp_port + slot;
    int error = 0;
    for (unsigned i = 0; i < n && error != EADDRINUSE; i++) {
        int fd = tcp_listen_at(at[i], port);
        if (fd >= 0)
            shca_wire.listener[shca_wire.listeners++] = fd;
        else
            error = errno;
    }
    if (error == EADDRINUSE) tcp_stop_listening();
    if (error == EADDRINUSE || shca_wire.listeners > 0) return error == EADDRINUSE ? error : 0;
    char text[64];
    shca_say("cannot listen on port %u of %s (%s), which is this host: %s", port,
             shca_address_text(&at[0], text), f->names.name[f->self], strerror(error));
    return error;
}

static bool tcp_add_event(int fd, uint32_t events, uint64_t tag)
{
    struct epoll_event e = {.events = events, .data.u64 = tag};
    return epoll_ctl(shca_wire.epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static void tcp_set_events(struct shca_conn *c, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};
    if (c->events == events) return;
    c->events = events;
    epoll_ctl(shca_wire.epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static struct shca_conn *tcp_new_conn(int fd, enum conn_state state,
                                      const struct sockaddr_storage *a)
{
    struct shca_conn *c = calloc(1, sizeof *c);
    uint32_t events = state == CONN_DIALLING ? EPOLLOUT : EPOLLIN | EPOLLRDHUP;
    if (!c || !tcp_add_event(fd, events, (uintptr_t)c)) {
        free(c);
        close(fd);
        return NULL;
    }
    c->fd = fd;
    c->state = state;
    c->events = events;
    c->address = *a;
    c->since = gasneti_clock_ns();
    c->next = shca_wire.conns;
    shca_wire.conns = c;
    return c;
}

/* Binds to the address that the host list has for this host, so that the acceptor recognises it. */
static void tcp_bind_to_port(int fd, int family)
{
    const struct shca_fabric *f = shca_fabric();
    const struct shca_site *local = &f->site[f->self];
    int yes = 1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
    for (unsigned i = 0; i < local->n && !f->anywhere; i++) {
        struct sockaddr_storage a = local->address[i];
        shca_set_port(&a, 0);
        if (a.ss_family == family && bind(fd, (struct sockaddr *)&a, shca_address_len(&a)) == 0)
            return;
    }
}

/* NULL and errno, or a connection for which shca_remote_process_dialled() will be called. */
struct shca_conn *shca_tcp_dial(const struct sockaddr_storage *to)
{
    GASNETI_UNCANCELLED;
    int fd = tcp_open_socket(to->ss_family);
    if (fd < 0) return NULL;
    tcp_tune(fd);
    tcp_bind_to_port(fd, to->ss_family);
    if (connect(fd, (const struct sockaddr *)to, shca_address_len(to)) < 0 &&
        errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        errno = error;
        return NULL;
    }
    struct shca_conn *c = tcp_new_conn(fd, CONN_DIALLING, to);
    if (c) c->connector = true;
    return c;
}

void shca_tcp_close(struct shca_conn *c)
{
    struct shca_conn **at = &shca_wire.conns;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    close(c->fd);
    c->fd = -1;
    free(c->stash);
    c->next = closed_conns;
    closed_conns = c;
}

static void tcp_free_closed(void)
{
    while (closed_conns) {
        struct shca_conn *c = closed_conns;
        closed_conns = c->next;
        free(c);
    }
}

void shca_tcp_break(struct shca_conn *c)
{
    c->broken = c->blocked = true;
    shutdown(c->fd, SHUT_RDWR); /* wakes the wire thread, which closes it */
}

/* Copies what follows the first SENT bytes to the stash. */
static bool tcp_stash(struct shca_conn *c, struct iovec *iov, int n, size_t sent, size_t total)
{
    while (n > 0 && sent >= iov->iov_len) sent -= iov++->iov_len, n--;
    if (n > 0) {
        iov->iov_base = (char *)iov->iov_base + sent;
        iov->iov_len -= sent;
    }
    c->stash = malloc(total);
    c->stash_at = 0;
    c->stash_end = total;
    return c->stash && shca_user_memory_read(c->stash, iov, n);
}

/* The socket is full: waits for EPOLLOUT. */
static void tcp_block(struct shca_conn *c)
{
    c->blocked = true;
    tcp_set_events(c, EPOLLIN | EPOLLRDHUP | EPOLLOUT);
}

static bool tcp_is_transient(int error)
{
    return error == EAGAIN || error == EINTR || error == ENOBUFS || error == ENOMEM;
}

bool shca_tcp_send(struct shca_conn *c, struct iovec *iov, int n, size_t total)
{
    GASNETI_UNCANCELLED;
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = n};
    ssize_t sent = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == (ssize_t)total) return true;
    if (sent < 0 && errno == EFAULT) return false;
    if (sent < 0 && !tcp_is_transient(errno)) {
        shca_tcp_break(c);
        return true;
    }
    if (sent < 0) sent = 0;
    tcp_block(c);
    if (tcp_stash(c, iov, n, sent, total - sent)) return true;
    free(c->stash);
    c->stash = NULL;
    if (sent == 0) return false;
    shca_tcp_break(c); /* part of a frame was sent: the stream cannot go on */
    return true;
}

/* Sends the stash; true when the socket has room for more. Out lock held. */
bool shca_tcp_flush(struct shca_conn *c)
{
    GASNETI_UNCANCELLED;
    if (c->broken) return false;
    while (c->stash) {
        ssize_t n = send(c->fd, c->stash + c->stash_at, c->stash_end - c->stash_at,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && !tcp_is_transient(errno)) shca_tcp_break(c);
        if (n < 0) return false;
        c->stash_at += n;
        if (c->stash_at < c->stash_end) continue;
        free(c->stash);
        c->stash = NULL;
    }
    c->blocked = false;
    tcp_set_events(c, EPOLLIN | EPOLLRDHUP);
    return true;
}

/* A QP has more to send after its batch: continue on EPOLLOUT, which may come at once. */
void shca_tcp_yield(struct shca_conn *c)
{
    tcp_block(c);
}

uint64_t shca_tcp_silence(struct shca_conn *c, uint64_t now)
{
    struct tcp_info info;
    socklen_t len = sizeof info;
    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0) return 0;
    if (info.tcpi_unacked == 0 && info.tcpi_probes == 0) {
        c->unacked_since = 0;
        return 0;
    }
    if (!c->unacked_since) c->unacked_since = now;
    uint64_t acked = info.tcpi_last_ack_recv * 1000000ull, waited = now - c->unacked_since;
    return acked < waited ? acked : waited;
}

static bool tcp_is_unproven(const struct shca_conn *c)
{
    return !c->process && c->state == CONN_GREETING;
}

static uint32_t tcp_random(void)
{
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0) number = (uint32_t)gasneti_clock_ns();
    return number;
}

static struct shca_conn *tcp_next_unproven(struct shca_conn *c)
{
    while (c && !tcp_is_unproven(c)) c = c->next;
    return c;
}

/* Closes one of the unproven connections if there are more than `most`.  A random one: nothing that
 * a stranger does makes its own safer than an honest one, which is made again. */
static void tcp_bound_unproven(unsigned most)
{
    struct shca_conn *first = tcp_next_unproven(shca_wire.conns), *chosen = first;
    unsigned count = 0;
    for (struct shca_conn *c = first; c; c = tcp_next_unproven(c->next)) count++;
    if (count <= most) return;
    for (uint32_t skip = tcp_random() % count; skip; skip--)
        chosen = tcp_next_unproven(chosen->next);
    shca_tcp_close(chosen);
}

static void tcp_admit(int listener)
{
    struct sockaddr_storage a = {0};
    socklen_t len = sizeof a;
    int fd = accept4(listener, (struct sockaddr *)&a, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) tcp_bound_unproven(0);
        return;
    }
    tcp_tune(fd);
    struct shca_conn *c = tcp_new_conn(fd, CONN_GREETING, &a);
    if (c && !shca_remote_process_accepted(c)) shca_tcp_close(c);
    tcp_bound_unproven(MOST_GREETING);
}

static void tcp_dialled(struct shca_conn *c)
{
    int error = 0;
    socklen_t len = sizeof error;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (!error) {
        c->state = CONN_GREETING;
        c->since = gasneti_clock_ns();
        tcp_set_events(c, EPOLLIN | EPOLLRDHUP);
    }
    shca_remote_process_dialled(c, error);
}

static void tcp_connection_event(struct shca_conn *c, uint32_t events)
{
    if (c->fd < 0) return; /* closed in this round */
    if (c->state == CONN_DIALLING) {
        tcp_dialled(c);
        return;
    }
    if (events & EPOLLOUT) shca_tcp_send_write(c);
    if (events & ~EPOLLOUT && c->fd >= 0 && !shca_tcp_recv(c)) shca_remote_process_lost(c);
}

static void tcp_drain(int fd)
{
    uint64_t count;
    if (read(fd, &count, sizeof count) < 0) return;
}

static void tcp_event(const struct epoll_event *e)
{
    uint64_t tag = e->data.u64;
    if (tag >= TAGS)
        tcp_connection_event(e->data.ptr, e->events);
    else if (tag >= TAG_LISTENER)
        tcp_admit(shca_wire.listener[tag - TAG_LISTENER]);
    else
        tcp_drain(tag == TAG_KICK ? shca_wire.kick : shca_wire.timer);
    if (tag == TAG_KICK) shca_wire.wake = 0;
}

static void tcp_set_timer(uint64_t wake)
{
    if (wake == timer_set) return;
    timer_set = wake;
    struct itimerspec t = {0};
    if (wake != REMOTE_NEVER) {
        t.it_value.tv_sec = wake / 1000000000;
        t.it_value.tv_nsec = wake % 1000000000 + (wake == 0);
    }
    timerfd_settime(shca_wire.timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static void *tcp_main(void *unused)
{
    for (;;) {
        struct epoll_event e[32];
        int n = epoll_wait(shca_wire.epoll, e, 32, -1);
        pthread_mutex_lock(&shca_wire.lock);
        for (int i = 0; i < n; i++) tcp_event(&e[i]);
        uint64_t now = gasneti_clock_ns();
        if (now >= shca_wire.wake) shca_wire.wake = shca_remote_process_tick(now);
        tcp_set_timer(shca_wire.wake);
        tcp_free_closed();
        pthread_mutex_unlock(&shca_wire.lock);
    }
    return unused;
}

void shca_tcp_kick(void)
{
    GASNETI_UNCANCELLED;
    uint64_t one = 1;
    if (write(shca_wire.kick, &one, sizeof one) < 0) return; /* a kick is pending */
}

int shca_tcp_start(void)
{
    struct shca_wire *w = &shca_wire;
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    w->wake = REMOTE_NEVER;
    bool good = w->epoll >= 0 && w->kick >= 0 && w->timer >= 0 &&
                tcp_add_event(w->kick, EPOLLIN, TAG_KICK) &&
                tcp_add_event(w->timer, EPOLLIN, TAG_TIMER);
    for (unsigned i = 0; i < w->listeners; i++)
        good = good && tcp_add_event(w->listener[i], EPOLLIN, TAG_LISTENER + i);
    if (good) return shca_thread(tcp_main);
    int error = errno;
    shca_say("cannot wait for other hosts: %m (see ulimit -n)");
    return error;
}

void shca_tcp_lock(void)
{
    pthread_mutex_lock(&shca_wire.lock);
}

void shca_tcp_unlock(void)
{
    pthread_mutex_unlock(&shca_wire.lock);
}

/* Closes all connections in a forked child. Structures that inherited QPs point to stay. */
void shca_tcp_in_child(void)
{
    if (shca_wire.epoll >= 0) {
        close(shca_wire.epoll);
        close(shca_wire.kick);
        close(shca_wire.timer);
    }
    tcp_stop_listening();
    for (struct shca_conn *c = shca_wire.conns; c; c = c->next) close(c->fd);
    pthread_mutex_unlock(&shca_wire.lock); /* from shca_tcp_lock() */
    shca_wire = (struct shca_wire){.lock = PTHREAD_MUTEX_INITIALIZER, .epoll = -1};
    timer_set = REMOTE_NEVER;
}
