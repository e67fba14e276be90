/* hca.c - HCAs, ports, and every call with wrong handles. */
#include <string.h>

#include "qp_pair.h"

void hca_rules(struct stage *s)
{
    u_int32_t n = 77;
    VAPI_hca_id_t id[4];
    VAPI_hca_hndl_t again, alias;
    is_code(EVAPI_list_hcas(0, &n, NULL), VAPI_EAGAIN, "the counting call");
    is_number(n, 1, "counts");
    is_code(EVAPI_list_hcas(0, &n, id), VAPI_EINVAL_PARAM, "room for none and a place for some");
    is_code(EVAPI_list_hcas(4, &n, NULL), VAPI_EINVAL_PARAM, "room for some and no place");
    memset(id, 'z', sizeof id);
    is_code(EVAPI_list_hcas(4, &n, id), VAPI_OK, "the list");
    is_true(!strcmp(id[0], "softhca0") && id[1][0] == 'z', "and no more than there are");
    is_code(VAPI_open_hca(id[0], &again), VAPI_EBUSY, "opening one that there is");
    is_code(VAPI_open_hca("nothing", &again), VAPI_EINVAL_HCA_ID, "and one that there is not");
    is_code(EVAPI_open_hca("softhca0", NULL, NULL), VAPI_EBUSY, "as an administrator");
    is_code(EVAPI_close_hca("nothing"), VAPI_EINVAL_HCA_ID, "closing one that there is not");
    is_code(EVAPI_get_hca_hndl("nothing", &again), VAPI_EINVAL_HCA_ID, "attaching to it");
    is_code(EVAPI_get_hca_hndl("InfiniHost1", &again), VAPI_EINVAL_HCA_ID, "the second of one");
    is_code(EVAPI_get_hca_hndl("softhca0", &again), VAPI_OK, "attaching again");
    is_code(EVAPI_get_hca_hndl("InfiniHost0", &alias), VAPI_OK, "by the name of old");
    is_true(again == s->hca && alias == s->hca, "gives the same handle");
    is_code(EVAPI_release_hca_hndl(again), VAPI_OK, "each is released");
    is_code(EVAPI_release_hca_hndl(alias), VAPI_OK, "once");
    is_code(EVAPI_release_hca_hndl(s->hca), VAPI_EBUSY, "the last not while there are objects");
    is_code(VAPI_query_hca_port_prop(s->hca, 1, NULL), VAPI_OK, "and the handle stays good");
    is_code(VAPI_close_hca(s->hca), VAPI_EBUSY, "no program closes an HCA");

    VAPI_hca_vendor_t vendor;
    VAPI_hca_cap_t cap;
    is_code(VAPI_query_hca_cap(s->hca, &vendor, &cap), VAPI_OK, "what it can");
    is_true(cap.phys_port_num == 1 && cap.max_num_qp > 0 && cap.max_qp_ous_wr > 0 &&
                cap.max_num_sg_ent > 0 && cap.max_num_ent_cq > 0 && cap.max_qp_ous_rd_atom >= 1 &&
                cap.max_qp_init_rd_atom >= 1 && cap.max_num_fmr > 0 && cap.max_num_map_per_fmr > 0,
            "is told as numbers that programs take");
    is_code(VAPI_query_hca_cap(s->hca, NULL, NULL), VAPI_OK, "either may be left out");
    is_code(VAPI_query_hca_port_prop(s->hca, 0, NULL), VAPI_EINVAL_PORT, "port 0");
    is_code(VAPI_query_hca_port_prop(s->hca, 2, NULL), VAPI_EINVAL_PORT, "port 2 of 1");
    is_true(s->port.state == PORT_ACTIVE && s->port.lid != 0 && s->port.max_mtu >= MTU256,
            "the port is active");
    u_int16_t count;
    IB_gid_t gid[8];
    VAPI_pkey_t pkey[8];
    is_code(VAPI_query_hca_gid_tbl(s->hca, 1, 0, &count, NULL), VAPI_EAGAIN, "counting GIDs");
    is_true(count == s->port.gid_tbl_len && count <= 8, "as many as the port tells");
    is_code(VAPI_query_hca_gid_tbl(s->hca, 1, 8, &count, gid), VAPI_OK, "the GIDs");
    is_code(VAPI_query_hca_gid_tbl(s->hca, 9, 8, &count, gid), VAPI_EINVAL_PORT, "of no port");
    is_code(VAPI_query_hca_gid_tbl(s->hca, 1, 8, &count, NULL), VAPI_EINVAL_PARAM, "to no place");
    is_code(VAPI_query_hca_pkey_tbl(s->hca, 1, 8, &count, pkey), VAPI_OK, "the P_Keys");
    is_number(pkey[0], 0xffff, "in the host's order");
    is_code(VAPI_query_hca_pkey_tbl(s->hca, 9, 8, &count, pkey), VAPI_EINVAL_PORT, "of no port");
    is_code(VAPI_modify_hca_attr(s->hca, 1, NULL, NULL), VAPI_ENOSYS, "nothing is set here");
    is_code(EVAPI_process_local_mad(s->hca, 1, 0, 0, NULL, NULL), VAPI_ENOSYS, "no MADs");
    is_code(EVAPI_query_devmem(s->hca, EVAPI_DEVMEM_EXT_DRAM, 0, NULL), VAPI_ENOSYS, "no memory");
}

/* Tests a call with a handle that is no HCA's; and, where the call takes another object, with a
 * handle that is not of its kind. H stands for the HCA's handle, X for the other. */
#define BAD_HCA(call)                                                                              \
    do {                                                                                           \
        VAPI_hca_hndl_t H = 0x7f123405;                                                            \
        MT_ulong_ptr_t X = s->pd;                                                                  \
        (void)X;                                                                                   \
        is_code(call, VAPI_EINVAL_HCA_HNDL, #call);                                                \
    } while (0)
#define BAD_BOTH(call, code)                                                                       \
    do {                                                                                           \
        const MT_ulong_ptr_t bad[] = {0, VAPI_INVAL_HNDL, 12345, s->hca, ~(MT_ulong_ptr_t)0};      \
        VAPI_hca_hndl_t H = s->hca;                                                                \
        int good = 0;                                                                              \
        BAD_HCA(call);                                                                             \
        for (int i = 0; i < 5; i++) {                                                              \
            MT_ulong_ptr_t X = bad[i];                                                             \
            good += (call) == (code);                                                              \
        }                                                                                          \
        is_number(good, 5, #code ": " #call);                                                      \
    } while (0)

static void bad_hcas(struct stage *s)
{
    VAPI_pd_hndl_t pd;
    VAPI_cq_hndl_t cq;
    VAPI_cqe_num_t n;
    EVAPI_async_handler_hndl_t ah;
    BAD_HCA(VAPI_close_hca(H));
    BAD_HCA(EVAPI_release_hca_hndl(H));
    BAD_HCA(VAPI_query_hca_cap(H, NULL, NULL));
    BAD_HCA(VAPI_query_hca_port_prop(H, 1, NULL));
    BAD_HCA(VAPI_query_hca_gid_tbl(H, 1, 0, NULL, NULL));
    BAD_HCA(VAPI_query_hca_pkey_tbl(H, 1, 0, NULL, NULL));
    BAD_HCA(VAPI_modify_hca_attr(H, 1, NULL, NULL));
    BAD_HCA(VAPI_alloc_pd(H, &pd));
    BAD_HCA(EVAPI_alloc_pd(H, 1, &pd));
    BAD_HCA(EVAPI_alloc_pd_sqp(H, 1, &pd));
    BAD_HCA(VAPI_create_cq(H, 1, &cq, &n));
    BAD_HCA(VAPI_create_qp(H, NULL, NULL, NULL));
    BAD_HCA(VAPI_create_qp_ext(H, NULL, NULL, NULL, NULL));
    BAD_HCA(VAPI_get_special_qp(H, 1, VAPI_GSI_QP, NULL, NULL, NULL));
    BAD_HCA(VAPI_create_srq(H, NULL, NULL, NULL));
    BAD_HCA(VAPI_register_mr(H, NULL, NULL, NULL));
    BAD_HCA(EVAPI_alloc_fmr(H, NULL, NULL));
    BAD_HCA(EVAPI_unmap_fmr(H, 1, NULL));
    BAD_HCA(EVAPI_alloc_map_devmem(H, EVAPI_DEVMEM_EXT_DRAM, 1, 0, NULL, NULL, NULL));
    BAD_HCA(EVAPI_query_devmem(H, EVAPI_DEVMEM_EXT_DRAM, 0, NULL));
    BAD_HCA(EVAPI_free_unmap_devmem(H, 0));
    BAD_HCA(EVAPI_process_local_mad(H, 1, 0, 0, NULL, NULL));
    BAD_HCA(VAPI_set_comp_event_handler(H, NULL, NULL));
    BAD_HCA(VAPI_set_async_event_handler(H, NULL, NULL));
    BAD_HCA(EVAPI_set_async_event_handler(H, NULL, NULL, &ah));
    BAD_HCA(EVAPI_clear_async_event_handler(H, 1));
}

void handle_rules(struct stage *s)
{
    VAPI_ud_av_t av = {.port = 1};
    VAPI_sr_desc_t *sr = request(s, VAPI_SEND, 1, 0, 8);
    VAPI_rr_desc_t *rr = receive(s, 1, 0, 8);
    VAPI_wc_desc_t wc;
    VAPI_qp_attr_t attr = {.qp_state = VAPI_ERR};
    VAPI_qp_attr_mask_t mask = QP_ATTR_QP_STATE;
    VAPI_qp_cap_t cap;
    VAPI_qp_init_attr_t init;
    VAPI_qp_init_attr_ext_t ext;
    VAPI_mr_t mr = s->keys;
    VAPI_mw_bind_t bind = {0};
    IB_gid_t gid = {0xff};
    MT_ulong_ptr_t out;
    VAPI_mr_hndl_t mr_out;
    u_int32_t n;
    void *priv;
    bad_hcas(s);
    BAD_BOTH(VAPI_dealloc_pd(H, X), VAPI_EINVAL_PD_HNDL);
    BAD_BOTH(VAPI_create_addr_hndl(H, X, &av, &out), VAPI_EINVAL_PD_HNDL);
    BAD_BOTH(VAPI_alloc_mw(H, X, &out, &n), VAPI_EINVAL_PD_HNDL);
    BAD_BOTH(VAPI_modify_addr_hndl(H, X, &av), VAPI_EINVAL_AV_HNDL);
    BAD_BOTH(VAPI_query_addr_hndl(H, X, &av), VAPI_EINVAL_AV_HNDL);
    BAD_BOTH(VAPI_destroy_addr_hndl(H, X), VAPI_EINVAL_AV_HNDL);
    BAD_BOTH(VAPI_query_cq(H, X, &n), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(VAPI_resize_cq(H, X, 8, &n), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(VAPI_destroy_cq(H, X), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(VAPI_poll_cq(H, X, &wc), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(VAPI_req_comp_notif(H, X, VAPI_NEXT_COMP), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_req_ncomp_notif(H, X, 1), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_poll_cq_block(H, X, 1, &wc), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_poll_cq_unblock(H, X), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_peek_cq(H, X, 1), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_poll_cq_list(H, X, 1, &wc, &n), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_set_comp_eventh(H, X, EVAPI_POLL_CQ_UNBLOCK_HANDLER, NULL, &out),
             VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_clear_comp_eventh(H, X), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_set_priv_context4cq(H, X, NULL), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_get_priv_context4cq(H, X, &priv), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(EVAPI_suspend_cq(H, X, 1), VAPI_EINVAL_CQ_HNDL);
    BAD_BOTH(VAPI_modify_qp(H, X, &attr, &mask, &cap), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(VAPI_query_qp(H, X, &attr, &mask, &init), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(VAPI_query_qp_ext(H, X, &attr, &mask, &init, &ext), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(VAPI_destroy_qp(H, X), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(EVAPI_set_priv_context4qp(H, X, NULL), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(EVAPI_get_priv_context4qp(H, X, &priv), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(EVAPI_suspend_qp(H, X, 1), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(VAPI_attach_to_multicast(H, gid, X, 0), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(VAPI_detach_from_multicast(H, gid, X, 0), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(VAPI_post_sr(H, X, sr), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(VAPI_post_rr(H, X, rr), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(EVAPI_post_inline_sr(H, X, sr), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(EVAPI_post_sr_list(H, X, 1, sr), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(EVAPI_post_rr_list(H, X, 1, rr), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(EVAPI_post_gsi_sr(H, X, sr, 0), VAPI_EINVAL_QP_HNDL);
    BAD_BOTH(VAPI_query_srq(H, X, NULL), VAPI_EINVAL_SRQ_HNDL);
    BAD_BOTH(VAPI_modify_srq(H, X, NULL, 0, NULL), VAPI_EINVAL_SRQ_HNDL);
    BAD_BOTH(VAPI_destroy_srq(H, X), VAPI_EINVAL_SRQ_HNDL);
    BAD_BOTH(VAPI_post_srq(H, X, 1, rr, NULL), VAPI_EINVAL_SRQ_HNDL);
    BAD_BOTH(VAPI_query_mr(H, (VAPI_mr_hndl_t)X, &mr, NULL, NULL), VAPI_EINVAL_MR_HNDL);
    BAD_BOTH(VAPI_deregister_mr(H, (VAPI_mr_hndl_t)X), VAPI_EINVAL_MR_HNDL);
    BAD_BOTH(VAPI_reregister_mr(H, (VAPI_mr_hndl_t)X, 1, &mr, &mr_out, &mr), VAPI_EINVAL_MR_HNDL);
    BAD_BOTH(VAPI_register_smr(H, (VAPI_mr_hndl_t)X, &mr, &mr_out, &mr), VAPI_EINVAL_MR_HNDL);
    BAD_BOTH(EVAPI_map_fmr(H, (VAPI_mr_hndl_t)X, NULL, NULL, NULL), VAPI_EINVAL_MR_HNDL);
    BAD_BOTH(EVAPI_free_fmr(H, (VAPI_mr_hndl_t)X), VAPI_EINVAL_MR_HNDL);
    BAD_BOTH(VAPI_query_mw(H, X, NULL, NULL), VAPI_EINVAL_MW_HNDL);
    BAD_BOTH(VAPI_dealloc_mw(H, X), VAPI_EINVAL_MW_HNDL);
    BAD_BOTH(VAPI_bind_mw(H, X, &bind, 0, 0, VAPI_SIGNALED, &n), VAPI_EINVAL_MW_HNDL);
    VAPI_pd_hndl_t before, after;
    NEED(VAPI_alloc_pd(s->hca, &before));
    NEED(VAPI_dealloc_pd(s->hca, before));
    NEED(VAPI_alloc_pd(s->hca, &after));
    is_code(VAPI_dealloc_pd(s->hca, before), VAPI_EINVAL_PD_HNDL, "a handle that was one");
    NEED(VAPI_dealloc_pd(s->hca, after));
}
