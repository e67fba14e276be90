/* object.h - the private side of the device: the structures of verbs objects, peers and this
 * process.
 *
 * Which functions there are is told by the header of each room: edge.h, device.h, segment.h,
 * verbs.h, datapath.h, tcp.h.
 *
 * Lock order: shca.lock, then a QP's send lock, its receive lock, then a CQ's lock, an SRQ's, and
 * shca.peer_lock. The answering thread (rpc_server.c) takes none of these, because a peer may wait
 * for it while holding its own.
 */
#ifndef SOFTHCA_OBJECT_H
#define SOFTHCA_OBJECT_H

#include "other/softhca/device/inventory.h"
#include "other/softhca/objects/lock.h"
#include "other/softhca/segment/rpc.h"
#include "other/softhca/segment/shm.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Opcodes as bits. Those of IBV_QP_EX_WITH_... are the same. */
enum {
    SHCA_SENDS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
    SHCA_WRITES = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM,
    SHCA_FETCHES =
        1 << IBV_WR_RDMA_READ | 1 << IBV_WR_ATOMIC_CMP_AND_SWP | 1 << IBV_WR_ATOMIC_FETCH_AND_ADD,
    SHCA_WINDOWS = 1 << IBV_WR_BIND_MW | 1 << IBV_WR_LOCAL_INV | 1 << IBV_WR_SEND_WITH_INV
};
#define SHCA_NO_DEADLINE (~0ull)
#define SHCA_EXPORT      __attribute__((visibility("default")))

struct shca_qp;
struct shca_injector; /* inject.h */
struct shca_delayed;

/* Vendor libraries compare fields that lie behind ibv_device: let them read zeros. */
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
    bool inherited;                          /* of the parent, in the child of a fork */
    bool removed;                            /* with its device */
    struct shca_context *next;               /* of these */
};

struct shca_pd {
    struct ibv_pd base;
    uint32_t id;
    _Atomic int users;
    struct ibv_pd *of; /* a parent domain: what it stands for */
    struct ibv_td *td;
};

struct shca_mr {
    struct ibv_mr base;
    uint64_t verbs_mr_tail[4]; /* providers read past ibv_mr */
    struct shm_mr *s;
    struct shca_mw *windows; /* over it, see mw.c */
};

struct shca_mw {
    struct ibv_mw base;
    struct shm_mr *s;
    struct shca_mr *over; /* bound over it, once */
    struct shca_mw *next; /* of these */
};

struct shca_channel {
    struct ibv_comp_channel base;
    uint32_t id;         /* generation and index, so that a peer never rings a successor */
    struct shca_cq *cqs; /* under shca.channel_lock, like the list itself */
};

struct shca_cq {
    union {
        struct ibv_cq base;
        struct ibv_cq_ex ex;
    };
    struct shm_cq *s;
    struct shm_ring *_Atomic ring;
    uint32_t index;
    struct shca_lock lock;  /* consumers */
    _Atomic uint32_t empty; /* polls in a row that found nothing; threads may miscount */
    _Atomic uint32_t spins_before_yield; /* how many of them until the core is offered to others */
    _Atomic int users;
    uint32_t ev_consumed, ev_given; /* under channel_lock */
    uint32_t async_given;
    _Atomic bool overflow_raised;
    struct shca_cq *channel_next;
    struct shca_delayed *delayed; /* when there are faults */
    struct ibv_wc ex_wc;          /* the completion ibv_start_poll/next_poll stand on */
};

struct shca_peer {
    struct shm_header *_Atomic h; /* what peer_map.c has mapped, once we have met */
    _Atomic uint64_t len;
    _Atomic bool attached, lost; /* its segment is here; it never will be */
    _Atomic bool awaited;        /* a sender has waited for it */
    _Atomic bool unmappable;     /* this process lacks what it takes to look into it: said why */
    bool self;
    uint32_t slot;
    int refs; /* under shca.peer_lock */
    int sock;
    bool timed; /* the socket waits */
    int memfd;  /* as its owner calls it; its file is this one: */
    dev_t dev;
    ino_t ino;
    pid_t pid;
    _Atomic bool no_pvm;     /* process_vm_* refused: ask the owner's thread */
    _Atomic bool registered; /* as a guest there, see ud_access_guard.c */
    struct shca_lock rpc;    /* one question at a time on sock */
    _Atomic(char *) arena;
    _Atomic uint64_t arena_len;
    struct shca_window *windows; /* all mappings of its arena, under rpc */
    uint64_t *channel_fd;        /* [SHCA_CHANNELS] id << 32 | fd, under rpc; made at first use */
    struct shca_peer *next;      /* of all, under shca.peer_lock */
};

/* A send WR that could not run at once. */
struct shca_wqe {
    struct ibv_send_wr wr;
    struct ibv_sge sge[]; /* then the inline bytes */
};

struct shca_srq {
    struct ibv_srq base;
    enum ibv_srq_type type; /* these four complete libibverbs' verbs_srq */
    struct ibv_xrcd *xrcd;
    struct ibv_cq *cq;
    uint32_t srq_num;
    struct shm_srq *s;
    uint32_t index, size, max_sge;
    struct shca_lock lock;
    _Atomic int users; /* QPs */
    uint32_t async_given;
    struct shca_srq *next; /* list of all */
    uint32_t n_unused, unused[];
};

/* Where an address leads. */
enum {
    SHCA_OUTSIDE = -2, /* this host, and this process too as others see it: no pointer into it */
    SHCA_NOWHERE = -1,
    SHCA_HERE = 0 /* those above are other hosts, counted from 1 */
};
struct shca_place {
    int host;
    uint32_t port;
};

struct shca_ah {
    struct ibv_ah base;
    uint32_t port; /* it starts from */
    struct shca_place place;
    struct shm_route route;
    bool global;
    struct ibv_grh grh; /* but for its length; zero when not global */
};

/* The way from a queue pair to the entry of the one it sends to. */
struct shca_link {
    struct shca_peer *peer;     /* whose segment it is in; NULL when it is in none we can see: */
    struct shca_remote *remote; /* it is on another host, or, when NULL too, nowhere */
    struct shm_qp *t;           /* NULL until we have met the peer */
    struct shca_peer *owner;  /* whose QP it is: the same, but inside a message to an XRC target */
    struct shca_peer **peers; /* [SHCA_SLOTS] others that messages of the QP went to, or NULL */
    uint32_t from, to;        /* QP numbers */
    uint32_t aim;             /* the port there that the address leads to */
    uint64_t sender_id;       /* the word that the target must be listening to, or SHCA_NO_SENDER */
    struct shm_route route;
    const struct shca_tear *tear; /* how a fault writes the message that runs, or NULL */
    uint32_t active;              /* last even value left in t->active */
    uint32_t prod; /* t->rq_prod when last looked at: its line moves with every receive */
    uint32_t qkey; /* of a datagram */
    uint8_t type;  /* of the QP that sends */
    bool reliable; /* what becomes of a message is reported back */
    bool grh;      /* the 40 bytes before a datagram are a header */
};

struct shca_qp {
    union {
        struct ibv_qp base;
        struct ibv_qp_ex ex;
    };
    uint32_t comp_mask; /* these two complete libibverbs' verbs_qp */
    void *verbs_qp_tail;
    struct shm_qp *s;
    struct shca_link link;
    struct shca_cq *send_cq, *recv_cq;
    struct shca_srq *srq;  /* where it receives, unless it has a ring of its own */
    struct ibv_xrcd *xrcd; /* of an XRC target */
    bool private_srq;      /* a UD QP's own queue is of that kind: many send to it */
    uint32_t opcodes;      /* bits: what it may send */
    uint32_t index;
    uint32_t port; /* from INIT on */

    struct shca_injector *faults; /* when there are any */

    struct shca_lock sq;
    uint32_t sq_size, sq_mask, sq_stride, max_send_sge, max_inline;
    uint32_t sq_head;         /* WRs accepted */
    uint32_t sq_exec;         /* WRs executed; the rest wait in sq_ring */
    _Atomic uint32_t sq_done; /* freed by polled completions */
    bool sig_all;
    char *sq_ring;
    size_t sq_bytes;  /* of the ring */
    bool waiting;     /* linked in the list of QPs with waiting WRs */
    int waits_for;    /* why: SHCA_NOT_READY or the like */
    uint64_t give_up; /* CLOCK_MONOTONIC ns; 0 = never, or SHCA_NO_DEADLINE */
    uint64_t look_at; /* when to ask the system whether the peer lives */
    struct shca_qp *wait_next;

    struct shca_lock rq;
    uint32_t rq_size, max_recv_sge;
    _Atomic uint32_t rq_done; /* freed by polled completions */
    uint32_t rq_flushed;

    struct ibv_qp_attr attr;
    struct ibv_qp_cap cap;
    uint32_t async_given;
    bool last_wqe_raised;
    int opened;                /* how often, besides being created: an XRC target */
    struct shca_peer *foreign; /* of another process: this is but a handle */
    struct shca_qp *next;      /* list of all QPs */
    struct shca_batch *batch;  /* ibv_wr_* calls between wr_start and wr_complete */
};

/* This process as peers know it. */
struct shca_process {
    struct shm_header *_Atomic h; /* NULL until the first open */
    struct shca_peer me;
    uint32_t slot;
    pthread_mutex_t lock;      /* tables of objects */
    pthread_mutex_t peer_lock; /* table of peers */
    pthread_mutex_t channel_lock;
    struct shca_qp *qps;
    struct shca_qp *_Atomic qp[SHCA_QPS]; /* these and srq: read by who polls, without a lock */
    struct shca_cq *cq[SHCA_CQS];
    struct shca_srq *srqs;
    struct shca_srq *_Atomic srq[SHCA_SRQS];
    struct shca_channel *channel[SHCA_CHANNELS];
    struct shca_peer *peer[SHCA_SLOTS];
    struct shca_peer *peers; /* all there are; some are not in the table any more */
    _Atomic int waiting;     /* QPs with waiting WRs */
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
/* The QP of this process that a completion names.  Another thread may have made it: what it did
 * before is seen, though the completion came by way of another process. */
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

/* The state that counts; base.state is a copy for the program. */
static inline enum ibv_qp_state shca_state(const struct shca_qp *qp)
{
    return atomic_load_explicit(&qp->s->state, memory_order_acquire);
}

#endif
