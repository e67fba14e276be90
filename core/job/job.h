/* job.h - the state of the job that all parts of the core share, and no network uses: its phase and
 * its peers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/am/credits.h"
#include "core/counters/counters.h"
#include "core/job/rank.h"
#include "core/lock.h"
#include "core/network.h"

/* A rank's segment, as peers access it: one key per 2^gasnetc_pin_shift bytes from base. */
typedef struct gasnetc_segment {
    uintptr_t base;
    uintptr_t size;
    const net_key_t *keys;
} gasnetc_segment_t;

/* The part of a peer's segment that was used last, which has one key; size 0 at first.  Most
 * segments have one key, and then this is all of the segment.  Under the peer's lock. */
typedef struct gasnetc_window {
    uintptr_t base;
    size_t size;
    net_key_t key;
} gasnetc_window_t;

/* The ends of a transfer, each of which may lie in the registration cache. */
enum gasnetc_end { GASNETC_LOCAL, GASNETC_REMOTE, GASNETC_ENDS };

/* The record of a rank; `net` is unused in the record of this rank itself.  The size is a power of
 * two, which makes indexing a shift. */
typedef struct gasnetc_peer {
    net_peer_t net;      /* first: the network returns pointers to it */
    gasneti_lock_t lock; /* of net's posting side, credits, window and counts */
    gasnetc_credits_t credits;
    gasnetc_window_t window;
    gasnetc_segment_t segment;
    gasnetc_peer_counts_t *counts;
    struct gasnetc_lease *lease[GASNETC_ENDS]; /* core/rdma/lease.h; NULL: no lease */
    struct gasnetc_shm_peer *shm; /* core/shm/messages.h; NULL: messages go by the network */
} __attribute__((aligned(128))) gasnetc_peer_t;

/* What the client may do.  BEFORE_ATTACH: all that the library needs for messages, polls, barriers
 * and collectives works, but a client of the classic interface has to call gasnet_attach first. */
enum gasnetc_phase { GASNETC_BEFORE_INIT, GASNETC_BEFORE_ATTACH, GASNETC_RUNNING };

#pragma GCC visibility push(hidden)
/* Collective: starts this process's part in the job.  When it returns GASNET_OK, messages, polls,
 * barriers and collectives work on all ranks, and segments may be attached. */
int gasnetc_init(const char *call, int *argc, char ***argv);
/* The threads of the library in this process: core/progress/receive_thread.h, if they are wanted.
 */
unsigned gasnetc_threads(void);
void *gasnetc_thread(void *number); /* the body of one, from 0; does not return */
void gasnetc_start_threads(void);
/* GASNET_OK if the call that attaches is legal now; `init`: the call that comes before it. */
int gasnetc_may_attach(const char *call, const char *init);
/* Collective: attaches a segment.  `at_last`: called while the last exchange waits. */
int gasnetc_attach_segment(uintptr_t segsize, void (*at_last)(void));
/* Polls; for bootstrap_meanwhile. */
void gasnetc_poll_in_attach(void);
/* Begins a phase; clients' calls that are too early are fatal. */
void gasnetc_enter_phase(enum gasnetc_phase phase);
extern _Atomic(enum gasnetc_phase)
    gasnetc_phase;                    /* the thread that ends the process reads it too */
extern gasnetc_peer_t *gasnetc_peers; /* [ranks] */
extern struct net_caps gasnetc_caps;
extern unsigned gasnetc_pin_shift;
#pragma GCC visibility pop

static inline gasnetc_peer_t *gasnetc_peer_of(net_peer_t *net)
{
    return (gasnetc_peer_t *)net;
}

/* Counts a refused post to the peer, whose lock is held. */
static inline void gasnetc_count_stall(gasnetc_peer_t *peer, enum net_result result)
{
    if (result == NET_NO_REPLY_BUF)
        peer->counts->stalls_replies++;
    else if (result == NET_BUSY)
        peer->counts->stalls_slots++;
    else if (result == NET_NO_CREDIT)
        peer->counts->stalls_credits++;
}

/* One step of waiting before the post is tried again; no lock held.  gasnetc_stall, after a sleep
 * while the peer is being connected (poll.c). */
void gasnetc_stall_at(const gasnetc_peer_t *peer, enum net_result result, bool in_handler);
