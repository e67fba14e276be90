/* verbs_connection.c - queue pairs: created when a peer is first used, connected as the handshake
 * (other/connect/handshake) demands, drained when they fail or both ends have sent GOODBYE.
 *
 * All with driving held.  A connection that is lost goes through these steps: nothing more is
 * posted; all its work requests complete (draining); the engine gets back its messages and
 * transfers as failed, and then the notice that the peer has failed.  Until then nothing new is
 * sent to that peer.
 */
#include <errno.h>
#include <portals3_ext.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/src/transport/verbs.h"

/* --- creating and connecting --- */

static void connection_forget(struct ptli_verbs *v, struct ptli_conn *conn)
{
    struct ptli_conn **at = &v->by_number[conn->qp->qp_num % PTLI_NUMBERS];
    while (*at != conn) at = &(*at)->next_same;
    *at = conn->next_same;
    ptli_mutex_lock(&v->posting.lock);
    for (at = &v->conns; *at != conn;) at = &(*at)->next;
    *at = conn->next;
    ptli_mutex_unlock(&v->posting.lock);
    ptli_verbs_forget_held(conn);
    ibv_destroy_qp(conn->qp);
    v->cq_used -= PTLI_SLOTS;
    free(conn);
}

static struct ibv_qp *connection_make_qp(struct ptli_verbs *v, uint32_t *max_inline)
{
    struct ibv_qp_init_attr init = {.send_cq = v->cq,
                                    .recv_cq = v->cq,
                                    .srq = v->srq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = PTLI_SLOTS, .max_send_sge = v->max_sge}};
    /* Control messages are headers: inline they need no buffer. */
    static const uint32_t sizes[] = {PTLI_INLINE, 128, PTLI_WIRE_SIZE, 0};
    struct ibv_qp *qp = NULL;
    for (unsigned i = 0; !qp && i < sizeof sizes / sizeof *sizes; i++) {
        init.cap.max_inline_data = sizes[i];
        qp = ibv_create_qp(v->pd, &init);
    }
    if (!qp) return NULL;
    *max_inline = init.cap.max_inline_data < PTLI_INLINE ? init.cap.max_inline_data : PTLI_INLINE;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = v->port,
                               .pkey_index = v->settings.pkey_index,
                               .qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                                  IBV_ACCESS_REMOTE_WRITE};
    if (!ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        return qp;
    ibv_destroy_qp(qp);
    return NULL;
}

static struct ptli_conn *connection_make(struct ptli_verbs *v, struct ptli_node *node)
{
    struct ptli_conn *conn = ptli_verbs_room_for_conn(v) ? calloc(1, sizeof *conn) : NULL;
    if (conn && !(conn->qp = connection_make_qp(v, &conn->max_inline))) {
        free(conn);
        conn = NULL;
        v->cq_used -= PTLI_SLOTS;
    }
    if (!conn) {
        const char *why = strerror(errno);
        if (!ptli_verbs_trouble(v, node,
                                "no queue pair: %s; raise ulimit -v and ulimit -l, or run fewer "
                                "processes on a host",
                                why))
            ptli_verbs_say(v, "cannot make a queue pair for process %u:%u: %s", node->face.id.nid,
                           node->face.id.pid, why);
        return NULL;
    }
    conn->node = node;
    conn->most = PTLI_FOR_REQUESTS;
    conn->psn = (uint32_t)(node->handshake.mine >> 8) & 0xffffff;
    conn->held_end = &conn->held;
    conn->put =
        (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .sg_list = &conn->piece, .num_sge = 1};
    conn->get = conn->put;
    conn->get.opcode = IBV_WR_RDMA_READ;
    conn->get.send_flags = IBV_SEND_SIGNALED;
    conn->part[0].length = PTLI_WIRE_SIZE;
    conn->message =
        (struct ibv_send_wr){.opcode = IBV_WR_SEND, .sg_list = conn->part, .num_sge = 2};
    if (v->max_sge >= 2 && conn->max_inline > PTLI_WIRE_SIZE)
        conn->short_most = conn->max_inline - PTLI_WIRE_SIZE;
    conn->free = conn->slot;
    for (uint32_t i = 0; i < PTLI_SLOTS; i++)
        conn->slot[i] = (struct ptli_wr){.conn = conn, .after = &conn->slot[(i + 1) % PTLI_SLOTS]};
    conn->next_same = v->by_number[conn->qp->qp_num % PTLI_NUMBERS];
    v->by_number[conn->qp->qp_num % PTLI_NUMBERS] = conn;
    ptli_mutex_lock(&v->posting.lock);
    conn->next = v->conns;
    v->conns = conn;
    ptli_mutex_unlock(&v->posting.lock);
    return conn;
}

/* Moves the queue pair to RTR. Address resolution of the kernel that has timed out is tried again:
 * one packet may have been lost. */
static int connection_to_rtr(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
    enum { TRIES = 3 };
    int error = ETIMEDOUT;
    for (int i = 0; i < TRIES && (error == ETIMEDOUT || error == EINTR); i++)
        error = ibv_modify_qp(qp, attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    return error;
}

/* 0 or an errno; EPROTONOSUPPORT: the two ports have no GIDs of one class. */
static int connection_join(struct ptli_verbs *v, struct ptli_conn *conn,
                           const ptli_connect_payload_t *theirs)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = theirs->mtu < v->mtu ? (enum ibv_mtu)theirs->mtu
                                                                : (enum ibv_mtu)v->mtu,
                               .dest_qp_num = theirs->qp_number,
                               .rq_psn = theirs->psn,
                               .max_dest_rd_atomic = v->rd_atom,
                               .min_rnr_timer = 12 /* 0.64 ms */};
    if (!ptli_verbs_route(v, theirs, &attr.ah_attr)) return EPROTONOSUPPORT;
    int error = connection_to_rtr(conn->qp, &attr);
    if (error) return error;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                .sq_psn = conn->psn,
                                .timeout = v->settings.qp_timeout,
                                .retry_cnt = PTLI_RETRIES,
                                .rnr_retry = 7, /* no limit: the receiver takes all that arrives */
                                .max_rd_atomic =
                                    theirs->rd_atom < v->rd_atom ? theirs->rd_atom : v->rd_atom};
    return ibv_modify_qp(conn->qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void open_conn(struct ptli_verbs *v, struct ptli_node *node)
{
    ptli_mutex_lock(&v->posting.lock);
    node->conn = node->making;
    node->making = NULL;
    node->window = node->theirs.window;
    node->known = true;
    v->connects++;
    ptli_verbs_pump(node);
    ptli_mutex_unlock(&v->posting.lock);
    if (ptli_debug & PTL_DEBUG_PEER)
        ptli_verbs_say(v, "connected to %u:%u", node->face.id.nid, node->face.id.pid);
}

/* --- losing --- */

/* No work request is posted any more, and none is outstanding. */
static void failed(struct ptli_verbs *v, struct ptli_node *node)
{
    ptli_verbs_give_back(node);
    ptli_peer_failed(v->face.engine, &node->face);
    ptli_mutex_lock(&v->posting.lock);
    node->queued = node->sent = node->seen = node->fenced = node->unanswered = 0;
    atomic_store_explicit(&node->taken, 0, memory_order_relaxed);
    for (struct ptli_route *route = node->routes; route; route = route->next) route->last = 0;
    node->failing = false;
    ptli_mutex_unlock(&v->posting.lock);
    if (ptli_debug & PTL_DEBUG_PEER)
        ptli_verbs_say(v, "lost %u:%u", node->face.id.nid, node->face.id.pid);
}

static void begin_to_fail(struct ptli_verbs *v, struct ptli_node *node)
{
    ptli_mutex_lock(&v->posting.lock);
    node->conn = node->making = NULL;
    node->failing = true;
    node->seen_due = false;
    node->life++;
    ptli_verbs_list_leases_lost(node);
    ptli_mutex_unlock(&v->posting.lock);
}

void ptli_verbs_conn_drained(struct ptli_conn *conn)
{
    struct ptli_node *node = conn->node;
    connection_forget(node->verbs, conn);
    failed(node->verbs, node);
}

/* In error state the queue pair flushes a last work request after all others. */
static void connection_lose(struct ptli_verbs *v, struct ptli_conn *conn)
{
    begin_to_fail(v, conn->node);
    v->breaks++;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    bool flushing = !ibv_modify_qp(conn->qp, &attr, IBV_QP_STATE);
    ptli_mutex_lock(&v->posting.lock);
    conn->broken = false;
    flushing = flushing && ptli_verbs_nudge(conn, IBV_WR_SEND);
    ptli_verbs_break(conn);
    conn->draining = true;
    ptli_mutex_unlock(&v->posting.lock);
    if (flushing) return;
    if (!ptli_verbs_has_handler()) /* of a device that is gone the handler got an event */
        ptli_verbs_say(v, "the queue pair to process %u:%u cannot be drained",
                       conn->node->face.id.nid, conn->node->face.id.pid);
    ptli_verbs_conn_drained(conn);
}

/* On a connection that was never connected nothing was posted. */
static void drop(struct ptli_verbs *v, struct ptli_node *node)
{
    struct ptli_conn *conn = node->making ? node->making : node->conn;
    if (!conn) return;
    if (conn->joined) {
        if (!conn->leaving) connection_lose(v, conn);
        return;
    }
    node->making = NULL;
    connection_forget(v, conn);
}

void ptli_verbs_leave(struct ptli_conn *conn)
{
    struct ptli_verbs *v = conn->node->verbs;
    if (conn->leaving || conn->draining) return;
    conn->leaving = true;
    conn->next_leaving = v->leaving;
    v->leaving = conn;
    ptli_due(&v->face);
    handshake_reset(&conn->node->handshake);
    begin_to_fail(v, conn->node);
}

/* Whether it can be lost now: GOODBYE and all work requests before it have completed. */
static bool gone(struct ptli_verbs *v, struct ptli_conn *conn)
{
    ptli_mutex_lock(&v->posting.lock);
    if (!conn->broken && !conn->goodbye_sent)
        conn->goodbye_sent = ptli_verbs_control(conn, PTLI_GOODBYE);
    bool is = conn->broken || (conn->goodbye_sent && !ptli_verbs_in_flight(conn));
    ptli_mutex_unlock(&v->posting.lock);
    return is;
}

static void find_trouble(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    v->trouble = false;
    struct ptli_conn *conn = v->conns;
    ptli_mutex_unlock(&v->posting.lock);
    for (; conn; conn = conn->next)
        if (conn->broken) ptli_verbs_leave(conn);
}

bool ptli_verbs_tend(struct ptli_verbs *v)
{
    bool any = v->trouble;
    if (any) find_trouble(v);
    for (struct ptli_conn **at = &v->leaving; *at;) {
        struct ptli_conn *conn = *at;
        if (v->closing ? !conn->broken : !gone(v, conn)) {
            at = &conn->next_leaving;
            continue;
        }
        *at = conn->next_leaving;
        conn->leaving = false;
        connection_lose(v, conn);
        any = true;
    }
    return any;
}

void ptli_verbs_unreachable(struct ptli_verbs *v, struct ptli_node *node)
{
    handshake_reset(&node->handshake);
    begin_to_fail(v, node);
    failed(v, node);
}

static bool join_conn(struct ptli_verbs *v, struct ptli_node *node,
                      const ptli_connect_payload_t *theirs)
{
    node->theirs = *theirs;
    node->face.uid = theirs->uid;
    node->face.jid = theirs->jid;
    node->face.admitted_by = 0;
    const int error = connection_join(v, node->making, theirs);
    node->making->joined = !error;
    if (!error) return true;
    char why[700];
    ptli_verbs_explain(v, theirs, error, why, sizeof why);
    if (!ptli_verbs_trouble(v, node, "%s", why))
        ptli_verbs_say(v, "cannot connect to process %u:%u: %s", node->face.id.nid,
                       node->face.id.pid, why);
    handshake_reset(&node->handshake);
    drop(v, node);
    return false;
}

/* Does what the handshake orders: makes, joins and opens the queue pair, and sends.  False: the
 * peer cannot be connected. */
static bool connection_act(struct ptli_verbs *v, struct ptli_node *node, unsigned actions,
                           const ptli_connect_payload_t *received)
{
    if ((actions & HANDSHAKE_MAKE) && !(node->making = connection_make(v, node))) return false;
    if ((actions & HANDSHAKE_JOIN) && !join_conn(v, node, received)) return false;
    if (actions & HANDSHAKE_OPEN) open_conn(v, node);
    if (actions & HANDSHAKE_SEND) ptli_verbs_send_handshake(v, node);
    return true;
}

void ptli_verbs_act(struct ptli_verbs *v, struct ptli_node *node, unsigned actions,
                    const ptli_connect_payload_t *received)
{
    bool given_up = false;
    if (actions & HANDSHAKE_SILENT) {
        given_up = node->handshake.wanted;
        actions = handshake_reset(&node->handshake);
    }
    if (actions & HANDSHAKE_DROP) {
        drop(v, node);
        if (node->failing) { /* the handshake begins anew when the peer asks again */
            handshake_reset(&node->handshake);
            return;
        }
    }
    if (!connection_act(v, node, actions, received) || given_up) {
        ptli_verbs_unreachable(v, node);
    } else if (!node->handshake.wanted && !node->handshake.open) {
        /* Dropped, perhaps with something left to send. */
        ptli_mutex_lock(&v->posting.lock);
        if (node->requests.head || node->answers.head) ptli_verbs_request_connect(node);
        ptli_mutex_unlock(&v->posting.lock);
    }
}

/* --- silent peers --- */

/* Posting.  Something is awaited from the peer, and no signalled work request is outstanding that
 * would fail if the peer were gone. */
static bool watched(const struct ptli_conn *conn)
{
    const struct ptli_node *node = conn->node;
    if (conn->broken || node->conn != conn ||
        (int32_t)(conn->signalled - atomic_load(&conn->done)) > 0)
        return false;
    if (node->unanswered) return true;
    for (const struct ptli_route *route = node->routes; route; route = route->next)
        if (route->grant.state == PTLI_GRANT_REVOKED) return true;
    return false;
}

bool ptli_verbs_watching(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_conn *conn = v->conns;
    while (conn && !watched(conn)) conn = conn->next;
    ptli_mutex_unlock(&v->posting.lock);
    return conn != NULL;
}

bool ptli_verbs_any_conn(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    const bool any = v->conns != NULL;
    ptli_mutex_unlock(&v->posting.lock);
    return any;
}

void ptli_verbs_look(struct ptli_verbs *v)
{
    ptli_mutex_lock(&v->posting.lock);
    for (struct ptli_conn *conn = v->conns; conn; conn = conn->next) {
        if (!conn->active && watched(conn)) ptli_verbs_nudge(conn, IBV_WR_RDMA_WRITE);
        conn->active = false;
    }
    ptli_mutex_unlock(&v->posting.lock);
}

/* --- the end --- */

bool ptli_verbs_farewell(struct ptli_verbs *v)
{
    bool left = false;
    ptli_mutex_lock(&v->posting.lock);
    for (struct ptli_conn *conn = v->conns; conn; conn = conn->next) {
        if (conn->broken || (conn->node->conn != conn && !conn->leaving)) continue;
        if (!conn->goodbye_sent) conn->goodbye_sent = ptli_verbs_control(conn, PTLI_GOODBYE);
        left |= !conn->goodbye_sent || !conn->goodbye_received || ptli_verbs_in_flight(conn);
    }
    ptli_mutex_unlock(&v->posting.lock);
    return !left;
}

void ptli_verbs_conns_free(struct ptli_verbs *v)
{
    while (v->conns) connection_forget(v, v->conns);
}
