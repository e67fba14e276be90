/* vapi_inline.h - the fast path of VAPI_post_sr, EVAPI_post_inline_sr, VAPI_post_rr and
 * VAPI_poll_cq, inlined in the program.
 *
 * vapi.h includes it.  The library has real functions of the same names, which are called where
 * nothing is inlined: without optimisation, through pointers, with VAPI_NO_INLINE defined.  Both do
 * the same.  All other cases are handled by the functions whose names begin with vapi_.  Programs
 * use nothing of this header directly.
 */
#ifndef H_VAPI_INLINE_H
#define H_VAPI_INLINE_H

#include "vapi_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_qp;
struct ibv_cq;
struct ibv_wc;
struct ibv_send_wr;
struct ibv_recv_wr;

/* The entry of a handle.  A handle is the concatenation of generation, index in vapi_slots and
 * kind, so that a mask gives the slot. `usual` and `usual_recv` equal VAPI_PAIR of the handle and
 * the HCA's while both are valid and the fast path may be used, and are 0 otherwise: a single
 * comparison decides. */
struct vapi_slot {
    u_int64_t usual;      /* a QP that may send, a CQ that may be polled */
    u_int64_t usual_recv; /* a QP that may receive */
    VAPI_hca_hndl_t hca;
    u_int32_t handle;
    void *object;
    union {
        struct ibv_qp *qp;
        struct ibv_cq *cq;
    } verbs;
    union {
        int (*post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
        int (*poll)(struct ibv_cq *, int, struct ibv_wc *);
    } call;
    int (*post_recv)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
};

#define VAPI_SLOT_SHIFT 6 /* the bits that a handle keeps its kind in */
#define VAPI_SLOT_BITS  18
#define VAPI_SLOT_SIZE  64 /* bytes from one to the next */
#define VAPI_SLOT_MASK  ((((MT_ulong_ptr_t)1 << VAPI_SLOT_BITS) - 1) << VAPI_SLOT_SHIFT)

extern unsigned char *vapi_slots;

/* A handle and its HCA's in one number; any other two with the same number are both invalid. */
#define VAPI_PAIR(hca, handle)    ((u_int64_t)(handle) + 8 * (u_int64_t)(hca))
#define VAPI_HCA_OF(pair, handle) ((VAPI_hca_hndl_t)(((pair) - (handle)) / 8))

/* True if the fast path is allowed, which another thread may change meanwhile. A plain read has the
 * same effect as an atomic one on all processors; the thread sanitizer gets the atomic one. */
#ifdef __SANITIZE_THREAD__
#define VAPI_IS_OPEN(way, pair) (__atomic_load_n(&(way), __ATOMIC_ACQUIRE) == (pair))
#else
#define VAPI_IS_OPEN(way, pair) ((way) == (pair))
#endif

/* Inlined wherever they are called, so that there need be no function of the name. */
#define VAPI_ALWAYS extern __inline__ __attribute__((__gnu_inline__, __always_inline__))

VAPI_ALWAYS struct vapi_slot *vapi_slot_of(MT_ulong_ptr_t handle)
{
    return (struct vapi_slot *)(void *)(vapi_slots + (handle & VAPI_SLOT_MASK));
}

/* In the two upper bits of wr_id; programs' numbers that use these bits take the slow path.  With
 * VAPI_ID_ODD, so does the completion. */
#define VAPI_ID_ODD     ((u_int64_t)1 << 63)
#define VAPI_ID_TRACKED VAPI_ID_ODD                          /* the rest is a record's address */
#define VAPI_ID_RECEIVE (VAPI_ID_ODD | ((u_int64_t)1 << 62)) /* the rest is the number */

#define VAPI_SELDOM __attribute__((__cold__))

/* The slow paths of the calls. */
VAPI_SELDOM VAPI_ret_t vapi_post_sr_rest(u_int64_t pair, VAPI_qp_hndl_t qp, VAPI_sr_desc_t *desc,
                                         int inlined);
VAPI_SELDOM VAPI_ret_t vapi_post_rr_rest(u_int64_t pair, VAPI_qp_hndl_t qp, VAPI_rr_desc_t *desc);
VAPI_SELDOM VAPI_ret_t vapi_poll_cq_rest(u_int64_t pair, VAPI_cq_hndl_t cq, VAPI_wc_desc_t *wc);
/* The code for a descriptor that verbs has refused; its vapi_qp is set. */
VAPI_SELDOM VAPI_ret_t vapi_post_sr_refused(const void *desc, int inlined, int error);
VAPI_SELDOM VAPI_ret_t vapi_post_rr_refused(const void *desc, int error);
/* `wc` is as verbs left it, its free_res_count names the CQ, and it is not a plain success; or
 * `count`, what verbs returned, is not 1. */
VAPI_SELDOM VAPI_ret_t vapi_poll_cq_odd(VAPI_wc_desc_t *wc, int count);

/* The functions of the fast path need no argument after the call that does the work, not even when
 * it fails: a value kept over a call must be saved in memory. */

/* Of a reliable connection: writes, sends and reads, signalled, neither fenced nor solicited. */
VAPI_ALWAYS VAPI_ret_t vapi_usual_send(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, VAPI_sr_desc_t *desc,
                                       int inlined)
{
    const u_int64_t pair = VAPI_PAIR(hca, qp);
    struct vapi_slot *slot = vapi_slot_of(qp);
    struct ibv_send_wr *bad;
    u_int32_t kind; /* comp_type, fence and set_se in one */
    int error;
    __builtin_memcpy(&kind, (const char *)&desc->r_key + sizeof desc->r_key, sizeof kind);
    if (!VAPI_IS_OPEN(slot->usual, pair) || kind != 0 || desc->id >> 62 != 0 ||
        (u_int32_t)desc->opcode > (u_int32_t)(inlined ? VAPI_SEND_WITH_IMM : VAPI_RDMA_READ))
        return vapi_post_sr_rest(pair, qp, desc, inlined);
    desc->vapi_qp = (u_int32_t)qp;
    desc->vapi_next = 0;
    desc->vapi_flags = inlined ? 2 | 8 : 2; /* IBV_SEND_SIGNALED, IBV_SEND_INLINE */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    desc->vapi_imm_data = desc->imm_data;
#else
    if (desc->opcode & 1) desc->vapi_imm_data = __builtin_bswap32(desc->imm_data);
#endif
    error = slot->call.post_send(slot->verbs.qp, (struct ibv_send_wr *)(void *)desc, &bad);
    if (error == 0) return VAPI_OK;
    return vapi_post_sr_refused(bad, inlined, error);
}

VAPI_ALWAYS VAPI_ret_t vapi_usual_receive(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp,
                                          VAPI_rr_desc_t *desc)
{
    const u_int64_t pair = VAPI_PAIR(hca, qp);
    struct vapi_slot *slot = vapi_slot_of(qp);
    struct ibv_recv_wr *bad;
    int error;
    if (!VAPI_IS_OPEN(slot->usual_recv, pair) || desc->opcode != VAPI_RECEIVE ||
        desc->comp_type != VAPI_SIGNALED || desc->id >> 62 != 0)
        return vapi_post_rr_rest(pair, qp, desc);
    desc->vapi_qp = (u_int32_t)qp;
    desc->vapi_next = 0;
    error = slot->post_recv(slot->verbs.qp, (struct ibv_recv_wr *)(void *)desc, &bad);
    if (error == 0) return VAPI_OK;
    return vapi_post_rr_refused(bad, error);
}

/* A completion that verbs has put into `wc` and that is a plain success. */
VAPI_ALWAYS void vapi_usual_finish(VAPI_wc_desc_t *wc)
{
    wc->free_res_count = 1;
    /* IBV_WC_RECV and, one above, IBV_WC_RECV_RDMA_WITH_IMM */
    if (__builtin_expect(wc->opcode & 128, 1)) {
        wc->opcode = (VAPI_cqe_opcode_t)(wc->opcode - 128 + VAPI_CQE_RQ_SEND_DATA);
        wc->remote_node_addr.type = VAPI_RNA_UD;
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        wc->imm_data = __builtin_bswap32(wc->imm_data); /* if the completion has immediate data */
#endif
    }
}

VAPI_ALWAYS VAPI_ret_t vapi_usual_poll(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, VAPI_wc_desc_t *wc)
{
    const u_int64_t pair = VAPI_PAIR(hca, cq);
    struct vapi_slot *slot = vapi_slot_of(cq);
    struct ibv_wc *into = (struct ibv_wc *)(void *)wc;
    int count;
    if (!VAPI_IS_OPEN(slot->usual, pair)) return vapi_poll_cq_rest(pair, cq, wc);
    __asm__("" : "+r"(into));           /* or the compiler would keep `into` over the call */
    wc->free_res_count = (u_int32_t)cq; /* beyond what verbs writes */
    count = slot->call.poll(slot->verbs.cq, 1, into);
    if (__builtin_expect(count != 1, 0)) return count ? vapi_poll_cq_odd(wc, count) : VAPI_CQ_EMPTY;
    if (wc->status != VAPI_SUCCESS || wc->id & VAPI_ID_ODD) return vapi_poll_cq_odd(wc, count);
    vapi_usual_finish(wc);
    return VAPI_OK;
}

#if defined(__OPTIMIZE__) && !defined(VAPI_NO_INLINE)
#define VAPI_INLINED extern __inline__ __attribute__((__gnu_inline__))
VAPI_INLINED VAPI_ret_t VAPI_post_sr(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, VAPI_sr_desc_t *desc)
{
    return vapi_usual_send(hca, qp, desc, 0);
}

VAPI_INLINED VAPI_ret_t EVAPI_post_inline_sr(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp,
                                             VAPI_sr_desc_t *desc)
{
    return vapi_usual_send(hca, qp, desc, 1);
}

VAPI_INLINED VAPI_ret_t VAPI_post_rr(VAPI_hca_hndl_t hca, VAPI_qp_hndl_t qp, VAPI_rr_desc_t *desc)
{
    return vapi_usual_receive(hca, qp, desc);
}

VAPI_INLINED VAPI_ret_t VAPI_poll_cq(VAPI_hca_hndl_t hca, VAPI_cq_hndl_t cq, VAPI_wc_desc_t *wc)
{
    return vapi_usual_poll(hca, cq, wc);
}
#undef VAPI_INLINED
#endif
#undef VAPI_ALWAYS
#undef VAPI_SELDOM
#undef VAPI_IS_OPEN

#ifdef __cplusplus
}
#endif

#endif
