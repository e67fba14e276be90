/* target.h - what this process owes to peers that hold, or ask for, firehoses to its memory.
 *
 * Requests are served in the order of arrival.  What a request gives back is taken at once; what it
 * asks for is held, one region after the other, in local.h.  A peer has one request outstanding.
 *
 * No I/O, no clock, no lock, no allocation.  A token is the number of a record; the peer names it
 * when it gives the firehose back.
 */
#ifndef FIREHOSE_TARGET_H
#define FIREHOSE_TARGET_H

#include "other/firehose/local.h"
#include "other/firehose/remote.h"

/* One firehose of one peer. */
typedef struct fh_hold {
    uint32_t pages; /* that were asked for */
    uint32_t peer, region;
    uint32_t next; /* free, or to be revoked */
    bool live;
    bool revoked, told; /* the peer is to be told, and was */
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
    uint32_t revoked_first, revoked_last; /* peers are to be told */
    uint32_t stale;                       /* holds of memory given back: peers still have them */
} fh_target_t;

/* `holds`: zeroed, one more than limits.held.regions of `local`. */
void fh_target_init(fh_target_t *t, fh_local_t *local, fh_hold_t *holds);

/* A request has arrived.  NULL, or what is wrong with it; then it is not kept. */
const char *fh_target_receive(fh_target_t *t, fh_owed_t *owed);

/* To be called after fh_local_next and fh_local_done: a request that can be answered now, which is
 * the engine's again; NULL: none. */
fh_owed_t *fh_target_next(fh_target_t *t);
/* The region behind an answer; FH_NONE if it was given back since. */
uint32_t fh_target_region(const fh_target_t *t, uint32_t token);

/* After fh_local_invalidate has said that peers hold some of it: they are to be told. */
void fh_target_revoke(fh_target_t *t);
/* Up to FH_UNPINS tokens of one peer that are to be revoked; returns how many. */
uint32_t fh_target_next_revoked(fh_target_t *t, uint32_t *peer, uint32_t *tokens);

/* The peer is gone, and with it all that it held and asked for.  Returns the requests that nobody
 * answers any more, a chain by `next`. */
fh_owed_t *fh_target_died(fh_target_t *t, uint32_t peer);

#endif
