/* fast.h - functions shared by the files of the fast path: where a put or get goes, and how a short
 * put is sent as a message.
 *
 * Included by fast_put_get.c and path.c alone.  With posting held.
 */
#ifndef PTLI_FAST_H
#define PTLI_FAST_H

#include "other/base/hot.h"
#include "other/portals3/include/portals3_ext.h"
#include "other/portals3/src/engine/engine.h"
#include "other/portals3/src/transport/verbs.h"

/* Caches the descriptor of a handle; false if the handle is invalid or the descriptor not plain. */
bool ptli_fast_change_md(struct ptli_engine *engine, struct ptli_posting *posting,
                         ptl_handle_md_t handle);

/* The published entry that the operation goes to.  NULL if no list is held, an earlier request may
 * not have been matched yet, messages are queued, or no slot is free.  What is posted to it is not
 * counted as a user of the list: REVOKED follows on the same connection, behind a fence.  */
HOT const struct ptli_published_entry *fast_target(const struct ptli_route *route,
                                                   const struct ptli_conn *conn, bool is_put,
                                                   ptl_ac_index_t ac, ptl_match_bits_t match_bits,
                                                   ptl_size_t offset, ptl_size_t length)
{
    if (route->lease.state != PTLI_LEASE_HELD || !conn || route->node->seen < route->last ||
        ptli_verbs_in_flight(conn) >= conn->most)
        return NULL;
    return ptli_published_find(&route->list->face.published,
                               is_put ? PTLI_PUBLISHED_PUT : PTLI_PUBLISHED_GET, ac, match_bits,
                               offset, length);
}

/* Fills in the work request of a put or get, but for its flags and the key of the local memory.  */
HOT struct ibv_send_wr *fast_request(struct ptli_conn *conn, const struct ptli_wr *slot,
                                     const struct ptli_published_entry *there, bool is_put,
                                     const void *local, ptl_size_t length, ptl_size_t remote_offset)
{
    struct ibv_send_wr *wr = is_put ? &conn->put : &conn->get;
    conn->piece.addr = (uintptr_t)local;
    conn->piece.length = (uint32_t)length;
    wr->wr_id = (uintptr_t)slot;
    wr->wr.rdma.remote_addr = there->address + remote_offset;
    wr->wr.rdma.rkey = there->key;
    return wr;
}

/* The end of a put or get that was started: counts and posts it, and releases posting.  */
HOT int fast_post(struct ptli_posting *posting, struct ptli_conn *conn, struct ibv_send_wr *wr,
                  bool is_put, ptl_size_t length)
{
    struct ibv_send_wr *bad;
    if (is_put) {
        posting->counts.puts++;
        posting->counts.put_length += length;
    } else {
        posting->counts.gets++;
        posting->counts.get_length += length;
    }
    if (ibv_post_send(conn->qp, wr, &bad) != 0) ptli_verbs_cannot_post(conn);
    ptli_mutex_unlock(&posting->lock);
    return PTL_OK;
}

/* Posts a put as a message whose data the device copies, so that nothing of it is kept.  False: the
 * peer's list is to be used or asked for, messages are queued, the data need a send buffer, or no
 * slot is free.  */
HOT bool fast_message(struct ptli_route *route, const void *data, ptl_size_t length,
                      ptl_ac_index_t ac, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
                      ptl_hdr_data_t hdr_data)
{
    struct ptli_node *node = route->node;
    struct ptli_conn *conn = node->conn;
    struct ptli_fast_counts *counts = &node->verbs->posting.counts;
    if (!conn || length > conn->short_most || ptli_verbs_in_flight(conn) >= conn->most ||
        !ptli_lease_passes(&route->lease))
        return false;
    route->last = ++node->queued;
    node->sent++;
    counts->messages++;
    counts->message_length += length;
    ptli_wire_vary(route->header, ac, (uint32_t)length, match_bits, hdr_data, length, remote_offset,
                   atomic_load_explicit(&node->taken, memory_order_relaxed));
    conn->part[0].addr = (uintptr_t)route->header;
    conn->part[1].addr = (uintptr_t)data;
    conn->part[1].length = (uint32_t)length;
    conn->message.num_sge = length ? 2 : 1;
    conn->message.send_flags = IBV_SEND_INLINE;
    ptli_verbs_count_message(conn);
    ptli_verbs_post(conn, &conn->message, 0, NULL);
    return true;
}

/* The end of an operation of path.c, for which the path's user gets its note.  */
HOT ptl_note_t *fast_note(const struct ptli_wr *slot, ptl_ni_fail_t fail)
{
    ptl_note_t *note = slot->note;
    note->next = NULL;
    note->fail = fail;
    return note;
}

/* Appends the note of an ended operation of path.c to the list of notes that the next PtlPoll
 * returns. With driving held. */
static inline void ptli_path_ended(struct ptli_verbs *v, const struct ptli_wr *slot,
                                   ptl_ni_fail_t fail)
{
    ptl_note_t *note = fast_note(slot, fail);
    *v->last_note = note;
    v->last_note = &note->next;
}

#endif
