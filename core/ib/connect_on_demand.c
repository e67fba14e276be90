/* connect_on_demand.c - connections at first use: the thread that greets and answers greetings.
 *
 * A peer may compute and never call the library, and still must be connected to by whoever puts
 * into its segment.  So each process, SEQ too, has one small thread asleep in the kernel on its
 * queue pair for datagrams.  All there is to know of hand-shakes belongs to that thread: it makes
 * queue pairs, joins and opens them.  What others share with it is
 *   - wish[rank]: stored by a thread that found no room at the peer, which then wakes the greeter
 *     (net_ib_request_connect);
 *   - peer->am and the `unused` slots of its queue pairs, stored by the greeter with release: who
 *     sees the one may post receives, who sees the other may send (network_ib.h);
 *   - receive buffers, handed over through one atomic list (receive.c).
 * It takes no lock of the library, runs no handler and polls no queue but its own.
 */
#include "core/ib/connect_on_demand.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/ib/connect.h"
#include "core/ib/datagrams.h"
#include "core/ib/handshake.h"
#include "core/job/rank.h"
#include "core/params/params.h"
#include "core/report.h"
#include "other/tools/quiet_thread.h"

/* What all peers must know of a process. */
typedef struct contact {
    hca_ud_addr_t ud_addr;
    net_ib_far_rings_t rings;
    uint32_t rails;
    net_ib_end_t rail[]; /* an end on each; greetings tell the numbers of queue pairs */
} contact_t;

/* A peer that was spoken to, or spoke. */
typedef struct link {
    net_ib_handshake_t state;
    net_ib_greeting_t greeting; /* ours */
    net_peer_t *peer;
    const contact_t *contact;
    hca_ah_t ah;
    int error; /* why there is no address handle yet */
    net_qp_t *first;
    struct link *next;
} link_t;

enum { LEAST_PATIENCE = 5 }; /* seconds */

enum wish { NOTHING, CONNECT, UNANSWERED };

static struct {
    uint32_t processes;
    net_peer_t **peer;   /* [processes] */
    contact_t **contact; /* [processes] */
    link_t **link;       /* [processes]; NULL: never spoken to */
    link_t *links;
    _Atomic uint8_t *wish; /* [processes] */
    atomic_bool rung;      /* there is a wish */
    atomic_bool over;
    bool running;
    pthread_t thread;
    net_ib_patience_t patience;
} greeter;

/* --- the thread --- */

/* That greetings go by. */
static const char *device(void)
{
    return net_ib_rails.hca[net_ib_rails.rail[0].hca].name;
}

static link_t *link_to(uint32_t rank)
{
    link_t *link = greeter.link[rank];
    if (link) return link;
    link = calloc(1, sizeof *link);
    if (!link) net_ib_cannot_connect(rank, device(), "no record of it", ENOMEM);
    link->peer = greeter.peer[rank];
    link->contact = greeter.contact[rank];
    link->next = greeter.links;
    greeter.link[rank] = greeter.links = link;
    return link;
}

static void make(link_t *link)
{
    net_qp_t *qp = link->first = net_ib_make_qps(link->peer);
    net_ib_greeting_init(&link->greeting, gasnetc_job.rank, net_ib_rails.qps);
    for (uint32_t i = 0; i < net_ib_rails.qps; i++, qp = qp->next)
        link->greeting.qp_number[i] = qp->qp->qp_num;
}

static void join(link_t *link, const net_ib_greeting_t *theirs)
{
    const contact_t *contact = link->contact;
    net_ib_end_t ends[NET_IB_GREETING_QPS];
    for (uint32_t i = 0; i < theirs->qps; i++) {
        ends[i] = contact->rail[i % contact->rails];
        ends[i].remote.qp_number = theirs->qp_number[i];
    }
    net_ib_join_qps(link->peer, link->first, ends, theirs->qps, &contact->rings);
    link->first = NULL; /* the peer's now */
}

/* An Ethernet port asks the network for the address, which may answer the next time. */
static bool may_pass(int error)
{
    return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == EINTR;
}

/* False: it is as good as lost. */
static bool find_way(link_t *link)
{
    if (link->ah) return true;
    link->ah = net_ib_datagrams_way(&link->contact->ud_addr);
    link->error = link->ah ? 0 : errno;
    if (link->ah || may_pass(link->error) || gasneti_ending()) return link->ah != NULL;
    net_ib_cannot_connect(link->peer->rank, device(), "no address handle", link->error);
}

static void greet(link_t *link)
{
    const uint32_t rank = link->peer->rank;
    if (!find_way(link)) return;
    link->greeting.flags = link->state.flags;
    int error = net_ib_datagram_send(link->ah, &link->contact->ud_addr, rank, &link->greeting,
                                     (uint32_t)net_ib_greeting_size(link->greeting.qps));
    if (error && !gasneti_ending())
        net_ib_cannot_connect(rank, device(), "a greeting is refused", error);
}

/* An end of the job does not wait for those that do not answer. */
static void give_up(const link_t *link)
{
    const uint32_t rank = link->peer->rank;
    atomic_store(&greeter.wish[rank], UNANSWERED);
    if (gasneti_ending()) return;
    if (link->error) net_ib_cannot_connect(rank, device(), "no address handle", link->error);
    gasneti_fatal_once("%s has not answered for %.0f s when it was to be connected to: does it "
                       "still run, is it stopped, or is the cable or switch at fault? "
                       "GASNET_QP_TIMEOUT and GASNET_QP_RETRY_COUNT say how long to try; "
                       "GASNET_CONNECT_STATIC=1 connects everybody at start-up",
                       gasneti_rank_name(rank), greeter.patience.give_up);
}

/* `theirs`: the greeting that was heard, where that is what happened. */
static void perform(link_t *link, unsigned actions, const net_ib_greeting_t *theirs)
{
    if (actions & NET_IB_MAKE) make(link);
    if (actions & NET_IB_JOIN) join(link, theirs);
    if (actions & NET_IB_OPEN) net_ib_open_qps(link->peer);
    if (actions & NET_IB_SEND) greet(link);
    if (actions & NET_IB_FAIL) give_up(link);
}

static void hear_all(void)
{
    char bytes[NET_IB_GREETING_MAX];
    net_ib_greeting_t greeting;
    for (int length; (length = net_ib_datagram_take(bytes, sizeof bytes)) >= 0;) {
        const char *wrong =
            net_ib_greeting_parse(bytes, (size_t)length, greeter.processes, &greeting);
        if (wrong || !greeter.peer[greeting.rank]) continue; /* a stranger's */
        link_t *link = link_to(greeting.rank);
        perform(
            link,
            net_ib_handshake_hear(&link->state, greeting.flags, gasnetc_clock(), &greeter.patience),
            &greeting);
    }
}

/* One that fails is not lost on the way, where the next may come through: this end cannot send. */
static void see_failures(void)
{
    hca_failure_t failure;
    uint32_t rank;
    if (net_ib_datagram_failure(&rank, &failure) && !gasneti_ending())
        net_ib_greeting_failed(rank, device(), &failure);
}

static void take_wishes(void)
{
    if (!atomic_exchange(&greeter.rung, false)) return;
    for (uint32_t rank = 0; rank < greeter.processes; rank++) {
        if (atomic_load(&greeter.wish[rank]) != CONNECT) continue;
        link_t *link = link_to(rank);
        perform(link, net_ib_handshake_want(&link->state, gasnetc_clock(), &greeter.patience),
                NULL);
    }
}

/* What is due by now; seconds until there is more, below 0 for never. */
static double repeat(void)
{
    double now = gasnetc_clock(), first = -1;
    for (link_t *link = greeter.links; link; link = link->next) {
        perform(link, net_ib_handshake_tick(&link->state, now, &greeter.patience), NULL);
        double left = link->state.next - now;
        if (link->state.waiting && (first < 0 || left < first)) first = left > 0 ? left : 0;
    }
    return first;
}

static void *run(void *unused)
{
    (void)unused;
    while (!atomic_load(&greeter.over)) {
        net_ib_datagrams_arm();
        /* What came before that wakes nobody. */
        hear_all();
        see_failures();
        take_wishes();
        net_ib_datagrams_sleep(repeat());
    }
    return NULL;
}

/* --- whoever posts --- */

static void ring(void)
{
    atomic_store(&greeter.rung, true);
    net_ib_datagrams_wake();
}

void net_ib_request_connect(net_peer_t *peer)
{
    if (peer->turn == &net_ib_closed) peer->turn = net_ib_am(peer);
    if (atomic_load(&net_ib_am(peer)->open)) return; /* the peer was first */
    _Atomic uint8_t *wish = &greeter.wish[peer->rank];
    if (atomic_load(wish) != NOTHING) return;
    atomic_store(wish, CONNECT);
    ring();
}

/* --- start-up and end --- */

/* The bound is that of messages on a connection, four times over: there the other end's device
 * answers, here a thread has to.  In seconds. */
static void settle_patience(void)
{
    double timeout = 4.096e-6 * (double)(UINT64_C(1) << gasnetc_params.qp_timeout);
    double bound = 4 * timeout * (double)(gasnetc_params.qp_retry_count + 1);
    greeter.patience = (net_ib_patience_t){
        .first = 0.02, .longest = 0.5, .give_up = bound > LEAST_PATIENCE ? bound : LEAST_PATIENCE};
}

void net_ib_greeter_open(uint32_t processes, char *why, size_t why_size)
{
    why[0] = 0;
    if (gasnetc_params.connect_static)
        snprintf(why, why_size, "GASNET_CONNECT_STATIC is set");
    else if (!gasnetc_params.connect_dynamic)
        snprintf(why, why_size, "GASNET_CONNECT_DYNAMIC is not set");
    else if (net_ib_rails.qps > NET_IB_GREETING_QPS)
        snprintf(why, why_size, "%u queue pairs per peer are more than a datagram names",
                 net_ib_rails.qps);
    else
        net_ib_datagrams_open(processes - 1, NET_IB_GREETING_MAX, why, why_size);
    if (why[0]) return;
    greeter.processes = processes;
    greeter.peer = calloc(processes, sizeof *greeter.peer);
    greeter.contact = calloc(processes, sizeof *greeter.contact);
    greeter.link = calloc(processes, sizeof *greeter.link);
    greeter.wish = calloc(processes, sizeof *greeter.wish);
    if (!greeter.peer || !greeter.contact || !greeter.link || !greeter.wish)
        gasneti_fatal("cannot prepare to connect %u peers: %s", processes - 1, strerror(errno));
    settle_patience();
}

size_t net_contact_size(void)
{
    /* They lie one after the other, each aligned. */
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

void net_expect(net_peer_t *peer, const void *opaque)
{
    const contact_t *contact = opaque;
    size_t size = sizeof *contact + contact->rails * sizeof contact->rail[0];
    contact_t *copy = malloc(size);
    if (!copy) gasneti_fatal("out of memory for what connects %u peers", greeter.processes);
    memcpy(copy, contact, size);
    greeter.contact[peer->rank] = copy;
    greeter.peer[peer->rank] = peer;
    net_ib_expect(peer);
}

void net_meet(void)
{
    int error = gasneti_quiet_thread(&greeter.thread, 0, run, NULL);
    if (error)
        gasneti_fatal(
            "cannot start the thread that connects peers: %s (see ulimit -u and ulimit -v); or set "
            "GASNET_CONNECT_STATIC=1",
            strerror(error));
    greeter.running = true;
}

static void free_links(void)
{
    for (link_t *link = greeter.links, *next; link; link = next) {
        next = link->next;
        if (link->first) net_ib_destroy_qps(link->first);
        if (link->ah) hca_destroy(link->ah);
        free(link);
    }
    for (uint32_t i = 0; i < greeter.processes; i++) free(greeter.contact[i]);
    free(greeter.peer);
    free(greeter.contact);
    free(greeter.link);
    free(greeter.wish);
}

void net_ib_greeter_close(void)
{
    if (!greeter.wish) return;
    if (greeter.running) {
        atomic_store(&greeter.over, true);
        ring();
        pthread_join(greeter.thread, NULL);
    }
    free_links();
    net_ib_datagrams_close();
    memset(&greeter, 0, sizeof greeter);
}
