/* claim.c - shared receive queues, as an initiator sees them: claiming the oldest receive.
 *
 * Any number of processes do this at once, without a lock between them. A claim is one
 * compare-and-swap on the slot and says who claims; whoever comes by moves the head on. It never
 * waits: not for the owner, and not for another claimant.
 */
#include "object.h"

/* Ask to be rung when there is a receive, and look once more. */
static bool wait_for_post(struct shm_srq *q)
{
    atomic_fetch_or(&q->waiting[shca.slot / 64], 1ull << shca.slot % 64);
    atomic_exchange(&q->waits, 1);
    return atomic_load(&q->head) != atomic_load(&q->prod);
}

/* The owner is told once that fewer than the limit are left. */
static void check_limit(struct shca_peer *owner, struct shm_srq *q, uint64_t left)
{
    uint32_t limit = atomic_load_explicit(&q->limit, memory_order_relaxed);
    if (left < limit && !atomic_exchange(&q->limit_hit, 1)) shca_peer_ring(owner);
}

/* The slot at the head is ours from now on; NULL when there is none. */
struct shm_slot *shca_srq_claim(struct shca_peer *owner, struct shm_srq *q, bool wait,
                                uint32_t *index)
{
    const uint32_t *cells = shm_at(owner->h, q->cells);
    for (;;) {
        uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire);
        if (head == atomic_load_explicit(&q->prod, memory_order_acquire)) {
            if (!wait || !wait_for_post(q)) return NULL;
            continue;
        }
        *index = __atomic_load_n(&cells[head & q->mask], __ATOMIC_RELAXED);
        struct shm_slot *slot = shm_slot(owner->h, q, *index);
        uint64_t seen = shm_claim(head, 0, SHCA_SLOT_POSTED);
        bool mine = atomic_compare_exchange_strong(&slot->claim, &seen,
                                                   shm_claim(head, shca.slot, SHCA_SLOT_CLAIMED));
        /* If the slot has another position by now, the head has moved and this does nothing. */
        uint64_t at = head;
        atomic_compare_exchange_strong(&q->head, &at, head + 1);
        if (!mine) continue;
        check_limit(owner, q, atomic_load_explicit(&q->prod, memory_order_relaxed) - head - 1);
        return slot;
    }
}

/* A claim that comes to nothing: the owner is to post the receive again. */
void shca_srq_return(struct shca_peer *owner, struct shm_srq *q, uint32_t index)
{
    struct shm_slot *slot = shm_slot(owner->h, q, index);
    uint64_t claim = atomic_load_explicit(&slot->claim, memory_order_relaxed);
    atomic_store(&slot->claim, shm_claim(claim >> 14, 0, SHCA_SLOT_CLAIMED));
    q->returned = 1;
    shca_peer_ring(owner);
}
