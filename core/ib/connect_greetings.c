/* connect_greetings.c - peers meet by datagrams: the engine around the state machine of
 * other/connect/handshake.  Called by the thread of connect_on_demand.c alone, but for opening and
 * closing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ib/connect.h"
#include "core/ib/connect_payload.h"
#include "core/ib/datagrams.h"
#include "core/ib/meeting.h"
#include "core/job/rank.h"
#include "core/job/secret.h"
#include "core/log.h"
#include "core/report.h"
#include "other/base/clock.h"
#include "other/connect/handshake/handshake.h"
#include "other/connect/handshake/seal.h"

/* A peer with which a handshake has begun. */
typedef struct link {
    handshake_t handshake;
    net_peer_t *peer;
    const net_ib_contact_t *contact;
    hca_ah_t ah;
    int tries; /* to make the address handle */
    net_qp_t *first;
    struct link *next;
    uint8_t payload[]; /* of messages to the peer, encoded */
} link_t;

enum {
    STAMP = 1 /* of all queue pairs: those of a rank are never replaced */
};

static struct {
    uint32_t processes;
    link_t **link; /* [processes]; NULL: no handshake has begun */
    link_t *links;
    handshake_times_t times;
    handshake_key_t key;
} greetings;

/* The device that datagrams use. */
static const char *device(void)
{
    return net_ib_rails.hca[net_ib_rails.rail[0].hca].name;
}

static handshake_moment_t moment(void)
{
    return (handshake_moment_t){.now = gasneti_clock(), .stamp = STAMP};
}

static link_t *link_to(uint32_t rank)
{
    link_t *link = greetings.link[rank];
    if (link) return link;
    link = calloc(1, sizeof *link + net_ib_payload_size(net_ib_rails.qps));
    if (!link) net_ib_cannot_connect(rank, device(), "no record of it", ENOMEM);
    link->peer = net_ib_peer(rank);
    link->contact = net_ib_contact(rank);
    link->next = greetings.links;
    greetings.link[rank] = greetings.links = link;
    return link;
}

static void greetings_make(link_t *link)
{
    net_qp_t *qp = link->first = net_ib_make_qps(link->peer);
    net_ib_payload_t payload = {.rank = gasnetc_job.rank, .qps = net_ib_rails.qps};
    for (uint32_t i = 0; i < payload.qps; i++, qp = qp->next) payload.qp_number[i] = qp->qp->qp_num;
    net_ib_payload_encode(&payload, link->payload);
}

static void greetings_join(link_t *link, const net_ib_payload_t *theirs)
{
    const net_ib_contact_t *contact = link->contact;
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

/* Makes the address handle of the peer, if there is none.  False: the kernel did not resolve the
 * address in time, and the handshake message counts as lost. */
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

static void greetings_send_message(link_t *link)
{
    const uint32_t rank = link->peer->rank;
    char bytes[HANDSHAKE_MOST];
    if (!make_ah(link)) return;
    handshake_message_t message = handshake_message(&link->handshake);
    message.payload = link->payload;
    message.payload_size = net_ib_payload_size(net_ib_rails.qps);
    size_t size = handshake_encode(&message, NET_IB_HANDSHAKE, bytes);
    const handshake_way_t way = {.from = gasnetc_job.rank, .to = rank};
    size = handshake_seal(&greetings.key, way, bytes, size);
    gasneti_debug(connect, "sends a handshake message to %s%s", gasneti_rank_name(rank),
                  message.ask ? ", and awaits an answer" : "");
    int error =
        net_ib_datagram_send(link->ah, &link->contact->address.ud, rank, bytes, (uint32_t)size);
    if (error && !gasneti_ending())
        net_ib_cannot_connect(rank, device(), "a handshake message is refused", error);
}

/* The peer did not answer: an error if a thread has posted to it and the job is not ending. */
static void greetings_give_up(const link_t *link)
{
    const uint32_t rank = link->peer->rank;
    if (!link->handshake.wanted) return;
    net_ib_unanswered(rank);
    if (gasneti_ending()) return;
    char path[NET_IB_ROUTE_TEXT] = "";
    const bool ethernet = net_ib_rails.rail[0].port.ethernet;
    if (ethernet) net_ib_route_text(&net_ib_rails.rail[0], first_port(link), path);
    gasneti_fatal_once("%s%s%s has not answered for %.0f s when it was to be connected to: does it "
                       "still run, is it stopped, or is the cable or switch at fault? "
                       "GASNET_QP_TIMEOUT and GASNET_QP_RETRY_COUNT say how long to try; "
                       "GASNET_CONNECT_STATIC=1 connects all peers at start-up",
                       gasneti_rank_name(rank), ethernet ? " at " : "", path,
                       greetings.times.give_up);
}

/* `theirs`: the payload of the message received; NULL at the other events, which never join.
 * HANDSHAKE_DROP does not occur, since all stamps are equal. */
static void perform(link_t *link, unsigned actions, const net_ib_payload_t *theirs)
{
    if (actions & HANDSHAKE_MAKE) greetings_make(link);
    if (theirs && (actions & HANDSHAKE_JOIN)) greetings_join(link, theirs);
    if (actions & HANDSHAKE_OPEN) net_ib_open_qps(link->peer);
    if (actions & HANDSHAKE_SEND) greetings_send_message(link);
    if (actions & HANDSHAKE_SILENT) greetings_give_up(link);
}

/* A datagram that is not of this job is ignored.  One that was recorded and is sent again changes
 * nothing, as all stamps are equal and no queue pair is replaced. */
static void receive_one(const char *bytes, size_t length)
{
    handshake_message_t message;
    net_ib_payload_t payload;
    if (length <= HANDSHAKE_SEAL ||
        handshake_parse(bytes, length - HANDSHAKE_SEAL, NET_IB_HANDSHAKE, &message) ||
        message.mine != STAMP || message.yours > STAMP ||
        net_ib_payload_parse(message.payload, message.payload_size, greetings.processes, &payload))
        return;
    /* The sender's rank selects the seal to be expected; nothing else is used before the seal is
     * verified. */
    const handshake_way_t way = {.from = payload.rank, .to = gasnetc_job.rank};
    if (!handshake_unseal(&greetings.key, way, bytes, length) || !net_ib_peer(payload.rank)) return;
    link_t *link = link_to(payload.rank);
    perform(link, handshake_receive(&link->handshake, &message, moment(), &greetings.times),
            &payload);
}

static void greetings_receive_all(void)
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

static void greetings_receive(void)
{
    greetings_receive_all();
    check_failures();
}

static void greetings_want(uint32_t rank)
{
    link_t *link = link_to(rank);
    perform(link, handshake_want(&link->handshake, moment(), &greetings.times), NULL);
}

/* Repeats the messages that are due; returns the seconds until the next is due, below 0 for never.
 */
static double greetings_repeat(void)
{
    double now = gasneti_clock(), first = -1;
    for (link_t *link = greetings.links; link; link = link->next) {
        perform(link, handshake_tick(&link->handshake, now, &greetings.times), NULL);
        double left = link->handshake.next - now;
        if (link->handshake.waiting && (first < 0 || left < first)) first = left > 0 ? left : 0;
    }
    return first;
}

static bool greetings_open(uint32_t processes, char *why, size_t why_size)
{
    if (net_ib_rails.qps > NET_IB_PAYLOAD_QPS) {
        snprintf(why, why_size, "%u queue pairs per peer are more than a datagram names",
                 net_ib_rails.qps);
        return false;
    }
    if (!net_ib_datagrams_open(processes - 1, HANDSHAKE_MOST, why, why_size)) return false;
    greetings.processes = processes;
    greetings.key.size = GASNETC_SECRET_BYTES;
    memcpy(greetings.key.bytes, gasnetc_secret(), GASNETC_SECRET_BYTES);
    greetings.link = calloc(processes, sizeof *greetings.link);
    if (!greetings.link) gasneti_fatal("out of memory for %u peers", processes - 1);
    greetings.times =
        (handshake_times_t){.first = 0.02, .longest = 0.5, .give_up = net_ib_meeting_patience()};
    return true;
}

static net_ib_address_t greetings_address(void)
{
    return (net_ib_address_t){.ud = net_ib_datagrams_address()};
}

static void greetings_close(void)
{
    for (link_t *link = greetings.links, *next; link; link = next) {
        next = link->next;
        if (link->first) net_ib_destroy_qps(link->first);
        if (link->ah) hca_destroy(link->ah);
        free(link);
    }
    free(greetings.link);
    net_ib_datagrams_close();
    memset(&greetings, 0, sizeof greetings);
}

const struct net_ib_meeting net_ib_greetings = {.open = greetings_open,
                                                .address = greetings_address,
                                                .arm = net_ib_datagrams_arm,
                                                .receive = greetings_receive,
                                                .want = greetings_want,
                                                .repeat = greetings_repeat,
                                                .sleep = net_ib_datagrams_sleep,
                                                .wake = net_ib_datagrams_wake,
                                                .close = greetings_close};
