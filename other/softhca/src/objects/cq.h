/* cq.h - completion queues. */
#ifndef SOFTHCA_CQ_H
#define SOFTHCA_CQ_H

#include "other/softhca/src/segment/lock.h"
#include "other/softhca/src/segment/peer.h"
#include "other/softhca/src/segment/shm.h"

struct shca_delayed; /* delayed_completions.c */
struct shca_qp;
struct shca_srq;

enum { SHCA_NOT_POLLED = -1 }; /* the next empty poll makes it 0 */

struct shca_cq {
    union {
        struct ibv_cq base;
        struct ibv_cq_ex ex;
    };
    struct shm_cq *s;
    struct shm_ring *_Atomic ring;
    uint32_t index;
    struct shca_lock lock;  /* consumers */
    _Atomic uint32_t empty; /* empty polls in a row, or SHCA_NOT_POLLED since the program
                               took an event; not exact with several threads */
    _Atomic uint32_t spins_before_yield; /* empty polls before the thread yields */
    _Atomic int users;
    /* Completions of short WRITEs (done.h). */
    _Atomic int32_t spare;  /* entries beyond the most completions of all its queues; below 0
                               they may overflow it, or it is resized */
    _Atomic uint32_t fresh; /* some QP may have one */
    struct shca_qp *_Atomic arrived;  /* QPs that were listed since the last poll */
    struct shca_qp *busy, *busy_last; /* QPs that a poll has moved here; under lock */
    uint32_t n_busy;                  /* number of QPs in busy; under lock */
    bool ring_first;                  /* in the last poll; under lock */
    size_t pinned;                    /* charged for the ring */
    uint32_t ev_consumed, ev_given;   /* under channel_lock */
    uint32_t async_given;
    _Atomic bool overflow_raised;
    struct shca_cq *channel_next;
    struct shca_delayed *delayed; /* NULL without injected faults */
    struct ibv_wc ex_wc;          /* the current completion of ibv_start_poll/next_poll */
};

static inline struct shca_cq *shca_cq(struct ibv_cq *c)
{
    return (struct shca_cq *)c;
}

/* An event is asked for. */
static inline bool shca_cq_armed(const struct shca_cq *cq)
{
    return atomic_load_explicit(&cq->s->armed, memory_order_relaxed) != SHCA_ARM_NONE;
}

/* cq.c, cq_ex.c */
struct ibv_cq *shca_create_cq(struct ibv_context *c, int cqe, void *context,
                              struct ibv_comp_channel *channel, int vector);
int shca_destroy_cq(struct ibv_cq *cq);
int shca_resize_cq(struct ibv_cq *cq, int cqe); /* cq_resize.c */
int shca_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
int shca_req_notify(struct ibv_cq *cq, int solicited_only);
bool shca_cq_push(struct shca_peer *owner, uint32_t cq, const struct shm_cqe *e);
bool shca_cqe_of(const struct shm_cqe *e, uint32_t qpn, const struct shca_srq *q);
void shca_cq_forget(struct shca_cq *cq, uint32_t qpn, const struct shca_srq *q);
void shca_cq_unmark(struct shca_cq *cq, const struct shca_srq *q, uint64_t *slots);
bool shca_cq_take(struct shca_cq *cq, struct shm_cqe *e); /* lock held */
void shca_cq_to_wc(const struct shm_cqe *e, struct ibv_wc *wc);
void shca_cq_drop(const struct shm_cqe *e); /* the completion is dropped */
int shca_cq_poll_empty(struct shca_cq *cq);
uint32_t shca_cq_received(struct shca_cq *cq, uint32_t qpn, const _Atomic uint32_t *polled);
bool shca_cq_skip_dead(struct shca_cq *cq);
struct ibv_cq_ex *shca_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr);
void shca_cq_ex_in_child(struct shca_cq *cq);
void shca_cq_notify(struct shca_peer *owner, struct shm_cq *cq, bool solicited);

/* An entry of a ring is claimed, valid, or neither. Claimed or valid in a lap it stays so until the
 * head has passed it and the next lap begins. */
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
