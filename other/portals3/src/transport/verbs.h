/* verbs.h - the inside of the transport over libibverbs; for verbs_*.c and the fast path.
 *
 * verbs_open.c opens and closes. verbs_address.c names processes and exchanges handshake messages.
 * verbs_connection.c creates, connects and drains queue pairs. verbs_send.c queues and posts.
 * verbs_receive.c takes messages from the receive queue. verbs_list_lease.c lends and revokes
 * lists. verbs_memory.c registers. verbs_progress.c makes progress in all of these, in a thread or
 * in callers.
 *
 * Locks: the thread that makes progress holds `driving`; under it connections come and go, messages
 * are received and the engine is called.  `posting` guards what senders use: queues, slots, leases.
 * Order: driving, the engine's lock (in fast_put_get.c alone), posting, the locks of event queues.
 * Nothing calls the engine with posting held.
 *
 * Memory per peer: its record; once connected a queue pair of PTLI_SLOTS sends, and at most
 * PTLI_PEER_BUFFERS send buffers.  Messages that wait are queued in the engine's own records; the
 * window of requests that want an answer bounds how many of these a peer can cause.
 */
#ifndef PTLI_VERBS_H
#define PTLI_VERBS_H

#include <infiniband/verbs.h>
#include <portals3_ext.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "other/connect/handshake/handshake.h"
#include "other/connect/roce/roce.h"
#include "other/portals3/src/base/mutex.h"
#include "other/portals3/src/transport/connect_guard.h"
#include "other/portals3/src/transport/connect_payload.h"
#include "other/portals3/src/transport/list_lease.h"
#include "other/portals3/src/transport/ranges.h"
#include "other/portals3/src/transport/transport.h"

enum {
    PTLI_RETRIES = 7,  /* of a queue pair */
    PTLI_SLOTS = 128,  /* work requests posted to a queue pair */
    PTLI_RESERVE = 32, /* slots kept from requests, for answers and RDMA of the target */
    PTLI_FOR_REQUESTS = PTLI_SLOTS - PTLI_RESERVE,
    PTLI_SIGNAL = 32,   /* one of so many work requests is signalled; a power of two */
    PTLI_MOST_SGE = 16, /* pieces in a work request */
    PTLI_INLINE = 256,  /* bytes up to which no send buffer is needed */
    PTLI_POLLED = 64,   /* completions polled at once: as many as an eager sender has in flight */
    PTLI_BATCH = 16,    /* receives posted at once */
    PTLI_BATCH_ROOM = PTLI_BATCH + PTLI_POLLED, /* receives in the batch, at most */
    PTLI_PEER_BUFFERS = 16,
    PTLI_PEER_REQUEST_BUFFERS = 12, /* number of PTLI_PEER_BUFFERS that requests may use */
    PTLI_NUMBERS = 512,             /* hash chains of connections, by queue pair number */
    PTLI_HEAR_SOON = 8, /* rounds between two looks for handshake messages; powers of two */
    PTLI_HEAR_EVERY = 256
};

/* The transport's own messages. */
enum ptli_verbs_type {
    PTLI_GOODBYE = PTLI_TYPE_TRANSPORT, /* the sender sends nothing more */
    PTLI_FENCE,                         /* answer when all requests before this have been matched */
    PTLI_SEEN,   /* the answer; header.transport of every message is how many have been matched */
    PTLI_ASK,    /* requests the list of pt_index */
    PTLI_LIST,   /* inline: the list, or nothing; operation: the epoch */
    PTLI_REVOKE, /* pt_index, operation: the epoch */
    PTLI_REVOKED
};

/* --- queued items --- */

/* A message, or with bit 0 set a transfer.  The next item is in scratch[0].  With bit 1 set an
 * operation of fast_put_get.c, which is never queued: the other bits are PTLI_LOGS_... and its
 * kind. */
typedef uintptr_t ptli_item_t;
enum { PTLI_ITEM_QUICK = 2, PTLI_ITEM_GET = 16, PTLI_ITEM_NOTED = 32 };

struct ptli_queue {
    ptli_item_t head, tail;
};

static inline struct ptli_message *ptli_item_message(ptli_item_t item)
{
    return (struct ptli_message *)item;
}
static inline struct ptli_transfer *ptli_item_transfer(ptli_item_t item)
{
    return item & 1 ? (struct ptli_transfer *)(item - 1) : NULL;
}
static inline uint64_t *ptli_item_scratch(ptli_item_t item)
{
    return item & 1 ? ((struct ptli_transfer *)(item - 1))->scratch
                    : ptli_item_message(item)->scratch;
}
static inline void ptli_queue_add(struct ptli_queue *queue, ptli_item_t item)
{
    ptli_item_scratch(item)[0] = 0;
    if (queue->head)
        ptli_item_scratch(queue->tail)[0] = item;
    else
        queue->head = item;
    queue->tail = item;
}
static inline ptli_item_t ptli_queue_take(struct ptli_queue *queue)
{
    ptli_item_t item = queue->head;
    if (item) queue->head = (ptli_item_t)ptli_item_scratch(item)[0];
    return item;
}

/* --- peers and connections --- */

struct ptli_buffer {
    struct ptli_buffer *next;
    uint32_t lkey;
    unsigned char *bytes;
};

/* A posted work request, until it or a later one completes. */
struct ptli_wr {
    struct ptli_conn *conn; /* constant, as is `after` */
    struct ptli_wr *after;
    uint32_t number; /* conn->posted, this request included */
    ptl_seq_t event_link;
    ptli_item_t item;           /* a transfer whose last request this is, a fast operation, or 0 */
    struct ptli_buffer *buffer; /* NULL when the work request has completed */
    struct ptli_md *md; /* of a fast operation; NULL: its data were copied.  What follows only if it
                           logs events, is noted or is a get */
    struct ptli_route *route;
    ptl_note_t *note;
    uint64_t match_bits, hdr_data, length, offset, remote_offset;
};

/* A received message that the engine had no memory for, and those received after it. */
struct ptli_held {
    unsigned char *bytes;
    uint32_t length;
    struct ptli_held *next;
};

/* A queue pair, from its creation until it is drained. */
struct ptli_conn {
    struct ibv_send_wr put, get; /* of fast_put_get.c: the fields that never change */
    struct ibv_sge piece;
    struct ibv_send_wr message; /* the header of a route, and data of the program */
    struct ibv_sge part[2];
    uint32_t short_most; /* bytes of data in such a message */
    struct ptli_node *node;
    struct ibv_qp *qp;
    uint32_t psn, max_inline;
    struct ptli_wr *free; /* the slot of the next work request; posting, as the next four */
    uint32_t posted;
    uint32_t signalled; /* the last signalled one posted */
    uint32_t buffers;
    uint32_t most;         /* of requests in flight; 0 when broken, or `queued` */
    _Atomic uint32_t done; /* the last that has completed; changed with driving held */
    _Atomic bool queued;   /* something waits for slots: ptli_verbs_pump */
    bool joined;
    bool goodbye_sent, goodbye_received;
    bool broken;               /* posting lock: nothing more is posted */
    bool leaving;              /* in verbs->leaving */
    bool draining;             /* until done reaches posted */
    bool active;               /* a message since ptli_verbs_look last looked */
    _Atomic uint32_t messages; /* posted; changed with posting held */
    struct ptli_conn *next_leaving;
    struct ptli_conn *next;      /* of all */
    struct ptli_conn *next_same; /* in verbs->by_number */
    struct ptli_held *held, **held_end;
    struct ptli_wr slot[PTLI_SLOTS];
};

/* An index of the table, at the peer and in this process: the peer's list, lent to this process
 * (lease), and this process's list, lent to the peer (grant). */
struct ptli_route {
    struct ptli_route *next;
    struct ptli_node *node;
    ptl_pt_index_t pt;
    uint64_t last; /* number of the last request to that entry that was sent as a message */
    struct ptli_lease lease;
    struct ptli_published_held *list; /* allocated when the first list arrives */
    struct ptli_grant grant;
    bool asking, answering, sending_list; /* ASK, REVOKED, LIST is queued */
    bool listed;                          /* LIST has been queued since the grant was given */
    struct ptli_message ask, answer;      /* ASK; REVOKED */
    struct ptli_lent *lent;               /* allocated when the first list is lent */
    /* of fast_put_get.c */
    uint64_t process;                     /* nid, pid */
    unsigned char header[PTLI_WIRE_SIZE]; /* of the puts that are sent as messages */
    struct ptli_route *next_route;
};

struct ptli_published_held {
    struct ptli_published_hold face;
    struct ptli_route *route;
    uint32_t life; /* node->life when it was lent */
};

/* LIST, and the REVOKE that may follow. */
struct ptli_lent {
    struct ptli_message list, revoke;
    struct ptli_piece piece;
    unsigned char bytes[PTLI_PUBLISHED_BYTES];
};

/* A peer. */
struct ptli_node {
    struct ptli_peer face;
    struct ptli_verbs *verbs;
    /* posting */
    struct ptli_queue requests, answers;
    struct ptli_conn *conn; /* open for sending; NULL: none, or not yet open */
    bool failing;           /* from the loss of the connection until ptli_peer_failed */
    bool connect_requested; /* in verbs->connect_requests */
    bool seen_due;          /* a FENCE is unanswered, as there was no slot for SEEN */
    uint32_t life;          /* incremented by each loss of the connection */
    uint32_t window, unanswered;
    uint64_t queued, sent, seen; /* of requests: queued, posted, reported as matched */
    uint64_t fenced;             /* node->sent at the last FENCE */
    struct ptli_route *routes;
    struct ptli_node *next_request;
    /* driving */
    _Atomic uint64_t taken; /* requests of the peer that were matched here */
    handshake_t handshake;
    ptli_guard_t guard;
    ptli_connect_payload_t theirs;
    struct ptli_conn *making; /* not yet open */
    bool known;               /* was connected once */
    bool other_eager;         /* the peer's PTL_EAGER differs, which was reported */
    struct ptli_node *next;   /* the list of all peers; posting */
};

/* The hash table of peers.  Read without a lock; replaced by a larger one when it is full. */
struct ptli_nodes {
    uint32_t mask, count;
    struct ptli_nodes *older;
    _Atomic(struct ptli_node *) at[];
};

/* The lock of what senders use, and what fast_put_get.c caches: leases by destination, in a hash
 * table; the last memory descriptor. */
struct ptli_posting {
    struct ptli_mutex lock;
    struct ptli_route **at;
    uint32_t mask, count;
    ptl_handle_md_t handle;
    struct ptli_md *md;
    uint64_t most;       /* bytes in one operation */
    ptl_seq_t next_link; /* counts down; the engine's count up */
    struct ptli_fast_counts counts;
};

struct ptli_verbs_settings {
    uint32_t eager, receives, window, spin;
    int gid_index;
    uint16_t pkey_index;
    uint8_t traffic_class, qp_timeout;
    bool fast;
    enum ptli_progress_mode { PTLI_THREAD, PTLI_HYBRID, PTLI_CALLS } mode;
    char iface[64], device[64];
};

struct ptli_verbs {
    struct ptli_mutex driving; /* first: PtlPoll needs no other address for it */
    struct ptli_transport face;
    struct ptli_verbs_settings settings;
    struct ptli_launch launch;
    ptl_nid_t *nids;
    ptl_pid_t *pids;

    /* the device */
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    uint8_t port, mtu, rd_atom;
    uint16_t lid;
    roce_port_t gids;
    char no_index[ROCE_TEXT + 120]; /* a port that lacks the GID or P_Key which the user chose */
    uint32_t max_sge, max_sge_rd;   /* pieces of local memory in a work request; in an RDMA read */
    uint32_t max_message, max_cqe, max_qp_wr, cq_size, cq_used;

    struct ptli_posting posting;
    atomic_bool wanted; /* the progress thread waits for driving: callers do not take it */

    /* verbs_address.c */
    int socket, local_socket, wake_fd; /* of UDP; of AF_UNIX, -1: none */
    handshake_times_t times;
    handshake_key_t key;
    uint64_t life, number; /* connect_guard.h; of the latest message sent */
    uint64_t strangers;    /* datagrams that were not sealed with the key */
    double strangers_due;  /* when they may be reported again */

    /* nodes; posting, and driving for connections */
    _Atomic(struct ptli_nodes *) nodes;
    struct ptli_node *all;
    struct ptli_node *connect_requests;
    struct ptli_conn *conns, *leaving, *by_number[PTLI_NUMBERS];
    uint32_t connecting; /* nodes whose handshake waits; driving */

    /* verbs_send.c; posting */
    struct ptli_buffer *buffers;
    struct ptli_chunk *chunks;
    struct ptli_queue finished; /* posted messages for ptli_message_sent */
    bool starved;               /* a connection found no buffer */
    bool trouble;               /* a connection failed to post */

    /* verbs_receive.c; driving */
    unsigned char *receives;
    struct ibv_mr *receives_mr;
    struct ibv_recv_wr *batch, *vacant; /* PTLI_BATCH_ROOM; the first not filled in yet */
    bool held;                          /* a connection holds messages */

    /* path.c; driving: operations that have ended, in order, until PtlPoll takes them */
    ptl_note_t *notes, **last_note;

    /* verbs_memory.c */
    struct ptli_mutex memory;
    struct ptli_ranges ranges;

    _Atomic uint32_t lent; /* lists lent to peers, or being revoked */

    /* verbs_progress.c */
    pthread_t thread;
    bool running, closing;
    atomic_bool over, attention, asleep, needed;
    struct ibv_wc wc[PTLI_POLLED]; /* of the round; driving */
    _Atomic uint32_t rounds;       /* of progress, made by callers; driving */
    _Atomic uintptr_t driver;
    uint32_t idle;
    double looked;            /* when silent peers and events were last looked at */
    double down_since;        /* when the port went down; 0: it is active */
    uint64_t sends, connects; /* statistics */
    _Atomic uint64_t breaks;  /* PTL_SR_BREAKS: a client reads that messages may be lost */
};

static inline struct ptli_verbs *ptli_verbs(struct ptli_transport *transport)
{
    return (struct ptli_verbs *)((char *)transport - offsetof(struct ptli_verbs, face));
}
static inline struct ptli_node *ptli_node(struct ptli_peer *peer)
{
    return (struct ptli_node *)peer;
}

static inline uint32_t ptli_receive_size(const struct ptli_verbs *v)
{
    return (PTLI_WIRE_SIZE + v->settings.eager + 63) & ~(uint32_t)63;
}

/* Writes a line to stderr: "libportals: process NID:PID: ...". */
void ptli_verbs_say(const struct ptli_verbs *v, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* verbs_settings.c */
void ptli_verbs_read_settings(struct ptli_verbs_settings *settings);
bool ptli_verbs_read_launch(struct ptli_verbs *v, const struct ptli_launch *given);
/* Reads the key of the job, or the key of the user's file. False: no key, which was reported. */
bool ptli_verbs_read_key(struct ptli_verbs *v, const struct ptli_launch *given);

/* verbs_device.c */
int ptli_verbs_device_open(struct ptli_verbs *v);
void ptli_verbs_device_close(struct ptli_verbs *v);
void ptli_verbs_describe(struct ptli_transport *transport, char *text, size_t size);
/* Fills the path to the peer; false if no path exists. */
bool ptli_verbs_route(const struct ptli_verbs *v, const ptli_connect_payload_t *theirs,
                      struct ibv_ah_attr *path);
/* Why the peer's queue pair is refused, and what to check. */
void ptli_verbs_explain(const struct ptli_verbs *v, const ptli_connect_payload_t *theirs, int error,
                        char *why, size_t size);
bool ptli_verbs_room_for_conn(struct ptli_verbs *v);

/* verbs_events.c; driving */
/* Calls the program's trouble handler; false: the program has no handler. `node` NULL: the trouble
 * is the device's. */
bool ptli_verbs_trouble(struct ptli_verbs *v, const struct ptli_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
bool ptli_verbs_has_handler(void);
void ptli_verbs_events_open(struct ptli_verbs *v);
/* A queue pair exhausted its retries: reports the port, if that is down. */
void ptli_verbs_gave_up(struct ptli_verbs *v);
void ptli_verbs_events(struct ptli_verbs *v, double now);
/* A verb has failed, perhaps since the device is lost: reports that.  Any thread. */
void ptli_verbs_find_cause(struct ptli_verbs *v);

/* verbs_address.c */
int ptli_verbs_name(struct ptli_verbs *v, ptl_pid_t wanted);
void ptli_verbs_send_handshake(struct ptli_verbs *v, struct ptli_node *node);
/* Handles messages, refusals, requests to connect and times.  True: something was done. */
bool ptli_verbs_handshakes(struct ptli_verbs *v);
/* Seconds until something is due; below 0: never. */
double ptli_verbs_due(struct ptli_verbs *v);

/* verbs_node.c */
struct ptli_node *ptli_verbs_node(struct ptli_verbs *v, ptl_process_id_t id);
/* NULL: there is no record of the process yet. */
struct ptli_node *ptli_verbs_known_node(struct ptli_verbs *v, ptl_process_id_t id);
struct ptli_peer *ptli_verbs_find(struct ptli_transport *transport, ptl_process_id_t id);
void ptli_verbs_nodes_free(struct ptli_verbs *v);

/* verbs_connection.c; driving */
/* Performs what the handshake returned.  `received`: of the message, if that was the event. */
void ptli_verbs_act(struct ptli_verbs *v, struct ptli_node *node, unsigned actions,
                    const ptli_connect_payload_t *received);
/* Fails all that is queued for the peer, and notifies the engine. */
void ptli_verbs_unreachable(struct ptli_verbs *v, struct ptli_node *node);
void ptli_verbs_leave(struct ptli_conn *conn); /* broken, or GOODBYE received */
void ptli_verbs_conn_drained(
    struct ptli_conn *conn);                    /* the connection's last completion was polled */
bool ptli_verbs_tend(struct ptli_verbs *v);     /* of connections that leave */
void ptli_verbs_look(struct ptli_verbs *v);     /* probes silent peers */
bool ptli_verbs_watching(struct ptli_verbs *v); /* whether any is to be probed */
bool ptli_verbs_any_conn(struct ptli_verbs *v); /* whether there is any */
bool ptli_verbs_farewell(struct ptli_verbs *v); /* GOODBYE to all; true: all have answered */
void ptli_verbs_conns_free(struct ptli_verbs *v);

/* verbs_send.c */
enum ptli_sent ptli_verbs_send(struct ptli_transport *, struct ptli_peer *, struct ptli_message *);
enum ptli_sent ptli_verbs_transfer(struct ptli_transport *, struct ptli_peer *,
                                   struct ptli_transfer *);
/* posting */
void ptli_verbs_pump(struct ptli_node *node);
void ptli_verbs_answer(struct ptli_node *node, struct ptli_message *message);
bool ptli_verbs_control(struct ptli_conn *conn, uint8_t type);
void ptli_verbs_request_connect(struct ptli_node *node);
/* driving */
void ptli_verbs_completed(struct ptli_verbs *v, const struct ibv_wc *wc);
bool ptli_verbs_deliver(struct ptli_verbs *v);     /* ptli_message_sent for all that is finished */
void ptli_verbs_give_back(struct ptli_node *node); /* all that is queued, as failed */
/* posting */
void ptli_verbs_cannot_post(struct ptli_conn *conn) __attribute__((cold));
/* posting; a signalled work request without data: its completion covers those before it */
bool ptli_verbs_nudge(struct ptli_conn *conn, enum ibv_wr_opcode opcode);
void ptli_verbs_hurry(struct ptli_conn *conn); /* posts a nudge unless the last one is signalled */
int ptli_verbs_buffers_open(struct ptli_verbs *v);
void ptli_verbs_buffers_free(struct ptli_verbs *v);

/* fastpath/fast_put_get.c, which uses the engine's side as well */
/* driving; how many of these completions it has handled, perhaps none */
int ptli_verbs_fast_completed(struct ptli_verbs *v, const struct ibv_wc *wc, int count);
void ptli_fast_ended(struct ptli_verbs *v, const struct ptli_wr *slot, bool well); /* posting */
bool ptli_fast_open(struct ptli_posting *posting);
void ptli_fast_close(struct ptli_posting *posting);

/* verbs_receive.c; driving */
int ptli_verbs_receives_open(struct ptli_verbs *v);
void ptli_verbs_received(struct ptli_verbs *v, const struct ibv_wc *wc);
bool ptli_verbs_offer_held(struct ptli_verbs *v);
void ptli_verbs_forget_held(struct ptli_conn *conn);
/* Acquires posting.  What the header of every message says: `transport`, requests matched; and
 * whether it `answers` a request, and so frees the window.  */
void ptli_verbs_take_news(struct ptli_node *node, uint64_t seen, bool answers);
/* Posts the receives of the batch if they are PTLI_BATCH or more.  */
void ptli_verbs_post_batch(struct ptli_verbs *v);
/* fastpath/fast_receive.c; driving.  How many of these completions it has handled, perhaps none. */
int ptli_verbs_fast_received(struct ptli_verbs *v, const struct ibv_wc *wc, int count);

/* The buffer of a receive, whose address is the number of the work request but for bit 0.  */
static inline unsigned char *ptli_verbs_receive_bytes(const struct ibv_wc *wc)
{
    return (unsigned char *)(uintptr_t)(wc->wr_id - 1);
}
static inline struct ptli_conn *ptli_verbs_conn_of(const struct ptli_verbs *v, uint32_t qp_number)
{
    struct ptli_conn *conn = v->by_number[qp_number % PTLI_NUMBERS];
    while (conn && conn->qp->qp_num != qp_number) conn = conn->next_same;
    return conn;
}
/* To be called when the completions of messages have been polled, before these are read.  acquire:
 * pairs with the release in ptli_verbs_count_message.  The messages may answer one that was posted
 * there; memory read for that one may be written from now on.  The network orders the two, but
 * compilers and thread checkers cannot know. */
static inline void ptli_verbs_conn_heard(struct ptli_conn *conn)
{
    conn->active = true;
    (void)atomic_load_explicit(&conn->messages, memory_order_acquire);
}
/* A request of the peer was matched, or dropped.  */
static inline void ptli_verbs_count_taken(struct ptli_node *node)
{
    atomic_store_explicit(&node->taken,
                          atomic_load_explicit(&node->taken, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}
/* Adds a receive to the batch.  There is room for as many as a round has completions: before the
 * next one the caller calls ptli_verbs_post_batch, so fewer than PTLI_BATCH are left.  */
static inline void ptli_verbs_batch(struct ptli_verbs *v, const unsigned char *bytes)
{
    struct ibv_recv_wr *wr = v->vacant;
    wr->sg_list->addr = (uintptr_t)bytes;
    wr->wr_id = (uintptr_t)bytes + 1;
    v->vacant = wr->next;
}

/* verbs_list_lease.c */
struct ptli_published_hold *ptli_verbs_published_hold(struct ptli_transport *, struct ptli_peer *,
                                                      ptl_pt_index_t);
void ptli_verbs_published_release(struct ptli_transport *, struct ptli_published_hold *);
bool ptli_verbs_revoke(struct ptli_transport *, ptl_pt_index_t, ptl_time_t timeout);
struct ptli_route *ptli_verbs_list_lease(struct ptli_node *node, ptl_pt_index_t pt); /* posting */
void ptli_verbs_list_leases_lost(struct ptli_node *node);                            /* posting */
/* posting: a user of a list gives it up; the last one has been given up, and the peer waits. */
void ptli_verbs_release(struct ptli_route *route);
void ptli_verbs_lease_return(struct ptli_route *route);
/* driving; false: a protocol error */
bool ptli_verbs_list_lease_message(struct ptli_node *node, const struct ptli_header *header,
                                   const void *data);

/* verbs_memory.c */
/* Memory of the transport could not be registered: reports why, and the remedy. */
void ptli_verbs_unregistered(struct ptli_verbs *v, size_t size, const char *what,
                             const char *variable) __attribute__((cold));
int ptli_verbs_enroll(struct ptli_transport *, void *, uint64_t, struct ptli_region **);
void ptli_verbs_expel(struct ptli_transport *, struct ptli_region *);
void ptli_verbs_regions_free(struct ptli_verbs *v);

/* verbs_progress.c */
int ptli_verbs_progress_start(struct ptli_verbs *v);
void ptli_verbs_progress_stop(struct ptli_verbs *v);
bool ptli_verbs_progress(struct ptli_transport *, ptl_time_t timeout);
void ptli_verbs_wake(struct ptli_transport *);
bool ptli_verbs_round(struct ptli_verbs *v); /* driving */
/* driving; the part of a round that follows the poll for completions, if there are any, something
 * is due or it is time to `listen` for handshake messages. */
bool ptli_verbs_work(struct ptli_verbs *v, const struct ibv_wc *wc, int n, bool listen);

/* Every so many rounds without completions. */
static inline bool ptli_verbs_is_time_to_listen(const struct ptli_verbs *v, uint32_t rounds)
{
    return rounds % PTLI_HEAR_SOON == 0 && (v->connecting || rounds % PTLI_HEAR_EVERY == 0);
}

/* Begins a round of progress by a caller: acquires driving.  False: another thread makes progress.
 */
static inline bool ptli_verbs_begin(struct ptli_verbs *v)
{
    if (atomic_load_explicit(&v->wanted, memory_order_relaxed)) return false;
    if (!ptli_mutex_try(&v->driving)) return false;
    atomic_store_explicit(&v->rounds, atomic_load_explicit(&v->rounds, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return true;
}

/* Posting.  Work requests that have not completed, at most. */
static inline uint32_t ptli_verbs_in_flight(const struct ptli_conn *conn)
{
    return conn->posted - atomic_load(&conn->done);
}

/* Posting.  The slot of the next work request, for which there is room. */
static inline struct ptli_wr *ptli_verbs_slot(struct ptli_conn *conn)
{
    struct ptli_wr *slot = conn->free;
    conn->free = slot->after;
    slot->number = ++conn->posted;
    return slot;
}

/* Posting.  Posts in the next slot; one of PTLI_SIGNAL is signalled in any case. */
static inline void ptli_verbs_post(struct ptli_conn *conn, struct ibv_send_wr *wr, ptli_item_t item,
                                   struct ptli_buffer *buffer)
{
    struct ptli_wr *slot = ptli_verbs_slot(conn);
    struct ibv_send_wr *bad;
    slot->item = item;
    slot->buffer = buffer;
    wr->wr_id = (uintptr_t)slot;
    if (item || buffer || conn->posted % PTLI_SIGNAL == 0) wr->send_flags |= IBV_SEND_SIGNALED;
    if (wr->send_flags & IBV_SEND_SIGNALED) conn->signalled = conn->posted;
    if (ibv_post_send(conn->qp, wr, &bad) != 0) ptli_verbs_cannot_post(conn);
}

/* Posting; before a message is posted.  release: pairs with the acquire in
 * ptli_verbs_conn_heard. */
static inline void ptli_verbs_count_message(struct ptli_conn *conn)
{
    atomic_store_explicit(&conn->messages,
                          atomic_load_explicit(&conn->messages, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* Nothing more is posted to the connection. */
static inline void ptli_verbs_break(struct ptli_conn *conn)
{
    conn->broken = true;
    conn->most = 0;
}

/* Driving and posting.  The work request has completed, and all before it. */
static inline void ptli_verbs_passed(struct ptli_conn *conn, uint32_t number)
{
    atomic_store_explicit(&conn->done, number, memory_order_release);
}

/* Posting.  Slots, buffers or window have become free. */
static inline void ptli_verbs_advanced(struct ptli_conn *conn)
{
    if (atomic_load(&conn->queued)) ptli_verbs_pump(conn->node);
}

#endif
