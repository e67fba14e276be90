/* verbs_receive.c - one shared receive queue for all peers, and the delivery of messages to the
 * engine.
 *
 * With driving held. Receives are posted again in batches, before the queue is empty; a sender that
 * finds no receive is retried by its device without limit (RNR). A message for which the engine has
 * no memory stays in its buffer, as do the messages that the same peer sent after it.
 */
#include <stdlib.h>
#include <string.h>

#include "other/portals3/src/transport/verbs.h"

void ptli_verbs_post_batch(struct ptli_verbs *v)
{
    struct ibv_recv_wr *next = v->vacant, *bad;
    if (next - v->batch < PTLI_BATCH) return;
    (next - 1)->next = NULL;
    if (ibv_post_srq_recv(v->srq, v->batch, &bad)) ptli_verbs_say(v, "receives cannot be posted");
    (next - 1)->next = next;
    v->vacant = v->batch;
}

static void receive_repost(struct ptli_verbs *v, const unsigned char *bytes)
{
    ptli_verbs_batch(v, bytes);
    ptli_verbs_post_batch(v);
}

int ptli_verbs_receives_open(struct ptli_verbs *v)
{
    size_t each = ptli_receive_size(v), all = each * v->settings.receives;
    v->receives = aligned_alloc(64, all);
    v->batch = calloc(PTLI_BATCH_ROOM, sizeof *v->batch + sizeof(struct ibv_sge));
    if (!v->receives || !v->batch) return PTL_NO_SPACE;
    v->receives_mr = ibv_reg_mr(v->pd, v->receives, all, IBV_ACCESS_LOCAL_WRITE);
    if (!v->receives_mr) {
        ptli_verbs_unregistered(v, all, "receive buffers", "PTL_RECEIVES");
        return PTL_NO_SPACE;
    }
    struct ibv_sge *sge = (struct ibv_sge *)(void *)(v->batch + PTLI_BATCH_ROOM);
    for (uint32_t i = 0; i < PTLI_BATCH_ROOM; i++) {
        sge[i] = (struct ibv_sge){.length = PTLI_WIRE_SIZE + v->settings.eager,
                                  .lkey = v->receives_mr->lkey};
        v->batch[i] =
            (struct ibv_recv_wr){.sg_list = &sge[i], .num_sge = 1, .next = &v->batch[i + 1]};
    }
    v->vacant = v->batch;
    for (uint32_t i = 0; i < v->settings.receives; i++) receive_repost(v, v->receives + i * each);
    return PTL_OK;
}

/* --- delivery --- */

/* `seen` is written with driving held, too, so it may be read without posting. */
void ptli_verbs_take_news(struct ptli_node *node, uint64_t seen, bool answers)
{
    if (seen == node->seen && !answers) return;
    ptli_mutex_lock(&node->verbs->posting.lock);
    if (seen > node->seen && seen <= node->sent) node->seen = seen;
    if (answers && node->unanswered) node->unanswered--;
    if (node->requests.head) ptli_verbs_pump(node);
    ptli_mutex_unlock(&node->verbs->posting.lock);
}

static void own_message(struct ptli_conn *conn, const struct ptli_header *header, const void *data)
{
    struct ptli_node *node = conn->node;
    struct ptli_verbs *v = node->verbs;
    switch (header->type) {
    case PTLI_SEEN:
        return;
    case PTLI_FENCE:
        ptli_mutex_lock(&v->posting.lock);
        node->seen_due = true;
        ptli_verbs_pump(node);
        ptli_mutex_unlock(&v->posting.lock);
        return;
    case PTLI_GOODBYE:
        conn->goodbye_received = true;
        if (!v->closing) ptli_verbs_leave(conn);
        return;
    default:
        if (!ptli_verbs_list_lease_message(node, header, data))
            ptli_malformed(v->face.engine, &node->face, "unexpected message of the transport");
    }
}

/* Passes a received message to the engine.  False: the engine has no memory for it, and it is to be
 * offered again. */
static bool receive_offer(struct ptli_conn *conn, const unsigned char *bytes, uint32_t length)
{
    struct ptli_node *node = conn->node;
    struct ptli_verbs *v = node->verbs;
    struct ptli_header header;
    const char *wrong = ptli_wire_parse(bytes, length, v->settings.eager, &header);
    if (!wrong &&
        (header.source.nid != node->face.id.nid || header.source.pid != node->face.id.pid))
        wrong = "source";
    if (wrong != NULL) {
        ptli_malformed(v->face.engine, &node->face, wrong);
        return true;
    }
    const void *data = bytes + PTLI_WIRE_SIZE;
    if (header.type < PTLI_TYPE_TRANSPORT && !v->closing &&
        ptli_arrived(v->face.engine, &node->face, &header, data) == PTLI_LATER)
        return false;
    if (header.type <= PTLI_GETPUT) ptli_verbs_count_taken(node);
    ptli_verbs_take_news(node, header.transport,
                         header.type > PTLI_GETPUT && header.type < PTLI_TYPE_TRANSPORT);
    if (header.type >= PTLI_TYPE_TRANSPORT) own_message(conn, &header, data);
    return true;
}

/* Queues a message after those held already.  False: no memory. */
static bool receive_hold(struct ptli_conn *conn, unsigned char *bytes, uint32_t length)
{
    struct ptli_held *held = malloc(sizeof *held);
    if (!held) return false;
    *held = (struct ptli_held){.bytes = bytes, .length = length};
    *conn->held_end = held;
    conn->held_end = &held->next;
    conn->node->verbs->held = true;
    ptli_due(&conn->node->verbs->face);
    return true;
}

bool ptli_verbs_offer_held(struct ptli_verbs *v)
{
    bool any = false;
    if (!v->held) return false;
    v->held = false;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_conn *conn = v->conns;
    ptli_mutex_unlock(&v->posting.lock);
    for (; conn; conn = conn->next) {
        for (struct ptli_held *held; (held = conn->held);) {
            if (!receive_offer(conn, held->bytes, held->length)) {
                v->held = true;
                break;
            }
            conn->held = held->next;
            if (!conn->held) conn->held_end = &conn->held;
            receive_repost(v, held->bytes);
            free(held);
            any = true;
        }
    }
    return any;
}

void ptli_verbs_forget_held(struct ptli_conn *conn)
{
    for (struct ptli_held *held; (held = conn->held);) {
        conn->held = held->next;
        receive_repost(conn->node->verbs, held->bytes);
        free(held);
    }
    conn->held_end = &conn->held;
}

void ptli_verbs_received(struct ptli_verbs *v, const struct ibv_wc *wc)
{
    unsigned char *bytes = ptli_verbs_receive_bytes(wc);
    struct ptli_conn *conn = ptli_verbs_conn_of(v, wc->qp_num);
    if (wc->status == IBV_WC_SUCCESS && conn) {
        ptli_verbs_conn_heard(conn);
        if (conn->held || !receive_offer(conn, bytes, wc->byte_len)) {
            if (receive_hold(conn, bytes, wc->byte_len)) return;
            /* Without the message the peer would wait for ever. */
            ptli_verbs_break(conn);
            ptli_verbs_leave(conn);
        }
    }
    receive_repost(v, bytes);
}
