/* cq_resize.c - a completion queue gets a ring of another size while producers append to it.
 *
 * The old ring is sealed: every free place is claimed for nobody, so that it is full for all who
 * still hold on to it. What it then holds comes first in the new one. It is given back when whoever
 * was inside one of our queues has come out, for nobody can then have the old ring in his hands.
 */
#include "other/softhca/objects/ring.h"
#include "other/softhca/objects/verbs.h"
#include "other/softhca/segment/segment.h"

#include <string.h>

/* The lap of a sealed place: none that a producer waits for, none that a consumer takes. */
static const uint64_t SEALED = SHCA_LAPS;

static uint32_t cq_resize_unpolled(struct shca_cq *cq)
{
    shca_lock(&cq->lock); /* the head stands still */
    struct shm_ring *r = cq->ring;
    uint32_t n = 0;
    while (n <= r->mask && shca_is_claimed(r, r->head + n)) n++;
    shca_unlock(&cq->lock);
    return n;
}

/* How many places from the head on producers have claimed; from now on they claim no more. */
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

/* The places of NEW that entries of OLD will take are claimed by who claimed them there. */
static void cq_resize_reserve(struct shm_ring *old, struct shm_ring *new, uint32_t kept)
{
    uint32_t to = 0;
    for (uint64_t i = old->head; to < kept; i++) {
        uint64_t word = shca_claims(old, old->shift)[i & old->mask];
        if ((word & SHCA_LAPS) != SEALED)
            shca_claims(new, new->shift)[to++] = (word & ~SHCA_LAPS) | 1;
    }
    new->tail = kept;
}

/* Move what is valid; the rest is still being written, or its producer died. */
static void cq_resize_move_entries(struct shm_ring *old, struct shm_ring *new, uint32_t kept)
{
    uint32_t to = 0;
    for (uint64_t i = old->head; to < kept; i++) {
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

/* Wait until nobody is inside our queues who came in before now: neither initiators in other
 * processes, nor threads of ours that post or flush. shca.lock held. */
static void cq_resize_let_all_out(void)
{
    shca_quiesce();
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next) {
        shca_lock(&qp->sq);
        shca_unlock(&qp->sq);
        shca_lock(&qp->rq);
        shca_unlock(&qp->rq);
    }
}

/* Put the ring WORD in the place of what there is, or SPARE when more came than WORD can hold. */
static bool cq_resize_replace(struct shca_cq *cq, uint64_t word, uint64_t spare)
{
    struct shm_ring *old = cq->ring;
    shca_lock(&cq->lock);
    cq->s->resizing = 1;
    uint32_t kept = cq_resize_seal(old);
    bool fits = kept <= 1u << shm_ring_shift(word);
    uint64_t in = fits ? word : spare;
    struct shm_ring *new = shm_at(shca.h, shm_ring_offset(in));
    new->before = old->before + old->head;
    cq_resize_reserve(old, new, kept);
    cq_resize_move_entries(old, new, kept);
    cq->ring = new;
    cq->s->ring = in;
    cq->base.cqe = 1 << new->shift;
    cq->s->resizing = 0;
    shca_unlock(&cq->lock);
    cq_resize_let_all_out();
    shca_lock(&cq->lock);
    cq_resize_move_entries(old, new, kept);
    shca_unlock(&cq->lock);
    /* Whoever slept, or polled in between and found nothing, is to look again. */
    if (kept) shca_cq_notify(&shca.me, cq->s, true);
    return fits;
}

/* shca.lock held. */
static int cq_resize_to(struct shca_cq *cq, uint32_t shift)
{
    struct shm_ring *old = cq->ring;
    if (shift == old->shift) return 0;
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
    pthread_mutex_lock(&shca.lock);
    int error = cq->s->overflow ? EINVAL : cq_resize_to(cq, shift);
    pthread_mutex_unlock(&shca.lock);
    return error;
}
