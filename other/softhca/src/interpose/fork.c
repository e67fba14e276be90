/* fork.c - fork(): the child may open the device anew, and inherited objects fail.
 *
 * The child has none of this library's threads and may not change what its parent shares with
 * peers. It discards that state and starts as if it had never opened the device. Inherited objects
 * fail with EIO, and destroying them does nothing; so do objects of a device that was removed.
 * vfork(), posix_spawn(), system() and exec need nothing: all descriptors are close-on-exec.
 */
#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/faults/inject.h"
#include "other/softhca/src/interpose/edge.h"
#include "other/softhca/src/objects/qp.h"
#include "other/softhca/src/objects/verbs.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/tcp/tcp.h"

#include <string.h>

static struct ibv_mw *fork_no_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    errno = EIO;
    return NULL;
}

static int fork_no_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    return EIO;
}

static int fork_no_dealloc_mw(struct ibv_mw *mw)
{
    return EIO;
}

static int fork_no_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    return -EIO;
}

static int fork_no_notify(struct ibv_cq *cq, int solicited)
{
    return EIO;
}

static int fork_no_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    *bad = wr;
    return EIO;
}

static int fork_no_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    *bad = wr;
    return EIO;
}

static int fork_no_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    *bad = wr;
    return EIO;
}

static struct ibv_qp *fork_no_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *a)
{
    errno = EIO;
    return NULL;
}

static struct ibv_cq_ex *fork_no_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *a)
{
    errno = EIO;
    return NULL;
}

static struct ibv_srq *fork_no_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *a)
{
    errno = EIO;
    return NULL;
}

static struct ibv_xrcd *fork_no_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *a)
{
    errno = EIO;
    return NULL;
}

static int fork_no_close_xrcd(struct ibv_xrcd *x)
{
    return EIO;
}

static struct ibv_qp *fork_no_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *a)
{
    errno = EIO;
    return NULL;
}

static int fork_no_srq_num(struct ibv_srq *srq, uint32_t *number)
{
    return EIO;
}

/* Replaces the operations that a program calls through its context by ones that fail. Queries still
 * answer; operations that are not named here become NULL. */
void shca_context_disable(struct shca_context *c)
{
    struct verbs_context *v = &c->v;
    struct verbs_context dead = {.query_port = v->query_port,
                                 .query_device_ex = v->query_device_ex,
                                 .create_qp_ex = fork_no_qp_ex,
                                 .create_cq_ex = fork_no_cq_ex,
                                 .create_srq_ex = fork_no_srq_ex,
                                 .get_srq_num = fork_no_srq_num,
                                 .open_xrcd = fork_no_xrcd,
                                 .close_xrcd = fork_no_close_xrcd,
                                 .open_qp = fork_no_open_qp,
                                 .sz = v->sz,
                                 .context = v->context};
    dead.context.ops = (struct ibv_context_ops){.alloc_mw = fork_no_mw,
                                                .bind_mw = fork_no_bind,
                                                .dealloc_mw = fork_no_dealloc_mw,
                                                .poll_cq = fork_no_poll,
                                                .req_notify_cq = fork_no_notify,
                                                .post_srq_recv = fork_no_srq_recv,
                                                .post_send = fork_no_send,
                                                .post_recv = fork_no_recv};
    *v = dead;
}

/* Locks what another thread may be changing at the fork and the child needs consistent: the start
 * of the device, and the tables of descriptors. None of these locks is held for long. */
static void fork_prepare(void)
{
    shca_start_lock();
    shca_tcp_lock();
    pthread_mutex_lock(&shca.peer_lock);
    shca_rpc_server_lock();
}

static void fork_in_parent(void)
{
    shca_rpc_server_unlock();
    pthread_mutex_unlock(&shca.peer_lock);
    shca_tcp_unlock();
    shca_start_unlock();
}

/* The child has one thread, so it takes no lock; locks that another thread may have held are
 * initialised anew. */
static void fork_in_child(void)
{
    shca_device_select_in_child();
    shca_trouble_in_child();
    shca_contexts_in_child();
    shca_worker_in_child();
    for (int i = 0; i < SHCA_QPS; i++)
        if (shca.qp[i]) shca_qp_ex_in_child(shca.qp[i]);
    for (int i = 0; i < SHCA_CQS; i++)
        if (shca.cq[i]) shca_cq_ex_in_child(shca.cq[i]);
    shca_tcp_in_child();
    shca_rpc_server_in_child();
    shca_peers_in_child();
    shca_mr_in_child();
    shca_ports_in_child();
    shca_xrc_in_child();
    shca_inject_in_child();
    shca_segment_in_child();
}

void shca_watch_forks(void)
{
    pthread_atfork(fork_prepare, fork_in_parent, fork_in_child);
}
