/*
 * quick.c - puts and gets of the plainest kind on the fast path: one piece of memory here,
 * published memory there, no START events, nothing by which the descriptor could go inactive.
 *
 * Called first by initiate.c; whatever is not plain goes the way that initiate.c knows.  The
 * record is small, comes from a list and goes back to it: no operation of operation.c, no message.
 * What is logged, and when the descriptor is let go of, is the same either way.
 */
#include <stdlib.h>
#include "other/portals3/engine.h"

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
    chunk->next = engine->quick.chunks;
    engine->quick.chunks = chunk;
    for (int i = 0; i < RECORDS; i++) {
        chunk->records[i].next = engine->quick.free;
        engine->quick.free = &chunk->records[i];
    }
    return engine->quick.free;
}

void ptli_quick_close(struct ptli_engine *engine)
{
    for (struct chunk *chunk; (chunk = engine->quick.chunks);) {
        engine->quick.chunks = chunk->next;
        free(chunk);
    }
    engine->quick.free = NULL;
}

/* --- where it goes --- */

static inline struct ptli_quick_way *way(struct ptli_engine *engine, ptl_process_id_t id,
                                         ptl_pt_index_t pt)
{
    return &engine->quick.at[(id.pid + id.nid + pt) % PTLI_QUICK_WAYS];
}

/* The way has not been gone lately: asks the transport, without the lock. */
__attribute__((noinline, cold)) static void learn(struct ptli_engine *engine, ptl_process_id_t id,
                                                  ptl_pt_index_t pt)
{
    struct ptli_transport *transport = engine->transport;
    struct ptli_quick_way *to = way(engine, id, pt);
    struct ptli_route *route;
    struct ptli_peer *peer;
    if (!transport->ops->route || id.nid == PTL_NID_ANY || id.pid == PTL_PID_ANY) return;
    if (id.nid == transport->id.nid && id.pid == transport->id.pid) return;
    peer = transport->ops->find(transport, id);
    route = peer ? transport->ops->route(transport, peer, pt) : NULL;
    if (!route) return;
    ptli_lock(engine);
    *to = (struct ptli_quick_way){id, pt, route};
    ptli_unlock(engine);
}

/* --- off --- */

/* Takes back what was begun. */
__attribute__((noinline, cold)) static bool back(struct ptli_engine *engine,
                                                 struct ptli_quick *quick)
{
    const struct ptli_told told = {.initiator = engine->transport->id, .link = quick->link};
    ptli_lock(engine);
    engine->send_count--;
    if (quick->is_put) engine->send_length -= quick->length;
    ptli_md_release(engine, quick->md, &told);
    quick->next = engine->quick.free;
    engine->quick.free = quick;
    ptli_unlock(engine);
    return false;
}

/* True: it is on its way.  False: nothing has happened, and it is to go another way, where also
 * everything that is wrong with it is found. */
static inline __attribute__((always_inline)) bool
begin(bool is_put, bool ack, bool whole, ptl_handle_md_t handle, ptl_size_t offset,
      ptl_size_t length, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
      ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    struct ptli_engine *engine = ptli_engine_soon(handle, PTLI_MD);
    struct ptli_quick_way *to = way(&ptli_engines[PTL_IFACE_DEFAULT], target, pt);
    if (__builtin_expect(!engine, 0)) return false;
    ptli_lock(engine);
    if (__builtin_expect(to->id.pid != target.pid || to->id.nid != target.nid || to->pt != pt, 0)) {
        ptli_unlock(engine);
        learn(engine, target, pt);
        return false;
    }
    struct ptli_quick *quick = engine->quick.free;
    struct ptli_md *md = ptli_pool_find(&engine->mds, handle);
    if (!to->route || !atomic_load_explicit(&to->route->ready, memory_order_relaxed)) goto no;
    if (!md || !md->plain || engine->fail_left || (!is_put && engine->cray_gets)) goto no;
    if (whole) length = md->rules.length;
    if (offset > md->rules.length || length > md->rules.length - offset) goto no;
    if (length - 1 >= PTLI_REMOTE_MAX) goto no;
    if (__builtin_expect(!quick, 0) && !(quick = more(engine))) goto no;
    engine->quick.free = quick->next;
    quick->route = to->route;
    quick->md = md;
    quick->match_bits = match_bits;
    quick->hdr_data = hdr_data;
    quick->length = length;
    quick->offset = offset;
    quick->remote_offset = remote_offset;
    quick->pt_index = pt;
    quick->link = engine->next_link++;
    quick->is_put = is_put;
    quick->asks_ack = ack && md->eq;
    engine->send_count++;
    if (is_put) engine->send_length += length;
    ptli_md_hold(md);
    const struct ptli_piece *piece = md->pieces;
    ptli_unlock(engine);
    return engine->transport->ops->quick(engine->transport, quick, ac, piece) ||
           back(engine, quick);
no:
    ptli_unlock(engine);
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
static inline void post(struct ptli_eq *eq, uint64_t posted, ptl_seq_t sequence)
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
    event->pt_index = quick->pt_index;
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
    post(eq, posted + 1 + ack, sequence + 1 + ack);
}

static inline void tell_one(struct ptli_eq *eq, const struct ptli_quick *quick,
                            ptl_event_kind_t kind, ptl_size_t offset, ptl_size_t mlength, bool well)
{
    const uint64_t posted = posted_to(eq);
    const ptl_seq_t sequence = eq->sequence;
    write_event(place(eq, posted), quick, kind, quick->route->peer, offset, mlength, well,
                sequence);
    post(eq, posted + 1, sequence + 1);
}

static inline void put_done(struct ptli_engine *engine, struct ptli_eq *eq,
                            const struct ptli_quick *quick, bool well)
{
    const bool ack = quick->asks_ack && well;
    if (well) engine->fast_puts++;
    if (!eq) return;
    if (ack) engine->recv_count++;
    if (!(quick->md->user.options & PTL_MD_EVENT_END_DISABLE))
        tell_sent(eq, quick, &engine->self, well, ack);
    else if (ack)
        tell_one(eq, quick, PTL_EVENT_ACK, quick->remote_offset, quick->length, true);
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
    last->next = engine->quick.free;
    engine->quick.free = first;
    ptli_unlock_up(engine);
    /* Reading by adding nothing: it comes after what was posted above. */
    if (__builtin_expect(atomic_fetch_add(&engine->sleepers, 0) > 0, 0)) ptli_ring_bell(engine);
}
