/* verbs.h - the verbs, as interpose/ calls them, and the functions of the objects that the data
 * path calls.
 */
#ifndef SOFTHCA_VERBS_H
#define SOFTHCA_VERBS_H

#include "other/softhca/src/objects/qp.h"

/* mr.c */
struct ibv_pd *shca_alloc_pd(struct ibv_context *c);
int shca_dealloc_pd(struct ibv_pd *pd);
struct ibv_mr *shca_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, unsigned acc);
int shca_dereg_mr(struct ibv_mr *mr);
int shca_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t len,
                  unsigned access);
int shca_mr_take(struct ibv_context *c, uint32_t *index);
void shca_mr_give(struct ibv_context *c, uint32_t index);
void shca_mr_in_child(void);
bool shca_is_writable(const void *addr, size_t len); /* writable.c */
void shca_writable_in_child(void);
void shca_strict_memory(const void *addr, size_t len); /* strict_memory.c */
void shca_strict_in_child(void);

/* memlock.c */
bool shca_memlock_take(const void *addr, size_t len); /* false: the limit does not allow it */
void shca_memlock_give(const void *addr, size_t len);
/* shca_memlock_entries() returns the bytes of the buffer of a queue. shca_memlock_queue() charges
 * them: 0 or ENOMEM. The caller ends the charge by shca_memlock_give(NULL, *PINNED). */
enum { SHCA_MEMLOCK_CQE = 64 };
size_t shca_memlock_entries(uint32_t entries, size_t each);
int shca_memlock_queue(size_t *pinned, size_t bytes);
void shca_memlock_in_child(void);

/* mw.c */
struct ibv_mw *shca_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int shca_dealloc_mw(struct ibv_mw *mw);
int shca_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int shca_mw_run(struct shca_qp *qp, const struct ibv_send_wr *wr); /* send lock held */
bool shca_mw_invalidate(struct shm_header *h, uint32_t rkey, uint32_t pd, uint32_t qpn);
bool shca_mr_has_windows(struct shca_mr *mr);
struct shm_mr *shca_mw_find(const struct shca_link *l, uint32_t key, uint64_t addr, uint64_t len,
                            unsigned need);
void shca_mw_in_child(void);

/* cq.c */
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

/* event.c */
struct ibv_comp_channel *shca_create_channel(struct ibv_context *c);
int shca_destroy_channel(struct ibv_comp_channel *channel);
int shca_channel_fd(uint32_t id);
void shca_channel_add(struct shca_cq *cq);
void shca_channel_remove(struct shca_cq *cq);
int shca_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context);
void shca_ack_cq_events(struct ibv_cq *cq, unsigned n);
void shca_raise(struct ibv_context *c, const struct ibv_async_event *e);
int shca_get_async_event(struct ibv_context *c, struct ibv_async_event *e);
void shca_ack_async_event(struct ibv_async_event *e);
void shca_forget_events(struct ibv_context *c, const void *object);

/* ah.c */
struct ibv_ah *shca_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a);
int shca_destroy_ah(struct ibv_ah *ah);
int shca_init_ah_from_wc(struct ibv_context *c, uint8_t number, struct ibv_wc *wc,
                         struct ibv_grh *grh, struct ibv_ah_attr *a);
struct ibv_ah *shca_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                      uint8_t number);
bool shca_datagram_link(struct shca_link *l, struct shca_qp *qp, const struct shca_ah *ah,
                        uint32_t to, uint32_t qkey);
struct shca_peer *shca_peer_for(struct shca_link *l, int host, uint32_t number);
void shca_peers_put(struct shca_link *l);

/* domain.c */
struct ibv_td *shca_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *a);
int shca_dealloc_td(struct ibv_td *td);
struct ibv_pd *shca_alloc_parent_domain(struct ibv_context *c,
                                        struct ibv_parent_domain_init_attr *a);
void shca_end_parent_domain(struct shca_pd *pd);
int shca_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *a);
int shca_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                   struct ibv_sge *sge, uint32_t n);

/* xrc.c */
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

/* qp.c, state.c, transition.c */
struct ibv_qp *shca_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *shca_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
int shca_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int shca_qp_first_send(struct shca_qp *qp); /* send lock held; 0 or an errno */
int shca_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                  struct ibv_qp_init_attr *init);
int shca_destroy_qp(struct ibv_qp *qp);
void shca_qp_quiesce(struct shca_qp *qp);
void shca_quiesce(void); /* shca.lock held */
void shca_qp_reset(struct shca_qp *qp);
void shca_qp_to_error(struct shca_qp *qp);      /* send lock held, as for shca_qp_raise_drained */
void shca_qp_raise_drained(struct shca_qp *qp); /* IBV_EVENT_SQ_DRAINED */
void shca_qp_to_send_error(struct shca_qp *qp);
bool shca_transition_allowed(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
                             int mask);
int shca_qp_ex_ops(struct shca_qp *qp);
void shca_qp_ex_in_child(struct shca_qp *qp);

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
