/* vapi_common.h - VAPI's codes and constants in words, for messages.  All strings are constant. */
#ifndef H_VAPI_COMMON_H
#define H_VAPI_COMMON_H

#include <stdio.h>

#include "vapi_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A return code as a sentence, and as the name of its enumerator; "VAPI_UNKNOWN_ERROR" for another
 * value. Never NULL. */
const char *VAPI_strerror(VAPI_ret_t code);
const char *VAPI_strerror_sym(VAPI_ret_t code);

/* A value as the name of its enumerator; "UnKnown" for another value. Never NULL. */
const char *VAPI_atomic_cap_sym(VAPI_atomic_cap_t value);
const char *VAPI_sig_type_sym(VAPI_sig_type_t value);
const char *VAPI_ts_type_sym(VAPI_ts_type_t value);
const char *VAPI_qp_state_sym(VAPI_qp_state_t value);
const char *VAPI_mig_state_sym(VAPI_mig_state_t value);
const char *VAPI_special_qp_sym(VAPI_special_qp_t value);
const char *VAPI_mrw_type_sym(VAPI_mrw_type_t value);
const char *VAPI_remote_node_addr_sym(VAPI_remote_node_addr_type_t value);
const char *VAPI_wr_opcode_sym(VAPI_wr_opcode_t value);
const char *VAPI_cqe_opcode_sym(VAPI_cqe_opcode_t value);
const char *VAPI_wc_status_sym(VAPI_wc_status_t value);
const char *VAPI_comp_type_sym(VAPI_comp_type_t value);
const char *VAPI_cq_notif_sym(VAPI_cq_notif_type_t value);
const char *VAPI_event_record_sym(VAPI_event_record_type_t value);
const char *VAPI_event_syndrome_sym(VAPI_event_syndrome_t value);

/* The flags of a mask into `buffer` of `size` bytes (at least 2), each without its prefix and
 * followed by '+'; '>' at the end means that there was no room for the rest.  Returns `buffer`. */
const char *VAPI_hca_cap_sym(char *buffer, int size, u_int32_t mask);
const char *VAPI_hca_attr_mask_sym(char *buffer, int size, u_int32_t mask);
const char *VAPI_qp_attr_mask_sym(char *buffer, int size, u_int32_t mask);
const char *VAPI_mrw_acl_mask_sym(char *buffer, int size, u_int32_t mask);
const char *VAPI_mr_change_mask_sym(char *buffer, int size, u_int32_t mask);
const char *VAPI_rdma_atom_acl_mask_sym(char *buffer, int size, u_int32_t mask);

/* Prints a return code to stderr, with file and line. */
#define VAPI_RET_PRINT(ret)                                                                        \
    ((void)fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, VAPI_strerror_sym(ret),         \
                   VAPI_strerror(ret)))
#define VAPI_CHECK(ret)                                                                            \
    do {                                                                                           \
        if ((ret) != VAPI_OK) VAPI_RET_PRINT(ret);                                                 \
    } while (0)
#define VAPI_CHECK_RET(ret)                                                                        \
    do {                                                                                           \
        if ((ret) != VAPI_OK) {                                                                    \
            VAPI_RET_PRINT(ret);                                                                   \
            return (ret);                                                                          \
        }                                                                                          \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
