/*
 * fast_put_get.c - the fast path of puts and gets: a "plain" local descriptor (one piece of
 * memory, no START events, never inactive) and published memory at the target.
 *
 * Defines PtlPut and PtlGet; operations that cannot use the fast path continue in initiate.c.  The
 * only file that uses both the engine's descriptors and the transport's connections, so that an
 * operation is one function, one lock and one work request.  All is done with the lock `posting`,
 * which also protects which descriptors are plain; the engine's lock is not acquired.  The record
 * of the operation is the slot of its work request.  The same events are logged, and the
 * descriptor is released at the same time, as on the other path; but an operation without events
 * may be unsignalled, and completes with a later one on the same connection.
 *
 * Programs of plain Portals have no shorter way. The path of initiate.c executes more than twice as
 * many instructions (rows "from the call until" of other/portals3/tests/bench.sh).
 */
#include <stdlib.h>

#include "other/portals3/src/fastpath/fast.h"

/* --- conditions of the fast path --- */

/* Clears the cached descriptor: an empty one refuses every length.  */
static void forget_md(struct ptli_posting *posting)
{
    static struct ptli_md none;
    posting->md = &none;
    posting->handle = PTL_INVALID_HANDLE;
}

/* With the engine's lock, or while the interface opens or closes.  */
void ptli_fast_ways(struct ptli_engine *engine)
{
    const bool open =
        engine->transport->quick && atomic_load(&engine->handle) != PTL_INVALID_HANDLE;
    struct ptli_verbs *v = open ? ptli_verbs(engine->transport) : NULL;
    struct ptli_posting *by = v && !engine->fail_left ? &v->posting : NULL;
    atomic_store_explicit(&engine->polls, v, memory_order_release);
    atomic_store_explicit(&engine->puts, by, memory_order_release);
    atomic_store_explicit(&engine->gets, engine->cray_gets ? NULL : by, memory_order_release);
}

/* With the engine's lock, like the functions below.  */
void ptli_fast_admit(struct ptli_engine *engine, struct ptli_md *md)
{
    const unsigned int options = md->user.options;
    if (!engine->transport->quick || md->count != 1 || md->rules.threshold != PTL_MD_THRESH_INF ||
        options & PTL_MD_MAX_SIZE ||
        (md->eq && (!(options & PTL_MD_EVENT_START_DISABLE) || md->eq->handler)))
        return;
    struct ptli_verbs *v = ptli_verbs(engine->transport);
    ptli_mutex_lock(&v->posting.lock);
    md->plain = true;
    md->logs = !md->eq                              ? 0
               : options & PTL_MD_EVENT_END_DISABLE ? PTLI_LOGS_ACK
                                                    : PTLI_LOGS_ACK | PTLI_LOGS_END;
    md->unsignalled = md->logs ? 0 : PTLI_SIGNAL - 1;
    ptli_mutex_unlock(&v->posting.lock);
}

/* The operation has no answer, or none yet, but may have been counted as if it had.  */
static void fast_unanswered(const struct ptli_wr *slot, struct ptli_fast_counts *counts)
{
    counts->answers -= (slot->item & (PTLI_ITEM_GET | PTLI_ITEM_NOTED)) != 0;
    if (slot->item & PTLI_ITEM_GET) counts->get_length -= slot->length;
}

/* With posting held, of operations on the fast path that are under way: how many use the
 * descriptor; and the answers that were counted at their start are taken off again.  */
static uint32_t under_way(const struct ptli_verbs *v, const struct ptli_md *md,
                          struct ptli_fast_counts *counts)
{
    uint32_t users = 0;
    for (const struct ptli_conn *conn = v->conns; conn; conn = conn->next)
        for (uint32_t i = atomic_load(&conn->done); i != conn->posted; i++) {
            const struct ptli_wr *slot = &conn->slot[i % PTLI_SLOTS];
            if (!(slot->item & PTLI_ITEM_QUICK)) continue;
            users += slot->md == md;
            fast_unanswered(slot, counts);
        }
    return users;
}

bool ptli_fast_shut(struct ptli_engine *engine, struct ptli_md *md)
{
    struct ptli_verbs *v = ptli_verbs(engine->transport);
    if (!md->plain) return true;
    ptli_mutex_lock(&v->posting.lock);
    md->plain = under_way(v, md, &(struct ptli_fast_counts){0}) > 0;
    if (md == v->posting.md) forget_md(&v->posting);
    for (struct ptli_conn *conn = v->conns; md->plain && conn; conn = conn->next)
        ptli_verbs_hurry(conn);
    ptli_mutex_unlock(&v->posting.lock);
    return !md->plain;
}

uint32_t ptli_fast_under_way(struct ptli_engine *engine, const struct ptli_md *md)
{
    struct ptli_verbs *v = ptli_verbs(engine->transport);
    if (!md->plain) return 0;
    ptli_mutex_lock(&v->posting.lock);
    const uint32_t count = under_way(v, md, &(struct ptli_fast_counts){0});
    ptli_mutex_unlock(&v->posting.lock);
    return count;
}

struct ptli_fast_counts ptli_fast_counts(struct ptli_engine *engine)
{
    struct ptli_fast_counts counts = {0};
    if (!engine->transport->quick) return counts;
    struct ptli_verbs *v = ptli_verbs(engine->transport);
    ptli_mutex_lock(&v->posting.lock);
    counts = v->posting.counts;
    counts.answers += counts.gets;
    under_way(v, NULL, &counts);
    ptli_mutex_unlock(&v->posting.lock);
    return counts;
}

/* --- routes to table entries of peers; with posting held, except the public functions --- */

enum { ROUTES_AT_FIRST = 64 };

static inline uint64_t fast_number_of(ptl_process_id_t id)
{
    return (uint64_t)id.pid << 32 | id.nid;
}

static inline struct ptli_route **fast_bucket(const struct ptli_posting *posting, uint64_t process)
{
    return &posting->at[(uint32_t)(process + (process >> 32)) & posting->mask];
}

static inline struct ptli_route *route_to(const struct ptli_posting *posting, uint64_t process,
                                          ptl_pt_index_t pt)
{
    struct ptli_route *route = *fast_bucket(posting, process);
    while (route && (route->process != process || route->pt != pt)) route = route->next_route;
    return route;
}

static void fast_insert(struct ptli_posting *posting, struct ptli_route *route)
{
    struct ptli_route **to = fast_bucket(posting, route->process);
    route->next_route = *to;
    *to = route;
}

/* Doubles the number of buckets, if there is memory.  */
static void fast_grow(struct ptli_posting *posting)
{
    const struct ptli_posting old = *posting;
    const uint32_t size = 2 * (old.mask + 1);
    struct ptli_route **at = calloc(size, sizeof(struct ptli_route *));
    if (!at) return;
    posting->at = at;
    posting->mask = size - 1;
    for (uint32_t i = 0; i <= old.mask; i++)
        for (struct ptli_route *route = old.at[i], *next; route; route = next) {
            next = route->next_route;
            fast_insert(posting, route);
        }
    free(old.at);
}

/* Creates the route at the first operation to that table entry of the peer. NULL: no memory, or the
 * peer is this process or a wildcard. */
__attribute__((cold)) static struct ptli_route *
fast_add_route(struct ptli_verbs *v, ptl_process_id_t id, ptl_pt_index_t pt)
{
    const uint64_t process = fast_number_of(id);
    if (id.nid == PTL_NID_ANY || id.pid == PTL_PID_ANY || process == fast_number_of(v->face.id))
        return NULL;
    struct ptli_node *node = ptli_verbs_node(v, id);
    if (!node) return NULL;
    ptli_mutex_lock(&v->posting.lock);
    struct ptli_route *there = route_to(&v->posting, process, pt),
                      *route = there ? NULL : ptli_verbs_list_lease(node, pt);
    if (route) {
        if (v->posting.count++ > v->posting.mask) fast_grow(&v->posting);
        route->process = process;
        ptli_wire_encode(&(struct ptli_header){.type = PTLI_PUT,
                                               .source = v->face.id,
                                               .destination = id,
                                               .uid = v->face.uid,
                                               .jid = v->face.jid,
                                               .pt_index = pt},
                         route->header);
        fast_insert(&v->posting, route);
    }
    ptli_mutex_unlock(&v->posting.lock);
    return there ? there : route;
}

int PtlPathOpen(ptl_handle_ni_t ni, ptl_process_id_t target, ptl_pt_index_t pt, ptl_path_t *path)
{
    int result;
    if (!path) return PTL_SEGV;
    struct ptli_engine *engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result);
    if (!engine) return result;
    if (pt > (ptl_pt_index_t)engine->limits.max_pt_index) return PTL_PT_INDEX_INVALID;
    *path =
        engine->transport->quick ? fast_add_route(ptli_verbs(engine->transport), target, pt) : NULL;
    return *path ? PTL_OK : PTL_NO_SPACE;
}

bool ptli_fast_open(struct ptli_posting *posting)
{
    posting->at = calloc(ROUTES_AT_FIRST, sizeof(struct ptli_route *));
    posting->mask = ROUTES_AT_FIRST - 1;
    forget_md(posting);
    return posting->at != NULL;
}

void ptli_fast_close(struct ptli_posting *posting)
{
    free(posting->at);
    posting->at = NULL;
}

/* --- events --- */

/* With the queue's lock, like all below.  */
static inline ptl_event_t *fast_event_slot(const struct ptli_eq *eq, uint64_t number)
{
    return &eq->ring[number & (eq->size - 1)];
}

static inline uint64_t posted_to(const struct ptli_eq *eq)
{
    return atomic_load_explicit(&eq->posted, memory_order_relaxed);
}

/* Makes the written events visible.  */
static inline void fast_publish_events(struct ptli_eq *eq, uint64_t posted, ptl_seq_t sequence)
{
    eq->sequence = sequence;
    atomic_store_explicit(&eq->posted, posted, memory_order_release);
    ptli_eq_news(eq);
}

static inline void write_from(ptl_event_t *event, const struct ptli_peer *from)
{
    event->initiator = from->id;
    event->uid = from->uid;
    event->jid = from->jid;
}

static inline void fast_write_event(ptl_event_t *event, const struct ptli_wr *slot,
                                    ptl_event_kind_t kind, const struct ptli_peer *from,
                                    ptl_size_t offset, ptl_size_t mlength, bool well,
                                    ptl_seq_t sequence)
{
    const struct ptli_md *md = slot->md;
    event->type = kind;
    write_from(event, from);
    event->pt_index = slot->route->pt;
    event->match_bits = slot->match_bits;
    event->rlength = slot->length;
    event->mlength = mlength;
    event->offset = offset;
    event->md_handle = atomic_load_explicit(&md->slot.handle, memory_order_relaxed);
    event->md = md->user;
    event->hdr_data = 0;
    event->link = slot->event_link;
    event->ni_fail_type = well ? PTL_NI_OK : PTL_NI_FAIL;
    event->unlinked = 0;
    event->sequence = sequence;
}

/* SEND_END, and the ACK after it if `ack`, which differs in a few members.  */
static inline void log_sent(struct ptli_eq *eq, const struct ptli_wr *slot,
                            const struct ptli_peer *self, bool well, bool ack)
{
    const uint64_t posted = posted_to(eq);
    const ptl_seq_t sequence = eq->sequence;
    ptl_event_t *sent = fast_event_slot(eq, posted), *acked = fast_event_slot(eq, posted + 1);
    fast_write_event(sent, slot, PTL_EVENT_SEND_END, self, slot->offset, slot->length, well,
                     sequence);
    sent->hdr_data = slot->hdr_data;
    if (ack) {
        *acked = *sent;
        acked->type = PTL_EVENT_ACK;
        write_from(acked, &slot->route->node->face);
        acked->offset = slot->remote_offset;
        acked->hdr_data = 0;
        acked->sequence = sequence + 1;
    }
    fast_publish_events(eq, posted + 1 + ack, sequence + 1 + ack);
}

static inline void log_one(struct ptli_eq *eq, const struct ptli_wr *slot, ptl_event_kind_t kind,
                           ptl_size_t offset, bool well)
{
    const uint64_t posted = posted_to(eq);
    const ptl_seq_t sequence = eq->sequence;
    fast_write_event(fast_event_slot(eq, posted), slot, kind, &slot->route->node->face, offset,
                     well ? slot->length : 0, well, sequence);
    fast_publish_events(eq, posted + 1, sequence + 1);
}

/* The queue whose lock is held, and whether any event was logged.  */
struct logging {
    struct ptli_eq *held;
    bool logged;
};

static inline void lock_queue(struct logging *logging, struct ptli_eq *eq)
{
    if (logging->held == eq) return;
    if (logging->held) ptli_mutex_unlock(&logging->held->lock);
    if (eq) ptli_mutex_lock(&eq->lock);
    logging->held = eq;
    logging->logged = true;
}

/* Called without posting where possible.  The fetch-add of 0 is a load that is ordered after the
 * stores of the events.  */
static inline void fast_wake_sleepers(struct ptli_verbs *v, const struct logging *logging)
{
    struct ptli_engine *engine = v->face.engine;
    if (!logging->logged) return;
    if (atomic_fetch_add(&engine->sleepers, 0) > 0) ptli_wake_sleepers(engine);
}

/* Stores the data of the events in the slot.  */
static inline void fast_save_event(struct ptli_wr *slot, struct ptli_route *route,
                                   ptl_match_bits_t match_bits, ptl_size_t length,
                                   ptl_size_t offset, ptl_size_t remote_offset,
                                   ptl_hdr_data_t hdr_data)
{
    slot->route = route;
    slot->match_bits = match_bits;
    slot->length = length;
    slot->offset = offset;
    slot->remote_offset = remote_offset;
    slot->hdr_data = hdr_data;
}

/* --- posting --- */

bool ptli_fast_change_md(struct ptli_engine *engine, struct ptli_posting *posting,
                         ptl_handle_md_t handle)
{
    struct ptli_md *md = ptli_pool_find(&engine->mds, handle);
    if (!md || !md->plain) return false;
    posting->md = md;
    posting->handle = handle;
    return true;
}

/* The events to log: PTLI_LOGS_ bits.  */
static inline uint32_t logs_of(const struct ptli_md *md, bool ack,
                               const struct ptli_published_entry *there)
{
    return ack && !(there->flags & PTLI_PUBLISHED_NO_ACK) ? md->logs : md->logs & PTLI_LOGS_END;
}

/* Logs the SEND_END of a put that was sent as a message.  With posting held; the caller calls
 * fast_wake_sleepers without it.  */
HOT void fast_message_sent(struct ptli_route *route, struct ptli_md *md, ptl_size_t offset,
                           ptl_size_t length, ptl_match_bits_t match_bits, ptl_hdr_data_t hdr_data,
                           struct logging *logging)
{
    struct ptli_verbs *v = route->node->verbs;
    const struct ptli_wr sent = {.md = md,
                                 .route = route,
                                 .match_bits = match_bits,
                                 .hdr_data = hdr_data,
                                 .length = length,
                                 .offset = offset,
                                 .event_link = --v->posting.next_link};
    if (!(md->logs & PTLI_LOGS_END)) return;
    lock_queue(logging, md->eq);
    log_sent(md->eq, &sent, &v->face.engine->self, true, false);
    lock_queue(logging, NULL);
}

/* Puts by a message, and releases posting; false: it is not sent, and posting is kept. */
static bool put_by_message(struct ptli_route *route, struct ptli_md *md, ptl_size_t offset,
                           ptl_size_t length, ptl_ac_index_t ac, ptl_match_bits_t match_bits,
                           ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    struct ptli_verbs *v = route->node->verbs;
    struct logging logging = {0};
    if (!fast_message(route, md->one.base + offset, length, ac, match_bits, remote_offset,
                      hdr_data))
        return false;
    fast_message_sent(route, md, offset, length, match_bits, hdr_data, &logging);
    ptli_mutex_unlock(&v->posting.lock);
    fast_wake_sleepers(v, &logging);
    return true;
}

/* The general path, which also detects all errors.  */
__attribute__((cold)) static int
other_way(bool is_put, ptl_ack_req_t ack, bool whole, ptl_handle_md_t handle, ptl_size_t offset,
          ptl_size_t length, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
          ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    struct ptli_asked asked = {handle, offset,     length,        target,   pt,
                               ac,     match_bits, remote_offset, hdr_data, whole};
    return is_put ? ptli_put(&asked, ack) : ptli_get(&asked);
}

/* other/portals3/tests/bench.sh counts the instructions of this function.  The arguments are
 * separate, so that no structure is built for an operation on the fast path.  */
HOT int fast_start(bool is_put, ptl_ack_req_t ack, bool whole, ptl_handle_md_t handle,
                   ptl_size_t offset, ptl_size_t length, ptl_process_id_t target, ptl_pt_index_t pt,
                   ptl_ac_index_t ac, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
                   ptl_hdr_data_t hdr_data)
{
    struct ptli_engine *engine = &ptli_engines[PTL_IFACE_DEFAULT];
    struct ptli_posting *posting =
        atomic_load_explicit(is_put ? &engine->puts : &engine->gets, memory_order_acquire);
    if (!posting) goto closed;
    ptli_mutex_lock(&posting->lock);
    struct ptli_route *route = route_to(posting, fast_number_of(target), pt);
    if (!route) {
        ptli_mutex_unlock(&posting->lock);
        fast_add_route(ptli_verbs(engine->transport), target, pt);
        goto closed;
    }
    if (posting->handle != handle && !ptli_fast_change_md(engine, posting, handle)) goto no;
    struct ptli_md *md = posting->md;
    if (whole) length = md->rules.length;
    if (length - 1 >= posting->most || offset + length < offset ||
        offset + length > md->rules.length)
        goto no;
    struct ptli_conn *conn = route->node->conn;
    const struct ptli_published_entry *there =
        fast_target(route, conn, is_put, ac, match_bits, remote_offset, length);
    if (!there) {
        if (!is_put || (ack == PTL_ACK_REQ && md->logs) ||
            !put_by_message(route, md, offset, length, ac, match_bits, remote_offset, hdr_data))
            goto no;
        return PTL_OK;
    }

    struct ptli_wr *slot = ptli_verbs_slot(conn);
    const uint32_t number = slot->number;
    struct ibv_send_wr *wr =
        fast_request(conn, slot, there, is_put, md->one.base + offset, length, remote_offset);
    int flags = IBV_SEND_INLINE;
    slot->md = md;
    slot->item = PTLI_ITEM_QUICK;
    if (!is_put || length > conn->max_inline) {
        conn->piece.lkey = md->one.region->local_key;
        flags = 0;
    }
    if (!is_put || !(number & md->unsignalled)) {
        flags |= IBV_SEND_SIGNALED;
        conn->signalled = number;
        if (!is_put || md->logs) {
            const uint32_t logs = logs_of(md, is_put && ack == PTL_ACK_REQ, there);
            slot->item = PTLI_ITEM_QUICK | logs | (is_put ? 0 : PTLI_ITEM_GET);
            slot->event_link = --posting->next_link;
            fast_save_event(slot, route, match_bits, length, offset, remote_offset, hdr_data);
        }
    }
    if (is_put) wr->send_flags = flags;
    return fast_post(posting, conn, wr, is_put, length);
no:
    ptli_mutex_unlock(&posting->lock);
closed:
    return other_way(is_put, ack, whole, handle, offset, length, target, pt, ac, match_bits,
                     remote_offset, hdr_data);
}

int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack, ptl_process_id_t target, ptl_pt_index_t pt,
           ptl_ac_index_t ac, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
           ptl_hdr_data_t hdr_data)
{
    return fast_start(true, ack, true, md, 0, 0, target, pt, ac, match_bits, remote_offset,
                      hdr_data);
}

int PtlPutRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack,
                 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
                 ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    return fast_start(true, ack, false, md, local_offset, length, target, pt, ac, match_bits,
                      remote_offset, hdr_data);
}

int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
           ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
    return fast_start(false, PTL_NOACK_REQ, true, md, 0, 0, target, pt, ac, match_bits,
                      remote_offset, 0);
}

int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length,
                 ptl_process_id_t target, ptl_pt_index_t pt, ptl_ac_index_t ac,
                 ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
    return fast_start(false, PTL_NOACK_REQ, false, md, local_offset, length, target, pt, ac,
                      match_bits, remote_offset, 0);
}

/* --- completion --- */

/* A failed put that logs SEND_END reports the failure there, and has no ACK.  */
HOT void fast_log(struct ptli_verbs *v, struct ptli_eq *eq, const struct ptli_wr *slot, bool well)
{
    if (slot->item & PTLI_ITEM_GET) {
        if (slot->item & PTLI_LOGS_END) log_one(eq, slot, PTL_EVENT_REPLY_END, slot->offset, well);
        return;
    }
    const bool ack = slot->item & PTLI_LOGS_ACK && well;
    v->posting.counts.answers += ack;
    if (slot->item & PTLI_LOGS_END)
        log_sent(eq, slot, &v->face.engine->self, well, ack);
    else
        log_one(eq, slot, PTL_EVENT_ACK, slot->remote_offset, well);
}

void ptli_fast_ended(struct ptli_verbs *v, const struct ptli_wr *slot, bool well)
{
    struct logging logging = {0};
    if (slot->item == PTLI_ITEM_QUICK) return;
    if (!well) fast_unanswered(slot, &v->posting.counts);
    if (slot->item & PTLI_ITEM_NOTED) {
        ptli_path_ended(v, slot, well ? PTL_NI_OK : PTL_NI_FAIL);
        return;
    }
    lock_queue(&logging, slot->md->eq);
    fast_log(v, logging.held, slot, well);
    lock_queue(&logging, NULL);
    fast_wake_sleepers(v, &logging);
}

/* True for the successful completion of an operation on the fast path, or of one with neither a
 * record nor a buffer.  */
static inline bool is_quick(const struct ibv_wc *wc)
{
    const struct ptli_wr *slot = (const struct ptli_wr *)(uintptr_t)wc->wr_id;
    return !(wc->wr_id & 1) && wc->status == IBV_WC_SUCCESS &&
           (slot->item & PTLI_ITEM_QUICK || (!slot->item && !slot->buffer));
}

int ptli_verbs_fast_completed(struct ptli_verbs *v, const struct ibv_wc *wc, int count)
{
    struct logging logging = {0};
    int n = 0;
    if (!is_quick(wc)) return 0;
    ptli_mutex_lock(&v->posting.lock);
    do {
        const struct ptli_wr *slot = (const struct ptli_wr *)(uintptr_t)wc[n].wr_id;
        struct ptli_conn *conn = slot->conn;
        ptli_verbs_passed(conn, slot->number);
        if (slot->item & PTLI_ITEM_NOTED) {
            ptli_path_ended(v, slot, PTL_NI_OK);
        } else if (slot->item & ~(ptli_item_t)PTLI_ITEM_QUICK) {
            lock_queue(&logging, slot->md->eq);
            fast_log(v, logging.held, slot, true);
        }
        ptli_verbs_advanced(conn);
    } while (++n < count && is_quick(&wc[n]));
    lock_queue(&logging, NULL);
    ptli_mutex_unlock(&v->posting.lock);
    fast_wake_sleepers(v, &logging);
    return n;
}
