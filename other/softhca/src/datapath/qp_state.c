/* qp_state.c - changes of the state of a queue pair that work requests cause, and what initiators
 * see after any change.
 *
 * ibv_modify_qp() is in verbs/state.c.
 */
#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/objects/event.h"
#include "other/softhca/src/segment/upward.h"

/* Sets the sender id and the accepted sender of QP after its state, its peer or its port changed.
 * Send lock held. */
void shca_qp_tune(struct shca_qp *qp)
{
    bool up = shca_port_state(qp->port) == IBV_PORT_ACTIVE &&
              !shca_device(qp->base.context)->gone && !shca_inject_cuts(qp);
    enum ibv_qp_type type = qp->base.qp_type;
    uint64_t other_host = qp->target.remote ? SHCA_OTHER_HOST : 0;
    qp->target.pkey = shca_port_model(qp->port)->pkey[qp->attr.pkey_index % SHCA_PKEYS];
    qp->target.sender_id = up ? shm_sender_id(type, qp->target.from, qp->target.dest_port) |
                                    shm_pkey_id(qp->target.pkey, SHCA_LIMITED_SENDER)
                              : SHCA_NO_SENDER;
    atomic_store(&qp->s->accepts, up ? shm_sender_id(type, qp->attr.dest_qp_num, qp->port) |
                                           shm_pkey_id(qp->target.pkey, SHCA_LIMITED_TARGET) |
                                           other_host
                                     : SHCA_ACCEPTS_NONE);
    shca_qp_changed(qp);
}

/* Makes the attributes and the state visible to initiators. Send lock held. */
void shca_qp_publish(struct shca_qp *qp, enum ibv_qp_state to)
{
    /* Without resources for READs and atomics they are refused. */
    unsigned needs_resources = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    qp->s->access = qp->attr.qp_access_flags & ~(qp->attr.max_dest_rd_atomic ? 0 : needs_resources);
    qp->s->qkey = qp->attr.qkey;
    qp->s->min_rnr_timer = qp->attr.min_rnr_timer;
    qp->s->max_dest_rd_atomic = qp->attr.max_dest_rd_atomic;
    shca_qp_tune(qp);
    qp->base.state = to;
    atomic_store(&qp->s->state, to);
    shca_qp_changed(qp);
}

/* Send lock held. Flushes the send queue; the worker thread flushes receives, for which it may have
 * to wait for the peer. */
void shca_qp_to_error(struct shca_qp *qp)
{
    qp->base.state = IBV_QPS_ERR;
    atomic_store(&qp->s->state, IBV_QPS_ERR);
    shca_qp_changed(qp);
    shca_send_flush(qp);
    if (qp->target.remote) shca_tcp_send_stop(qp);
    shca_worker_wake();
}

/* A send failed on an unreliable QP: the send queue stops, receives go on. Send lock held. */
void shca_qp_to_send_error(struct shca_qp *qp)
{
    qp->base.state = IBV_QPS_SQE;
    atomic_store(&qp->s->state, IBV_QPS_SQE);
    shca_qp_changed(qp);
    shca_send_flush(qp);
    if (qp->target.remote) shca_tcp_send_stop(qp);
}

/* Each message that was begun has ended; waiting WRs have not begun, and stay. */
void shca_qp_raise_drained(struct shca_qp *qp)
{
    qp->drain_wanted = false;
    struct ibv_async_event e = {.element.qp = &qp->base, .event_type = IBV_EVENT_SQ_DRAINED};
    shca_raise(qp->base.context, &e);
}

/* iWARP: the end that was connected to sends nothing before the first message of the other. */
int shca_qp_first_send(struct shca_qp *qp)
{
    if (!qp->acceptor || shca_state(qp) != IBV_QPS_RTR || !atomic_load(&qp->s->comm_est))
        return EINVAL;
    qp->acceptor = false;
    shca_qp_publish(qp, IBV_QPS_RTS);
    if (qp->target.remote) shca_tcp_send_tune(qp);
    return 0;
}

void shca_port_retune(void)
{
    pthread_mutex_lock(&shca.lock);
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next) {
        shca_lock(&qp->sq);
        if (shca_state(qp) != IBV_QPS_RESET) shca_qp_tune(qp);
        if (qp->target.remote) shca_tcp_send_tune(qp);
        shca_unlock(&qp->sq);
    }
    pthread_mutex_unlock(&shca.lock);
}
