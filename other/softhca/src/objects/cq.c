/* cq.c - completion queues: a ring in the owner's segment that any initiator may append to.
 *
 * A producer claims the entry at the tail with its slot number, advances the tail, fills the entry
 * and publishes it by a release store of its lap. No lock is shared between processes; an entry
 * whose claimant died is skipped. Consumers are threads of the owner and share an ordinary lock.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/hot.h"
#include "other/base/uncancelled.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/objects/done.h"
#include "other/softhca/src/objects/event.h"
#include "other/softhca/src/objects/memlock.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/settings/settings.h"

enum { MIN_SPINS = 64, MAX_SPINS = 4096, SHORT_YIELD = 2000 /* ns */ };

static int cq_find_index(void)
{
    static uint32_t next; /* an index just freed is not reused at once */
    for (uint32_t i = 0; i < SHCA_CQS; i++) {
        uint32_t at = (next + i) % SHCA_CQS;
        if (!shca.cq[at]) {
            next = at + 1;
            return at;
        }
    }
    return -1;
}

uint64_t shca_ring_new(uint32_t shift)
{
    uint64_t offset = shca_heap_alloc(shm_ring_bytes(shift));
    if (!offset) return 0;
    struct shm_ring *r = shm_at(shca.h, offset);
    r->shift = shift;
    r->mask = (1u << shift) - 1;
    return offset | shift;
}

static int cq_enter(struct shca_cq *cq, uint32_t shift, struct ibv_comp_channel *channel)
{
    uint64_t ring = shca_ring_new(shift);
    if (!ring) return ENOMEM;
    pthread_mutex_lock(&shca.lock);
    int index = cq_find_index();
    if (index >= 0) {
        cq->index = cq->base.handle = index;
        cq->s = &shca.h->cq[index];
        cq->ring = shm_at(shca.h, shm_ring_offset(ring));
        memset(cq->s, 0, sizeof *cq->s);
        cq->s->ring = ring;
        if (channel) cq->s->channel = ((struct shca_channel *)channel)->id;
        shca.cq[index] = cq;
    }
    pthread_mutex_unlock(&shca.lock);
    if (index >= 0) return 0;
    shca_heap_free(shm_ring_offset(ring));
    return ENOMEM;
}

struct ibv_cq *shca_create_cq(struct ibv_context *c, int cqe, void *context,
                              struct ibv_comp_channel *channel, int vector)
{
    struct shca_cq *cq = NULL;
    int most = shca_device(c)->model->max_cqe;
    int error = cqe < 1 || cqe > most || vector < 0 || vector >= c->num_comp_vectors ? EINVAL
                : channel && channel->context != c                                   ? EINVAL
                                                   : shca_take(c, SHCA_CQ);
    if (error) {
        errno = error;
        return NULL;
    }
    if (!(cq = calloc(1, sizeof *cq)))
        error = ENOMEM;
    else {
        uint32_t shift = 0;
        while (1 << shift < cqe) shift++;
        cq->spins_before_yield = MIN_SPINS;
        cq->base.context = c;
        cq->base.cq_context = context;
        cq->base.channel = channel;
        cq->base.cqe = 1 << shift;
        cq->spare = 1 << shift;
        pthread_mutex_init(&cq->base.mutex, NULL);
        pthread_cond_init(&cq->base.cond, NULL);
        error = shca_delayed_cq(cq);
        if (!error)
            error = shca_memlock_queue(&cq->pinned,
                                       shca_memlock_entries(1u << shift, SHCA_MEMLOCK_CQE));
        if (!error) error = cq_enter(cq, shift, channel);
    }
    if (error) {
        shca_give(c, SHCA_CQ);
        if (cq) shca_memlock_give(NULL, cq->pinned);
        if (cq) shca_delayed_free(cq);
        free(cq);
        errno = error;
        return NULL;
    }
    if (channel) shca_channel_add(cq);
    return &cq->base;
}

int shca_destroy_cq(struct ibv_cq *base)
{
    GASNETI_UNCANCELLED;
    struct shca_cq *cq = shca_cq(base);
    if (cq->users) return EBUSY;
    if (base->channel) shca_channel_remove(cq);
    pthread_mutex_lock(&shca.lock);
    shca.cq[cq->index] = NULL;
    uint64_t ring = shm_ring_offset(cq->s->ring);
    memset(cq->s, 0, sizeof *cq->s);
    pthread_mutex_unlock(&shca.lock);
    shca_heap_free(ring);
    shca_give(base->context, SHCA_CQ);
    shca_memlock_give(NULL, cq->pinned);
    shca_forget_events(base->context, cq);
    pthread_mutex_lock(&base->mutex);
    while (base->comp_events_completed != cq->ev_given ||
           base->async_events_completed != cq->async_given)
        pthread_cond_wait(&base->cond, &base->mutex);
    pthread_mutex_unlock(&base->mutex);
    shca_delayed_free(cq);
    free(cq);
    return 0;
}

/* The ring has no free entry at TAIL. HEAD is in the owner's cache line and read only when SEEN,
 * the producers' copy of it, says full. */
static inline bool cq_is_full(struct shm_ring *r, uint32_t shift, uint64_t tail)
{
    uint64_t seen = atomic_load_explicit(&r->seen, memory_order_acquire);
    if ((int64_t)(tail - seen) >> shift <= 0) return false;
    seen = atomic_load_explicit(&r->head, memory_order_acquire);
    atomic_store_explicit(&r->seen, seen, memory_order_release);
    return (int64_t)(tail - seen) >> shift > 0;
}

/* The entry at TAIL is claimed, by this or by another producer that has not advanced the tail yet.
 * Plain stores: if two producers pass each other and the tail falls back, later producers walk over
 * the claimed entries. */
static inline void cq_move_on(struct shm_ring *r, uint64_t tail)
{
    if (atomic_load_explicit(&r->tail, memory_order_relaxed) == tail)
        atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

/* Claims the entry at the tail; NULL when the ring is full. */
static inline struct shm_cqe *cq_claim(struct shm_ring *r, uint32_t shift, uint64_t *position)
{
    uint32_t mask = (1u << shift) - 1;
    for (;;) {
        uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (cq_is_full(r, shift, tail)) return NULL;
        uint64_t last = tail >> shift; /* the lap in which the entry was claimed before */
        _Atomic uint64_t *at = &shca_claims(r, shift)[tail & mask];
        uint64_t word = atomic_load_explicit(at, memory_order_acquire);
        uint64_t mine = (last + 1) | (uint64_t)shca.slot << SHCA_CLAIM_SLOT;
        bool got = (word & SHCA_LAPS) == last && atomic_compare_exchange_strong(at, &word, mine);
        cq_move_on(r, tail);
        *position = tail;
        if (got) return &r->e[tail & mask];
    }
}

void shca_cq_notify(struct shca_peer *owner, struct shm_cq *s, bool solicited)
{
    uint32_t armed = atomic_load_explicit(&s->armed, memory_order_acquire);
    if (armed == SHCA_ARM_NONE || (armed == SHCA_ARM_SOLICITED && !solicited)) return;
    if (!atomic_compare_exchange_strong(&s->armed, &armed, SHCA_ARM_NONE)) return;
    atomic_fetch_add(&s->ev_produced, 1);
    int fd = shca_peer_channel(owner, s->channel);
    uint64_t one = 1;
    /* syscall() is not a cancellation point, as write() is: the callers of this function hold
     * locks. */
    if (fd >= 0 && syscall(SYS_write, fd, &one, sizeof one) == sizeof one) return;
    s->ev_lost = 1;
    shca_peer_ring(owner);
}

/* The ring WORD is full. True when another ring replaces it. */
static bool cq_replaced(struct shca_peer *owner, struct shm_cq *s, uint64_t word)
{
    while (s->resizing) {
        if (shca_peer_dead_slow(owner)) return false;
        sched_yield();
    }
    return s->ring != word;
}

/* Append *NEW to completion queue number CQ of OWNER; false when that overflows it. */
bool shca_cq_push(struct shca_peer *owner, uint32_t cq, const struct shm_cqe *new)
{
    struct shm_cq *s = &owner->h->cq[cq & (SHCA_CQS - 1)];
    struct shm_cqe *e;
    uint64_t position, ring;
    do {
        ring = atomic_load_explicit(&s->ring, memory_order_acquire);
        uint32_t shift = shm_ring_shift(ring);
        struct shm_ring *r =
            ring ? shca_peer_at(owner, shm_ring_offset(ring), shm_ring_bytes(shift)) : NULL;
        if (!r) return false;
        e = s->overflow ? NULL : cq_claim(r, shift, &position);
    } while (!e && cq_replaced(owner, s, ring));
    if (!e) {
        if (!atomic_exchange(&s->overflow, 1)) shca_peer_ring(owner);
        return false;
    }
    e->wr_id = new->wr_id;
    memcpy(&e->qpn, &new->qpn, sizeof *new - offsetof(struct shm_cqe, qpn));
    uint64_t lap = shca_lap(position, shm_ring_shift(ring));
    if (!s->channel) {
        atomic_store_explicit(&e->lap, lap, memory_order_release);
        return true;
    }
    /* A full fence, which pairs with shca_req_notify(): armed is read after the entry is visible.
     */
    atomic_exchange(&e->lap, lap);
    shca_cq_notify(owner, s, new->flags &SHCA_CQE_SOLICITED || new->status != IBV_WC_SUCCESS);
    return true;
}

/* Copies a small SEND, which came in the completion or behind the receive WR, to the SGEs of the
 * receive. A region that was deregistered since is left alone. */
static void cq_scatter(const struct shm_cqe *e, const struct shm_rwr *r, uint32_t data)
{
    const char *from = e->flags & SHCA_CQE_DATA ? e->data : (const char *)r + data;
    uint32_t left = e->byte_len;
    const struct ibv_sge *end = r->sge + r->num_sge;
    for (const struct ibv_sge *s = r->sge; left > 0 && s < end; s++) {
        uint32_t n = s->length < left ? s->length : left;
        struct shm_mr *mr = &shca.h->mr[((s->lkey >> 8) - 1) & (SHCA_MRS - 1)];
        if (atomic_load_explicit(&mr->key, memory_order_relaxed) == s->lkey)
            memcpy((void *)(uintptr_t)(mr->va + (s->addr - mr->iova)), from, n);
        from += n;
        left -= n;
    }
}

static struct shca_srq *cq_srq_of(const struct shm_cqe *e)
{
    return atomic_load_explicit(&shca.srq[e->index / SHCA_MAX_WR], memory_order_acquire);
}

static uint32_t cq_slot_of(const struct shm_cqe *e)
{
    return e->index % SHCA_MAX_WR;
}

/* Frees the receive slot for posting again. */
static void cq_end_receive(const struct shm_cqe *e)
{
    bool waits = e->flags & (SHCA_CQE_SCATTER | SHCA_CQE_DATA);
    if (e->flags & SHCA_CQE_SRQ) {
        struct shca_srq *q = cq_srq_of(e);
        if (waits) {
            (void)atomic_load_explicit(&q->s->prod, memory_order_acquire); /* as below */
            cq_scatter(e, &shm_slot(shca.h, q->s, cq_slot_of(e))->r, q->s->data);
        }
        shca_srq_done(q, cq_slot_of(e));
        return;
    }
    struct shca_qp *qp = shca_qp_numbered(e->qpn);
    const struct shm_qp *s = qp->s;
    /* Acquire: pairs with the release store in recv_post_one(), so that this thread sees what the
     * posting thread wrote. The message came through another process, which neither the compiler
     * nor ThreadSanitizer takes into account. */
    (void)atomic_load_explicit(&s->rq_prod, memory_order_acquire);
    if (waits)
        cq_scatter(e, shm_at(shca.h, s->rq_ring + (uint64_t)(e->index & s->rq_mask) * s->rq_stride),
                   s->rq_data);
    atomic_store_explicit(&qp->rq_done, e->index + 1, memory_order_release);
}

/* Frees the slots of the send queue up to the WR. */
static inline void cq_end_send(struct shca_qp *qp, const struct shm_cqe *e)
{
    atomic_store_explicit(&qp->sq_done, e->index + 1, memory_order_release);
}

static inline void cq_fill_wc(const struct shm_cqe *e, struct ibv_wc *wc)
{
    wc->wr_id = e->wr_id;
    wc->status = e->status;
    wc->opcode = e->opcode;
    wc->vendor_err = e->status ? 0x5000 + e->status : 0;
    wc->byte_len = e->byte_len;
    wc->imm_data = e->imm;
    wc->qp_num = e->qpn;
    wc->src_qp = e->src_qp;
    wc->wc_flags = e->flags & (SHCA_CQE_IMM | SHCA_CQE_INV | SHCA_CQE_GRH);
    wc->pkey_index = 0;
    wc->slid = e->route.slid;
    wc->sl = e->route.sl;
    wc->dlid_path_bits = e->route.dlid_path_bits;
}

/* The completion at the head, or NULL; passes over entries marked SHCA_CQE_SKIP. Lock held. */
static inline struct shm_cqe *cq_at_head(struct shm_ring *r, uint64_t *head)
{
    for (;; ++*head) {
        struct shm_cqe *e = &r->e[*head & r->mask];
        if (!shca_is_valid(e, *head, r->shift)) return NULL;
        if (!(e->flags & SHCA_CQE_SKIP)) return e;
    }
}

void shca_cq_to_wc(const struct shm_cqe *e, struct ibv_wc *wc)
{
    if (e->side == SHCA_SIDE_SEND)
        cq_end_send(shca_qp_numbered(e->qpn), e);
    else
        cq_end_receive(e);
    cq_fill_wc(e, wc);
}

/* Takes the next completion, for delayed_completions.c. Lock held. */
bool shca_cq_take(struct shca_cq *cq, struct shm_cqe *e)
{
    struct shm_ring *r = cq->ring;
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    const struct shm_cqe *first = cq_at_head(r, &head);
    if (first) *e = *first;
    atomic_store_explicit(&r->head, head + (first != NULL), memory_order_release);
    return first != NULL;
}

/* Yields the processor. When another thread used it there are more runnable threads than cores, and
 * the sender may be among them: yield again soon. Otherwise yield less often. */
static void cq_yield(struct shca_cq *cq, uint32_t spins_before_yield)
{
    uint64_t start = gasneti_clock_ns();
    sched_yield();
    if (gasneti_clock_ns() - start > SHORT_YIELD)
        spins_before_yield = MIN_SPINS;
    else if (spins_before_yield < MAX_SPINS)
        spins_before_yield *= 2;
    atomic_store_explicit(&cq->spins_before_yield, spins_before_yield, memory_order_relaxed);
}

static inline int cq_poll_empty(struct shca_cq *cq)
{
    if (atomic_load_explicit(&shca.waiting, memory_order_relaxed)) shca_worker_progress();
    if (cq->overflow_raised) return -1;
    uint32_t empty = atomic_load_explicit(&cq->empty, memory_order_relaxed) + 1;
    uint32_t spins_before_yield =
        atomic_load_explicit(&cq->spins_before_yield, memory_order_relaxed);
    /* The sender may be the other hardware thread of this core. Only every 16th empty poll pauses:
     * a pause takes longer than the poll, and delays a completion that arrives in it. */
    if (empty % 16 == 0) __builtin_ia32_pause();
    if (empty >= spins_before_yield) {
        cq_yield(cq, spins_before_yield);
        empty = 0;
    }
    atomic_store_explicit(&cq->empty, empty, memory_order_relaxed);
    return 0;
}

int shca_cq_poll_empty(struct shca_cq *cq)
{
    return cq_poll_empty(cq);
}

/* Adds completions of the ring to the N that were taken. Completions of short WRITEs, which are
 * older than those of the same send queue in the ring, go first. Lock held. */
HOT int cq_poll_ring(struct shca_cq *cq, int num, struct ibv_wc *wc, int n)
{
    /* The ring changes only under the lock. */
    struct shm_ring *r = atomic_load_explicit(&cq->ring, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    for (struct shm_cqe *e; n < num && (e = cq_at_head(r, &head)); head++) {
        if (e->side == SHCA_SIDE_SEND) {
            struct shca_qp *qp = shca_qp_numbered(e->qpn);
            if (shca_done_any(qp)) {
                n += shca_done_take_of(qp, num - n, wc + n);
                if (n == num) break;
            }
            cq_end_send(qp, e);
        } else
            cq_end_receive(e);
        cq_fill_wc(e, &wc[n++]);
    }
    atomic_store_explicit(&r->head, head, memory_order_release);
    return n;
}

/* Some QP may have completions of short WRITEs. Every other time the ring goes first, so that
 * neither keeps the other from being polled. */
static int cq_poll_fresh(struct shca_cq *cq, int num, struct ibv_wc *wc)
{
    shca_lock(&cq->lock);
    const bool first = cq->ring_first = !cq->ring_first;
    int n = first ? cq_poll_ring(cq, num, wc, 0) : 0;
    if (n < num) n += shca_done_take(cq, num - n, wc + n);
    if (!first && n < num) n = cq_poll_ring(cq, num, wc, n);
    shca_unlock(&cq->lock);
    if (n == 0) return cq_poll_empty(cq);
    atomic_store_explicit(&cq->empty, 0, memory_order_relaxed);
    return n;
}

int shca_poll_cq(struct ibv_cq *base, int num, struct ibv_wc *wc)
{
    struct shca_cq *cq = shca_cq(base);
    if (atomic_load_explicit(&cq->fresh, memory_order_relaxed)) return cq_poll_fresh(cq, num, wc);
    /* While another thread resizes the queue this may be the old ring, with its memory reused. The
     * peek stays within its bounds and is repeated under the lock. */
    uint64_t word = atomic_load_explicit(&cq->s->ring, memory_order_acquire);
    struct shm_ring *r = shm_at(shca.h, shm_ring_offset(word));
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint32_t shift = shm_ring_shift(word);
    if (!shca_is_valid(&r->e[head & ((1u << shift) - 1)], head, shift)) return cq_poll_empty(cq);
    shca_lock(&cq->lock);
    int n = cq_poll_ring(cq, num, wc, 0);
    shca_unlock(&cq->lock);
    atomic_store_explicit(&cq->empty, 0, memory_order_relaxed);
    return n;
}

/* True when the CQ may have completions that no event has reported. An event that the program took
 * reports all completions that the program's next poll finds. */
static bool cq_holds_untold(struct shca_cq *cq)
{
    if (atomic_load_explicit(&cq->empty, memory_order_relaxed) == (uint32_t)SHCA_NOT_POLLED)
        return false;
    if (atomic_load_explicit(&cq->fresh, memory_order_acquire)) return true;
    shca_lock(&cq->lock);
    uint64_t head = atomic_load_explicit(&cq->ring->head, memory_order_relaxed);
    const bool any = cq_at_head(cq->ring, &head);
    shca_unlock(&cq->lock);
    return any;
}

int shca_req_notify(struct ibv_cq *base, int solicited_only)
{
    struct shca_cq *cq = shca_cq(base);
    if (!base->channel) return EINVAL;
    /* An exchange is a full fence: the poll that follows is not reordered before it. ANY outranks
     * SOLICITED. */
    uint32_t want = solicited_only ? SHCA_ARM_SOLICITED : SHCA_ARM_ANY, none = SHCA_ARM_NONE;
    if (solicited_only) {
        atomic_compare_exchange_strong(&cq->s->armed, &none, want);
        return 0;
    }
    atomic_exchange(&cq->s->armed, want);
    shca_done_await_posters(cq);
    if (shca_settings()->events == SHCA_EVENTS_LENIENT && cq_holds_untold(cq))
        shca_cq_notify(&shca.me, cq->s, true);
    return 0;
}

void shca_cq_drop(const struct shm_cqe *e)
{
    if (e->flags & SHCA_CQE_SRQ) shca_srq_done(cq_srq_of(e), cq_slot_of(e));
}

/* Whether the entry belongs to this QP, or to SRQ Q when Q is not NULL. */
bool shca_cqe_of(const struct shm_cqe *e, uint32_t qpn, const struct shca_srq *q)
{
    return q ? e->flags & SHCA_CQE_SRQ && cq_srq_of(e) == q : e->qpn == qpn;
}

/* The QP, or SRQ Q, is being destroyed: its completions are dropped. */
void shca_cq_forget(struct shca_cq *cq, uint32_t qpn, const struct shca_srq *q)
{
    shca_lock(&cq->lock);
    struct shm_ring *r = cq->ring;
    for (uint64_t i = r->head; shca_is_claimed(r, i); i++) {
        struct shm_cqe *e = &r->e[i & r->mask];
        bool seen = shca_is_valid(e, i, r->shift) && !(e->flags & SHCA_CQE_SKIP);
        if (!seen || !shca_cqe_of(e, qpn, q)) continue;
        e->flags |= SHCA_CQE_SKIP;
        shca_cq_drop(e);
    }
    if (cq->delayed) shca_delayed_forget(cq, qpn, q);
    shca_unlock(&cq->lock);
}

static void cq_unmark(const struct shm_cqe *e, const struct shca_srq *q, uint64_t *slots)
{
    if (e->flags & SHCA_CQE_SRQ && cq_srq_of(e) == q) slots[cq_slot_of(e)] = 0;
}

/* Clears the entries of SLOTS that have an unpolled completion in this CQ. */
void shca_cq_unmark(struct shca_cq *cq, const struct shca_srq *q, uint64_t *slots)
{
    shca_lock(&cq->lock);
    struct shm_ring *r = cq->ring;
    for (uint64_t i = r->head; shca_is_claimed(r, i); i++) {
        const struct shm_cqe *e = &r->e[i & r->mask];
        if (shca_is_valid(e, i, r->shift) && !(e->flags & SHCA_CQE_SKIP)) cq_unmark(e, q, slots);
    }
    for (uint32_t i = 0; i < shca_delayed_entry(cq); i++)
        cq_unmark(shca_delayed_at(cq, i), q, slots);
    shca_unlock(&cq->lock);
}

/* FROM, or a larger count when the completion is for a later receive of the QP. */
static uint32_t cq_received(const struct shm_cqe *e, uint32_t qpn, uint32_t from)
{
    bool later = e->qpn == qpn && e->side == SHCA_SIDE_RECV && (int32_t)(e->index + 1 - from) > 0;
    return later ? e->index + 1 : from;
}

/* The number of receives of the QP that have a completion, polled or not; *POLLED advances under
 * this lock. */
uint32_t shca_cq_received(struct shca_cq *cq, uint32_t qpn, const _Atomic uint32_t *polled)
{
    shca_lock(&cq->lock);
    uint32_t from = *polled;
    struct shm_ring *r = cq->ring;
    for (uint64_t i = r->head; shca_is_claimed(r, i); i++) {
        const struct shm_cqe *e = &r->e[i & r->mask];
        if (shca_is_valid(e, i, r->shift) && !(e->flags & SHCA_CQE_SKIP))
            from = cq_received(e, qpn, from);
    }
    for (uint32_t i = 0; i < shca_delayed_entry(cq); i++)
        from = cq_received(shca_delayed_at(cq, i), qpn, from);
    shca_unlock(&cq->lock);
    return from;
}

/* Marks entries claimed by dead producers as skipped. True when there is a completion to poll. */
bool shca_cq_skip_dead(struct shca_cq *cq)
{
    shca_lock(&cq->lock);
    struct shm_ring *r = cq->ring;
    uint64_t head = r->head;
    for (uint64_t i = head; shca_is_claimed(r, i); i++) {
        struct shm_cqe *e = &r->e[i & r->mask];
        uint64_t claimant = shca_claims(r, r->shift)[i & r->mask] >> SHCA_CLAIM_SLOT;
        if (shca_is_valid(e, i, r->shift) || shca_slot_attached(claimant)) continue;
        e->flags = SHCA_CQE_SKIP;
        e->qpn = 0;
        e->lap = shca_lap(i, r->shift);
    }
    bool waiting = cq_at_head(r, &head) != NULL;
    shca_unlock(&cq->lock);
    return waiting;
}
