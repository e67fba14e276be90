/* target.h - firehoses to this process's memory that peers hold or ask for.
 *
 * Requests are served in the order of arrival. The firehoses that a request returns are taken back
 * at once; the regions that it asks for are held, one after the other, in local.h. A peer has one
 * request outstanding.
 *
 * No I/O, no clock, no lock, no allocation. A token is the number of a record; the peer names it
 * when it returns the firehose.
 */
#ifndef FIREHOSE_TARGET_H
#define FIREHOSE_TARGET_H

#include "other/firehose/local.h"
#include "other/firehose/remote.h"

/* A firehose that a peer holds. */
typedef struct fh_hold {
    uint32_t pages; /* pages that the peer asked for */
    uint32_t peer, region;
    uint32_t next; /* free, or to be revoked */
    bool live;
    bool revoked, told; /* revoked: the peer is to be told; told: a message was sent */
} fh_hold_t;

typedef struct fh_range {
    uint64_t start, end;
} fh_range_t;

/* A request, in memory of the engine's until it is answered. */
typedef struct fh_owed {
    struct fh_owed *next;
    uint32_t peer, pins, unpins;
    uint32_t unpin[FH_UNPINS];
    fh_range_t pin[FH_PINS];
    uint32_t token[FH_PINS]; /* the answers; 0: could not be registered */
    uint32_t settled;        /* pins that are registered, or failed */
} fh_owed_t;

typedef struct fh_target {
    fh_local_t *local;
    fh_hold_t *holds; /* capacity + 1 of them */
    fh_owed_t *first, *last;
    uint32_t capacity, free, unused_records;
    uint32_t revoked_first, revoked_last; /* chain of holds whose peers are to be told */
    uint32_t stale;                       /* number of holds of unmapped memory that peers still
                                             have */
} fh_target_t;

/* `holds`: zeroed, one more than limits.held.regions of `local`. */
void fh_target_init(fh_target_t *t, fh_local_t *local, fh_hold_t *holds);

/* Takes a request that has arrived. NULL, or what is wrong with it; then it is not kept. */
const char *fh_target_receive(fh_target_t *t, fh_owed_t *owed);

/* To be called after fh_local_next and fh_local_done: a request that can be answered now, which is
 * the engine's again; NULL: none. */
fh_owed_t *fh_target_next(fh_target_t *t);
/* The region of a token in an answer; FH_NONE if the peer has returned it since. */
uint32_t fh_target_region(const fh_target_t *t, uint32_t token);

/* Revokes the holds of stale regions, after fh_local_invalidate has returned that peers hold some:
 * the peers are to be told. */
void fh_target_revoke(fh_target_t *t);
/* Up to FH_UNPINS tokens of one peer that are to be revoked; returns how many. */
uint32_t fh_target_next_revoked(fh_target_t *t, uint32_t *peer, uint32_t *tokens);

/* Ends all holds and requests of a peer that has ended. Returns the requests that are not to be
 * answered any more, a chain by `next`. */
fh_owed_t *fh_target_died(fh_target_t *t, uint32_t peer);

#endif
