/* tcp_respond.c - requests from other hosts: executed on this process's memory and queues by
 * respond.c, as for a peer of this host, and answered.
 *
 * Called by the wire thread. A small message is executed when it is complete; a long one is read
 * from the socket to its destination in parts, each checked anew. Answers are built when the socket
 * has room, from the state of the responders: nothing is queued here.
 */
#include <stdlib.h>
#include <string.h>

#include "other/softhca/src/tcp/remote_process.h"

enum { HEADS = 32 };

struct shca_remote *shca_tcp_respond_find(const struct shca_conn *c, const struct wire_frame *f)
{
    struct shca_remote *r = shca_wire.remote[shm_qpn_index(f->to)];
    bool known =
        r && r->process == c->process && r->qp->base.qp_num == f->to && r->dest_qpn == f->from;
    return known ? r : NULL;
}

void shca_tcp_respond_due(struct shca_remote *r)
{
    struct shca_remote_process *f = r->process;
    if (r->due) return;
    r->due = true;
    r->due_next = NULL;
    *f->due_end = r;
    f->due_end = &r->due_next;
}

void shca_tcp_respond_undue(struct shca_remote *r)
{
    struct shca_remote **at = &r->process->due;
    if (!r->due) return;
    while (*at != r) at = &(*at)->due_next;
    *at = r->due_next;
    if (!r->due_next) r->process->due_end = at;
    r->due = false;
}

/* The target QP of F does not exist. One NAK answers all frames of one sender; when there is no
 * room for it the requester probes again. */
static void tcp_respond_no_target(struct shca_conn *c, const struct wire_frame *f)
{
    for (uint32_t i = 0; i < c->refusals; i++)
        if (c->refusal[i].to == f->from && c->refusal[i].from == f->to &&
            c->refusal[i].life == f->life)
            return;
    if (c->refusals < CONN_REFUSALS) responder_no_target(f, &c->refusal[c->refusals++]);
}

static void tcp_respond_make_wr(struct shca_remote *r, const struct wire_frame *f)
{
    static const enum ibv_wr_opcode opcodes[WIRE_OPCODES] = {
        [WIRE_SEND] = IBV_WR_SEND,
        [WIRE_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
        [WIRE_SEND_INV] = IBV_WR_SEND_WITH_INV,
        [WIRE_WRITE] = IBV_WR_RDMA_WRITE,
        [WIRE_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
        [WIRE_READ] = IBV_WR_RDMA_READ,
        [WIRE_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
        [WIRE_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
    };
    static const enum ibv_qp_type types[WIRE_SERVICES] = {
        [WIRE_RC] = IBV_QPT_RC, [WIRE_UC] = IBV_QPT_UC, [WIRE_XRC] = IBV_QPT_XRC_SEND};
    struct ibv_send_wr *w = &r->wr;
    *w = (struct ibv_send_wr){.opcode = opcodes[f->opcode], .imm_data = f->imm};
    if (f->send_flags & WIRE_SOLICITED) w->send_flags = IBV_SEND_SOLICITED;
    if (f->opcode > WIRE_READ) {
        w->wr.atomic.remote_addr = f->value;
        w->wr.atomic.rkey = f->rkey;
        w->wr.atomic.compare_add = f->compare_add;
        w->wr.atomic.swap = f->swap;
    } else {
        w->wr.rdma.remote_addr = f->value;
        w->wr.rdma.rkey = f->rkey;
    }
    w->qp_type.xrc.remote_srqn = f->srqn;
    r->target.type = types[f->service];
    r->target.reliable = f->service != WIRE_UC;
    r->target.sender_id = shm_sender_id(r->target.type, r->dest_qpn, f->dest_port) |
                          shm_pkey_id(f->pkey, SHCA_LIMITED_SENDER) | SHCA_OTHER_HOST;
    r->target.route = (struct shm_route){f->slid, f->sl, f->dlid_path_bits};
}

/* The open request has ended with STATUS. */
static bool tcp_respond_conclude(struct shca_remote *r, int status, uint64_t value)
{
    enum responder_verdict v = RESPONDER_DROP;
    struct wire_nak nak = {0};
    if (status == IBV_WC_SUCCESS)
        v = responder_finish(&r->in, value);
    else if (status == SHCA_NOT_READY)
        nak = (struct wire_nak){.code = WIRE_RNR, .timer = r->target.t->min_rnr_timer & 31};
    else if (status == SHCA_NO_TARGET)
        nak = (struct wire_nak){.code = WIRE_NO_TARGET};
    else
        nak = (struct wire_nak){.code = WIRE_ERROR, .status = status};
    if (nak.code) responder_refuse(&r->in, &nak);
    shca_tcp_respond_due(r);
    return v != RESPONDER_BAD;
}

/* The SRQ of an XRC message may belong to another process of this host. */
static bool tcp_respond_is_ours(const struct shca_remote *r)
{
    return r->target.peer->slot == shca.slot;
}

/* The source of a part of a message. */
struct source {
    struct shca_part part;
    struct shca_remote *r;
    struct shca_conn *c;
    const uint8_t *bytes;
    size_t n;
    bool over; /* the connection is */
};

static int tcp_respond_move_bytes(struct shca_part *p, const struct shca_piece *piece, int n)
{
    struct source *s = (struct source *)p;
    struct iovec iov = {(void *)s->bytes, s->n};
    int error = shca_move(s->r->target.peer, true, &iov, 1, piece, n);
    if (!error) p->at += s->n;
    return error;
}

static int tcp_respond_move_from_socket(struct shca_part *p, const struct shca_piece *piece, int n)
{
    struct source *s = (struct source *)p;
    struct iovec iov[SHCA_MAX_SGE + 1];
    if (!tcp_respond_is_ours(s->r)) { /* the next attempt goes through the buffer */
        s->c->indirect = true;
        return 0;
    }
    for (int i = 0; i < n; i++)
        iov[i] = (struct iovec){(void *)(uintptr_t)piece[i].va, piece[i].len};
    ssize_t got = shca_tcp_recv_read(s->c, iov, n, s->n);
    if (got == -EFAULT) return EFAULT;
    s->over = got < 0;
    if (got > 0) p->at += got;
    return 0;
}

bool shca_tcp_respond_begin(struct shca_conn *c, const struct wire_frame *f, bool *wanted)
{
    struct shca_remote *r = shca_tcp_respond_find(c, f);
    *wanted = false;
    if (f->type == WIRE_REQUEST && f->service == WIRE_UD) return false; /* too long */
    if (!r) {
        tcp_respond_no_target(c, f);
        return true;
    }
    enum responder_verdict v = responder_on_frame(&r->in, f);
    shca_tcp_respond_due(r);
    *wanted = v == RESPONDER_RUN;
    if (*wanted && f->type == WIRE_REQUEST) tcp_respond_make_wr(r, f);
    if (*wanted) c->to = r;
    return v != RESPONDER_BAD;
}

ssize_t shca_tcp_respond_piece(struct shca_conn *c, const uint8_t *bytes, size_t n)
{
    struct shca_remote *r = c->to;
    struct source s = {
        .part = {.at = r->in.at,
                 .total = r->in.request.total,
                 .receive = &r->receive,
                 .move = bytes ? tcp_respond_move_bytes : tcp_respond_move_from_socket},
        .r = r,
        .c = c,
        .bytes = bytes,
        .n = n};
    int status = shca_respond_part(&r->target, &r->wr, &s.part, n);
    if (s.over) return -1;
    size_t taken = s.part.at - r->in.at;
    if (status != IBV_WC_SUCCESS) {
        c->sink = SINK_DROP;
        return tcp_respond_conclude(r, status, 0) ? 0 : -1;
    }
    if (responder_ran(&r->in, taken) && !tcp_respond_conclude(r, status, 0)) return -1;
    return taken;
}

/* Executes a message that has arrived completely. */
static bool tcp_respond_run(struct shca_remote *r, const struct wire_frame *f,
                            const uint8_t *payload)
{
    uint64_t found = 0;
    struct shca_gather g = {.n = f->length > 0, .total = f->total};
    g.iov[0] = (struct iovec){(void *)payload, f->length};
    if (f->opcode > WIRE_READ) {
        g.n = 1;
        g.iov[0] = (struct iovec){&found, sizeof found};
    }
    tcp_respond_make_wr(r, f);
    /* For a READ this only checks; the data are read when they are sent. */
    int status = IBV_WC_SUCCESS;
    if (f->opcode != WIRE_NOTHING) status = shca_respond(&r->target, &r->wr, &g);
    if (status == IBV_WC_SUCCESS) responder_ran(&r->in, f->length);
    return tcp_respond_conclude(r, status, found);
}

bool shca_tcp_respond_whole(struct shca_conn *c, const struct wire_frame *f, const uint8_t *payload)
{
    bool wanted;
    if (f->type == WIRE_REQUEST && f->service == WIRE_UD) {
        if (f->length != f->total) return false;
        shca_tcp_respond_datagram(f, payload);
        return true;
    }
    if (!shca_tcp_respond_begin(c, f, &wanted)) return false;
    if (!wanted) return true;
    if (f->type == WIRE_REQUEST && (wire_is_fetch(f->opcode) || f->length == f->total))
        return tcp_respond_run(c->to, f, payload);
    return shca_tcp_respond_piece(c, payload, f->length) >= 0;
}

/* Frame headers for one system call. */
struct reply_batch {
    struct shca_conn *c;
    int n;
    struct iovec iov[HEADS];
    uint8_t head[HEADS][WIRE_HEADER];
    size_t bytes;
};

static void tcp_respond_send(struct reply_batch *m)
{
    if (m->n > 0) shca_tcp_send(m->c, m->iov, m->n, m->n * WIRE_HEADER);
    m->n = 0;
}

static void tcp_respond_put(struct reply_batch *m, const struct wire_frame *f)
{
    wire_put(f, m->head[m->n]);
    m->iov[m->n] = (struct iovec){m->head[m->n], WIRE_HEADER};
    if (++m->n == HEADS) tcp_respond_send(m);
}

struct answer {
    struct shca_part part;
    struct shca_remote *r;
    struct reply_batch *m;
    const struct wire_frame *f;
};

static int tcp_respond_put_with(struct answer *a, struct iovec *iov, int n)
{
    if (!shca_tcp_send(a->m->c, iov, n, WIRE_HEADER + a->f->length)) return EFAULT;
    a->part.at += a->f->length;
    a->m->bytes += a->f->length;
    return 0;
}

/* Memory of another process is copied to a buffer first. */
static int tcp_respond_put_fetched(struct answer *a, struct iovec *iov,
                                   const struct shca_piece *piece, int n)
{
    iov[1] = (struct iovec){malloc(a->f->length), a->f->length};
    int error =
        iov[1].iov_base ? shca_move(a->r->target.peer, false, &iov[1], 1, piece, n) : ENOMEM;
    void *bytes = iov[1].iov_base;
    if (!error) error = tcp_respond_put_with(a, iov, 2);
    free(bytes);
    return error;
}

static int tcp_respond_move_to_socket(struct shca_part *p, const struct shca_piece *piece, int n)
{
    struct answer *a = (struct answer *)p;
    struct iovec iov[SHCA_MAX_SGE + 1];
    uint8_t head[WIRE_HEADER];
    iov[0] = (struct iovec){head, wire_put(a->f, head)};
    for (int i = 0; i < n; i++)
        iov[1 + i] = (struct iovec){(void *)(uintptr_t)piece[i].va, piece[i].len};
    return tcp_respond_is_ours(a->r) ? tcp_respond_put_with(a, iov, n + 1)
                                     : tcp_respond_put_fetched(a, iov, piece, n);
}

/* Sends data of a READ. False: no room. */
static bool tcp_respond_put_data(struct shca_remote *r, struct reply_batch *m,
                                 const struct wire_frame *f)
{
    const struct responder_fetch *x = responder_oldest(&r->in);
    struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_READ};
    struct answer a = {.part = {.at = x->at, .total = x->total, .move = tcp_respond_move_to_socket},
                       .r = r,
                       .m = m,
                       .f = f};
    wr.wr.rdma.remote_addr = x->addr;
    wr.wr.rdma.rkey = x->rkey;
    wr.qp_type.xrc.remote_srqn = x->srqn;
    tcp_respond_send(m);
    if (m->c->blocked) return false;
    int status = shca_respond_part(&r->target, &wr, &a.part, f->length);
    if (status == IBV_WC_SUCCESS)
        responder_sent(&r->in, f);
    else
        responder_fetch_failed(&r->in, status);
    return true;
}

/* Sends the answers of R while there is room. True: all were sent. */
static bool tcp_respond_answer(struct shca_remote *r, struct reply_batch *m)
{
    struct wire_frame f;
    while (!m->c->blocked && m->bytes < CONN_BATCH && responder_next(&r->in, &f)) {
        f.from = r->qp->base.qp_num;
        f.to = r->dest_qpn;
        if (f.type == WIRE_RESPONSE && f.length > 0) {
            if (!tcp_respond_put_data(r, m, &f)) return false;
            continue;
        }
        tcp_respond_put(m, &f);
        responder_sent(&r->in, &f);
    }
    return !responder_next(&r->in, &f);
}

/* Sends answers of F's QPs in order; a QP with more joins the list again. */
void shca_tcp_respond_answer(struct shca_remote_process *f)
{
    struct shca_conn *c = f->up;
    if (!c || (!f->due && c->refusals == 0)) return;
    shca_lock(&f->out);
    struct reply_batch m = {.c = c};
    for (; c->refusals > 0 && !c->blocked; c->refusals--)
        tcp_respond_put(&m, &c->refusal[c->refusals - 1]);
    while (f->due && !c->blocked && m.bytes < CONN_BATCH) {
        struct shca_remote *r = f->due;
        shca_tcp_respond_undue(r);
        if (!tcp_respond_answer(r, &m)) shca_tcp_respond_due(r);
    }
    if (!c->blocked) tcp_respond_send(&m);
    if (f->due && !c->blocked) shca_tcp_yield(c);
    shca_unlock(&f->out);
}
