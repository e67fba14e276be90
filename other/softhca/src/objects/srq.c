/* srq.c - shared receive queues, the owner's side; a UD QP receives through a private one.
 *
 * Receives lie in slots. The owner posts a slot by assigning it the next position; initiators claim
 * positions in order (srq_claim.c). A slot is free again when its completion is polled, or when it
 * is certain that there will be none. Only the owner posts, under the lock of the queue.
 */
#include <stdlib.h>
#include <string.h>

#include "other/softhca/src/device/device.h"
#include "other/softhca/src/objects/event.h"
#include "other/softhca/src/objects/memlock.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/qp.h"
#include "other/softhca/src/objects/xrc.h"
#include "other/softhca/src/segment/segment.h"

static struct shm_slot *srq_slot_at(struct shca_srq *q, uint32_t index)
{
    return shm_slot(shca.h, q->s, index);
}

/* Queues of programs use the lower half: ibv_get_srq_num() has 12 bits for the index. */
static int srq_find_index(bool hidden)
{
    static uint32_t next; /* an index just freed is not reused at once */
    const uint32_t half = SHCA_SRQS / 2;
    for (uint32_t i = 0; i < half; i++) {
        uint32_t at = (next + i) % half + (hidden ? half : 0);
        if (!shca.srq[at]) {
            next = at + 1;
            return at;
        }
    }
    return -1;
}

/* Allocates the cells, then the slots, in the heap. */
static int srq_make_rings(struct shca_srq *q, struct shm_srq *s)
{
    uint32_t n = shca_power_of_two(q->size);
    size_t cells = (n * sizeof(uint64_t) + 63) & ~63ul;
    s->mask = n - 1;
    s->data = sizeof(struct shm_rwr) + q->max_sge * sizeof(struct ibv_sge);
    s->stride = (offsetof(struct shm_slot, r) + s->data + SHCA_INLINE_RECV + 63) & ~63u;
    s->cells = shca_heap_alloc(cells + (size_t)s->stride * q->size);
    s->slots = s->cells + cells;
    return s->cells ? 0 : shca_no_room(q->size);
}

static int srq_enter(struct shca_srq *q, const struct shm_srq *s, bool hidden)
{
    pthread_mutex_lock(&shca.lock);
    int index = srq_find_index(hidden);
    if (index >= 0) {
        q->index = q->base.handle = index;
        q->s = &shca.h->srq[index];
        memset(q->s, 0, sizeof *q->s);
        memcpy(q->s, s, offsetof(struct shm_srq, limit));
        q->s->prod = q->s->head = q->s->mask + 1; /* not 0: a zero cell holds no position */
        shca.srq[index] = q;
        q->next = shca.srqs;
        shca.srqs = q;
    }
    pthread_mutex_unlock(&shca.lock);
    return index >= 0 ? 0 : ENOMEM;
}

/* Creates a queue of SIZE receives with MAX_SGE SGEs each; NULL and errno on failure. */
struct shca_srq *shca_srq_new(struct ibv_pd *pd, uint32_t size, uint32_t max_sge, bool hidden)
{
    struct shca_srq *q = calloc(1, sizeof *q + size * sizeof *q->unused);
    if (!q) return NULL;
    q->size = size;
    q->max_sge = max_sge;
    q->base.context = pd->context;
    q->base.pd = pd;
    pthread_mutex_init(&q->base.mutex, NULL);
    pthread_cond_init(&q->base.cond, NULL);
    while (q->n_unused < size) {
        q->unused[q->n_unused] = size - 1 - q->n_unused;
        q->n_unused++;
    }
    struct shm_srq s = {.pd = shca_pd(pd)->id};
    int error = srq_make_rings(q, &s);
    if (!error) error = srq_enter(q, &s, hidden);
    if (!error) return q;
    if (s.cells) shca_heap_free(s.cells);
    free(q);
    errno = error;
    return NULL;
}

/* Removes the queue from the list of the worker thread. */
static void srq_leave_list(struct shca_srq *q)
{
    pthread_mutex_lock(&shca.lock);
    struct shca_srq **at = &shca.srqs;
    while (*at && *at != q) at = &(*at)->next;
    if (*at) *at = q->next;
    pthread_mutex_unlock(&shca.lock);
}

/* Frees a queue that no QP uses and no completion names. */
void shca_srq_delete(struct shca_srq *q)
{
    srq_leave_list(q);
    pthread_mutex_lock(&shca.lock);
    shca.srq[q->index] = NULL;
    uint64_t rings = q->s->cells;
    memset(q->s, 0, sizeof *q->s);
    pthread_mutex_unlock(&shca.lock);
    shca_heap_free(rings);
    free(q);
}

static int srq_pin(struct shca_srq *q)
{
    enum { HEAD = 16, PIECE = 16 }; /* of a device's entry */
    return shca_memlock_queue(&q->pinned, shca_memlock_entries(q->size, HEAD + q->max_sge * PIECE));
}

struct ibv_srq *shca_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
    const struct shca_device_model *m = shca_device(pd->context)->model;
    struct shca_srq *q = NULL;
    int error =
        a->attr.max_wr < 1 || a->attr.max_wr > m->max_srq_wr || a->attr.max_sge > m->max_srq_sge
            ? EINVAL
            : shca_take(pd->context, SHCA_SRQ);
    if (error)
        errno = error;
    else if (!(q = shca_srq_new(pd, a->attr.max_wr, a->attr.max_sge ? a->attr.max_sge : 1, false)))
        shca_give(pd->context, SHCA_SRQ);
    if (!q) return NULL;
    if ((error = srq_pin(q))) {
        shca_srq_delete(q);
        shca_give(pd->context, SHCA_SRQ);
        errno = error;
        return NULL;
    }
    q->base.srq_context = a->srq_context;
    a->attr.max_sge = q->max_sge;
    shca_pd(pd)->users++;
    return &q->base;
}

/* Raises the limit event once and disarms the limit; lock held. */
static void srq_raise_limit(struct shca_srq *q)
{
    if (!atomic_exchange(&q->s->limit_hit, 0) || !atomic_exchange(&q->s->limit, 0)) return;
    struct ibv_async_event e = {.element.srq = &q->base, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED};
    shca_raise(q->base.context, &e);
}

int shca_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *a, int mask)
{
    struct shca_srq *q = shca_srq(base);
    if (mask & IBV_SRQ_MAX_WR) return shca_unsupported();
    if (!(mask & IBV_SRQ_LIMIT)) return 0;
    if (a->srq_limit > q->size) return EINVAL;
    shca_lock(&q->lock);
    srq_raise_limit(q); /* the old limit, if it was reached */
    atomic_store(&q->s->limit, a->srq_limit);
    if (q->s->prod - atomic_load(&q->s->head) < a->srq_limit) {
        q->s->limit_hit = 1;
        srq_raise_limit(q);
    }
    shca_unlock(&q->lock);
    return 0;
}

int shca_query_srq(struct ibv_srq *base, struct ibv_srq_attr *a)
{
    struct shca_srq *q = shca_srq(base);
    *a = (struct ibv_srq_attr){
        .max_wr = q->size, .max_sge = q->max_sge, .srq_limit = q->s->limit_hit ? 0 : q->s->limit};
    return 0;
}

int shca_destroy_srq(struct ibv_srq *base)
{
    struct shca_srq *q = shca_srq(base);
    struct ibv_pd *pd = base->pd;
    if (q->users) return EBUSY;
    srq_leave_list(q);
    shca_leave_xrcd(q);
    shca_forget_events(base->context, q);
    pthread_mutex_lock(&base->mutex);
    while (base->events_completed != q->async_given) pthread_cond_wait(&base->cond, &base->mutex);
    pthread_mutex_unlock(&base->mutex);
    shca_memlock_give(NULL, q->pinned);
    shca_srq_delete(q);
    shca_pd(pd)->users--;
    shca_give(pd->context, SHCA_SRQ);
    return 0;
}

/* Assigns slot INDEX the next position. The release store of the cell publishes the receive to
 * srq_claim.c. Lock held. */
static void srq_append(struct shca_srq *q, uint32_t index)
{
    uint64_t prod = atomic_load_explicit(&q->s->prod, memory_order_relaxed);
    _Atomic uint64_t *cells = shm_at(shca.h, q->s->cells);
    atomic_store_explicit(&srq_slot_at(q, index)->claim, shm_claim(prod, 0, SHCA_SLOT_POSTED),
                          memory_order_relaxed);
    atomic_store_explicit(&cells[prod & q->s->mask], prod * SHCA_MAX_WR + index,
                          memory_order_release);
    atomic_store_explicit(&q->s->prod, prod + 1, memory_order_release);
}

static int srq_post_one(struct shca_srq *q, const struct ibv_recv_wr *wr)
{
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > q->max_sge) return EINVAL;
    if (q->n_unused == 0) return ENOMEM;
    uint32_t index = q->unused[--q->n_unused];
    struct shm_rwr *r = &srq_slot_at(q, index)->r;
    r->wr_id = wr->wr_id;
    r->num_sge = wr->num_sge;
    for (int i = 0; i < wr->num_sge; i++) r->sge[i] = wr->sg_list[i];
    srq_append(q, index);
    return 0;
}

int shca_srq_post(struct shca_srq *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    int error = 0;
    shca_lock(&q->lock);
    for (; wr && !error; wr = wr->next) {
        error = srq_post_one(q, wr);
        if (error) break;
    }
    shca_unlock(&q->lock);
    if (error && bad) *bad = wr;
    /* A sender whose flag this load misses finds the receive at its next timed retry. */
    if (atomic_load_explicit(&q->s->waits, memory_order_relaxed)) shca_worker_wake();
    return error;
}

int shca_post_srq_recv(struct ibv_srq *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return shca_srq_post(shca_srq(q), wr, bad);
}

/* The completion of slot INDEX was polled or dropped: the slot is free. */
void shca_srq_done(struct shca_srq *q, uint32_t index)
{
    shca_lock(&q->lock);
    atomic_store_explicit(&srq_slot_at(q, index)->claim, SHCA_SLOT_FREE, memory_order_relaxed);
    q->unused[q->n_unused++] = index;
    shca_unlock(&q->lock);
}

/* Drops all receives. No initiator is inside, and no completion names a slot. */
void shca_srq_clear(struct shca_srq *q)
{
    shca_lock(&q->lock);
    atomic_store(&q->s->head, q->s->prod);
    q->n_unused = 0;
    for (uint32_t i = q->size; i-- > 0;) {
        srq_slot_at(q, i)->claim = SHCA_SLOT_FREE;
        q->unused[q->n_unused++] = i;
    }
    shca_unlock(&q->lock);
}

/* Wakes every process that found no receive. */
static void srq_wake_senders(struct shca_srq *q)
{
    atomic_exchange(&q->s->waits, 0);
    for (uint32_t i = 0; i < SHCA_SLOTS / 64; i++) {
        uint64_t word = q->s->waiting[i] ? atomic_exchange(&q->s->waiting[i], 0) : 0;
        for (; word; word &= word - 1) shca_peer_ring_slot(i * 64 + __builtin_ctzll(word));
    }
}

/* Posts again receives whose claim came to nothing: returned (claimant 0), or, after a death,
 * claimed by a dead process without a completion. shca.lock held. */
static void srq_repost_stale(struct shca_srq *q, bool deaths)
{
    uint64_t *stale = calloc(q->size, sizeof *stale);
    bool any = false;
    for (uint32_t i = 0; stale && i < q->size; i++) {
        uint64_t claim = srq_slot_at(q, i)->claim;
        uint32_t who = shm_claimant(claim);
        if ((claim & 3) != SHCA_SLOT_CLAIMED || !(who == 0 || (deaths && !shca_slot_attached(who))))
            continue;
        stale[i] = claim;
        any = true;
    }
    for (int i = 0; any && i < SHCA_CQS; i++)
        if (shca.cq[i]) shca_cq_unmark(shca.cq[i], q, stale);
    shca_lock(&q->lock);
    for (uint32_t i = 0; any && i < q->size; i++) {
        if (!stale[i] || srq_slot_at(q, i)->claim != stale[i]) continue; /* polled meanwhile */
        /* The claimant may have died before it advanced the head. */
        uint64_t head = stale[i] >> 14;
        atomic_compare_exchange_strong(&q->s->head, &head, head + 1);
        srq_append(q, i);
    }
    shca_unlock(&q->lock);
    free(stale);
}

/* Called by the worker thread: does for the owner what initiators requested. shca.lock held. */
void shca_srq_attend(struct shca_srq *q, bool deaths)
{
    if (deaths || atomic_exchange(&q->s->returned, 0)) srq_repost_stale(q, deaths);
    if (q->s->limit_hit) {
        shca_lock(&q->lock);
        srq_raise_limit(q);
        shca_unlock(&q->lock);
    }
    if (q->s->waits && q->s->prod != q->s->head) srq_wake_senders(q);
}
