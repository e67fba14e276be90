/* other.c - datagrams and address handles, unreliable connections, shared receive queues,
 * multicast. */
#include <infiniband/verbs.h>
#include <string.h>

#include "qp_pair.h"

/* The software device has no multicast: here is one that counts, in front of it. */
static int groups;
#define FOR_THE_LIBRARY __attribute__((visibility("default")))
FOR_THE_LIBRARY int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    if (groups == 2) return ENOMEM;
    groups++;
    return 0;
}

FOR_THE_LIBRARY int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    return groups > 0 && groups-- ? 0 : EINVAL;
}

static void multicast(struct stage *s, VAPI_qp_hndl_t connected)
{
    IB_gid_t group = {0xff, 1}, single = {0xfe, 0x80};
    is_code(VAPI_attach_to_multicast(s->hca, group, connected, 0), VAPI_EINVAL_SERVICE_TYPE,
            "a connection in a group");
    is_code(VAPI_attach_to_multicast(s->hca, single, s->a.qp, 0), VAPI_EINVAL_MCG_GID,
            "a GID that is no group's");
    is_code(VAPI_attach_to_multicast(s->hca, group, s->a.qp, 0), VAPI_OK, "into a group");
    is_code(VAPI_attach_to_multicast(s->hca, group, s->b.qp, 0), VAPI_OK, "another");
    is_code(VAPI_attach_to_multicast(s->hca, group, s->b.qp, 0), VAPI_E2BIG_MCG_SIZE,
            "which is full");
    is_code(VAPI_destroy_qp(s->hca, s->a.qp), VAPI_EBUSY, "a QP in a group stays");
    is_code(VAPI_detach_from_multicast(s->hca, group, s->a.qp, 0), VAPI_OK, "out of it");
    is_code(VAPI_detach_from_multicast(s->hca, group, s->b.qp, 0), VAPI_OK, "both");
    is_code(VAPI_detach_from_multicast(s->hca, group, s->b.qp, 0), VAPI_EINVAL_MCG_GID,
            "who was not in it");
}

void datagram_rules(struct stage *s)
{
    struct wants w = {.type = VAPI_TS_UD, .signals = VAPI_SIGNAL_REQ_WR};
    VAPI_ud_av_t av, got;
    VAPI_ud_av_hndl_t ah;
    memset(&av, 0xee, sizeof av);
    av.grh_flag = 0;
    av.sl = av.src_path_bits = 0;
    av.dlid = s->port.lid;
    av.port = 0;
    make_ends(s, &w);
    is_code(VAPI_create_addr_hndl(s->hca, s->pd, &av, &ah), VAPI_EINVAL_PORT, "a way by port 0");
    is_code(VAPI_create_addr_hndl(s->hca, s->pd, NULL, &ah), VAPI_EINVAL_PARAM, "no way");
    av.port = 1;
    is_code(VAPI_create_addr_hndl(s->hca, s->pd, &av, &ah), VAPI_OK, "a way");
    is_code(VAPI_query_addr_hndl(s->hca, ah, &got), VAPI_OK, "tells");
    is_true(got.dlid == av.dlid && got.port == 1, "where it leads");
    av.port = 7;
    is_code(VAPI_modify_addr_hndl(s->hca, ah, &av), VAPI_EINVAL_PORT, "elsewhere, by no port");
    for (int global = 0; global < 2; global++) {
        u_int16_t n;
        av.port = 1;
        av.grh_flag = (MT_bool)(global ? 0x80 : 0);
        if (global) {
            IB_gid_t gid[1];
            VAPI_query_hca_gid_tbl(s->hca, 1, 1, &n, gid);
            memcpy(av.dgid, gid[0], sizeof av.dgid);
            av.sgid_index = 0;
            av.hop_limit = 1;
            av.flow_label = 0;
        }
        is_code(VAPI_modify_addr_hndl(s->hca, ah, &av), VAPI_OK, global ? "with a GRH" : "without");
        NEED(VAPI_post_rr(s->hca, s->b.qp, receive(s, 31, 1024, 100)));
        VAPI_sr_desc_t *d = request(s, VAPI_SEND_WITH_IMM, 30, 0, 20);
        d->remote_ah = ah;
        d->remote_qp = s->b.prop.qp_num;
        d->remote_qkey = TEST_QKEY;
        d->imm_data = 99;
        is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_OK, "a datagram");
        is_number(await_wc(s, s->a.scq).id, 30, "is sent");
        VAPI_wc_desc_t wc = await_wc(s, s->b.rcq);
        is_true(wc.status == VAPI_SUCCESS && wc.id == 31 && wc.byte_len == 20 + VAPI_GRH_LEN &&
                    wc.imm_data_valid == 1 && wc.imm_data == 99 && wc.grh_flag == global &&
                    wc.remote_node_addr.type == VAPI_RNA_UD &&
                    wc.remote_node_addr.qp_ety.qp == s->a.prop.qp_num &&
                    wc.remote_node_addr.slid == s->port.lid && wc.remote_node_addr.sl == 0 &&
                    wc.remote_node_addr.ee_dlid.dst_path_bits == 0,
                "is received, with who sent it");
    }
    VAPI_sr_desc_t *d = request(s, VAPI_SEND, 30, 0, 20);
    d->remote_ah = 12345;
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_EINVAL_AV_HNDL, "a datagram to nowhere");
    d = request(s, VAPI_RDMA_WRITE, 30, 0, 20);
    is_code(VAPI_post_sr(s->hca, s->a.qp, d), VAPI_EINVAL_OP, "a write");
    VAPI_pd_hndl_t pd = s->pd;
    is_code(VAPI_dealloc_pd(s->hca, pd), VAPI_EBUSY, "the domain stays");
    struct stage c = *s;
    struct wants connected = {.signals = VAPI_SIGNAL_REQ_WR};
    make_ends(&c, &connected);
    multicast(s, c.a.qp);
    drop_ends(&c);
    is_code(VAPI_destroy_addr_hndl(s->hca, ah), VAPI_OK, "the way ends");
    drop_ends(s);
    w.type = VAPI_TS_UC;
    make_ends(s, &w);
    is_code(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_READ, 1, 0, 8)), VAPI_EINVAL_OP,
            "a read without reliability");
    is_code(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_RDMA_WRITE, 1, 0, 8)), VAPI_OK,
            "a write");
    is_number(await_wc(s, s->a.scq).opcode, VAPI_CQE_SQ_RDMA_WRITE, "which completes");
    drop_ends(s);
}

void srq_rules(struct stage *s)
{
    VAPI_srq_attr_t attr, got;
    VAPI_srq_hndl_t srq;
    VAPI_SRQ_ATTR_T_INIT(&attr);
    attr.max_outs_wr = 8;
    attr.max_sentries = 1;
    is_code(VAPI_create_srq(s->hca, &attr, &srq, &got), VAPI_EINVAL_PD_HNDL, "of no domain");
    attr.pd_hndl = s->pd;
    attr.max_outs_wr = 1 << 20;
    is_code(VAPI_create_srq(s->hca, &attr, &srq, &got), VAPI_E2BIG_WR_NUM, "too many receives");
    attr.max_outs_wr = 8;
    attr.max_sentries = 1000;
    is_code(VAPI_create_srq(s->hca, &attr, &srq, &got), VAPI_E2BIG_SG_NUM, "too many pieces");
    attr.max_sentries = 0;
    is_code(VAPI_create_srq(s->hca, &attr, &srq, &got), VAPI_EINVAL_PARAM, "none");
    attr.max_sentries = 2;
    is_code(VAPI_create_srq(s->hca, &attr, &srq, &got), VAPI_OK, "a shared queue");
    is_true(got.max_outs_wr >= 8 && got.max_sentries >= 2, "of the size asked for");
    VAPI_pd_hndl_t other;
    struct wants w = {.signals = VAPI_SIGNAL_REQ_WR, .srq = srq, .one_cq = true};
    make_ends(s, &w);
    NEED(VAPI_alloc_pd(s->hca, &other));
    VAPI_qp_init_attr_t init = {
        .sq_cq_hndl = s->a.scq, .rq_cq_hndl = s->a.rcq, .cap = {4, 4, 1, 1, 0}, .pd_hndl = other};
    VAPI_qp_init_attr_ext_t ext = {srq};
    VAPI_qp_hndl_t qp;
    is_code(VAPI_create_qp_ext(s->hca, &init, &ext, &qp, NULL), VAPI_EINVAL_PD_HNDL,
            "a QP of another domain");
    NEED(VAPI_dealloc_pd(s->hca, other));
    is_code(VAPI_destroy_srq(s->hca, srq), VAPI_EBUSY, "it stays while QPs receive from it");
    is_code(VAPI_post_rr(s->hca, s->a.qp, receive(s, 1, 0, 8)), VAPI_EINVAL_SRQ_HNDL,
            "they have no receives of their own");
    is_code(EVAPI_post_rr_list(s->hca, s->a.qp, 1, receive(s, 1, 0, 8)), VAPI_EINVAL_SRQ_HNDL,
            "no lists either");
    u_int32_t posted, size;
    VAPI_rr_desc_t rr[2] = {*receive(s, 41, 1024, 8), *receive(s, UINT64_C(3) << 62 | 42, 1024, 8)};
    is_code(VAPI_post_srq(s->hca, srq, 0, rr, &posted), VAPI_EINVAL_PARAM, "posting none");
    is_code(VAPI_post_srq(s->hca, srq, 2, rr, &posted), VAPI_OK, "posting two");
    is_number(posted, 2, "posts two");
    for (int i = 0; i < 2; i++) {
        NEED(VAPI_post_sr(s->hca, s->a.qp, request(s, VAPI_SEND, 9, 0, 8)));
        (void)await_wc(s, s->a.scq);
        VAPI_wc_desc_t wc = await_wc(s, s->b.rcq);
        is_true(wc.id == rr[i].id && wc.opcode == VAPI_CQE_RQ_SEND_DATA && wc.free_res_count == 1,
                "a message takes one");
    }
    rr[1].opcode = VAPI_SEND;
    is_code(VAPI_post_srq(s->hca, srq, 2, rr, &posted), VAPI_EINVAL_OP, "the second is wrong");
    is_number(posted, 1, "the first is posted");
    rr[1].opcode = VAPI_RECEIVE;
    VAPI_ret_t code = VAPI_OK;
    u_int32_t total = 1;
    while ((code = VAPI_post_srq(s->hca, srq, 2, rr, &posted)) == VAPI_OK) total += posted;
    is_code(code, VAPI_E2BIG_WR_NUM, "until it is full");
    is_number(total + posted, got.max_outs_wr, "of as many as were told");
    attr.srq_limit = 3;
    is_code(VAPI_modify_srq(s->hca, srq, &attr, VAPI_SRQ_ATTR_LIMIT, &size), VAPI_OK, "a limit");
    is_number(size, got.max_outs_wr, "tells the size");
    is_code(VAPI_query_srq(s->hca, srq, &got), VAPI_OK, "asked");
    is_number(got.srq_limit, 3, "it tells the limit");
    is_code(VAPI_modify_srq(s->hca, srq, &attr, 0, &size), VAPI_EINVAL_PARAM, "nothing to change");
    is_code(VAPI_modify_srq(s->hca, srq, &attr, VAPI_SRQ_ATTR_MAX_OUTS_WR, &size), VAPI_ENOSYS,
            "the device does not resize");
    drop_ends(s);
    is_code(VAPI_destroy_srq(s->hca, srq), VAPI_OK, "it ends");
}
