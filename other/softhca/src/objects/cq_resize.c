/* cq_resize.c - replaces the ring of a completion queue while producers append to it.
 *
 * The old ring is sealed: every free entry is claimed with a lap that no producer uses, so
 * producers that still have the old ring find it full. Its entries are moved to the front of the
 * new ring. The old ring is freed once every initiator that was inside a queue of this process has
 * left, because only such an initiator can still have its address. Completions of short WRITEs
 * (done.h) become the first entries of the new ring, because they count as well.
 */
#include <string.h>

#include "other/softhca/src/device/device.h"
#include "other/softhca/src/objects/done.h"
#include "other/softhca/src/objects/memlock.h"
#include "other/softhca/src/segment/segment.h"

enum { STOPPED = 1 << 30 }; /* more than a CQ has to spare */

/* The lap of a sealed entry: no producer waits for it and no consumer takes it. */
static const uint64_t SEALED = SHCA_LAPS;

static uint32_t cq_resize_unpolled(struct shca_cq *cq)
{
    shca_lock(&cq->lock); /* the head does not move */
    struct shm_ring *r = cq->ring;
    uint32_t n = 0;
    while (n <= r->mask && shca_is_claimed(r, r->head + n)) n++;
    n += shca_done_count(cq);
    shca_unlock(&cq->lock);
    return n;
}

/* The number of entries from the head that producers have claimed; they can claim no more. */
static uint32_t cq_resize_seal(struct shm_ring *r)
{
    uint32_t kept = 0;
    for (uint64_t i = r->head; i - r->head <= r->mask; i++) {
        _Atomic uint64_t *at = &shca_claims(r, r->shift)[i & r->mask];
        uint64_t word = *at;
        bool is_free = (word & SHCA_LAPS) == i >> r->shift;
        if (!is_free || !atomic_compare_exchange_strong(at, &word, SEALED)) kept++;
    }
    return kept;
}

/* Makes N completions of short WRITEs the first entries of NEW. */
static void cq_resize_move_done(struct shca_cq *cq, struct shm_ring *new, uint32_t n)
{
    const uint64_t claim = (uint64_t)shca.slot << SHCA_CLAIM_SLOT | 1;
    for (uint32_t to = 0; to < n && shca_done_move(cq, &new->e[to]); to++) {
        shca_claims(new, new->shift)[to] = claim;
        atomic_store_explicit(&new->e[to].lap, shca_lap(to, new->shift), memory_order_release);
    }
}

/* Claims the entries of NEW from FIRST to END for those of OLD, in the name of the same producers.
 */
static void cq_resize_reserve(struct shm_ring *old, struct shm_ring *new, uint32_t first,
                              uint32_t end)
{
    uint32_t to = first;
    for (uint64_t i = old->head; to < end; i++) {
        uint64_t word = shca_claims(old, old->shift)[i & old->mask];
        if ((word & SHCA_LAPS) != SEALED)
            shca_claims(new, new->shift)[to++] = (word & ~SHCA_LAPS) | 1;
    }
    new->tail = end;
}

/* Moves valid entries; the others are still being written, or their producer died. */
static void cq_resize_move_entries(struct shm_ring *old, struct shm_ring *new, uint32_t first,
                                   uint32_t end)
{
    uint32_t to = first;
    for (uint64_t i = old->head; to < end; i++) {
        if ((shca_claims(old, old->shift)[i & old->mask] & SHCA_LAPS) == SEALED) continue;
        struct shm_cqe *from = &old->e[i & old->mask], *e = &new->e[to];
        bool here = to < new->head || shca_is_valid(e, to, new->shift);
        if (!here && shca_is_valid(from, i, old->shift)) {
            e->wr_id = from->wr_id;
            memcpy(&e->qpn, &from->qpn, sizeof *e - offsetof(struct shm_cqe, qpn));
            atomic_store_explicit(&e->lap, shca_lap(to, new->shift), memory_order_release);
        }
        to++;
    }
}

/* Waits for every initiator in another process, and every posting or flushing thread of this one,
 * that is inside a queue now. shca.lock held. */
static void cq_resize_quiesce(void)
{
    shca_quiesce();
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next) {
        shca_lock(&qp->sq);
        shca_unlock(&qp->sq);
        shca_lock(&qp->rq);
        shca_unlock(&qp->rq);
    }
}

/* Installs ring WORD, or SPARE when more completions arrived than WORD can hold. */
static bool cq_resize_replace(struct shca_cq *cq, uint64_t word, uint64_t spare)
{
    struct shm_ring *old = cq->ring;
    shca_lock(&cq->lock);
    cq->s->resizing = 1;
    uint32_t kept = cq_resize_seal(old), done = shca_done_count(cq);
    bool fits = done + kept <= 1u << shm_ring_shift(word);
    uint64_t in = fits ? word : spare;
    if (!fits) done = 0; /* they stay */
    const uint32_t end = done + kept;
    struct shm_ring *new = shm_at(shca.h, shm_ring_offset(in));
    new->before = old->before + old->head;
    cq_resize_move_done(cq, new, done);
    cq_resize_reserve(old, new, done, end);
    cq_resize_move_entries(old, new, done, end);
    cq->ring = new;
    cq->s->ring = in;
    cq->base.cqe = 1 << new->shift;
    cq->s->resizing = 0;
    shca_unlock(&cq->lock);
    cq_resize_quiesce();
    shca_lock(&cq->lock);
    cq_resize_move_entries(old, new, done, end);
    shca_unlock(&cq->lock);
    /* A thread that slept, or whose poll was empty meanwhile, must poll again. */
    if (end) shca_cq_notify(&shca.me, cq->s, true);
    return fits;
}

/* shca.lock held. */
static int cq_resize_to(struct shca_cq *cq, uint32_t shift)
{
    struct shm_ring *old = cq->ring;
    if (cq_resize_unpolled(cq) > 1u << shift) return EINVAL;
    uint64_t was = cq->s->ring, word = shca_ring_new(shift);
    uint64_t spare = shift < old->shift ? shca_ring_new(old->shift) : word;
    bool fits = word && spare && cq_resize_replace(cq, word, spare);
    int error = fits ? 0 : word && spare ? EINVAL : ENOMEM;
    uint64_t now = cq->s->ring, rings[] = {was, word, spare == word ? 0 : spare};
    for (int i = 0; i < 3; i++)
        if (rings[i] && rings[i] != now) shca_heap_free(shm_ring_offset(rings[i]));
    return error;
}

/* Grows or shrinks to the next power of two. */
int shca_resize_cq(struct ibv_cq *base, int cqe)
{
    struct shca_cq *cq = shca_cq(base);
    if (cqe < 1 || cqe > (int)shca_device(base->context)->model->max_cqe) return EINVAL;
    uint32_t shift = 0;
    while (1 << shift < cqe) shift++;
    /* The new ring is charged before the old charge ends, as both rings exist while entries move.
     */
    size_t pinned;
    if (shca_memlock_queue(&pinned, shca_memlock_entries(1u << shift, SHCA_MEMLOCK_CQE)))
        return ENOMEM;
    pthread_mutex_lock(&shca.lock);
    int error = cq->s->overflow ? EINVAL : 0;
    if (!error && shift != cq->ring->shift) {
        shca_done_reserve(cq, STOPPED); /* from now on all completions go into the ring */
        const int before = base->cqe;
        error = cq_resize_to(cq, shift);
        atomic_fetch_add(&cq->spare, STOPPED + base->cqe - before);
    }
    shca_memlock_give(NULL, error ? pinned : cq->pinned);
    if (!error) cq->pinned = pinned;
    pthread_mutex_unlock(&shca.lock);
    return error;
}
