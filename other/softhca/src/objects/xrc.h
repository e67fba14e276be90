/* xrc.h - domains of extended reliable connections, and what belongs to one. */
#ifndef SOFTHCA_XRC_H
#define SOFTHCA_XRC_H

#include "other/softhca/src/segment/shm.h"

struct shca_qp;
struct shca_srq;

struct ibv_xrcd *shca_open_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *a);
int shca_close_xrcd(struct ibv_xrcd *xrcd);
/* Adds N users; returns the identifier that peers compare. */
uint64_t shca_xrcd_use(struct ibv_xrcd *xrcd, int n);
struct ibv_srq *shca_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *a);
void shca_leave_xrcd(struct shca_srq *q);
int shca_get_srq_num(struct ibv_srq *srq, uint32_t *number);
struct ibv_qp *shca_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *a);
bool shca_close_qp(struct shca_qp *qp);
void shca_xrc_in_child(void);

#endif
