/* remote_process.h - the private side of what goes between hosts: processes there, connections to
 * them, and the QPs that are connected to theirs.
 *
 * One thread, the wire thread, reads all connections; a program's thread that posts writes to a
 * connection itself when there is room. Lock order: shca_wire.lock, then a QP's send lock, then a
 * far process's out lock. The wire lock is held by the wire thread whenever it is awake, and by
 * verbs that connect or drop a QP; never for long, and nobody waits for a peer under it.
 */
#ifndef SOFTHCA_REMOTE_PROCESS_H
#define SOFTHCA_REMOTE_PROCESS_H

#include "other/softhca/datapath/datapath.h"
#include "other/softhca/objects/object.h"
#include "other/softhca/segment/segment.h"
#include "other/softhca/tcp/fabric.h"
#include "other/softhca/tcp/greet.h"
#include "other/softhca/tcp/remote.h"

enum {
    CONN_SMALL = 8192, /* a payload up to this is taken up whole before it is run */
    CONN_INPUT = 4 * CONN_SMALL,
    CONN_REFUSALS = 32,   /* refusals for QPs that are not there, waiting to be sent */
    CONN_BATCH = 1 << 18, /* bytes that one QP may send until it is another's turn */
};

/* What becomes of the payload that is arriving. */
enum conn_sink { SINK_HEADER, SINK_WHOLE, SINK_STREAM, SINK_DROP };

enum conn_state { CONN_DIALLING, CONN_GREETING, CONN_UP };

struct shca_conn {
    int fd;
    enum conn_state state;
    bool connector;
    bool confirmed;                      /* the other is known to take it for up */
    bool broken;                         /* by whoever wrote last; the wire thread closes it */
    struct shca_remote_process *process; /* NULL until an acceptor knows */
    struct shca_conn *next;
    uint64_t since; /* in this state */
    struct greet greet;
    struct sockaddr_storage address;
    /* input; wire lock */
    struct wire_frame frame;
    enum conn_sink sink;
    uint32_t left;          /* payload bytes of the frame still to come */
    bool indirect;          /* they are for memory that is not ours: through the buffer */
    struct shca_remote *to; /* of a stream */
    uint32_t in_at, in_end;
    uint8_t in[CONN_INPUT];
    uint32_t refusals;
    struct wire_frame refusal[CONN_REFUSALS];
    /* output; out lock */
    bool blocked; /* wait for EPOLLOUT; first the stash, what the socket did not take of a frame */
    uint32_t events;
    uint8_t *stash;
    size_t stash_at, stash_end;
    uint64_t unacked_since; /* the other kernel owes an answer; wire lock */
};

/* A process on another host. */
struct shca_remote_process {
    struct wire_process who;          /* nonce 0: not met yet */
    struct shca_remote_process *next; /* of those in the same slot; table lock, as REFS */
    int refs;
    struct shca_remote *remotes;
    _Atomic bool gone; /* that process has ended */
    uint32_t serial;
    struct shca_conn *attempt; /* to connect, of ours */
    uint64_t retry_at, pause;
    unsigned address;            /* which one is next */
    _Atomic unsigned refused;    /* refusals in a row */
    _Atomic uint64_t down_since; /* since when we try in vain, 0 when we do not */
    uint64_t unanswered_since;
    _Atomic uint64_t wanted; /* when last by a sender that does not wait */
    _Atomic uint64_t wake;   /* when to look at its QPs; REMOTE_NEVER: a poster must wake us, */
    _Atomic bool kicked;     /* and has done so */
    struct shca_remote *due, **due_end; /* responders with something to answer; wire lock */
    struct shca_lock out;
    struct shca_conn *_Atomic up;
    struct shca_remote *ready, **ready_end; /* with something to send, when there is room */
};

/* What a QP has more when its other end is on another host. */
struct shca_remote {
    struct shca_qp *qp;
    struct shca_remote_process *process;
    uint32_t dest_qpn;
    uint32_t decided;      /* messages before this one were or were not hit by a fault; send lock */
    uint32_t ran;          /* and its WRs before this one that concern this side alone are done */
    struct requester out;  /* send lock */
    struct responder in;   /* wire lock */
    struct shca_link link; /* to our own QP, as from outside */
    uint64_t port_down_since;    /* its port is not active; send lock */
    struct ibv_send_wr wr;       /* the request that is run */
    struct shca_receive receive; /* that it uses up, when it comes in pieces */
    struct shca_remote *next, *ready_next, *due_next;
    bool ready, due;
    _Atomic bool receive_posted; /* after a refusal */
};

struct shca_wire {
    pthread_mutex_t lock;
    struct shca_lock table; /* of far processes; taken last */
    int epoll, kick, timer;
    uint64_t wake; /* when shca_remote_process_tick() is due */
    int listener[SHCA_ADDRESSES];
    unsigned listeners;
    struct shca_conn *conns;
    struct shca_remote_process *process[SHCA_SLOTS];
    struct shca_remote *remote[SHCA_QPS];
    struct shca_peer *outside; /* this process as its peers see it */
    struct greet_self self;
};
extern struct shca_wire shca_wire;

/* user_memory.c: memory of this program, by calls that fail where it is not there */
int shca_slice(const struct shca_gather *g, size_t offset, size_t len, struct iovec *out);
bool shca_user_memory_read(void *to, const struct iovec *from, int n);
bool shca_user_memory_write(const void *from, const struct iovec *to, int n);

/* tcp.c: sockets */
int shca_tcp_start(void);
struct shca_conn *shca_tcp_dial(const struct sockaddr_storage *to);
void shca_tcp_close(struct shca_conn *c);
void shca_tcp_kick(void); /* shca_remote_process_tick() shall be called */
bool shca_tcp_random(uint8_t *to, size_t n);
/* How long the other kernel has owed us a sign of life, ns. */
uint64_t shca_tcp_silence(struct shca_conn *c, uint64_t now);
/* Send the N pieces of IOV, TOTAL bytes; what does not go now is kept. The connection must not be
 * blocked. False: memory of it is not there, and nothing was sent. These four: out lock held. */
bool shca_tcp_send(struct shca_conn *c, struct iovec *iov, int n, size_t total);
bool shca_tcp_flush(struct shca_conn *c);
void shca_tcp_yield(struct shca_conn *c);
void shca_tcp_break(struct shca_conn *c);

/* remote_process.c: processes of other hosts, and how we come to be connected to them. Wire lock
 * held. */
struct shca_remote_process *
shca_remote_process_find(uint32_t host, uint32_t slot); /* these three: without the lock too */
void shca_remote_process_put(struct shca_remote_process *f);
void shca_remote_process_kick(struct shca_remote_process *f); /* the wire thread is to look at it */
void shca_remote_process_release(struct shca_remote_process *f); /* when nobody needs it */
bool shca_remote_process_accepted(struct shca_conn *c);
void shca_remote_process_dialled(struct shca_conn *c, int error);
bool shca_remote_process_greeting(struct shca_conn *c, const struct wire_frame *f,
                                  const uint8_t *payload);
void shca_remote_process_lost(struct shca_conn *c);
uint64_t shca_remote_process_tick(uint64_t now); /* returns when to come again */
void shca_remote_process_wake(struct shca_remote_process *f, uint64_t when);

/* tcp_recv.c: what arrives. Wire lock held. */
bool shca_tcp_recv(struct shca_conn *c); /* false: the connection is over */
ssize_t shca_tcp_recv_read(struct shca_conn *c, struct iovec *to, int pieces, size_t n);

/* tcp_send.c: QPs, and what they send; more for verbs in object.h. Wire lock held. */
void shca_tcp_send_up(struct shca_remote_process *f);
void shca_tcp_send_lost(struct shca_remote_process *f);
bool shca_tcp_send_tick(struct shca_remote_process *f); /* true: somebody waits for the other */
void shca_tcp_send_write(struct shca_conn *c);          /* there may be room */
void shca_tcp_send_settle(struct shca_remote *r); /* send lock held; its requester may have moved */

/* tcp_respond.c: requests that arrive, and answers to them. Wire lock held. */
struct shca_remote *shca_tcp_respond_find(const struct shca_conn *c, const struct wire_frame *f);
/* A request that arrives in pieces: whether they are wanted. False: close the connection. */
bool shca_tcp_respond_begin(struct shca_conn *c, const struct wire_frame *f, bool *wanted);
/* N bytes of it are at BYTES, or, when NULL, wait in the socket. How many were taken; -1: the
 * connection is over. */
ssize_t shca_tcp_respond_piece(struct shca_conn *c, const uint8_t *bytes, size_t n);
bool shca_tcp_respond_whole(struct shca_conn *c, const struct wire_frame *f,
                            const uint8_t *payload);
void shca_tcp_respond_datagram(const struct wire_frame *f, const uint8_t *payload); /* datagram.c */
void shca_tcp_respond_due(struct shca_remote *r); /* it has something to answer */
void shca_tcp_respond_not(struct shca_remote *r); /* it goes */
void shca_tcp_respond_answer(struct shca_remote_process *f);

#endif
