/* connect_on_demand.c - connections at first use: the engine around the state machine of
 * other/handshake.
 *
 * A peer that computes and never calls the library must be connected to all the same by a process
 * that puts into its segment.  So each process, SEQ too, has one small thread that sleeps in the
 * kernel on the queue pair for datagrams.  That thread alone runs the handshakes: it creates,
 * connects and opens queue pairs.  It shares with other threads
 *   - request[rank]: stored by a thread whose post to the peer found no slot; that thread then
 *     wakes this one (net_ib_request_connect);
 *   - peer->am and the `unused` slots of its queue pairs, stored by this thread with release: a
 *     thread that loads the former may post receives, one that loads the latter may send
 *     (network_ib.h);
 *   - receive buffers, handed over through one atomic list (receive.c).
 * It takes no lock of the library, runs no handler and polls no completion queue but its own.
 */
#include "core/ib/connect_on_demand.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/ib/connect.h"
#include "core/ib/connect_payload.h"
#include "core/ib/datagrams.h"
#include "core/ib/route.h"
#include "core/job/rank.h"
#include "core/params/params.h"
#include "core/report.h"
#include "other/handshake/handshake.h"
#include "other/tools/quiet_thread.h"

/* The contact address of a process (net_contact). */
typedef struct contact {
    hca_ud_addr_t ud_addr;
    net_ib_remote_rings_t rings;
    uint32_t rails;
    net_ib_end_t rail[]; /* one end each; handshake messages give the numbers of queue pairs */
} contact_t;

/* A peer with which a handshake has begun. */
typedef struct link {
    handshake_t handshake;
    net_peer_t *peer;
    const contact_t *contact;
    hca_ah_t ah;
    int tries; /* to make the address handle */
    net_qp_t *first;
    struct link *next;
    uint8_t payload[]; /* of messages to the peer, encoded */
} link_t;

enum {
    STAMP = 1,        /* of all queue pairs: those of a rank are never replaced */
    LEAST_GIVE_UP = 5 /* seconds */
};

enum request { NONE, CONNECT, UNANSWERED };

static struct {
    uint32_t processes;
    net_peer_t **peer;   /* [processes] */
    contact_t **contact; /* [processes] */
    link_t **link;       /* [processes]; NULL: no handshake has begun */
    link_t *links;
    _Atomic uint8_t *request; /* [processes] */
    atomic_bool requested;    /* some request is CONNECT and not yet seen */
    atomic_bool over;
    bool running;
    pthread_t thread;
    handshake_times_t times;
} on_demand;

/* --- the thread --- */

/* The device that datagrams use. */
static const char *device(void)
{
    return net_ib_rails.hca[net_ib_rails.rail[0].hca].name;
}

static handshake_moment_t moment(void)
{
    return (handshake_moment_t){.now = gasnetc_clock(), .stamp = STAMP};
}

static link_t *link_to(uint32_t rank)
{
    link_t *link = on_demand.link[rank];
    if (link) return link;
    link = calloc(1, sizeof *link + net_ib_payload_size(net_ib_rails.qps));
    if (!link) net_ib_cannot_connect(rank, device(), "no record of it", ENOMEM);
    link->peer = on_demand.peer[rank];
    link->contact = on_demand.contact[rank];
    link->next = on_demand.links;
    on_demand.link[rank] = on_demand.links = link;
    return link;
}

static void make(link_t *link)
{
    net_qp_t *qp = link->first = net_ib_make_qps(link->peer);
    net_ib_payload_t payload = {.rank = gasnetc_job.rank, .qps = net_ib_rails.qps};
    for (uint32_t i = 0; i < payload.qps; i++, qp = qp->next) payload.qp_number[i] = qp->qp->qp_num;
    net_ib_payload_encode(&payload, link->payload);
}

static void join(link_t *link, const net_ib_payload_t *theirs)
{
    const contact_t *contact = link->contact;
    net_ib_end_t ends[NET_IB_PAYLOAD_QPS];
    for (uint32_t i = 0; i < theirs->qps; i++) {
        ends[i] = contact->rail[i % contact->rails];
        ends[i].remote.qp_number = theirs->qp_number[i];
    }
    net_ib_join_qps(link->peer, link->first, ends, theirs->qps, &contact->rings);
    link->first = NULL; /* owned by the peer's record now */
}

/* Datagrams go from the first port to the peer's first. */
static const hca_remote_t *first_port(const link_t *link)
{
    return &link->contact->rail[0].remote;
}

/* False: the message counts as lost. */
static bool make_ah(link_t *link)
{
    if (link->ah) return true;
    const struct net_ib_rail *rail = &net_ib_rails.rail[0];
    hca_route_t route;
    if (!net_ib_route(rail, first_port(link), &route))
        net_ib_no_route(link->peer->rank, rail, first_port(link));
    link->ah = net_ib_datagram_ah(&route);
    const int error = errno;
    if (link->ah || gasneti_ending()) return link->ah != NULL;
    if (net_ib_route_timed_out(error) && ++link->tries < NET_IB_ROUTE_TRIES) return false;
    char what[40 + NET_IB_ROUTE_TEXT], path[NET_IB_ROUTE_TEXT];
    snprintf(what, sizeof what, "no address handle for %s",
             net_ib_route_text(rail, first_port(link), path));
    net_ib_cannot_reach(link->peer->rank, rail, first_port(link), what, error);
}

static void send_message(link_t *link)
{
    const uint32_t rank = link->peer->rank;
    char bytes[HANDSHAKE_MOST];
    if (!make_ah(link)) return;
    handshake_message_t message = handshake_message(&link->handshake);
    message.payload = link->payload;
    message.payload_size = net_ib_payload_size(net_ib_rails.qps);
    const size_t size = handshake_encode(&message, NET_IB_HANDSHAKE, bytes);
    int error =
        net_ib_datagram_send(link->ah, &link->contact->ud_addr, rank, bytes, (uint32_t)size);
    if (error && !gasneti_ending())
        net_ib_cannot_connect(rank, device(), "a handshake message is refused", error);
}

/* The peer did not answer: an error if a thread has posted to it and the job is not ending. */
static void give_up(const link_t *link)
{
    const uint32_t rank = link->peer->rank;
    if (!link->handshake.wanted) return;
    atomic_store(&on_demand.request[rank], UNANSWERED);
    if (gasneti_ending()) return;
    char path[NET_IB_ROUTE_TEXT] = "";
    const bool ethernet = net_ib_rails.rail[0].port.ethernet;
    if (ethernet) net_ib_route_text(&net_ib_rails.rail[0], first_port(link), path);
    gasneti_fatal_once("%s%s%s has not answered for %.0f s when it was to be connected to: does it "
                       "still run, is it stopped, or is the cable or switch at fault? "
                       "GASNET_QP_TIMEOUT and GASNET_QP_RETRY_COUNT say how long to try; "
                       "GASNET_CONNECT_STATIC=1 connects all peers at start-up",
                       gasneti_rank_name(rank), ethernet ? " at " : "", path,
                       on_demand.times.give_up);
}

/* `theirs`: the payload of the message received; NULL at the other events, which never join.
 * HANDSHAKE_DROP does not occur, since all stamps are equal. */
static void perform(link_t *link, unsigned actions, const net_ib_payload_t *theirs)
{
    if (actions & HANDSHAKE_MAKE) make(link);
    if (theirs && (actions & HANDSHAKE_JOIN)) join(link, theirs);
    if (actions & HANDSHAKE_OPEN) net_ib_open_qps(link->peer);
    if (actions & HANDSHAKE_SEND) send_message(link);
    if (actions & HANDSHAKE_SILENT) give_up(link);
}

/* A datagram that is not of this job is ignored. */
static void receive_one(const char *bytes, size_t length)
{
    handshake_message_t message;
    net_ib_payload_t payload;
    if (handshake_parse(bytes, length, NET_IB_HANDSHAKE, &message) || message.mine != STAMP ||
        message.yours > STAMP ||
        net_ib_payload_parse(message.payload, message.payload_size, on_demand.processes,
                             &payload) ||
        !on_demand.peer[payload.rank])
        return;
    link_t *link = link_to(payload.rank);
    perform(link, handshake_receive(&link->handshake, &message, moment(), &on_demand.times),
            &payload);
}

static void receive_all(void)
{
    char bytes[HANDSHAKE_MOST];
    for (int length; (length = net_ib_datagram_take(bytes, sizeof bytes)) >= 0;)
        receive_one(bytes, (size_t)length);
}

/* A send that completes with an error breaks the queue pair for datagrams: unlike after a loss, no
 * repetition can help. */
static void check_failures(void)
{
    hca_failure_t failure;
    uint32_t rank;
    if (net_ib_datagram_failure(&rank, &failure) && !gasneti_ending())
        net_ib_handshake_failed(rank, device(), &failure);
}

static void take_requests(void)
{
    if (!atomic_exchange(&on_demand.requested, false)) return;
    for (uint32_t rank = 0; rank < on_demand.processes; rank++) {
        if (atomic_load(&on_demand.request[rank]) != CONNECT) continue;
        link_t *link = link_to(rank);
        perform(link, handshake_want(&link->handshake, moment(), &on_demand.times), NULL);
    }
}

/* Repeats the messages that are due; returns the seconds until the next is due, below 0 for never.
 */
static double repeat(void)
{
    double now = gasnetc_clock(), first = -1;
    for (link_t *link = on_demand.links; link; link = link->next) {
        perform(link, handshake_tick(&link->handshake, now, &on_demand.times), NULL);
        double left = link->handshake.next - now;
        if (link->handshake.waiting && (first < 0 || left < first)) first = left > 0 ? left : 0;
    }
    return first;
}

static void *run(void *unused)
{
    (void)unused;
    while (!atomic_load(&on_demand.over)) {
        net_ib_datagrams_arm();
        /* After arming: a datagram that arrived before it raises no event. */
        receive_all();
        check_failures();
        take_requests();
        net_ib_datagrams_sleep(repeat());
    }
    return NULL;
}

/* --- threads that post --- */

static void wake(void)
{
    atomic_store(&on_demand.requested, true);
    net_ib_datagrams_wake();
}

void net_ib_request_connect(net_peer_t *peer)
{
    if (peer->next_qp == &net_ib_closed) peer->next_qp = net_ib_am(peer);
    if (atomic_load(&net_ib_am(peer)->open)) return; /* the peer connected first */
    _Atomic uint8_t *request = &on_demand.request[peer->rank];
    if (atomic_load(request) != NONE) return;
    atomic_store(request, CONNECT);
    wake();
}

/* --- start-up and end --- */

/* A handshake is answered by a thread, which may have to wait for a processor, and not by the
 * device: it gives up after four times as long as a connection. */
static void set_times(void)
{
    double timeout = 4.096e-6 * (double)(UINT64_C(1) << gasnetc_params.qp_timeout);
    double bound = 4 * timeout * (double)(gasnetc_params.qp_retry_count + 1);
    on_demand.times = (handshake_times_t){
        .first = 0.02, .longest = 0.5, .give_up = bound > LEAST_GIVE_UP ? bound : LEAST_GIVE_UP};
}

void net_ib_on_demand_open(uint32_t processes, char *why, size_t why_size)
{
    why[0] = 0;
    if (gasnetc_params.connect_static)
        snprintf(why, why_size, "GASNET_CONNECT_STATIC is set");
    else if (!gasnetc_params.connect_dynamic)
        snprintf(why, why_size, "GASNET_CONNECT_DYNAMIC is not set");
    else if (net_ib_rails.qps > NET_IB_PAYLOAD_QPS)
        snprintf(why, why_size, "%u queue pairs per peer are more than a datagram names",
                 net_ib_rails.qps);
    else
        net_ib_datagrams_open(processes - 1, HANDSHAKE_MOST, why, why_size);
    if (why[0]) return;
    on_demand.processes = processes;
    on_demand.peer = calloc(processes, sizeof *on_demand.peer);
    on_demand.contact = calloc(processes, sizeof *on_demand.contact);
    on_demand.link = calloc(processes, sizeof *on_demand.link);
    on_demand.request = calloc(processes, sizeof *on_demand.request);
    if (!on_demand.peer || !on_demand.contact || !on_demand.link || !on_demand.request)
        gasneti_fatal("cannot prepare to connect %u peers: %s", processes - 1, strerror(errno));
    set_times();
}

size_t net_contact_size(void)
{
    /* The contacts of all processes form an array: each is aligned. */
    const contact_t *contact = NULL;
    size_t size = sizeof *contact + net_ib_rails.rails * sizeof contact->rail[0];
    size_t unit = _Alignof(contact_t);
    return (size + unit - 1) / unit * unit;
}

void net_contact(void *opaque)
{
    contact_t *contact = opaque;
    *contact = (contact_t){.ud_addr = net_ib_datagrams_address(),
                           .rings = net_ib_rings_address(),
                           .rails = net_ib_rails.rails};
    for (uint32_t i = 0; i < contact->rails; i++)
        contact->rail[i] = net_ib_end(&net_ib_rails.rail[i], 0);
}

void net_set_contact(net_peer_t *peer, const void *opaque)
{
    const contact_t *contact = opaque;
    size_t size = sizeof *contact + contact->rails * sizeof contact->rail[0];
    contact_t *copy = malloc(size);
    if (!copy) gasneti_fatal("out of memory for what connects %u peers", on_demand.processes);
    memcpy(copy, contact, size);
    on_demand.contact[peer->rank] = copy;
    on_demand.peer[peer->rank] = peer;
    net_ib_expect(peer);
}

void net_start(void)
{
    int error = gasneti_quiet_thread(&on_demand.thread, 0, run, NULL);
    if (error)
        gasneti_fatal(
            "cannot start the thread that connects peers: %s (see ulimit -u and ulimit -v); or set "
            "GASNET_CONNECT_STATIC=1",
            strerror(error));
    on_demand.running = true;
}

static void free_links(void)
{
    for (link_t *link = on_demand.links, *next; link; link = next) {
        next = link->next;
        if (link->first) net_ib_destroy_qps(link->first);
        if (link->ah) hca_destroy(link->ah);
        free(link);
    }
    for (uint32_t i = 0; i < on_demand.processes; i++) free(on_demand.contact[i]);
    free(on_demand.peer);
    free(on_demand.contact);
    free(on_demand.link);
    free(on_demand.request);
}

void net_ib_on_demand_close(void)
{
    if (!on_demand.request) return;
    if (on_demand.running) {
        atomic_store(&on_demand.over, true);
        wake();
        pthread_join(on_demand.thread, NULL);
    }
    free_links();
    net_ib_datagrams_close();
    memset(&on_demand, 0, sizeof on_demand);
}
