/* inject.h - the injection of the faults of SOFTHCA_FAULTS.
 *
 * inject.c decides about messages, posting and creation; delayed_completions.c about completions.
 * Both work only in a process that has faults: its contexts have other operations, and its QPs an
 * injector. Otherwise the data path has one more branch, on a QP without an injector.
 */
#ifndef SOFTHCA_INJECT_H
#define SOFTHCA_INJECT_H

#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/settings/faults.h"

/* How a message is torn; order 0: not. */
struct shca_tear {
    uint64_t order, us, seed; /* US: length of a pause; 0: sched_yield() */
};

/* The state of a QP in a process with faults. */
struct shca_injector {
    uint32_t ordinal; /* the first QP of the process is 1 */
    struct shca_fault_count message[SHCA_FAULT_RULES];
    struct shca_fault_count completion[2][SHCA_FAULT_RULES]; /* of each side */
    _Atomic uint64_t posted;
    /* decision for the WR being executed */
    bool decided;
    uint32_t index;
    int fails; /* SHCA_NOT_READY or SHCA_NO_TARGET at every attempt, SHCA_DROPPED, or 0 */
    bool stalled;
    struct shca_tear tear;
    uint64_t polls, messages, time; /* when the stall ends; 0: not a condition */
};

/* Reads the faults, once: 0, or EINVAL when they do not match the devices. */
int shca_inject_start(void);
bool shca_injecting(void);
void shca_inject_ops(struct ibv_context_ops *ops);
int shca_inject_creation(enum shca_kind kind);   /* 0 or ENOMEM */
int shca_inject_qp(struct shca_qp *qp);          /* 0 or ENOMEM */
bool shca_inject_cuts(const struct shca_qp *qp); /* a cut fault is in effect */
int shca_inject_message(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t index);

/* Sets how the message passed by shca_inject_message() is written. */
void shca_inject_tear(struct shca_qp *qp, struct shca_gather *g);

/* For delayed_completions.c: the rules, and whether one is due. */
const struct shca_faults *shca_inject_faults(void);
bool shca_inject_applies(const struct shca_fault_rule *rule);
bool shca_inject_matches(const struct shca_fault_rule *rule, const struct shca_qp *qp, uint64_t op);
bool shca_inject_due(const struct shca_fault_rule *rule, const char *of, uint32_t object,
                     struct shca_fault_count *count);
/* Counts a poll; after an empty one, sends that wait for polls are retried. */
void shca_inject_polled(bool nothing);
/* Whether the program sleeps on a completion channel, so that no polls are to be expected. */
bool shca_inject_asleep(uint64_t now);

enum { SHCA_DELAY_LIMIT_S = 10 }; /* longest wait for polls that do not come */

/* tear.c */
int shca_tear_write(const struct shca_tear *t, struct shca_peer *p, struct shca_gather *g,
                    const struct shca_piece *there, int n);

/* delayed_completions.c */
int shca_delayed_cq(struct shca_cq *cq); /* 0 or ENOMEM */
void shca_delayed_free(struct shca_cq *cq);
void shca_delayed_forget(struct shca_cq *cq, uint32_t qpn,
                         const struct shca_srq *q);    /* lock held */
uint32_t shca_delayed_entry(const struct shca_cq *cq); /* number of held completions; lock held */
const struct shm_cqe *shca_delayed_at(const struct shca_cq *cq, uint32_t i);
int shca_delayed_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc);
void shca_delayed_in_child(void);
bool shca_delayed_pending(void); /* the worker thread must call shca_delayed_attend() */
void shca_delayed_attend(void);

void shca_inject_in_child(void);

#endif
