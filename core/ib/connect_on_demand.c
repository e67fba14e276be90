/* connect_on_demand.c - connections at first use: the thread that makes them.
 *
 * A process that puts into a peer's segment must be connected to the peer, even if the peer
 * computes and never calls the library.  So each process, SEQ too, has one small thread that sleeps
 * in the kernel until it is wanted, by a thread of this process or by a peer (meeting.h).  That
 * thread alone creates, connects and opens queue pairs.  It shares with other threads
 *   - request[rank]: stored by a thread whose post to the peer found no slot; that thread then
 *     wakes this one (net_ib_request_connect);
 *   - peer->am and the `unused` slots of its queue pairs, stored by this thread with release: a
 *     thread that loads the former may post receives, one that loads the latter may send
 *     (network_ib.h);
 *   - receive buffers, handed over through one atomic list (receive.c).
 * It takes no lock of the library, runs no handler and polls no completion queue but its own.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/ib/connect.h"
#include "core/ib/meeting.h"
#include "core/params/params.h"
#include "core/report.h"
#include "other/base/quiet_thread.h"

enum { LEAST_PATIENCE = 5 /* seconds */ };

enum request { NONE, CONNECT, UNANSWERED };

static struct {
    const struct net_ib_meeting *meeting;
    uint32_t processes;
    net_peer_t **peer;          /* of each rank */
    net_ib_contact_t **contact; /* address of each rank's meeting point */
    _Atomic uint8_t *request;   /* of each rank: an enum request */
    atomic_bool requested;      /* some request is CONNECT and not yet seen */
    atomic_bool over;
    bool running;
    pthread_t thread;
} on_demand;

net_peer_t *net_ib_peer(uint32_t rank)
{
    return on_demand.peer[rank];
}

const net_ib_contact_t *net_ib_contact(uint32_t rank)
{
    return on_demand.contact[rank];
}

void net_ib_unanswered(uint32_t rank)
{
    atomic_store(&on_demand.request[rank], UNANSWERED);
}

double net_ib_meeting_patience(void)
{
    double timeout = 4.096e-6 * (double)(UINT64_C(1) << gasnetc_params.qp_timeout);
    double bound = 4 * timeout * (double)(gasnetc_params.qp_retry_count + 1);
    return bound > LEAST_PATIENCE ? bound : LEAST_PATIENCE;
}

/* --- the thread --- */

static void take_requests(void)
{
    if (!atomic_exchange(&on_demand.requested, false)) return;
    for (uint32_t rank = 0; rank < on_demand.processes; rank++)
        if (atomic_load(&on_demand.request[rank]) == CONNECT) on_demand.meeting->want(rank);
}

static void *on_demand_run(void *unused)
{
    const struct net_ib_meeting *meeting = on_demand.meeting;
    (void)unused;
    while (!atomic_load(&on_demand.over)) {
        meeting->arm();
        /* Repeated after arming, because what arrived before raises no event. */
        meeting->receive();
        take_requests();
        meeting->sleep(meeting->repeat());
    }
    return NULL;
}

/* --- threads that post --- */

static void on_demand_wake(void)
{
    atomic_store(&on_demand.requested, true);
    on_demand.meeting->wake();
}

void net_ib_request_connect(net_peer_t *peer)
{
    if (peer->next_qp == &net_ib_closed) peer->next_qp = net_ib_am(peer);
    if (atomic_load(&net_ib_am(peer)->open)) return; /* the peer connected first */
    _Atomic uint8_t *request = &on_demand.request[peer->rank];
    if (atomic_load(request) != NONE) return;
    atomic_store(request, CONNECT);
    on_demand_wake();
}

/* --- start-up and end --- */

void net_ib_on_demand_open(uint32_t processes, char *why, size_t why_size)
{
    const bool managed = net_ib_rails.manager != NULL;
    const struct net_ib_meeting *meeting =
        managed ? net_ib_rails.manager->meeting : &net_ib_greetings;
    why[0] = 0;
    if (!managed && gasnetc_params.connect_static)
        snprintf(why, why_size, "GASNET_CONNECT_STATIC is set");
    else if (!managed && !gasnetc_params.connect_dynamic)
        snprintf(why, why_size, "GASNET_CONNECT_DYNAMIC is not set");
    else
        meeting->open(processes, why, why_size);
    if (why[0] && managed) gasneti_fatal("%s", why); /* no other way connects the queue pairs */
    if (why[0]) return;
    on_demand.meeting = meeting;
    on_demand.processes = processes;
    on_demand.peer = calloc(processes, sizeof *on_demand.peer);
    on_demand.contact = calloc(processes, sizeof *on_demand.contact);
    on_demand.request = calloc(processes, sizeof *on_demand.request);
    if (!on_demand.peer || !on_demand.contact || !on_demand.request)
        gasneti_fatal("cannot prepare to connect %u peers: %s", processes - 1, strerror(errno));
}

size_t net_contact_size(void)
{
    /* Rounded up, so that each contact is aligned in the array of all processes' contacts. */
    const net_ib_contact_t *contact = NULL;
    size_t size = sizeof *contact + net_ib_rails.rails * sizeof contact->rail[0];
    size_t unit = _Alignof(net_ib_contact_t);
    return (size + unit - 1) / unit * unit;
}

void net_contact(void *opaque)
{
    net_ib_contact_t *contact = opaque;
    *contact = (net_ib_contact_t){.address = on_demand.meeting->address(),
                                  .managed = net_ib_rails.manager != NULL,
                                  .rings = net_ib_rings_address(),
                                  .rails = net_ib_rails.rails};
    for (uint32_t i = 0; i < contact->rails; i++)
        contact->rail[i] = net_ib_end(&net_ib_rails.rail[i], 0);
}

void net_set_contact(net_peer_t *peer, const void *opaque)
{
    const net_ib_contact_t *contact = opaque;
    if (contact->managed != (net_ib_rails.manager != NULL))
        gasneti_fatal_once(
            "%s is connected by %s, and this process by %s: their devices differ; set "
            "GASNET_CONNECT=rdmacm, or choose devices of one kind "
            "with " NET_PORTS_VARIABLE,
            gasneti_rank_name(peer->rank),
            contact->managed ? "the RDMA connection manager" : "verbs",
            contact->managed ? "verbs" : "the RDMA connection manager");
    size_t size = sizeof *contact + contact->rails * sizeof contact->rail[0];
    net_ib_contact_t *copy = malloc(size);
    if (!copy) gasneti_fatal("out of memory for what connects %u peers", on_demand.processes);
    memcpy(copy, contact, size);
    on_demand.contact[peer->rank] = copy;
    on_demand.peer[peer->rank] = peer;
    net_ib_expect(peer);
}

void net_start(void)
{
    int error = gasneti_quiet_thread(&on_demand.thread, 0, on_demand_run, NULL);
    if (error)
        gasneti_fatal(
            "cannot start the thread that connects peers: %s (see ulimit -u and ulimit -v); or set "
            "GASNET_CONNECT_STATIC=1",
            strerror(error));
    on_demand.running = true;
}

void net_ib_on_demand_close(void)
{
    if (!on_demand.meeting) return;
    if (on_demand.running) {
        atomic_store(&on_demand.over, true);
        on_demand_wake();
        pthread_join(on_demand.thread, NULL);
    }
    on_demand.meeting->close();
    for (uint32_t i = 0; i < on_demand.processes; i++) free(on_demand.contact[i]);
    free(on_demand.peer);
    free(on_demand.contact);
    free(on_demand.request);
    memset(&on_demand, 0, sizeof on_demand);
}
