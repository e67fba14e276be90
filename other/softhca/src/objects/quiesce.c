/* quiesce.c - waits until initiators that may use what a table held before a change have left.
 *
 * Called by threads that deregister memory, resize a completion queue or reset a queue pair.
 */
#include "other/softhca/src/objects/qp.h"

/* Waits until no initiator that was inside on entry is inside still. Full fence: an initiator that
 * enters later sees the caller's earlier stores (respond_enter_target). */
void shca_qp_quiesce(struct shca_qp *qp)
{
    if (qp->base.qp_type == IBV_QPT_UD) {
        shca_ud_access_quiesce();
        return;
    }
    uint32_t active = atomic_fetch_add(&qp->s->active, 0); /* a full fence and a load */
    for (int spins = 0; active & 1 && atomic_load(&qp->s->active) == active; spins++) {
        if (spins > 64) sched_yield();
        if (qp->target.remote) continue; /* the wire thread is inside, which cannot die alone */
        if (!qp->target.peer || (spins % 256 == 255 && shca_peer_gone(qp->target.peer))) return;
    }
}

/* Waits until no initiator that was inside a QP of this process on entry is inside still; shca.lock
 * held. */
void shca_quiesce(void)
{
    for (struct shca_qp *qp = shca.qps; qp; qp = qp->next)
        if (qp->base.qp_type != IBV_QPT_UD) shca_qp_quiesce(qp);
    shca_ud_access_quiesce();
}
