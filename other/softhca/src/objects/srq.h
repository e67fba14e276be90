/* srq.h - shared receive queues. */
#ifndef SOFTHCA_SRQ_H
#define SOFTHCA_SRQ_H

#include "other/softhca/src/segment/lock.h"
#include "other/softhca/src/segment/peer.h"
#include "other/softhca/src/segment/shm.h"

struct shca_srq {
    struct ibv_srq base;
    enum ibv_srq_type type; /* TYPE to SRQ_NUM complete libibverbs' verbs_srq */
    struct ibv_xrcd *xrcd;
    struct ibv_cq *cq;
    uint32_t srq_num;
    struct shm_srq *s;
    uint32_t index, size, max_sge;
    struct shca_lock lock;
    _Atomic int users; /* QPs */
    size_t pinned;     /* charged for the receives */
    uint32_t async_given;
    struct shca_srq *next; /* list of all */
    uint32_t n_unused, unused[];
};

static inline struct shca_srq *shca_srq(struct ibv_srq *q)
{
    return (struct shca_srq *)q;
}

/* srq.c, srq_claim.c */
struct ibv_srq *shca_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a);
int shca_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *a, int mask);
int shca_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a);
int shca_destroy_srq(struct ibv_srq *srq);
int shca_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct shca_srq *shca_srq_new(struct ibv_pd *pd, uint32_t size, uint32_t max_sge, bool hidden);
void shca_srq_delete(struct shca_srq *q);
int shca_srq_post(struct shca_srq *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
void shca_srq_done(struct shca_srq *q, uint32_t slot);
void shca_srq_clear(struct shca_srq *q);
void shca_srq_attend(struct shca_srq *q, bool deaths);
struct shm_slot *shca_srq_claim(struct shca_peer *owner, struct shm_srq *q, bool wait,
                                uint32_t *index);
void shca_srq_return(struct shca_peer *owner, struct shm_srq *q, uint32_t slot);

#endif
