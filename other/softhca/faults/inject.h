/* inject.h - the faults of SOFTHCA_FAULTS, where they bite.
 *
 * inject.c decides about messages, about what is posted and what is made; delayed_completions.c
 * about completions. Both work only in a process that has faults: contexts then get other ops, and
 * QPs an injector. Without, the data path has one branch more, on a QP that has no injector.
 */
#ifndef SOFTHCA_INJECT_H
#define SOFTHCA_INJECT_H

#include "other/softhca/datapath/datapath.h"
#include "other/softhca/faults/faults.h"

/* How a message is to be written; order 0: as ever. */
struct shca_tear {
    uint64_t order, us, seed; /* US: of each pause; 0: the processor is given up */
};

/* What a QP has when there are faults. */
struct shca_injector {
    uint32_t ordinal; /* the process's first QP is 1 */
    struct shca_fault_count message[SHCA_FAULT_RULES];
    struct shca_fault_count completion[2][SHCA_FAULT_RULES]; /* of each side */
    _Atomic uint64_t posted;
    /* about the WR that runs now */
    bool decided;
    uint32_t index;
    int fails; /* SHCA_NOT_READY or SHCA_NO_TARGET, as often as it is tried; SHCA_DROPPED; or 0 */
    bool stalled;
    struct shca_tear tear;
    uint64_t polls, messages, time; /* until; 0: not a condition */
};

/* Read the faults, once: 0, or EINVAL when they do not fit the devices. */
int shca_inject_start(void);
bool shca_injecting(void);
void shca_inject_ops(struct ibv_context_ops *ops);
int shca_inject_creation(enum shca_kind kind);   /* 0 or ENOMEM */
int shca_inject_qp(struct shca_qp *qp);          /* 0 or ENOMEM */
bool shca_inject_cuts(const struct shca_qp *qp); /* nothing passes */
int shca_inject_message(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t index);

/* How the message that shca_inject_message() let pass is written. */
void shca_inject_tear(struct shca_qp *qp, struct shca_gather *g);

/* For delayed_completions.c: the rules of this process, and whether one is due. */
const struct shca_faults *shca_inject_faults(void);
bool shca_inject_mine(const struct shca_fault_rule *rule);
bool shca_inject_matches(const struct shca_fault_rule *rule, const struct shca_qp *qp, uint64_t op);
bool shca_inject_due(const struct shca_fault_rule *rule, const char *of, uint32_t object,
                     struct shca_fault_count *count);
/* A poll that found nothing has been counted; what waits for polls runs. */
void shca_inject_polled(bool nothing);
/* The program sleeps on a completion channel: polls will not come. */
bool shca_inject_asleep(uint64_t now);

enum { SHCA_DELAY_LIMIT_S = 10 }; /* how long something may wait for polls that do not come */

/* tear.c */
int shca_tear_write(const struct shca_tear *t, struct shca_peer *p, struct shca_gather *g,
                    const struct shca_piece *there, int n);

/* delayed_completions.c */
int shca_delayed_cq(struct shca_cq *cq); /* 0 or ENOMEM */
void shca_delayed_free(struct shca_cq *cq);
void shca_delayed_forget(struct shca_cq *cq, uint32_t qpn,
                         const struct shca_srq *q);    /* lock held */
uint32_t shca_delayed_entry(const struct shca_cq *cq); /* how many; lock held */
const struct shm_cqe *shca_delayed_at(const struct shca_cq *cq, uint32_t i);
int shca_delayed_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc);
void shca_delayed_in_child(void);
bool shca_delayed_pending(void); /* the working thread is to look after them */
void shca_delayed_attend(void);

void shca_inject_in_child(void);

#endif
