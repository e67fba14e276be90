/* verbs_quick.c - the transport's part of the quick way (quick.c): one work request at once, if
 * nothing is in its way, and its completion.
 *
 * What is in the way is no list, a request of before that is not known to be matched, something
 * queued, no slot.  Everything else about leases, slots and losses is in the other files.
 */
#include "other/portals3/verbs.h"

struct ptli_route *ptli_verbs_route(struct ptli_transport *transport, struct ptli_peer *peer,
                                    ptl_pt_index_t pt)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    if (!v->settings.fast) return NULL;
    ptli_mutex_lock(&v->posting);
    struct ptli_share *share = ptli_verbs_share(ptli_node(peer), pt);
    ptli_mutex_unlock(&v->posting);
    return share ? &share->route : NULL;
}

/* Posting. */
static inline bool go(struct ptli_share *share, struct ptli_quick *quick, ptl_ac_index_t ac,
                      const struct ptli_piece *local)
{
    struct ptli_node *node = share->node;
    struct ptli_link *link = node->link;
    if (share->lease.state != PTLI_LEASE_HELD || !link || link->broken || node->requests.head ||
        (int32_t)(share->last - node->seen) > 0 || link->posted - link->done >= PTLI_FOR_REQUESTS ||
        quick->length > node->verbs->max_message)
        return false;
    const struct ptli_shadow_entry *entry = ptli_shadow_find(
        &share->list->face.shadow, quick->is_put ? PTLI_SHADOW_PUT : PTLI_SHADOW_GET, ac,
        quick->match_bits, quick->remote_offset, quick->length);
    if (!entry) return false;
    if (entry->flags & PTLI_SHADOW_NO_ACK) quick->asks_ack = false;
    share->lease.users++;
    struct ibv_send_wr *wr = &link->quick;
    wr->sg_list->addr = (uintptr_t)local->base + quick->offset;
    wr->sg_list->length = (uint32_t)quick->length;
    wr->sg_list->lkey = local->region->local_key;
    wr->opcode = quick->is_put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    wr->send_flags = quick->is_put && quick->length <= link->max_inline
                         ? (int)(IBV_SEND_SIGNALED | IBV_SEND_INLINE)
                         : (int)IBV_SEND_SIGNALED;
    wr->wr.rdma.remote_addr = entry->address + quick->remote_offset;
    wr->wr.rdma.rkey = entry->key;
    struct ptli_wr *slot = &link->slot[link->posted % PTLI_SLOTS];
    slot->link = link;
    slot->item = (ptli_item_t)quick | PTLI_ITEM_QUICK;
    slot->buffer = NULL;
    slot->number = ++link->posted;
    wr->wr_id = (uintptr_t)slot;
    link->unsignalled = 0;
    struct ibv_send_wr *bad;
    if (__builtin_expect(ibv_post_send(link->qp, wr, &bad) != 0, 0)) ptli_verbs_cannot_post(link);
    return true;
}

bool ptli_verbs_quick(struct ptli_transport *transport, struct ptli_quick *quick, ptl_ac_index_t ac,
                      const struct ptli_piece *local)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    ptli_mutex_lock(&v->posting);
    bool gone = go(ptli_route_share(quick->route), quick, ac, local);
    ptli_mutex_unlock(&v->posting);
    return gone;
}

/* One that is the next of its link, and well. */
static inline struct ptli_quick *next_done(const struct ibv_wc *wc)
{
    const struct ptli_wr *slot = (const struct ptli_wr *)(uintptr_t)wc->wr_id;
    if (wc->wr_id & 1 || wc->status != IBV_WC_SUCCESS || !(slot->item & PTLI_ITEM_QUICK) ||
        slot->link->done + 1 != slot->number)
        return NULL;
    return (struct ptli_quick *)(slot->item - PTLI_ITEM_QUICK);
}

int ptli_verbs_quick_completed(struct ptli_verbs *v, const struct ibv_wc *wc, int count)
{
    struct ptli_quick *first = next_done(wc), **end = &first, *quick = first;
    int n = 0;
    if (!first) return 0;
    ptli_mutex_lock(&v->posting);
    do {
        struct ptli_link *link = ((struct ptli_wr *)(uintptr_t)wc[n].wr_id)->link;
        struct ptli_node *node = link->node;
        link->done++;
        ptli_verbs_release(ptli_route_share(quick->route));
        if (node->requests.head || node->answers.head || node->owes_seen) ptli_verbs_pump(node);
        *end = quick;
        end = &quick->next;
        n++;
    } while (n < count && (quick = next_done(wc + n)));
    *end = NULL;
    ptli_mutex_unlock(&v->posting);
    ptli_quick_done(v->face.engine, first, PTLI_OK);
    return n;
}
