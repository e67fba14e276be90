/* provoke.c - causes events on the first device of a process that only watches the device.
 *
 * Preloaded into ibv_asyncwatch by devices.sh, after libsofthca. SIGUSR1 posts one message from a
 * queue pair to itself; SOFTHCA_FAULTS determines its effect.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static sigset_t wanted;

static struct ibv_qp *to_itself(struct ibv_context *c)
{
    struct ibv_port_attr port;
    struct ibv_cq *cq = ibv_create_cq(c, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .cap = {.max_send_wr = 8, .max_send_sge = 1},
                                    .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = ibv_create_qp(ibv_alloc_pd(c), &init);
    if (!qp || ibv_query_port(c, 1, &port)) abort();
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
                            .port_num = 1,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = qp->qp_num,
                            .ah_attr = {.dlid = port.lid, .port_num = 1},
                            .timeout = 14,
                            .retry_cnt = 7};
    int init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
              IBV_QP_MAX_QP_RD_ATOMIC;
    if (ibv_modify_qp(qp, &a, init_mask)) abort();
    a.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(qp, &a, rtr)) abort();
    a.qp_state = IBV_QPS_RTS;
    if (ibv_modify_qp(qp, &a, rts)) abort();
    return qp;
}

static void *on_demand(void *unused)
{
    struct ibv_qp *qp = NULL;
    int signal;
    while (sigwait(&wanted, &signal) == 0) {
        struct ibv_device **list = qp ? NULL : ibv_get_device_list(NULL);
        struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE}, *bad; /* of no bytes */
        if (list) qp = to_itself(ibv_open_device(list[0]));
        if (list) ibv_free_device_list(list);
        ibv_post_send(qp, &wr, &bad);
    }
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    pthread_create(&thread, NULL, on_demand, NULL);
}
