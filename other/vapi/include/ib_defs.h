/* ib_defs.h - types and constants of InfiniBand itself, as VAPI names them. */
#ifndef H_IB_DEFS_H
#define H_IB_DEFS_H

#include "mtl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef u_int32_t IB_wqpn_t; /* queue pair number, 24 bits */
typedef u_int32_t IB_eecn_t;
typedef u_int32_t IB_psn_t; /* packet sequence number, 24 bits */
typedef u_int32_t IB_qkey_t;
typedef u_int32_t IB_rkey_t;
typedef u_int64_t IB_virt_addr_t;
typedef u_int16_t IB_pkey_t;
typedef u_int16_t IB_lid_t;
typedef u_int8_t IB_sl_t;
typedef u_int8_t IB_port_t;    /* counted from 1 */
typedef u_int8_t IB_gid_t[16]; /* in network order */
typedef u_int8_t IB_guid_t[8]; /* in network order */
typedef u_int8_t IB_static_rate_t;
typedef u_int32_t IB_port_cap_mask_t;

#define NULL_IB_PORT    0xFF
#define IB_MULTICAST_QP 0xFFFFFF
#define IB_MAD_LEN      256

typedef enum { MTU256 = 1, MTU512 = 2, MTU1024 = 3, MTU2048 = 4, MTU4096 = 5 } IB_mtu_enum_t;
typedef u_int32_t IB_mtu_t;

typedef enum {
    PORT_NOP = 0,
    PORT_DOWN = 1,
    PORT_INITIALIZE = 2,
    PORT_ARMED = 3,
    PORT_ACTIVE = 4
} IB_port_state_t;

/* Transport services. */
enum { IB_TS_RC = 0, IB_TS_RD = 1, IB_TS_UC = 2, IB_TS_UD = 3, IB_TS_RAW = 4 };
typedef u_int32_t IB_ts_t;

enum {
    IB_CAP_MASK_IS_SM = 1 << 1,
    IB_CAP_MASK_IS_NOTICE_SUP = 1 << 2,
    IB_CAP_MASK_IS_TRAP_SUP = 1 << 3,
    IB_CAP_MASK_IS_AUTO_MIGR_SUP = 1 << 5,
    IB_CAP_MASK_IS_SL_MAP_SUP = 1 << 6,
    IB_CAP_MASK_IS_MKEY_NVRAM = 1 << 7,
    IB_CAP_MASK_IS_PKEY_NVRAM = 1 << 8,
    IB_CAP_MASK_IS_LED_INFO_SUP = 1 << 9,
    IB_CAP_MASK_IS_SM_DISABLED = 1 << 10,
    IB_CAP_MASK_IS_SYS_IMAGE_GUID_SUP = 1 << 11,
    IB_CAP_MASK_IS_PKEY_SW_EXT_PORT_TRAP_SUP = 1 << 12,
    IB_CAP_MASK_IS_CONN_MGMT_SUP = 1 << 16,
    IB_CAP_MASK_IS_SNMP_TUNN_SUP = 1 << 17,
    IB_CAP_MASK_IS_REINIT_SUP = 1 << 18,
    IB_CAP_MASK_IS_DEVICE_MGMT_SUP = 1 << 19,
    IB_CAP_MASK_IS_VENDOR_CLS_SUP = 1 << 20,
    IB_CAP_MASK_IS_DR_NOTICE_SUP = 1 << 21,
    IB_CAP_MASK_IS_CAP_MASK_NOTICE_SUP = 1 << 22,
    IB_CAP_MASK_IS_BOOT_MGMT_SUP = 1 << 23
};

/* The time for which a receiver that is not ready makes a sender wait; the names are milliseconds.
 */
enum {
    IB_RNR_NAK_TIMER_655_36 = 0,
    IB_RNR_NAK_TIMER_0_01 = 1,
    IB_RNR_NAK_TIMER_0_02 = 2,
    IB_RNR_NAK_TIMER_0_03 = 3,
    IB_RNR_NAK_TIMER_0_04 = 4,
    IB_RNR_NAK_TIMER_0_06 = 5,
    IB_RNR_NAK_TIMER_0_08 = 6,
    IB_RNR_NAK_TIMER_0_12 = 7,
    IB_RNR_NAK_TIMER_0_16 = 8,
    IB_RNR_NAK_TIMER_0_24 = 9,
    IB_RNR_NAK_TIMER_0_32 = 10,
    IB_RNR_NAK_TIMER_0_48 = 11,
    IB_RNR_NAK_TIMER_0_64 = 12,
    IB_RNR_NAK_TIMER_0_96 = 13,
    IB_RNR_NAK_TIMER_1_28 = 14,
    IB_RNR_NAK_TIMER_1_92 = 15,
    IB_RNR_NAK_TIMER_2_56 = 16,
    IB_RNR_NAK_TIMER_3_84 = 17,
    IB_RNR_NAK_TIMER_5_12 = 18,
    IB_RNR_NAK_TIMER_7_68 = 19,
    IB_RNR_NAK_TIMER_10_24 = 20,
    IB_RNR_NAK_TIMER_15_36 = 21,
    IB_RNR_NAK_TIMER_20_48 = 22,
    IB_RNR_NAK_TIMER_30_72 = 23,
    IB_RNR_NAK_TIMER_40_96 = 24,
    IB_RNR_NAK_TIMER_61_44 = 25,
    IB_RNR_NAK_TIMER_81_92 = 26,
    IB_RNR_NAK_TIMER_122_88 = 27,
    IB_RNR_NAK_TIMER_163_84 = 28,
    IB_RNR_NAK_TIMER_245_76 = 29,
    IB_RNR_NAK_TIMER_327_68 = 30,
    IB_RNR_NAK_TIMER_491_52 = 31
};
typedef u_int32_t IB_rnr_nak_timer_code_t;

/* How a work request ended; vapi_types.h has the same under VAPI_ names. */
typedef enum {
    IB_COMP_SUCCESS = 0,
    IB_COMP_LOC_LEN_ERR,
    IB_COMP_LOC_QP_OP_ERR,
    IB_COMP_LOC_EE_OP_ERR,
    IB_COMP_LOC_PROT_ERR,
    IB_COMP_WR_FLUSH_ERR,
    IB_COMP_MW_BIND_ERR,
    IB_COMP_BAD_RESP_ERR,
    IB_COMP_LOC_ACCS_ERR,
    IB_COMP_REM_INV_REQ_ERR,
    IB_COMP_REM_ACCESS_ERR,
    IB_COMP_REM_OP_ERR,
    IB_COMP_RETRY_EXC_ERR,
    IB_COMP_RNR_RETRY_EXC_ERR,
    IB_COMP_LOC_RDD_VIOL_ERR,
    IB_COMP_REM_INV_RD_REQ_ERR,
    IB_COMP_REM_ABORT_ERR,
    IB_COMP_INV_EECN_ERR,
    IB_COMP_INV_EEC_STATE_ERR,
    IB_COMP_FATAL_ERR,
    IB_COMP_GENERAL_ERR
} IB_comp_status_t;

#ifdef __cplusplus
}
#endif

#endif
