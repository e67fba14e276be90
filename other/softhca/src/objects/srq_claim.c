/* srq_claim.c - shared receive queues, the initiator's side: claiming the oldest receive.
 *
 * Any number of processes claim at once without a lock. A claim is one compare-and-swap on the
 * slot, which records the claimant; then any initiator may advance the head. No function here waits
 * for the owner or for another claimant.
 */
#include "other/softhca/src/objects/srq.h"
#include "other/softhca/src/segment/process.h"

static void srq_claim_request_wake(struct shm_srq *q)
{
    atomic_fetch_or(&q->waiting[shca.slot / 64], 1ull << shca.slot % 64);
    atomic_exchange(&q->waits, 1);
}

/* Wakes the owner once when fewer than LIMIT receives are left. */
static void srq_claim_check_limit(struct shca_peer *owner, struct shm_srq *q, uint64_t head)
{
    uint32_t limit = atomic_load_explicit(&q->limit, memory_order_relaxed);
    if (limit == 0) return;
    int64_t left = atomic_load_explicit(&q->prod, memory_order_relaxed) - head;
    if (left < limit && !atomic_exchange(&q->limit_hit, 1)) shca_peer_ring(owner);
}

/* Claims the slot at the head; NULL when the SRQ has no receive. WAIT: the owner wakes this process
 * when it posts a receive. */
struct shm_slot *shca_srq_claim(struct shca_peer *owner, struct shm_srq *q, bool wait,
                                uint32_t *index)
{
    _Atomic uint64_t *cells = shca_peer_at(owner, q->cells, (q->mask + 1ull) * sizeof *cells);
    if (!cells) return NULL;
    for (bool wake_requested = false;;) {
        uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire);
        uint64_t cell = atomic_load_explicit(&cells[head & q->mask], memory_order_acquire);
        if (shm_cell_position(cell) != head) {
            if (atomic_load_explicit(&q->head, memory_order_acquire) != head) continue;
            if (!wait || wake_requested) return NULL;
            srq_claim_request_wake(q);
            wake_requested = true; /* check once more: the owner may have posted meanwhile */
            continue;
        }
        *index = cell % SHCA_MAX_WR;
        struct shm_slot *slot =
            shca_peer_at(owner, q->slots + (uint64_t)*index * q->stride, q->stride);
        if (!slot) return NULL;
        uint64_t seen = shm_claim(head, 0, SHCA_SLOT_POSTED);
        bool mine = atomic_compare_exchange_strong(&slot->claim, &seen,
                                                   shm_claim(head, shca.slot, SHCA_SLOT_CLAIMED));
        /* When another claimant has advanced the head, this does nothing. */
        uint64_t at = head;
        atomic_compare_exchange_strong(&q->head, &at, head + 1);
        if (!mine) continue;
        srq_claim_check_limit(owner, q, head + 1);
        return slot;
    }
}

/* Returns a claimed receive; the owner posts it again. */
void shca_srq_return(struct shca_peer *owner, struct shm_srq *q, uint32_t index)
{
    struct shm_slot *slot = shm_slot(owner->h, q, index);
    uint64_t claim = atomic_load_explicit(&slot->claim, memory_order_relaxed);
    atomic_store(&slot->claim, shm_claim(claim >> 14, 0, SHCA_SLOT_CLAIMED));
    q->returned = 1;
    shca_peer_ring(owner);
}
