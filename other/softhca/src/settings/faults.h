/* faults.h - the syntax of SOFTHCA_FAULTS, and when a fault is due. Pure.
 *
 *     SOFTHCA_FAULTS = CLAUSE {; CLAUSE}
 *     CLAUSE = seed=NUMBER | log | FAULT [: KEY=VALUE {, KEY=VALUE}]
 *
 * faults.c has the tables of faults, of keys, and of the keys that each fault takes. The effect of
 * a fault is in inject.c and delayed_completions.c. A decision depends only on the seed, the
 * clause, the process's number, the queue's number and the number of the operation there.
 */
#ifndef SOFTHCA_FAULTS_H
#define SOFTHCA_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum shca_fault {
    /* a message is delayed, lost, or written byte by byte; counted per queue pair */
    SHCA_RNR,
    SHCA_LOSE,
    SHCA_STALL,
    SHCA_TEAR,
    /* faults of completions; counted per queue */
    SHCA_HOLD,
    SHCA_OVERFLOW,
    /* an object cannot be created; counted per process */
    SHCA_ENOMEM,
    /* happens when a message is posted; counted per process */
    SHCA_PORT_DOWN,
    SHCA_PORT_UP,
    SHCA_CUT,
    SHCA_REMOVE,
    SHCA_STOP,
    SHCA_KILL,
    SHCA_FAULTS
};

enum {
    SHCA_OP_SEND = 1,
    SHCA_OP_WRITE = 2,
    SHCA_OP_READ = 4,
    SHCA_OP_ATOMIC = 8,
    SHCA_OP_RECV = 16, /* completions only */
};

enum { SHCA_ASCENDING = 1, SHCA_DESCENDING, SHCA_RANDOM }; /* orders of bytes */

enum { SHCA_FAULT_RULES = 32, SHCA_FAULT_SET = 8 };
#define SHCA_FAULT_ALWAYS UINT64_MAX

struct shca_fault_set {
    uint32_t n; /* 0: all numbers */
    uint32_t number[SHCA_FAULT_SET];
};

struct shca_fault_rule {
    enum shca_fault what;
    struct shca_fault_set process, peer, qp, cq;
    uint64_t ops;  /* mask; 0: all */
    uint64_t kind; /* of the object that cannot be created */
    uint64_t device, port;
    /* when: counted from 1 */
    uint64_t at, after, every, times, chance, of;
    /* how much */
    uint64_t retries, polls, us, messages, gather;
    uint64_t order; /* of the bytes of a message */
};

struct shca_faults {
    uint64_t seed;
    bool log; /* each fault is reported when it happens */
    uint32_t n;
    struct shca_fault_rule rule[SHCA_FAULT_RULES];
};

/* TEXT may be NULL: no faults. False: *FAULTS is not valid and WHY holds one line. */
bool shca_faults_parse(const char *text, struct shca_faults *faults, char *why, size_t room);
bool shca_faults_check(const char *text, char *why, size_t room);
/* Prints the faults and their keys. */
void shca_faults_print(FILE *to);

bool shca_fault_names(const struct shca_fault_set *set, uint32_t number);

/* Operations that a rule has seen, and those it was due for, on one counted object. */
struct shca_fault_count {
    uint64_t seen, due;
};
const char *shca_fault_name(enum shca_fault what);
/* Counts one more operation; true when the fault is due. OBJECT is the number of its queue, 0 for
 * the process. */
bool shca_fault_due(const struct shca_faults *faults, const struct shca_fault_rule *rule,
                    uint32_t process, uint32_t object, struct shca_fault_count *count);
/* The seed of the random numbers for the fault that was just due, and the N-th of them. */
uint64_t shca_fault_seed(const struct shca_faults *faults, const struct shca_fault_rule *rule,
                         uint32_t process, uint32_t object, const struct shca_fault_count *count);
uint64_t shca_fault_random(uint64_t seed, uint64_t n);
/* Whether some process tears messages so that the last byte may not be written last. */
bool shca_faults_reorder(const struct shca_faults *faults);

#endif
