/* datapath.h - work requests from post to completion, and the threads that execute them. */
#ifndef SOFTHCA_DATAPATH_H
#define SOFTHCA_DATAPATH_H

#include "other/softhca/src/objects/qp.h"

/* worker.c: the worker thread */
int shca_worker_start(void);
void shca_worker_wait_for(struct shca_qp *qp); /* send lock held */
void shca_worker_drop(struct shca_qp *qp);
void shca_worker_progress_now(void); /* waits for the lock, unlike shca_worker_progress() */
void shca_worker_in_child(void);

/* short_write.c, send.c, recv.c */
int shca_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
uint32_t shca_small_range(const struct shca_qp *qp);
int shca_send_rest(struct shca_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
void shca_send_completion(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t index,
                          int status); /* send lock held */
uint64_t shca_retry_ns(struct shca_qp *qp, int reason);
void shca_send_flush(struct shca_qp *qp);
struct ibv_send_wr *shca_send_wr(struct shca_qp *qp, uint32_t index);
void shca_send_end(struct shca_qp *qp, int status); /* of the oldest WR; send lock held */
void shca_send_resume(struct shca_qp *qp);          /* send lock held */
int shca_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
void shca_recv_flush(struct shca_qp *qp);

/* qp_state.c: changes of state that come from work requests, and what initiators see after any
 * change. Send lock held, except for shca_port_retune(). */
void shca_qp_tune(struct shca_qp *qp);
void shca_qp_publish(struct shca_qp *qp, enum ibv_qp_state to);
int shca_qp_first_send(struct shca_qp *qp); /* 0 or an errno value */
void shca_qp_to_error(struct shca_qp *qp);
void shca_qp_to_send_error(struct shca_qp *qp);
void shca_qp_raise_drained(struct shca_qp *qp); /* IBV_EVENT_SQ_DRAINED */
void shca_port_retune(void);                    /* tunes all QPs */

/* deliver.c: the initiator's half of a WR, checked against its own tables */
struct shca_gather {
    struct iovec iov[1 + SHCA_MAX_SGE]; /* a datagram begins with its GRH */
    int n;
    uint64_t total;
};
int shca_gather(struct shca_qp *qp, const struct ibv_send_wr *wr, struct shca_gather *g);
int shca_deliver(struct shca_qp *qp, const struct ibv_send_wr *wr);

/* A range of a target's memory. */
struct shca_piece {
    void *direct; /* address in this process, NULL when not mapped */
    uint64_t va;  /* address in the owner */
    size_t len;
};

/* The receive that a message consumes. */
struct shca_receive {
    struct shm_rwr *r;
    uint32_t data; /* from r to its SHCA_INLINE_RECV bytes */
    uint32_t index, pd;
    uint32_t srq; /* 1 + index, 0: the QP's own receive queue */
};

/* respond.c: the responder's half, checked against the target's tables. Executed by the initiator's
 * thread, or by the wire thread for a message from another host. */
enum {
    SHCA_NOT_READY = -1,
    SHCA_NO_TARGET = -2,
    SHCA_STALLED = -3, /* by an injected fault, as SHCA_DROPPED */
    SHCA_DROPPED = -4,
    SHCA_REMOTE = -5,      /* the target is on another host: tcp_send.c sends the WR */
    SHCA_NOT_ATTACHED = -6 /* the peer's segment has not been received yet */
};
void shca_target_set(struct shca_target *target, struct shca_destination destination,
                     enum ibv_qp_type from_type, uint32_t from, uint32_t to);
bool shca_target_attach(struct shca_target *target);
int shca_respond(struct shca_target *target, const struct ibv_send_wr *wr, struct shca_gather *g);
/* A message that arrives in parts: the bytes of the present part. MOVE copies as many bytes at AT
 * as it can, to or from the pieces that it is given, and advances AT by their number; 0 or an errno
 * value. */
struct shca_part {
    uint64_t at, total;
    struct shca_receive *receive; /* kept between the parts; r = NULL: none is claimed */
    int (*move)(struct shca_part *p, const struct shca_piece *piece, int n);
};
int shca_respond_part(struct shca_target *target, const struct ibv_send_wr *wr, struct shca_part *p,
                      size_t n);
void shca_respond_drop(struct shca_target *target, struct shca_receive *x);

/* move.c */
int shca_move(struct shca_peer *p, bool write, struct iovec *local, int n_local,
              const struct shca_piece *remote, int n_remote);

#endif
