/* delayed_completions.c - faults that hold completions back or overflow completion queues.
 *
 * A poll takes completions from the ring as usual; those to be held go into a list of the CQ and
 * are delivered later, always in the order of their queue. Until then their WRs count as not
 * completed. The worker thread wakes a program that sleeps while completions are held.
 */
#include <stdlib.h>
#include <string.h>

#include "other/base/clock.h"
#include "other/softhca/src/faults/inject.h"
#include "other/softhca/src/segment/upward.h"

struct held {
    struct shm_cqe e;
    uint32_t rule; /* the fault that holds it; SHCA_FAULT_RULES: held only behind an earlier one */
    uint64_t polls, time; /* when to deliver it; 0: not a condition */
};

struct shca_delayed {
    uint32_t ordinal; /* the first CQ of the process is 1 */
    struct shca_fault_count overflow[SHCA_FAULT_RULES];
    uint64_t empty_polls;
    bool woken; /* the program was woken: empty polls need not be awaited */
    uint32_t n, room;
    struct held *held; /* oldest first */
};

static _Atomic int pending; /* CQs with a channel and held completions */

int shca_delayed_cq(struct shca_cq *cq)
{
    static _Atomic uint32_t made;
    if (!shca_injecting()) return 0;
    cq->delayed = calloc(1, sizeof *cq->delayed);
    if (!cq->delayed) return ENOMEM;
    cq->delayed->ordinal = ++made;
    return 0;
}

void shca_delayed_free(struct shca_cq *cq)
{
    if (!cq->delayed) return;
    if (cq->delayed->n && cq->base.channel) pending--;
    free(cq->delayed->held);
    free(cq->delayed);
}

static bool delayed_same_queue(const struct shm_cqe *a, const struct shm_cqe *b)
{
    return a->qpn == b->qpn && a->side == b->side;
}

static uint64_t delayed_op_of(const struct shm_cqe *e)
{
    if (e->side == SHCA_SIDE_RECV) return SHCA_OP_RECV;
    switch (e->opcode) {
    case IBV_WC_RDMA_WRITE:
        return SHCA_OP_WRITE;
    case IBV_WC_RDMA_READ:
        return SHCA_OP_READ;
    case IBV_WC_COMP_SWAP:
    case IBV_WC_FETCH_ADD:
        return SHCA_OP_ATOMIC;
    default:
        return SHCA_OP_SEND;
    }
}

static uint32_t delayed_held_of_queue(const struct shca_delayed *h, const struct shm_cqe *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->n; i++) n += delayed_same_queue(&h->held[i].e, e);
    return n;
}

static void delayed_append(struct shca_cq *cq, const struct held *new)
{
    struct shca_delayed *h = cq->delayed;
    if (h->n == h->room) {
        uint32_t room = h->room ? 2 * h->room : 64;
        struct held *more = realloc(h->held, room * sizeof *more);
        if (!more) abort(); /* no way to report it */
        h->held = more;
        h->room = room;
    }
    h->held[h->n++] = *new;
    if (h->n > 1 || !cq->base.channel) return;
    pending++;
    shca_worker_wake(); /* the program may sleep on the channel */
}

/* Releases all completions of the queue of E once GATHER of them are held. */
static void delayed_gathered(struct shca_delayed *h, const struct shca_fault_rule *r,
                             const struct shm_cqe *e)
{
    if (!r->gather || delayed_held_of_queue(h, e) < r->gather) return;
    for (uint32_t i = 0; i < h->n; i++)
        if (delayed_same_queue(&h->held[i].e, e)) h->held[i].rule = SHCA_FAULT_RULES;
}

/* True when the completion is held back. */
static bool delayed_hold(struct shca_cq *cq, const struct shm_cqe *e)
{
    struct shca_delayed *h = cq->delayed;
    struct shca_qp *qp = shca_qp_numbered(e->qpn);
    const struct shca_faults *all = shca_inject_faults();
    const struct shca_fault_rule *r = NULL;
    for (uint32_t i = 0; i < all->n; i++) {
        const struct shca_fault_rule *x = &all->rule[i];
        if (x->what == SHCA_HOLD && shca_fault_names(&x->cq, h->ordinal) &&
            shca_inject_matches(x, qp, delayed_op_of(e)) &&
            shca_inject_due(x, e->side == SHCA_SIDE_RECV ? "receives of qp" : "qp",
                            qp->faults->ordinal, &qp->faults->completion[e->side][i]))
            r = x;
    }
    if (!r && !delayed_held_of_queue(h, e)) return false;
    struct held new = {.e = *e, .rule = SHCA_FAULT_RULES};
    if (r) {
        uint64_t polls = r->polls ? r->polls : r->us ? 0 : 1000;
        new.rule = r - all->rule;
        new.polls = polls ? h->empty_polls + polls : 0;
        new.time = gasneti_clock_ns() + (r->us ? r->us * 1000 : SHCA_DELAY_LIMIT_S * 1000000000ull);
    }
    delayed_append(cq, &new);
    if (r) delayed_gathered(h, r, e);
    return true;
}

static bool delayed_is_due(const struct shca_delayed *h, const struct held *x, uint64_t now)
{
    return x->rule == SHCA_FAULT_RULES || now >= x->time ||
           (x->polls && (h->woken || h->empty_polls >= x->polls));
}

/* Delivers completions that are due to WC. A completion behind a held one of the same queue stays
 * held. */
static int delayed_deliver(struct shca_cq *cq, int num, struct ibv_wc *wc)
{
    struct shca_delayed *h = cq->delayed;
    uint64_t now = h->n ? gasneti_clock_ns() : 0;
    uint32_t kept = 0;
    int n = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        struct held *x = &h->held[i];
        bool go = n < num && delayed_is_due(h, x, now);
        for (uint32_t j = 0; go && j < kept; j++) go = !delayed_same_queue(&h->held[j].e, &x->e);
        if (go)
            shca_cq_to_wc(&x->e, &wc[n++]);
        else if (kept++ != i)
            h->held[kept - 1] = *x;
    }
    if (h->n && !kept && cq->base.channel) pending--;
    h->n = kept;
    if (!kept) h->woken = false;
    return n;
}

/* True when the CQ overflows at this completion, which is lost with all later ones. */
static bool delayed_overflows(struct shca_cq *cq)
{
    const struct shca_faults *all = shca_inject_faults();
    struct shm_cqe lost;
    bool due = false;
    for (uint32_t i = 0; i < all->n; i++) {
        const struct shca_fault_rule *r = &all->rule[i];
        if (r->what == SHCA_OVERFLOW && shca_inject_applies(r) &&
            shca_fault_names(&r->cq, cq->delayed->ordinal))
            due = shca_inject_due(r, "cq", cq->delayed->ordinal, &cq->delayed->overflow[i]) || due;
    }
    if (!due) return false;
    cq->s->overflow = 1;
    while (shca_cq_take(cq, &lost)) continue;
    shca_worker_wake();
    return true;
}

int shca_delayed_poll(struct ibv_cq *base, int num, struct ibv_wc *wc)
{
    struct shca_cq *cq = shca_cq(base);
    struct shm_cqe e;
    shca_lock(&cq->lock);
    int n = delayed_deliver(cq, num, wc);
    while (n < num && shca_cq_take(cq, &e)) {
        if (delayed_overflows(cq)) break;
        if (!delayed_hold(cq, &e)) shca_cq_to_wc(&e, &wc[n++]);
    }
    if (n < num) n += delayed_deliver(cq, num - n, wc + n); /* GATHER may have been reached */
    if (n == 0) cq->delayed->empty_polls++;
    shca_unlock(&cq->lock);
    if (n == 0)
        n = shca_cq_poll_empty(cq);
    else
        atomic_store_explicit(&cq->empty, 0, memory_order_relaxed);
    shca_inject_polled(n == 0);
    return n;
}

/* The QP, or SRQ Q, is being destroyed. Lock held. */
void shca_delayed_forget(struct shca_cq *cq, uint32_t qpn, const struct shca_srq *q)
{
    struct shca_delayed *h = cq->delayed;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->n; i++)
        if (!shca_cqe_of(&h->held[i].e, qpn, q))
            h->held[kept++] = h->held[i];
        else
            shca_cq_drop(&h->held[i].e);
    if (h->n && !kept && cq->base.channel) pending--;
    h->n = kept;
}

uint32_t shca_delayed_entry(const struct shca_cq *cq)
{
    return cq->delayed ? cq->delayed->n : 0;
}

const struct shm_cqe *shca_delayed_at(const struct shca_cq *cq, uint32_t i)
{
    return &cq->delayed->held[i].e;
}

void shca_delayed_in_child(void)
{
    pending = 0;
}

bool shca_delayed_pending(void)
{
    return pending > 0;
}

/* Notifies the channel when a held completion is due. */
static void delayed_attend_cq(struct shca_cq *cq)
{
    struct shca_delayed *h = cq->delayed;
    uint64_t now = gasneti_clock_ns();
    bool wake = false;
    shca_lock(&cq->lock);
    if (h->n && shca_inject_asleep(now)) h->woken = true;
    for (uint32_t i = 0; i < h->n; i++) wake = wake || delayed_is_due(h, &h->held[i], now);
    shca_unlock(&cq->lock);
    if (wake) shca_cq_notify(&shca.me, cq->s, true);
}

void shca_delayed_attend(void)
{
    pthread_mutex_lock(&shca.lock);
    for (int i = 0; i < SHCA_CQS; i++)
        if (shca.cq[i] && shca.cq[i]->delayed && shca.cq[i]->base.channel)
            delayed_attend_cq(shca.cq[i]);
    pthread_mutex_unlock(&shca.lock);
}
