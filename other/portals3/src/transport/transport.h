/*
 * transport.h - the interface between the engine, which knows no network, and a transport, which
 * knows no matching.  The engine calls down through a table of functions; the transport calls up a
 * few ptli_ functions of the engine.
 *
 * Lock order: progress (transport), engine, sending (transport, for fast_put_get.c alone), EQ.  The
 * engine never calls down with its lock held.  The transport may call up with its progress lock
 * held, but with no lock that a call down takes.  No call down calls up before it returns; none
 * blocks but progress, revoke and close.
 *
 * Order of calls: ptli_verbs_open (identity, limits), start, close.  Calls up come only between
 * start and close.
 */
#ifndef PTLI_TRANSPORT_H
#define PTLI_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "other/connect/handshake/seal.h"
#include "other/portals3/src/base/pieces.h"
#include "other/portals3/src/base/portals_wire.h"
#include "other/portals3/src/base/published_list.h"

struct ptli_engine; /* the engine's side of an interface */
struct ptli_transport;

enum ptli_status { PTLI_OK, PTLI_FAILED };

/* A process that can be addressed.  The transport embeds it as the first member of its own record,
 * allocates it when it is first looked up and keeps it until close. */
struct ptli_peer {
    ptl_process_id_t id;
    ptl_uid_t uid; /* from the handshake, not from headers; before that: all ones */
    ptl_jid_t jid;
    /* The header of its last short put that was admitted, and the table entry that it names; NULL:
     * none was, so that no header is the same.  The number of the access entries' state then; 0:
     * the user may be another since.  */
    uint32_t admitted_by;
    unsigned char admitted[PTLI_WIRE_WHOM];
    struct ptli_table_entry *admitted_to;
};

/* Registered memory: the transport embeds it as the first member of its own record. */
struct ptli_region {
    uint32_t key;       /* rkey */
    uint32_t local_key; /* lkey */
};

/*
 * A message to be sent.  The engine allocates it in its record of an operation; the transport owns
 * it from send until it gives it back, and may link it into its queues: queueing allocates nothing.
 */
struct ptli_message {
    struct ptli_header header; /* data_length: how much of `data` is sent, at most eager_limit */
    struct ptli_span data;     /* copied: pieces without region, or few bytes */
    /* the transport's while it owns the message */
    struct ptli_message *next;
    struct ptli_peer *peer;
    uint64_t scratch[2];
};

/* RDMA between a local span and a remote list, which may be longer: the span's length counts.  The
 * transport splits it as needed. */
struct ptli_transfer {
    bool write; /* else read */
    struct ptli_span local;
    const struct ptli_remote *remote;
    uint32_t remote_count;
    struct ptli_published_hold
        *hold;                 /* fast path: released by the transport at completion; else NULL */
    struct ptli_message *then; /* write: a message to send after it, or NULL */
    /* the transport's while it owns the transfer */
    struct ptli_transfer *next;
    struct ptli_peer *peer;
    struct ptli_cursor here;
    struct ptli_remote_cursor there;
    uint64_t scratch[2];
};

/* Operations of fast_put_get.c and path.c.  Where every operation of a kind has an answer, it is
 * counted at the start, and ptli_fast_counts takes off those under way. */
struct ptli_fast_counts {
    /* What is counted together is not adjacent: compilers would add to both by slower vector
     * instructions. */
    ptl_sr_value_t puts, gets, answers, messages; /* messages: puts sent as such */
    ptl_sr_value_t put_length, get_length, message_length;
};

/* A published list that an initiator may use. */
struct ptli_published_hold {
    struct ptli_published published;
};

/* Settings of PtlSetRank and related calls, for ptli_verbs_open. */
struct ptli_launch {
    int rank, size; /* -1: not set */
    const ptl_nid_t *nids;
    const ptl_pid_t *pids; /* `size` each, or NULL */
    ptl_jid_t jid;         /* PTL_JID_NONE: not set */
    handshake_key_t key;   /* size 0: the key of the user's file */
};

enum ptli_sent {
    PTLI_QUEUED, /* the transport owns it until ptli_message_sent or ptli_transferred */
    PTLI_SENT,   /* the data have been copied and posted; no call up follows */
    PTLI_REFUSED /* the peer has failed; no call up follows */
};

struct ptli_transport_ops {
    const char *name;

    /* Writes a line that names the device and port in use. NULL: this transport has no device. */
    void (*describe)(struct ptli_transport *, char *text, size_t size);

    /* Starts the progress thread; from now on calls up may come.  A PTL_ code. */
    int (*start)(struct ptli_transport *);
    /* Quiesces, ends the thread and frees all, with regions still enrolled.  Afterwards no call up
     * comes and nothing is written to user memory.  Waits for silent peers for a bounded time.
     * Messages and transfers still queued are dropped. */
    void (*close)(struct ptli_transport *);

    /* The record of a process, allocated if need be; does not connect.  NULL: no such process can
     * exist, or no memory. */
    struct ptli_peer *(*find)(struct ptli_transport *, ptl_process_id_t);
    /* 0 self, 1 same node, 2 elsewhere. */
    unsigned long (*distance)(struct ptli_transport *, ptl_process_id_t);

    /* Registers memory for access by peers (by key) and for transfers and messages.  Read-only
     * memory is registered for reading.  Equal ranges share a registration.  PTL_OK or
     * PTL_NO_SPACE. */
    int (*enroll)(struct ptli_transport *, void *base, uint64_t length, struct ptli_region **);
    void (*expel)(struct ptli_transport *, struct ptli_region *);

    /* Messages to one peer are sent, and passed to its engine, in the order of these calls.
     * Connects at first use.  Queues where there is no room. */
    enum ptli_sent (*send)(struct ptli_transport *, struct ptli_peer *, struct ptli_message *);
    /* Posts or queues RDMA to a peer; never returns PTLI_SENT. `then` keeps its order with other
     * messages. */
    enum ptli_sent (*transfer)(struct ptli_transport *, struct ptli_peer *, struct ptli_transfer *);

    /* One round of progress by the caller; if there is nothing to do waits up to timeout ms.  True:
     * something was done.  False at once if timeout is 0 and another thread makes progress. */
    bool (*progress)(struct ptli_transport *, ptl_time_t timeout);
    /* Makes the progress thread call ptli_work soon, and take over from callers that polled. */
    void (*wake)(struct ptli_transport *);

    /* Fast path, initiator: acquires the peer's list of this table entry.  NULL if none can be used
     * now: none was granted yet, it is being revoked, or earlier requests to that entry are not yet
     * matched.  Released by published_release, or by a transfer's end. */
    struct ptli_published_hold *(*published_hold)(struct ptli_transport *, struct ptli_peer *,
                                                  ptl_pt_index_t);
    void (*published_release)(struct ptli_transport *, struct ptli_published_hold *);
    /* Fast path, target: revokes the published list of this table entry; true once no peer holds it
     * (peers that have failed hold nothing).  Waits up to timeout, making progress. */
    bool (*revoke)(struct ptli_transport *, ptl_pt_index_t, ptl_time_t timeout);

    /* Status registers from PTL_SR_TRANSPORT on; PTL_OK or PTL_SR_INDEX_INVALID. */
    int (*status)(struct ptli_transport *, ptl_sr_index_t, ptl_sr_value_t *);
    /* The map of ranks in effect, from the launcher or PtlSetRank. */
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
    bool threaded;        /* a thread makes progress: waiting callers may sleep */
    bool quick;           /* in a struct ptli_verbs, which fast_put_get.c may post to */
    atomic_bool due;      /* a round of progress has more to do than to take completions */
};

/* After a store that says what is to be done. */
static inline void ptli_due(struct ptli_transport *transport)
{
    atomic_store_explicit(&transport->due, true, memory_order_release);
}

/* --- Opening; each in the file of its transport.  A PTL_ code. --- */

int ptli_verbs_open(struct ptli_engine *, const struct ptli_launch *, ptl_pid_t wanted,
                    struct ptli_transport **);
int ptli_loopback_open(struct ptli_engine *, const struct ptli_launch *, ptl_pid_t wanted,
                       struct ptli_transport **);

/* --- Up: what the engine offers --- */

enum ptli_taken { PTLI_TAKEN, PTLI_LATER };

/*
 * A message of the engine's types was received and parsed; `data` are data_length bytes, which are
 * not read after return.  Calls are in the order of arrival per peer, one at a time per peer.
 * PTLI_LATER: there is no memory; the transport repeats the call before any other for this peer.
 */
enum ptli_taken ptli_arrived(struct ptli_engine *, struct ptli_peer *, const struct ptli_header *,
                             const void *data);

/* The end of a message or transfer that was queued. Its memory may be used again. */
void ptli_message_sent(struct ptli_engine *, struct ptli_message *, enum ptli_status);
void ptli_transferred(struct ptli_engine *, struct ptli_transfer *, enum ptli_status);

/* The failure of a peer, whose messages and transfers have all been returned as failed. Ends the
 * operations that wait for its answer. */
void ptli_peer_failed(struct ptli_engine *, struct ptli_peer *);

/* A malformed message, for the drop count and for PTL_DEBUG_WIRE. */
void ptli_malformed(struct ptli_engine *, struct ptli_peer *, const char *what);

/*
 * A peer requests a table entry's list.  The transport has recorded it as a holder before the call.
 * Encodes the list (at most PTLI_PUBLISHED_BYTES) and returns its length; 0: not to be published
 * now, the peer should ask again much later.
 */
size_t ptli_publish(struct ptli_engine *, struct ptli_peer *, ptl_pt_index_t,
                    unsigned char bytes[PTLI_PUBLISHED_BYTES]);

/* Deferred work of the engine; called in each round of progress.  True: something was done. */
bool ptli_work(struct ptli_engine *);

/* PTL_DEBUG_...: what is written to stderr. */
extern _Atomic unsigned int ptli_debug;

/*
 * The fast path:
 * - The target's engine decides which entries are open, builds the list, and calls revoke before
 *   anything that changes the outcome of a walk.  It publishes nothing while it makes the change.
 * - The target's transport records which peers hold which list, and sends LIST and REVOKE.
 * - The initiator's transport asks for a list after some requests to the same entry, keeps it,
 *   counts its users, and answers REVOKE when the last of them has released it.
 * - The initiator's engine walks the list, writes or reads, and logs all events from its own
 * record.
 */

#endif
