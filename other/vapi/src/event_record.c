/* event_record.c - conversion of verbs' asynchronous events to VAPI's; pure.
 *
 * Newer events of verbs (changes of a port's LID, P_Keys, GIDs or subnet manager) do not exist in
 * VAPI and are dropped.
 */
#include "event_record.h"

static uint32_t handle_of_qp(const struct ibv_qp *qp)
{
    return ((struct vapi_qp *)qp->qp_context)->handle;
}

static uint32_t handle_of_srq(const struct ibv_srq *srq)
{
    return ((struct vapi_srq *)srq->srq_context)->handle;
}

bool vapi_event_record(const struct ibv_async_event *event, VAPI_event_record_t *record)
{
    static const struct {
        enum ibv_event_type verbs;
        VAPI_event_record_type_t type;
        VAPI_event_syndrome_t syndrome;
        enum { OF_NOTHING, OF_CQ, OF_QP, OF_SRQ, OF_PORT } of;
    } known[] = {
        {IBV_EVENT_CQ_ERR, VAPI_CQ_ERROR, VAPI_CQ_ERR_OVERRUN, OF_CQ},
        {IBV_EVENT_QP_FATAL, VAPI_LOCAL_WQ_CATASTROPHIC_ERROR, VAPI_EV_SYNDROME_NONE, OF_QP},
        {IBV_EVENT_QP_REQ_ERR, VAPI_LOCAL_WQ_INV_REQUEST_ERROR, VAPI_EV_SYNDROME_NONE, OF_QP},
        {IBV_EVENT_QP_ACCESS_ERR, VAPI_LOCAL_WQ_ACCESS_VIOL_ERROR, VAPI_EV_SYNDROME_NONE, OF_QP},
        {IBV_EVENT_COMM_EST, VAPI_QP_COMM_ESTABLISHED, VAPI_EV_SYNDROME_NONE, OF_QP},
        {IBV_EVENT_SQ_DRAINED, VAPI_SEND_QUEUE_DRAINED, VAPI_EV_SYNDROME_NONE, OF_QP},
        {IBV_EVENT_QP_LAST_WQE_REACHED, VAPI_RECEIVE_QUEUE_DRAINED, VAPI_EV_SYNDROME_NONE, OF_QP},
        {IBV_EVENT_PATH_MIG, VAPI_QP_PATH_MIGRATED, VAPI_EV_SYNDROME_NONE, OF_QP},
        {IBV_EVENT_PATH_MIG_ERR, VAPI_PATH_MIG_REQ_ERROR, VAPI_EV_SYNDROME_NONE, OF_QP},
        {IBV_EVENT_SRQ_ERR, VAPI_SRQ_CATASTROPHIC_ERROR, VAPI_EV_SYNDROME_NONE, OF_SRQ},
        {IBV_EVENT_SRQ_LIMIT_REACHED, VAPI_SRQ_LIMIT_REACHED, VAPI_EV_SYNDROME_NONE, OF_SRQ},
        {IBV_EVENT_DEVICE_FATAL, VAPI_LOCAL_CATASTROPHIC_ERROR, VAPI_CATAS_ERR_GENERAL, OF_NOTHING},
        {IBV_EVENT_PORT_ACTIVE, VAPI_PORT_ACTIVE, VAPI_EV_SYNDROME_NONE, OF_PORT},
        {IBV_EVENT_PORT_ERR, VAPI_PORT_ERROR, VAPI_EV_SYNDROME_NONE, OF_PORT},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].verbs != event->event_type) continue;
        *record = (VAPI_event_record_t){.type = known[i].type, .syndrome = known[i].syndrome};
        switch (known[i].of) {
        case OF_CQ:
            record->modifier.cq_hndl = ((struct vapi_cq *)event->element.cq->cq_context)->handle;
            break;
        case OF_QP:
            record->modifier.qp_hndl = handle_of_qp(event->element.qp);
            break;
        case OF_SRQ:
            record->modifier.srq_hndl = handle_of_srq(event->element.srq);
            break;
        case OF_PORT:
            record->modifier.port_num = (IB_port_t)event->element.port_num;
            break;
        case OF_NOTHING:
            break;
        }
        return true;
    }
    return false;
}
