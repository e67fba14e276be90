/* shm.h - the layout of a process's segment, the part of the device that peers map.
 *
 * Each process owns one memfd: this header, the tables of QPs, CQs, MRs and channels, a heap of
 * rings, and behind them the arena of softhca_alloc(). The owner creates and destroys entries;
 * initiators fill the owner's receive slots and completion queues without its help.
 * Zero-filled memory is the initial state of everything, so fresh pages need no initialising.
 */
#ifndef SOFTHCA_SHM_H
#define SOFTHCA_SHM_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
    SHCA_MAGIC = 0x53484341,
    SHCA_LAYOUT = 7, /* bump when this file changes meaning */
    SHCA_SLOTS = 4096,
    SHCA_QPS = 4096,
    SHCA_CQS = 4096,
    SHCA_SRQS = 8192, /* those of programs, and one for each UD QP */
    SHCA_MRS = 1 << 18,
    SHCA_CHANNELS = 1024,
    SHCA_INLINE_CQE = 20,   /* a SEND up to this size travels in its completion */
    SHCA_INLINE_RECV = 256, /* one up to this size may travel in the receive slot */
    SHCA_MAX_WR = 16384,
    SHCA_MAX_SGE = 32,
    SHCA_MAX_INLINE = 1024,
    SHCA_MAX_CQE = 1 << 20,
};
#define SHCA_HEAP_SIZE  (1ull << 30)
#define SHCA_ARENA_SIZE (1ull << 42)
#define SHCA_NOT_MAPPED (~0ull)
#define SHCA_LINE       __attribute__((aligned(64)))

enum { SHCA_SIDE_SEND, SHCA_SIDE_RECV };
enum {
    /* these three as in ibv_wc.wc_flags */
    SHCA_CQE_GRH = IBV_WC_GRH,
    SHCA_CQE_IMM = IBV_WC_WITH_IMM,
    SHCA_CQE_INV = IBV_WC_WITH_INV, /* imm: the key that was invalidated */
    SHCA_CQE_SCATTER = 4,           /* payload waits in the receive slot; poll_cq scatters it */
    SHCA_CQE_SOLICITED = 16,
    SHCA_CQE_SKIP = 32, /* its QP is gone */
    SHCA_CQE_DATA = 64, /* payload is here; poll_cq scatters it */
    SHCA_CQE_SRQ = 128, /* index = SRQ * SHCA_MAX_WR + slot */
};

/* How a message came, for the receiver to see. */
struct shm_route {
    uint16_t slid;
    uint8_t sl, dlid_path_bits;
};
/* A completion, one cache line. lap counts the rounds of the ring, from 1: it is written last, and
 * then the entry is valid. Nobody but the producer writes here. */
struct shm_cqe {
    _Atomic uint64_t lap;
    uint64_t wr_id;
    uint32_t qpn, src_qp;
    uint32_t byte_len;
    uint32_t imm;   /* as on the wire */
    uint32_t index; /* of the WR in its send or receive queue */
    uint8_t opcode, status, flags, side;
    struct shm_route route;
    char data[SHCA_INLINE_CQE];
} SHCA_LINE;
_Static_assert(sizeof(struct shm_cqe) == 64, "an entry moves between processors in one piece");

enum { SHCA_ARM_NONE, SHCA_ARM_ANY, SHCA_ARM_SOLICITED };
/* The ring of a completion queue: this, struct shm_cqe[1 << shift], and an array of claims, one for
 * each entry. Positions count from 0 in every ring. A producer claims the place at the tail with
 * its lap and, in the top bits, its own slot: when the entry does not come, the owner can tell
 * whose it was. */
struct shm_ring {
    /* the owner's line: all before the head was polled */
    _Atomic uint64_t head;
    uint32_t shift, mask;
    uint64_t before; /* completions in the rings before this one */
    /* the producers' line */
    _Atomic uint64_t tail SHCA_LINE; /* at most as far as the claims go */
    _Atomic uint64_t seen;           /* the head when one of them last looked */
    struct shm_cqe e[] SHCA_LINE;
};
struct shm_cq {
    _Atomic uint64_t ring; /* offset of struct shm_ring, at a page, and its shift; 0: no such CQ */
    uint32_t channel;      /* 1 + index of the channel, 0 when there is none */
    _Atomic uint32_t overflow;
    _Atomic uint32_t resizing; /* what finds the ring full is to look for another ring */
    _Atomic uint32_t armed SHCA_LINE;
    _Atomic uint32_t ev_produced;
    _Atomic uint32_t ev_lost; /* the producer could not ring the channel: the owner does */
};
enum { SHCA_CLAIM_SLOT = 52 };

/* One receive WR: this header, sge[], then SHCA_INLINE_RECV bytes at the QP's rq_data. */
struct shm_rwr {
    uint64_t wr_id;
    uint32_t num_sge;
    uint32_t pad;
    struct ibv_sge sge[];
};

/* A slot of a shared receive queue. claim = position << 14 | claimant's process slot << 2 | state.
 * The position, in the order of posting, never comes again, so a claim is a compare-and-swap. It
 * stands until the completion is polled: of one whose claimant died without a completion the
 * receive is given back. Claimant 0 is nobody: a living one that could not use it. */
enum { SHCA_SLOT_FREE, SHCA_SLOT_POSTED, SHCA_SLOT_CLAIMED };
struct shm_slot {
    _Atomic uint64_t claim;
    struct shm_rwr r; /* and what follows it */
};

/* Any number of initiators take receives at head, which they move on; the owner adds at prod. */
struct shm_srq {
    uint64_t
        cells; /* offset of uint64_t[mask + 1]: position * SHCA_MAX_WR + the slot posted there */
    uint64_t slots;
    uint32_t mask, stride, data; /* data: from a slot's r to its SHCA_INLINE_RECV bytes */
    uint32_t pd;
    uint32_t cq;            /* of one in an XRC domain */
    _Atomic uint64_t xrcd;  /* that domain, or 0 */
    _Atomic uint32_t limit; /* armed when not 0 */
    _Atomic uint64_t prod SHCA_LINE;
    _Atomic uint64_t head SHCA_LINE;
    /* rare messages from initiators to the owner */
    _Atomic uint32_t limit_hit SHCA_LINE;
    _Atomic uint32_t returned;                 /* there are slots claimed by nobody */
    _Atomic uint32_t waits;                    /* some process waits for a receive: */
    _Atomic uint64_t waiting[SHCA_SLOTS / 64]; /* these do */
} SHCA_LINE;

struct shm_qp {
    /* written by the owner in verbs that are not fast */
    _Atomic uint32_t state; /* enum ibv_qp_state; 0 = RESET or no such QP */
    uint32_t pd;
    _Atomic uint64_t accepts; /* to this word of an initiator, see shm_sender_id() */
    uint32_t access;
    uint32_t recv_cq;
    uint32_t srq; /* 1 + index of the SRQ it receives from, 0 when it has a queue of its own */
    uint32_t rq_mask, rq_stride, rq_data;
    uint64_t rq_ring;
    uint32_t min_rnr_timer;
    uint32_t max_dest_rd_atomic;
    uint32_t qkey;
    uint32_t type; /* enum ibv_qp_type, for those who look on */
    /* receives posted: the owner's line */
    _Atomic uint32_t rq_prod SHCA_LINE;
    _Atomic uint32_t waiting; /* enum shm_waiting: what its sends wait for, for those who look on */
    uint64_t xrcd;            /* the domain of an XRC target, whose pd, recv_cq and srq are the
                               * initiator's to set */
    /* the initiator's line. active is odd while it touches this process's memory or queues. */
    _Atomic uint32_t rq_cons SHCA_LINE;
    _Atomic uint32_t active;
    uint64_t bytes; /* moved up to now, for those who look on */
    /* rare messages from initiator to owner */
    _Atomic uint32_t sender_waits SHCA_LINE;
    _Atomic uint32_t fault;    /* 1 + enum ibv_event_type to raise, or SHCA_FAULT_QUIET */
    _Atomic uint32_t comm_est; /* something did before it was RTS: 1 to be told, 2 told */
} SHCA_LINE;
enum { SHCA_FAULT_QUIET = 0x80 };
enum shm_waiting { SHCA_WAITS_NOT, SHCA_WAITS_RECEIVE, SHCA_WAITS_PEER };
/* No initiator says the first of these words, no target listens to the second. */
enum { SHCA_ACCEPTS_NONE = 0 };
#define SHCA_NO_SENDER  (~0ull)
#define SHCA_NO_PROCESS UINT32_MAX
#define SHCA_OTHER_HOST (1ull << 40) /* in the word of an initiator on another host */

/* key = index << 8 | generation; the low byte cycles through 1..255, so 0 means free. */
struct shm_mr {
    _Atomic uint32_t key;
    uint32_t pd;
    uint32_t access;
    uint64_t iova, length;
    uint64_t va;
    uint64_t map; /* offset of va in the owner's memfd, or SHCA_NOT_MAPPED */
    /* of a memory window, whose pd is ~0 so that local access does not find it */
    uint32_t window_pd;
    uint32_t window_qpn; /* the only QP it is for, or 0 */
} SHCA_LINE;

/* A process that comes in without a connection; odd while one of its threads is inside. */
struct shm_ud_access {
    _Atomic uint32_t inside;
} SHCA_LINE;

/* Counted where nothing is fast, for those who look on. */
struct shm_counts {
    _Atomic uint64_t rnr;       /* sends that found no receive */
    _Atomic uint64_t no_target; /* sends that found nobody listening */
    _Atomic uint64_t errors;    /* sends that ended with an error, flushed ones not counted */
    _Atomic uint64_t faults;    /* injected */
};

struct shm_header {
    uint32_t magic, layout;
    uint32_t slot;
    uint32_t number; /* of the process in its job, or SHCA_NO_PROCESS */
    uint64_t nonce;
    uint64_t since; /* time() when the device was opened */
    struct shm_counts counts;
    _Atomic uint64_t heap_end, arena_end; /* as far as rings and blocks reach */
    /* The working thread sleeps on this word while it is 0. */
    _Atomic uint32_t doorbell SHCA_LINE;
    /* Held for ever by the owner's answering thread. It is robust: the kernel marks it the
     * moment the process dies, and every peer sees the mark without a system call. */
    pthread_mutex_t alive SHCA_LINE;
    _Atomic uint64_t ud_access_used[SHCA_SLOTS / 64] SHCA_LINE; /* which of these have ever come */
    struct shm_ud_access ud_access[SHCA_SLOTS];
    struct shm_qp qp[SHCA_QPS];
    struct shm_cq cq[SHCA_CQS];
    struct shm_srq srq[SHCA_SRQS];
    struct shm_mr mr[SHCA_MRS];
};

static inline uint64_t shm_heap_start(void)
{
    return (sizeof(struct shm_header) + 65535) & ~65535ull;
}
static inline uint64_t shm_arena_start(void)
{
    return shm_heap_start() + SHCA_HEAP_SIZE;
}
static inline void *shm_at(struct shm_header *h, uint64_t offset)
{
    return (char *)h + offset;
}
/* A ring's offset is at a page: its shift goes where that is zero, so that both are read at once.
 */
static inline uint32_t shm_ring_shift(uint64_t word)
{
    return word & 63;
}
static inline uint64_t shm_ring_offset(uint64_t word)
{
    return word & ~63ull;
}
/* The entries follow the header, and their claims follow them. */
static inline uint64_t shm_ring_bytes(uint32_t shift)
{
    return sizeof(struct shm_ring) +
           ((uint64_t)(sizeof(struct shm_cqe) + sizeof(uint64_t)) << shift);
}
/* A port of any device of a host, in 7 bits. */
static inline uint32_t shm_port(uint32_t device, uint32_t number)
{
    return device << 3 | (number - 1);
}
static inline uint32_t shm_port_device(uint32_t port)
{
    return port >> 3;
}
static inline uint32_t shm_port_number(uint32_t port)
{
    return 1 + (port & 7);
}
/* What an initiator must say to be heard: its number and type, and the port it aims at. */
static inline uint64_t shm_sender_id(enum ibv_qp_type type, uint32_t qpn, uint32_t port)
{
    if (type == IBV_QPT_XRC_RECV) type = IBV_QPT_XRC_SEND; /* the two ends of one connection */
    return (uint64_t)type << 32 | port << 24 | qpn;
}
static inline uint64_t shm_cell_position(uint64_t cell)
{
    return cell / SHCA_MAX_WR;
}
static inline uint64_t shm_claim(uint64_t position, uint32_t claimant, unsigned state)
{
    return position << 14 | (uint64_t)claimant << 2 | state;
}
static inline uint32_t shm_claimant(uint64_t claim)
{
    return claim >> 2 & (SHCA_SLOTS - 1);
}
static inline struct shm_slot *shm_slot(struct shm_header *h, struct shm_srq *q, uint32_t index)
{
    return shm_at(h, q->slots + (uint64_t)index * q->stride);
}
static inline uint32_t shm_qpn_slot(uint32_t qpn)
{
    return qpn >> 12 & (SHCA_SLOTS - 1);
}
static inline uint32_t shm_qpn_index(uint32_t qpn)
{
    return qpn & (SHCA_QPS - 1);
}

#endif
