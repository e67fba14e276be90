/* ssh_stream.c - non-blocking connections with a send queue; see ssh_stream.h.
 *
 * Called by the event loops of launcher and control process.  Must never block and never drop a
 * frame while the peer lives.
 */
#include "other/launch/ssh/ssh_stream.h"

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

#include "other/launch/launcher_log.h"
#include "other/launch/output.h"

void ssh_stream_open(struct ssh_stream *stream, int fd, bool packets)
{
    memset(stream, 0, sizeof *stream);
    stream->fd = fd;
    stream->packets = packets;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

bool ssh_stream_seal(struct ssh_stream *stream, const struct ssh_seals *seals)
{
    stream->sealed = calloc(1, sizeof *stream->sealed);
    if (stream->sealed) stream->sealed->seals = *seals;
    return stream->sealed != NULL;
}

static void stream_free_sealed(struct ssh_stream_sealed *sealed)
{
    if (!sealed) return;
    ssh_wire_free(&sealed->in);
    ssh_wire_free(&sealed->out);
    explicit_bzero(sealed, sizeof *sealed); /* the keys */
    free(sealed);
}

void ssh_stream_watch_host(int fd)
{
    static const int on = 1, probes = 3, interval = 2, patience = 1000 * SSH_STREAM_PATIENCE;
    static const int idle = SSH_STREAM_PATIENCE - 3 * 2;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void ssh_stream_close(struct ssh_stream *stream)
{
    if (stream->fd >= 0) close(stream->fd);
    stream->fd = -1;
    while (stream->head < stream->tail) ssh_parcel_drop(stream->queue[stream->head++]);
    free(stream->queue);
    stream->queue = NULL;
    stream->head = stream->tail = stream->cap = 0;
    ssh_wire_free(&stream->in);
    stream_free_sealed(stream->sealed);
    stream->sealed = NULL;
}

short ssh_stream_events(const struct ssh_stream *stream)
{
    return POLLIN | (stream->head < stream->tail ? POLLOUT : 0);
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

static void stream_no_memory(void) __attribute__((noreturn));
static void stream_no_memory(void)
{
    launcher_log("out of memory for a message; ending the job");
    output_finish();
    _exit(1); /* all processes that this one started end with it */
}

static bool stream_enqueue(struct ssh_stream *stream, struct ssh_parcel *parcel)
{
    if (stream->head == stream->tail) stream->head = stream->tail = 0;
    if (stream->tail == stream->cap) {
        size_t cap = stream->cap ? 2 * stream->cap : 8;
        struct ssh_parcel **grown = realloc(stream->queue, cap * sizeof *grown);
        if (!grown) return false;
        stream->queue = grown;
        stream->cap = cap;
    }
    stream->queue[stream->tail++] = parcel;
    parcel->refs++;
    return true;
}

void ssh_stream_post(struct ssh_stream *stream, struct ssh_parcel *parcel)
{
    if (stream->fd < 0) return;
    if (!parcel || !stream_enqueue(stream, parcel)) stream_no_memory();
    ssh_stream_flush(stream);
}

/* Returns how many bytes one send may take: a packet is exactly one frame. */
static size_t stream_next_piece(const struct ssh_stream *stream, const struct ssh_parcel *parcel)
{
    struct ssh_wire_frame frame;
    const char *why;
    size_t left = parcel->len - stream->sent;
    if (!stream->packets) return left;
    return (size_t)ssh_wire_parse_frame(parcel->bytes + stream->sent, left, &frame, &why);
}

/* Seals the next part of the parcel, unless one is being sent. */
static void stream_seal_part(struct ssh_stream *stream, const struct ssh_parcel *parcel)
{
    struct ssh_stream_sealed *s = stream->sealed;
    const size_t left = parcel->len - stream->sent;
    if (s->out.len) return;
    s->part = left < SSH_SEAL_MOST ? left : SSH_SEAL_MOST;
    s->at = 0;
    ssh_seal_close(&s->seals.out, parcel->bytes + stream->sent, s->part, &s->out);
    if (s->out.failed) stream_no_memory();
}

/* Notes what was sent; returns how many bytes of the parcel are done by that. */
static size_t stream_sealed_sent(struct ssh_stream_sealed *s, size_t sent)
{
    if ((s->at += sent) < s->out.len) return 0;
    s->out.len = 0;
    return s->part;
}

/* As send(2), of the next bytes of the parcel; returns how many of these are done. */
static ssize_t stream_send(struct ssh_stream *stream, const struct ssh_parcel *parcel)
{
    enum { FLAGS = MSG_NOSIGNAL | MSG_DONTWAIT };
    struct ssh_stream_sealed *s = stream->sealed;
    if (!s)
        return send(stream->fd, parcel->bytes + stream->sent, stream_next_piece(stream, parcel),
                    FLAGS);
    stream_seal_part(stream, parcel);
    ssize_t sent = send(stream->fd, s->out.data + s->at, s->out.len - s->at, FLAGS);
    return sent < 0 ? sent : (ssize_t)stream_sealed_sent(s, (size_t)sent);
}

/* The most bytes that a call sends to a fast reader, so that other streams have their turn. */
enum { FLUSH_MOST = 1 << 20 };

void ssh_stream_flush(struct ssh_stream *stream)
{
    size_t done = 0;
    while (stream->fd >= 0 && stream->head < stream->tail && done < FLUSH_MOST) {
        struct ssh_parcel *parcel = stream->queue[stream->head];
        ssize_t sent = stream_send(stream, parcel);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (sent < 0 && !stream->error) { /* later errors are consequences */
            stream->error = errno;
            shutdown(stream->fd, SHUT_RDWR); /* a peer that lives must not wait for what is lost */
        }
        done += sent > 0 ? (size_t)sent : 0;
        if (sent >= 0 && (stream->sent += (size_t)sent) < parcel->len) continue;
        stream->head++; /* sent, or the peer is gone */
        stream->sent = 0;
        ssh_parcel_drop(parcel);
    }
}

/* Delivers the complete frames at the front of `in`. */
static enum ssh_stream_state stream_deliver(struct ssh_stream *stream, ssh_stream_frame_fn frame,
                                            void *ctx, const char **why)
{
    size_t at = 0;
    for (;;) {
        struct ssh_wire_frame found;
        ssize_t used = ssh_wire_parse_frame(stream->in.data + at, stream->in.len - at, &found, why);
        if (used < 0) return SSH_STREAM_GARBAGE;
        if (used == 0) break;
        frame(ctx, &found);
        at += (size_t)used;
    }
    memmove(stream->in.data, stream->in.data + at, stream->in.len - at);
    stream->in.len -= at;
    if (!stream->packets || stream->in.len == 0) return SSH_STREAM_OPEN;
    return *why = "packet that is not one frame", SSH_STREAM_GARBAGE;
}

/* Adds what was received to `in`. */
static enum ssh_stream_state stream_take(struct ssh_stream *stream, const uint8_t *bytes,
                                         size_t len, const char **why)
{
    struct ssh_stream_sealed *s = stream->sealed;
    struct ssh_wire_buf *raw = s ? &s->in : &stream->in;
    size_t at = 0, plain_len;
    ssize_t used = 0;
    uint8_t *plain;
    ssh_wire_put(raw, bytes, len);
    while (s && !raw->failed &&
           (used = ssh_seal_open(&s->seals.in, raw->data + at, raw->len - at, &plain, &plain_len)) >
               0) {
        ssh_wire_put(&stream->in, plain, plain_len);
        at += (size_t)used;
    }
    if (used < 0) return *why = "something between changed what it sent", SSH_STREAM_GARBAGE;
    if (raw->failed || stream->in.failed) return *why = "out of memory", SSH_STREAM_GARBAGE;
    if (at) memmove(raw->data, raw->data + at, raw->len - at);
    raw->len -= at;
    return SSH_STREAM_OPEN;
}

/* The kernel reports an error of a socket only once, to the first call. */
static const char *stream_error_text(int error)
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

enum ssh_stream_state ssh_stream_read(struct ssh_stream *stream, ssh_stream_frame_fn frame,
                                      void *ctx, const char **why)
{
    static uint8_t bytes[2 * SSH_WIRE_FRAME]; /* event loops have one thread */
    bool reset = false;
    while (stream->fd >= 0) {
        ssize_t got = recv(stream->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        /* ECONNRESET, reported once when a peer exits with unread data, precedes the peer's last
         * frames. */
        if (got < 0 && errno == ECONNRESET && stream->packets && !reset) {
            reset = true;
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return SSH_STREAM_OPEN;
        if (got < 0 && !stream->error) stream->error = errno;
        if (got <= 0) break;
        enum ssh_stream_state state = stream_take(stream, bytes, (size_t)got, why);
        if (state == SSH_STREAM_OPEN) state = stream_deliver(stream, frame, ctx, why);
        if (state != SSH_STREAM_OPEN) return state;
    }
    *why = stream_error_text(stream->error);
    return SSH_STREAM_EOF;
}
