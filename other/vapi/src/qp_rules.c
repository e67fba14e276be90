/* qp_rules.c - the attributes of each change of a queue pair's state; pure.
 *
 * The table of the original is not known.  This is the IBTA's, which programs follow and verbs
 * enforce.
 */
#include "qp_rules.h"

#include <stddef.h>

enum { RC = 1 << VAPI_TS_RC, UC = 1 << VAPI_TS_UC, UD = 1 << VAPI_TS_UD, ANY = RC | UC | UD };

#define A(name) QP_ATTR_##name

static const struct rule {
    unsigned char from, to, types;
    VAPI_qp_attr_mask_t must, may;
} rules[] = {
    {VAPI_RESET, VAPI_INIT, RC | UC, A(PKEY_IX) | A(PORT) | A(REMOTE_ATOMIC_FLAGS), 0},
    {VAPI_RESET, VAPI_INIT, UD, A(PKEY_IX) | A(PORT) | A(QKEY), 0},
    {VAPI_INIT, VAPI_INIT, RC | UC, 0, A(PKEY_IX) | A(PORT) | A(REMOTE_ATOMIC_FLAGS)},
    {VAPI_INIT, VAPI_INIT, UD, 0, A(PKEY_IX) | A(PORT) | A(QKEY)},
    {VAPI_INIT, VAPI_RTR, RC,
     A(AV) | A(PATH_MTU) | A(RQ_PSN) | A(QP_OUS_RD_ATOM) | A(DEST_QP_NUM) | A(MIN_RNR_TIMER),
     A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(PKEY_IX)},
    {VAPI_INIT, VAPI_RTR, UC, A(AV) | A(PATH_MTU) | A(RQ_PSN) | A(DEST_QP_NUM),
     A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(PKEY_IX)},
    {VAPI_INIT, VAPI_RTR, UD, 0, A(PKEY_IX) | A(QKEY)},
    {VAPI_RTR, VAPI_RTS, RC,
     A(SQ_PSN) | A(TIMEOUT) | A(RETRY_COUNT) | A(RNR_RETRY) | A(OUS_DST_RD_ATOM),
     A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(MIN_RNR_TIMER) | A(PATH_MIG_STATE)},
    {VAPI_RTR, VAPI_RTS, UC, A(SQ_PSN), A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(PATH_MIG_STATE)},
    {VAPI_RTR, VAPI_RTS, UD, A(SQ_PSN), A(QKEY)},
    {VAPI_RTS, VAPI_RTS, RC, 0,
     A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(MIN_RNR_TIMER) | A(PATH_MIG_STATE)},
    {VAPI_RTS, VAPI_RTS, UC, 0, A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(PATH_MIG_STATE)},
    {VAPI_RTS, VAPI_RTS, UD, 0, A(QKEY)},
    {VAPI_RTS, VAPI_SQD, ANY, 0, A(EN_SQD_ASYN_NOTIF)},
    {VAPI_SQD, VAPI_RTS, RC, 0,
     A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(MIN_RNR_TIMER) | A(PATH_MIG_STATE)},
    {VAPI_SQD, VAPI_RTS, UC, 0, A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(PATH_MIG_STATE)},
    {VAPI_SQD, VAPI_RTS, UD, 0, A(QKEY)},
    {VAPI_SQD, VAPI_SQD, RC, 0,
     A(PORT) | A(PKEY_IX) | A(AV) | A(TIMEOUT) | A(RETRY_COUNT) | A(RNR_RETRY) |
         A(OUS_DST_RD_ATOM) | A(QP_OUS_RD_ATOM) | A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) |
         A(MIN_RNR_TIMER) | A(PATH_MIG_STATE)},
    {VAPI_SQD, VAPI_SQD, UC, 0,
     A(PKEY_IX) | A(AV) | A(ALT_PATH) | A(REMOTE_ATOMIC_FLAGS) | A(PATH_MIG_STATE)},
    {VAPI_SQD, VAPI_SQD, UD, 0, A(PKEY_IX) | A(QKEY)},
    {VAPI_SQE, VAPI_RTS, UC, 0, A(REMOTE_ATOMIC_FLAGS)},
    {VAPI_SQE, VAPI_RTS, UD, 0, A(QKEY)},
};

VAPI_ret_t vapi_qp_rule(VAPI_ts_type_t type, VAPI_qp_state_t from, VAPI_qp_state_t to,
                        VAPI_qp_attr_mask_t mask)
{
    mask &= ~(VAPI_qp_attr_mask_t)QP_ATTR_QP_STATE;
    if (to == VAPI_RESET || to == VAPI_ERR) return mask ? VAPI_ENOSYS_ATTR : VAPI_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *r = &rules[i];
        if (r->from != from || r->to != to || !(r->types >> type & 1)) continue;
        if (r->must & ~mask) return VAPI_EINVAL_ATTR;
        return mask & ~(r->must | r->may) ? VAPI_ENOSYS_ATTR : VAPI_OK;
    }
    return VAPI_EINVAL_QP_STATE;
}
