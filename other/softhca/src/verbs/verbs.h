/* verbs.h - the verbs that use all folders below: opening a device, and queue pairs. */
#ifndef SOFTHCA_VERBS_H
#define SOFTHCA_VERBS_H

#include "other/softhca/src/objects/qp.h"

/* start.c
 * Once: makes the segment, claims a slot, starts the threads; 0 or an errno value. */
int shca_start(void);
void shca_start_lock(void); /* around fork() */
void shca_start_unlock(void);

/* open.c */
struct ibv_context *shca_open(struct ibv_device *d);
int shca_close(struct ibv_context *c);

/* qp.c, qp_ex.c */
struct ibv_qp *shca_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *shca_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
int shca_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                  struct ibv_qp_init_attr *init);
int shca_destroy_qp(struct ibv_qp *qp);
void shca_qp_reset(struct shca_qp *qp);
int shca_qp_ex_ops(struct shca_qp *qp);
void shca_qp_ex_in_child(struct shca_qp *qp);

/* state.c, transition.c */
int shca_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
bool shca_transition_allowed(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
                             int mask);

#endif
