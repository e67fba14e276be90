/* upward.h - the functions of higher folders that lower ones call: the only declarations of them
 * that a lower folder may use.
 *
 * The folders, from the bottom up: settings, segment, device, objects, datapath, tcp, faults,
 * verbs, manager, interpose, run. tests/arrows.sh checks their includes and this header. It has
 * functions and not a table of pointers, because most of them are called while a message is sent.
 */
#ifndef SOFTHCA_UPWARD_H
#define SOFTHCA_UPWARD_H

#include "other/softhca/src/segment/peer.h"
#include "other/softhca/src/settings/inventory.h"

struct shca_cq;
struct shca_gather;
struct shca_target;
struct shca_piece;
struct shca_qp;
struct shca_srq;
struct shca_tear;

/* objects/event.c: the descriptor of a completion channel of this process, or -1 */
int shca_channel_fd(uint32_t id);

/* datapath/worker.c: ibv_poll_cq() retries sends that wait */
void shca_worker_progress(void);

/* tcp/: queue pairs whose other end is on another host; send lock held */
void shca_tcp_send_tune(struct shca_qp *qp);
void shca_tcp_send_push(struct shca_qp *qp);    /* WRs were posted */
void shca_tcp_send_stop(struct shca_qp *qp);    /* all WRs were flushed */
void shca_tcp_send_receive(struct shca_qp *qp); /* posted: a remote sender waits for it */
int shca_tcp_send_datagram(const struct shca_target *target, struct shca_destination destination,
                           const struct ibv_send_wr *wr, const struct shca_gather *g);

/* faults/inject.c and tear.c: an injected fault decides */
int shca_inject_creation(enum shca_kind kind);   /* 0 or ENOMEM */
bool shca_inject_cuts(const struct shca_qp *qp); /* a cut fault is in effect */
int shca_inject_message(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t index);
/* Sets how the message passed by shca_inject_message() is written. */
void shca_inject_tear(struct shca_qp *qp, struct shca_gather *g);
int shca_tear_write(const struct shca_tear *t, struct shca_peer *p, struct shca_gather *g,
                    const struct shca_piece *there, int n);

/* faults/delayed_completions.c: completions that an injected fault holds back */
int shca_delayed_cq(struct shca_cq *cq); /* 0 or ENOMEM */
void shca_delayed_free(struct shca_cq *cq);
void shca_delayed_forget(struct shca_cq *cq, uint32_t qpn,
                         const struct shca_srq *q);    /* lock held */
uint32_t shca_delayed_entry(const struct shca_cq *cq); /* number of held completions; lock held */
const struct shm_cqe *shca_delayed_at(const struct shca_cq *cq, uint32_t i);
bool shca_delayed_pending(void); /* the worker thread must call shca_delayed_attend() */
void shca_delayed_attend(void);

#endif
