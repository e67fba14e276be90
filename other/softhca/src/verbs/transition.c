/* transition.c - the transitions of each type of queue pair, and the attributes that they require
 * and allow.
 *
 * The tables of the InfiniBand specification; state.c acts on them. RESET and ERR can be reached
 * from any state, without attributes.
 */
#include "other/softhca/src/verbs/verbs.h"

enum { RC = 1, UC = 2, UD = 4, XS = 8, XR = 16, CONNECTED = RC | UC | XS | XR, ALL = 31 };
enum {
    PATH = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
    RESPONDER = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
    REQUESTER = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
    MIGRATION = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE,
};

struct transition {
    enum ibv_qp_state from, to;
    unsigned types;
    int required, optional;
};

static const struct transition transitions[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, CONNECTED, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
     0},
    {IBV_QPS_RESET, IBV_QPS_INIT, UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},

    {IBV_QPS_INIT, IBV_QPS_INIT, CONNECTED, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_INIT, UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},

    {IBV_QPS_INIT, IBV_QPS_RTR, RC | XR, PATH | RESPONDER,
     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH},
    {IBV_QPS_INIT, IBV_QPS_RTR, UC | XS, PATH,
     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH},
    {IBV_QPS_INIT, IBV_QPS_RTR, UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},

    {IBV_QPS_RTR, IBV_QPS_RTS, RC, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | REQUESTER,
     IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | MIGRATION},
    {IBV_QPS_RTR, IBV_QPS_RTS, XS, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | REQUESTER,
     IBV_QP_ACCESS_FLAGS | MIGRATION},
    {IBV_QPS_RTR, IBV_QPS_RTS, XR, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
     IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | MIGRATION},
    {IBV_QPS_RTR, IBV_QPS_RTS, UC, IBV_QP_SQ_PSN, IBV_QP_ACCESS_FLAGS | MIGRATION},
    {IBV_QPS_RTR, IBV_QPS_RTS, UD, IBV_QP_SQ_PSN, IBV_QP_QKEY},

    {IBV_QPS_RTS, IBV_QPS_RTS, RC | XR, 0, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | MIGRATION},
    {IBV_QPS_RTS, IBV_QPS_RTS, UC | XS, 0, IBV_QP_ACCESS_FLAGS | MIGRATION},
    {IBV_QPS_RTS, IBV_QPS_RTS, UD, 0, IBV_QP_QKEY},

    {IBV_QPS_RTS, IBV_QPS_SQD, ALL, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},

    {IBV_QPS_SQD, IBV_QPS_SQD, RC, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_AV | IBV_QP_TIMEOUT |
         REQUESTER | RESPONDER | MIGRATION},
    {IBV_QPS_SQD, IBV_QPS_SQD, XS, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_AV | IBV_QP_TIMEOUT |
         REQUESTER | MIGRATION},
    {IBV_QPS_SQD, IBV_QPS_SQD, XR, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_AV | IBV_QP_TIMEOUT |
         RESPONDER | MIGRATION},
    {IBV_QPS_SQD, IBV_QPS_SQD, UC, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_AV | MIGRATION},
    {IBV_QPS_SQD, IBV_QPS_SQD, UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},

    {IBV_QPS_SQD, IBV_QPS_RTS, RC | XR, 0, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | MIGRATION},
    {IBV_QPS_SQD, IBV_QPS_RTS, UC | XS, 0, IBV_QP_ACCESS_FLAGS | MIGRATION},
    {IBV_QPS_SQD, IBV_QPS_RTS, UD, 0, IBV_QP_QKEY},

    {IBV_QPS_SQE, IBV_QPS_RTS, UC, 0, IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_SQE, IBV_QPS_RTS, UD, 0, IBV_QP_QKEY},
};

static unsigned transition_type_bit(enum ibv_qp_type type)
{
    switch (type) {
    case IBV_QPT_RC:
        return RC;
    case IBV_QPT_UC:
        return UC;
    case IBV_QPT_UD:
        return UD;
    case IBV_QPT_XRC_SEND:
        return XS;
    case IBV_QPT_XRC_RECV:
        return XR;
    default:
        return 0;
    }
}

bool shca_transition_allowed(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
                             int mask)
{
    mask &= ~(IBV_QP_STATE | IBV_QP_CUR_STATE);
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return true;
    /* Programs that treat both ends of an XRC connection alike set the attributes of the other end
     * too; they are ignored, as the kernel does. */
    if (type == IBV_QPT_XRC_SEND) mask &= ~RESPONDER;
    if (type == IBV_QPT_XRC_RECV) mask &= ~REQUESTER;
    for (size_t i = 0; i < sizeof transitions / sizeof *transitions; i++) {
        const struct transition *t = &transitions[i];
        if (t->from == from && t->to == to && t->types & transition_type_bit(type))
            return (mask & t->required) == t->required && !(mask & ~(t->required | t->optional));
    }
    return false;
}
