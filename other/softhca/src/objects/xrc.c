/* xrc.c - extended reliable connections: domains, shared queues in them, and queue pairs opened by
 * number.
 *
 * A domain is an identifier that queue pairs and shared queues carry. One made from a file is the
 * same in all processes of a host that open the file, one made without is private to this process.
 * An XRC target QP has no queues of its own: each message names a shared queue, perhaps of another
 * process, whose protection domain, receives and completion queue are used (respond.h).
 */
#include "other/softhca/src/objects/xrc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "other/softhca/src/objects/done.h"

struct shca_xrcd {
    struct ibv_xrcd base;
    uint64_t id;
    _Atomic int users;
    struct shca_xrcd *next;
};

static struct shca_xrcd *domains; /* under shca.lock */

void shca_xrc_in_child(void)
{
    domains = NULL;
}

static uint64_t xrc_id_of_file(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0) return 0;
    return (1ull << 63) | (((uint64_t)st.st_dev * 0x9e3779b97f4a7c15ull) ^ st.st_ino);
}

/* O_EXCL is checked within this process only: another process may have opened the domain too. */
static int xrc_check_open(uint64_t id, int fd, int oflag)
{
    bool exists = false;
    if (fd < 0) return oflag & O_CREAT ? 0 : EINVAL;
    if (!id) return EBADF;
    for (struct shca_xrcd *x = domains; x; x = x->next) exists = exists || x->id == id;
    return exists && oflag & O_CREAT && oflag & O_EXCL ? EEXIST : 0;
}

struct ibv_xrcd *shca_open_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *a)
{
    static uint64_t next;
    uint32_t both = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    if (a->comp_mask != both) {
        errno = EINVAL;
        return NULL;
    }
    struct shca_xrcd *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->base.context = c;
    pthread_mutex_lock(&shca.lock);
    x->id = a->fd < 0 ? (uint64_t)shca.slot << 32 | ++next : xrc_id_of_file(a->fd);
    int error = xrc_check_open(x->id, a->fd, a->oflags);
    if (!error) {
        x->next = domains;
        domains = x;
    }
    pthread_mutex_unlock(&shca.lock);
    if (!error) return &x->base;
    free(x);
    errno = error;
    return NULL;
}

int shca_close_xrcd(struct ibv_xrcd *base)
{
    struct shca_xrcd *x = (struct shca_xrcd *)base;
    if (x->users) return EBUSY;
    pthread_mutex_lock(&shca.lock);
    struct shca_xrcd **at = &domains;
    while (*at != x) at = &(*at)->next;
    *at = x->next;
    pthread_mutex_unlock(&shca.lock);
    free(x);
    return 0;
}

uint64_t shca_xrcd_use(struct ibv_xrcd *base, int n)
{
    struct shca_xrcd *x = (struct shca_xrcd *)base;
    x->users += n;
    return x->id;
}

struct ibv_srq *shca_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *a)
{
    bool xrc = a->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && a->srq_type == IBV_SRQT_XRC;
    uint32_t needs =
        IBV_SRQ_INIT_ATTR_PD | (xrc ? IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ : 0);
    bool basic = !(a->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || a->srq_type == IBV_SRQT_BASIC;
    int error = !xrc && !basic                                           ? EOPNOTSUPP
                : (a->comp_mask & needs) != needs || a->pd->context != c ? EINVAL
                : xrc && (a->xrcd->context != c || a->cq->context != c)  ? EINVAL
                                                                         : 0;
    if (error) {
        errno = error;
        return NULL;
    }
    struct ibv_srq_init_attr plain = {.srq_context = a->srq_context, .attr = a->attr};
    struct ibv_srq *base = shca_create_srq(a->pd, &plain);
    if (!base) return NULL;
    a->attr = plain.attr;
    if (!xrc) return base;
    struct shca_srq *q = shca_srq(base);
    q->type = IBV_SRQT_XRC;
    q->xrcd = a->xrcd;
    q->cq = a->cq;
    q->srq_num = shca.slot << 12 | q->index;
    q->s->cq = shca_cq(a->cq)->index;
    shca_cq(a->cq)->users++;
    pthread_mutex_lock(&shca.lock);
    shca_done_reserve(shca_cq(a->cq), (int32_t)q->size);
    pthread_mutex_unlock(&shca.lock);
    q->s->xrcd = shca_xrcd_use(a->xrcd, 1); /* initiators can find the queue from here on */
    return base;
}

/* The queue is being destroyed: initiators stop finding it, and its completions are dropped. */
void shca_leave_xrcd(struct shca_srq *q)
{
    if (q->type != IBV_SRQT_XRC) return;
    atomic_store(&q->s->xrcd, 0);
    pthread_mutex_lock(&shca.lock);
    shca_quiesce();
    pthread_mutex_unlock(&shca.lock);
    shca_cq_forget(shca_cq(q->cq), 0, q);
    shca_cq(q->cq)->users--;
    atomic_fetch_add(&shca_cq(q->cq)->spare, (int32_t)q->size);
    shca_xrcd_use(q->xrcd, -1);
}

int shca_get_srq_num(struct ibv_srq *base, uint32_t *number)
{
    struct shca_srq *q = shca_srq(base);
    if (q->type != IBV_SRQT_XRC) return EINVAL;
    *number = q->srq_num;
    return 0;
}

/* A target of this process: the same object, which takes one more ibv_destroy_qp(). */
static struct shca_qp *xrc_open_local(uint32_t number, uint64_t domain)
{
    pthread_mutex_lock(&shca.lock);
    struct shca_qp *qp = shca_qp_numbered(number);
    if (qp && (qp->base.qp_num != number || qp->base.qp_type != IBV_QPT_XRC_RECV ||
               qp->s->xrcd != domain))
        qp = NULL;
    if (qp) qp->opened++;
    pthread_mutex_unlock(&shca.lock);
    return qp;
}

/* A target of another process: the object here can only be destroyed. */
static struct shca_qp *xrc_open_foreign(struct ibv_context *c, uint32_t number, uint64_t domain)
{
    struct shca_peer *p = shca_peer_get(SHCA_HERE, shm_qpn_slot(number));
    struct shm_qp *s = p && shca_peer_attach(p) ? &p->h->qp[shm_qpn_index(number)] : NULL;
    bool found = s && s->type == IBV_QPT_XRC_RECV && s->xrcd == domain;
    struct shca_qp *qp = found ? calloc(1, sizeof *qp) : NULL;
    if (!qp) {
        shca_peer_put(p);
        return NULL;
    }
    qp->foreign = p;
    qp->s = s;
    qp->base.context = c;
    qp->base.qp_num = number;
    qp->base.qp_type = IBV_QPT_XRC_RECV;
    return qp;
}

struct ibv_qp *shca_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *a)
{
    uint32_t needs = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    if ((a->comp_mask & needs) != needs || a->qp_type != IBV_QPT_XRC_RECV) {
        errno = EINVAL;
        return NULL;
    }
    uint64_t domain = shca_xrcd_use(a->xrcd, 0);
    struct shca_qp *qp = shm_qpn_slot(a->qp_num) == shca.slot
                             ? xrc_open_local(a->qp_num, domain)
                             : xrc_open_foreign(c, a->qp_num, domain);
    if (!qp) {
        errno = EINVAL;
        return NULL;
    }
    if (a->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT && qp->foreign) qp->base.qp_context = a->qp_context;
    return &qp->base;
}

/* True when QP was a handle or one of several openings, and is closed now. */
bool shca_close_qp(struct shca_qp *qp)
{
    if (qp->foreign) {
        shca_peer_put(qp->foreign);
        free(qp);
        return true;
    }
    pthread_mutex_lock(&shca.lock);
    bool others = qp->opened > 0;
    if (others) qp->opened--;
    pthread_mutex_unlock(&shca.lock);
    return others;
}
