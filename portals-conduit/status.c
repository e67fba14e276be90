/* status.c - error messages, counters, and the wake-up of waiting threads and of the receive
 * thread.
 *
 * gasneti_failed returns to posting or reaping; the next poll ends the job, unless the job ends
 * already.
 */
#include <poll.h>
#include <portals3_ext.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/params/params.h"
#include "other/base/uncancelled.h"
#include "portals.h"

void net_portals_failed(const char *what, uint32_t rank, int error)
{
    gasneti_failed("%s %s failed: Portals says %s; look for the messages of the process at the "
                   "other end, and check the device with ibv_devinfo",
                   what, gasneti_rank_name(rank), PtlErrorStr((unsigned)error));
}

/* Called by libportals, in any of its threads and calls.  id.nid PTL_NID_ANY: the failure is of
 * this process or its device. */
static void status_trouble(ptl_process_id_t id, const char *why)
{
    char device[512];
    uint32_t rank = 0;
    if (gasneti_ending()) return;
    if (softhca_trouble(device + 2, sizeof device - 3)) {
        memcpy(device, " (", 2);
        strcat(device, ")");
    } else {
        device[0] = 0;
    }
    if (id.nid == PTL_NID_ANY) gasneti_fatal_once("%s%s", why, device);
    if (!net_portals_rest.peer) return;
    while (rank <= net_portals_rest.peers &&
           (!net_portals_rest.peer[rank] || net_portals_rest.peer[rank]->id.nid != id.nid ||
            net_portals_rest.peer[rank]->id.pid != id.pid))
        rank++;
    if (rank > net_portals_rest.peers) return; /* not a process of the job */
    gasneti_fatal_once("Portals cannot connect to %s: %s%s", gasneti_rank_name(rank), why, device);
}

void net_portals_trouble_init(void)
{
    char unused[1];
    softhca_trouble(unused, sizeof unused); /* status_trouble reports it from now on */
    PtlTroubleHandler(status_trouble);
}

/* Ends the job if a connection broke.  An Active Message is not acknowledged: if it is lost, no
 * event reports that, and the next message is sent over a new connection; only the count of broken
 * connections shows the loss. */
static ptl_sr_value_t drops(void)
{
    ptl_sr_value_t count = 0;
    return PtlNIStatus(net_portals.ni, PTL_SR_DROP_COUNT, &count) == PTL_OK ? count : 0;
}

static atomic_bool withdrawn; /* memory that peers reach */
static ptl_sr_value_t drops_before;

void net_portals_withdrawn(void)
{
    if (atomic_load(&withdrawn)) return;
    drops_before = drops();
    atomic_store(&withdrawn, true);
}

/* libportals discards requests for memory that is no more, and the requester is not told. */
static void check_drops(void)
{
    if (!atomic_load(&withdrawn) || gasneti_ending() || drops() == drops_before) return;
    gasneti_failed("a put or get of a peer names memory that is no more here: does it use a "
                   "segment after gex_Segment_Destroy?");
}

void net_portals_check_connections(void)
{
    ptl_sr_value_t breaks;
    check_drops();
    if (PtlNIStatus(net_portals.ni, PTL_SR_BREAKS, &breaks) != PTL_OK || breaks == 0) return;
    gasneti_failed("a connection broke: messages may be lost; look for the messages of the "
                   "processes at its ends, and check the device with ibv_devinfo "
                   "(PTL_DEBUG=8 shows which connection)");
}

void net_portals_queue_failed(const char *queue, int error)
{
    if (error == PTL_EQ_DROPPED)
        gasneti_fatal("the %s event queue has overflowed: flow control failed; %s", queue,
                      net_portals.flow ? "do all ranks have the same GASNET_PORTAL_* variables?"
                                       : "set GASNET_PORTAL_FLOW_CONTROL=1");
    gasneti_fatal("the %s event queue is broken: Portals says %s", queue,
                  PtlErrorStr((unsigned)error));
}

/* --- counters --- */

/* Other threads may post and reap meanwhile; each counter is read by one load. */
__attribute__((no_sanitize("thread"))) void net_peer_counts(const net_peer_t *peer,
                                                            struct net_peer_counts *counts)
{
    const gasnetc_loan_t *loan = &peer->loan;
    unsigned most = loan->most > loan->most_then ? loan->most : loan->most_then;
    const uint32_t in_flight = atomic_load_explicit(&peer->launched, memory_order_relaxed) -
                               atomic_load_explicit(&peer->landed, memory_order_relaxed);
    *counts = (struct net_peer_counts){
        .puts = peer->puts,
        .put_bytes = peer->put_bytes,
        .gets = peer->gets,
        .get_bytes = peer->get_bytes,
        .puts_not_inlined = peer->puts_not_inlined,
        .in_flight = in_flight,
        .in_flight_most = peer->in_flight_most > in_flight ? peer->in_flight_most : in_flight,
        .credits = loan->owned,
        .credits_now = loan->owned > loan->in_use ? (unsigned)(loan->owned - loan->in_use) : 0u,
        .credits_lowest = loan->owned > most ? (unsigned)(loan->owned - most) : 0u};
}

__attribute__((no_sanitize("thread"))) void net_counts(struct net_counts *counts)
{
    *counts =
        (struct net_counts){.registrations = atomic_load(&net_portals_rest.registrations),
                            .connections = net_portals_rest.peers,
                            .buffers = net_portals.chunks.total,
                            .buffers_most = net_portals.chunks.total - net_portals.chunks.fewest};
}

/* --- waiting threads --- */

static _Atomic uint32_t *sleeper;
static void (*wake_rank)(uint32_t rank);

/* Called in the thread of libportals, after it has stored events.  That thread may have taken an
 * arrival before the word was set, and logged the event after the last poll of the sleeping thread.
 */
static void status_progress(void)
{
    atomic_signal_fence(memory_order_seq_cst); /* pairs with the membarrier of the sleeper */
    if (atomic_load_explicit(sleeper, memory_order_relaxed) == 0) return;
    const uint32_t number = atomic_exchange(sleeper, 0);
    if (number) wake_rank(number - 1);
}

/* The software device wakes at each arrival, also of a put to memory; a real device does not. */
_Atomic uint32_t *net_sleeper(void (*wake)(uint32_t rank))
{
    char port[120] = "";
    PtlDeviceText(net_portals.ni, port, sizeof port);
    if (strncmp(port, "softhca", strlen("softhca"))) return NULL;
    wake_rank = wake;
    sleeper = (_Atomic uint32_t *)softhca_sleeper(wake);
    if (sleeper) PtlProgressHandler(status_progress);
    return sleeper;
}

/* --- the receive thread --- */

static int wake_fd = -1;
static atomic_bool armed;

void net_portals_wake_init(void)
{
    if (!gasnetc_params.rcv_thread) return;
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0) gasneti_fatal("no file descriptor for the receive thread; raise ulimit -n");
    net_portals.sleeps = true;
}

void net_portals_wake(ptl_event_t *event)
{
    GASNETI_UNCANCELLED;
    const uint64_t one = 1;
    /* Only events that lead to a handler wake the thread. */
    if (event->type != PTL_EVENT_PUT_END || !atomic_exchange(&armed, false)) return;
    ssize_t written = write(wake_fd, &one, sizeof one);
    (void)written;
}

/* One channel for the events of Portals. */
unsigned net_rx_channels(void)
{
    return 1;
}

void net_spare_own(net_spare_t *spare)
{
    (void)spare; /* the network owns the buffers */
}

void net_arm(unsigned channel)
{
    GASNETI_UNCANCELLED;
    uint64_t old;
    (void)channel;
    ssize_t got = read(wake_fd, &old, sizeof old);
    (void)got;
    atomic_store(&armed, true);
}

/* Sleeps.  No event announces work that a poll left for lack of resources or at a limit: the sleep
 * is 1 ms then. */
void net_block(unsigned channel)
{
    GASNETI_UNCANCELLED;
    (void)channel;
    struct pollfd wait = {.fd = wake_fd, .events = POLLIN};
    bool waiting = atomic_load_explicit(&net_portals.waiting, memory_order_relaxed);
    poll(&wait, 1, waiting ? 1 : -1);
}
