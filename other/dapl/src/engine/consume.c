/* consume.c - the consumer's side of an event dispatcher: completions are polled in batches into an
 * array that the dequeue drains, and counted there.
 *
 * All of it needs the consumer role. The array holds what the device wrote; a DAT_EVENT is made
 * when it is dequeued, in one step. An entry with an odd wr_id, and a status that is no success, is
 * a connection event of a link (connection_entry_t), which so comes after its transfers.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "other/dapl/src/engine/engine.h"
#include "other/dapl/src/machine/work_queue.h"

/* A connection event among completions: by value, as its link may be reset, or freed, before it is
 * dequeued. */
typedef struct connection_entry {
    uint64_t mark; /* odd, which the address of a record is not */
    enum ibv_wc_status status;
    DAT_EVENT_NUMBER number;
    DAT_EP_HANDLE ep_handle;
    DAT_PVOID private_data;
    DAT_COUNT private_data_size;
} connection_entry_t;
_Static_assert(sizeof(connection_entry_t) <= sizeof(struct ibv_wc) &&
                   offsetof(connection_entry_t, status) == offsetof(struct ibv_wc, status),
               "it takes the place of a completion");

static const uint8_t dto_status[] = {
    [IBV_WC_SUCCESS] = DAT_DTO_SUCCESS,
    [IBV_WC_LOC_LEN_ERR] = DAT_DTO_ERR_LOCAL_LENGTH,
    [IBV_WC_LOC_QP_OP_ERR] = DAT_DTO_ERR_LOCAL_EP,
    [IBV_WC_LOC_EEC_OP_ERR] = DAT_DTO_ERR_TRANSPORT,
    [IBV_WC_LOC_PROT_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
    [IBV_WC_WR_FLUSH_ERR] = DAT_DTO_ERR_FLUSHED,
    [IBV_WC_MW_BIND_ERR] = DAT_RMR_OPERATION_FAILED,
    [IBV_WC_BAD_RESP_ERR] = DAT_DTO_ERR_BAD_RESPONSE,
    [IBV_WC_LOC_ACCESS_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
    [IBV_WC_REM_INV_REQ_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
    [IBV_WC_REM_ACCESS_ERR] = DAT_DTO_ERR_REMOTE_ACCESS,
    [IBV_WC_REM_OP_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
    [IBV_WC_RETRY_EXC_ERR] = DAT_DTO_ERR_TRANSPORT,
    [IBV_WC_RNR_RETRY_EXC_ERR] = DAT_DTO_ERR_RECEIVER_NOT_READY,
};

static DAT_DTO_COMPLETION_STATUS status_of(const struct ibv_wc *wc)
{
    if (wc->status == IBV_WC_SUCCESS) return DAT_DTO_SUCCESS;
    if ((size_t)wc->status >= sizeof dto_status || !dto_status[wc->status])
        return DAT_DTO_ERR_TRANSPORT;
    return (DAT_DTO_COMPLETION_STATUS)dto_status[wc->status];
}

/* ---- Staging ---- */

static inline struct ibv_wc *behind_staged(const dapl_evd_t *evd)
{
    return evd->next + evd->count;
}

static inline int room_left(const dapl_evd_t *evd)
{
    return (int)(evd->staged + evd->room - behind_staged(evd));
}

/* Room for `more` entries, as far as memory and the length of the queue allow. */
static void consume_make_room(dapl_evd_t *evd, int more)
{
    if (evd->next != evd->staged && room_left(evd) < more) {
        memmove(evd->staged, evd->next, (size_t)evd->count * sizeof *evd->staged);
        evd->next = evd->staged;
    }
    if (room_left(evd) >= more) return;
    int room = evd->room * 2;
    while (room - evd->count < more) room *= 2;
    struct ibv_wc *staged = realloc(evd->staged, (size_t)room * sizeof *staged);
    if (!staged) return;
    evd->staged = evd->next = staged;
    evd->room = room;
}

void evd_connection_entry(struct ibv_wc *wc, const DAT_EVENT *event)
{
    const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
    const connection_entry_t entry = {.mark = 1,
                                      .status = IBV_WC_GENERAL_ERR,
                                      .number = event->event_number,
                                      .ep_handle = data->ep_handle,
                                      .private_data = data->private_data,
                                      .private_data_size = data->private_data_size};
    memcpy(wc, &entry, sizeof entry);
}

bool evd_stage(dapl_evd_t *evd, const struct ibv_wc *wc, int n)
{
    consume_make_room(evd, n);
    if (room_left(evd) < n) return false;
    memcpy(behind_staged(evd), wc, (size_t)n * sizeof *wc);
    evd->count += n;
    evd->odd = evd->long_way = true;
    evd->signals += (uint64_t)n;
    if (evd->wait) evd_wait_signal(evd->wait, evd_queued(evd));
    return true;
}

static inline bool is_signalling(const dapl_evd_t *evd, const struct ibv_wc *wc,
                                 const dapl_work_t *work)
{
    if (wc->status != IBV_WC_SUCCESS) return true;
    return !(work->flags & DAPL_WORK_UNSIGNALLED) && !evd->solicited;
}

/* Possibly no event, or not yet. */
static inline bool is_special(const dapl_work_t *work)
{
    if (work->flags & (DAPL_WORK_SUPPRESS | DAPL_WORK_SENTINEL)) return true;
    return work->flags & DAPL_WORK_RECEIVE &&
           (!work->link || order_may_hold(&work->link->order, work->link->nheld));
}

/* True for a transfer that succeeded, whose record holds its event, and which no connection event
 * holds back. */
static inline bool is_plain(const struct ibv_wc *wc, const dapl_work_t *work)
{
    if ((unsigned)wc->status | wc->wc_flags) return false;
    if (!work->flags) return true;
    const dapl_link_t *link = work->link;
    return !(work->flags & ~(uint32_t)DAPL_WORK_RECEIVE) && link &&
           !order_may_hold(&link->order, link->nheld);
}

/* Turns the n completions behind the staged ones into events, where they have one; true if there is
 * at least one more event.
 */
static bool admit_special(dapl_evd_t *evd, int n)
{
    struct ibv_wc *const first = behind_staged(evd), *out = first, *last_signal = NULL;
    uint64_t signals = 0;
    for (struct ibv_wc *wc = out, *end = out + n; wc < end; wc++) {
        dapl_work_t *work = (dapl_work_t *)(uintptr_t)wc->wr_id;
        if (is_special(work) && !link_admit(evd, wc, work)) continue;
        if (!(wc->wr_id & 1) && work->queue) work_staged(work->queue);
        if (wc->wr_id & 1 || is_signalling(evd, wc, work)) {
            signals++;
            last_signal = out;
        }
        if (!is_plain(wc, work)) evd->odd = evd->long_way = true;
        if (out != wc) *out = *wc;
        out++;
    }
    evd->count += (int)(out - first);
    evd->signals += signals;
    if (evd->wait && last_signal) {
        uint64_t behind = (uint64_t)(out - 1 - last_signal);
        evd_wait_signal(evd->wait, evd_queued(evd) - behind);
    }
    return out != first;
}

/* Turns n completions into events, as admit_special, but faster as long as they are plain. */
static inline bool admit(dapl_evd_t *evd, int n)
{
    const struct ibv_wc *wc = behind_staged(evd);
    int left = n;
    if (!evd->solicited) do {
            const dapl_work_t *work = (const dapl_work_t *)(uintptr_t)wc->wr_id;
            if (!is_plain(wc, work)) break;
            if (work->queue) work_staged(work->queue);
            wc++;
        } while (--left);
    int plain = n - left;
    evd->count += plain;
    evd->signals += (uint64_t)plain;
    if (evd->wait && plain) evd_wait_signal(evd->wait, evd_queued(evd));
    return !left || admit_special(evd, left) || plain;
}

bool evd_poll(dapl_evd_t *evd)
{
    int n;
    if (!evd->count) evd->next = evd->staged;
    if (!room_left(evd)) {
        consume_make_room(evd, 1);
        if (!room_left(evd)) return false;
    }
    do {
        n = evd->poll(evd->channel.cq, room_left(evd), behind_staged(evd));
        if (n <= 0) return false;
    } while (!admit(evd, n));
    return true;
}

/* Moves asynchronous events of the device to the ring while it has room for them. */
static bool take_asynchronous(dapl_evd_t *evd)
{
    bool any = false;
    DAT_EVENT event;
    uint64_t position;
    while (ring_queued(evd->ring) < ring_length(evd->ring) &&
           evd->async->take(evd->object.interface->attr.device, &event) > 0) {
        if (event.event_data.asynch_error_event_data.dat_handle == DAT_HANDLE_NULL)
            event.event_data.asynch_error_event_data.dat_handle =
                evd->object.interface->attr.ia_handle;
        /* Full after all, by another producer: this thread makes room by no means but waiting. */
        ring_t *ring = evd->ring;
        for (ring_put_t put; (put = ring_put(ring, &event, &position)) != RING_PUT;) {
            if (put == RING_FULL) return any;
            ring = atomic_load_explicit(&ring->next, memory_order_acquire);
        }
        any = true;
    }
    return any;
}

void evd_drain(dapl_evd_t *evd, int most)
{
    if (evd->async) take_asynchronous(evd);
    if (!evd->channel.cq) return;
    for (;;) {
        if (room_left(evd) < STAGED_AT_FIRST) consume_make_room(evd, STAGED_AT_FIRST);
        int asked = room_left(evd);
        if (asked < 1) return;
        int n = evd->poll(evd->channel.cq, asked, behind_staged(evd));
        if (n <= 0) return;
        admit(evd, n);
        if (n < asked || evd->count >= most) return;
    }
}

uint64_t evd_queued(const dapl_evd_t *evd)
{
    uint64_t queued = (uint64_t)evd->count;
    for (const ring_t *ring = evd->ring; ring;
         ring = atomic_load_explicit(&ring->next, memory_order_acquire))
        queued += ring_queued(ring);
    return queued;
}

/* ---- Taking ---- */

/* The first event of the ring is incomplete, or the ring was replaced. */
static ring_slot_t *ring_first_slowly(dapl_evd_t *evd)
{
    ring_slot_t *slot = NULL;
    for (unsigned round = 0; !slot; round++) {
        if (ring_over(evd->ring)) {
            evd->ring = atomic_load_explicit(&evd->ring->next, memory_order_acquire);
            round = 0;
        }
        slot = ring_first(evd->ring);
        if (slot || ring_over(evd->ring)) continue;
        if (!ring_queued(evd->ring)) return NULL;
        dapl_os_yield(round / 4);
    }
    return slot;
}

static inline ring_slot_t *first_of_ring(dapl_evd_t *evd)
{
    ring_slot_t *slot = ring_first(evd->ring);
    return slot || ring_empty(evd->ring) ? slot : ring_first_slowly(evd);
}

static void make_connection_event(const struct ibv_wc *wc, DAT_EVENT *event)
{
    connection_entry_t entry;
    memcpy(&entry, wc, sizeof entry);
    event->event_number = entry.number;
    event->event_data.connect_event_data.ep_handle = entry.ep_handle;
    event->event_data.connect_event_data.private_data_size = entry.private_data_size;
    event->event_data.connect_event_data.private_data = entry.private_data;
}

bool evd_has_staged(const dapl_evd_t *evd, DAT_EP_HANDLE ep)
{
    connection_entry_t entry;
    for (int i = 0; i < evd->count; i++) {
        memcpy(&entry, &evd->next[i], sizeof entry);
        if (entry.mark & 1 && entry.ep_handle == ep) return true;
    }
    return false;
}

static void make_transfer_event(const struct ibv_wc *wc, DAT_EVENT *event)
{
    const dapl_work_t *work = (const dapl_work_t *)(uintptr_t)wc->wr_id;
    if (work->flags & DAPL_WORK_BIND) {
        event->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
        DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind = &event->event_data.rmr_completion_event_data;
        bind->rmr_handle = work->rmr;
        bind->user_cookie = work->event.user_cookie;
        bind->status = status_of(wc);
    } else {
        event->event_number = DAT_DTO_COMPLETION_EVENT;
        DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
        *dto = work->event;
        dto->status = status_of(wc);
        if (work->flags & DAPL_WORK_RECEIVE) dto->transfered_length = wc->byte_len;
        if (wc->wc_flags & IBV_WC_WITH_INV) {
            dto->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
            dto->rmr_context = wc->invalidated_rkey;
        }
    }
}

/* The event of a plain completion. */
static inline void make_plain_event(dapl_evd_t *evd, const struct ibv_wc *wc,
                                    const dapl_work_t *work, DAT_EVENT *event)
{
    event->event_number = DAT_DTO_COMPLETION_EVENT;
    event->evd_handle = (DAT_EVD_HANDLE)evd;
    event->event_data.dto_completion_event_data = work->event;
    if (work->flags) event->event_data.dto_completion_event_data.transfered_length = wc->byte_len;
}

/* The first staged event, if all that is staged is plain. */
static inline void take_plain(dapl_evd_t *evd, DAT_EVENT *event)
{
    const struct ibv_wc *wc = evd->next++;
    const dapl_work_t *work = (const dapl_work_t *)(uintptr_t)wc->wr_id;
    evd->count--;
    make_plain_event(evd, wc, work, event);
    if (work->queue) work_dequeued(work->queue, work);
}

static void take_staged(dapl_evd_t *evd, DAT_EVENT *event)
{
    const struct ibv_wc *wc = evd->next++;
    if (!--evd->count) evd->odd = false;
    event->evd_handle = (DAT_EVD_HANDLE)evd;
    if (wc->wr_id & 1) {
        make_connection_event(wc, event);
        return;
    }
    const dapl_work_t *work = (const dapl_work_t *)(uintptr_t)wc->wr_id;
    make_transfer_event(wc, event);
    if (work->queue) work_dequeued(work->queue, work);
}

static inline void take_slot(dapl_evd_t *evd, ring_slot_t *slot, DAT_EVENT *event)
{
    event->event_number = slot->number;
    event->evd_handle = (DAT_EVD_HANDLE)evd;
    event->event_data = slot->data;
    ring_release(evd->ring, slot);
}

static bool take_from_ring(dapl_evd_t *evd, DAT_EVENT *event)
{
    ring_slot_t *slot = first_of_ring(evd);
    if (!slot && evd->async && take_asynchronous(evd)) slot = first_of_ring(evd);
    if (slot) take_slot(evd, slot, event);
    return slot != NULL;
}

bool evd_take(dapl_evd_t *evd, DAT_EVENT *event)
{
    if (evd->ring && take_from_ring(evd, event)) return true;
    if (!evd->count && (!evd->channel.cq || !evd_poll(evd))) return false;
    take_staged(evd, event);
    return true;
}

/* With the role, which it leaves: what is not the short way of dapl_evd_dequeue. */
static DAT_RETURN dequeue_slowly(dapl_evd_t *evd, DAT_EVENT *event)
{
    if (atomic_load_explicit(&evd->state, memory_order_relaxed) & EVD_WAITER) {
        role_leave(&evd->role);
        return DAPL_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
    }
    bool found = evd_take(evd, event);
    if (!found && evd->channel.cq && !evd->channel.armed &&
        atomic_load_explicit(&evd->cno, memory_order_relaxed) &&
        evd_notifies(atomic_load_explicit(&evd->state, memory_order_relaxed))) {
        /* The next event will trigger the CNO; one that came before the arming is taken here. */
        evd_arm(evd);
        found = evd_take(evd, event);
    }
    evd_choose_way(evd);
    evd_leave(evd);
    return found ? DAT_SUCCESS : DAT_QUEUE_EMPTY;
}

/* noinline, as refuse: "dequeue of an empty EVD" (tests/run.sh) is a fifth more without the two. */
static __attribute__((noinline)) DAT_RETURN dequeue_shared(dapl_evd_t *evd, DAT_EVENT *event)
{
    /* A waiter is not to lose the ownership to a thread that will be refused. */
    if (atomic_load_explicit(&evd->state, memory_order_relaxed) & EVD_WAITER)
        return DAPL_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
    role_enter(&evd->role);
    return dequeue_slowly(evd, event);
}

static __attribute__((noinline)) DAT_RETURN refuse(const dapl_evd_t *evd)
{
    return evd_valid(evd) ? DAPL_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2)
                          : DAPL_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
}

/* The owner of the role takes the first staged event, as all are plain, and leaves the role. */
static inline DAT_RETURN dequeue_staged(dapl_evd_t *evd, DAT_EVENT *event)
{
    take_plain(evd, event);
    role_leave_own(&evd->role);
    return DAT_SUCCESS;
}

/* The owner of the role has polled n completions, of which the first is not plain or not alone. */
static DAT_RETURN dequeue_admitted(dapl_evd_t *evd, DAT_EVENT *event, int n)
{
    evd->next = evd->staged;
    admit(evd, n);
    if (evd->odd || evd->due || !evd->count) return dequeue_slowly(evd, event);
    return dequeue_staged(evd, event);
}

/* The event of a single plain completion is made where it is found. */
static inline bool dequeue_single(dapl_evd_t *evd, DAT_EVENT *event)
{
    const struct ibv_wc *wc = evd->staged;
    const dapl_work_t *work = (const dapl_work_t *)(uintptr_t)wc->wr_id;
    if (!is_plain(wc, work)) return false;
    evd->signals++;
    make_plain_event(evd, wc, work, event);
    if (work->queue) work_retire(work->queue, work->position);
    role_leave_own(&evd->role);
    return true;
}

/* The owner of the role polls. */
static DAT_RETURN dequeue_polled(dapl_evd_t *evd, DAT_EVENT *event)
{
    int n = evd->poll(evd->channel.cq, evd->room, evd->staged);
    if (n > 0)
        return n == 1 && dequeue_single(evd, event) ? DAT_SUCCESS : dequeue_admitted(evd, event, n);
    if (evd->has_cno) return dequeue_slowly(evd, event);
    role_leave_own(&evd->role);
    return DAT_QUEUE_EMPTY;
}

/* Dequeues for the owner of the role of an EVD that has a ring or staged events of other kinds. An
 * event of the ring is taken without a poll of the completion queue, so that no disconnection can
 * become due. */
static DAT_RETURN dequeue_long(dapl_evd_t *evd, DAT_EVENT *event)
{
    if (!evd->ring) return dequeue_slowly(evd, event);
    ring_slot_t *slot = ring_first(evd->ring);
    if (slot) {
        take_slot(evd, slot, event);
        role_leave_own(&evd->role);
        return DAT_SUCCESS;
    }
    if (evd->odd || !evd->channel.cq || !ring_empty(evd->ring)) return dequeue_slowly(evd, event);
    return evd->count ? dequeue_staged(evd, event) : dequeue_polled(evd, event);
}

/* The short way: by the thread that owns the EVD, which holds plain completions alone. No thread
 * waits then, as a waiter of another thread takes the ownership away. What is rarer is in functions
 * that are called last, so that the others save no registers for it.
 */
DAT_RETURN dapl_evd_dequeue(dapl_evd_t *evd, DAT_EVENT *event)
{
    if (!evd_valid(evd) || !event) return refuse(evd);
    if (!role_enter_own(&evd->role)) return dequeue_shared(evd, event);
    if (evd->long_way) return dequeue_long(evd, event);
    return evd->count ? dequeue_staged(evd, event) : dequeue_polled(evd, event);
}

/* ---- Arming ---- */

void evd_arm(dapl_evd_t *evd)
{
    if (!evd_queued(evd)) evd->notified = evd->signals; /* the consumer has dequeued them */
    dapl_channel_arm(&evd->channel, evd->solicited);
}

/* ---- Leaving the role ---- */

static void finish_due(dapl_link_t *due)
{
    while (due) {
        dapl_link_t *next = due->next_due; /* before the event lets the program free the link */
        if (!link_finish(due)) helper_watch_link(due);
        due = next;
    }
}

void evd_leave(dapl_evd_t *evd)
{
    dapl_link_t *due = evd->due;
    evd->due = NULL;
    role_leave(&evd->role);
    finish_due(due);
}

void evd_return(dapl_evd_t *evd, uintptr_t before)
{
    dapl_link_t *due = evd->due;
    evd->due = NULL;
    role_return(&evd->role, before);
    finish_due(due);
}
