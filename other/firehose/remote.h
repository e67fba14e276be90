/* remote.h - which firehoses this process holds to each peer: the state machine of the side that
 * asks.
 *
 * A firehose is the right to reach a region of a peer's memory, which stays registered there as
 * long.  At most a fixed share of the peer's pool is held by each process, so that a peer never has
 * to refuse: a process that has used its share up moves a firehose, from a region that it does not
 * use to one that it wants.  One request to a peer is outstanding at a time; it carries everything
 * that was wanted meanwhile.
 *
 * No I/O, no clock, no lock, no allocation.  The engine sends what fh_remote_next returns.
 */
#ifndef FIREHOSE_REMOTE_H
#define FIREHOSE_REMOTE_H

#include "other/firehose/table.h"

enum fh_remote_state {
    FH_ASKED = 1, /* by the request that is outstanding */
    FH_HELD,
    FH_LEAVING, /* the next request returns it */
    FH_DENIED   /* the peer could not register it */
};

typedef enum fh_why { FH_SERVED, FH_DENIED_BY_PEER, FH_PEER_DIED } fh_why_t;

/* The range that a transfer wants. Belongs to the machine until it is served. */
typedef struct fh_want {
    struct fh_want *next;
    uint64_t from, to; /* with whole pages at most max_region */
    uint32_t peer;
    uint32_t region; /* when it is served: one that covers the range, with one use; or FH_NONE */
    fh_why_t why;    /* reason why region is FH_NONE */
    bool alone;      /* a region with its neighbours was refused */
    bool rides;      /* has data that a request may carry */
    bool riding;     /* the outstanding request carries the data */
    bool rode;       /* the peer has received the data */
} fh_want_t;

typedef struct fh_wants {
    fh_want_t *first, *last;
} fh_wants_t;

typedef struct fh_peer {
    fh_amount_t charged; /* of the peer's pool: regions asked for and held, also those that are
                            leaving */
    fh_amount_t leaving, busy; /* parts of `charged`: regions that leave; regions in use */
    fh_list_t unused;          /* unused regions and some in use, all found by look-ups;
                                  fh_list_renew */
    fh_list_t asked_regions, leaving_regions;
    fh_wants_t waiting; /* wants that no request asks for yet */
    fh_wants_t asked;   /* wants that the outstanding request will serve */
    uint32_t next_due;
    bool due;       /* the peer is in the list of fh_remote_next */
    bool in_flight; /* a request is outstanding */
    bool blocked;   /* the first want that waits finds all regions in use */
    bool doubted;   /* a revoked token may be of a region that is asked for now */
    bool dead;
} fh_peer_t;

typedef struct fh_remote_limits {
    fh_amount_t share;     /* of each peer's pool */
    uint64_t max_region;   /* bytes; at most the share */
    uint32_t pins, unpins; /* in a request: at most FH_PINS, FH_UNPINS */
} fh_remote_limits_t;

typedef struct fh_remote {
    fh_table_t table;
    fh_remote_limits_t limits;
    fh_peer_t *peers;
    uint32_t first_due, last_due; /* peers, plus 1 */
    fh_wants_t served;
    uint64_t hits, misses, moves, requests, revocations;
} fh_remote_t;

/* Memory for `capacity` regions, zeroed; and one zeroed fh_peer_t for each peer. */
void fh_remote_init(fh_remote_t *r, const fh_remote_limits_t *limits, uint32_t capacity,
                    unsigned page_shift, void *memory, fh_peer_t *peers);

/* Adds a want; fh_remote_served returns it, at once or later. */
void fh_remote_want(fh_remote_t *r, fh_want_t *want);
void fh_remote_last_use(fh_remote_t *r, uint32_t region); /* of fh_remote_release alone */
/* The next want that was served, in the order of being served; NULL: none. */
fh_want_t *fh_remote_served(fh_remote_t *r);

/* A request to be sent: first the peer takes back, then it registers. */
enum { FH_PINS = 32, FH_UNPINS = 64 };
typedef struct fh_ask {
    uint32_t peer, pins, unpins;
    uint32_t unpin[FH_UNPINS]; /* tokens of the peer's */
    uint32_t pin[FH_PINS];     /* regions */
    fh_want_t *rider[FH_PINS]; /* the want whose data may ride, or NULL; the code that appends
                                  the data sets riding */
} fh_ask_t;
bool fh_remote_next(fh_remote_t *r, fh_ask_t *ask);

/* The answer to one pin, in the order of the request: what was registered, which covers what was
 * asked for, and the peer's token for it; or token 0.  Returns the region, or FH_NONE if this is no
 * answer to what was asked.  After the last: fh_remote_answered, which is false if some are
 * missing or nothing was asked. */
uint32_t fh_remote_answer(fh_remote_t *r, uint32_t peer, uint32_t token, uint64_t start,
                          uint64_t end);
bool fh_remote_answered(fh_remote_t *r, uint32_t peer);

/* Handles the message that the peer's program has unmapped the memory of `token`. May overtake the
 * answer that brings the token. */
void fh_remote_revoked(fh_remote_t *r, uint32_t peer, uint32_t token);

/* Handles the end of a peer: all wants for it are served, with FH_PEER_DIED. */
void fh_remote_died(fh_remote_t *r, uint32_t peer);

/* A use of a region that is held, or FH_NONE: sends nothing. */
static inline uint32_t fh_remote_try(fh_remote_t *r, uint32_t peer, uint64_t from, uint64_t to)
{
    fh_peer_t *p = &r->peers[peer];
    if (p->blocked) return FH_NONE;
    const uint32_t region = fh_table_find_near(&r->table, p->unused.newest, peer, from, to);
    fh_region_t *it = fh_region(&r->table, region);
    if (it->state != FH_HELD) return FH_NONE;
    if (it->uses++ == 0) fh_add(&p->busy, (uint64_t)it->charge << r->table.page_shift);
    r->hits++;
    return region;
}

/* Ends one use. */
static inline void fh_remote_release(fh_remote_t *r, uint32_t region)
{
    fh_region_t *it = fh_region(&r->table, region);
    if (--it->uses) return;
    fh_peer_t *p = &r->peers[it->peer];
    fh_take(&p->busy, (uint64_t)it->charge << r->table.page_shift);
    if (it->stale || p->blocked)
        fh_remote_last_use(r, region);
    else
        fh_list_renew(&r->table, &p->unused, region);
}

#endif
