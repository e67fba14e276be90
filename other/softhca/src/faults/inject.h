/* inject.h - the injection of the faults of SOFTHCA_FAULTS; what lower folders call is in upward.h.
 *
 * inject.c decides about messages, posting and creation; delayed_completions.c about completions.
 * Both work only in a process that has faults: its contexts have other operations, and its QPs an
 * injector. Otherwise the data path has one more branch, on a QP without an injector.
 */
#ifndef SOFTHCA_INJECT_H
#define SOFTHCA_INJECT_H

#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/settings/faults.h"

struct shca_device;

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
int shca_inject_qp(struct shca_qp *qp); /* 0 or ENOMEM */

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

/* delayed_completions.c */
int shca_delayed_poll(struct ibv_cq *cq, int num, struct ibv_wc *wc);
void shca_delayed_in_child(void);

/* port_faults.c */
void shca_port_set(uint32_t port, enum ibv_port_state state);
void shca_device_remove(struct shca_device *d);

void shca_inject_in_child(void);

#endif
