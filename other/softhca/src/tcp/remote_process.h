/* remote_process.h - the private header of tcp/: processes on other hosts, connections to them, and
 * the QPs that are connected to theirs.
 *
 * The wire thread reads all connections. A thread of the program that posts writes to a connection
 * itself while the socket has room. Lock order: shca_wire.lock, then a QP's send lock, then the out
 * lock of a remote process. The wire thread holds the wire lock whenever it is awake; verbs that
 * connect or drop a QP take it for a short time. No thread waits for a peer under it.
 */
#ifndef SOFTHCA_REMOTE_PROCESS_H
#define SOFTHCA_REMOTE_PROCESS_H

#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/settings/fabric.h"
#include "other/softhca/src/tcp/greet.h"
#include "other/softhca/src/tcp/remote.h"

enum {
    CONN_SMALL = 8192, /* a payload up to this is received whole before it is executed */
    CONN_INPUT = 4 * CONN_SMALL,
    CONN_REFUSALS = 32,   /* NAKs for QPs that do not exist, queued for sending */
    CONN_BATCH = 1 << 18, /* bytes that one QP may send before the next QP */
};

/* What is done with the payload that is arriving. */
enum conn_sink { SINK_HEADER, SINK_WHOLE, SINK_STREAM, SINK_DROP };

enum conn_state { CONN_DIALLING, CONN_GREETING, CONN_UP };

struct shca_conn {
    int fd;
    enum conn_state state;
    bool connector;
    bool confirmed;                      /* the peer is known to use this connection */
    bool broken;                         /* a write failed; the wire thread closes the connection */
    struct shca_remote_process *process; /* NULL until an accepted connection is identified */
    struct shca_conn *next;
    uint64_t since; /* in this state */
    struct greet greet;
    struct sockaddr_storage address;
    /* input; wire lock */
    struct wire_frame frame;
    enum conn_sink sink;
    uint32_t left;          /* bytes of the payload still to come */
    bool indirect;          /* the payload is for memory of another process: use the buffer */
    struct shca_remote *to; /* of a stream */
    uint32_t in_at, in_end;
    uint8_t in[CONN_INPUT];
    uint32_t refusals;
    struct wire_frame refusal[CONN_REFUSALS];
    /* output; out lock */
    bool blocked; /* wait for EPOLLOUT, then send the stash: the rest of a frame */
    uint32_t events;
    uint8_t *stash;
    size_t stash_at, stash_end;
    uint64_t unacked_since; /* since when the other kernel has acknowledged nothing; wire lock */
};

/* A process on another host. */
struct shca_remote_process {
    struct wire_process who;          /* nonce 0: never connected */
    struct shca_remote_process *next; /* list of processes with this slot; table lock, like REFS */
    int refs;
    struct shca_remote *remotes;
    _Atomic bool gone; /* the process has ended */
    uint32_t serial;
    struct shca_conn *attempt; /* an outgoing connection that is not up yet */
    uint64_t retry_at, pause;
    unsigned address;            /* index of the address to try next */
    _Atomic unsigned refused;    /* refusals in a row */
    _Atomic uint64_t down_since; /* of the connection; 0: up, or not needed */
    uint64_t unanswered_since;
    _Atomic uint64_t wanted; /* time of the last message of a sender that does not wait */
    _Atomic uint64_t wake;   /* when the tick is due; REMOTE_NEVER: a poster must set KICKED */
    _Atomic bool kicked;     /* a poster asks for a tick */
    struct shca_remote *due, **due_end; /* responders with an answer to send; wire lock */
    struct shca_lock out;
    struct shca_conn *_Atomic up;
    struct shca_remote *ready, **ready_end; /* QPs that wait for room in the socket */
};

/* The additional state of a QP whose other end is on another host. */
struct shca_remote {
    struct shca_qp *qp;
    struct shca_remote_process *process;
    uint32_t dest_qpn;
    uint32_t decided;            /* faults of messages before this one are decided; send lock */
    uint32_t began;              /* WRs before this message were begun; local ones are done */
    struct requester out;        /* send lock */
    struct responder in;         /* wire lock */
    struct shca_target target;   /* to this process's own QP, for respond.c */
    uint64_t port_down_since;    /* since when the QP's port is not active; send lock */
    struct ibv_send_wr wr;       /* the request being executed */
    struct shca_receive receive; /* the receive of WR, when its message arrives in parts */
    struct shca_remote *next, *ready_next, *due_next;
    bool ready, due;
    _Atomic bool receive_posted; /* a receive was posted after an RNR NAK */
};

struct shca_wire {
    pthread_mutex_t lock;
    struct shca_lock table; /* of remote processes; taken last */
    int epoll, kick, timer;
    uint64_t wake; /* when shca_remote_process_tick() is due */
    int listener[SHCA_ADDRESSES];
    unsigned listeners;
    struct shca_conn *conns;
    struct shca_remote_process *process[SHCA_SLOTS];
    struct shca_remote *remote[SHCA_QPS];
    struct shca_peer *outside; /* this process through a mapping of its own segment */
    struct greet_self self;
};
extern struct shca_wire shca_wire;

/* user_memory.c: access to memory of the program that reports unmapped memory */
int shca_slice(const struct shca_gather *g, size_t offset, size_t len, struct iovec *out);
bool shca_user_memory_read(void *to, const struct iovec *from, int n);
bool shca_user_memory_write(const void *from, const struct iovec *to, int n);

/* tcp.c: sockets */
int shca_tcp_start(void);
struct shca_conn *shca_tcp_dial(const struct sockaddr_storage *to);
void shca_tcp_close(struct shca_conn *c);
void shca_tcp_kick(void); /* shca_remote_process_tick() is due */
bool shca_tcp_random(uint8_t *to, size_t n);
/* How long the other kernel has acknowledged nothing, ns. */
uint64_t shca_tcp_silence(struct shca_conn *c, uint64_t now);
/* Sends the N pieces of IOV, TOTAL bytes; what the socket does not take is kept in the stash. The
 * connection must not be blocked. False: memory of a piece is unmapped, and nothing was sent. Out
 * lock held, for this and the next three functions. */
bool shca_tcp_send(struct shca_conn *c, struct iovec *iov, int n, size_t total);
bool shca_tcp_flush(struct shca_conn *c);
void shca_tcp_yield(struct shca_conn *c);
void shca_tcp_break(struct shca_conn *c);

/* remote_process.c: processes of other hosts and the connection to each. Wire lock held. */
struct shca_remote_process *
shca_remote_process_find(uint32_t host, uint32_t slot); /* as put, kick: also without lock */
void shca_remote_process_put(struct shca_remote_process *f);
void shca_remote_process_kick(struct shca_remote_process *f);    /* the wire thread ticks F */
void shca_remote_process_release(struct shca_remote_process *f); /* frees F when it is not used */
bool shca_remote_process_accepted(struct shca_conn *c);
void shca_remote_process_dialled(struct shca_conn *c, int error);
bool shca_remote_process_greeting(struct shca_conn *c, const struct wire_frame *f,
                                  const uint8_t *payload);
void shca_remote_process_lost(struct shca_conn *c);
uint64_t shca_remote_process_tick(uint64_t now); /* returns when the next tick is due */
void shca_remote_process_wake(struct shca_remote_process *f, uint64_t when);

/* tcp_recv.c: receives frames. Wire lock held. */
bool shca_tcp_recv(struct shca_conn *c); /* false: the connection is over */
ssize_t shca_tcp_recv_read(struct shca_conn *c, struct iovec *to, int pieces, size_t n);

/* tcp_send.c: sends for QPs; the verbs use the declarations in tcp.h. Wire lock held. */
void shca_tcp_send_up(struct shca_remote_process *f);
void shca_tcp_send_lost(struct shca_remote_process *f);
bool shca_tcp_send_tick(struct shca_remote_process *f); /* true: a QP waits for the process */
void shca_tcp_send_write(struct shca_conn *c);          /* the socket may have room */
void shca_tcp_send_settle(struct shca_remote *r); /* after its requester moved; send lock held */

/* tcp_respond.c: requests that arrive, and answers to them. Wire lock held. */
struct shca_remote *shca_tcp_respond_find(const struct shca_conn *c, const struct wire_frame *f);
/* A request that arrives in parts: *WANTED says whether to deliver them. False: close the
 * connection. */
bool shca_tcp_respond_begin(struct shca_conn *c, const struct wire_frame *f, bool *wanted);
/* Delivers N bytes, at BYTES or, when NULL, still in the socket. Returns how many were taken; -1:
 * the connection is over. */
ssize_t shca_tcp_respond_piece(struct shca_conn *c, const uint8_t *bytes, size_t n);
bool shca_tcp_respond_whole(struct shca_conn *c, const struct wire_frame *f,
                            const uint8_t *payload);
void shca_tcp_respond_datagram(const struct wire_frame *f, const uint8_t *payload); /* datagram.c */
void shca_tcp_respond_due(struct shca_remote *r);   /* R has an answer to send */
void shca_tcp_respond_undue(struct shca_remote *r); /* R leaves the list */
void shca_tcp_respond_answer(struct shca_remote_process *f);

#endif
