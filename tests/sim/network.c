/* network.c - simulated queue pairs: the InfiniBand network as lanes of the simulator.
 *
 * Bytes that were not inlined are read when they arrive, not when they are posted, as a device may;
 * freed memory is overwritten. A message needs a receive buffer that is posted.
 */
#include <stdlib.h>
#include <string.h>

#include "core/am/am_wire.h"
#include "tests/sim/rings.h"

/* A send on its way; afterwards, its completion. */
typedef struct transfer {
    struct transfer *next;
    net_peer_t *peer; /* of the sender */
    net_qp_t *qp;
    const void *src;
    uint64_t dst;
    size_t length;
    gasnetc_sent_t sent;
    bool put;
    void *into;    /* of a get */
    sim_aim_t aim; /* of a message */
} transfer_t;

/* A message that arrived. */
typedef struct recv {
    net_message_t message; /* first; peer: the receiver's record of the sender */
    struct recv *next;
    gasnetc_am_header_t header; /* the header as it was received */
    bool moved, answered;
    sim_aim_t aim;
    _Alignas(8) char bytes[];
} recv_t;

/* The state of a node's device. */
typedef struct nic {
    transfer_t *done, **done_end;
    recv_t *arrived, **arrived_end;
    uint32_t released; /* messages released in the present poll, for which a hidden Reply may be
                          due */
    uint32_t in_rings; /* messages in the node's rings, not taken */
    uint32_t turn;     /* the ring to look at first */
    uint32_t free;     /* receive buffers, unposted; if peers share: room for Replies */
    uint32_t posted;   /* receive buffers that all peers share */
    recv_t *handling;
    bool looked;   /* arrivals were looked at since the last reap */
    unsigned idle; /* empty looks in a row */
} nic_t;

/* Empty looks in a row, before a node is taken to wait: calls that only try look, too.
 */
enum { SYSTEM_BUFFERS = 3, POLITE = 4 };
static nic_t nics[SIM_NODES];
static net_peer_t *touched[64];
static unsigned touches;
static uint64_t pending; /* sends not reaped, and messages not done with */
struct sim_job_sent sim_job_sent;

void sim_net_begin(void)
{
    for (uint32_t i = 0; i < sim_the_job.nodes; i++) {
        nics[i] = (nic_t){.free = sim_the_job.reply_buffers, .posted = sim_the_job.shared};
        if (!sim_the_job.shared) nics[i].free += sim_the_job.spares;
        nics[i].done_end = &nics[i].done;
        nics[i].arrived_end = &nics[i].arrived;
    }
    touches = 0;
    pending = 0;
    sim_job_sent = (struct sim_job_sent){0};
    sim_rings_begin();
}

static net_peer_t *record(uint32_t node, uint32_t peer)
{
    return &sim_job_peer(node, peer)->net;
}

net_peer_t *sim_net_mirror(const net_peer_t *peer)
{
    return record(peer->rank, peer->owner);
}

void sim_net_introduce(net_peer_t *peer)
{
    peer->posted = sim_the_job.credits;
    net_qp_t **link = &peer->next_qp;
    for (uint32_t i = 0; i < sim_the_job.qps; i++) {
        *link = sim_alloc(sizeof **link);
        **link = (net_qp_t){.number = i};
        link = &(*link)->next;
    }
    *link = peer->next_qp;
    peer->am = peer->next_qp;
    for (uint32_t i = (peer->owner + peer->rank) % sim_the_job.qps; i > 0; i--)
        peer->am = peer->am->next;
}

/* --- the invariant of credits.h --- */

/* Without slack a Request counts until its Reply leaves, hidden or not. */
static bool one_each(const net_peer_t *peer)
{
    return gasnetc_credits_one_each(&sim_job_peer(peer->owner, peer->rank)->credits);
}

/* Of Requests from `peer`'s owner to `peer`. */
static void look_one_way(const net_peer_t *peer)
{
    const net_peer_t *back = sim_net_mirror(peer);
    const gasnetc_credits_t *mine = &sim_job_peer(peer->owner, peer->rank)->credits;
    const gasnetc_credits_t *theirs = &sim_job_peer(peer->rank, peer->owner)->credits;
    int all = mine->available + peer->requests + theirs->banked + back->credits;
    if (all != sim_the_job.credits) {
        sim_concerns(peer->rank);
        sim_fail(peer->owner,
                 "M is %d, but of its credits for node %u there are %d: %d available, %d out, %d "
                 "banked there, %d on the way back",
                 sim_the_job.credits, peer->rank, all, mine->available, peer->requests,
                 theirs->banked, back->credits);
    }
    sim_check(mine->surplus <= sim_the_job.credits, peer->owner,
              "%d surplus buffers for Replies of node %u", mine->surplus, peer->rank);
}

void sim_net_look(net_peer_t *peer)
{
    look_one_way(peer);
    look_one_way(sim_net_mirror(peer));
}

/* Pairs whose credits have moved are looked at when the engine has come to rest. */
static void touch(net_peer_t *peer)
{
    if (peer->touched) return;
    if (touches == sizeof touched / sizeof *touched) return;
    peer->touched = true;
    touched[touches++] = peer;
}

static void look_at_touched(void)
{
    while (touches > 0) {
        net_peer_t *peer = touched[--touches];
        peer->touched = false;
        sim_net_look(peer);
    }
}

bool sim_net_at_rest(void)
{
    return pending == 0;
}

/* Counts down what the job waits for; at 0 all nodes may look whether all is done. */
static void settle(void)
{
    if (--pending == 0) sim_job_wake_all();
}

/* --- sending --- */

static void complete(const sim_message_t *m)
{
    transfer_t *t = m->data;
    nic_t *nic = &nics[m->to];
    if (t->into) memcpy(t->into, t + 1, t->length);
    t->next = NULL;
    *nic->done_end = t;
    nic->done_end = &t->next;
    sim_wake(m->to);
}

static void arrive_put(const transfer_t *t)
{
    memcpy((void *)(uintptr_t)t->dst, t->src, t->length);
    sim_note(t->peer->rank, "gets the bytes of a put from node %u", t->peer->owner);
}

static const char *kind(const gasnetc_am_header_t *header)
{
    if (header->flags & GASNETC_AM_HIDDEN) return "hidden Reply";
    return header->head >> 2 & 1 ? "Request" : "Reply";
}

/* A receive buffer for a message of `peer`. */
static void use_buffer(net_peer_t *peer, const recv_t *recv)
{
    nic_t *nic = &nics[peer->owner];
    const bool empty = sim_the_job.shared ? nic->posted == 0 : peer->posted == 0;
    if (empty) sim_concerns(peer->rank);
    sim_check(!empty, peer->owner, "a %s from node %u finds no receive buffer (RNR)",
              kind(&recv->header), peer->rank);
    if (sim_the_job.shared)
        nic->posted--;
    else
        peer->posted--;
}

static void arrive_am(const transfer_t *t)
{
    net_peer_t *peer = sim_net_mirror(t->peer);
    nic_t *nic = &nics[peer->owner];
    recv_t *recv = sim_alloc(sizeof *recv + t->length);
    *recv = (recv_t){.message = {.peer = peer, .data = recv->bytes, .length = (uint32_t)t->length}};
    memcpy(recv->bytes, t->src, t->length);
    memcpy(&recv->header, t->src, sizeof recv->header);
    recv->aim = t->aim;
    use_buffer(peer, recv);
    *nic->arrived_end = recv;
    nic->arrived_end = &recv->next;
    sim_note(peer->owner, "is reached by a %s from node %u with %u credits", kind(&recv->header),
             peer->rank, recv->header.credits);
    sim_net_look(peer);
    sim_wake(peer->owner);
}

/* All but the trailer. */
static void begin_to_arrive(const sim_message_t *m)
{
    const transfer_t *t = m->data;
    sim_rings_write(sim_net_mirror(t->peer), &t->aim, t->src, 0, t->length - AMRDMA_TRAILER);
}

/* The trailer. */
static void arrive_in_ring(const transfer_t *t)
{
    net_peer_t *peer = sim_net_mirror(t->peer);
    sim_note(peer->owner, "has message %u from node %u in a ring", t->aim.number, peer->rank);
    sim_rings_write(peer, &t->aim, t->src, t->length - AMRDMA_TRAILER, t->length);
    nics[peer->owner].in_rings++;
    sim_wake(peer->owner);
}

static void arrive(const sim_message_t *m)
{
    transfer_t *t = m->data;
    if (t->into)
        memcpy(t + 1, t->src, t->length);
    else if (t->put)
        arrive_put(t);
    else if (t->aim.write) {
        arrive_in_ring(t);
        sim_net_look(sim_net_mirror(t->peer));
    } else
        arrive_am(t);
    sim_send_on(&t->qp->back, &sim_the_job.link, complete,
                &(sim_message_t){.from = m->to, .to = m->from, .device = 1, .data = t});
}

static void open_connection(const sim_message_t *m)
{
    sim_note(m->to, "is connected to node %u", m->from);
    record(m->to, m->from)->open = true;
    sim_wake(m->to);
}

/* True if the send queue has no room, or until the peer is connected, which the first call asks
 * for. */
static bool full(net_peer_t *peer, const net_qp_t *qp)
{
    if (peer->open || !sim_the_job.connecting) return qp->in_flight >= sim_the_job.depth;
    if (!peer->knocked)
        sim_after(sim_below(sim_the_job.connecting), open_connection,
                  &(sim_message_t){.from = peer->rank, .to = peer->owner, .device = 1});
    peer->knocked = true;
    return true;
}

static void post(const transfer_t *all, bool inlined)
{
    transfer_t *t = sim_alloc(sizeof *t + (inlined || all->into ? all->length : 0));
    *t = *all;
    if (inlined) t->src = memcpy(t + 1, all->src, all->length);
    t->qp->in_flight++;
    nics[t->peer->owner].idle = 0; /* a poll before the next send must not wait */
    pending += t->put || t->into ? 1 : 2;
    const sim_message_t m = {.from = t->peer->owner, .to = t->peer->rank, .device = 1, .data = t};
    if (t->aim.write) sim_send_on(&t->qp->there, &sim_the_job.link, begin_to_arrive, &m);
    sim_send_on(&t->qp->there, &sim_the_job.link, arrive, &m);
}

enum net_result sim_net_put(net_peer_t *peer, uint64_t dst, const void *src, bool inlined,
                            size_t length, enum net_order order, const gasnetc_sent_t *sent)
{
    net_qp_t *qp = net_ib_select_qp(peer, sim_the_job.ordered ? order : NET_UNORDERED);
    if (full(peer, qp)) return NET_BUSY;
    sim_note(peer->owner, "puts %zu bytes to node %u on queue pair %u", length, peer->rank,
             qp->number);
    post(&(transfer_t){.peer = peer,
                       .qp = qp,
                       .src = src,
                       .dst = dst,
                       .length = length,
                       .sent = *sent,
                       .put = true},
         inlined);
    sim_job_sent.puts++;
    return NET_POSTED;
}

enum net_result sim_net_get(net_peer_t *peer, void *dst, uint64_t src, size_t length,
                            const gasnetc_sent_t *sent)
{
    net_qp_t *qp = net_ib_select_qp(peer, NET_UNORDERED);
    if (full(peer, qp)) return NET_BUSY;
    sim_note(peer->owner, "gets %zu bytes of node %u on queue pair %u", length, peer->rank,
             qp->number);
    post(&(transfer_t){.peer = peer,
                       .qp = qp,
                       .src = (const void *)(uintptr_t)src,
                       .length = length,
                       .sent = *sent,
                       .into = dst},
         false);
    sim_job_sent.gets++;
    return NET_POSTED;
}

/* The bookkeeping of a message that leaves. */
static void account(net_peer_t *peer, const gasnetc_am_header_t *header)
{
    bool hidden = header->flags & GASNETC_AM_HIDDEN, request = header->head >> 2 & 1;
    recv_t *handling = nics[peer->owner].handling;
    peer->credits += header->credits;
    if (request) {
        peer->requests++;
        sim_job_sent.requests++;
        sim_job_sent.across +=
            header->nbytes && sim_job_supernode(peer->owner) != sim_job_supernode(peer->rank);
    } else if (hidden) {
        if (one_each(peer)) sim_net_mirror(peer)->requests--;
        sim_job_sent.hidden++;
    } else {
        sim_check(handling && handling->message.peer == peer && !handling->answered, peer->owner,
                  "a Reply to node %u outside its Request's handler", peer->rank);
        handling->answered = true;
        sim_net_mirror(peer)->requests--;
        sim_job_sent.replies++;
    }
}

/* Receive space for a Reply of `peer`. */
static void post_for_reply(net_peer_t *peer)
{
    nics[peer->owner].free--;
    if (sim_the_job.shared) return;
    peer->posted++;
    sim_check(peer->posted <= 2 * sim_the_job.credits, peer->owner,
              "%d receive buffers posted for node %u, M is %u", peer->posted, peer->rank,
              sim_the_job.credits);
}

enum net_result sim_net_am(net_peer_t *peer, void *data, bool inlined, size_t length,
                           bool wants_reply, const gasnetc_sent_t *sent)
{
    nic_t *nic = &nics[peer->owner];
    const gasnetc_am_header_t *header = data;
    if (full(peer, peer->am)) return NET_BUSY;
    if (wants_reply && nic->free == 0) return NET_NO_REPLY_BUF;
    if (wants_reply) post_for_reply(peer);
    sim_note(peer->owner, "sends a %s to node %u with %u credits%s", kind(header), peer->rank,
             header->credits, wants_reply ? " and posts a buffer" : "");
    account(peer, header);
    touch(peer);
    sim_aim_t aim = sim_rings_aim(peer, data, inlined, length);
    sim_job_sent.by_ring += aim.write;
    post(&(transfer_t){.peer = peer,
                       .qp = peer->am,
                       .src = data,
                       .length = aim.length,
                       .sent = *sent,
                       .aim = aim},
         inlined);
    return NET_POSTED;
}

/* --- reaping --- */

void sim_job_busy(void)
{
    nics[sim_job_me()].idle = 0;
}

unsigned sim_net_reap(void)
{
    nic_t *nic = &nics[sim_job_me()];
    look_at_touched();
    /* A look for arrivals will follow, unless none did the last time: then this only reaps. */
    bool arrivals = (nic->arrived || nic->in_rings) && nic->looked;
    nic->looked = false;
    if (!nic->done && !arrivals && nic->idle++ >= POLITE) sim_wait();
    unsigned n = 0;
    while (nic->done) {
        transfer_t *t = nic->done;
        nic->done = t->next;
        if (!nic->done) nic->done_end = &nic->done;
        t->qp->in_flight--;
        settle();
        gasnetc_sent(&t->sent);
        n++;
    }
    if (n) nic->idle = 0;
    return n;
}

static bool take_from_ring(net_peer_t *peer, net_message_t **message)
{
    uint32_t number, length;
    char *data;
    if (!sim_rings_take(peer, &number, &data, &length)) return false;
    recv_t *recv = sim_alloc(sizeof *recv);
    *recv = (recv_t){.message = {.peer = peer, .data = data, .length = length, .kept_buffer = true},
                     .aim = {.number = number}};
    memcpy(&recv->header, data, sizeof recv->header);
    *message = &recv->message;
    return true;
}

/* Takes messages from rings; another ring is first each time. */
static unsigned take_from_rings(uint32_t node, net_message_t **messages, unsigned budget)
{
    uint32_t given = sim_rings_given(node), first = nics[node].turn++;
    unsigned n = 0;
    for (uint32_t i = 0; i < given && n < budget; i++)
        while (n < budget &&
               take_from_ring(sim_rings_giver(node, (first + i) % given), &messages[n]))
            n++;
    nics[node].in_rings -= n;
    return n;
}

unsigned sim_net_arrivals(net_message_t **messages, unsigned budget)
{
    nic_t *nic = &nics[sim_job_me()];
    for (; nic->released > 0; nic->released--) settle();
    unsigned n = take_from_rings(sim_job_me(), messages, budget / 2);
    nic->looked = true;
    while (nic->arrived && n < budget) {
        net_message_t *message = messages[n++] = &nic->arrived->message;
        sim_rings_heard(message->peer, &nic->arrived->aim, message->length);
        nic->posted += sim_the_job.shared > 0; /* replaced at once */
        nic->arrived = nic->arrived->next;
        if (!nic->arrived) nic->arrived_end = &nic->arrived;
    }
    if (n) nic->idle = 0;
    return n;
}

/* --- receive space --- */

/* Counts the credits of a message that the engine has returned. */
static void returned(recv_t *recv)
{
    sim_net_mirror(recv->message.peer)->credits -= recv->header.credits;
    touch(recv->message.peer);
}

static void replace_buffer(recv_t *recv, nic_t *nic, net_spare_t *spare)
{
    if (sim_the_job.shared) return;
    if (spare->in_hand)
        spare->in_hand = false;
    else if (nic->free > 0)
        nic->free--;
    else {
        recv->moved = true;
        sim_job_sent.moved++;
    }
    recv->message.peer->posted++;
}

net_message_t *sim_net_refill(net_message_t *message, net_spare_t *spare)
{
    recv_t *recv = (recv_t *)message;
    nic_t *nic = &nics[message->peer->owner];
    if (!message->kept_buffer) replace_buffer(recv, nic, spare);
    returned(recv);
    sim_check(!nic->handling, message->peer->owner, "a handler runs inside a handler");
    nic->handling = recv;
    sim_note(message->peer->owner, "handles a Request of node %u", message->peer->rank);
    return message;
}

void sim_net_release(net_message_t *message, net_spare_t *spare)
{
    recv_t *recv = (recv_t *)message;
    nic_t *nic = &nics[message->peer->owner];
    if (recv->header.head >> 2 & 1) {
        sim_check(nic->handling == recv, message->peer->owner, "releases what it does not handle");
        nic->handling = NULL;
        if (!recv->answered && !one_each(message->peer)) sim_net_mirror(message->peer)->requests--;
    } else {
        returned(recv);
    }
    memset(message->data, 0xee, message->length);
    nic->released++;
    if (message->kept_buffer) sim_rings_release(message->peer, recv->aim.number);
    if (message->kept_buffer || recv->moved) return;
    if (sim_the_job.shared)
        nic->free += !(recv->header.head >> 2 & 1);
    else if (spare->in_hand)
        nic->free++;
    else
        spare->in_hand = true;
}

void sim_net_spare_back(net_spare_t *spare)
{
    if (spare->in_hand) nics[sim_job_me()].free++;
    spare->in_hand = false;
}
