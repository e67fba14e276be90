/* verbs_receive.c - one shared receive queue for all peers, and the delivery of messages to the
 * engine.
 *
 * With driving held.  Receives are posted again in batches, before the queue is empty; a sender
 * that finds none is retried by its device without limit (RNR).  A message for which the engine has
 * no memory stays in its buffer, as do those that the same peer sent after it.
 */
#include <stdlib.h>
#include <string.h>

#include "other/portals3/transport/verbs.h"

static inline unsigned char *receive_bytes(const struct ptli_verbs *v, uint32_t receive)
{
    return v->receives + (size_t)receive * ptli_receive_size(v);
}

int ptli_verbs_receives_open(struct ptli_verbs *v)
{
    size_t each = ptli_receive_size(v), all = each * v->settings.receives;
    v->receives = aligned_alloc(64, all);
    v->batch = calloc(PTLI_BATCH, sizeof *v->batch + sizeof(struct ibv_sge));
    if (!v->receives || !v->batch) return PTL_NO_SPACE;
    v->receives_mr = ibv_reg_mr(v->pd, v->receives, all, IBV_ACCESS_LOCAL_WRITE);
    if (!v->receives_mr) {
        ptli_verbs_unregistered(v, all, "receive buffers", "PTL_RECEIVES");
        return PTL_NO_SPACE;
    }
    struct ibv_sge *sge = (struct ibv_sge *)(void *)(v->batch + PTLI_BATCH);
    for (uint32_t i = 0; i < PTLI_BATCH; i++) {
        sge[i] = (struct ibv_sge){.length = PTLI_WIRE_SIZE + v->settings.eager,
                                  .lkey = v->receives_mr->lkey};
        v->batch[i] = (struct ibv_recv_wr){
            .sg_list = &sge[i], .num_sge = 1, .next = i + 1 < PTLI_BATCH ? &v->batch[i + 1] : NULL};
    }
    for (uint32_t i = 0; i < v->settings.receives; i++) ptli_verbs_repost(v, i);
    return PTL_OK;
}

/* The last request of the batch ends the list.  */
static __attribute__((noinline)) void post_batch(struct ptli_verbs *v)
{
    struct ibv_recv_wr *bad;
    if (ibv_post_srq_recv(v->srq, v->batch, &bad)) ptli_verbs_say(v, "receives cannot be posted");
    v->batched = 0;
}

void ptli_verbs_repost(struct ptli_verbs *v, uint32_t receive)
{
    struct ibv_recv_wr *wr = &v->batch[v->batched];
    wr->sg_list->addr = (uintptr_t)receive_bytes(v, receive);
    wr->wr_id = (uint64_t)receive << 1 | 1;
    if (++v->batched == PTLI_BATCH) post_batch(v);
}

/* --- delivery --- */

static inline struct ptli_link *link_of(const struct ptli_verbs *v, uint32_t qp_number)
{
    struct ptli_link *link = v->by_number[qp_number % PTLI_NUMBERS];
    while (link && link->qp->qp_num != qp_number) link = link->next_same;
    return link;
}

/* What the header of every message says: requests matched, and an answer that frees the window.
 * `seen` is written with driving held, too, so it may be read without posting. */
static inline void take_news(struct ptli_node *node, uint64_t transport, bool answers)
{
    uint32_t seen = (uint32_t)transport;
    if (seen == node->seen && !answers) return;
    ptli_mutex_lock(&node->verbs->posting.lock);
    if ((int32_t)(seen - node->seen) > 0 && (int32_t)(node->sent - seen) >= 0) node->seen = seen;
    if (answers && node->unanswered) node->unanswered--;
    if (node->requests.head) ptli_verbs_pump(node);
    ptli_mutex_unlock(&node->verbs->posting.lock);
}

static void own_message(struct ptli_link *link, const struct ptli_header *header, const void *data)
{
    struct ptli_node *node = link->node;
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
        link->goodbye_received = true;
        if (!v->closing) ptli_verbs_leave(link);
        return;
    default:
        if (!ptli_verbs_list_lease_message(node, header, data))
            ptli_malformed(v->face.engine, &node->face, "unexpected message of the transport");
    }
}

static inline void count_taken(struct ptli_node *node)
{
    atomic_store_explicit(&node->taken,
                          atomic_load_explicit(&node->taken, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* A message that is no short put.  False: the engine has no memory for it now. */
static __attribute__((noinline)) bool offer_any(struct ptli_link *link, const unsigned char *bytes,
                                                uint32_t length)
{
    struct ptli_node *node = link->node;
    struct ptli_verbs *v = node->verbs;
    struct ptli_header header;
    const char *wrong = ptli_wire_parse(bytes, length, v->settings.eager, &header);
    if (!wrong &&
        (header.source.nid != node->face.id.nid || header.source.pid != node->face.id.pid))
        wrong = "source";
    if (__builtin_expect(wrong != NULL, 0)) {
        ptli_malformed(v->face.engine, &node->face, wrong);
        return true;
    }
    const void *data = bytes + PTLI_WIRE_SIZE;
    if (header.type < PTLI_TYPE_TRANSPORT && !v->closing &&
        ptli_arrived(v->face.engine, &node->face, &header, data) == PTLI_LATER)
        return false;
    if (header.type <= PTLI_GETPUT) count_taken(node);
    take_news(node, header.transport,
              header.type > PTLI_GETPUT && header.type < PTLI_TYPE_TRANSPORT);
    if (header.type >= PTLI_TYPE_TRANSPORT) own_message(link, &header, data);
    return true;
}

static inline bool offer(struct ptli_link *link, uint32_t receive, uint32_t length)
{
    struct ptli_node *node = link->node;
    struct ptli_verbs *v = node->verbs;
    const unsigned char *bytes = receive_bytes(v, receive);
    uint64_t transport;
    if (v->closing || !ptli_arrived_short(v->face.engine, &node->face, bytes, length, &transport))
        return offer_any(link, bytes, length);
    count_taken(node);
    take_news(node, transport, false);
    return true;
}

/* Queues a message after those held already.  False: no memory. */
static bool hold(struct ptli_link *link, uint32_t receive, uint32_t length)
{
    struct ptli_held *held = malloc(sizeof *held);
    if (!held) return false;
    *held = (struct ptli_held){.receive = receive, .length = length};
    *link->held_end = held;
    link->held_end = &held->next;
    link->node->verbs->held = true;
    ptli_due(&link->node->verbs->face);
    return true;
}

bool ptli_verbs_offer_held(struct ptli_verbs *v)
{
    bool any = false;
    if (!v->held) return false;
    v->held = false;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_link *link = v->links;
    ptli_mutex_unlock(&v->posting.lock);
    for (; link; link = link->next) {
        for (struct ptli_held *held; (held = link->held);) {
            if (!offer(link, held->receive, held->length)) {
                v->held = true;
                break;
            }
            link->held = held->next;
            if (!link->held) link->held_end = &link->held;
            ptli_verbs_repost(v, held->receive);
            free(held);
            any = true;
        }
    }
    return any;
}

void ptli_verbs_forget_held(struct ptli_link *link)
{
    for (struct ptli_held *held; (held = link->held);) {
        link->held = held->next;
        ptli_verbs_repost(link->node->verbs, held->receive);
        free(held);
    }
    link->held_end = &link->held;
}

void ptli_verbs_received(struct ptli_verbs *v, const struct ibv_wc *wc)
{
    uint32_t receive = (uint32_t)(wc->wr_id >> 1);
    struct ptli_link *link = link_of(v, wc->qp_num);
    if (wc->status == IBV_WC_SUCCESS && link) {
        link->active = true;
        /* acquire: pairs with the release in ptli_verbs_count_message.  This message may answer one
         * that was posted there; memory read for that one may be written from now on.  The network
         * orders the two, but compilers and thread checkers cannot know. */
        (void)atomic_load_explicit(&link->messages, memory_order_acquire);
        if (link->held || !offer(link, receive, wc->byte_len)) {
            if (hold(link, receive, wc->byte_len)) return;
            /* Without the message the peer would wait for ever. */
            ptli_verbs_break(link);
            ptli_verbs_leave(link);
        }
    }
    ptli_verbs_repost(v, receive);
}
