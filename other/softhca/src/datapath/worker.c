/* worker.c - the worker thread: everything that must happen while the program sleeps.
 *
 * The thread sleeps on the doorbell. It retries sends that wait for a receive or for a peer, and
 * ends them with an error at their deadline. It moves QPs to ERR when an initiator reported a
 * fault, flushes receive queues, and recovers what a dead peer left unfinished. It may wait for
 * peers.
 */
#include <time.h>
#include <unistd.h>

#include "other/base/futex.h"
#include "other/softhca/src/datapath/datapath.h"
#include "other/softhca/src/objects/event.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/segment/upward.h"

static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shca_qp *waiters; /* QPs with waiting WRs */

/* Send lock of QP held. */
void shca_worker_wait_for(struct shca_qp *qp)
{
    if (qp->waiting) return;
    pthread_mutex_lock(&wait_lock);
    qp->waiting = true;
    qp->wait_next = waiters;
    waiters = qp;
    shca.waiting++;
    pthread_mutex_unlock(&wait_lock);
    shca_worker_wake();
}

static void worker_unlink_waiter(struct shca_qp *qp)
{
    for (struct shca_qp **at = &waiters; *at; at = &(*at)->wait_next)
        if (*at == qp) {
            *at = qp->wait_next;
            shca.waiting--;
            break;
        }
    qp->waiting = false;
}

void shca_worker_drop(struct shca_qp *qp)
{
    pthread_mutex_lock(&wait_lock);
    if (qp->waiting) worker_unlink_waiter(qp);
    pthread_mutex_unlock(&wait_lock);
}

/* Retries every waiting QP once; wait_lock held. A QP whose send lock is taken is skipped: the
 * holder of the lock executes its WRs. */
static void worker_resume_all(void)
{
    for (struct shca_qp *qp = waiters, *next; qp; qp = next) {
        next = qp->wait_next;
        if (!shca_trylock(&qp->sq)) continue;
        shca_send_resume(qp);
        if (qp->sq_exec == qp->sq_head) worker_unlink_waiter(qp);
        shca_unlock(&qp->sq);
    }
}

/* Retries waiting sends. ibv_poll_cq() calls this too, so it does not wait for the lock: the thread
 * that holds the lock does the same work. */
void shca_worker_progress(void)
{
    if (pthread_mutex_trylock(&wait_lock)) return;
    worker_resume_all();
    pthread_mutex_unlock(&wait_lock);
}

void shca_worker_progress_now(void)
{
    pthread_mutex_lock(&wait_lock);
    worker_resume_all();
    pthread_mutex_unlock(&wait_lock);
}

static void worker_qp_event(struct shca_qp *qp, enum ibv_event_type type)
{
    struct ibv_async_event e = {.element.qp = &qp->base, .event_type = type};
    shca_raise(qp->base.context, &e);
}

/* True when the QP was not in ERR or RESET before. */
static bool worker_break_qp(struct shca_qp *qp)
{
    shca_lock(&qp->sq);
    bool whole = shca_state(qp) != IBV_QPS_RESET && shca_state(qp) != IBV_QPS_ERR;
    if (whole) shca_qp_to_error(qp);
    shca_unlock(&qp->sq);
    return whole;
}

static void worker_attend_qp(struct shca_qp *qp)
{
    uint32_t fault = qp->s->fault;
    if (fault && worker_break_qp(qp) && fault != SHCA_FAULT_QUIET) worker_qp_event(qp, fault - 1);
    uint32_t comm_est = 1;
    if (atomic_compare_exchange_strong(&qp->s->comm_est, &comm_est, 2))
        worker_qp_event(qp, IBV_EVENT_COMM_EST);
    if (shca_state(qp) != IBV_QPS_ERR) return;
    shca_recv_flush(qp);
    if (qp->base.srq && !qp->last_wqe_raised) {
        shca_qp_quiesce(qp); /* an initiator that is inside completes the receive that it took */
        qp->last_wqe_raised = true;
        worker_qp_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
    }
}

static void worker_cq_overflowed(struct shca_cq *cq)
{
    cq->overflow_raised = true;
    struct ibv_async_event e = {.element.cq = &cq->base, .event_type = IBV_EVENT_CQ_ERR};
    shca_raise(cq->base.context, &e);
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next) {
        if (qp->send_cq != cq && qp->recv_cq != cq) continue;
        if (worker_break_qp(qp)) worker_qp_event(qp, IBV_EVENT_QP_FATAL);
    }
}

static void worker_attend_cq(struct shca_cq *cq, bool sweep)
{
    if (cq->s->overflow && !cq->overflow_raised) worker_cq_overflowed(cq);
    if (atomic_exchange(&cq->s->ev_lost, 0)) {
        uint64_t one = 1;
        int fd = shca_channel_fd(cq->s->channel);
        if (fd >= 0 && write(fd, &one, sizeof one) < 0) return;
    }
    if (sweep && shca_cq_skip_dead(cq)) shca_cq_notify(&shca.me, cq->s, true);
}

static void worker_attend(void)
{
    bool sweep = atomic_exchange(&shca.sweep_due, false);
    pthread_mutex_lock(&shca.lock);
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next) worker_attend_qp(qp);
    for (int i = 0; i < SHCA_CQS; i++)
        if (shca.cq[i]) worker_attend_cq(shca.cq[i], sweep);
    for (struct shca_srq *q = shca.srqs; q; q = q->next) shca_srq_attend(q, sweep);
    /* Receives that a dead peer had claimed are posted again by now: they are flushed as well. */
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next)
        if (shca_state(qp) == IBV_QPS_ERR) shca_recv_flush(qp);
    pthread_mutex_unlock(&shca.lock);
}

/* The next sleep between retries, ns; 0 = until the doorbell. It grows, because the doorbell
 * normally wakes the thread. */
static long worker_next_sleep(long nap)
{
    if (shca_delayed_pending()) return 1000000;
    if (!shca.waiting) return 0;
    if (nap == 0) return 50000;
    return nap < 8000000 ? nap * 2 : nap;
}

/* Sleeps until the doorbell rings (true) or NAP ns have passed. */
static bool worker_sleep(long nap)
{
    _Atomic uint32_t *bell = &shca.me.h->doorbell;
    struct timespec t = {.tv_nsec = nap};
    if (atomic_exchange(bell, 0)) return true;
    gasneti_futex_sleep(bell, GASNETI_FUTEX_SHARED, 0, nap ? &t : NULL);
    return atomic_exchange(bell, 0);
}

static void *worker_main(void *unused)
{
    for (long nap = 0;;) {
        nap = worker_next_sleep(nap);
        if (worker_sleep(nap)) {
            nap = 0;
            worker_attend();
        }
        if (shca.waiting) shca_worker_progress();
        if (shca_delayed_pending()) shca_delayed_attend();
    }
    return NULL;
}

void shca_worker_in_child(void)
{
    pthread_mutex_init(&wait_lock, NULL);
    waiters = NULL;
}

int shca_worker_start(void)
{
    return shca_thread(worker_main);
}
