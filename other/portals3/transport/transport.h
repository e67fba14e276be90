/*
 * transport.h - the face between the engine, which knows no network, and a transport, which knows
 * no matching.  Downward a table of functions, upward a few ptli_ functions of the engine.
 *
 * Locks: progress (transport) -> engine -> sending (transport, for fast_put_get.c alone) -> EQ. The
 * engine never calls down with its lock held. The transport calls up with its progress lock held,
 * if it likes, and with nothing that a call down takes. No call down may call up before it returns;
 * none may block but progress, revoke and close.
 *
 * Life: ptli_verbs_open (identity, limits) - start (calls up may come from here on) - close (none
 * comes after).
 */
#ifndef PTLI_TRANSPORT_H
#define PTLI_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include "other/portals3/engine/pieces.h"
#include "other/portals3/fastpath/published_list.h"
#include "other/portals3/transport/portals_wire.h"

struct ptli_engine; /* the engine's side of an interface */
struct ptli_transport;

enum ptli_status { PTLI_OK, PTLI_FAILED };

/* A process that can be addressed.  The transport embeds it at the front of its own record, makes
 * it on first mention and keeps it until close. */
struct ptli_peer {
    ptl_process_id_t id;
    ptl_uid_t uid; /* learned at connection, not from headers; before that: all ones */
    ptl_jid_t jid;
};

/* Memory registered: the transport embeds it at the front of its own record. */
struct ptli_region {
    uint32_t key;       /* by which peers reach it */
    uint32_t local_key; /* by which the device reaches it for us */
};

/*
 * A message to be sent.  The engine allocates it inside its record of an operation; the transport
 * owns it from send until it gives it back, and may link it into its queues: no memory is needed to
 * queue it.
 */
struct ptli_message {
    struct ptli_header
        header;            /* data_length says how much of `data` goes along: at most eager_limit */
    struct ptli_span data; /* pieces without region, or few bytes: to be copied */
    /* the transport's while it owns the message */
    struct ptli_message *next;
    struct ptli_peer *peer;
    uint64_t scratch[2];
};

/* RDMA between a span here and a remote list there, which may be longer: the span's length counts.
 * Of any length, the transport splits it. */
struct ptli_transfer {
    bool write; /* else read */
    struct ptli_span local;
    const struct ptli_remote *remote;
    uint32_t remote_count;
    struct ptli_published_hold
        *hold;                 /* fast path: given back by the transport at completion; else NULL */
    struct ptli_message *then; /* write: send this behind it on the same connection, or NULL */
    /* the transport's while it owns the transfer */
    struct ptli_transfer *next;
    struct ptli_peer *peer;
    struct ptli_cursor here;
    struct ptli_remote_cursor there;
    uint64_t scratch[2];
};

/* What went fast_put_get.c's way. */
struct ptli_fast_counts {
    ptl_sr_value_t puts, gets, answers, put_length, get_length;
};

/* A published list in the hands of an initiator. */
struct ptli_published_hold {
    struct ptli_published shadow;
};

/* What PtlSetRank and its kin said, for ptli_verbs_open. */
struct ptli_launch {
    int rank, size; /* -1: not told */
    const ptl_nid_t *nids;
    const ptl_pid_t *pids; /* `size` each, or NULL */
    ptl_jid_t jid;         /* PTL_JID_NONE: not told */
};

enum ptli_sent {
    PTLI_QUEUED, /* the transport owns it; ptli_message_sent or ptli_transferred will tell the end
                  */
    PTLI_SENT, /* over: the data have been copied and a send slot is theirs; nothing more is told */
    PTLI_REFUSED, /* the peer has failed; nothing more is told */
};

struct ptli_transport_ops {
    const char *name;

    /* Calls up may come from here on; starts the progress thread.  A PTL_ code. */
    int (*start)(struct ptli_transport *);
    /* Quiesces, ends the thread, frees all, regions still enrolled included.  No call up comes
     * afterwards, nothing is written to user memory. Does not hang on peers that are gone. Messages
     * and transfers still queued are forgotten. */
    void (*close)(struct ptli_transport *);

    /* The record of a process; makes it if need be, connects nothing.  NULL: no such process can
     * be, or no memory. */
    struct ptli_peer *(*find)(struct ptli_transport *, ptl_process_id_t);
    /* 0 self, 1 same node, 2 elsewhere. */
    unsigned long (*distance)(struct ptli_transport *, ptl_process_id_t);

    /* Memory that peers are to reach (by key) and that transfers and messages come from or go to.
     * Read-only memory is registered for reading.  Equal ranges share a registration.  PTL_OK or
     * PTL_NO_SPACE. */
    int (*enroll)(struct ptli_transport *, void *base, uint64_t length, struct ptli_region **);
    void (*expel)(struct ptli_transport *, struct ptli_region *);

    /* Messages to one peer go and are offered there in the order of these calls.  Connects at first
     * use. Never refuses for want of room: it queues. */
    enum ptli_sent (*send)(struct ptli_transport *, struct ptli_peer *, struct ptli_message *);
    /* The same for RDMA; PTLI_SENT is not returned.  `then` goes in order with other messages. */
    enum ptli_sent (*transfer)(struct ptli_transport *, struct ptli_peer *, struct ptli_transfer *);

    /* One round of progress by the caller; waits up to timeout ms if there is nothing (0: does not
     * wait). True: something was done.  False at once if another thread is at it and timeout is 0.
     */
    bool (*progress)(struct ptli_transport *, ptl_time_t timeout);
    /* Makes the progress thread call ptli_work soon, and look after what callers that poll have
     * looked after so far. */
    void (*wake)(struct ptli_transport *);

    /* Fast path, initiator: the peer's list of this table entry, held, or NULL if there is none to
     * be used now: none was asked for or granted yet, it is being revoked, or own requests of
     * before are still on the way to that entry.  Released here, or by a transfer's end. */
    struct ptli_published_hold *(*shadow_hold)(struct ptli_transport *, struct ptli_peer *,
                                               ptl_pt_index_t);
    void (*shadow_release)(struct ptli_transport *, struct ptli_published_hold *);
    /* Fast path, target: takes back what was published of this table entry; true once no peer holds
     * it (peers that have failed hold nothing).  Waits up to timeout, with progress. */
    bool (*revoke)(struct ptli_transport *, ptl_pt_index_t, ptl_time_t timeout);

    /* Registers of the transport's own, from PTL_SR_TRANSPORT on; PTL_OK or PTL_SR_INDEX_INVALID.
     */
    int (*status)(struct ptli_transport *, ptl_sr_index_t, ptl_sr_value_t *);
    /* The map of ranks that holds, from the launcher or PtlSetRank. */
    const struct ptli_launch *(*launch)(struct ptli_transport *);
};

/* The public part, filled by open. */
struct ptli_transport {
    const struct ptli_transport_ops *ops;
    struct ptli_engine *engine;
    ptl_process_id_t id;
    ptl_uid_t uid;
    ptl_jid_t jid;
    uint32_t eager_limit; /* most bytes inline in a message; at least 1024, better 16384 (iovecs of
                             1024) */
    bool threaded; /* a thread makes progress: waiting callers may sleep until the engine's bell */
    bool quick;    /* it is a struct ptli_verbs, and fast_put_get.c may post there */
};

/* --- Opening; each in the file of its transport.  A PTL_ code. --- */

int ptli_verbs_open(struct ptli_engine *, const struct ptli_launch *, ptl_pid_t wished,
                    struct ptli_transport **);
int ptli_loopback_open(struct ptli_engine *, const struct ptli_launch *, ptl_pid_t wished,
                       struct ptli_transport **);

/* --- Up: what the engine offers --- */

enum ptli_taken { PTLI_TAKEN, PTLI_LATER };

/*
 * A message of the engine's types has arrived, parsed and found sound; `data` are data_length
 * bytes, which are not looked at after return.  In the order of arrival per peer, one call at a
 * time per peer. PTLI_LATER: there is no memory; it is to be offered again before anything else of
 * this peer.
 */
enum ptli_taken ptli_arrived(struct ptli_engine *, struct ptli_peer *, const struct ptli_header *,
                             const void *data);

/* The end of what send and transfer queued.  The memory may be used again. */
void ptli_message_sent(struct ptli_engine *, struct ptli_message *, enum ptli_status);
void ptli_transferred(struct ptli_engine *, struct ptli_transfer *, enum ptli_status);

/* A peer is lost for good, and all its messages and transfers have been given back as failed.  Ends
 * what waits for its answer. */
void ptli_peer_failed(struct ptli_engine *, struct ptli_peer *);

/* A malformed message, for the drop count and for PTL_DEBUG_WIRE. */
void ptli_malformed(struct ptli_engine *, struct ptli_peer *, const char *what);

/*
 * A peer asks for a table entry's list.  The transport has noted it as a holder before it calls.
 * Encodes it (at most PTLI_SHADOW_BYTES) and returns its length; 0: not to be published now, ask
 * again much later.
 */
size_t ptli_publish(struct ptli_engine *, struct ptli_peer *, ptl_pt_index_t,
                    unsigned char bytes[PTLI_SHADOW_BYTES]);

/* Deferred work of the engine; called in each round of progress.  True: something was done. */
bool ptli_work(struct ptli_engine *);

/* PTL_DEBUG_... of what goes to stderr. */
extern _Atomic unsigned int ptli_debug;

/*
 * Who does what on the fast path
 *   target's engine        judges which entries are open, builds the list, calls revoke before
 * anything that changes the outcome of a walk, publishes nothing while it changes target's
 * transport     knows who holds what; carries publish, revoke, revoked initiator's transport  asks
 * for a list after some requests to the same entry, keeps it, counts its holders, answers a revoke
 * when the last one has let go initiator's engine     walks it; writes or reads; logs all events
 * from its own record
 */

#endif
