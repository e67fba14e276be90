/* short_write.c - ibv_post_send(), and the short way of a plain WRITE.
 *
 * A WRITE of one piece on a reliable connection, to memory that is mapped here, needs no other
 * steps than these: nothing can wait, and what is not as usual is left to send.c before anything
 * has been done.
 */
#include <string.h>

#include "other/softhca/src/datapath/respond.h"
#include "other/softhca/src/objects/done.h"

/* True for a WRITE of one piece on a reliable connection on which nothing waits, and into which no
 * faults are injected; unless its target is known not to be mapped here. */
HOT bool short_is_plain(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (wr->num_sge != 1 || qp->target.unmapped == wr->wr.rdma.rkey) return false;
    const uint32_t length = wr->sg_list->length;
    const bool by_value = wr->send_flags & IBV_SEND_INLINE;
    return qp->plain && length - 1 < qp->max_message && !(by_value && length > qp->max_inline) &&
           qp->sq_exec == qp->sq_head && shca_state(qp) == IBV_QPS_RTS &&
           !shca_send_queue_full(qp) && qp->target.t && !shca_peer_dead(qp->target.peer);
}

static inline bool short_may_append(const struct shca_qp *qp)
{
    const uint32_t polled = atomic_load_explicit(&qp->sq_done, memory_order_relaxed);
    const uint32_t last = atomic_load_explicit(&qp->in_cq_ring, memory_order_relaxed);
    return (int32_t)(polled - last) >= 0 && shca_done_spare(qp);
}

enum { SHORT_MOST = 64 }; /* bytes of a WRITE that takes the shortest way */

/* Remembers the region, if all of it is mapped here. The caller has read the change counts in KNOWN
 * before the fields that they stand for. */
static void short_remember(struct shca_qp *qp, const struct shm_mr *mr, struct shca_known known)
{
    const struct shca_peer *p = qp->target.peer;
    const uint64_t in = mr->map - shm_arena_start();
    if (mr->length < SHORT_MOST) return;
    if (!p->self && in + mr->length > atomic_load_explicit(&p->arena_len, memory_order_acquire))
        return;
    known.here = p->self ? (char *)(uintptr_t)mr->va
                         : atomic_load_explicit(&p->arena, memory_order_acquire) + in;
    known.mr = mr;
    known.h = p->h;
    known.iova = mr->iova;
    known.inner = mr->length + 1;
    known.range = qp->small_range;
    qp->target.known = known;
}

/* The address in this process that the WR writes to; NULL if it is not mapped here, or the target
 * does not allow the WRITE. */
HOT void *short_target(struct shca_qp *qp, const struct ibv_send_wr *wr, uint32_t length)
{
    struct shca_target *target = &qp->target;
    const uint64_t addr = wr->wr.rdma.remote_addr;
    const uint32_t rkey = wr->wr.rdma.rkey;
    if (!respond_target_ready(target) || !(target->t->access & IBV_ACCESS_REMOTE_WRITE))
        return NULL;
    const struct shm_mr *mr =
        shca_mr_find(target->peer->h, rkey, target->t->pd, addr, length, IBV_ACCESS_REMOTE_WRITE);
    if (!mr) return NULL;
    void *to = respond_piece(target->peer, mr, addr, length).direct;
    if (!to) target->unmapped = rkey;
    return to;
}

/* The address that a small inlined WRITE writes to, by short_target(). More such WRITEs may follow,
 * so the region is remembered. The change counts are read before the fields that they stand for. */
static void *short_target_to_remember(struct shca_qp *qp, const struct ibv_send_wr *wr,
                                      uint32_t length)
{
    struct shca_target *target = &qp->target;
    const uint32_t index = (wr->wr.rdma.rkey >> 8) - 1;
    if (index >= SHCA_MRS) return NULL;
    const struct shm_mr *mr = &target->peer->h->mr[index];
    struct shca_known known = {
        .rkey = wr->wr.rdma.rkey,
        .t_changes = atomic_load_explicit(&target->t->changes, memory_order_acquire),
        .mr_changes = atomic_load_explicit(&mr->changes, memory_order_acquire)};
    void *to = short_target(qp, wr, length);
    if (to && qp->done_listed && short_may_append(qp)) short_remember(qp, mr, known);
    return to;
}

HOT void short_complete(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (!short_may_append(qp)) {
        shca_send_completion(qp, wr, qp->sq_head, IBV_WC_SUCCESS);
        return;
    }
    if (!qp->done_listed) shca_done_list(qp);
    shca_done_append(qp, wr->wr_id, qp->sq_head);
    if (qp->send_cq->base.channel) shca_done_notify(qp->send_cq);
    shca_wake_sleeper(&shca.me); /* wakes the poster too, which may be another thread */
}

/* Does what send_run_or_wait() does, for a plain WRITE to memory that is mapped here; false if it
 * is another WR, or one that fails: nothing is done then. */
HOT bool short_write(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    if (!short_is_plain(qp, wr)) return false;
    const struct ibv_sge *s = wr->sg_list;
    const char *from = (const char *)(uintptr_t)s->addr;
    if (!(wr->send_flags & IBV_SEND_INLINE)) {
        const struct shm_mr *mr = shca_mr_find(shca.h, s->lkey, qp->s->pd, s->addr, s->length, 0);
        if (!mr) return false;
        from = (const char *)(uintptr_t)(mr->va + (s->addr - mr->iova));
    }
    struct shca_target *target = &qp->target;
    respond_enter_target(target);
    void *to = wr->send_flags & IBV_SEND_INLINE && s->length - 8 < qp->small_range
                   ? short_target_to_remember(qp, wr, s->length)
                   : short_target(qp, wr, s->length);
    if (to) {
        shca_copy_in_order(to, from, s->length);
        target->t->bytes += s->length;
    }
    respond_leave_target(target);
    if (!to) return false;
    if (shca_is_signalled(qp, wr)) short_complete(qp, wr);
    qp->sq_exec = ++qp->sq_head;
    return true;
}

/* --- the shortest way, of a small inlined WRITE that goes where the last one went --- */

uint32_t shca_small_range(const struct shca_qp *qp)
{
    uint32_t most = SHORT_MOST;
    if (most > qp->max_inline) most = qp->max_inline;
    if (most > qp->max_message) most = qp->max_message;
    return most < 8 || !qp->plain ? 0 : most - 7;
}

/* Whether an inlined WRITE goes to whole words of the known region, and to which. */
HOT bool short_find(const struct shca_known *k, const struct ibv_send_wr *wr, uint64_t length,
                    char **to)
{
    const uint64_t in = wr->wr.rdma.remote_addr - k->iova;
    if ((uint32_t)length - 8 >= k->range || wr->wr.rdma.rkey != k->rkey || in >= k->inner - length)
        return false;
    *to = k->here + in;
    return ((length | (uintptr_t)*to) & 7) == 0;
}

/* Whether there is room, and the peer lives. */
HOT bool short_may_run(const struct shca_qp *qp)
{
    return qp->sq_head - atomic_load_explicit(&qp->sq_done, memory_order_acquire) < qp->sq_size &&
           !shca_is_dead(qp->target.known.h);
}

/* Word by word, so that the last byte is stored last. */
HOT void short_copy(char *to, const char *from, uint64_t length)
{
    uint64_t i = 0;
    do {
        uint64_t word;
        memcpy(&word, from + i, sizeof word);
        __atomic_store_n((uint64_t __attribute__((may_alias)) *)(to + i), word, __ATOMIC_RELEASE);
        i += 8;
    } while (i < length);
}

/* Whether the region and the target are those that were remembered. If not, the target may have
 * been reset, and what is known of its receives is of no use. */
HOT bool short_same(struct shca_target *target, struct shm_qp *t)
{
    const struct shca_known *k = &target->known;
    if (atomic_load_explicit(&t->changes, memory_order_acquire) == k->t_changes &&
        atomic_load_explicit(&k->mr->changes, memory_order_acquire) == k->mr_changes)
        return true;
    target->prod = t->rq_cons;
    return false;
}

/* Does what short_write() does; false if the WR is another one, or if something has changed. Few
 * values are kept, so that registers need not be saved. */
HOT bool short_write_again(struct shca_qp *qp, const struct ibv_send_wr *wr)
{
    /* The fields are not tested in their order: a compiler loads two adjacent ones at once, and
     * such a load waits until the program's stores of each have left the processor's store
     * buffer. */
    if (wr->opcode != IBV_WR_RDMA_WRITE || !(wr->send_flags & IBV_SEND_INLINE) || wr->num_sge != 1)
        return false;
    struct shca_target *target = &qp->target;
    const uint64_t length = wr->sg_list->length;
    char *to;
    if (!short_find(&target->known, wr, length, &to) || !short_may_run(qp)) return false;
    struct shm_qp *t = target->t;
    atomic_exchange(&t->active, target->active + 1); /* as in respond_enter_target() */
    const bool same = short_same(target, t);
    if (same) {
        short_copy(to, (const char *)(uintptr_t)wr->sg_list->addr, length);
        t->bytes += length;
    }
    target->active += 2;
    atomic_store_explicit(&t->active, target->active, memory_order_release);
    if (!same) return false;
    if (shca_is_signalled(qp, wr)) shca_done_append(qp, wr->wr_id, qp->sq_head);
    qp->sq_exec = ++qp->sq_head;
    return true;
}

/* --- posting --- */

/* Send lock held; releases it. */
static int short_post(struct shca_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    do {
        if (wr->opcode != IBV_WR_RDMA_WRITE || !short_write(qp, wr))
            return shca_send_rest(qp, wr, bad);
        wr = wr->next;
    } while (wr);
    shca_unlock(&qp->sq);
    return 0;
}

/* noinline, as short_go_on: without both, "WRITE of 8 bytes" of tests/cost.c is 7 % more. */
static __attribute__((noinline)) int short_wait(struct shca_qp *qp, struct ibv_send_wr *wr,
                                                struct ibv_send_wr **bad)
{
    shca_lock(&qp->sq);
    return wr ? short_post(qp, wr, bad) : shca_send_rest(qp, wr, bad);
}

/* After WR took the shortest way: what the shortest way leaves out. */
static __attribute__((noinline)) int short_go_on(struct shca_qp *qp, struct ibv_send_wr *wr,
                                                 struct ibv_send_wr **bad)
{
    if (shca_is_signalled(qp, wr)) shca_cq_notify(&shca.me, qp->send_cq->s, false);
    shca_wake_sleeper(qp->target.owner);
    shca_wake_sleeper(&shca.me);
    if (wr->next) return short_post(qp, wr->next, bad);
    shca_unlock(&qp->sq);
    return 0;
}

/* All calls are in tail position: the shortest way then saves few registers. */
int shca_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct shca_qp *qp = shca_qp(base);
    if (!shca_trylock(&qp->sq)) return short_wait(qp, wr, bad);
    if (!wr) return shca_send_rest(qp, wr, bad);
    if (!short_write_again(qp, wr)) return short_post(qp, wr, bad);
    atomic_signal_fence(memory_order_seq_cst); /* as in shca_wake_sleeper() */
    if (wr->next || shca_cq_armed(qp->send_cq) || shca_sleeps(qp->target.known.h) ||
        shca_sleeps(shca.me.h))
        return short_go_on(qp, wr, bad);
    shca_unlock(&qp->sq);
    return 0;
}
