/* strings.c - names of codes, constants and masks: all of vapi_common.h.
 *
 * Tables only: no state, no allocation; any value is accepted.
 */
#include <stddef.h>

#include "public.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct {
    VAPI_ret_t code;
    const char *name, *text;
} codes[] = {
#define VAPI_ERROR_INFO(name, value, text) {name, #name, text},
    VAPI_ERROR_LIST
#undef VAPI_ERROR_INFO
};

static const char unknown_error[] = "VAPI_UNKNOWN_ERROR";

const char *VAPI_strerror(VAPI_ret_t code)
{
    for (size_t i = 0; i < COUNT(codes); i++)
        if (codes[i].code == code) return codes[i].text;
    return unknown_error;
}

const char *VAPI_strerror_sym(VAPI_ret_t code)
{
    for (size_t i = 0; i < COUNT(codes); i++)
        if (codes[i].code == code) return codes[i].name;
    return unknown_error;
}

/* --- values --- */

struct word {
    u_int32_t value;
    const char *name;
};

static const char *strings_name_of(u_int32_t value, const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i].value == value) return words[i].name;
    return "UnKnown";
}

#define W(name)                                                                                    \
    {                                                                                              \
        name, #name                                                                                \
    }
/* One helper of vapi_common.h: its function, the type of its argument and the names it knows. */
#define NAMES(function, type, ...)                                                                 \
    const char *function(type value)                                                               \
    {                                                                                              \
        static const struct word words[] = {__VA_ARGS__};                                          \
        return strings_name_of((u_int32_t)value, words, COUNT(words));                             \
    }

NAMES(VAPI_atomic_cap_sym, VAPI_atomic_cap_t, W(VAPI_ATOMIC_CAP_NONE), W(VAPI_ATOMIC_CAP_HCA),
      W(VAPI_ATOMIC_CAP_GLOB))
NAMES(VAPI_sig_type_sym, VAPI_sig_type_t, W(VAPI_SIGNAL_ALL_WR), W(VAPI_SIGNAL_REQ_WR))
NAMES(VAPI_ts_type_sym, VAPI_ts_type_t, W(VAPI_TS_RC), W(VAPI_TS_RD), W(VAPI_TS_UC), W(VAPI_TS_UD),
      W(VAPI_TS_RAW))
NAMES(VAPI_qp_state_sym, VAPI_qp_state_t, W(VAPI_RESET), W(VAPI_INIT), W(VAPI_RTR), W(VAPI_RTS),
      W(VAPI_SQD), W(VAPI_SQE), W(VAPI_ERR))
NAMES(VAPI_mig_state_sym, VAPI_mig_state_t, W(VAPI_MIGRATED), W(VAPI_REARM), W(VAPI_ARMED))
NAMES(VAPI_special_qp_sym, VAPI_special_qp_t, W(VAPI_REGULAR_QP), W(VAPI_SMI_QP), W(VAPI_GSI_QP),
      W(VAPI_RAW_IPV6_QP), W(VAPI_RAW_ETY_QP))
NAMES(VAPI_mrw_type_sym, VAPI_mrw_type_t, W(VAPI_MR), W(VAPI_MW), W(VAPI_MPR), W(VAPI_MSHAR))
NAMES(VAPI_remote_node_addr_sym, VAPI_remote_node_addr_type_t, W(VAPI_RNA_RD), W(VAPI_RNA_UD),
      W(VAPI_RNA_RAW_ETY), W(VAPI_RNA_RAW_IPV6))
NAMES(VAPI_wr_opcode_sym, VAPI_wr_opcode_t, W(VAPI_RDMA_WRITE), W(VAPI_RDMA_WRITE_WITH_IMM),
      W(VAPI_SEND), W(VAPI_SEND_WITH_IMM), W(VAPI_RDMA_READ), W(VAPI_ATOMIC_CMP_AND_SWP),
      W(VAPI_ATOMIC_FETCH_AND_ADD), W(VAPI_RECEIVE))
NAMES(VAPI_cqe_opcode_sym, VAPI_cqe_opcode_t, W(VAPI_CQE_SQ_SEND_DATA), W(VAPI_CQE_SQ_RDMA_WRITE),
      W(VAPI_CQE_SQ_RDMA_READ), W(VAPI_CQE_SQ_COMP_SWAP), W(VAPI_CQE_SQ_FETCH_ADD),
      W(VAPI_CQE_SQ_BIND_MRW), W(VAPI_CQE_RQ_SEND_DATA), W(VAPI_CQE_RQ_RDMA_WITH_IMM),
      {(u_int32_t)VAPI_CQE_INVAL_OPCODE, "VAPI_CQE_INVAL_OPCODE"})
NAMES(VAPI_wc_status_sym, VAPI_wc_status_t, W(VAPI_SUCCESS), W(VAPI_LOC_LEN_ERR),
      W(VAPI_LOC_QP_OP_ERR), W(VAPI_LOC_EE_OP_ERR), W(VAPI_LOC_PROT_ERR), W(VAPI_WR_FLUSH_ERR),
      W(VAPI_MW_BIND_ERR), W(VAPI_BAD_RESP_ERR), W(VAPI_LOC_ACCS_ERR), W(VAPI_REM_INV_REQ_ERR),
      W(VAPI_REM_ACCESS_ERR), W(VAPI_REM_OP_ERR), W(VAPI_RETRY_EXC_ERR), W(VAPI_RNR_RETRY_EXC_ERR),
      W(VAPI_LOC_RDD_VIOL_ERR), W(VAPI_REM_INV_RD_REQ_ERR), W(VAPI_REM_ABORT_ERR),
      W(VAPI_INV_EECN_ERR), W(VAPI_INV_EEC_STATE_ERR), W(VAPI_COMP_FATAL_ERR),
      W(VAPI_COMP_GENERAL_ERR))
NAMES(VAPI_comp_type_sym, VAPI_comp_type_t, W(VAPI_SIGNALED), W(VAPI_UNSIGNALED))
NAMES(VAPI_cq_notif_sym, VAPI_cq_notif_type_t, W(VAPI_NOTIF_NONE), W(VAPI_SOLIC_COMP),
      W(VAPI_NEXT_COMP))
NAMES(VAPI_event_record_sym, VAPI_event_record_type_t, W(VAPI_QP_PATH_MIGRATED),
      W(VAPI_EEC_PATH_MIGRATED), W(VAPI_QP_COMM_ESTABLISHED), W(VAPI_EEC_COMM_ESTABLISHED),
      W(VAPI_SEND_QUEUE_DRAINED), W(VAPI_RECEIVE_QUEUE_DRAINED), W(VAPI_SRQ_LIMIT_REACHED),
      W(VAPI_SRQ_CATASTROPHIC_ERROR), W(VAPI_CQ_ERROR), W(VAPI_LOCAL_WQ_INV_REQUEST_ERROR),
      W(VAPI_LOCAL_WQ_ACCESS_VIOL_ERROR), W(VAPI_LOCAL_WQ_CATASTROPHIC_ERROR),
      W(VAPI_PATH_MIG_REQ_ERROR), W(VAPI_LOCAL_EEC_CATASTROPHIC_ERROR),
      W(VAPI_LOCAL_CATASTROPHIC_ERROR), W(VAPI_PORT_ERROR), W(VAPI_PORT_ACTIVE))
NAMES(VAPI_event_syndrome_sym, VAPI_event_syndrome_t, W(VAPI_EV_SYNDROME_NONE),
      W(VAPI_CATAS_ERR_FW_INTERNAL), W(VAPI_CATAS_ERR_EQ_OVERFLOW),
      W(VAPI_CATAS_ERR_MISBEHAVED_UAR_PAGE), W(VAPI_CATAS_ERR_UPLINK_BUS_ERR),
      W(VAPI_CATAS_ERR_HCA_DDR_DATA_ERR), W(VAPI_CATAS_ERR_INTERNAL_PARITY_ERR),
      W(VAPI_CATAS_ERR_MASTER_ABORT), W(VAPI_CATAS_ERR_GO_BIT), W(VAPI_CATAS_ERR_CMD_TIMEOUT),
      W(VAPI_CATAS_ERR_FATAL_CR), W(VAPI_CATAS_ERR_FATAL_TOKEN), W(VAPI_CATAS_ERR_GENERAL),
      W(VAPI_CQ_ERR_OVERRUN), W(VAPI_CQ_ERR_ACCESS_VIOL))

/* --- masks --- */

static const char *flags_of(char *buffer, int size, u_int32_t mask, const struct word *words,
                            size_t count)
{
    size_t used = 0, room = size > 0 ? (size_t)size : 0;
    if (room == 0) return buffer;
    for (size_t i = 0; i < count; i++) {
        if (!(mask & words[i].value)) continue;
        size_t length = strlen(words[i].name);
        if (used + length + 1 >= room) { /* the '>' replaces the last '+', if need be */
            if (used + 1 >= room && used > 0) used--;
            if (used + 1 < room) buffer[used++] = '>';
            break;
        }
        memcpy(buffer + used, words[i].name, length);
        used += length;
        buffer[used++] = '+';
    }
    buffer[used] = '\0';
    return buffer;
}

#define FLAGS(function, ...)                                                                       \
    const char *function(char *buffer, int size, u_int32_t mask)                                   \
    {                                                                                              \
        static const struct word words[] = {__VA_ARGS__};                                          \
        return flags_of(buffer, size, mask, words, COUNT(words));                                  \
    }

FLAGS(VAPI_hca_cap_sym, {VAPI_RESIZE_OUS_WQE_CAP, "RESIZE_OUS_WQE_CAP"},
      {VAPI_BAD_PKEY_COUNT_CAP, "BAD_PKEY_COUNT_CAP"},
      {VAPI_BAD_QKEY_COUNT_CAP, "BAD_QKEY_COUNT_CAP"}, {VAPI_RAW_MULTI_CAP, "RAW_MULTI_CAP"},
      {VAPI_AUTO_PATH_MIG_CAP, "AUTO_PATH_MIG_CAP"},
      {VAPI_CHANGE_PHY_PORT_CAP, "CHANGE_PHY_PORT_CAP"},
      {VAPI_UD_AV_PORT_ENFORCE_CAP, "UD_AV_PORT_ENFORCE_CAP"},
      {VAPI_CURR_QP_STATE_MOD_CAP, "CURR_QP_STATE_MOD_CAP"},
      {VAPI_SHUTDOWN_PORT_CAP, "SHUTDOWN_PORT_CAP"}, {VAPI_INIT_TYPE_CAP, "INIT_TYPE_CAP"},
      {VAPI_PORT_ACTIVE_EV_CAP, "PORT_ACTIVE_EV_CAP"}, {VAPI_SYS_IMG_GUID_CAP, "SYS_IMG_GUID_CAP"},
      {VAPI_RC_RNR_NAK_GEN_CAP, "RC_RNR_NAK_GEN_CAP"})
FLAGS(VAPI_hca_attr_mask_sym, {HCA_ATTR_IS_SM, "IS_SM"},
      {HCA_ATTR_IS_SNMP_TUN_SUP, "IS_SNMP_TUN_SUP"}, {HCA_ATTR_IS_DEV_MGT_SUP, "IS_DEV_MGT_SUP"},
      {HCA_ATTR_IS_VENDOR_CLS_SUP, "IS_VENDOR_CLS_SUP"})
FLAGS(VAPI_qp_attr_mask_sym, {QP_ATTR_QP_STATE, "QP_STATE"},
      {QP_ATTR_EN_SQD_ASYN_NOTIF, "EN_SQD_ASYN_NOTIF"}, {QP_ATTR_QP_NUM, "QP_NUM"},
      {QP_ATTR_REMOTE_ATOMIC_FLAGS, "REMOTE_ATOMIC_FLAGS"}, {QP_ATTR_PKEY_IX, "PKEY_IX"},
      {QP_ATTR_PORT, "PORT"}, {QP_ATTR_QKEY, "QKEY"}, {QP_ATTR_AV, "AV"},
      {QP_ATTR_PATH_MTU, "PATH_MTU"}, {QP_ATTR_TIMEOUT, "TIMEOUT"},
      {QP_ATTR_RETRY_COUNT, "RETRY_COUNT"}, {QP_ATTR_RNR_RETRY, "RNR_RETRY"},
      {QP_ATTR_RQ_PSN, "RQ_PSN"}, {QP_ATTR_QP_OUS_RD_ATOM, "QP_OUS_RD_ATOM"},
      {QP_ATTR_ALT_PATH, "ALT_PATH"}, {QP_ATTR_MIN_RNR_TIMER, "MIN_RNR_TIMER"},
      {QP_ATTR_SQ_PSN, "SQ_PSN"}, {QP_ATTR_OUS_DST_RD_ATOM, "OUS_DST_RD_ATOM"},
      {QP_ATTR_PATH_MIG_STATE, "PATH_MIG_STATE"}, {QP_ATTR_CAP, "CAP"},
      {QP_ATTR_DEST_QP_NUM, "DEST_QP_NUM"}, {QP_ATTR_SCHED_QUEUE, "SCHED_QUEUE"})
FLAGS(VAPI_mrw_acl_mask_sym, {VAPI_EN_LOCAL_WRITE, "EN_LOCAL_WRITE"},
      {VAPI_EN_REMOTE_WRITE, "EN_REMOTE_WRITE"}, {VAPI_EN_REMOTE_READ, "EN_REMOTE_READ"},
      {VAPI_EN_REMOTE_ATOM, "EN_REMOTE_ATOM"}, {VAPI_EN_MEMREG_BIND, "EN_MEMREG_BIND"})
FLAGS(VAPI_mr_change_mask_sym, {VAPI_MR_CHANGE_TRANS, "MR_CHANGE_TRANS"},
      {VAPI_MR_CHANGE_PD, "MR_CHANGE_PD"}, {VAPI_MR_CHANGE_ACL, "MR_CHANGE_ACL"})
FLAGS(VAPI_rdma_atom_acl_mask_sym, {VAPI_EN_REM_WRITE, "EN_REM_WRITE"},
      {VAPI_EN_REM_READ, "EN_REM_READ"}, {VAPI_EN_REM_ATOMIC_OP, "EN_REM_ATOMIC_OP"})

void vapi_log_nothing(const char *format, ...) {}
