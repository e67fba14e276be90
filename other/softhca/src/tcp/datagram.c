/* datagram.c - datagrams to and from other hosts.
 *
 * A datagram is sent whole by the thread that executes its WR. While the socket has no room or
 * there is no connection yet, it waits in its send queue for a short time; then it is lost, as
 * datagrams may be.
 */
#include "other/base/clock.h"
#include "other/softhca/src/segment/upward.h"
#include "other/softhca/src/tcp/remote_process.h"

static const uint64_t unreachable_limit = 2000000000; /* ns; of a wait for a connection */

/* Without a connection to F: waits for one, or drops the datagram. */
static int datagram_wait_or_lose(struct shca_remote_process *f)
{
    uint64_t since = f->down_since, now = gasneti_clock_ns();
    bool late = since && now - since > unreachable_limit;
    f->wanted = now;
    if (f->wake == REMOTE_NEVER) shca_remote_process_kick(f);
    return late || f->refused ? IBV_WC_SUCCESS : SHCA_STALLED;
}

/* Sent or lost: a completion status; SHCA_STALLED: wait. Out lock held. */
static int datagram_send_now(struct shca_remote_process *f, struct iovec *iov, int n, size_t bytes)
{
    struct shca_conn *c = f->up;
    if (!c || c->broken) return datagram_wait_or_lose(f);
    if (c->blocked) return SHCA_STALLED;
    return shca_tcp_send(c, iov, n, bytes) ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

/* G begins with the 40 bytes before the payload. Send lock held. */
int shca_tcp_send_datagram(const struct shca_target *target, struct shca_destination destination,
                           const struct ibv_send_wr *wr, const struct shca_gather *g)
{
    struct wire_frame f = {.type = WIRE_REQUEST,
                           .flags = WIRE_FIRST,
                           .length = g->total,
                           .to = target->to,
                           .from = target->from,
                           .opcode = wr->opcode == IBV_WR_SEND_WITH_IMM ? WIRE_SEND_IMM : WIRE_SEND,
                           .service = WIRE_UD,
                           .dest_port = destination.port,
                           .pkey = target->pkey,
                           .imm = wr->imm_data,
                           .total = g->total,
                           .qkey = target->qkey,
                           .slid = target->route.slid,
                           .sl = target->route.sl,
                           .dlid_path_bits = target->route.dlid_path_bits};
    uint8_t head[WIRE_REQUEST_HEADER];
    struct iovec iov[SHCA_MAX_SGE + 2];
    if (target->sender_id == SHCA_NO_SENDER) return IBV_WC_SUCCESS;
    if (wr->send_flags & IBV_SEND_SOLICITED) f.send_flags |= WIRE_SOLICITED;
    if (target->grh) f.send_flags |= WIRE_GLOBAL;
    struct shca_remote_process *process =
        shca_remote_process_find(destination.host - 1, shm_qpn_slot(target->to));
    if (!process) return IBV_WC_SUCCESS;
    iov[0] = (struct iovec){head, wire_put(&f, head)};
    for (int i = 0; i < g->n; i++) iov[1 + i] = g->iov[i];
    shca_lock(&process->out);
    int status = datagram_send_now(process, iov, 1 + g->n, iov[0].iov_len + g->total);
    shca_unlock(&process->out);
    shca_remote_process_put(process);
    return status;
}

/* Executes a datagram that arrived. */
void shca_tcp_respond_datagram(const struct wire_frame *f, const uint8_t *payload)
{
    struct ibv_send_wr wr = {.opcode =
                                 f->opcode == WIRE_SEND_IMM ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
                             .imm_data = f->imm};
    struct shca_gather g = {.n = 1, .total = f->length};
    struct shca_target target = {.peer = shca_wire.outside,
                                 .owner = shca_wire.outside,
                                 .t = &shca_wire.outside->h->qp[shm_qpn_index(f->to)],
                                 .type = IBV_QPT_UD,
                                 .from = f->from,
                                 .source = f->from,
                                 .to = f->to,
                                 .sender_id = shm_datagram_sender(f->dest_port, f->pkey),
                                 .route = {f->slid, f->sl, f->dlid_path_bits},
                                 .qkey = f->qkey,
                                 .grh = f->send_flags & WIRE_GLOBAL};
    if (f->opcode > WIRE_SEND_IMM || shm_qpn_slot(f->to) != shca.slot) return;
    if (f->send_flags & WIRE_SOLICITED) wr.send_flags = IBV_SEND_SOLICITED;
    g.iov[0] = (struct iovec){(void *)payload, f->length};
    shca_respond(&target, &wr, &g);
}
