/* queue_pairs.c - ports and queue pairs of the connection manager: the description that travels to
 * the peer, and the attributes that connect a queue pair to the peer's.
 */
#include <errno.h>
#include <string.h>

#include "other/softhca/src/device/device.h"
#include "other/softhca/src/manager/manager.h"
#include "other/softhca/src/verbs/verbs.h"

enum { PSN_BITS = 0xffffff, TIMEOUT = 18, RETRIES = 7, RNR_TIMER = 12 };

static uint32_t port_of(const struct shca_cm_id *c)
{
    return shm_port(shca_device(c->id.verbs)->index, c->id.port_num);
}

/* Finds the first entry of the port's GID table that a path can use; unless `like` is NULL, the
 * first such entry of the same type and family. False if the table has no such entry. */
static bool find_gid(uint32_t port, const struct shca_cm_frame *like, uint32_t *index)
{
    const struct shca_port_model *m = shca_port_model(port);
    for (*index = 0; *index < m->gids; ++*index) {
        const struct shca_gid_model *gid = &m->gid[*index];
        if (gid->family == SHCA_GID_NONE || gid->unreachable) continue;
        if (!like || (gid->type == like->gid_type && gid->family == like->gid_family)) return true;
    }
    return false;
}

void shca_cm_describe(const struct shca_cm_id *c, struct shca_cm_frame *frame)
{
    const uint32_t port = port_of(c);
    const struct shca_port_model *m = shca_port_model(port);
    uint32_t index;
    frame->transport = (uint8_t)c->id.verbs->device->transport_type;
    frame->ethernet = m->link == IBV_LINK_LAYER_ETHERNET;
    frame->lid = shca_lid(port);
    frame->mtu = (uint8_t)m->active_mtu;
    frame->psn = frame->qp_number & PSN_BITS;
    if (!frame->ethernet || !find_gid(port, NULL, &index)) return;
    union ibv_gid gid;
    shca_gid(port, index, &gid);
    memcpy(frame->gid, gid.raw, sizeof frame->gid);
    frame->gid_type = m->gid[index].type;
    frame->gid_family = m->gid[index].family;
}

/* The path to the peer's port; false: no GID is of a kind that both have. */
static bool find_path(const struct shca_cm_id *c, struct ibv_ah_attr *path)
{
    uint32_t index = 0;
    if (c->theirs.ethernet && !find_gid(port_of(c), &c->theirs, &index)) return false;
    *path = (struct ibv_ah_attr){.dlid = c->theirs.lid,
                                 .port_num = c->id.port_num,
                                 .is_global = c->theirs.ethernet,
                                 .grh = {.sgid_index = (uint8_t)index, .hop_limit = 64}};
    memcpy(path->grh.dgid.raw, c->theirs.gid, sizeof c->theirs.gid);
    return true;
}

int shca_cm_attributes(const struct shca_cm_id *c, struct ibv_qp_attr *attr, int *mask)
{
    const enum ibv_qp_state state = attr->qp_state;
    memset(attr, 0, sizeof *attr);
    attr->qp_state = state;
    switch (state) {
    case IBV_QPS_INIT:
        attr->port_num = c->id.port_num;
        attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
        *mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
        return 0;
    case IBV_QPS_RTR:
        if (!c->theirs.qp_number) return EINVAL;
        if (!find_path(c, &attr->ah_attr)) return EHOSTUNREACH;
        attr->path_mtu = c->theirs.mtu < c->mine.mtu || !c->mine.mtu ? c->theirs.mtu : c->mine.mtu;
        attr->dest_qp_num = c->theirs.qp_number;
        attr->rq_psn = c->theirs.psn;
        attr->max_dest_rd_atomic = c->mine.responder;
        attr->min_rnr_timer = RNR_TIMER;
        *mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        return 0;
    case IBV_QPS_RTS:
        attr->timeout = TIMEOUT;
        attr->retry_cnt = attr->rnr_retry = RETRIES;
        attr->sq_psn = c->mine.psn;
        attr->max_rd_atomic = c->mine.initiator;
        *mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
        return 0;
    default:
        return EINVAL;
    }
}

static struct shca_qp *find_qp(const struct ibv_context *context, uint32_t number)
{
    struct shca_qp *qp;
    pthread_mutex_lock(&shca.lock);
    for (qp = shca.qps; qp; qp = qp->next)
        if (qp->base.qp_num == number && qp->base.context == context) break;
    pthread_mutex_unlock(&shca.lock);
    return qp;
}

/* The attributes of RTS for a queue pair that reaches it with the peer's first message: a thread
 * that posts looks for that. */
static void keep_for_later(struct shca_qp *qp, const struct ibv_qp_attr *attr)
{
    shca_lock(&qp->sq);
    qp->attr.timeout = attr->timeout;
    qp->attr.retry_cnt = attr->retry_cnt;
    qp->attr.rnr_retry = attr->rnr_retry;
    qp->attr.sq_psn = attr->sq_psn;
    qp->attr.max_rd_atomic = attr->max_rd_atomic;
    qp->acceptor = true;
    shca_unlock(&qp->sq);
}

int shca_cm_join(const struct shca_cm_id *c, bool accepts)
{
    struct shca_qp *qp = find_qp(c->id.verbs, c->mine.qp_number);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    int mask = 0, error = qp ? shca_cm_attributes(c, &attr, &mask) : EINVAL;
    if (error) return error;
    qp->managed = true;
    error = shca_modify_qp(&qp->base, &attr, mask);
    qp->managed = false;
    attr.qp_state = IBV_QPS_RTS;
    if (!error) error = shca_cm_attributes(c, &attr, &mask);
    if (error) return error;
    if (!accepts) return shca_modify_qp(&qp->base, &attr, mask);
    keep_for_later(qp, &attr);
    return 0;
}
