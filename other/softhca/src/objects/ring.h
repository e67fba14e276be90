/* ring.h - the state of an entry in a completion queue's ring: claimed, valid, or neither.
 *
 * For cq.c and cq_resize.c. An entry claimed or valid in a lap stays so until the head has passed
 * it and the next lap begins.
 */
#ifndef SOFTHCA_RING_H
#define SOFTHCA_RING_H

#include "other/softhca/src/objects/qp.h"

#define SHCA_LAPS ((1ull << SHCA_CLAIM_SLOT) - 1)

/* Laps of the ring count from 1, so that zero pages hold no entry. */
static inline uint64_t shca_lap(uint64_t position, uint32_t shift)
{
    return (position >> shift) + 1;
}

static inline _Atomic uint64_t *shca_claims(struct shm_ring *r, uint32_t shift)
{
    return (_Atomic uint64_t *)(r->e + (1ull << shift));
}

static inline bool shca_is_claimed(struct shm_ring *r, uint64_t position)
{
    uint64_t word = shca_claims(r, r->shift)[position & r->mask];
    return (word & SHCA_LAPS) == shca_lap(position, r->shift);
}

static inline bool shca_is_valid(const struct shm_cqe *e, uint64_t position, uint32_t shift)
{
    return atomic_load_explicit(&e->lap, memory_order_acquire) == shca_lap(position, shift);
}

uint64_t shca_ring_new(uint32_t shift); /* the value of shm_cq.ring, or 0 when the heap is full */

#endif
