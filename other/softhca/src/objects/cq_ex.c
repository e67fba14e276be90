/* cq_ex.c - extended completion queues: ibv_start_poll() and the read functions.
 *
 * Each step polls one ordinary completion into a copy, which the read functions return. No time
 * stamps.
 */
#include "other/softhca/src/objects/cq.h"

static struct ibv_wc *cq_ex_wc(struct ibv_cq_ex *x)
{
    return &((struct shca_cq *)x)->ex_wc;
}

static int cq_ex_next_poll(struct ibv_cq_ex *x)
{
    struct ibv_wc *wc = cq_ex_wc(x);
    int n = x->context->ops.poll_cq((struct ibv_cq *)x, 1, wc);
    if (n <= 0) return n ? EIO : ENOENT;
    x->status = wc->status;
    x->wr_id = wc->wr_id;
    return 0;
}

static int cq_ex_start_poll(struct ibv_cq_ex *x, struct ibv_poll_cq_attr *attr)
{
    return attr && attr->comp_mask ? EINVAL : cq_ex_next_poll(x);
}

static int cq_ex_no_next(struct ibv_cq_ex *x)
{
    return EIO;
}

static int cq_ex_no_start(struct ibv_cq_ex *x, struct ibv_poll_cq_attr *attr)
{
    return EIO;
}

void shca_cq_ex_in_child(struct shca_cq *cq)
{
    if (!cq->ex.start_poll) return;
    cq->ex.start_poll = cq_ex_no_start;
    cq->ex.next_poll = cq_ex_no_next;
}

static void cq_ex_end_poll(struct ibv_cq_ex *x) {}
static enum ibv_wc_opcode cq_ex_read_opcode(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->opcode;
}
static uint32_t cq_ex_read_vendor_err(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->vendor_err;
}
static uint32_t cq_ex_read_byte_len(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->byte_len;
}
static __be32 cq_ex_read_imm_data(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->imm_data;
}
static uint32_t cq_ex_read_qp_num(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->qp_num;
}
static uint32_t cq_ex_read_src_qp(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->src_qp;
}
static unsigned int cq_ex_read_wc_flags(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->wc_flags;
}
static uint32_t cq_ex_read_slid(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->slid;
}
static uint8_t cq_ex_read_sl(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->sl;
}
static uint8_t cq_ex_read_path_bits(struct ibv_cq_ex *x)
{
    return cq_ex_wc(x)->dlid_path_bits;
}

struct ibv_cq_ex *shca_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *a)
{
    uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    if (a->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) ||
        a->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS ||
        (a->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && a->flags & ~flags)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct ibv_cq *cq = shca_create_cq(c, a->cqe, a->cq_context, a->channel, a->comp_vector);
    if (!cq) return NULL;
    struct ibv_cq_ex *x = &shca_cq(cq)->ex;
    x->start_poll = cq_ex_start_poll;
    x->next_poll = cq_ex_next_poll;
    x->end_poll = cq_ex_end_poll;
    x->read_opcode = cq_ex_read_opcode;
    x->read_vendor_err = cq_ex_read_vendor_err;
    x->read_byte_len = cq_ex_read_byte_len;
    x->read_imm_data = cq_ex_read_imm_data;
    x->read_qp_num = cq_ex_read_qp_num;
    x->read_src_qp = cq_ex_read_src_qp;
    x->read_wc_flags = cq_ex_read_wc_flags;
    x->read_slid = cq_ex_read_slid;
    x->read_sl = cq_ex_read_sl;
    x->read_dlid_path_bits = cq_ex_read_path_bits;
    return x;
}
