/* shm.h - the layout of a process's segment, which peers map.
 *
 * Each process owns one memfd: this header, the tables of QPs, CQs and MRs, a heap of rings, and
 * behind them the arena of softhca_alloc(). The owner creates and destroys entries; initiators fill
 * the owner's receive slots and completion queues without its help. Zero is the initial state of
 * everything, so fresh pages need no initialisation.
 */
#ifndef SOFTHCA_SHM_H
#define SOFTHCA_SHM_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "other/softhca/src/settings/limits.h"

enum {
    SHCA_MAGIC = 0x53484341,
    SHCA_LAYOUT = 10,       /* increase when the meaning of this file changes */
    SHCA_INLINE_CQE = 20,   /* a SEND up to this size travels in its completion */
    SHCA_INLINE_RECV = 256, /* a SEND up to this size may wait in the receive slot */
};
#define SHCA_HEAP_SIZE  (1ull << 30)
#define SHCA_ARENA_SIZE (1ull << 42)
#define SHCA_NOT_MAPPED (~0ull)
#define SHCA_LINE       __attribute__((aligned(64)))

enum { SHCA_SIDE_SEND, SHCA_SIDE_RECV };
enum {
    /* GRH, IMM and INV: as in ibv_wc.wc_flags */
    SHCA_CQE_GRH = IBV_WC_GRH,
    SHCA_CQE_IMM = IBV_WC_WITH_IMM,
    SHCA_CQE_INV = IBV_WC_WITH_INV, /* imm: the key that was invalidated */
    SHCA_CQE_SCATTER = 4,           /* payload waits in the receive slot; poll_cq scatters it */
    SHCA_CQE_SOLICITED = 16,
    SHCA_CQE_SKIP = 32, /* no completion: its QP was reset, or its producer died */
    SHCA_CQE_DATA = 64, /* the payload is in data; poll_cq scatters it */
    SHCA_CQE_SRQ = 128, /* index = SRQ * SHCA_MAX_WR + slot */
};

/* The path fields of the completion of a received message. */
struct shm_route {
    uint16_t slid;
    uint8_t sl, dlid_path_bits;
};
/* A completion, one cache line. lap is the lap of the ring, from 1. It is stored last, with
 * release, and makes the entry valid; a consumer loads it with acquire. Only the producer writes
 * the entry. */
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
/* The ring of a completion queue: this header, struct shm_cqe[1 << shift], and an array of claims,
 * one for each entry. Positions count from 0 in every ring. A producer claims the entry at the
 * tail: the claim holds the lap and, in the top bits, the slot of the producer's process. By it the
 * owner knows which process left an entry that never becomes valid. */
struct shm_ring {
    /* the owner's line; entries before head were polled */
    _Atomic uint64_t head;
    uint32_t shift, mask;
    uint64_t before; /* completions in the rings before this one */
    /* the producers' line */
    _Atomic uint64_t tail SHCA_LINE; /* never past the claims */
    _Atomic uint64_t seen;           /* the head when a producer last read it */
    struct shm_cqe e[] SHCA_LINE;
};
struct shm_cq {
    _Atomic uint64_t ring; /* offset of struct shm_ring, page-aligned, and its shift; 0: no CQ */
    uint32_t channel;      /* id of the channel, 0: the CQ has no channel */
    _Atomic uint32_t overflow;
    _Atomic uint32_t resizing; /* a producer that finds the ring full waits for the new ring */
    _Atomic uint32_t armed SHCA_LINE;
    _Atomic uint32_t ev_produced;
    _Atomic uint32_t ev_lost; /* a producer could not signal the channel: the owner does */
};
enum { SHCA_CLAIM_SLOT = 52 };

/* Positions in the queues of a QP count posted WRs, modulo 2^32. They begin just before the wrap,
 * so that every program passes it. */
#define SHCA_FIRST_WR ((uint32_t)-64)

/* One receive WR: this header, sge[], then SHCA_INLINE_RECV bytes at the QP's rq_data. */
struct shm_rwr {
    uint64_t wr_id;
    uint32_t num_sge;
    uint32_t pad;
    struct ibv_sge sge[];
};

/* A slot of a shared receive queue. claim = position << 14 | claimant's process slot << 2 | state.
 * Positions count posts and are never reused, so a claim is a compare-and-swap. It stays until the
 * completion is polled; when the claimant died without a completion the receive is posted again.
 * Claimant 0: a living process returned the receive. */
enum { SHCA_SLOT_FREE, SHCA_SLOT_POSTED, SHCA_SLOT_CLAIMED };
struct shm_slot {
    _Atomic uint64_t claim;
    struct shm_rwr r; /* with its SGEs and inline bytes */
};

/* Any number of initiators claim receives at head and advance it; the owner adds at prod. */
struct shm_srq {
    uint64_t
        cells; /* offset of uint64_t[mask + 1]: position * SHCA_MAX_WR + the slot posted there */
    uint64_t slots;
    uint32_t mask, stride, data; /* data: offset of the SHCA_INLINE_RECV bytes from r */
    uint32_t pd;
    uint32_t cq;            /* of an SRQ in an XRC domain */
    _Atomic uint64_t xrcd;  /* the XRC domain, or 0 */
    _Atomic uint32_t limit; /* armed when not 0 */
    _Atomic uint64_t prod SHCA_LINE;
    _Atomic uint64_t head SHCA_LINE;
    /* rarely written by initiators, for the owner */
    _Atomic uint32_t limit_hit SHCA_LINE;
    _Atomic uint32_t returned; /* some slot has claimant 0 */
    _Atomic uint32_t waits;    /* some process waits for a receive; which, in WAITING */
    _Atomic uint64_t waiting[SHCA_SLOTS / 64]; /* bit for each process slot */
} SHCA_LINE;

struct shm_qp {
    /* written by the owner, in slow verbs */
    _Atomic uint32_t state; /* enum ibv_qp_state; 0 = RESET or no such QP */
    uint32_t pd;
    _Atomic uint64_t accepts; /* the initiator that may enter, see shm_sender_id() */
    uint32_t access;
    uint32_t recv_cq;
    uint32_t srq; /* 1 + index of the SRQ, 0: its own ring */
    uint32_t rq_mask, rq_stride, rq_data;
    uint64_t rq_ring;
    uint32_t min_rnr_timer;
    uint32_t max_dest_rd_atomic;
    uint32_t qkey;
    /* Increases after each change of the words from state to qkey: an initiator that has found them
     * good need not read them again while this is unchanged (short_write.c). */
    _Atomic uint32_t changes;
    /* the line of the owner that posts receives */
    _Atomic uint32_t rq_prod SHCA_LINE;
    _Atomic uint32_t waiting; /* enum shm_waiting: what its sends wait for, for --status */
    uint32_t type;            /* enum ibv_qp_type, for --status */
    uint64_t xrcd; /* the domain of an XRC target, whose pd, recv_cq and srq the initiator sets */
    /* the initiator's line. active is odd while the initiator accesses this process. */
    _Atomic uint32_t rq_cons SHCA_LINE;
    _Atomic uint32_t active;
    uint64_t bytes; /* transferred, for --status */
    /* rarely written by the initiator, for the owner */
    _Atomic uint32_t sender_waits SHCA_LINE;
    _Atomic uint32_t fault;    /* 1 + enum ibv_event_type to raise, or SHCA_FAULT_QUIET */
    _Atomic uint32_t comm_est; /* a message came in RTR: 1 event due, 2 event raised */
} SHCA_LINE;
enum { SHCA_FAULT_QUIET = 0x80 };
enum shm_waiting { SHCA_WAITS_NOT, SHCA_WAITS_RECEIVE, SHCA_WAITS_PEER };
/* No initiator has the first value, no target accepts the second. */
enum { SHCA_ACCEPTS_NONE = 0 };
#define SHCA_NO_SENDER  (~0ull)
#define SHCA_OTHER_HOST (1ull << 40) /* bit in the sender id of an initiator on another host */

/* key = (index + 1) << 8 | generation, 1..255. key >> 8 == 0: the entry is free. */
struct shm_mr {
    _Atomic uint32_t key;
    uint32_t pd;
    uint32_t access;
    _Atomic uint32_t changes; /* increases when a key is revoked, as keys are used again some day */
    uint64_t iova, length;
    uint64_t va;
    uint64_t map; /* offset of va in the owner's memfd, or SHCA_NOT_MAPPED */
    /* of a memory window, whose pd is ~0 so that only remote access finds it */
    uint32_t window_pd;
    uint32_t window_qpn; /* the only QP that may use it, or 0 */
} SHCA_LINE;

/* The access word of one process for datagrams and XRC: odd while a thread of that process is
 * inside. */
struct shm_ud_access {
    _Atomic uint32_t inside;
} SHCA_LINE;

/* Counted on slow paths, for --status. */
struct shm_counts {
    _Atomic uint64_t rnr;       /* sends that found no receive */
    _Atomic uint64_t no_target; /* sends that found no QP that accepts them */
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
    _Atomic uint64_t heap_end, arena_end; /* how far rings and blocks reach */
    /* The worker thread sleeps on this futex while it is 0. */
    _Atomic uint32_t doorbell SHCA_LINE;
    /* 1 + the number by which a sleeping thread of the program is woken; see softhca_sleeper(). The
     * process that clears it wakes the thread. */
    _Atomic uint32_t sleeper;
    /* Held by the owner's RPC thread until the process ends. A robust mutex: the kernel marks it
     * when the process dies, and peers see the mark without a system call. */
    pthread_mutex_t alive SHCA_LINE;
    _Atomic uint64_t ud_access_used[SHCA_SLOTS / 64] SHCA_LINE; /* bits: which were ever used */
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
/* A ring is page-aligned: its shift is stored in the low bits, so that one load reads both. */
static inline uint32_t shm_ring_shift(uint64_t word)
{
    return word & 63;
}
static inline uint64_t shm_ring_offset(uint64_t word)
{
    return word & ~63ull;
}
/* The header, then the entries, then their claims. */
static inline uint64_t shm_ring_bytes(uint32_t shift)
{
    return sizeof(struct shm_ring) +
           ((uint64_t)(sizeof(struct shm_cqe) + sizeof(uint64_t)) << shift);
}
/* A port of any device of a host in 7 bits. */
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
/* The identity of an initiator, which a target accepts or ignores: its QP number and type, and the
 * destination port. */
static inline uint64_t shm_sender_id(enum ibv_qp_type type, uint32_t qpn, uint32_t port)
{
    if (type == IBV_QPT_XRC_RECV) type = IBV_QPT_XRC_SEND; /* one type stands for both ends */
    return (uint64_t)type << 32 | port << 24 | qpn;
}
/* The P_Key of an end in its identity: the key, and a bit for each end that is a limited member. */
enum { SHCA_PKEY_SHIFT = 41 };
#define SHCA_LIMITED_SENDER (1ull << 62)
#define SHCA_LIMITED_TARGET (1ull << 63)
static inline uint64_t shm_pkey_id(uint16_t pkey, uint64_t limited)
{
    return (uint64_t)(pkey & 0x7fff) << SHCA_PKEY_SHIFT | (pkey & 0x8000 ? 0 : limited);
}
static inline uint64_t shm_datagram_sender(uint32_t port, uint16_t pkey)
{
    return shm_sender_id(IBV_QPT_UD, 0, port) | shm_pkey_id(pkey, SHCA_LIMITED_SENDER);
}
/* Whether both have one P_Key and differ in nothing but that one of them is a limited member. */
static inline bool shm_accepts_limited(uint64_t accepts, uint64_t sender)
{
    const uint64_t different = accepts ^ sender;
    return different == SHCA_LIMITED_SENDER || different == SHCA_LIMITED_TARGET;
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
