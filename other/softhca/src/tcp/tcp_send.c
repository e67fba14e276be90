/* tcp_send.c - queue pairs whose other end is on another host: their setup, and sending.
 *
 * A posting thread writes to the connection itself while the socket has room; otherwise the QP
 * joins a list, and the wire thread sends for the QPs of the list in rounds. Data are copied only
 * when a socket takes part of a frame: a WR stays in the send ring until it has ended, and its
 * frames are built when there is room.
 */
#include <stdlib.h>
#include <string.h>

#include "other/base/clock.h"
#include "other/softhca/src/objects/mw.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/tcp/remote_process.h"
#include "other/softhca/src/tcp/tcp.h"

enum { FRAMES = 16, PIECES = FRAMES * 4 + SHCA_MAX_SGE };

/* Frames of one QP for one system call. */
struct batch {
    int frames, n;
    size_t bytes;
    struct iovec iov[PIECES];
    uint8_t head[FRAMES][WIRE_REQUEST_HEADER];
};

static uint8_t tcp_send_opcode(enum ibv_wr_opcode o)
{
    switch (o) {
    case IBV_WR_SEND:
        return WIRE_SEND;
    case IBV_WR_SEND_WITH_IMM:
        return WIRE_SEND_IMM;
    case IBV_WR_SEND_WITH_INV:
        return WIRE_SEND_INV;
    case IBV_WR_LOCAL_INV:
    case IBV_WR_BIND_MW:
        return WIRE_NOTHING;
    case IBV_WR_RDMA_WRITE:
        return WIRE_WRITE;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return WIRE_WRITE_IMM;
    case IBV_WR_RDMA_READ:
        return WIRE_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return WIRE_SWAP;
    default:
        return WIRE_ADD;
    }
}

/* requester.look: reads a WR of the send ring. */
static void tcp_send_read_wr(void *owner, uint32_t msn, struct requester_wr *wr)
{
    const struct ibv_send_wr *w = shca_send_wr(owner, msn);
    wr->opcode = tcp_send_opcode(w->opcode);
    wr->fence = w->send_flags & IBV_SEND_FENCE;
    wr->length = 0;
    for (int i = 0; i < w->num_sge; i++) wr->length += w->sg_list[i].length;
}

static enum wire_service tcp_send_service(enum ibv_qp_type type)
{
    if (type == IBV_QPT_UC) return WIRE_UC;
    return type == IBV_QPT_XRC_SEND ? WIRE_XRC : WIRE_RC;
}

/* Fills in the fields of a request that the requester does not know. */
static void tcp_send_fill_request(const struct shca_remote *r, const struct ibv_send_wr *w,
                                  struct wire_frame *f)
{
    f->service = tcp_send_service(r->qp->base.qp_type);
    if (f->service == WIRE_XRC) f->srqn = w->qp_type.xrc.remote_srqn;
    f->dest_port = r->qp->target.dest_port;
    f->pkey = r->qp->target.pkey;
    f->slid = r->qp->target.route.slid;
    f->sl = r->qp->target.route.sl;
    f->dlid_path_bits = r->qp->target.route.dlid_path_bits;
    f->send_flags = w->send_flags & IBV_SEND_SOLICITED ? WIRE_SOLICITED : 0;
    f->imm = w->imm_data;
    if (f->opcode > WIRE_READ) {
        f->value = w->wr.atomic.remote_addr;
        f->rkey = w->wr.atomic.rkey;
        f->compare_add = w->wr.atomic.compare_add;
        f->swap = w->wr.atomic.swap;
    } else {
        f->value = w->wr.rdma.remote_addr;
        f->rkey = w->wr.rdma.rkey;
    }
}

/* Wakes the wire thread when it has no tick for F scheduled, or NOW. */
static void tcp_send_wake_wire_thread(struct shca_remote_process *f, bool now)
{
    if (now || f->wake == REMOTE_NEVER) shca_remote_process_kick(f);
}

/* What is done with the next frame. */
enum { GOES, STAYS, IS_SKIPPED };

/* Injected faults: decided once per message, before it is first sent. */
static int tcp_send_decide(struct shca_remote *r, uint32_t msn, const struct ibv_send_wr *w)
{
    if (!r->qp->faults || wire_before(msn, r->decided)) return GOES;
    int status = shca_inject_message(r->qp, w, msn);
    if (status == SHCA_STALLED) {
        r->out.pause_until = gasneti_clock_ns() + 1000000; /* then the fault is checked again */
        tcp_send_wake_wire_thread(r->process, true);
        return STAYS;
    }
    r->decided = msn + 1;
    if (status == 0) return GOES;
    if (status == SHCA_DROPPED) return IS_SKIPPED;
    requester_fail(&r->out, msn,
                   status == SHCA_NOT_READY ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR);
    return STAYS;
}

/* The local side of a message: gathers its memory, or executes a local WR. */
static int tcp_send_local_side(struct shca_remote *r, const struct wire_frame *f,
                               const struct ibv_send_wr *w, struct shca_gather *g)
{
    const bool again = wire_before(f->msn, r->began);
    if (!again) r->began = f->msn + 1;
    if (f->opcode == WIRE_NOTHING) return again ? IBV_WC_SUCCESS : shca_mw_run(r->qp, w);
    int status = shca_gather(r->qp, w, g);
    if (status == IBV_WC_SUCCESS && f->opcode > WIRE_READ && g->total != 8)
        return IBV_WC_LOC_LEN_ERR;
    return status;
}

/* Adds frame *F to the batch, unless the program's memory or rights, or a fault, forbid it. */
static int tcp_send_add_frame(struct shca_remote *r, struct batch *b, struct wire_frame *f)
{
    struct shca_gather g = {.n = 0};
    size_t offset = f->value;
    f->from = r->qp->base.qp_num;
    f->to = r->dest_qpn;
    if (f->type != WIRE_PROBE) {
        const struct ibv_send_wr *w = shca_send_wr(r->qp, f->msn);
        int verdict = tcp_send_decide(r, f->msn, w);
        if (verdict != GOES) return verdict;
        int status = tcp_send_local_side(r, f, w, &g);
        if (status != IBV_WC_SUCCESS) {
            requester_fail(&r->out, f->msn, status);
            return STAYS;
        }
        if (f->type == WIRE_REQUEST) tcp_send_fill_request(r, w, f);
    }
    uint8_t *head = b->head[b->frames++];
    b->iov[b->n++] = (struct iovec){head, wire_put(f, head)};
    b->n += shca_slice(&g, offset, f->length, b->iov + b->n);
    b->bytes += wire_header_size(f->type) + f->length;
    return GOES;
}

static bool tcp_send_has_room(const struct batch *b, int most)
{
    return b->frames < most && b->n + SHCA_MAX_SGE + 1 <= PIECES && b->bytes < CONN_BATCH;
}

/* Adds frames of R until there are no more or no room. In SQD no message begins, or begins
 * again. */
static void tcp_send_gather_frames(struct shca_remote *r, struct batch *b, int most, uint64_t now)
{
    struct wire_frame f;
    b->frames = b->n = 0;
    b->bytes = 0;
    while (tcp_send_has_room(b, most) && requester_next(&r->out, now, &f)) {
        if (f.type == WIRE_REQUEST && shca_state(r->qp) == IBV_QPS_SQD) return;
        int verdict = tcp_send_add_frame(r, b, &f);
        if (verdict == STAYS) return;
        if (verdict == IS_SKIPPED)
            requester_skip(&r->out);
        else
            requester_sent(&r->out, &f, now);
    }
}

/* Sends frames of R until it has none, CONN_BATCH bytes are sent or the socket is full. True: R may
 * have more. Send lock and out lock held. */
static bool tcp_send_batch(struct shca_remote *r, struct shca_conn *c)
{
    uint64_t now = gasneti_clock_ns();
    struct batch b;
    int most = FRAMES;
    for (size_t sent = 0; sent < CONN_BATCH; sent += b.bytes) {
        struct requester before = r->out;
        tcp_send_gather_frames(r, &b, most, now);
        if (b.frames == 0) return false;
        if (!shca_tcp_send(c, b.iov, b.n, b.bytes)) {
            /* Memory of one of these WRs is unmapped: send one frame at a time to find it. */
            r->out = before;
            if (most == 1) requester_fail(&r->out, r->out.next, IBV_WC_LOC_PROT_ERR);
            most = 1;
            b.bytes = 0;
        }
        if (c->blocked) return true;
    }
    return true;
}

/* Out lock held. */
static void tcp_send_list_add(struct shca_remote *r)
{
    struct shca_remote_process *f = r->process;
    if (r->ready) return;
    r->ready = true;
    r->ready_next = NULL;
    *f->ready_end = r;
    f->ready_end = &r->ready_next;
}

static struct shca_remote *tcp_send_list_next(struct shca_remote_process *f)
{
    struct shca_remote *r = f->ready;
    if (!r) return NULL;
    f->ready = r->ready_next;
    if (!f->ready) f->ready_end = &f->ready;
    r->ready = false;
    return r;
}

static void tcp_send_list_remove(struct shca_remote *r)
{
    struct shca_remote_process *f = r->process;
    struct shca_remote **at = &f->ready;
    if (!r->ready) return;
    while (*at != r) at = &(*at)->ready_next;
    *at = r->ready_next;
    if (!r->ready_next) f->ready_end = at;
    r->ready = false;
}

/* Whether the port of the QP is not active; records since when. */
static bool tcp_send_port_is_down(struct shca_remote *r)
{
    if (r->qp->target.sender_id != SHCA_NO_SENDER)
        r->port_down_since = 0;
    else if (!r->port_down_since)
        r->port_down_since = gasneti_clock_ns();
    return r->port_down_since;
}

/* Sends frames of R, or puts R on the list. Send lock held. */
static void tcp_send_now_or_list(struct shca_remote *r)
{
    struct shca_remote_process *f = r->process;
    if (!f->up || tcp_send_port_is_down(r)) return; /* sent by shca_tcp_send_up() */
    shca_lock(&f->out);
    struct shca_conn *c = f->up;
    if (c && !c->broken && !r->ready) {
        bool more = c->blocked || tcp_send_batch(r, c);
        if (more) tcp_send_list_add(r);
        if (more && !c->blocked) shca_tcp_yield(c);
    }
    shca_unlock(&f->out);
}

/* Completes WRs that have ended; send lock held. */
static void tcp_send_reap(struct shca_remote *r)
{
    int status;
    while (shca_state(r->qp) < IBV_QPS_SQE && requester_done(&r->out, &status))
        shca_send_end(r->qp, status); /* an error stops the requester */
    if (r->qp->drain_wanted && shca_state(r->qp) == IBV_QPS_SQD && requester_drained(&r->out))
        shca_qp_raise_drained(r->qp);
}

/* Handles timeouts of R's requester; returns the time of the next call. Send lock held. */
static uint64_t tcp_send_pass_time(struct shca_remote *r)
{
    uint64_t down_since = tcp_send_port_is_down(r) ? r->port_down_since : r->process->down_since;
    /* An unreliable QP does not wait for a process that does not listen. */
    bool gone = r->process->gone || (!r->out.reliable && r->process->refused);
    return requester_tick(&r->out, gasneti_clock_ns(), down_since, gone);
}

void shca_tcp_send_settle(struct shca_remote *r)
{
    tcp_send_reap(r);
    shca_remote_process_wake(r->process, tcp_send_pass_time(r));
    tcp_send_now_or_list(r);
    tcp_send_reap(r);
}

void shca_tcp_send_push(struct shca_qp *qp)
{
    struct shca_remote *r = qp->target.remote;
    if (shca_state(qp) != IBV_QPS_RTS || r->out.head == qp->sq_head) return;
    uint64_t now = gasneti_clock_ns();
    requester_posted(&r->out, qp->sq_head, now);
    if (!r->out.reliable) r->process->wanted = now;
    tcp_send_wake_wire_thread(r->process, false);
    tcp_send_now_or_list(r);
    /* The wire thread may sleep for long if all that it knows of is a destroyed target. */
    if (r->process->gone || (!r->out.reliable && !r->process->up)) tcp_send_pass_time(r);
    tcp_send_reap(r);
}

void shca_tcp_send_stop(struct shca_qp *qp)
{
    requester_stop(&qp->target.remote->out, qp->sq_head);
}

void shca_tcp_send_receive(struct shca_qp *qp)
{
    struct shca_remote *r = qp->target.remote;
    r->receive_posted = true;
    tcp_send_wake_wire_thread(r->process, true);
}

/* The attributes or the state of the QP have changed. */
void shca_tcp_send_tune(struct shca_qp *qp)
{
    struct requester *q = &qp->target.remote->out;
    uint32_t fetches = qp->attr.max_rd_atomic;
    if (q->una != qp->sq_exec) requester_stop(q, qp->sq_exec); /* WRs were flushed meanwhile */
    q->max_fetches = fetches == 0 ? 1 : fetches > WIRE_FETCHES ? WIRE_FETCHES : fetches;
    q->timeout = qp->attr.timeout ? 4096ull << qp->attr.timeout : 0;
    q->tries = qp->attr.retry_cnt + 1;
    q->rnr_retry = qp->attr.rnr_retry;
    shca_tcp_send_push(qp);
    tcp_send_now_or_list(qp->target.remote);
    tcp_send_reap(qp->target.remote);
}

bool shca_tcp_send_draining(struct shca_qp *qp)
{
    return shca_state(qp) == IBV_QPS_SQD && !requester_drained(&qp->target.remote->out);
}

uint32_t shca_tcp_send_number(const struct shca_remote *r)
{
    return r->process->who.number;
}

/* Connects QP, whose dest_qp_num is set, to a QP on another host: 0 or an errno value. */
int shca_tcp_send_bind(struct shca_qp *qp, struct shca_destination destination)
{
    static _Atomic uint32_t lives;
    struct shca_remote *r = calloc(1, sizeof *r);
    if (!r) return ENOMEM;
    r->qp = qp;
    r->dest_qpn = qp->attr.dest_qp_num;
    r->in.reliable = qp->target.reliable;
    r->out = (struct requester){
        .reliable = r->in.reliable, .life = ++lives, .look = tcp_send_read_wr, .owner = qp};
    requester_start(&r->out);
    requester_stop(&r->out, qp->sq_head);
    r->decided = r->began = qp->sq_head;
    responder_start(&r->in);
    shca_target_set(&r->target, (struct shca_destination){SHCA_OUTSIDE, 0}, qp->base.qp_type,
                    r->dest_qpn, qp->base.qp_num);
    struct shca_remote_process *f = NULL;
    if (shca_target_attach(&r->target))
        f = shca_remote_process_find(destination.host - 1, shm_qpn_slot(r->dest_qpn));
    if (!f) {
        shca_peer_put(r->target.peer);
        free(r);
        return ENOMEM;
    }
    r->process = f;
    pthread_mutex_lock(&shca.lock);
    qp->target.remote = r;
    pthread_mutex_unlock(&shca.lock);
    pthread_mutex_lock(&shca_wire.lock);
    r->next = f->remotes;
    f->remotes = r;
    shca_wire.remote[qp->index] = r;
    pthread_mutex_unlock(&shca_wire.lock);
    return 0;
}

static void tcp_send_forget(struct shca_remote *r)
{
    struct shca_remote **at = &r->process->remotes;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    shca_tcp_respond_undue(r);
    shca_wire.remote[r->qp->index] = NULL;
    struct shca_conn *c = r->process->up;
    if (c && c->to == r) {
        c->to = NULL;
        c->sink = SINK_DROP;
    }
}

/* Disconnects the QP. Answers that are due are sent first, so that the other end learns what was
 * executed, and that nothing more will be. */
void shca_tcp_send_drop(struct shca_qp *qp)
{
    struct shca_remote *r = qp->target.remote;
    if (!r) return;
    struct shca_remote_process *f = r->process;
    pthread_mutex_lock(&shca_wire.lock);
    shca_tcp_respond_answer(f);
    responder_closed(&r->in);
    shca_tcp_respond_due(r);
    shca_tcp_respond_answer(f);
    tcp_send_forget(r);
    pthread_mutex_unlock(&shca_wire.lock);
    /* Without the wire lock: a thread in shca_quiesce() holds shca.lock and waits for the wire
     * thread. */
    pthread_mutex_lock(&shca.lock);
    shca_lock(&qp->sq);
    qp->target.remote = NULL;
    shca_unlock(&qp->sq);
    pthread_mutex_unlock(&shca.lock);
    pthread_mutex_lock(&shca_wire.lock);
    shca_lock(&qp->sq);
    shca_lock(&f->out);
    tcp_send_list_remove(r);
    shca_unlock(&f->out);
    shca_unlock(&qp->sq);
    shca_remote_process_put(f);
    shca_remote_process_release(f);
    pthread_mutex_unlock(&shca_wire.lock);
    shca_respond_drop(&r->target, &r->receive);
    shca_peer_put(r->target.peer);
    free(r);
}

/* The connection is up. */
void shca_tcp_send_up(struct shca_remote_process *f)
{
    for (struct shca_remote *r = f->remotes; r; r = r->next) {
        shca_lock(&r->qp->sq);
        shca_tcp_send_settle(r);
        shca_unlock(&r->qp->sq);
    }
}

/* The connection is lost. */
void shca_tcp_send_lost(struct shca_remote_process *f)
{
    for (struct shca_remote *r = f->remotes; r; r = r->next) {
        responder_lost(&r->in);
        shca_respond_drop(&r->target, &r->receive);
        shca_lock(&r->qp->sq);
        requester_lost(&r->out);
        shca_lock(&f->out);
        tcp_send_list_remove(r);
        shca_unlock(&f->out);
        tcp_send_reap(r);
        shca_unlock(&r->qp->sq);
    }
}

/* The tick of F. True: a QP waits for the other process. */
bool shca_tcp_send_tick(struct shca_remote_process *f)
{
    bool busy = false;
    for (struct shca_remote *r = f->remotes; r; r = r->next) {
        shca_lock(&r->qp->sq);
        if (r->out.una != r->out.head) shca_tcp_send_settle(r);
        busy |= r->out.una != r->out.head;
        shca_unlock(&r->qp->sq);
        if (!atomic_exchange(&r->receive_posted, false)) continue;
        r->in.ready_due = true;
        shca_tcp_respond_due(r);
    }
    shca_tcp_respond_answer(f);
    return busy;
}

/* EPOLLOUT: sends the stash, then answers, then QPs of the list in order. */
void shca_tcp_send_write(struct shca_conn *c)
{
    enum { ROUNDS = 8 };
    struct shca_remote_process *f = c->process;
    if (c->state != CONN_UP) {
        shca_tcp_flush(c);
        return;
    }
    shca_lock(&f->out);
    bool room = shca_tcp_flush(c);
    shca_unlock(&f->out);
    if (room) shca_tcp_respond_answer(f);
    for (int round = 0; round < ROUNDS && room; round++) {
        shca_lock(&f->out);
        struct shca_remote *r = c->blocked ? NULL : tcp_send_list_next(f);
        shca_unlock(&f->out);
        if (!r) return;
        shca_lock(&r->qp->sq);
        tcp_send_now_or_list(r);
        tcp_send_reap(r);
        shca_unlock(&r->qp->sq);
    }
    shca_lock(&f->out);
    if (f->ready && !c->blocked) shca_tcp_yield(c);
    shca_unlock(&f->out);
}
