/* shm.h - the layout of a process's segment, the part of the device that peers map.
 *
 * Each process owns one memfd: this header, the tables of QPs, CQs, MRs and channels, a heap of
 * rings, and behind them the arena of softhca_alloc(). The owner creates and destroys entries;
 * a connected initiator fills the owner's receive slots and completion queues without its help.
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
    SHCA_LAYOUT = 2, /* bump when this file changes meaning */
    SHCA_SLOTS = 4096,
    SHCA_QPS = 4096,
    SHCA_CQS = 4096,
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
    SHCA_CQE_SCATTER = 1, /* payload waits in the receive slot; poll_cq scatters it */
    SHCA_CQE_SOLICITED = 2,
    SHCA_CQE_SKIP = 4, /* its QP is gone */
    SHCA_CQE_IMM = 8,
    SHCA_CQE_DATA = 16, /* payload is here; poll_cq scatters it */
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
    char data[SHCA_INLINE_CQE];
} SHCA_LINE;
_Static_assert(sizeof(struct shm_cqe) == 64, "an entry moves between processors in one piece");

enum { SHCA_ARM_NONE, SHCA_ARM_ANY, SHCA_ARM_SOLICITED };
/* Behind the ring there is an array of claims, one for each entry. A producer claims the place at
 * the tail with its lap and, in the top bits, its own slot: when the entry does not come, the owner
 * can tell whose it was. */
struct shm_cq {
    uint64_t ring; /* offset of struct shm_cqe[1 << shift], then _Atomic uint64_t[1 << shift] */
    uint32_t shift;
    uint32_t channel; /* 1 + index of the channel, 0 when there is none */
    _Atomic uint32_t overflow;
    /* the producers' line */
    _Atomic uint64_t tail SHCA_LINE; /* at most as far as the claims go */
    _Atomic uint64_t seen;           /* the head when one of them last looked */
    /* the owner's line: all before the head was polled */
    _Atomic uint64_t head SHCA_LINE;
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

struct shm_qp {
    /* written by the owner in verbs that are not fast */
    _Atomic uint32_t state;   /* enum ibv_qp_state; 0 = RESET or no such QP */
    _Atomic uint32_t listens; /* to this word of an initiator, see shca_link.speaks */
    uint32_t pd;
    uint32_t access;
    uint32_t recv_cq;
    uint32_t rq_mask, rq_stride, rq_data;
    uint64_t rq_ring;
    uint32_t min_rnr_timer;
    uint32_t max_dest_rd_atomic;
    /* receives posted: the owner's line */
    _Atomic uint32_t rq_prod SHCA_LINE;
    /* the initiator's line. active is odd while it touches this process's memory or queues. */
    _Atomic uint32_t rq_cons SHCA_LINE;
    _Atomic uint32_t active;
    /* rare messages from initiator to owner */
    _Atomic uint32_t sender_waits SHCA_LINE;
    _Atomic uint32_t fault; /* 1 + enum ibv_event_type to raise, or SHCA_FAULT_QUIET */
} SHCA_LINE;
enum { SHCA_FAULT_QUIET = 0x80 };
/* A word is a QP number, and above it the target's port. No initiator says the first of these, no
 * target listens to the second. */
enum { SHCA_DEAF = 0 };
#define SHCA_MUTE (~0u)

/* key = index << 8 | generation; the low byte cycles through 1..255, so 0 means free. */
struct shm_mr {
    _Atomic uint32_t key;
    uint32_t pd;
    uint32_t access;
    uint64_t iova, length;
    uint64_t va;
    uint64_t map; /* offset of va in the owner's memfd, or SHCA_NOT_MAPPED */
} SHCA_LINE;

struct shm_header {
    uint32_t magic, layout;
    uint32_t slot;
    uint64_t nonce;
    /* Held for ever by the owner's answering thread. It is robust: the kernel marks it the
     * moment the process dies, and every peer sees the mark without a system call. */
    pthread_mutex_t alive SHCA_LINE;
    struct shm_qp qp[SHCA_QPS];
    struct shm_cq cq[SHCA_CQS];
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
static inline uint32_t shm_qpn_slot(uint32_t qpn)
{
    return qpn >> 12 & (SHCA_SLOTS - 1);
}
static inline uint32_t shm_qpn_index(uint32_t qpn)
{
    return qpn & (SHCA_QPS - 1);
}

#endif
