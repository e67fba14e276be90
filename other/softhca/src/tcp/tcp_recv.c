/* tcp_recv.c - receives from connections: parses frames and dispatches them.
 *
 * Called by the wire thread when a socket is readable. Small payloads are gathered in the
 * connection's buffer. Long payloads are read directly to their destination, except for their last
 * bytes: the last bytes are stored last and together, because programs poll them.
 */
#include <string.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/softhca/src/tcp/remote_process.h"

enum { LAST = 8, ROUNDS = 16 };

static uint32_t tcp_recv_buffered(const struct shca_conn *c)
{
    return c->in_end - c->in_at;
}

/* The pieces TO for N bytes at OFFSET of the answer to a fetch: their number, or -1 when the bytes
 * are not wanted. Send lock held, here and below. */
static int tcp_recv_locate_answer(struct shca_remote *r, const struct wire_frame *f,
                                  uint32_t offset, uint32_t n, struct iovec *to)
{
    struct shca_gather g;
    if (!requester_wants(&r->out, f->life, f->msn, offset, n)) return -1;
    int status = shca_gather(r->qp, shca_send_wr(r->qp, f->msn), &g);
    if (status == IBV_WC_SUCCESS) return shca_slice(&g, offset, n, to);
    requester_fail(&r->out, f->msn, status);
    return -1;
}

static bool tcp_recv_store_answer(struct shca_remote *r, const struct wire_frame *f,
                                  uint32_t offset, const void *bytes, uint32_t n)
{
    struct iovec to[SHCA_MAX_SGE];
    int pieces = tcp_recv_locate_answer(r, f, offset, n, to);
    if (pieces < 0) return false;
    bool good = shca_user_memory_write(bytes, to, pieces);
    if (good)
        requester_received(&r->out, n, gasneti_clock_ns());
    else
        requester_fail(&r->out, f->msn, IBV_WC_LOC_PROT_ERR);
    return good;
}

/* Reads an answer from the socket, as tcp_respond_move_from_socket(). 0: nothing now; -1: the
 * connection is over. */
static ssize_t tcp_recv_read_answer(struct shca_conn *c, struct shca_remote *r, uint32_t offset,
                                    uint32_t n)
{
    struct iovec to[SHCA_MAX_SGE + 1];
    int pieces = tcp_recv_locate_answer(r, &c->frame, offset, n, to);
    if (pieces < 0) {
        c->sink = SINK_DROP;
        return 0;
    }
    ssize_t got = shca_tcp_recv_read(c, to, pieces, n);
    if (got == -EFAULT) {
        requester_fail(&r->out, c->frame.msn, IBV_WC_LOC_PROT_ERR);
        c->sink = SINK_DROP;
        return 0;
    }
    if (got > 0) requester_received(&r->out, got, gasneti_clock_ns());
    return got;
}

static ssize_t tcp_recv_answer_piece(struct shca_conn *c, const uint8_t *bytes, uint32_t n)
{
    struct shca_remote *r = c->to;
    uint32_t offset = (uint32_t)c->frame.value + c->frame.length - c->left;
    ssize_t taken = n;
    shca_lock(&r->qp->sq);
    if (!bytes)
        taken = tcp_recv_read_answer(c, r, offset, n);
    else if (!tcp_recv_store_answer(r, &c->frame, offset, bytes, n)) {
        c->sink = SINK_DROP;
        taken = 0;
    }
    shca_tcp_send_settle(r);
    shca_unlock(&r->qp->sq);
    return taken;
}

/* Handles a complete frame for a requester. */
static void tcp_recv_answered(struct shca_conn *c, const struct wire_frame *f,
                              const uint8_t *payload)
{
    struct shca_remote *r = shca_tcp_respond_find(c, f);
    if (!r) return;
    shca_lock(&r->qp->sq);
    if (f->type == WIRE_RESULT)
        tcp_recv_store_answer(r, f, 0, &f->value, sizeof f->value);
    else if (f->type == WIRE_RESPONSE)
        tcp_recv_store_answer(r, f, f->value, payload, f->length);
    else
        requester_on_frame(&r->out, f, gasneti_clock_ns());
    shca_tcp_send_settle(r);
    shca_unlock(&r->qp->sq);
}

/* Reads up to N bytes into the PIECES of TO, which has room for one more piece, and what follows
 * them into the empty buffer, to save a system call. Returns how many of the N arrived; 0: none
 * now; -EFAULT: memory is unmapped; -1: the connection is over. */
ssize_t shca_tcp_recv_read(struct shca_conn *c, struct iovec *to, int pieces, size_t n)
{
    to[pieces] = (struct iovec){c->in, WIRE_REQUEST_HEADER};
    ssize_t got = readv(c->fd, to, pieces + 1);
    if (got < 0 && errno == EFAULT) return -EFAULT;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got <= 0) return -1;
    size_t taken = (size_t)got < n ? (size_t)got : n;
    c->in_at = 0;
    c->in_end = got - taken;
    return taken;
}

static ssize_t tcp_recv_piece(struct shca_conn *c, const uint8_t *bytes, uint32_t n)
{
    ssize_t taken = c->frame.type == WIRE_RESPONSE ? tcp_recv_answer_piece(c, bytes, n)
                                                   : shca_tcp_respond_piece(c, bytes, n);
    if (taken < 0 || c->sink == SINK_DROP) return taken;
    c->left -= taken;
    if (c->left == 0) c->sink = SINK_HEADER;
    return taken;
}

static bool tcp_recv_is_greeting(const struct wire_frame *f)
{
    return f->type >= WIRE_HELLO;
}

static bool tcp_recv_begin(struct shca_conn *c)
{
    const struct wire_frame *f = &c->frame;
    bool wanted;
    if (tcp_recv_is_greeting(f) != (c->state != CONN_UP)) return false;
    c->confirmed |= c->state == CONN_UP;
    c->left = f->length;
    c->to = NULL;
    c->indirect = false;
    c->sink = SINK_WHOLE;
    if (f->length <= CONN_SMALL) return true;
    if (f->type == WIRE_RESPONSE)
        wanted = (c->to = shca_tcp_respond_find(c, f)) != NULL;
    else if (!shca_tcp_respond_begin(c, f, &wanted))
        return false;
    c->sink = wanted ? SINK_STREAM : SINK_DROP;
    return true;
}

static bool tcp_recv_whole(struct shca_conn *c)
{
    const uint8_t *payload = c->in + c->in_at;
    const struct wire_frame *f = &c->frame;
    c->in_at += c->left;
    c->left = 0;
    c->sink = SINK_HEADER;
    if (tcp_recv_is_greeting(f)) return shca_remote_process_greeting(c, f, payload);
    if (f->type <= WIRE_PROBE) return shca_tcp_respond_whole(c, f, payload);
    tcp_recv_answered(c, f, payload);
    return true;
}

/* How many of N bytes of a stream may be stored now: the last ones of a message only together. */
static uint32_t tcp_recv_storable(const struct shca_conn *c, uint32_t n)
{
    if (n >= c->left) return c->left;
    return c->left - n >= LAST ? n : c->left > LAST ? c->left - LAST : 0;
}

/* Consumes buffered bytes. True: call again. False: more bytes are needed, or *OVER. */
static bool tcp_recv_consume(struct shca_conn *c, bool *over)
{
    const char *why;
    uint32_t n = tcp_recv_buffered(c);
    int size;
    switch (c->sink) {
    case SINK_HEADER:
        size = wire_parse(c->in + c->in_at, n, &c->frame, &why);
        if (size <= 0) {
            *over = size < 0;
            return false;
        }
        c->in_at += size;
        *over = !tcp_recv_begin(c);
        return !*over;
    case SINK_WHOLE:
        if (n < c->left) return false;
        *over = !tcp_recv_whole(c);
        return !*over;
    case SINK_DROP:
        if (n > c->left) n = c->left;
        c->in_at += n;
        c->left -= n;
        if (c->left == 0) c->sink = SINK_HEADER;
        return n > 0 || c->left == 0;
    default:
        n = tcp_recv_storable(c, n);
        if (n == 0) return false;
        if (tcp_recv_piece(c, c->in + c->in_at, n) < 0) *over = true;
        if (!*over && c->sink != SINK_DROP) c->in_at += n;
        return !*over;
    }
}

/* Reads from the socket by one system call. 0: nothing to read; -1: the connection is over. */
static ssize_t tcp_recv_fill(struct shca_conn *c)
{
    enum { WORTH_IT = 2048 };
    bool straight = c->sink == SINK_STREAM && tcp_recv_buffered(c) == 0 && !c->indirect;
    uint32_t direct = straight && c->left > LAST ? c->left - LAST : 0;
    if (direct >= WORTH_IT) {
        ssize_t n = tcp_recv_piece(c, NULL, direct);
        return n > 0 || c->sink != SINK_DROP ? n : 1; /* the rest is dropped: read on */
    }
    if (tcp_recv_buffered(c) == 0) c->in_at = c->in_end = 0;
    if (CONN_INPUT - c->in_end < CONN_SMALL + WIRE_REQUEST_HEADER) {
        memmove(c->in, c->in + c->in_at, tcp_recv_buffered(c));
        c->in_end -= c->in_at;
        c->in_at = 0;
    }
    ssize_t n = recv(c->fd, c->in + c->in_end, CONN_INPUT - c->in_end, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0) return -1;
    c->in_end += n;
    return n;
}

bool shca_tcp_recv(struct shca_conn *c)
{
    bool over = false;
    for (int round = 0; round < ROUNDS && !over; round++) {
        ssize_t n = tcp_recv_fill(c);
        if (n == 0) break;
        over = n < 0;
        while (!over && tcp_recv_consume(c, &over)) continue;
    }
    if (c->process && c->process->up == c) shca_tcp_respond_answer(c->process);
    return !over;
}
