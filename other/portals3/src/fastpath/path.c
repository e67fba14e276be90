/*
 * path.c - the shortest ways to a table entry of a peer: messages, puts and gets without events,
 * and the poll that reports how those ended.
 *
 * For programs that keep a path to each peer and a record of each operation (portals3_ext.h).  An
 * operation is started as in fast_put_get.c, with the lock `posting`, and only as a work request;
 * its end is appended to a list in the round of progress that takes the completion.  A poll that
 * takes one such completion does not acquire that lock.
 */
#include "other/portals3/src/fastpath/fast.h"

/* The state of senders; NULL: closed, or operations are to fail (PtlFailNid).  */
static inline struct ptli_posting *path_posting(bool is_put)
{
    struct ptli_engine *engine = &ptli_engines[PTL_IFACE_DEFAULT];
    return atomic_load_explicit(is_put ? &engine->puts : &engine->gets, memory_order_acquire);
}

static inline struct ptli_posting *path_held(const struct ptli_route *route)
{
    return &route->node->verbs->posting;
}

/* Sends the message and releases posting, which the caller holds. */
HOT int path_message(struct ptli_posting *posting, struct ptli_route *route, const void *data,
                     ptl_size_t length, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
                     ptl_hdr_data_t hdr_data)
{
    const bool sent = fast_message(route, data, length, 0, match_bits, remote_offset, hdr_data);
    ptli_mutex_unlock(&posting->lock);
    return sent ? PTL_OK : PTL_NO_SPACE;
}

/* Waits for the lock, which another thread holds. noinline, as the other waiting functions of this
 * file: the path without waiting then makes no call but the post (row "implicit put" of make bench
 * is 6 % more without it). */
__attribute__((noinline)) static int waiting_message(ptl_path_t route, const void *data,
                                                     ptl_size_t length, ptl_match_bits_t match_bits,
                                                     ptl_size_t remote_offset,
                                                     ptl_hdr_data_t hdr_data)
{
    ptli_mutex_lock_slowly(&path_held(route)->lock);
    return path_message(path_held(route), route, data, length, match_bits, remote_offset, hdr_data);
}

int PtlPutBytes(ptl_path_t route, const void *data, ptl_size_t length, ptl_match_bits_t match_bits,
                ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
    struct ptli_posting *posting = path_posting(true);
    if (!posting || !route) return PTL_NO_SPACE;
    if (!ptli_mutex_try(&posting->lock))
        return waiting_message(route, data, length, match_bits, remote_offset, hdr_data);
    return path_message(posting, route, data, length, match_bits, remote_offset, hdr_data);
}

enum path_kind {
    PATH_BYTES, /* a put whose data the device must copy */
    PATH_PUT,
    PATH_GET
};

/* An operation without its first argument, the kind.  */
typedef int path_call_t(ptl_path_t path, const void *local, ptl_size_t length,
                        ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_note_t *note);

/* Puts or gets with posting held, and releases it. Where the cached descriptor is not that of the
 * operation, `slowly` begins the operation again; it calls this function with NULL for `slowly`,
 * which replaces the cached descriptor. So the path without waiting makes no call but the post. */
HOT int path_locked(enum path_kind kind, struct ptli_posting *posting, struct ptli_route *route,
                    const void *local, ptl_size_t length, ptl_match_bits_t match_bits,
                    ptl_size_t remote_offset, ptl_note_t *note, path_call_t *slowly)
{
    struct ptli_conn *conn = route->node->conn;
    const struct ptli_published_entry *there =
        fast_target(route, conn, kind != PATH_GET, 0, match_bits, remote_offset, length);
    if (!there) goto no;
    const bool copied = kind != PATH_GET && length <= conn->max_inline;
    if (!copied) {
        if (kind == PATH_BYTES) goto no;
        if (posting->handle != note->md) {
            if (slowly) {
                ptli_mutex_unlock(&posting->lock);
                return slowly(route, local, length, match_bits, remote_offset, note);
            }
            if (!ptli_fast_change_md(&ptli_engines[PTL_IFACE_DEFAULT], posting, note->md)) goto no;
        }
        const struct ptli_md *md = posting->md;
        const ptl_size_t offset = (uintptr_t)local - (uintptr_t)md->one.base;
        conn->piece.lkey = md->one.region->local_key;
        if (offset > md->rules.length || length > md->rules.length - offset) goto no;
    }
    struct ptli_wr *slot = ptli_verbs_slot(conn);
    struct ibv_send_wr *wr =
        fast_request(conn, slot, there, kind != PATH_GET, local, length, remote_offset);
    slot->md = copied ? NULL : posting->md;
    if (kind != PATH_GET)
        wr->send_flags = copied ? IBV_SEND_INLINE | IBV_SEND_SIGNALED : IBV_SEND_SIGNALED;
    conn->signalled = slot->number;
    slot->note = note;
    slot->item = PTLI_ITEM_QUICK | PTLI_ITEM_NOTED | (kind == PATH_GET ? PTLI_ITEM_GET : 0);
    if (kind == PATH_GET)
        slot->length = length;
    else
        posting->counts.answers++;
    return fast_post(posting, conn, wr, kind != PATH_GET, length);
no:
    ptli_mutex_unlock(&posting->lock);
    return PTL_NO_SPACE;
}

/* Waits for the lock.  */
HOT int path_wait(enum path_kind kind, ptl_path_t path, const void *local, ptl_size_t length,
                  ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_note_t *note)
{
    ptli_mutex_lock(&path_held(path)->lock);
    return path_locked(kind, path_held(path), path, local, length, match_bits, remote_offset, note,
                       NULL);
}

#define PATH_SLOWLY(name, kind)                                                                    \
    __attribute__((noinline)) static int name(ptl_path_t path, const void *local,                  \
                                              ptl_size_t length, ptl_match_bits_t match_bits,      \
                                              ptl_size_t remote_offset, ptl_note_t *note)          \
    {                                                                                              \
        return path_wait(kind, path, local, length, match_bits, remote_offset, note);              \
    }
PATH_SLOWLY(bytes_slowly, PATH_BYTES)
PATH_SLOWLY(put_slowly, PATH_PUT)
PATH_SLOWLY(get_slowly, PATH_GET)

HOT int path_start(enum path_kind kind, ptl_path_t path, const void *local, ptl_size_t length,
                   ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_note_t *note,
                   path_call_t *slowly)
{
    struct ptli_posting *posting = path_posting(kind != PATH_GET);
    if (!posting || !path || length - 1 >= posting->most) return PTL_NO_SPACE;
    if (!ptli_mutex_try(&posting->lock))
        return slowly(path, local, length, match_bits, remote_offset, note);
    return path_locked(kind, posting, path, local, length, match_bits, remote_offset, note, slowly);
}

int PtlPutBytesNoted(ptl_path_t path, const void *data, ptl_size_t length,
                     ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_note_t *note)
{
    return path_start(PATH_BYTES, path, data, length, match_bits, remote_offset, note,
                      bytes_slowly);
}

int PtlPutNoted(ptl_path_t path, const void *local, ptl_size_t length, ptl_match_bits_t match_bits,
                ptl_size_t remote_offset, ptl_note_t *note)
{
    return path_start(PATH_PUT, path, local, length, match_bits, remote_offset, note, put_slowly);
}

int PtlGetNoted(ptl_path_t path, void *local, ptl_size_t length, ptl_match_bits_t match_bits,
                ptl_size_t remote_offset, ptl_note_t *note)
{
    return path_start(PATH_GET, path, local, length, match_bits, remote_offset, note, get_slowly);
}

/* --- the poll --- */

static inline int path_news(const struct ptli_engine *engine, uint64_t *seen)
{
    const uint64_t news = atomic_load_explicit(&engine->news, memory_order_acquire);
    if (news == *seen) return PTL_EQ_EMPTY;
    *seen = news;
    return PTL_OK;
}

/* An interface without paths.  */
__attribute__((noinline, cold)) static int poll_elsewhere(ptl_handle_ni_t ni, uint64_t *seen)
{
    int result;
    struct ptli_engine *engine = ptli_engine_of(ni, PTLI_NI, PTL_NI_INVALID, &result);
    if (!engine) return result;
    engine->transport->ops->progress(engine->transport, 0);
    return path_news(engine, seen);
}

static inline bool is_noted(const struct ibv_wc *wc)
{
    return !(wc->wr_id & 1) && wc->status == IBV_WC_SUCCESS &&
           ((const struct ptli_wr *)(uintptr_t)wc->wr_id)->item & PTLI_ITEM_NOTED;
}

/* Slots have become free, for which something waits.  */
__attribute__((noinline, cold)) static void path_advanced(struct ptli_verbs *v,
                                                          struct ptli_conn *conn)
{
    ptli_mutex_lock(&v->posting.lock);
    ptli_verbs_advanced(conn);
    ptli_mutex_unlock(&v->posting.lock);
}

/* The request has completed, and all before it.  Without posting: their slots belong to senders
 * again.  Exchange and load are sequentially consistent, as in ptli_verbs_pump: what is queued
 * after the load finds the slots free.  */
HOT void path_passed(struct ptli_verbs *v, struct ptli_conn *conn, uint32_t number)
{
    atomic_exchange(&conn->done, number);
    if (atomic_load(&conn->queued)) path_advanced(v, conn);
}

/* The only completion of a poll, as it usually is, which is of an operation with a note.  */
HOT void take_noted(struct ptli_verbs *v, ptl_note_t **notes)
{
    const struct ptli_wr *slot = (const struct ptli_wr *)(uintptr_t)v->wc->wr_id;
    *notes = fast_note(slot, PTL_NI_OK);
    path_passed(v, slot->conn, slot->number);
}

/* The first of `n` completions that are of operations with a note: adds the notes to those of the
 * round, and returns how many there are.  Slots that lie one behind the other are passed at once;
 * all are passed when this returns, since others end the operations of slots that are not. */
static int take_all_noted(struct ptli_verbs *v, int n)
{
    int taken = 0;
    bool noted = taken < n && is_noted(v->wc);
    while (noted) {
        const struct ptli_wr *slot = (const struct ptli_wr *)(uintptr_t)v->wc[taken++].wr_id;
        ptli_path_ended(v, slot, PTL_NI_OK);
        noted = taken < n && is_noted(&v->wc[taken]);
        if (!noted || (uintptr_t)slot->after != v->wc[taken].wr_id)
            path_passed(v, slot->conn, slot->number);
    }
    return taken;
}

/* The rest of a round, and the notes of what has ended; with driving held.  noinline: the row "poll
 * that finds nothing" of make bench is 9 % more without it.  */
__attribute__((noinline)) static ptl_note_t *path_work(struct ptli_verbs *v, int n, bool listen)
{
    const int taken = take_all_noted(v, n);
    if (taken < n || taken <= 0 || atomic_load_explicit(&v->face.due, memory_order_relaxed))
        ptli_verbs_work(v, v->wc + taken, n - taken, listen);
    ptl_note_t *notes = v->notes;
    v->notes = NULL;
    v->last_note = &v->notes;
    return notes;
}

/* Nothing is to be done but to take completions.  */
static inline bool path_is_idle(const struct ptli_verbs *v)
{
    return !v->notes && !atomic_load_explicit(&v->face.due, memory_order_relaxed);
}

/* A round of progress in few instructions if there is nothing to do.  */
int PtlPoll(ptl_handle_ni_t ni, uint64_t *seen, ptl_note_t **notes)
{
    struct ptli_engine *engine = &ptli_engines[PTL_IFACE_DEFAULT];
    *notes = NULL;
    struct ptli_verbs *v = atomic_load_explicit(&engine->polls, memory_order_acquire);
    if (!v || atomic_load_explicit(&engine->handle, memory_order_relaxed) != ni)
        return poll_elsewhere(ni, seen);
    if (ptli_verbs_begin(v)) {
        const int n = ibv_poll_cq(v->cq, PTLI_POLLED, v->wc);
        if (n == 1 && path_is_idle(v) && is_noted(v->wc)) {
            take_noted(v, notes);
        } else {
            const bool listen =
                !n && ptli_verbs_is_time_to_listen(
                          v, atomic_load_explicit(&v->rounds, memory_order_relaxed));
            if (n || listen || !path_is_idle(v)) *notes = path_work(v, n, listen);
        }
        ptli_mutex_unlock(&v->driving);
    }
    return path_news(engine, seen);
}
