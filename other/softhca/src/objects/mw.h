/* mw.h - memory windows. */
#ifndef SOFTHCA_MW_H
#define SOFTHCA_MW_H

#include "other/softhca/src/segment/shm.h"

struct shca_target;
struct shca_mr;
struct shca_qp;

struct shca_mw {
    struct ibv_mw base;
    struct shm_mr *s;
    struct shca_mr *over; /* the region it is or was bound over */
    struct shca_mw *next; /* of these */
};

struct ibv_mw *shca_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int shca_dealloc_mw(struct ibv_mw *mw);
int shca_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int shca_mw_run(struct shca_qp *qp, const struct ibv_send_wr *wr); /* send lock held */
bool shca_mw_invalidate(struct shm_header *h, uint32_t rkey, uint32_t pd, uint32_t qpn);
bool shca_mr_has_windows(struct shca_mr *mr);
struct shm_mr *shca_mw_find(const struct shca_target *target, uint32_t key, uint64_t addr,
                            uint64_t len, unsigned need);
void shca_mw_in_child(void);

#endif
