/* srq.c - one receive queue for all peers: creating it, taking arrivals, returning buffers.
 *
 * Called where net_ib.shared is set: at start-up, by the poll (reap_multi.c) and by net_release.
 *
 * Each device's queue holds the same number of buffers at all times: a completed receive is
 * replaced in the same call, by a spare buffer, or if none is left by the completed one itself
 * after its message was copied to ordinary memory.  A few spares (GASNET_AM_SPARES, and as many as
 * one poll takes) make copying rare.  srq_policy.h divides the buffers, so that the queue is never
 * empty: `replies` counts the Requests that this process may still send.
 */
#include "core/ib/srq.h"

#include <stdlib.h>

#include "core/ib/qp_table.h"
#include "core/params/params.h"
#include "core/report.h"

static struct {
    hca_srq_t queue[NET_IB_HCAS];
    uint32_t count;   /* buffers in each queue */
    uint32_t replies; /* buffers for Replies that no Request has reserved; under net_ib.recv_lock */
    net_ib_qp_table_t owners;
} shared;

hca_srq_t net_ib_shared_queue(uint32_t hca)
{
    return shared.queue[hca];
}

uint32_t net_ib_shared_buffers(void)
{
    return net_ib.shared ? shared.count * net_ib.hcas : 0;
}

/* --- start-up and end --- */

static void srq_post(uint32_t hca, net_recv_t *recv)
{
    if (NET_IB_HCAS > 1 && net_ib.hcas > 1) recv->post.sge.lkey = recv->region->lkey[hca];
    int error = hca_post_srq_recv(shared.queue[hca], &recv->post);
    if (error)
        gasneti_failed("%s: posting a receive buffer for all peers failed: %s; check the device "
                       "with ibv_devinfo and the system log",
                       net_ib_rails.hca[hca].name, strerror(error));
}

/* Creates a shared receive queue on each device; 0, or the error of the device that refuses. */
static int srq_make_queues(uint32_t buffers)
{
    for (uint32_t i = 0; i < net_ib.hcas; i++) {
        shared.queue[i] = hca_srq_create(net_ib_rails.hca[i].pd, buffers);
        if (shared.queue[i]) continue;
        const int error = errno;
        if (gasnetc_params.use_srq > 0)
            gasneti_fatal("%s: cannot create a shared receive queue of %u buffers: %s; lower "
                          "GASNET_RBUF_COUNT, or set GASNET_USE_SRQ=0%s",
                          net_ib_rails.hca[i].name, buffers, strerror(error),
                          net_ib_memlock_advice(error));
        return error;
    }
    return 0;
}

static void destroy_queues(void)
{
    for (uint32_t i = 0; i < NET_IB_HCAS; i++) {
        if (shared.queue[i]) hca_destroy(shared.queue[i]);
        shared.queue[i] = NULL;
    }
}

int net_ib_shared_open(const net_ib_recv_plan_t *plan)
{
    const int error = srq_make_queues(plan->buffers);
    if (error) {
        destroy_queues();
        return error;
    }
    const uint32_t spares = (uint32_t)gasnetc_params.am_spares + NET_IB_SHARED_IN_HAND;
    net_ib.shared = net_ib.indirect = true;
    shared.count = plan->buffers;
    shared.replies = plan->replies;
    net_ib.free_recvs = net_ib_recv_make(shared.count * net_ib.hcas + spares);
    for (uint32_t i = 0; i < net_ib.hcas; i++) {
        for (uint32_t n = 0; n < shared.count; n++) {
            net_recv_t *recv = net_ib.free_recvs;
            net_ib.free_recvs = recv->next;
            srq_post(i, recv);
        }
    }
    return 0;
}

void net_ib_shared_close(void)
{
    destroy_queues();
    net_ib_qp_table_free(&shared.owners);
    net_ib.shared = false;
}

void net_ib_shared_enter(const net_qp_t *qp)
{
    uint32_t key = net_ib_qp_table_key(qp->local_hca, qp->qp->qp_num);
    if (!net_ib_qp_table_enter(&shared.owners, key, qp->send_ring.peer))
        gasneti_fatal("out of memory while connecting to %s",
                      gasneti_rank_name(qp->send_ring.peer->rank));
}

bool net_ib_shared_reply_recv(void)
{
    gasneti_lock(&net_ib.recv_lock);
    bool available = shared.replies > 0;
    shared.replies -= available;
    gasneti_unlock(&net_ib.recv_lock);
    return available;
}

/* --- arrivals --- */

/* Takes at most `count` spares, as a list: the pool is locked once for all that a poll takes, and
 * once for all that it releases (IB-A4). */
static net_recv_t *take_spares(int count)
{
    gasneti_lock(&net_ib.recv_lock);
    net_recv_t *first = net_ib.free_recvs, **end = &first;
    while (count-- > 0 && *end) end = &(*end)->next;
    net_ib.free_recvs = *end;
    *end = NULL;
    gasneti_unlock(&net_ib.recv_lock);
    return first;
}

static void give_back(net_recv_t *first, uint32_t replies)
{
    net_recv_t **end = &first;
    while (*end) end = &(*end)->next;
    gasneti_lock(&net_ib.recv_lock);
    *end = net_ib.free_recvs;
    net_ib.free_recvs = first;
    shared.replies += replies;
    gasneti_unlock(&net_ib.recv_lock);
}

/* Takes a message in its buffer; posts a spare to the queue instead. */
static net_recv_t *srq_keep(uint32_t hca, net_recv_t *recv, net_recv_t **spares)
{
    net_recv_t *spare = *spares;
    *spares = spare->next;
    srq_post(hca, spare);
    return recv;
}

/* Takes a copy of a message; posts its buffer again. */
static net_recv_t *move(uint32_t hca, net_recv_t *recv)
{
    net_recv_t *copy = net_ib_recv_copy(recv);
    srq_post(hca, recv);
    return copy;
}

/* Takes the message of one completion; NULL if it has none. */
static net_recv_t *take_one(uint32_t hca, const hca_wc_t *wc, net_recv_t **spares)
{
    const hca_done_t done = hca_done(wc);
    net_recv_t *recv = (net_recv_t *)(uintptr_t)done.id;
    net_peer_t *peer =
        net_ib_qp_table_find(&shared.owners, net_ib_qp_table_key(hca, done.qp_number));
    if (!peer)
        gasneti_fatal("%s: a message has arrived on queue pair %u, which is no peer's",
                      net_ib_rails.hca[hca].name, done.qp_number);
    if (!done.ok) {
        net_ib_recv_failed(peer, wc);
        srq_post(hca, recv);
        return NULL;
    }
    recv->message.peer = peer;
    recv->message.length = done.length;
    recv->message.system = done.has_imm && net_ib_decode_imm(peer, done.imm);
    recv->message.mark = NET_IB_SETTLED;
    if (net_ib.choosing) net_ib_count_arrival(&recv->message);
    return *spares ? srq_keep(hca, recv, spares) : move(hca, recv);
}

static unsigned srq_take(uint32_t hca, net_message_t **messages, unsigned budget, unsigned *systems)
{
    hca_wc_t wc[NET_IB_BATCH];
    int n =
        net_ib_poll(net_ib.recv_cq[hca], budget < NET_IB_BATCH ? (int)budget : NET_IB_BATCH, wc);
    if (n <= 0) return 0;
    unsigned taken = 0;
    net_recv_t *spares = take_spares(n);
    for (int i = 0; i < n; i++) {
        net_recv_t *recv = take_one(hca, &wc[i], &spares);
        if (!recv) continue;
        *systems += recv->message.system;
        messages[taken++] = &recv->message;
    }
    if (spares) give_back(spares, 0);
    return taken;
}

unsigned net_ib_shared_arrivals(uint32_t first, net_message_t **messages, unsigned budget,
                                unsigned *systems)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < net_ib.hcas && n < budget; i++)
        n += srq_take((first + i) % net_ib.hcas, messages + n, budget - n, systems);
    return n;
}

/* --- returning buffers --- */

/* True for a message that net_refill has not marked: a Reply, whose buffer another Request may
 * reserve. (Or it is a Request that is dropped because the job ends; the count is then not used any
 * more.)
 */
static bool is_reply(const net_recv_t *recv)
{
    return !(recv->message.mark & NET_IB_REQUEST);
}

void net_ib_release_settled(net_recv_t *recv, net_spare_t *spare)
{
    if (recv->moved) {
        if (is_reply(recv)) give_back(NULL, 1);
        free(recv);
        return;
    }
    recv->next = spare->recv;
    spare->recv = recv;
}

void net_ib_shared_back(net_recv_t *released)
{
    uint32_t replies = 0;
    for (const net_recv_t *recv = released; recv; recv = recv->next) replies += is_reply(recv);
    give_back(released, replies);
}
