/* local.h - which memory of this process is registered, and which registrations may be given up:
 * the state machine of one process's own memory.
 *
 * No I/O, no clock, no lock, no allocation.  The engine asks fh_local_next what to register and
 * deregister, does it, and reports the outcome.  README.md says what the pools are.
 *
 * A region is in use by transfers of this process (`uses`), held by firehoses of peers (`holds`),
 * or unused.  Unused regions stay registered, and are evicted in the order of their last use where
 * room is needed.
 */
#ifndef FIREHOSE_LOCAL_H
#define FIREHOSE_LOCAL_H

#include "other/firehose/table.h"

enum fh_local_state {
    FH_FREE,
    FH_NEEDED,      /* to be registered */
    FH_REGISTERING, /* by the engine, now */
    FH_REGISTERED,
    FH_DOOMED,        /* to be deregistered */
    FH_DEREGISTERING, /* by the engine, now */
    FH_FAILED         /* could not be registered; each user and holder must release it */
};

typedef struct fh_local_limits {
    fh_amount_t held;    /* M, R: of regions that peers hold */
    fh_amount_t used;    /* MAXVICTIM_M, MAXVICTIM_R: of regions in use by this process */
    uint64_t max_region; /* bytes, a multiple of the page size, at most either pool */
} fh_local_limits_t;

typedef struct fh_local {
    fh_table_t table;
    fh_local_limits_t limits;
    fh_amount_t most;    /* of both pools: what may be registered at one time */
    fh_amount_t soft;    /* the part of `most` that the system has not refused: unused regions
                            beyond it are evicted */
    fh_amount_t present; /* registered, being registered, not yet deregistered */
    fh_amount_t leaving; /* regions of `present` that are to be deregistered */
    fh_amount_t needed;  /* to be registered */
    fh_amount_t held;    /* regions with holds */
    fh_amount_t used;    /* regions with uses */
    uint64_t promised;   /* bytes that the holders asked for: held.bytes is never more */
    fh_list_t unused;    /* unused regions, and some in use; fh_list_renew */
    fh_list_t to_register, to_deregister;
    uint32_t registering;   /* by the engine, now */
    uint32_t pending_uses;  /* regions with uses that are not registered yet */
    uint32_t calm;          /* registrations since the last refusal */
    uint32_t stale;         /* regions that were invalidated and are not deregistered yet */
    bool refused;           /* the first region of to_register was refused, and none was
                               deregistered since */
    uint64_t tickets, turn; /* tickets given to transfers that wait for room, and the last whose
                               turn came */
    uint64_t hits, misses, evictions, refusals;
    fh_amount_t peak; /* maximum of `present` */
} fh_local_t;

/* Records beyond the pools: for regions that wait while others are deregistered. */
enum { FH_LOCAL_SPARE = 16 };

/* Starts the table of local regions in `memory`, as fh_table_init does.  `capacity`: both pools,
 * the permanent regions, and FH_LOCAL_SPARE. */
void fh_local_init(fh_local_t *l, const fh_local_limits_t *limits, uint32_t capacity,
                   unsigned page_shift, void *memory);

/* A region that the caller registers, for the life of the process: it is in no pool, and is never
 * invalid. FH_NONE: no record. */
uint32_t fh_local_permanent(fh_local_t *l, uint64_t start, uint64_t end);

typedef enum fh_answer {
    FH_READY,   /* registered */
    FH_PENDING, /* the state of the region is to be read again after fh_local_next and
                   fh_local_done */
    FH_FULL     /* no room: to be asked again after something was released or deregistered */
} fh_answer_t;

/* The range that a transfer needs, which with whole pages is at most max_region. `alone`:
 * unregistered memory is not to become one region with adjacent ones, whose memory may be of
 * another kind. */
typedef struct fh_span {
    uint64_t from, to;
    bool alone;
} fh_span_t;

/* Finds or creates a region for a transfer. Transfers for which the pool has no room are served in
 * their order: *ticket is 0 at first, and is passed in again until the answer is not FH_FULL; while
 * one transfer waits, later ones wait too. READY and PENDING count a use, which fh_local_release
 * ends, also of a region that FAILED. */
fh_answer_t fh_local_use(fh_local_t *l, fh_span_t span, uint64_t *ticket, uint32_t *region);

/* Finds or creates a region for a peer, with whole pages; a region that covers more is taken if the
 * pool allows. The peers together must not hold more than limits.held; then a hold never waits for
 * uses to end. FULL: all records are in use until regions are deregistered. Has no tickets. */
fh_answer_t fh_local_hold(fh_local_t *l, uint64_t start, uint64_t end, uint32_t *region);
void fh_local_unhold(fh_local_t *l, uint32_t region, uint64_t asked);

/* Invalidates memory that the program has unmapped: no look-up finds the regions that share a byte
 * with it. An unused region is deregistered, others when their last use and hold ends. Returns how
 * many of the regions peers hold. */
uint32_t fh_local_invalidate(fh_local_t *l, uint64_t from, uint64_t to);

/* The next task of the engine: to register `region`, or to deregister it. FH_GAVE_UP: no task, but
 * the engine is to call again, as a registration that was refused has FAILED. */
typedef enum fh_task { FH_NOTHING, FH_REGISTER, FH_DEREGISTER, FH_GAVE_UP } fh_task_t;
fh_task_t fh_local_next(fh_local_t *l, uint32_t *region);

/* Reports the outcome of the task of `region`. Deregistration always succeeds. */
typedef enum fh_outcome {
    FH_DONE,
    FH_REFUSED, /* for want of memory or objects: other regions are evicted, and the registration
                   is tried again */
    FH_BAD      /* the memory does not exist */
} fh_outcome_t;
void fh_local_done(fh_local_t *l, uint32_t region, fh_outcome_t outcome);

/* Makes all unused regions due for deregistration. */
void fh_local_evict_all(fh_local_t *l);

void fh_local_last_use(fh_local_t *l, uint32_t region); /* of fh_local_release alone */

/* A use of a region that is registered and has room, or FH_NONE: never waits or registers. */
static inline uint32_t fh_local_try(fh_local_t *l, uint64_t from, uint64_t to)
{
    if (l->turn != l->tickets) return FH_NONE;
    const uint32_t region = fh_table_find_near(&l->table, l->unused.newest, 0, from, to);
    fh_region_t *r = fh_region(&l->table, region);
    /* Record 0 is free. */
    if (r->state != FH_REGISTERED) return FH_NONE;
    if (r->uses == 0) {
        const uint64_t size = r->end - r->start;
        if (!fh_fits(l->used, size, l->limits.used)) return FH_NONE;
        fh_add(&l->used, size);
    }
    r->uses++;
    l->hits++;
    return region;
}

/* Ends one use, of a region that is registered or FAILED. */
static inline void fh_local_release(fh_local_t *l, uint32_t region)
{
    fh_region_t *r = fh_region(&l->table, region);
    if (--r->uses) return;
    if (r->holds == 0 && r->found) {
        fh_take(&l->used, r->end - r->start);
        fh_list_renew(&l->table, &l->unused, region);
    } else
        fh_local_last_use(l, region);
}

#endif
