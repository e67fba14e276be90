/* qp.h - the private side of the device: the structures of verbs objects, of peers and of this
 * process.
 *
 * The functions are declared in the header of each folder: edge.h, device.h, segment.h, verbs.h,
 * datapath.h, tcp.h.
 *
 * Lock order: shca.lock, then a QP's send lock, its receive lock, then a CQ's lock, an SRQ's, and
 * shca.peer_lock. The links of connected QPs change under shca.lock. The RPC thread
 * (rpc_server.c) takes none of these, because a peer may wait for its reply while holding its own.
 */
#ifndef SOFTHCA_OBJECT_H
#define SOFTHCA_OBJECT_H

#include "other/softhca/src/settings/inventory.h"
#include "other/softhca/src/segment/lock.h"
#include "other/softhca/src/segment/rpc.h"
#include "other/softhca/src/segment/shm.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Bit masks of opcodes. The bits of IBV_QP_EX_WITH_... are the same. */
enum {
    SHCA_SENDS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
    SHCA_WRITES = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM,
    SHCA_IWARP = 1 << IBV_WR_SEND | 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_READ,
    SHCA_FETCHES =
        1 << IBV_WR_RDMA_READ | 1 << IBV_WR_ATOMIC_CMP_AND_SWP | 1 << IBV_WR_ATOMIC_FETCH_AND_ADD,
    SHCA_WINDOWS = 1 << IBV_WR_BIND_MW | 1 << IBV_WR_LOCAL_INV | 1 << IBV_WR_SEND_WITH_INV
};
#define SHCA_NO_DEADLINE (~0ull)
#define SHCA_EXPORT      __attribute__((visibility("default")))

struct shca_qp;
struct shca_injector; /* inject.h */
struct shca_delayed;
struct shca_done; /* done.h */

/* Vendor libraries compare fields of their own behind ibv_device: these read as zeros. */
struct shca_device {
    struct ibv_device base;
    char verbs_device_tail[512];
    uint32_t index;
    const struct shca_device_model *model;
    _Atomic uint32_t used[SHCA_KINDS];
    _Atomic bool gone;
};

struct shca_context {
    struct verbs_context v;
    struct shca_event *events, **events_end; /* under v.context.mutex */
    bool inherited;                          /* made by the parent of a forked process */
    bool removed;                            /* the context's device was removed */
    struct shca_context *next;               /* in shca.contexts */
};

struct shca_pd {
    struct ibv_pd base;
    uint32_t id;
    _Atomic int users;
    struct ibv_pd *of; /* the PD behind a parent domain */
    struct ibv_td *td;
};

struct shca_mr {
    struct ibv_mr base;
    uint64_t verbs_mr_tail[4]; /* providers read past ibv_mr */
    struct shm_mr *s;
    struct shca_mw *windows; /* bound over it, under the lock of mw.c */
};

struct shca_mw {
    struct ibv_mw base;
    struct shm_mr *s;
    struct shca_mr *over; /* the region it is or was bound over */
    struct shca_mw *next; /* of these */
};

struct shca_channel {
    struct ibv_comp_channel base;
    uint32_t id; /* generation and index: a peer never wakes the successor of a destroyed channel */
    struct shca_cq *cqs; /* under shca.channel_lock, like the list itself */
};

enum { SHCA_NOT_POLLED = -1 }; /* the next empty poll makes it 0 */

struct shca_cq {
    union {
        struct ibv_cq base;
        struct ibv_cq_ex ex;
    };
    struct shm_cq *s;
    struct shm_ring *_Atomic ring;
    uint32_t index;
    struct shca_lock lock;  /* consumers */
    _Atomic uint32_t empty; /* empty polls in a row, or SHCA_NOT_POLLED since the program
                               took an event; not exact with several threads */
    _Atomic uint32_t spins_before_yield; /* empty polls before the thread yields */
    _Atomic int users;
    /* Completions of short WRITEs (done.h). */
    _Atomic int32_t spare;  /* entries beyond the most completions of all its queues; below 0
                               they may overflow it, or it is resized */
    _Atomic uint32_t fresh; /* some QP may have one */
    struct shca_qp *_Atomic arrived;  /* QPs that were listed since the last poll */
    struct shca_qp *busy, *busy_last; /* QPs that a poll has moved here; under lock */
    uint32_t n_busy;                  /* number of QPs in busy; under lock */
    bool ring_first;                  /* in the last poll; under lock */
    size_t pinned;                    /* charged for the ring */
    uint32_t ev_consumed, ev_given;   /* under channel_lock */
    uint32_t async_given;
    _Atomic bool overflow_raised;
    struct shca_cq *channel_next;
    struct shca_delayed *delayed; /* NULL without injected faults */
    struct ibv_wc ex_wc;          /* the current completion of ibv_start_poll/next_poll */
};

struct shca_peer {
    struct shm_header *_Atomic h; /* mapped by peer_map.c once the segment is received */
    _Atomic uint64_t len;
    _Atomic bool attached, lost; /* attached: its segment is mapped; lost: it never will be */
    _Atomic bool awaited;        /* a sender has waited for the segment once */
    _Atomic bool unmappable;     /* mapping the peer's memory fails, as was reported */
    bool self;
    uint32_t slot;
    int refs; /* under shca.peer_lock */
    int sock;
    bool timed; /* timeouts are set on the socket */
    int memfd;  /* descriptor number in the owner of the segment; its file: */
    dev_t dev;
    ino_t ino;
    pid_t pid;
    _Atomic bool no_pvm;     /* the system refuses process_vm_* to this process */
    _Atomic bool registered; /* this process has a UD access word in the peer's header, see
                                ud_access_guard.c */
    struct shca_lock rpc;    /* one request at a time on sock */
    _Atomic(char *) arena;
    _Atomic uint64_t arena_len;
    struct shca_window *windows; /* all mappings of its arena, under rpc */
    uint64_t *channel_fd;        /* [SHCA_CHANNELS] id << 32 | fd, under rpc; made at first use */
    struct shca_peer *next;      /* list of all peers, under shca.peer_lock */
};

/* A send WR that waits in the ring. */
struct shca_wqe {
    struct ibv_send_wr wr;
    struct ibv_sge sge[]; /* followed by the inline bytes */
};

struct shca_srq {
    struct ibv_srq base;
    enum ibv_srq_type type; /* TYPE to SRQ_NUM complete libibverbs' verbs_srq */
    struct ibv_xrcd *xrcd;
    struct ibv_cq *cq;
    uint32_t srq_num;
    struct shm_srq *s;
    uint32_t index, size, max_sge;
    struct shca_lock lock;
    _Atomic int users; /* QPs */
    size_t pinned;     /* charged for the receives */
    uint32_t async_given;
    struct shca_srq *next; /* list of all */
    uint32_t n_unused, unused[];
};

/* The host that an address belongs to. */
enum {
    /* this process through a mapping as another process has it: no direct pointers */
    SHCA_OUTSIDE = -2,
    SHCA_NOWHERE = -1,
    SHCA_HERE = 0 /* 1 and more: another host */
};
struct shca_place {
    int host;
    uint32_t port;
};

struct shca_ah {
    struct ibv_ah base;
    uint32_t port; /* the source port */
    struct shca_place place;
    struct shm_route route;
    bool global;
    struct ibv_grh grh; /* without its length; zero when not global */
};

/* The region that the last short WRITE of a queue pair went to. While `range` is not 0 all that
 * this process checks for a short WRITE holds, but for room in the send queue and the life of the
 * peer: whatever changes it forgets the region (shca_forget_region). What the peer may change has
 * the same counts of changes. Under sq. */
struct shca_known {
    const struct shm_mr *mr;
    struct shm_header *h; /* of the peer */
    uint32_t rkey;
    uint32_t mr_changes, t_changes; /* of the region and of the target QP */
    uint32_t range;                 /* small_range of the queue pair, or 0 */
    uint64_t iova, inner;           /* N bytes at offsets less than INNER - N are in the region */
    char *here;                     /* the address of iova in this process */
};

/* The connection of a queue pair to the QP that it sends to. */
struct shca_link {
    struct shca_peer *peer; /* the process whose queue and memory are used; NULL: the target is */
    struct shca_remote *remote; /* on another host, or, when this is NULL too, does not exist */
    struct shm_qp *t;           /* the target QP's entry; NULL until the peer is attached */
    struct shca_peer *owner;    /* of the target QP: PEER, but for messages to an XRC target */
    struct shca_peer **peers;   /* processes that a UD or XRC QP has sent to, or NULL */
    uint32_t from, to;          /* QP numbers */
    uint32_t source;            /* of a datagram: FROM, for its completion; otherwise 0 */
    uint32_t dest_port;
    uint64_t sender_id; /* identity that the target must accept, see shm_sender_id(); or
                           SHCA_NO_SENDER */
    struct shm_route route;
    const struct shca_tear *tear; /* how a fault tears the message being executed, or NULL */
    uint32_t active;              /* last even value left in t->active */
    uint32_t prod;                /* a copy: the line of t->rq_prod moves with every receive */
    struct shca_known known;
    uint32_t unmapped; /* the last rkey found to be of memory that is not mapped here */
    uint32_t qkey;     /* of a datagram */
    uint16_t pkey;     /* of the sending QP */
    uint8_t type;      /* type of the sending QP */
    bool reliable;     /* the result of a message is reported */
    bool grh;          /* a datagram begins with a GRH */
};

struct shca_qp {
    union {
        struct ibv_qp base;
        struct ibv_qp_ex ex;
    };
    uint32_t comp_mask; /* this and verbs_qp_tail complete libibverbs' verbs_qp */
    void *verbs_qp_tail;
    struct shm_qp *s;
    struct shca_link link;
    struct shca_cq *send_cq, *recv_cq;
    struct shca_srq *srq;  /* the SRQ that the QP receives from; NULL: the QP's own ring */
    struct ibv_xrcd *xrcd; /* of an XRC target */
    bool managed;          /* the connection manager is connecting it */
    bool acceptor;         /* iWARP: in RTR until the first message of the peer */
    bool private_srq;      /* SRQ is the QP's own, as a UD QP has it: many senders send to the QP */
    uint32_t opcodes;      /* mask of the opcodes that the QP may send */
    uint32_t sink_access;  /* access flags that the memory of a READ needs */
    uint32_t index;
    uint32_t port; /* from INIT on */

    struct shca_injector *faults; /* NULL without injected faults */

    struct shca_lock sq;
    uint32_t sq_size, sq_mask, sq_stride, max_send_sge, max_inline;
    uint32_t max_read_sge;    /* at most max_send_sge */
    uint32_t small_range;     /* a small inlined WRITE has 8 bytes and less than this more */
    uint32_t max_message;     /* bytes; from INIT on, as the port */
    uint32_t sq_head;         /* WRs accepted */
    uint32_t sq_exec;         /* WRs executed; the rest wait in sq_ring */
    _Atomic uint32_t sq_done; /* freed by polled completions */
    bool sig_all;
    bool plain; /* RC, and without injected faults: WRITEs may take the short way */
    /* Completions of short WRITEs (done.h). */
    struct shca_done *done;     /* a ring of sq_mask + 1 */
    _Atomic uint32_t done_tail; /* under sq */
    uint32_t done_head;         /* under the lock of send_cq */
    bool done_listed;           /* under sq */
    struct shca_qp *done_next;  /* in the list of send_cq */
    _Atomic uint32_t
        in_cq_ring; /* 1 + index of the last WR whose completion went to send_cq's ring */
    char *sq_ring;
    size_t sq_bytes;   /* of the ring, and of DONE behind it */
    size_t pinned;     /* charged for both rings */
    bool waiting;      /* in the list of QPs with waiting WRs */
    int waits_for;     /* SHCA_NOT_READY or another reason */
    uint64_t deadline; /* CLOCK_MONOTONIC ns; 0 = never, or SHCA_NO_DEADLINE */
    uint64_t check_at; /* when to check by a system call that the peer lives */
    struct shca_qp *wait_next;

    struct shca_lock rq;
    uint32_t rq_size, max_recv_sge;
    _Atomic uint32_t rq_done; /* freed by polled completions */
    bool flushing;            /* receives were flushed, up to: */
    uint32_t rq_flushed;
    uint32_t receives; /* the most of which completions may be in recv_cq */

    struct ibv_qp_attr attr;
    struct ibv_qp_cap cap;
    uint32_t async_given;
    bool last_wqe_raised;
    bool drain_wanted;         /* in SQD, IBV_EVENT_SQ_DRAINED is due; send lock */
    int opened;                /* times opened by ibv_open_qp(), of an XRC target */
    struct shca_peer *foreign; /* an XRC target of another process: this object is only a handle */
    struct shca_qp *next;      /* list of all QPs */
    struct shca_batch *batch;  /* ibv_wr_* calls between wr_start and wr_complete */
};

/* The state of this process. */
struct shca_process {
    struct shm_header *_Atomic h; /* NULL until the first open */
    struct shca_peer me;
    uint32_t slot;
    pthread_mutex_t lock;      /* tables of objects */
    pthread_mutex_t peer_lock; /* table of peers */
    pthread_mutex_t channel_lock;
    struct shca_qp *qps;
    struct shca_qp *_Atomic qp[SHCA_QPS]; /* as srq: ibv_poll_cq() takes no lock */
    struct shca_cq *cq[SHCA_CQS];
    struct shca_srq *srqs;
    struct shca_srq *_Atomic srq[SHCA_SRQS];
    struct shca_channel *channel[SHCA_CHANNELS];
    struct shca_peer *peer[SHCA_SLOTS];
    struct shca_peer *peers;       /* all peers; replaced ones are no longer in the table */
    _Atomic int waiting;           /* QPs with waiting WRs */
    void (*wake)(uint32_t number); /* from softhca_sleeper() */
};
extern struct shca_process shca;

static inline struct shca_context *shca_context(struct ibv_context *c)
{
    return (struct shca_context *)((char *)c - offsetof(struct shca_context, v.context));
}
static inline struct shca_device *shca_device(const struct ibv_context *c)
{
    return (struct shca_device *)c->device;
}
static inline struct shca_qp *shca_qp(struct ibv_qp *q)
{
    return (struct shca_qp *)q;
}
/* The QP of this process that a completion names. The acquire makes visible what the thread that
 * created the QP wrote, though the completion came from another process. */
static inline struct shca_qp *shca_qp_numbered(uint32_t qpn)
{
    return atomic_load_explicit(&shca.qp[shm_qpn_index(qpn)], memory_order_acquire);
}
static inline struct shca_cq *shca_cq(struct ibv_cq *c)
{
    return (struct shca_cq *)c;
}
static inline struct shca_srq *shca_srq(struct ibv_srq *q)
{
    return (struct shca_srq *)q;
}
static inline struct shca_ah *shca_ah(struct ibv_ah *a)
{
    return (struct shca_ah *)a;
}
static inline struct shca_pd *shca_pd(struct ibv_pd *p)
{
    return (struct shca_pd *)p;
}
static inline struct shca_mr *shca_mr(struct ibv_mr *m)
{
    return (struct shca_mr *)m;
}
static inline uint32_t shca_power_of_two(uint32_t n)
{
    uint32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* Send lock held. */
static inline void shca_forget_region(struct shca_qp *qp)
{
    qp->link.known.range = 0;
}

/* The words of the QP that initiators check have changed. An initiator inside that has read the old
 * count may still use the old words: to be called before shca_qp_quiesce(). Send lock held. */
static inline void shca_qp_changed(struct shca_qp *qp)
{
    shca_forget_region(qp);
    atomic_fetch_add(&qp->s->changes, 1);
}

/* The state of the QP; base.state is a copy for the program. */
static inline enum ibv_qp_state shca_state(const struct shca_qp *qp)
{
    return atomic_load_explicit(&qp->s->state, memory_order_acquire);
}

#endif
