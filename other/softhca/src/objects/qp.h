/* qp.h - queue pairs: what each folder from here up keeps in them. */
#ifndef SOFTHCA_QP_H
#define SOFTHCA_QP_H

#include "other/softhca/src/objects/cq.h"
#include "other/softhca/src/objects/srq.h"
#include "other/softhca/src/segment/lock.h"
#include "other/softhca/src/segment/peer.h"
#include "other/softhca/src/segment/process.h"

struct shca_batch;    /* qp_ex.c */
struct shca_done;     /* done.h */
struct shca_injector; /* inject.h */
struct shca_remote;   /* remote_process.h */
struct shca_tear;     /* inject.h */

/* Bit masks of opcodes. The bits of IBV_QP_EX_WITH_... are the same. */
enum {
    SHCA_SENDS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
    SHCA_WRITES = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM,
    SHCA_IWARP = 1 << IBV_WR_SEND | 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_READ,
    SHCA_ATOMICS = 1 << IBV_WR_ATOMIC_CMP_AND_SWP | 1 << IBV_WR_ATOMIC_FETCH_AND_ADD,
    SHCA_FETCHES = 1 << IBV_WR_RDMA_READ | SHCA_ATOMICS,
    SHCA_WINDOWS = 1 << IBV_WR_BIND_MW | 1 << IBV_WR_LOCAL_INV | 1 << IBV_WR_SEND_WITH_INV
};
#define SHCA_NO_DEADLINE (~0ull)

/* A send WR that waits in the ring. */
struct shca_wqe {
    struct ibv_send_wr wr;
    struct ibv_sge sge[]; /* followed by the inline bytes */
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

/* The QP that a queue pair or a datagram sends to, and its process. */
struct shca_target {
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
    struct shca_target target;
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
static inline uint32_t shca_power_of_two(uint32_t n)
{
    uint32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* Send lock held. */
static inline void shca_forget_region(struct shca_qp *qp)
{
    qp->target.known.range = 0;
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

/* quiesce.c */
void shca_qp_quiesce(struct shca_qp *qp);
void shca_quiesce(void); /* shca.lock held */

#endif
