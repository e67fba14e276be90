/* names.c - every name of VAPI that a program may use, as the C of 1989 and as C++: constants with
 * their values, members with their types' room, macros, calls.  headers.sh compiles it in every way
 * and links it with the libraries that makefiles of old name.
 */
#include <evapi.h>
#include <mosal.h>
#include <mpga.h>
#include <mtl_common.h>
#include <vapi.h>
#include <vapi_common.h>
#include <wrap_common.h>

static int wrong;

static void check(long got, long wanted, const char *name)
{
    if (got == wanted) return;
    printf("# %s is %ld, not %ld\n", name, got, wanted);
    wrong++;
}
#define IS(name, value) check((long)(name), (long)(value), #name)

/* Consecutive from `first` on. */
static void row(const long *values, int n, long first, const char *name)
{
    int i;
    for (i = 0; i < n; i++) check(values[i], first + i, name);
}
#define ROW(first, values) row(values, (int)(sizeof(values) / sizeof *(values)), first, #values)

static void codes(void)
{
    static const long all[] = {VAPI_EGEN,
                               VAPI_EFATAL,
                               VAPI_EAGAIN,
                               VAPI_ENOMEM,
                               VAPI_EBUSY,
                               VAPI_ETIMEOUT,
                               VAPI_EINTR,
                               VAPI_EPERM,
                               VAPI_ENOSYS,
                               VAPI_ESYSCALL,
                               VAPI_EINVAL_PARAM,
                               VAPI_EINVAL_HCA_HNDL,
                               VAPI_EINVAL_HCA_ID,
                               VAPI_EINVAL_COUNTER,
                               VAPI_EINVAL_COUNT_VAL,
                               VAPI_EINVAL_PD_HNDL,
                               VAPI_EINVAL_RD_UNSUPPORTED,
                               VAPI_EINVAL_RDD_HNDL,
                               VAPI_EINVAL_AV_HNDL,
                               VAPI_E2BIG_WR_NUM,
                               VAPI_E2BIG_SG_NUM,
                               VAPI_EINVAL_SERVICE_TYPE,
                               VAPI_ENOSYS_ATTR,
                               VAPI_EINVAL_ATTR,
                               VAPI_ENOSYS_ATOMIC,
                               VAPI_EINVAL_PKEY_IX,
                               VAPI_EINVAL_PKEY_TBL_ENTRY,
                               VAPI_EINVAL_QP_HNDL,
                               VAPI_EINVAL_QP_STATE,
                               VAPI_EINVAL_SRQ_HNDL,
                               VAPI_ESRQ,
                               VAPI_EINVAL_EEC_HNDL,
                               VAPI_EINVAL_MIG_STATE,
                               VAPI_EINVAL_MTU,
                               VAPI_EINVAL_PORT,
                               VAPI_EINVAL_RNR_NAK_TIMER,
                               VAPI_EINVAL_LOCAL_ACK_TIMEOUT,
                               VAPI_E2BIG_RAW_DGRAM_NUM,
                               VAPI_EINVAL_QP_TYPE,
                               VAPI_ENOSYS_RAW,
                               VAPI_EINVAL_CQ_HNDL,
                               VAPI_E2BIG_CQ_NUM,
                               VAPI_CQ_EMPTY,
                               VAPI_EINVAL_VA,
                               VAPI_EINVAL_LEN,
                               VAPI_EINVAL_ACL,
                               VAPI_EINVAL_PADDR,
                               VAPI_EINVAL_OFST,
                               VAPI_EINVAL_MR_HNDL,
                               VAPI_EINVAL_MW_HNDL,
                               VAPI_EINVAL_OP,
                               VAPI_EINVAL_NOTIF_TYPE,
                               VAPI_EINVAL_SG_FMT,
                               VAPI_EINVAL_SG_NUM,
                               VAPI_E2BIG_MCG_SIZE,
                               VAPI_EINVAL_MCG_GID,
                               VAPI_EOL,
                               VAPI_ERROR_MAX};
    IS(VAPI_OK, 0);
    ROW(-255, all);
}

static void constants(void)
{
    static const long transports[] = {VAPI_TS_RC, VAPI_TS_RD,  VAPI_TS_UC,
                                      VAPI_TS_UD, VAPI_TS_RAW, VAPI_NUM_TS_TYPES};
    static const long states[] = {VAPI_RESET, VAPI_INIT, VAPI_RTR, VAPI_RTS,
                                  VAPI_SQD,   VAPI_SQE,  VAPI_ERR};
    static const long specials[] = {VAPI_REGULAR_QP, VAPI_SMI_QP, VAPI_GSI_QP, VAPI_RAW_IPV6_QP,
                                    VAPI_RAW_ETY_QP};
    static const long migration[] = {VAPI_MIGRATED, VAPI_REARM, VAPI_ARMED};
    static const long atomics[] = {VAPI_ATOMIC_CAP_NONE, VAPI_ATOMIC_CAP_HCA, VAPI_ATOMIC_CAP_GLOB};
    static const long port_states[] = {PORT_NOP, PORT_DOWN, PORT_INITIALIZE, PORT_ARMED,
                                       PORT_ACTIVE};
    static const long mtus[] = {MTU256, MTU512, MTU1024, MTU2048, MTU4096};
    static const long types[] = {VAPI_MR, VAPI_MW, VAPI_MPR, VAPI_MSHAR};
    static const long ops[] = {VAPI_RDMA_WRITE,
                               VAPI_RDMA_WRITE_WITH_IMM,
                               VAPI_SEND,
                               VAPI_SEND_WITH_IMM,
                               VAPI_RDMA_READ,
                               VAPI_ATOMIC_CMP_AND_SWP,
                               VAPI_ATOMIC_FETCH_AND_ADD,
                               VAPI_RECEIVE,
                               VAPI_NUM_OPCODES};
    static const long cqes[] = {VAPI_CQE_SQ_SEND_DATA, VAPI_CQE_SQ_RDMA_WRITE,
                                VAPI_CQE_SQ_RDMA_READ, VAPI_CQE_SQ_COMP_SWAP,
                                VAPI_CQE_SQ_FETCH_ADD, VAPI_CQE_SQ_BIND_MRW,
                                VAPI_CQE_RQ_SEND_DATA, VAPI_CQE_RQ_RDMA_WITH_IMM};
    static const long statuses[] = {VAPI_SUCCESS,           VAPI_LOC_LEN_ERR,
                                    VAPI_LOC_QP_OP_ERR,     VAPI_LOC_EE_OP_ERR,
                                    VAPI_LOC_PROT_ERR,      VAPI_WR_FLUSH_ERR,
                                    VAPI_MW_BIND_ERR,       VAPI_BAD_RESP_ERR,
                                    VAPI_LOC_ACCS_ERR,      VAPI_REM_INV_REQ_ERR,
                                    VAPI_REM_ACCESS_ERR,    VAPI_REM_OP_ERR,
                                    VAPI_RETRY_EXC_ERR,     VAPI_RNR_RETRY_EXC_ERR,
                                    VAPI_LOC_RDD_VIOL_ERR,  VAPI_REM_INV_RD_REQ_ERR,
                                    VAPI_REM_ABORT_ERR,     VAPI_INV_EECN_ERR,
                                    VAPI_INV_EEC_STATE_ERR, VAPI_COMP_FATAL_ERR,
                                    VAPI_COMP_GENERAL_ERR};
    static const long notifs[] = {VAPI_NOTIF_NONE, VAPI_SOLIC_COMP, VAPI_NEXT_COMP};
    static const long addresses[] = {VAPI_RNA_RD, VAPI_RNA_UD, VAPI_RNA_RAW_ETY, VAPI_RNA_RAW_IPV6};
    static const long events[] = {VAPI_QP_PATH_MIGRATED,
                                  VAPI_EEC_PATH_MIGRATED,
                                  VAPI_QP_COMM_ESTABLISHED,
                                  VAPI_EEC_COMM_ESTABLISHED,
                                  VAPI_SEND_QUEUE_DRAINED,
                                  VAPI_RECEIVE_QUEUE_DRAINED,
                                  VAPI_SRQ_LIMIT_REACHED,
                                  VAPI_SRQ_CATASTROPHIC_ERROR,
                                  VAPI_CQ_ERROR,
                                  VAPI_LOCAL_WQ_INV_REQUEST_ERROR,
                                  VAPI_LOCAL_WQ_ACCESS_VIOL_ERROR,
                                  VAPI_LOCAL_WQ_CATASTROPHIC_ERROR,
                                  VAPI_PATH_MIG_REQ_ERROR,
                                  VAPI_LOCAL_EEC_CATASTROPHIC_ERROR,
                                  VAPI_LOCAL_CATASTROPHIC_ERROR,
                                  VAPI_PORT_ERROR,
                                  VAPI_PORT_ACTIVE};
    static const long syndromes[] = {VAPI_EV_SYNDROME_NONE,
                                     VAPI_CATAS_ERR_FW_INTERNAL,
                                     VAPI_CATAS_ERR_EQ_OVERFLOW,
                                     VAPI_CATAS_ERR_MISBEHAVED_UAR_PAGE,
                                     VAPI_CATAS_ERR_UPLINK_BUS_ERR,
                                     VAPI_CATAS_ERR_HCA_DDR_DATA_ERR,
                                     VAPI_CATAS_ERR_INTERNAL_PARITY_ERR,
                                     VAPI_CATAS_ERR_MASTER_ABORT,
                                     VAPI_CATAS_ERR_GO_BIT,
                                     VAPI_CATAS_ERR_CMD_TIMEOUT,
                                     VAPI_CATAS_ERR_FATAL_CR,
                                     VAPI_CATAS_ERR_FATAL_TOKEN,
                                     VAPI_CATAS_ERR_GENERAL,
                                     VAPI_CQ_ERR_OVERRUN,
                                     VAPI_CQ_ERR_ACCESS_VIOL};
    ROW(0, transports);
    ROW(0, states);
    ROW(0, specials);
    ROW(0, migration);
    ROW(0, atomics);
    ROW(0, port_states);
    ROW(1, mtus);
    ROW(0, types);
    ROW(0, ops);
    ROW(0, cqes);
    ROW(0, statuses);
    ROW(0, notifs);
    ROW(0, addresses);
    ROW(0, events);
    ROW(0, syndromes);
    IS(VAPI_SIGNAL_ALL_WR, 0);
    IS(VAPI_SIGNAL_REQ_WR, 1);
    IS(VAPI_SIGNALED, 0);
    IS(VAPI_UNSIGNALED, 1);
    check(VAPI_CQE_INVAL_OPCODE == (VAPI_cqe_opcode_t)0xFFFFFFFF, 1, "VAPI_CQE_INVAL_OPCODE");
    IS(IB_RNR_NAK_TIMER_655_36, 0);
    IS(IB_RNR_NAK_TIMER_0_08, 6);
    IS(IB_RNR_NAK_TIMER_491_52, 31);
}

static void bits(void)
{
    IS(QP_ATTR_QP_STATE, 0x1);
    IS(QP_ATTR_EN_SQD_ASYN_NOTIF, 0x2);
    IS(QP_ATTR_QP_NUM, 0x4);
    IS(QP_ATTR_REMOTE_ATOMIC_FLAGS, 0x8);
    IS(QP_ATTR_PKEY_IX, 0x10);
    IS(QP_ATTR_PORT, 0x20);
    IS(QP_ATTR_QKEY, 0x40);
    IS(QP_ATTR_AV, 0x80);
    IS(QP_ATTR_PATH_MTU, 0x100);
    IS(QP_ATTR_TIMEOUT, 0x200);
    IS(QP_ATTR_RETRY_COUNT, 0x400);
    IS(QP_ATTR_RNR_RETRY, 0x800);
    IS(QP_ATTR_RQ_PSN, 0x1000);
    IS(QP_ATTR_QP_OUS_RD_ATOM, 0x2000);
    IS(QP_ATTR_ALT_PATH, 0x4000);
    IS(QP_ATTR_RSRV_1, 0x8000);
    IS(QP_ATTR_RSRV_6, 0x100000);
    IS(QP_ATTR_MIN_RNR_TIMER, 0x200000);
    IS(QP_ATTR_SQ_PSN, 0x400000);
    IS(QP_ATTR_OUS_DST_RD_ATOM, 0x800000);
    IS(QP_ATTR_PATH_MIG_STATE, 0x1000000);
    IS(QP_ATTR_CAP, 0x2000000);
    IS(QP_ATTR_DEST_QP_NUM, 0x4000000);
    IS(QP_ATTR_SCHED_QUEUE, 0x8000000);
    IS(VAPI_EN_REM_WRITE | VAPI_EN_REM_READ << 4 | VAPI_EN_REM_ATOMIC_OP << 8, 0x421);
    IS(VAPI_EN_LOCAL_WRITE, 1);
    IS(VAPI_EN_REMOTE_WRITE, 2);
    IS(VAPI_EN_REMOTE_READ, 4);
    IS(VAPI_EN_REMOTE_ATOM, 8);
    IS(VAPI_EN_MEMREG_BIND, 16);
    IS(VAPI_MR_CHANGE_TRANS, 1);
    IS(VAPI_MR_CHANGE_PD, 2);
    IS(VAPI_MR_CHANGE_ACL, 4);
    IS(VAPI_SRQ_ATTR_LIMIT, 1);
    IS(VAPI_SRQ_ATTR_MAX_OUTS_WR, 2);
    IS(HCA_ATTR_IS_SM | HCA_ATTR_IS_SNMP_TUN_SUP | HCA_ATTR_IS_DEV_MGT_SUP |
           HCA_ATTR_IS_VENDOR_CLS_SUP,
       15);
    IS(HCA_ATTR_MAX, 16);
    IS(VAPI_RESIZE_OUS_WQE_CAP, 1);
    IS(VAPI_RC_RNR_NAK_GEN_CAP, 1 << 12);
    IS(IB_CAP_MASK_IS_SM, 1 << 1);
    IS(IB_CAP_MASK_IS_SM_DISABLED, 1 << 10);
    IS(IB_CAP_MASK_IS_BOOT_MGMT_SUP, 1 << 23);
    IS(HCA_MAXNAME, 32);
    IS(VAPI_GRH_LEN, 40);
    IS(IB_MAD_LEN, 256);
    IS(NULL_IB_PORT, 0xff);
    IS(IB_MULTICAST_QP, 0xffffff);
    IS(VAPI_INVAL_HNDL, 0xffffffffl);
    IS(VAPI_INVAL_PD_HNDL, 0xffffffffl);
    IS(VAPI_INVAL_SRQ_HNDL, 0xffffffffl);
    IS(EVAPI_DEFAULT_AVS_PER_PD, 0xffffffffl);
    IS(EVAPI_MAD_IGNORE_MKEY, 1);
    IS(MT_MELLANOX_IEEE_VENDOR_ID, 0x02c9);
    IS(MT_MELLANOX_PCI_VENDOR_ID, 0x15b3);
    IS(MT_TOPSPIN_PCI_VENDOR_ID, 0x1867);
    IS(TRUE, 1);
    IS(FALSE, 0);
    IS(MT_OK, 0);
    IS(IS_TRUE(5) && IS_FALSE(0), 1);
}

/* Bytes that a type takes. */
static void widths(void)
{
    IS(sizeof(VAPI_hca_id_t), 32);
    IS(sizeof(VAPI_hca_hndl_t) + sizeof(VAPI_mr_hndl_t) + sizeof(EVAPI_fmr_hndl_t), 12);
    IS(sizeof(VAPI_qp_hndl_t), sizeof(void *));
    IS(sizeof(VAPI_cq_hndl_t), sizeof(void *));
    IS(sizeof(VAPI_pd_hndl_t), sizeof(void *));
    IS(sizeof(VAPI_ud_av_hndl_t), sizeof(void *));
    IS(sizeof(VAPI_srq_hndl_t), sizeof(void *));
    IS(sizeof(VAPI_mw_hndl_t), sizeof(void *));
    IS(sizeof(EVAPI_compl_handler_hndl_t), sizeof(VAPI_cq_hndl_t));
    IS(sizeof(EVAPI_async_handler_hndl_t), 4);
    IS(sizeof(VAPI_devmem_hndl_t) + sizeof(VAPI_eec_hndl_t) + sizeof(VAPI_rdd_hndl_t), 12);
    IS(sizeof(VAPI_k_cq_hndl_t) + sizeof(VAPI_k_qp_hndl_t), 8);
    IS(sizeof(VAPI_lkey_t) + sizeof(VAPI_rkey_t) + sizeof(VAPI_imm_data_t), 12);
    IS(sizeof(VAPI_virt_addr_t) + sizeof(VAPI_phy_addr_t) + sizeof(VAPI_size_t), 24);
    IS(sizeof(VAPI_wr_id_t), 8);
    IS(sizeof(VAPI_gid_t) + sizeof(IB_guid_t), 24);
    IS(sizeof(VAPI_timeout_t) + sizeof(VAPI_retry_count_t) + sizeof(VAPI_sched_queue_t), 3);
    IS(sizeof(VAPI_pkey_t) + sizeof(VAPI_ethertype_t) + sizeof(IB_lid_t), 6);
    IS(sizeof(IB_port_t) + sizeof(IB_sl_t) + sizeof(IB_static_rate_t), 3);
    IS(sizeof(VAPI_ret_t), 4);
    IS(sizeof(MT_bool), 1);
    IS(sizeof(MT_size_t) + sizeof(MT_virt_addr_t), 2 * sizeof(void *));
    IS(sizeof(VAPI_sg_lst_entry_t), 16);
    IS(sizeof(((VAPI_hca_vendor_t *)0)->fw_ver), 8);
    IS(sizeof(((VAPI_hca_cap_t *)0)->max_qp_init_rd_atom), 1);
    IS(sizeof(((VAPI_hca_cap_t *)0)->max_mr_size), 8);
}

/* The members that programs set before they post, and read after they have polled. */
static void members(void)
{
    VAPI_sr_desc_t sr;
    VAPI_rr_desc_t rr;
    VAPI_wc_desc_t wc;
    VAPI_sg_lst_entry_t sg;
    VAPI_ud_av_t av;
    VAPI_qp_attr_t attr;
    VAPI_qp_attr_mask_t mask;
    VAPI_hca_attr_mask_t hca_mask;
    VAPI_qp_init_attr_t init;
    VAPI_qp_init_attr_ext_t ext;
    VAPI_srq_attr_t srq;
    VAPI_mr_t mr;
    VAPI_mw_bind_t bind;
    EVAPI_fmr_t fmr;
    EVAPI_fmr_map_t map;
    VAPI_event_record_t event;
    VAPI_phy_buf_t buffer;
    VAPI_comp_type_t type;
    u_int32_t narrow; /* a handle as programs of 32-bit releases kept it */
    memset(&sr, 0, sizeof sr);
    IS(sr.comp_type, VAPI_SIGNALED);
    sr.id = 1, sr.opcode = VAPI_SEND_WITH_IMM, sr.comp_type = VAPI_UNSIGNALED, sr.sg_lst_p = &sg;
    sr.sg_lst_len = 1, sr.imm_data = 5, sr.fence = TRUE, sr.remote_ah = 1, sr.remote_qp = 2;
    sr.remote_qkey = 3, sr.ethertype = 4, sr.eecn = 5, sr.set_se = TRUE, sr.remote_addr = 6;
    sr.r_key = 7, sr.compare_add = 8, sr.swap = 9;
    type = sr.comp_type;
    IS(type, VAPI_UNSIGNALED);
    IS(sr.fence + sr.set_se, 2);
    IS(sr.r_key, 7);
    sg.addr = (VAPI_virt_addr_t)(MT_virt_addr_t)&sr, sg.len = 1, sg.lkey = 2;
    rr.id = 1, rr.opcode = VAPI_RECEIVE, rr.comp_type = VAPI_SIGNALED, rr.sg_lst_p = &sg;
    rr.sg_lst_len = 1;
    IS(rr.opcode, 7);
    memset(&wc, 0, sizeof wc);
    wc.status = VAPI_SUCCESS, wc.id = 1, wc.local_qp_num = 2, wc.opcode = VAPI_CQE_RQ_SEND_DATA;
    wc.byte_len = 3, wc.imm_data_valid = 1, wc.imm_data = 4, wc.grh_flag = 1, wc.pkey_ix = 5;
    wc.vendor_err_syndrome = 6, wc.free_res_count = 7;
    wc.remote_node_addr.type = VAPI_RNA_UD, wc.remote_node_addr.slid = 8;
    wc.remote_node_addr.sl = 9, wc.remote_node_addr.qp_ety.qp = 10;
    wc.remote_node_addr.ee_dlid.dst_path_bits = 11;
    IS(wc.imm_data_valid + wc.grh_flag + wc.pkey_ix, 7);
    IS(wc.remote_node_addr.slid + wc.remote_node_addr.qp_ety.qp, 18);
    memset(&av, 0, sizeof av);
    av.dgid[15] = 1, av.sl = 1, av.dlid = 1, av.src_path_bits = 1, av.static_rate = 1;
    av.grh_flag = 1, av.traffic_class = 1, av.hop_limit = 1, av.flow_label = 1, av.sgid_index = 1;
    av.port = 1;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = VAPI_RTS, attr.en_sqd_asyn_notif = 1, attr.sq_draining = 1, attr.qp_num = 1;
    attr.remote_atomic_flags = 1, attr.qkey = 1, attr.path_mtu = MTU1024;
    attr.path_mig_state = VAPI_ARMED, attr.rq_psn = 1, attr.sq_psn = 1, attr.qp_ous_rd_atom = 1;
    attr.ous_dst_rd_atom = 1, attr.min_rnr_timer = IB_RNR_NAK_TIMER_0_08;
    attr.cap.max_inline_data_sq = 1, attr.dest_qp_num = 1, attr.sched_queue = 1;
    attr.pkey_ix = 1, attr.port = 1, attr.av = av, attr.timeout = 1, attr.retry_count = 1;
    attr.rnr_retry = 1, attr.alt_pkey_ix = 1, attr.alt_port = 1, attr.alt_av = av;
    attr.alt_timeout = 1;
    QP_ATTR_MASK_CLR_ALL(mask);
    QP_ATTR_MASK_SET(mask, QP_ATTR_QP_STATE | QP_ATTR_PORT);
    QP_ATTR_MASK_CLR(mask, QP_ATTR_PORT);
    IS(QP_ATTR_IS_SET(mask, QP_ATTR_QP_STATE) && !QP_ATTR_IS_SET(mask, QP_ATTR_PORT), 1);
    QP_ATTR_MASK_SET_ALL(mask);
    IS(mask, 0x07ffffff);
    HCA_ATTR_MASK_CLR_ALL(hca_mask);
    HCA_ATTR_MASK_SET(hca_mask, HCA_ATTR_IS_SM);
    IS(HCA_ATTR_IS_FLAGS_SET(hca_mask) && HCA_ATTR_IS_SET(hca_mask, HCA_ATTR_IS_SM), 1);
    HCA_ATTR_MASK_CLR(hca_mask, HCA_ATTR_IS_SM);
    IS(hca_mask, 0);
    HCA_ATTR_MASK_SET_ALL(hca_mask);
    memset(&init, 0, sizeof init);
    init.sq_cq_hndl = init.rq_cq_hndl = 1, init.rdd_hndl = 0, init.pd_hndl = 1;
    init.sq_sig_type = init.rq_sig_type = VAPI_SIGNAL_REQ_WR, init.ts_type = VAPI_TS_RC;
    init.cap.max_oust_wr_sq = init.cap.max_oust_wr_rq = init.cap.max_sg_size_sq = 1;
    init.cap.max_sg_size_rq = 1;
    narrow = (u_int32_t)init.pd_hndl;
    IS(narrow, 1);
    VAPI_QP_INIT_ATTR_EXT_T_INIT(&ext);
    IS(ext.srq_hndl, VAPI_INVAL_SRQ_HNDL);
    VAPI_SRQ_ATTR_T_INIT(&srq);
    IS(srq.max_outs_wr + srq.max_sentries + srq.srq_limit, 0);
    memset(&mr, 0, sizeof mr);
    buffer.start = buffer.size = 0;
    mr.type = VAPI_MPR, mr.l_key = mr.r_key = 1, mr.start = 1, mr.size = 1, mr.pd_hndl = 1;
    mr.acl = VAPI_EN_LOCAL_WRITE, mr.pbuf_list_len = 1, mr.pbuf_list_p = &buffer;
    mr.iova_offset = (VAPI_phy_addr_t)buffer.start;
    bind.mr_lkey = 1, bind.start = 1, bind.size = 1, bind.acl = VAPI_EN_REMOTE_READ;
    IS(bind.mr_lkey, mr.l_key);
    fmr.pd_hndl = 1, fmr.acl = 1, fmr.max_pages = 1, fmr.log2_page_sz = 12;
    fmr.max_outstanding_maps = 1;
    map.start = 1, map.size = 1, map.page_array_len = 0, map.page_array = NULL;
    IS(fmr.max_pages + map.page_array_len, 1);
    memset(&event, 0, sizeof event);
    event.type = VAPI_PORT_ACTIVE, event.syndrome = VAPI_EV_SYNDROME_NONE;
    event.modifier.qp_hndl = 5;
    IS(event.modifier.cq_hndl, 5);
    IS(event.modifier.srq_hndl, 5);
    event.modifier.port_num = 1, event.modifier.eec_hndl = 1;
    IS(event.type, 16);
}

static void helpers(void)
{
    char text[64];
    IS(strcmp(VAPI_strerror_sym(VAPI_EAGAIN), "VAPI_EAGAIN"), 0);
    IS(strcmp(VAPI_wc_status_sym(VAPI_WR_FLUSH_ERR), "VAPI_WR_FLUSH_ERR"), 0);
    IS(strcmp(VAPI_mrw_acl_mask_sym(text, (int)sizeof text, VAPI_EN_LOCAL_WRITE),
              "EN_LOCAL_WRITE+"),
       0);
    MTL_ERROR1("never %d\n", wrong++);
    MTL_DEBUG4("%s", "seen");
    VAPI_CHECK(VAPI_OK);
    IS(mosal_ioctl_open() + mosal_ioctl_close(), 0);
    check(EVAPI_POLL_CQ_UNBLOCK_HANDLER != NULL, 1, "EVAPI_POLL_CQ_UNBLOCK_HANDLER");
}

static VAPI_ret_t returns(VAPI_ret_t code)
{
    VAPI_CHECK_RET(code);
    return VAPI_OK;
}

typedef void (*call_t)(void);
#define C(name) (call_t) name
static const call_t calls[] = {C(VAPI_open_hca),
                               C(VAPI_close_hca),
                               C(VAPI_query_hca_cap),
                               C(VAPI_query_hca_port_prop),
                               C(VAPI_query_hca_gid_tbl),
                               C(VAPI_query_hca_pkey_tbl),
                               C(VAPI_modify_hca_attr),
                               C(VAPI_alloc_pd),
                               C(VAPI_dealloc_pd),
                               C(VAPI_create_addr_hndl),
                               C(VAPI_modify_addr_hndl),
                               C(VAPI_query_addr_hndl),
                               C(VAPI_destroy_addr_hndl),
                               C(VAPI_create_cq),
                               C(VAPI_query_cq),
                               C(VAPI_resize_cq),
                               C(VAPI_destroy_cq),
                               C(VAPI_create_qp),
                               C(VAPI_create_qp_ext),
                               C(VAPI_modify_qp),
                               C(VAPI_query_qp),
                               C(VAPI_query_qp_ext),
                               C(VAPI_destroy_qp),
                               C(VAPI_get_special_qp),
                               C(VAPI_create_srq),
                               C(VAPI_query_srq),
                               C(VAPI_modify_srq),
                               C(VAPI_destroy_srq),
                               C(VAPI_post_srq),
                               C(VAPI_register_mr),
                               C(VAPI_query_mr),
                               C(VAPI_deregister_mr),
                               C(VAPI_reregister_mr),
                               C(VAPI_register_smr),
                               C(VAPI_alloc_mw),
                               C(VAPI_query_mw),
                               C(VAPI_bind_mw),
                               C(VAPI_dealloc_mw),
                               C(VAPI_attach_to_multicast),
                               C(VAPI_detach_from_multicast),
                               C(VAPI_post_sr),
                               C(VAPI_post_rr),
                               C(VAPI_poll_cq),
                               C(VAPI_req_comp_notif),
                               C(VAPI_set_comp_event_handler),
                               C(VAPI_set_async_event_handler),
                               C(EVAPI_list_hcas),
                               C(EVAPI_get_hca_hndl),
                               C(EVAPI_release_hca_hndl),
                               C(EVAPI_open_hca),
                               C(EVAPI_close_hca),
                               C(EVAPI_alloc_pd),
                               C(EVAPI_alloc_pd_sqp),
                               C(EVAPI_set_priv_context4qp),
                               C(EVAPI_get_priv_context4qp),
                               C(EVAPI_set_priv_context4cq),
                               C(EVAPI_get_priv_context4cq),
                               C(EVAPI_alloc_fmr),
                               C(EVAPI_map_fmr),
                               C(EVAPI_unmap_fmr),
                               C(EVAPI_free_fmr),
                               C(EVAPI_alloc_map_devmem),
                               C(EVAPI_query_devmem),
                               C(EVAPI_free_unmap_devmem),
                               C(EVAPI_post_inline_sr),
                               C(EVAPI_post_sr_list),
                               C(EVAPI_post_rr_list),
                               C(EVAPI_post_gsi_sr),
                               C(EVAPI_poll_cq_block),
                               C(EVAPI_poll_cq_unblock),
                               C(EVAPI_peek_cq),
                               C(EVAPI_req_ncomp_notif),
                               C(EVAPI_set_comp_eventh),
                               C(EVAPI_clear_comp_eventh),
                               C(EVAPI_set_async_event_handler),
                               C(EVAPI_clear_async_event_handler),
                               C(EVAPI_process_local_mad),
                               C(EVAPI_suspend_qp),
                               C(EVAPI_suspend_cq),
                               C(VAPI_strerror),
                               C(VAPI_strerror_sym),
                               C(VAPI_atomic_cap_sym),
                               C(VAPI_sig_type_sym),
                               C(VAPI_ts_type_sym),
                               C(VAPI_qp_state_sym),
                               C(VAPI_mig_state_sym),
                               C(VAPI_special_qp_sym),
                               C(VAPI_mrw_type_sym),
                               C(VAPI_remote_node_addr_sym),
                               C(VAPI_wr_opcode_sym),
                               C(VAPI_cqe_opcode_sym),
                               C(VAPI_wc_status_sym),
                               C(VAPI_comp_type_sym),
                               C(VAPI_cq_notif_sym),
                               C(VAPI_event_record_sym),
                               C(VAPI_event_syndrome_sym),
                               C(VAPI_hca_cap_sym),
                               C(VAPI_hca_attr_mask_sym),
                               C(VAPI_qp_attr_mask_sym),
                               C(VAPI_mrw_acl_mask_sym),
                               C(VAPI_mr_change_mask_sym),
                               C(VAPI_rdma_atom_acl_mask_sym)};

int main(void)
{
    VAPI_hca_id_t id = "InfiniHost0";
    VAPI_hca_hndl_t hca = 0;
    u_int32_t n;
    size_t i;
    codes();
    constants();
    bits();
    widths();
    members();
    helpers();
    for (i = 0; i < sizeof calls / sizeof *calls; i++) check(calls[i] != NULL, 1, "a call");
    check(VAPI_open_hca(id, &hca) < 0 && EVAPI_list_hcas(0, &n, NULL) <= 0, 1, "a failure");
    check(returns(VAPI_OK), VAPI_OK, "VAPI_CHECK_RET");
    return wrong != 0;
}
