/* ssh_link.c - non-blocking connections with a send queue; see ssh_link.h.
 *
 * Called by the event loops of launcher and control process.  Must never block and never drop a
 * frame while the peer lives.
 */
#include "other/launch/launcher_log.h"
#include "other/launch/output.h"
#include "other/launch/ssh/ssh_link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void ssh_link_open(struct ssh_link *link, int fd, bool packets)
{
    memset(link, 0, sizeof *link);
    link->fd = fd;
    link->packets = packets;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

bool ssh_link_seal(struct ssh_link *link, const struct ssh_seals *seals)
{
    link->sealed = calloc(1, sizeof *link->sealed);
    if (link->sealed) link->sealed->seals = *seals;
    return link->sealed != NULL;
}

static void link_free_sealed(struct ssh_link_sealed *sealed)
{
    if (!sealed) return;
    ssh_wire_free(&sealed->in);
    ssh_wire_free(&sealed->out);
    explicit_bzero(sealed, sizeof *sealed); /* the keys */
    free(sealed);
}

void ssh_link_watch_host(int fd)
{
    static const int on = 1, probes = 3, interval = 2, patience = 1000 * SSH_LINK_PATIENCE;
    static const int idle = SSH_LINK_PATIENCE - 3 * 2;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void ssh_link_close(struct ssh_link *link)
{
    if (link->fd >= 0) close(link->fd);
    link->fd = -1;
    while (link->head < link->tail) ssh_parcel_drop(link->queue[link->head++]);
    free(link->queue);
    link->queue = NULL;
    link->head = link->tail = link->cap = 0;
    ssh_wire_free(&link->in);
    link_free_sealed(link->sealed);
    link->sealed = NULL;
}

short ssh_link_events(const struct ssh_link *link)
{
    return POLLIN | (link->head < link->tail ? POLLOUT : 0);
}

static struct ssh_parcel *parcel_of_bytes(const void *bytes, size_t len)
{
    struct ssh_parcel *parcel = malloc(sizeof *parcel + len);
    if (!parcel) return NULL;
    parcel->refs = 1;
    parcel->len = len;
    memcpy(parcel->bytes, bytes, len);
    return parcel;
}

struct ssh_parcel *ssh_parcel_new(enum ssh_wire_type type, uint32_t rank, const void *data,
                                  size_t len)
{
    struct ssh_wire_buf framed = {0};
    ssh_wire_put_message(&framed, type, rank, data, len);
    struct ssh_parcel *parcel = framed.failed ? NULL : parcel_of_bytes(framed.data, framed.len);
    ssh_wire_free(&framed);
    return parcel;
}

/* The frame's header precedes it in memory, so the bytes can be forwarded as received. */
struct ssh_parcel *ssh_parcel_of_frame(const struct ssh_wire_frame *frame)
{
    return parcel_of_bytes(frame->data - SSH_WIRE_HEADER, frame->len + SSH_WIRE_HEADER);
}

void ssh_parcel_drop(struct ssh_parcel *parcel)
{
    if (parcel && --parcel->refs == 0) free(parcel);
}

static void link_no_memory(void) __attribute__((noreturn));
static void link_no_memory(void)
{
    launcher_log("out of memory for a message; ending the job");
    output_finish();
    _exit(1); /* all processes that this one started end with it */
}

static bool link_enqueue(struct ssh_link *link, struct ssh_parcel *parcel)
{
    if (link->head == link->tail) link->head = link->tail = 0;
    if (link->tail == link->cap) {
        size_t cap = link->cap ? 2 * link->cap : 8;
        struct ssh_parcel **grown = realloc(link->queue, cap * sizeof *grown);
        if (!grown) return false;
        link->queue = grown;
        link->cap = cap;
    }
    link->queue[link->tail++] = parcel;
    parcel->refs++;
    return true;
}

void ssh_link_post(struct ssh_link *link, struct ssh_parcel *parcel)
{
    if (link->fd < 0) return;
    if (!parcel || !link_enqueue(link, parcel)) link_no_memory();
    ssh_link_flush(link);
}

/* Returns how many bytes one send may take: a packet is exactly one frame. */
static size_t link_next_piece(const struct ssh_link *link, const struct ssh_parcel *parcel)
{
    struct ssh_wire_frame frame;
    const char *why;
    size_t left = parcel->len - link->sent;
    if (!link->packets) return left;
    return (size_t)ssh_wire_parse_frame(parcel->bytes + link->sent, left, &frame, &why);
}

/* Seals the next part of the parcel, unless one is being sent. */
static void link_seal_part(struct ssh_link *link, const struct ssh_parcel *parcel)
{
    struct ssh_link_sealed *s = link->sealed;
    const size_t left = parcel->len - link->sent;
    if (s->out.len) return;
    s->part = left < SSH_SEAL_MOST ? left : SSH_SEAL_MOST;
    s->at = 0;
    ssh_seal_close(&s->seals.out, parcel->bytes + link->sent, s->part, &s->out);
    if (s->out.failed) link_no_memory();
}

/* Notes what was sent; returns how many bytes of the parcel are done by that. */
static size_t link_sealed_sent(struct ssh_link_sealed *s, size_t sent)
{
    if ((s->at += sent) < s->out.len) return 0;
    s->out.len = 0;
    return s->part;
}

/* As send(2), of the next bytes of the parcel; returns how many of these are done. */
static ssize_t link_send(struct ssh_link *link, const struct ssh_parcel *parcel)
{
    enum { FLAGS = MSG_NOSIGNAL | MSG_DONTWAIT };
    struct ssh_link_sealed *s = link->sealed;
    if (!s) return send(link->fd, parcel->bytes + link->sent, link_next_piece(link, parcel), FLAGS);
    link_seal_part(link, parcel);
    ssize_t sent = send(link->fd, s->out.data + s->at, s->out.len - s->at, FLAGS);
    return sent < 0 ? sent : (ssize_t)link_sealed_sent(s, (size_t)sent);
}

/* The most bytes that a call sends to a fast reader, so that other links have their turn. */
enum { FLUSH_MOST = 1 << 20 };

void ssh_link_flush(struct ssh_link *link)
{
    size_t done = 0;
    while (link->fd >= 0 && link->head < link->tail && done < FLUSH_MOST) {
        struct ssh_parcel *parcel = link->queue[link->head];
        ssize_t sent = link_send(link, parcel);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (sent < 0 && !link->error) { /* later errors are consequences */
            link->error = errno;
            shutdown(link->fd, SHUT_RDWR); /* a peer that lives must not wait for what is lost */
        }
        done += sent > 0 ? (size_t)sent : 0;
        if (sent >= 0 && (link->sent += (size_t)sent) < parcel->len) continue;
        link->head++; /* sent, or the peer is gone */
        link->sent = 0;
        ssh_parcel_drop(parcel);
    }
}

/* Delivers the complete frames at the front of `in`. */
static enum ssh_link_state link_deliver(struct ssh_link *link, ssh_link_frame_fn frame, void *ctx,
                                        const char **why)
{
    size_t at = 0;
    for (;;) {
        struct ssh_wire_frame found;
        ssize_t used = ssh_wire_parse_frame(link->in.data + at, link->in.len - at, &found, why);
        if (used < 0) return SSH_LINK_GARBAGE;
        if (used == 0) break;
        frame(ctx, &found);
        at += (size_t)used;
    }
    memmove(link->in.data, link->in.data + at, link->in.len - at);
    link->in.len -= at;
    if (!link->packets || link->in.len == 0) return SSH_LINK_OPEN;
    return *why = "packet that is not one frame", SSH_LINK_GARBAGE;
}

/* Adds what was received to `in`. */
static enum ssh_link_state link_take(struct ssh_link *link, const uint8_t *bytes, size_t len,
                                     const char **why)
{
    struct ssh_link_sealed *s = link->sealed;
    struct ssh_wire_buf *raw = s ? &s->in : &link->in;
    size_t at = 0, plain_len;
    ssize_t used = 0;
    uint8_t *plain;
    ssh_wire_put(raw, bytes, len);
    while (s && !raw->failed &&
           (used = ssh_seal_open(&s->seals.in, raw->data + at, raw->len - at, &plain, &plain_len)) >
               0) {
        ssh_wire_put(&link->in, plain, plain_len);
        at += (size_t)used;
    }
    if (used < 0) return *why = "something between changed what it sent", SSH_LINK_GARBAGE;
    if (raw->failed || link->in.failed) return *why = "out of memory", SSH_LINK_GARBAGE;
    if (at) memmove(raw->data, raw->data + at, raw->len - at);
    raw->len -= at;
    return SSH_LINK_OPEN;
}

/* The kernel reports an error of a socket only once, to the first call. */
static const char *link_error_text(int error)
{
    switch (error) {
    case 0:
    case EPIPE:
    case ECONNRESET:
        return "connection closed: that process ended or was killed, or something between cut it";
    case ETIMEDOUT:
        return "no word for a while: its host or the network is down";
    }
    return strerror(error);
}

enum ssh_link_state ssh_link_read(struct ssh_link *link, ssh_link_frame_fn frame, void *ctx,
                                  const char **why)
{
    static uint8_t bytes[2 * SSH_WIRE_FRAME]; /* event loops have one thread */
    bool reset = false;
    while (link->fd >= 0) {
        ssize_t got = recv(link->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        /* ECONNRESET, reported once when a peer exits with unread data, precedes the peer's last
         * frames. */
        if (got < 0 && errno == ECONNRESET && link->packets && !reset) {
            reset = true;
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return SSH_LINK_OPEN;
        if (got < 0 && !link->error) link->error = errno;
        if (got <= 0) break;
        enum ssh_link_state state = link_take(link, bytes, (size_t)got, why);
        if (state == SSH_LINK_OPEN) state = link_deliver(link, frame, ctx, why);
        if (state != SSH_LINK_OPEN) return state;
    }
    *why = link_error_text(link->error);
    return SSH_LINK_EOF;
}
