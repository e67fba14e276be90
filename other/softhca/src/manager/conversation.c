/* conversation.c - the TCP connection of two connection managers: request, reply or rejection, and
 * the word that both ends are ready.
 *
 * Each message has one size and is small, so that a socket's empty buffer always takes it whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/softhca/src/manager/manager.h"

enum { MAGIC = 0x73636d31, NO_SERVICE = 8, BY_PROGRAM = 28 }; /* reasons of InfiniBand's REJ */

/* Anybody may connect and say nothing: of the conversations without a request there are at most so
 * many, and the oldest goes first. */
enum { MOST_HEARING = 64 };
static struct shca_cm_id *hearing; /* the latest */

static bool conversation_is_iwarp(const struct shca_cm_id *c)
{
    return c->id.verbs && c->id.verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

static socklen_t conversation_length(const struct sockaddr *address)
{
    return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

void shca_cm_watch(struct shca_cm_id *c, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};
    const int set = c->id.channel->fd;
    if (epoll_ctl(set, EPOLL_CTL_MOD, c->fd, &e)) epoll_ctl(set, EPOLL_CTL_ADD, c->fd, &e);
}

/* A descriptor leaves the set when it is closed; no other process has a copy. */
void shca_cm_hang_up(struct shca_cm_id *c)
{
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

static int conversation_fail(struct shca_cm_id *c)
{
    const int error = errno;
    shca_cm_hang_up(c);
    errno = error;
    return -1;
}

/* `c->fd`: a socket bound to the id's source address. */
int shca_cm_listen(struct shca_cm_id *c, int backlog)
{
    if (listen(c->fd, backlog)) return -1;
    c->state = SHCA_CM_LISTENING;
    shca_cm_watch(c, EPOLLIN);
    return 0;
}

/* Begins to connect to the id's destination. */
int shca_cm_call(struct shca_cm_id *c)
{
    const struct sockaddr *to = &c->id.route.addr.dst_addr;
    if (c->fd >= 0) shca_cm_hang_up(c); /* the socket was opened to check the source address */
    c->fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0) return -1;
    if (connect(c->fd, to, conversation_length(to)) && errno != EINPROGRESS &&
        errno != ECONNREFUSED)
        return conversation_fail(c);
    c->state = SHCA_CM_CALLING;
    c->writing = true;
    shca_cm_watch(c, EPOLLOUT);
    return 0;
}

int shca_cm_send(struct shca_cm_id *c, enum shca_cm_kind kind)
{
    c->mine.magic = MAGIC;
    c->mine.kind = (uint8_t)kind;
    const ssize_t n = send(c->fd, &c->mine, sizeof c->mine, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == (ssize_t)sizeof c->mine) return 0;
    if (n >= 0) errno = ENOBUFS;
    return -1;
}

static void conversation_forget(const struct shca_cm_id *c)
{
    struct shca_cm_id **at = &hearing;
    while (*at && *at != c) at = &(*at)->next;
    if (*at) *at = c->next;
}

static void conversation_drop(struct shca_cm_id *c)
{
    conversation_forget(c);
    shca_cm_free(c);
}

static void conversation_remember(struct shca_cm_id *c)
{
    unsigned count = 1;
    struct shca_cm_id *oldest = c;
    c->next = hearing;
    hearing = c;
    for (; oldest->next; oldest = oldest->next) count++;
    if (count > MOST_HEARING) conversation_drop(oldest);
}

void shca_cm_stop_listening(struct shca_cm_id *listener)
{
    for (struct shca_cm_id *c = hearing, *next; c; c = next) {
        next = c->next;
        if (c->listener == listener) conversation_drop(c);
    }
}

/* Ends the conversation after the peer has gone, or has sent what is not of this protocol. */
static void conversation_lost(struct shca_cm_id *c, int error)
{
    const bool refused =
        error == ECONNREFUSED || error == ECONNRESET || error == EPIPE || error == ENOTCONN;
    shca_cm_hang_up(c);
    if (c->state == SHCA_CM_HEARING) {
        conversation_drop(c);
        return;
    }
    const enum shca_cm_state was = c->state;
    c->state = SHCA_CM_OVER;
    if (was == SHCA_CM_CALLING && refused)
        shca_cm_raise(c, RDMA_CM_EVENT_REJECTED,
                      conversation_is_iwarp(c) ? -ECONNREFUSED : NO_SERVICE);
    else if (was == SHCA_CM_CALLING || was == SHCA_CM_ACCEPTED)
        shca_cm_raise(c, RDMA_CM_EVENT_UNREACHABLE, error ? -error : -ETIMEDOUT);
}

static void conversation_take(struct shca_cm_id *listener)
{
    struct sockaddr_storage from, at;
    socklen_t length = sizeof from, own = sizeof at;
    const int fd =
        accept4(listener->fd, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    struct shca_cm_id *c = shca_cm_new(listener->id.channel, listener->id.context);
    if (!c) {
        close(fd);
        return;
    }
    c->fd = fd;
    c->state = SHCA_CM_HEARING;
    c->listener = listener;
    memcpy(&c->id.route.addr.dst_storage, &from, length);
    if (!getsockname(fd, (struct sockaddr *)&at, &own))
        shca_cm_set_source(c, (struct sockaddr *)&at);
    conversation_remember(c);
    shca_cm_watch(c, EPOLLIN);
}

/* CALLING: the peer's answer. */
static void conversation_answer(struct shca_cm_id *c)
{
    const bool iwarp = conversation_is_iwarp(c);
    if (c->theirs.kind == SHCA_CM_REJECT) {
        shca_cm_hang_up(c);
        c->state = SHCA_CM_OVER;
        shca_cm_raise(c, RDMA_CM_EVENT_REJECTED, iwarp ? -ECONNREFUSED : BY_PROGRAM);
    } else if (!iwarp) {
        c->state = SHCA_CM_ANSWERED;
        shca_cm_watch(c, 0);
        shca_cm_raise(c, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    } else {
        const int error = shca_cm_join(c, false);
        shca_cm_hang_up(c);
        c->state = error ? SHCA_CM_OVER : SHCA_CM_CONNECTED;
        shca_cm_raise(c, error ? RDMA_CM_EVENT_CONNECT_ERROR : RDMA_CM_EVENT_ESTABLISHED, -error);
    }
}

/* A whole message has arrived. */
static void conversation_heard(struct shca_cm_id *c)
{
    const struct shca_cm_frame *f = &c->theirs;
    const bool answer = f->kind == SHCA_CM_REPLY || f->kind == SHCA_CM_REJECT;
    const bool fits = f->magic == MAGIC && f->private_length <= SHCA_CM_PRIVATE && c->id.verbs &&
                      f->transport == c->id.verbs->device->transport_type;
    c->got = 0;
    if (fits && c->state == SHCA_CM_HEARING && f->kind == SHCA_CM_REQUEST) {
        conversation_forget(c);
        c->state = SHCA_CM_ASKED;
        shca_cm_watch(c, 0);
        shca_cm_raise(c, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
    } else if (fits && c->state == SHCA_CM_CALLING && answer) {
        conversation_answer(c);
    } else if (fits && c->state == SHCA_CM_ACCEPTED && f->kind == SHCA_CM_READY) {
        shca_cm_hang_up(c);
        c->state = SHCA_CM_CONNECTED;
        shca_cm_raise(c, RDMA_CM_EVENT_ESTABLISHED, 0);
    } else {
        conversation_lost(c, EPROTO);
    }
}

/* CALLING: the TCP connection is there, or was refused. */
static void conversation_begin(struct shca_cm_id *c)
{
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    c->writing = false;
    if (!error && shca_cm_send(c, SHCA_CM_REQUEST)) error = errno;
    if (error)
        conversation_lost(c, error);
    else
        shca_cm_watch(c, EPOLLIN);
}

void shca_cm_hear(struct shca_cm_id *c)
{
    if (c->state == SHCA_CM_LISTENING) {
        conversation_take(c);
        return;
    }
    if (c->state == SHCA_CM_CALLING && c->writing) {
        conversation_begin(c);
        return;
    }
    const ssize_t n =
        recv(c->fd, (char *)&c->theirs + c->got, sizeof c->theirs - c->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        conversation_lost(c, n ? errno : ECONNRESET);
        return;
    }
    c->got += (size_t)n;
    if (c->got == sizeof c->theirs) conversation_heard(c);
}
