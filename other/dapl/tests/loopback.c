/* loopback.c - two connected queue pairs of one device: see loopback.h. */
#include "other/dapl/tests/loopback.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void must(bool ok, const char *what)
{
    if (ok) return;
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

static void connect_to(struct ibv_qp *qp, uint32_t peer, const struct ibv_port_attr *port,
                       union ibv_gid gid)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    must(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
         "INIT");
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                                .path_mtu = IBV_MTU_1024,
                                .dest_qp_num = peer,
                                .max_dest_rd_atomic = 1,
                                .min_rnr_timer = 12,
                                .ah_attr = {.dlid = port->lid,
                                            .port_num = 1,
                                            .is_global = 1,
                                            .grh = {.dgid = gid, .hop_limit = 1}}};
    must(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
         "RTR");
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
    must(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
         "RTS");
}

void pair_open(pair_t *pair, struct ibv_context *context, struct ibv_cq *send,
               struct ibv_cq *receive)
{
    struct ibv_port_attr port;
    union ibv_gid gid;
    pair->context = context;
    must(!ibv_query_port(pair->context, 1, &port) && !ibv_query_gid(pair->context, 1, 0, &gid),
         "port");
    pair->pd = ibv_alloc_pd(pair->context);
    must(pair->pd != NULL, "protection domain");
    pair->mr = ibv_reg_mr(pair->pd, pair->bytes, sizeof pair->bytes, IBV_ACCESS_LOCAL_WRITE);
    must(pair->mr != NULL, "memory");
    struct ibv_qp_init_attr attr = {
        .send_cq = send,
        .recv_cq = receive,
        .cap = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC};
    for (int i = 0; i < 2; i++) {
        pair->qp[i] = ibv_create_qp(pair->pd, &attr);
        must(pair->qp[i] != NULL, "queue pair");
    }
    for (int i = 0; i < 2; i++) connect_to(pair->qp[i], pair->qp[!i]->qp_num, &port, gid);
}

void pair_close(pair_t *pair)
{
    for (int i = 0; i < 2; i++) ibv_destroy_qp(pair->qp[i]);
    ibv_dereg_mr(pair->mr);
    ibv_dealloc_pd(pair->pd);
}

enum { RECEIVED = 64 }; /* of the bytes; what is sent is before */

static struct ibv_sge piece(const pair_t *pair, const char *at)
{
    return (struct ibv_sge){.addr = (uintptr_t)at, .length = 8, .lkey = pair->mr->lkey};
}

void pair_receive(pair_t *pair, int qp, dapl_work_t *work)
{
    struct ibv_sge sge = piece(pair, pair->bytes + RECEIVED);
    struct ibv_recv_wr wr = {.wr_id = (uintptr_t)work,
                             .sg_list = &sge,
                             .num_sge = work->flags & DAPL_WORK_SENTINEL ? 0 : 1},
                       *bad;
    must(!ibv_post_recv(pair->qp[qp], &wr, &bad), "receive");
}

void pair_send(pair_t *pair, int qp, dapl_work_t *work, bool solicited, bool signalled)
{
    struct ibv_sge sge = piece(pair, pair->bytes);
    struct ibv_send_wr wr = {.wr_id = (uintptr_t)work,
                             .sg_list = &sge,
                             .num_sge = work->flags & DAPL_WORK_SENTINEL ? 0 : 1,
                             .opcode = IBV_WR_SEND},
                       *bad;
    wr.send_flags = (signalled ? IBV_SEND_SIGNALED : 0) | (solicited ? IBV_SEND_SOLICITED : 0);
    must(!ibv_post_send(pair->qp[qp], &wr, &bad), "send");
}
