/* vapi_types.h - every type and constant of VAPI.  Usable alone, in C89 and in C++.
 *
 * The names and values are those of late VAPI releases; programs written for them compile
 * unchanged.  Handles were 32 bits wide in earlier ones, VAPI_ret_t an enumeration, and some
 * members were not there yet: what such a program does with them compiles too, and programs were
 * always compiled for the release they ran with.  The order of members is not theirs:
 * VAPI_sr_desc_t, VAPI_rr_desc_t, VAPI_wc_desc_t and VAPI_sg_lst_entry_t are laid out as the work
 * requests and completions of libibverbs, so that posting and polling copy nothing.  Members that
 * begin with vapi_ are the library's: a program neither reads nor writes them.
 */
#ifndef H_VAPI_TYPES_H
#define H_VAPI_TYPES_H

#include "ib_defs.h"
#include "mtl_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- handles and numbers ----------------------------------------------------------------------
 *
 * Whatever their type, handles are 31-bit numbers and never 0, so that they survive in an int.
 * Calls detect a handle that is not valid, or no longer.
 */
#define HCA_MAXNAME 32

typedef char VAPI_hca_id_t[HCA_MAXNAME]; /* ends with a NUL */
typedef u_int32_t VAPI_hca_hndl_t;
typedef MT_ulong_ptr_t VAPI_pd_hndl_t;
typedef MT_ulong_ptr_t VAPI_ud_av_hndl_t;
typedef MT_ulong_ptr_t VAPI_cq_hndl_t;
typedef MT_ulong_ptr_t VAPI_qp_hndl_t;
typedef MT_ulong_ptr_t VAPI_srq_hndl_t;
typedef MT_ulong_ptr_t VAPI_mw_hndl_t;
typedef u_int32_t VAPI_mr_hndl_t;
typedef u_int32_t VAPI_devmem_hndl_t;
typedef u_int32_t VAPI_eec_hndl_t;
typedef u_int32_t VAPI_rdd_hndl_t;
typedef VAPI_mr_hndl_t EVAPI_fmr_hndl_t;
typedef VAPI_cq_hndl_t EVAPI_compl_handler_hndl_t;
typedef u_int32_t EVAPI_async_handler_hndl_t;
typedef u_int32_t VAPI_k_cq_hndl_t;
typedef u_int32_t VAPI_k_qp_hndl_t;

#define VAPI_INVAL_HNDL          0xFFFFFFFF
#define VAPI_INVAL_PD_HNDL       VAPI_INVAL_HNDL
#define VAPI_INVAL_SRQ_HNDL      VAPI_INVAL_HNDL
#define EVAPI_DEFAULT_AVS_PER_PD 0xFFFFFFFF

typedef u_int32_t VAPI_pkey_ix_t;
typedef u_int32_t VAPI_key_counter_t;
typedef u_int32_t VAPI_cqe_num_t;
typedef u_int32_t VAPI_lkey_t;
typedef u_int32_t VAPI_imm_data_t; /* in the host's order */
typedef IB_rkey_t VAPI_rkey_t;
typedef IB_qkey_t VAPI_qkey_t;
typedef IB_psn_t VAPI_psn_t;
typedef IB_wqpn_t VAPI_qp_num_t;
typedef IB_eecn_t VAPI_eec_num_t;
typedef IB_virt_addr_t VAPI_virt_addr_t;
typedef u_int64_t VAPI_phy_addr_t;
typedef u_int64_t VAPI_size_t;
typedef u_int64_t VAPI_wr_id_t;
typedef u_int8_t VAPI_sched_queue_t;
typedef u_int8_t VAPI_retry_count_t;
typedef u_int8_t VAPI_timeout_t; /* 4.096 microseconds times 2 to that power */
typedef u_int16_t VAPI_ethertype_t;
typedef IB_pkey_t VAPI_pkey_t;
typedef IB_gid_t VAPI_gid_t;

typedef u_int32_t VAPI_qp_attr_mask_t;
typedef u_int32_t VAPI_hca_attr_mask_t;
typedef u_int8_t VAPI_srq_attr_mask_t;
typedef u_int32_t EVAPI_vendor_err_syndrome_t;
typedef u_int32_t EVAPI_proc_mad_opt_t;
typedef IB_ts_t VAPI_ts_type_t;

#define VAPI_GRH_LEN          40 /* before the payload of a datagram, in bytes */
#define EVAPI_MAD_IGNORE_MKEY 1

/* ---- return codes ------------------------------------------------------------------------------
 *
 * VAPI_ERROR_LIST makes the enumeration here and the texts of VAPI_strerror: one VAPI_ERROR_INFO
 * per code, with its name, "= value" or nothing, and a text.
 */
/* clang-format off */
#define VAPI_ERROR_LIST \
    VAPI_ERROR_INFO(VAPI_OK, = 0, "Operation completed successfully") \
    VAPI_ERROR_INFO(VAPI_EGEN, = -255, "Generic error") \
    VAPI_ERROR_INFO(VAPI_EFATAL, EMPTY, "Fatal error: the device cannot be used any more") \
    VAPI_ERROR_INFO(VAPI_EAGAIN, EMPTY, "Resources temporarily unavailable") \
    VAPI_ERROR_INFO(VAPI_ENOMEM, EMPTY, "Not enough memory") \
    VAPI_ERROR_INFO(VAPI_EBUSY, EMPTY, "Resource is in use") \
    VAPI_ERROR_INFO(VAPI_ETIMEOUT, EMPTY, "Operation timed out") \
    VAPI_ERROR_INFO(VAPI_EINTR, EMPTY, "Operation interrupted by a signal") \
    VAPI_ERROR_INFO(VAPI_EPERM, EMPTY, "Not permitted for this process") \
    VAPI_ERROR_INFO(VAPI_ENOSYS, EMPTY, "Not supported") \
    VAPI_ERROR_INFO(VAPI_ESYSCALL, EMPTY, "A system call failed") \
    VAPI_ERROR_INFO(VAPI_EINVAL_PARAM, EMPTY, "Invalid parameter") \
    VAPI_ERROR_INFO(VAPI_EINVAL_HCA_HNDL, EMPTY, "Invalid HCA handle") \
    VAPI_ERROR_INFO(VAPI_EINVAL_HCA_ID, EMPTY, "Invalid HCA name") \
    VAPI_ERROR_INFO(VAPI_EINVAL_COUNTER, EMPTY, "Invalid key counter") \
    VAPI_ERROR_INFO(VAPI_EINVAL_COUNT_VAL, EMPTY, "Invalid counter value") \
    VAPI_ERROR_INFO(VAPI_EINVAL_PD_HNDL, EMPTY, "Invalid protection domain handle") \
    VAPI_ERROR_INFO(VAPI_EINVAL_RD_UNSUPPORTED, EMPTY, "Reliable datagrams are not supported") \
    VAPI_ERROR_INFO(VAPI_EINVAL_RDD_HNDL, EMPTY, "Invalid reliable datagram domain handle") \
    VAPI_ERROR_INFO(VAPI_EINVAL_AV_HNDL, EMPTY, "Invalid address vector handle") \
    VAPI_ERROR_INFO(VAPI_E2BIG_WR_NUM, EMPTY, "Too many work requests") \
    VAPI_ERROR_INFO(VAPI_E2BIG_SG_NUM, EMPTY, "Too many scatter or gather entries") \
    VAPI_ERROR_INFO(VAPI_EINVAL_SERVICE_TYPE, EMPTY, "Invalid transport service type") \
    VAPI_ERROR_INFO(VAPI_ENOSYS_ATTR, EMPTY, "Attribute cannot be changed here") \
    VAPI_ERROR_INFO(VAPI_EINVAL_ATTR, EMPTY, "Attribute is missing or invalid") \
    VAPI_ERROR_INFO(VAPI_ENOSYS_ATOMIC, EMPTY, "Atomic operations are not supported") \
    VAPI_ERROR_INFO(VAPI_EINVAL_PKEY_IX, EMPTY, "P_Key index out of range") \
    VAPI_ERROR_INFO(VAPI_EINVAL_PKEY_TBL_ENTRY, EMPTY, "P_Key index points to an invalid entry") \
    VAPI_ERROR_INFO(VAPI_EINVAL_QP_HNDL, EMPTY, "Invalid queue pair handle") \
    VAPI_ERROR_INFO(VAPI_EINVAL_QP_STATE, EMPTY, "Invalid queue pair state") \
    VAPI_ERROR_INFO(VAPI_EINVAL_SRQ_HNDL, EMPTY, "Invalid shared receive queue handle") \
    VAPI_ERROR_INFO(VAPI_ESRQ, EMPTY, "Shared receive queue is in error") \
    VAPI_ERROR_INFO(VAPI_EINVAL_EEC_HNDL, EMPTY, "Invalid end-to-end context handle") \
    VAPI_ERROR_INFO(VAPI_EINVAL_MIG_STATE, EMPTY, "Invalid path migration state") \
    VAPI_ERROR_INFO(VAPI_EINVAL_MTU, EMPTY, "Invalid maximum transfer unit") \
    VAPI_ERROR_INFO(VAPI_EINVAL_PORT, EMPTY, "Invalid port number") \
    VAPI_ERROR_INFO(VAPI_EINVAL_RNR_NAK_TIMER, EMPTY, "Invalid RNR NAK timer") \
    VAPI_ERROR_INFO(VAPI_EINVAL_LOCAL_ACK_TIMEOUT, EMPTY, "Invalid local ACK timeout") \
    VAPI_ERROR_INFO(VAPI_E2BIG_RAW_DGRAM_NUM, EMPTY, "Too many raw datagram queue pairs") \
    VAPI_ERROR_INFO(VAPI_EINVAL_QP_TYPE, EMPTY, "Invalid special queue pair type") \
    VAPI_ERROR_INFO(VAPI_ENOSYS_RAW, EMPTY, "Raw datagrams are not supported") \
    VAPI_ERROR_INFO(VAPI_EINVAL_CQ_HNDL, EMPTY, "Invalid completion queue handle") \
    VAPI_ERROR_INFO(VAPI_E2BIG_CQ_NUM, EMPTY, "Too many completion queue entries") \
    VAPI_ERROR_INFO(VAPI_CQ_EMPTY, EMPTY, "Completion queue is empty") \
    VAPI_ERROR_INFO(VAPI_EINVAL_VA, EMPTY, "Invalid virtual address") \
    VAPI_ERROR_INFO(VAPI_EINVAL_LEN, EMPTY, "Invalid length") \
    VAPI_ERROR_INFO(VAPI_EINVAL_ACL, EMPTY, "Invalid access rights") \
    VAPI_ERROR_INFO(VAPI_EINVAL_PADDR, EMPTY, "Invalid physical address") \
    VAPI_ERROR_INFO(VAPI_EINVAL_OFST, EMPTY, "Invalid offset") \
    VAPI_ERROR_INFO(VAPI_EINVAL_MR_HNDL, EMPTY, "Invalid memory region handle") \
    VAPI_ERROR_INFO(VAPI_EINVAL_MW_HNDL, EMPTY, "Invalid memory window handle") \
    VAPI_ERROR_INFO(VAPI_EINVAL_OP, EMPTY, "Invalid operation") \
    VAPI_ERROR_INFO(VAPI_EINVAL_NOTIF_TYPE, EMPTY, "Invalid completion notification type") \
    VAPI_ERROR_INFO(VAPI_EINVAL_SG_FMT, EMPTY, "Invalid scatter or gather entry") \
    VAPI_ERROR_INFO(VAPI_EINVAL_SG_NUM, EMPTY, "Invalid scatter or gather list length") \
    VAPI_ERROR_INFO(VAPI_E2BIG_MCG_SIZE, EMPTY, "Too many queue pairs in the multicast group") \
    VAPI_ERROR_INFO(VAPI_EINVAL_MCG_GID, EMPTY, "Invalid multicast group GID") \
    VAPI_ERROR_INFO(VAPI_EOL, EMPTY, "End of list") \
    VAPI_ERROR_INFO(VAPI_ERROR_MAX, EMPTY, "Dummy error code: put this one last")
#define VAPI_ERROR_INFO(name, value, text) name value,
enum { VAPI_ERROR_LIST VAPI_error_list_end_ };
#undef VAPI_ERROR_INFO
/* clang-format on */

/* VAPI_OK or a negative code VAPI_E... */
typedef int32_t VAPI_ret_t;

/* --- HCAs and ports --- */

typedef struct {
    u_int32_t vendor_id;
    u_int32_t vendor_part_id;
    u_int32_t hw_ver;
    u_int64_t fw_ver; /* major << 32 | minor << 16 | subminor */
} VAPI_hca_vendor_t;

typedef enum {
    VAPI_RESIZE_OUS_WQE_CAP = 1 << 0,
    VAPI_BAD_PKEY_COUNT_CAP = 1 << 1,
    VAPI_BAD_QKEY_COUNT_CAP = 1 << 2,
    VAPI_RAW_MULTI_CAP = 1 << 3,
    VAPI_AUTO_PATH_MIG_CAP = 1 << 4,
    VAPI_CHANGE_PHY_PORT_CAP = 1 << 5,
    VAPI_UD_AV_PORT_ENFORCE_CAP = 1 << 6,
    VAPI_CURR_QP_STATE_MOD_CAP = 1 << 7,
    VAPI_SHUTDOWN_PORT_CAP = 1 << 8,
    VAPI_INIT_TYPE_CAP = 1 << 9,
    VAPI_PORT_ACTIVE_EV_CAP = 1 << 10,
    VAPI_SYS_IMG_GUID_CAP = 1 << 11,
    VAPI_RC_RNR_NAK_GEN_CAP = 1 << 12
} VAPI_hca_cap_flags_t;

typedef enum {
    VAPI_ATOMIC_CAP_NONE = 0,
    VAPI_ATOMIC_CAP_HCA = 1, /* atomic against other operations of this HCA */
    VAPI_ATOMIC_CAP_GLOB = 2 /* atomic also against the processors */
} VAPI_atomic_cap_t;

typedef struct {
    u_int32_t max_num_qp;
    u_int32_t max_qp_ous_wr; /* work requests per queue */
    u_int32_t flags;         /* of VAPI_hca_cap_flags_t */
    u_int32_t max_num_sg_ent;
    u_int32_t max_num_sg_ent_rd;
    u_int32_t max_num_cq;
    u_int32_t max_num_ent_cq; /* entries per CQ */
    u_int32_t max_num_mr;
    u_int64_t max_mr_size; /* bytes per region */
    u_int32_t max_pd_num;
    u_int32_t page_size_cap; /* the largest page size, in bytes */
    IB_port_t phys_port_num;
    u_int16_t max_pkeys;
    IB_guid_t node_guid;
    VAPI_timeout_t local_ca_ack_delay;
    u_int8_t max_qp_ous_rd_atom; /* reads and atomics that a QP serves at once */
    u_int8_t max_ee_ous_rd_atom;
    u_int8_t max_res_rd_atom;     /* reads and atomics that the whole HCA serves at once */
    u_int8_t max_qp_init_rd_atom; /* reads and atomics that a QP has under way */
    u_int8_t max_ee_init_rd_atom;
    VAPI_atomic_cap_t atomic_cap;
    u_int32_t max_ee_num;
    u_int32_t max_rdd_num;
    u_int32_t max_mw_num;
    u_int32_t max_raw_ipv6_qp;
    u_int32_t max_raw_ethy_qp;
    u_int32_t max_mcast_grp_num;
    u_int32_t max_mcast_qp_attach_num;
    u_int32_t max_total_mcast_qp_attach_num;
    u_int32_t max_ah_num;
    u_int32_t max_num_fmr;
    u_int32_t max_num_map_per_fmr; /* before an unmap */
    u_int32_t max_num_srq;         /* 0: shared receive queues are not supported */
    u_int32_t max_wqe_per_srq;
    u_int32_t max_srq_sentries;
    MT_bool srq_resize_supported;
} VAPI_hca_cap_t;

typedef struct {
    IB_mtu_t max_mtu;     /* the active one: what a path over this port takes */
    u_int32_t max_msg_sz; /* bytes */
    IB_lid_t lid;
    u_int8_t lmc;
    IB_port_state_t state;
    IB_port_cap_mask_t capability_mask;
    u_int8_t max_vl_num;
    VAPI_key_counter_t bad_pkey_counter;
    VAPI_key_counter_t qkey_viol_counter;
    IB_lid_t sm_lid;
    IB_sl_t sm_sl;
    u_int16_t pkey_tbl_len;
    u_int16_t gid_tbl_len;
    VAPI_timeout_t subnet_timeout;
    u_int8_t initTypeReply;
} VAPI_hca_port_t;

typedef struct {
    MT_bool reset_qkey_counter;
    MT_bool is_sm;
    MT_bool is_snmp_tun_sup;
    MT_bool is_dev_mgt_sup;
    MT_bool is_vendor_cls_sup;
} VAPI_hca_attr_t;

enum {
    HCA_ATTR_IS_SM = 1,
    HCA_ATTR_IS_SNMP_TUN_SUP = 2,
    HCA_ATTR_IS_DEV_MGT_SUP = 4,
    HCA_ATTR_IS_VENDOR_CLS_SUP = 8,
    HCA_ATTR_MAX = 16
};
#define HCA_ATTR_MASK_CLR_ALL(mask) ((mask) = 0)
#define HCA_ATTR_MASK_SET_ALL(mask) ((mask) = HCA_ATTR_MAX - 1)
#define HCA_ATTR_MASK_SET(mask, a)  ((mask) |= (a))
#define HCA_ATTR_MASK_CLR(mask, a)  ((mask) &= ~(a))
#define HCA_ATTR_IS_FLAGS_SET(mask) (((mask) & (HCA_ATTR_MAX - 1)) != 0)
#define HCA_ATTR_IS_SET(mask, a)    (((mask) & (a)) != 0)

/* The capabilities that an administrator configures for an HCA. */
typedef struct {
    u_int32_t num_qp, num_cq, num_pd, num_mr, num_mw;
    u_int32_t max_qp_ous_rd_atom;
    u_int32_t max_mcg;
    u_int32_t qp_per_mcg;
    MT_bool require;
} EVAPI_hca_profile_t;

/* --- addresses --- */

/* The path to a port, of an address handle and of a connected queue pair. */
typedef struct {
    IB_gid_t dgid MT_BYTE_ALIGN(4); /* dgid and the GRH's other members count only with grh_flag */
    IB_sl_t sl;
    IB_lid_t dlid;
    u_int8_t src_path_bits;
    IB_static_rate_t static_rate; /* taken as 0, which is full speed: see the library's README */
    MT_bool grh_flag;
    u_int8_t traffic_class;
    u_int8_t hop_limit;
    u_int32_t flow_label;
    u_int8_t sgid_index;
    IB_port_t port; /* of address handles only */
} VAPI_ud_av_t;

/* --- queue pairs --- */

enum {
    VAPI_TS_RC = IB_TS_RC,
    VAPI_TS_RD = IB_TS_RD,
    VAPI_TS_UC = IB_TS_UC,
    VAPI_TS_UD = IB_TS_UD,
    VAPI_TS_RAW = IB_TS_RAW,
    VAPI_NUM_TS_TYPES
};

enum { VAPI_RESET = 0, VAPI_INIT, VAPI_RTR, VAPI_RTS, VAPI_SQD, VAPI_SQE, VAPI_ERR };
typedef u_int32_t VAPI_qp_state_t;

typedef enum { VAPI_MIGRATED = 0, VAPI_REARM = 1, VAPI_ARMED = 2 } VAPI_mig_state_t;

enum { VAPI_REGULAR_QP = 0, VAPI_SMI_QP, VAPI_GSI_QP, VAPI_RAW_IPV6_QP, VAPI_RAW_ETY_QP };
typedef u_int32_t VAPI_qp_type_t;
typedef VAPI_qp_type_t VAPI_special_qp_t;

typedef enum { VAPI_SIGNAL_ALL_WR = 0, VAPI_SIGNAL_REQ_WR = 1 } VAPI_sig_type_t;

/* Accesses that the peer of a queue pair may make; not the values of VAPI_mrw_acl_t. */
enum { VAPI_EN_REM_WRITE = 1, VAPI_EN_REM_READ = 2, VAPI_EN_REM_ATOMIC_OP = 4 };
typedef u_int32_t VAPI_rdma_atom_acl_t;

typedef struct {
    u_int32_t max_oust_wr_sq;
    u_int32_t max_oust_wr_rq;
    u_int32_t max_sg_size_sq;
    u_int32_t max_sg_size_rq;
    u_int32_t max_inline_data_sq; /* output only */
} VAPI_qp_cap_t;

typedef struct {
    VAPI_cq_hndl_t sq_cq_hndl;
    VAPI_cq_hndl_t rq_cq_hndl;
    VAPI_qp_cap_t cap;
    VAPI_rdd_hndl_t rdd_hndl;
    VAPI_sig_type_t sq_sig_type;
    VAPI_sig_type_t rq_sig_type;
    VAPI_pd_hndl_t pd_hndl;
    VAPI_ts_type_t ts_type;
} VAPI_qp_init_attr_t;

typedef struct {
    VAPI_srq_hndl_t srq_hndl; /* VAPI_INVAL_SRQ_HNDL: none */
} VAPI_qp_init_attr_ext_t;
#define VAPI_QP_INIT_ATTR_EXT_T_INIT(p) ((p)->srq_hndl = VAPI_INVAL_SRQ_HNDL)

typedef struct {
    VAPI_qp_num_t qp_num;
    VAPI_qp_cap_t cap;
} VAPI_qp_prop_t;

typedef struct {
    VAPI_qp_state_t qp_state;
    MT_bool en_sqd_asyn_notif;
    MT_bool sq_draining; /* set by a query */
    VAPI_qp_num_t qp_num;
    VAPI_rdma_atom_acl_t remote_atomic_flags;
    VAPI_qkey_t qkey;
    IB_mtu_t path_mtu;
    VAPI_mig_state_t path_mig_state;
    VAPI_psn_t rq_psn;
    VAPI_psn_t sq_psn;
    u_int8_t qp_ous_rd_atom;  /* reads and atomics that this end serves at once */
    u_int8_t ous_dst_rd_atom; /* reads and atomics that this end has under way */
    IB_rnr_nak_timer_code_t min_rnr_timer;
    VAPI_qp_cap_t cap;
    VAPI_qp_num_t dest_qp_num;
    VAPI_sched_queue_t sched_queue;
    VAPI_pkey_ix_t pkey_ix;
    IB_port_t port;
    VAPI_ud_av_t av;
    VAPI_timeout_t timeout;
    VAPI_retry_count_t retry_count;
    VAPI_retry_count_t rnr_retry; /* 7: infinite */
    VAPI_pkey_ix_t alt_pkey_ix;
    IB_port_t alt_port;
    VAPI_ud_av_t alt_av;
    VAPI_timeout_t alt_timeout;
} VAPI_qp_attr_t;

enum {
    QP_ATTR_QP_STATE = 0x1,
    QP_ATTR_EN_SQD_ASYN_NOTIF = 0x2,
    QP_ATTR_QP_NUM = 0x4,
    QP_ATTR_REMOTE_ATOMIC_FLAGS = 0x8,
    QP_ATTR_PKEY_IX = 0x10,
    QP_ATTR_PORT = 0x20,
    QP_ATTR_QKEY = 0x40,
    QP_ATTR_AV = 0x80,
    QP_ATTR_PATH_MTU = 0x100,
    QP_ATTR_TIMEOUT = 0x200,
    QP_ATTR_RETRY_COUNT = 0x400,
    QP_ATTR_RNR_RETRY = 0x800,
    QP_ATTR_RQ_PSN = 0x1000,
    QP_ATTR_QP_OUS_RD_ATOM = 0x2000,
    QP_ATTR_ALT_PATH = 0x4000,
    QP_ATTR_RSRV_1 = 0x8000,
    QP_ATTR_RSRV_2 = 0x10000,
    QP_ATTR_RSRV_3 = 0x20000,
    QP_ATTR_RSRV_4 = 0x40000,
    QP_ATTR_RSRV_5 = 0x80000,
    QP_ATTR_RSRV_6 = 0x100000,
    QP_ATTR_MIN_RNR_TIMER = 0x200000,
    QP_ATTR_SQ_PSN = 0x400000,
    QP_ATTR_OUS_DST_RD_ATOM = 0x800000,
    QP_ATTR_PATH_MIG_STATE = 0x1000000,
    QP_ATTR_CAP = 0x2000000,
    QP_ATTR_DEST_QP_NUM = 0x4000000,
    QP_ATTR_SCHED_QUEUE = 0x8000000
};
#define QP_ATTR_MASK_CLR_ALL(mask) ((mask) = 0)
#define QP_ATTR_MASK_SET_ALL(mask) ((mask) = 0x07FFFFFF)
#define QP_ATTR_MASK_SET(mask, a)  ((mask) |= (a))
#define QP_ATTR_MASK_CLR(mask, a)  ((mask) &= ~(VAPI_qp_attr_mask_t)(a))
#define QP_ATTR_IS_SET(mask, a)    (((mask) & (a)) != 0)

/* --- shared receive queues --- */

typedef struct {
    VAPI_pd_hndl_t pd_hndl;
    u_int32_t max_outs_wr;
    u_int32_t max_sentries;
    u_int32_t srq_limit;
} VAPI_srq_attr_t;
#define VAPI_SRQ_ATTR_T_INIT(p)                                                                    \
    ((p)->pd_hndl = VAPI_INVAL_PD_HNDL, (p)->max_outs_wr = (p)->max_sentries = (p)->srq_limit = 0)
enum { VAPI_SRQ_ATTR_LIMIT = 1, VAPI_SRQ_ATTR_MAX_OUTS_WR = 2 };

/* --- memory --- */

typedef enum { VAPI_MR = 0, VAPI_MW = 1, VAPI_MPR = 2, VAPI_MSHAR = 3 } VAPI_mrw_type_t;

enum {
    VAPI_EN_LOCAL_WRITE = 1,
    VAPI_EN_REMOTE_WRITE = 2,
    VAPI_EN_REMOTE_READ = 4,
    VAPI_EN_REMOTE_ATOM = 8,
    VAPI_EN_MEMREG_BIND = 16
};
typedef u_int32_t VAPI_mrw_acl_t;

enum { VAPI_MR_CHANGE_TRANS = 1, VAPI_MR_CHANGE_PD = 2, VAPI_MR_CHANGE_ACL = 4 };
typedef u_int32_t VAPI_mr_change_t;

typedef struct {
    VAPI_phy_addr_t start;
    VAPI_phy_addr_t size;
} VAPI_phy_buf_t;

typedef struct {
    VAPI_mrw_type_t type;
    VAPI_lkey_t l_key;
    VAPI_rkey_t r_key;
    VAPI_virt_addr_t start;
    VAPI_size_t size; /* bytes */
    VAPI_pd_hndl_t pd_hndl;
    VAPI_mrw_acl_t acl;
    MT_size_t pbuf_list_len; /* from pbuf_list_len on: of VAPI_MPR */
    VAPI_phy_buf_t *pbuf_list_p;
    VAPI_phy_addr_t iova_offset;
} VAPI_mr_t;
typedef VAPI_mr_t VAPI_mrw_t;

typedef struct {
    VAPI_lkey_t mr_lkey; /* of the region below the window */
    VAPI_virt_addr_t start;
    VAPI_size_t size; /* bytes; 0 unbinds */
    VAPI_mrw_acl_t acl;
} VAPI_mw_bind_t;

typedef struct {
    VAPI_pd_hndl_t pd_hndl;
    VAPI_mrw_acl_t acl;
    u_int32_t max_pages;
    u_int8_t log2_page_sz;
    u_int32_t max_outstanding_maps;
} EVAPI_fmr_t;

typedef struct {
    VAPI_virt_addr_t start;
    VAPI_size_t size;         /* bytes */
    MT_size_t page_array_len; /* 0: the library pins start and size */
    VAPI_phy_addr_t *page_array;
} EVAPI_fmr_map_t;

typedef enum { EVAPI_DEVMEM_EXT_DRAM } EVAPI_devmem_type_t;

typedef struct {
    VAPI_size_t total_mem;
    VAPI_size_t free_mem;
    VAPI_size_t largest_chunk;
} EVAPI_devmem_info_t;

/* --- work requests --- */

typedef enum {
    VAPI_RDMA_WRITE = 0,
    VAPI_RDMA_WRITE_WITH_IMM,
    VAPI_SEND,
    VAPI_SEND_WITH_IMM,
    VAPI_RDMA_READ,
    VAPI_ATOMIC_CMP_AND_SWP,
    VAPI_ATOMIC_FETCH_AND_ADD,
    VAPI_RECEIVE,
    VAPI_NUM_OPCODES
} VAPI_wr_opcode_t;

/* A descriptor that is all zero asks for a completion. */
typedef enum { VAPI_SIGNALED = 0, VAPI_UNSIGNALED = 1 } VAPI_comp_type_t;

typedef struct {
    VAPI_virt_addr_t addr;
    u_int32_t len; /* bytes */
    VAPI_lkey_t lkey;
} VAPI_sg_lst_entry_t;

/* A work request of the send queue. Only members that the opcode needs are read. One thread at a
 * time posts a descriptor, for a post writes the members that begin with vapi_. */
typedef struct {
    VAPI_wr_id_t id;
    void *vapi_next;
    VAPI_sg_lst_entry_t *sg_lst_p;
    u_int32_t sg_lst_len;
    VAPI_wr_opcode_t opcode;
    u_int32_t vapi_flags;
    u_int32_t vapi_imm_data;
    VAPI_virt_addr_t remote_addr; /* of RDMA and atomics */
    VAPI_rkey_t r_key;
    __extension__ VAPI_comp_type_t comp_type : 16;
    MT_bool fence;            /* wait for earlier reads and atomics */
    MT_bool set_se;           /* an event on queues armed with VAPI_SOLIC_COMP */
    VAPI_imm_data_t imm_data; /* in the host's order */
    VAPI_qp_num_t remote_qp;  /* remote_qp, remote_qkey and remote_ah: of datagrams */
    VAPI_qkey_t remote_qkey;
    VAPI_eec_num_t eecn; /* not used: there are no reliable datagrams */
    VAPI_ud_av_hndl_t remote_ah;
    u_int64_t compare_add; /* the value to compare with, or to add */
    u_int64_t swap;
    VAPI_ethertype_t ethertype; /* not used: there are no raw datagrams */
    u_int32_t vapi_qp;
} VAPI_sr_desc_t;

/* A work request of the receive queue. */
typedef struct {
    VAPI_wr_id_t id;
    void *vapi_next;
    VAPI_sg_lst_entry_t *sg_lst_p;
    u_int32_t sg_lst_len;
    u_int32_t vapi_qp;
    VAPI_wr_opcode_t opcode; /* VAPI_RECEIVE */
    VAPI_comp_type_t comp_type;
} VAPI_rr_desc_t;

/* --- completions --- */

typedef enum {
    VAPI_CQE_SQ_SEND_DATA = 0,
    VAPI_CQE_SQ_RDMA_WRITE,
    VAPI_CQE_SQ_RDMA_READ,
    VAPI_CQE_SQ_COMP_SWAP,
    VAPI_CQE_SQ_FETCH_ADD,
    VAPI_CQE_SQ_BIND_MRW,
    VAPI_CQE_RQ_SEND_DATA,
    VAPI_CQE_RQ_RDMA_WITH_IMM
} VAPI_cqe_opcode_t;
/* No enumerator: C89 keeps those within an int. */
#define VAPI_CQE_INVAL_OPCODE ((VAPI_cqe_opcode_t)0xFFFFFFFF)

enum {
    VAPI_SUCCESS = IB_COMP_SUCCESS,
    VAPI_LOC_LEN_ERR = IB_COMP_LOC_LEN_ERR,
    VAPI_LOC_QP_OP_ERR = IB_COMP_LOC_QP_OP_ERR,
    VAPI_LOC_EE_OP_ERR = IB_COMP_LOC_EE_OP_ERR,
    VAPI_LOC_PROT_ERR = IB_COMP_LOC_PROT_ERR,
    VAPI_WR_FLUSH_ERR = IB_COMP_WR_FLUSH_ERR,
    VAPI_MW_BIND_ERR = IB_COMP_MW_BIND_ERR,
    VAPI_BAD_RESP_ERR = IB_COMP_BAD_RESP_ERR,
    VAPI_LOC_ACCS_ERR = IB_COMP_LOC_ACCS_ERR,
    VAPI_REM_INV_REQ_ERR = IB_COMP_REM_INV_REQ_ERR,
    VAPI_REM_ACCESS_ERR = IB_COMP_REM_ACCESS_ERR,
    VAPI_REM_OP_ERR = IB_COMP_REM_OP_ERR,
    VAPI_RETRY_EXC_ERR = IB_COMP_RETRY_EXC_ERR,
    VAPI_RNR_RETRY_EXC_ERR = IB_COMP_RNR_RETRY_EXC_ERR,
    VAPI_LOC_RDD_VIOL_ERR = IB_COMP_LOC_RDD_VIOL_ERR,
    VAPI_REM_INV_RD_REQ_ERR = IB_COMP_REM_INV_RD_REQ_ERR,
    VAPI_REM_ABORT_ERR = IB_COMP_REM_ABORT_ERR,
    VAPI_INV_EECN_ERR = IB_COMP_INV_EECN_ERR,
    VAPI_INV_EEC_STATE_ERR = IB_COMP_INV_EEC_STATE_ERR,
    VAPI_COMP_FATAL_ERR = IB_COMP_FATAL_ERR,
    VAPI_COMP_GENERAL_ERR = IB_COMP_GENERAL_ERR
};
typedef u_int32_t VAPI_wc_status_t;

typedef enum {
    VAPI_RNA_RD = 0,
    VAPI_RNA_UD,
    VAPI_RNA_RAW_ETY,
    VAPI_RNA_RAW_IPV6
} VAPI_remote_node_addr_type_t;

/* The sender of a datagram. */
typedef struct {
    union {
        IB_wqpn_t qp;
        VAPI_ethertype_t ety;
    } qp_ety;
    u_int32_t vapi_flags;
    u_int16_t vapi_pkey_ix;
    IB_lid_t slid;
    IB_sl_t sl;
    union {
        u_int8_t dst_path_bits;
        VAPI_eec_num_t loc_eecn __attribute__((packed));
    } ee_dlid;
    VAPI_remote_node_addr_type_t type;
} VAPI_remote_node_addr_t;

/* How a work request ended.  After an error id, status, opcode (VAPI_CQE_SQ_SEND_DATA or
 * VAPI_CQE_RQ_SEND_DATA: which queue it was of), local_qp_num, free_res_count and
 * vendor_err_syndrome are valid, and nothing else. */
typedef struct {
    VAPI_wr_id_t id;
    VAPI_wc_status_t status;
    VAPI_cqe_opcode_t opcode;
    EVAPI_vendor_err_syndrome_t vendor_err_syndrome;
    u_int32_t byte_len;       /* of what was received, read or changed */
    VAPI_imm_data_t imm_data; /* in the host's order, if imm_data_valid */
    IB_wqpn_t local_qp_num;
    __extension__ union {
        VAPI_remote_node_addr_t remote_node_addr; /* of received datagrams */
        __extension__ struct {
            u_int32_t vapi_src_qp;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            unsigned int vapi_flags : 30, imm_data_valid : 1, grh_flag : 1;
#else
            unsigned int grh_flag : 1, imm_data_valid : 1, vapi_flags : 30;
#endif
            unsigned int pkey_ix : 16; /* of the general services QP */
        };
    };
    u_int32_t free_res_count; /* work requests whose slots in the queue this frees */
} VAPI_wc_desc_t;

typedef enum {
    VAPI_NOTIF_NONE = 0,
    VAPI_SOLIC_COMP, /* the next that was sent with set_se, or failed */
    VAPI_NEXT_COMP
} VAPI_cq_notif_type_t;

/* --- events --- */

typedef void(MT_API *VAPI_completion_event_handler_t)(VAPI_hca_hndl_t, VAPI_cq_hndl_t, void *);

/* Instead of a handler: threads wait on the CQ by EVAPI_poll_cq_block. */
#define EVAPI_POLL_CQ_UNBLOCK_HANDLER ((VAPI_completion_event_handler_t)(MT_long_ptr_t)(-2))

typedef enum {
    VAPI_QP_PATH_MIGRATED = 0,
    VAPI_EEC_PATH_MIGRATED,
    VAPI_QP_COMM_ESTABLISHED,
    VAPI_EEC_COMM_ESTABLISHED,
    VAPI_SEND_QUEUE_DRAINED,
    VAPI_RECEIVE_QUEUE_DRAINED, /* the last receive of a QP with a shared queue was taken */
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
    VAPI_PORT_ACTIVE
} VAPI_event_record_type_t;

typedef enum {
    VAPI_EV_SYNDROME_NONE = 0,
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
    VAPI_CQ_ERR_ACCESS_VIOL
} VAPI_event_syndrome_t;

/* An event; valid while the handler runs; may be copied. */
typedef struct {
    VAPI_event_record_type_t type;
    VAPI_event_syndrome_t syndrome;
    union {
        VAPI_qp_hndl_t qp_hndl;
        VAPI_srq_hndl_t srq_hndl;
        VAPI_eec_hndl_t eec_hndl;
        VAPI_cq_hndl_t cq_hndl;
        IB_port_t port_num;
    } modifier;
} VAPI_event_record_t;

typedef void(MT_API *VAPI_async_event_handler_t)(VAPI_hca_hndl_t, VAPI_event_record_t *, void *);

#ifdef __cplusplus
}
#endif

#endif
