/* context_disable.c - the operations of a context whose objects fail: it was inherited by a forked
 * child, or its device was removed.
 */
#include "other/softhca/src/objects/context.h"

static struct ibv_mw *disabled_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    errno = EIO;
    return NULL;
}

static int disabled_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    return EIO;
}

static int disabled_dealloc_mw(struct ibv_mw *mw)
{
    return EIO;
}

static int disabled_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    return -EIO;
}

static int disabled_notify(struct ibv_cq *cq, int solicited)
{
    return EIO;
}

static int disabled_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    *bad = wr;
    return EIO;
}

static int disabled_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    *bad = wr;
    return EIO;
}

static int disabled_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    *bad = wr;
    return EIO;
}

static struct ibv_qp *disabled_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *a)
{
    errno = EIO;
    return NULL;
}

static struct ibv_cq_ex *disabled_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *a)
{
    errno = EIO;
    return NULL;
}

static struct ibv_srq *disabled_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *a)
{
    errno = EIO;
    return NULL;
}

static struct ibv_xrcd *disabled_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *a)
{
    errno = EIO;
    return NULL;
}

static int disabled_close_xrcd(struct ibv_xrcd *x)
{
    return EIO;
}

static struct ibv_qp *disabled_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *a)
{
    errno = EIO;
    return NULL;
}

static int disabled_srq_num(struct ibv_srq *srq, uint32_t *number)
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
                                 .create_qp_ex = disabled_qp_ex,
                                 .create_cq_ex = disabled_cq_ex,
                                 .create_srq_ex = disabled_srq_ex,
                                 .get_srq_num = disabled_srq_num,
                                 .open_xrcd = disabled_xrcd,
                                 .close_xrcd = disabled_close_xrcd,
                                 .open_qp = disabled_open_qp,
                                 .sz = v->sz,
                                 .context = v->context};
    dead.context.ops = (struct ibv_context_ops){.alloc_mw = disabled_mw,
                                                .bind_mw = disabled_bind,
                                                .dealloc_mw = disabled_dealloc_mw,
                                                .poll_cq = disabled_poll,
                                                .req_notify_cq = disabled_notify,
                                                .post_srq_recv = disabled_srq_recv,
                                                .post_send = disabled_send,
                                                .post_recv = disabled_recv};
    *v = dead;
}
