/*
 * quick.c - puts and gets of the plainest kind on the fast path: one piece of memory here,
 * published memory there, no START events, nothing by which the descriptor could go inactive.
 *
 * Called first by programs; whatever is not plain goes on in initiate.c.  The one room that both
 * halves share, so that such an operation is one function and one work request: it knows the
 * engine's descriptors and the transport's links, and takes `posting` with the engine's lock held.
 * The record is small, comes from a list and goes back to it.  What is logged, and when the
 * descriptor is let go of, is the same as the other way.
 */
#include <stdlib.h>
#include "other/portals3/engine.h"
#include "other/portals3/verbs.h"

enum { RECORDS = 63 };

struct chunk {
    struct chunk *next;
    struct ptli_quick records[RECORDS];
};

/* With the lock.  NULL: no memory. */
__attribute__((noinline, cold)) static struct ptli_quick *more(struct ptli_engine *engine)
{
    struct chunk *chunk = malloc(sizeof *chunk);
    if (!chunk) return NULL;
    chunk->next = engine->quick_chunks;
    engine->quick_chunks = chunk;
    for (int i = 0; i < RECORDS; i++) {
        chunk->records[i].next = engine->quick;
        engine->quick = &chunk->records[i];
    }
    return engine->quick;
}

/* --- where it goes --- */

enum { ROUTES_AT_FIRST = 64 };

static inline uint64_t number_of(ptl_process_id_t id)
{
    return (uint64_t)id.pid << 32 | id.nid;
}

static inline struct ptli_route **bucket(const struct ptli_routes *routes, uint64_t process,
                                         ptl_pt_index_t pt)
{
    return &routes->at[(uint32_t)(process + (process >> 32) + pt) & routes->mask];
}

/* With the lock. */
static inline struct ptli_route *route_to(const struct ptli_engine *engine, ptl_process_id_t id,
                                          ptl_pt_index_t pt)
{
    const uint64_t process = number_of(id);
    struct ptli_route *route = *bucket(&engine->routes, process, pt);
    while (route && (route->process != process || route->pt != pt)) route = route->next;
    return route;
}

/* Twice as many buckets, if there is memory. */
static void widen(struct ptli_routes *routes)
{
    const struct ptli_routes old = *routes;
    const uint32_t size = 2 * (old.mask + 1);
    struct ptli_route **at = calloc(size, sizeof(struct ptli_route *));
    if (!at) return;
    *routes = (struct ptli_routes){.at = at, .mask = size - 1, .count = old.count};
    for (uint32_t i = 0; i <= old.mask; i++)
        for (struct ptli_route *route = old.at[i], *next; route; route = next) {
            struct ptli_route **to = bucket(routes, route->process, route->pt);
            next = route->next;
            route->next = *to;
            *to = route;
        }
    free(old.at);
}

/* Nothing has gone there yet: asks the transport, without the lock. */
__attribute__((noinline, cold)) static void learn(struct ptli_engine *engine, ptl_process_id_t id,
                                                  ptl_pt_index_t pt)
{
    struct ptli_transport *transport = engine->transport;
    struct ptli_route *route;
    struct ptli_peer *peer;
    if (!transport->ops->route || id.nid == PTL_NID_ANY || id.pid == PTL_PID_ANY) return;
    if (id.nid == transport->id.nid && id.pid == transport->id.pid) return;
    peer = transport->ops->find(transport, id);
    route = peer ? transport->ops->route(transport, peer, pt) : NULL;
    if (!route) return;
    ptli_lock(engine);
    if (!route_to(engine, id, pt)) {
        struct ptli_route **to;
        if (engine->routes.count++ > engine->routes.mask) widen(&engine->routes);
        route->process = number_of(id);
        route->pt = pt;
        to = bucket(&engine->routes, route->process, pt);
        route->next = *to;
        *to = route;
    }
    ptli_unlock(engine);
}

bool ptli_quick_open(struct ptli_engine *engine)
{
    struct ptli_route **at = calloc(ROUTES_AT_FIRST, sizeof(struct ptli_route *));
    engine->routes = (struct ptli_routes){.at = at, .mask = ROUTES_AT_FIRST - 1};
    return at != NULL;
}

void ptli_quick_close(struct ptli_engine *engine)
{
    for (struct chunk *chunk; (chunk = engine->quick_chunks);) {
        engine->quick_chunks = chunk->next;
        free(chunk);
    }
    engine->quick = NULL;
    free(engine->routes.at);
    engine->routes.at = NULL;
}

/* --- off --- */

/* Where in the target's memory, if nothing speaks against it: no list, a request of before that is
 * not known to be matched, something queued, no slot.  Posting. */
static inline __attribute__((always_inline)) const struct ptli_shadow_entry *
place_there(const struct ptli_share *share, bool is_put, ptl_ac_index_t ac,
            ptl_match_bits_t match_bits, ptl_size_t offset, ptl_size_t length)
{
    const struct ptli_node *node = share->node;
    const struct ptli_link *link = node->link;
    if (share->lease.state != PTLI_LEASE_HELD || !link || link->broken || node->requests.head ||
        (int32_t)(share->last - node->seen) > 0 || link->posted - link->done >= PTLI_FOR_REQUESTS)
        return NULL;
    return ptli_shadow_find(&share->list->face.shadow, is_put ? PTLI_SHADOW_PUT : PTLI_SHADOW_GET,
                            ac, match_bits, offset, length);
}

/* Posting. */
static inline void post(struct ptli_link *link, struct ptli_quick *quick,
                        const struct ptli_shadow_entry *there, const struct ptli_piece *here,
                        bool is_put, ptl_size_t length)
{
    struct ptli_wr *slot = &link->slot[link->posted % PTLI_SLOTS];
    struct ibv_send_wr *wr = &link->quick, *bad;
    slot->link = link;
    slot->item = (ptli_item_t)quick | PTLI_ITEM_QUICK;
    slot->buffer = NULL;
    slot->number = ++link->posted;
    link->unsignalled = 0;
    wr->sg_list->addr = (uintptr_t)here->base + quick->offset;
    wr->sg_list->length = (uint32_t)length;
    wr->sg_list->lkey = here->region->local_key;
    wr->wr_id = (uintptr_t)slot;
    wr->opcode = is_put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    wr->send_flags = is_put && length <= link->max_inline
                         ? (int)(IBV_SEND_SIGNALED | IBV_SEND_INLINE)
                         : (int)IBV_SEND_SIGNALED;
    wr->wr.rdma.remote_addr = there->address + quick->remote_offset;
    wr->wr.rdma.rkey = there->key;
    if (__builtin_expect(ibv_post_send(link->qp, wr, &bad) != 0, 0)) ptli_verbs_cannot_post(link);
}

/* True: it is on its way.  False: nothing has happened, and it is to go another way, where also
 * everything that is wrong with it is found. */
static inline __attribute__((always_inline)) bool
begin(bool is_put, bool ack, bool whole, ptl_handle_md_t handle, ptl_size_t offset,
      ptl_size_t length, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
      ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    struct ptli_engine *engine = ptli_engine_soon(handle, PTLI_MD);
    if (__builtin_expect(!engine, 0)) return false;
    ptli_lock(engine);
    struct ptli_route *route = route_to(engine, target, pt);
    if (__builtin_expect(!route, 0)) {
        ptli_mutex_unlock(&engine->lock);
        learn(engine, target, pt);
        return false;
    }
    struct ptli_verbs *v = ptli_verbs(engine->transport);
    struct ptli_share *share = ptli_route_share(route);
    struct ptli_quick *quick = engine->quick;
    struct ptli_md *md = ptli_pool_find(&engine->mds, handle);
    if (!md || !md->plain || engine->fail_left || (!is_put && engine->cray_gets)) goto no;
    if (whole) length = md->rules.length;
    if (offset > md->rules.length || length > md->rules.length - offset) goto no;
    if (length - 1 >= v->max_message) goto no;
    if (__builtin_expect(!quick, 0) && !(quick = more(engine))) goto no;
    ptli_mutex_lock(&v->posting);
    const struct ptli_shadow_entry *there =
        place_there(share, is_put, ac, match_bits, remote_offset, length);
    if (!there) {
        ptli_mutex_unlock(&v->posting);
        goto no;
    }
    engine->quick = quick->next;
    quick->route = route;
    quick->md = md;
    quick->match_bits = match_bits;
    quick->hdr_data = hdr_data;
    quick->length = length;
    quick->offset = offset;
    quick->remote_offset = remote_offset;
    quick->link = engine->next_link++;
    quick->is_put = is_put;
    quick->asks_ack = ack && !(there->flags & PTLI_SHADOW_NO_ACK);
    engine->send_count++;
    if (is_put) engine->send_length += length;
    ptli_md_hold(md);
    const struct ptli_piece *here = md->pieces;
    ptli_mutex_unlock(&engine->lock);
    share->lease.users++;
    post(share->node->link, quick, there, here, is_put, length);
    ptli_mutex_unlock(&v->posting);
    return true;
no:
    ptli_mutex_unlock(&engine->lock);
    return false;
}

int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack, ptl_process_id_t target, ptl_pt_index_t pt,
           ptl_ac_index_t ac, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
           ptl_hdr_data_t hdr_data)
{
    if (begin(true, ack == PTL_ACK_REQ, true, md, 0, 0, target, pt, ac, match_bits, remote_offset,
              hdr_data))
        return PTL_OK;
    struct ptli_asked asked = {md, 0, 0, target, pt, ac, match_bits, remote_offset, hdr_data, true};
    return ptli_put(&asked, ack);
}

int PtlPutRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack,
                 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
                 ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    if (begin(true, ack == PTL_ACK_REQ, false, md, local_offset, length, target, pt, ac, match_bits,
              remote_offset, hdr_data))
        return PTL_OK;
    struct ptli_asked asked = {md, local_offset, length,        target,   pt,
                               ac, match_bits,   remote_offset, hdr_data, false};
    return ptli_put(&asked, ack);
}

int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
           ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
    if (begin(false, false, true, md, 0, 0, target, pt, ac, match_bits, remote_offset, 0))
        return PTL_OK;
    struct ptli_asked asked = {md, 0, 0, target, pt, ac, match_bits, remote_offset, 0, true};
    return ptli_get(&asked);
}

int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
                 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
                 ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
    if (begin(false, false, false, md, local_offset, length, target, pt, ac, match_bits,
              remote_offset, 0))
        return PTL_OK;
    struct ptli_asked asked = {md, local_offset, length,        target, pt,
                               ac, match_bits,   remote_offset, 0,      false};
    return ptli_get(&asked);
}

/* --- done --- */

/* With the engine's and the queue's lock, as all below. */
static inline ptl_event_t *place(const struct ptli_eq *eq, uint64_t number)
{
    return &eq->ring[number & (eq->size - 1)];
}

static inline uint64_t posted_to(const struct ptli_eq *eq)
{
    return atomic_load_explicit(&eq->posted, memory_order_relaxed);
}

/* They are written. */
static inline void show(struct ptli_eq *eq, uint64_t posted, ptl_seq_t sequence)
{
    eq->sequence = sequence;
    atomic_store_explicit(&eq->posted, posted, memory_order_release);
}

static inline void write_from(ptl_event_t *event, const struct ptli_peer *from)
{
    event->initiator = from->id;
    event->uid = from->uid;
    event->jid = from->jid;
}

static inline void write_event(ptl_event_t *event, const struct ptli_quick *quick,
                               ptl_event_kind_t kind, const struct ptli_peer *from,
                               ptl_size_t offset, ptl_size_t mlength, bool well, ptl_seq_t sequence)
{
    const struct ptli_md *md = quick->md;
    event->type = kind;
    write_from(event, from);
    event->pt_index = quick->route->pt;
    event->match_bits = quick->match_bits;
    event->rlength = quick->length;
    event->mlength = mlength;
    event->offset = offset;
    event->md_handle = atomic_load_explicit(&md->slot.handle, memory_order_relaxed);
    event->md = md->user;
    event->hdr_data = 0;
    event->link = quick->link;
    event->ni_fail_type = well ? PTL_NI_OK : PTL_NI_FAIL;
    event->unlinked = 0;
    event->sequence = sequence;
}

/* SEND_END alone, or with the ACK behind it, which differs little. */
static inline void tell_sent(struct ptli_eq *eq, const struct ptli_quick *quick,
                             const struct ptli_peer *self, bool well, bool ack)
{
    const uint64_t posted = posted_to(eq);
    const ptl_seq_t sequence = eq->sequence;
    ptl_event_t *sent = place(eq, posted), *acked = place(eq, posted + 1);
    write_event(sent, quick, PTL_EVENT_SEND_END, self, quick->offset, quick->length, well,
                sequence);
    sent->hdr_data = quick->hdr_data;
    if (ack) {
        *acked = *sent;
        acked->type = PTL_EVENT_ACK;
        write_from(acked, quick->route->peer);
        acked->offset = quick->remote_offset;
        acked->hdr_data = 0;
        acked->sequence = sequence + 1;
    }
    show(eq, posted + 1 + ack, sequence + 1 + ack);
}

static inline void tell_one(struct ptli_eq *eq, const struct ptli_quick *quick,
                            ptl_event_kind_t kind, ptl_size_t offset, ptl_size_t mlength, bool well)
{
    const uint64_t posted = posted_to(eq);
    const ptl_seq_t sequence = eq->sequence;
    write_event(place(eq, posted), quick, kind, quick->route->peer, offset, mlength, well,
                sequence);
    show(eq, posted + 1, sequence + 1);
}

static inline void put_done(struct ptli_engine *engine, struct ptli_eq *eq,
                            const struct ptli_quick *quick, bool well)
{
    const bool acked = quick->asks_ack && well;
    if (well) engine->fast_puts++;
    if (!eq) return;
    if (acked) engine->recv_count++;
    if (!(quick->md->user.options & PTL_MD_EVENT_END_DISABLE))
        tell_sent(eq, quick, &engine->self, well, acked);
    else if (quick->asks_ack)
        tell_one(eq, quick, PTL_EVENT_ACK, quick->remote_offset, well ? quick->length : 0, well);
}

static inline void get_done(struct ptli_engine *engine, struct ptli_eq *eq,
                            const struct ptli_quick *quick, bool well)
{
    if (well) {
        engine->fast_gets++;
        engine->recv_count++;
        engine->recv_length += quick->length;
    }
    if (eq && !(quick->md->user.options & PTL_MD_EVENT_END_DISABLE))
        tell_one(eq, quick, PTL_EVENT_REPLY_END, quick->offset, well ? quick->length : 0, well);
}

/* Whatever is held of *held, and instead the lock of another queue. */
static inline void exchange(struct ptli_eq **held, struct ptli_eq *eq)
{
    if (__builtin_expect(*held == eq, 1)) return;
    if (*held) ptli_mutex_unlock(&(*held)->lock);
    if (eq) ptli_mutex_lock(&eq->lock);
    *held = eq;
}

void ptli_quick_done(struct ptli_engine *engine, struct ptli_quick *first, enum ptli_status status)
{
    struct ptli_quick *last = first;
    struct ptli_eq *held = NULL;
    ptli_lock(engine);
    for (struct ptli_quick *quick = first; quick; quick = quick->next) {
        exchange(&held, quick->md->eq);
        if (quick->is_put)
            put_done(engine, held, quick, status == PTLI_OK);
        else
            get_done(engine, held, quick, status == PTLI_OK);
        quick->md->pending--;
        last = quick;
    }
    exchange(&held, NULL);
    last->next = engine->quick;
    engine->quick = first;
    ptli_mutex_unlock(&engine->lock);
    /* Reading by adding nothing: it comes after what was posted above. */
    if (__builtin_expect(atomic_fetch_add(&engine->sleepers, 0) > 0, 0)) ptli_ring_bell(engine);
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
