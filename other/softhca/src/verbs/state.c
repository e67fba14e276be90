/* state.c - ibv_modify_qp(): effects of changes of state and attributes.
 *
 * Which changes are allowed is in transition.c. Connecting (INIT to RTR) opens the connection to
 * the peer; a peer that does not exist is noticed when sending, as on a network.
 */
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/tcp/tcp.h"
#include "other/softhca/src/verbs/verbs.h"

/* Checks limits of the device and its ports. An address must be of the QP's own port. */
static bool state_fits_device(const struct shca_qp *qp, const struct ibv_qp_attr *a, int mask)
{
    const struct shca_device *d = shca_device(qp->base.context);
    uint32_t number = mask & IBV_QP_PORT ? a->port_num : qp->attr.port_num;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC && a->max_rd_atomic > d->model->max_qp_init_rd_atom)
        return false;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC && a->max_dest_rd_atomic > d->model->max_qp_rd_atom)
        return false;
    if (mask & IBV_QP_ACCESS_FLAGS && a->qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC &&
        shca_atomic_cap(d->model) == IBV_ATOMIC_NONE)
        return false;
    if (!(mask & (IBV_QP_PORT | IBV_QP_AV | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MTU))) return true;
    if (!shca_port_exists(number)) return false;
    const struct shca_port_model *port = &d->model->port[number - 1];
    if (mask & IBV_QP_PKEY_INDEX && a->pkey_index >= port->pkeys) return false;
    if (mask & IBV_QP_PATH_MTU && (a->path_mtu < IBV_MTU_256 || a->path_mtu > port->active_mtu))
        return false;
    return !(mask & IBV_QP_AV) || a->ah_attr.port_num == number;
}

static bool state_values_allowed(const struct ibv_qp_attr *a, int mask)
{
    if (mask & IBV_QP_TIMEOUT && a->timeout > 31) return false;
    if (mask & IBV_QP_RETRY_CNT && a->retry_cnt > 7) return false;
    if (mask & IBV_QP_RNR_RETRY && a->rnr_retry > 7) return false;
    if (mask & IBV_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31) return false;
    /* No alternate path: the device does not offer IBV_DEVICE_AUTO_PATH_MIG. */
    if (mask & IBV_QP_ALT_PATH) return false;
    if (mask & IBV_QP_PATH_MIG_STATE && a->path_mig_state != IBV_MIG_MIGRATED) return false;
    return true;
}

static void state_take_values(struct ibv_qp_attr *mine, const struct ibv_qp_attr *a, int mask)
{
    if (mask & IBV_QP_PKEY_INDEX) mine->pkey_index = a->pkey_index;
    if (mask & IBV_QP_PORT) mine->port_num = a->port_num;
    if (mask & IBV_QP_ACCESS_FLAGS) mine->qp_access_flags = a->qp_access_flags;
    if (mask & IBV_QP_AV) mine->ah_attr = a->ah_attr;
    if (mask & IBV_QP_PATH_MTU) mine->path_mtu = a->path_mtu;
    if (mask & IBV_QP_DEST_QPN) mine->dest_qp_num = a->dest_qp_num & 0xffffff;
    if (mask & IBV_QP_QKEY) mine->qkey = a->qkey;
    if (mask & IBV_QP_RQ_PSN) mine->rq_psn = a->rq_psn;
    if (mask & IBV_QP_SQ_PSN) mine->sq_psn = a->sq_psn;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) mine->max_dest_rd_atomic = a->max_dest_rd_atomic;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC) mine->max_rd_atomic = a->max_rd_atomic;
    if (mask & IBV_QP_MIN_RNR_TIMER) mine->min_rnr_timer = a->min_rnr_timer;
    if (mask & IBV_QP_TIMEOUT) mine->timeout = a->timeout;
    if (mask & IBV_QP_RETRY_CNT) mine->retry_cnt = a->retry_cnt;
    if (mask & IBV_QP_RNR_RETRY) mine->rnr_retry = a->rnr_retry;
    if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) mine->en_sqd_async_notify = a->en_sqd_async_notify;
}

static int state_connect(struct shca_qp *qp)
{
    struct shca_destination destination = shca_destination_of(qp->port, &qp->attr.ah_attr);
    struct shca_target target;
    shca_target_set(&target, destination, qp->base.qp_type, qp->base.qp_num, qp->attr.dest_qp_num);
    target.route = shca_route(qp->port, &qp->attr.ah_attr);
    pthread_mutex_lock(&shca.lock); /* shca_quiesce() reads the targets of all QPs */
    struct shca_peer *old = qp->target.peer;
    qp->target = target;
    pthread_mutex_unlock(&shca.lock);
    shca_peer_put(old);
    return destination.host > SHCA_HERE ? shca_tcp_send_bind(qp, destination) : 0;
}

/* True when an injected fault refuses the transition; a datagram QP has no peer. */
static bool state_refused(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to)
{
    if (type == IBV_QPT_UD || from == to) return false;
    if (to == IBV_QPS_RTR) return shca_inject_creation(SHCA_RTR);
    return to == IBV_QPS_RTS && from == IBV_QPS_RTR && shca_inject_creation(SHCA_RTS);
}

/* iWARP: by a connection manager alone. */
static bool state_may_connect(const struct shca_qp *qp)
{
    return qp->managed || shca_device(qp->base.context)->model->transport != IBV_TRANSPORT_IWARP;
}

int shca_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *a, int mask)
{
    struct shca_qp *qp = shca_qp(base);
    if (qp->foreign) return shca_unsupported();
    enum ibv_qp_state from = shca_state(qp), to = mask & IBV_QP_STATE ? a->qp_state : from;
    if (mask & IBV_QP_CUR_STATE && a->cur_qp_state != from) return EINVAL;
    if (!shca_transition_allowed(base->qp_type, from, to, mask) || !state_values_allowed(a, mask) ||
        !state_fits_device(qp, a, mask) || (to == IBV_QPS_RTR && !state_may_connect(qp)))
        return EINVAL;
    if (mask & IBV_QP_AV) {
        const uint32_t device = shca_device(base->context)->index;
        const int error = shca_address_error(shm_port(device, a->ah_attr.port_num), &a->ah_attr);
        if (error) return error;
    }
    if (state_refused(base->qp_type, from, to)) return ENOMEM;
    if (to == IBV_QPS_RESET) {
        shca_worker_drop(qp);
        shca_tcp_send_drop(qp);
        pthread_mutex_lock(&shca.lock); /* the worker thread may be flushing the QP */
        shca_lock(&qp->sq);
        shca_qp_reset(qp);
        shca_unlock(&qp->sq);
        struct shca_peer *old = qp->target.peer;
        qp->target.peer = NULL;
        pthread_mutex_unlock(&shca.lock);
        qp->attr = (struct ibv_qp_attr){0};
        shca_peer_put(old);
        return 0;
    }
    if (to != IBV_QPS_ERR) state_take_values(&qp->attr, a, mask);
    if (qp->attr.port_num)
        qp->port = shm_port(shca_device(base->context)->index, qp->attr.port_num);
    qp->max_message = shca_port_model(qp->port)->max_msg_sz;
    qp->small_range = shca_small_range(qp);
    if (from == IBV_QPS_INIT && to == IBV_QPS_RTR && base->qp_type != IBV_QPT_UD &&
        state_connect(qp) != 0)
        return ENOMEM;
    shca_lock(&qp->sq);
    if (to == IBV_QPS_ERR)
        shca_qp_to_error(qp);
    else
        shca_qp_publish(qp, to);
    if (from != to) qp->drain_wanted = mask & IBV_QP_EN_SQD_ASYNC_NOTIFY && a->en_sqd_async_notify;
    if (qp->target.remote)
        shca_tcp_send_tune(qp);
    else if (qp->drain_wanted)
        shca_qp_raise_drained(qp); /* on one host a message ends before the lock is released */
    else if (to == IBV_QPS_RTS && qp->sq_exec != qp->sq_head)
        shca_worker_wait_for(qp);
    shca_unlock(&qp->sq);
    return 0;
}
