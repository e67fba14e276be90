/* qp_rules.h - the attributes of each change of a queue pair's state; pure.  */
#ifndef VAPI_QP_RULES_H
#define VAPI_QP_RULES_H

#include "public.h"

/* From state to state with attributes `mask` (its state bit aside): VAPI_OK, VAPI_EINVAL_QP_STATE
 * (no such change), VAPI_EINVAL_ATTR (one is missing) or VAPI_ENOSYS_ATTR (one does not belong). */
VAPI_ret_t vapi_qp_rule(VAPI_ts_type_t type, VAPI_qp_state_t from, VAPI_qp_state_t to,
                        VAPI_qp_attr_mask_t mask);

#endif
