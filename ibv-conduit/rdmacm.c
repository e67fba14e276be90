/* rdmacm.c - peers meet by the RDMA connection manager: the use of other/connect/rdmacm for struct
 * net_ib_manager.
 *
 * Each process has one listener.  Each pair of processes gets one connection, at first use; its id
 * lives as long as the queue pair, since ending it would end the connection.  Called by the thread
 * of core/ib/connect_on_demand.c, but for opening and closing.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/ib/meeting.h"
#include "core/ib/software_device.h"
#include "core/job/rank.h"
#include "core/network.h"
#include "core/params/params.h"
#include "core/report.h"
#include "other/base/clock.h"
#include "other/connect/rdmacm/connection.h"
#include "other/connect/rdmacm/engine.h"
#include "other/connect/rdmacm/greeting.h"

_Static_assert(sizeof(rdmacm_address_t) <= sizeof((net_ib_address_t *)0)->managed.address,
               "an address fits");

/* A peer to which a connection has begun. */
typedef struct connection {
    rdmacm_connection_t connection;
    net_peer_t *peer;
    struct rdma_cm_id *id;
    net_qp_t *qp; /* until the peer's record has it */
    bool called;  /* this end called: on iWARP it sends first */
    char failure[128];
    uint8_t greeting[RDMACM_GREETING];
    struct connection *next;
} connection_t;

static struct {
    uint32_t processes;
    bool software;
    struct ibv_context **devices;
    rdmacm_address_t address;
    uint64_t key;
    int wake;
    connection_t **connection; /* [processes]; NULL: no connection has begun */
    connection_t *connections;
    rdmacm_times_t times;
} cm = {.wake = -1};

/* --- devices --- */

static bool rdmacm_open(char *why, size_t size)
{
    rdmacm_finder_t find = net_ib_software_manager();
    cm.software = find != NULL;
    if (!find) find = rdmacm_library(why, size);
    if (!find || !rdmacm_engine_open(find, why, size)) return false;
    cm.devices = rdmacm_devices(NULL);
    if (!cm.devices) snprintf(why, size, "it has no devices: %s", strerror(errno));
    return cm.devices != NULL;
}

static hca_t rdmacm_device(int i, char name[64])
{
    hca_t hca = cm.devices[i];
    snprintf(name, 64, "%s", hca ? ibv_get_device_name(hca->device) : "");
    if (hca) fcntl(hca->async_fd, F_SETFL, O_NONBLOCK);
    return hca;
}

/* True if the port has an IP address by which other hosts reach it, not one of the loopback
 * interface. */
static bool rdmacm_has_address(hca_t hca, uint8_t port)
{
    return rdmacm_own_address(hca, port, cm.software, &cm.address);
}

static const char *rdmacm_address(void)
{
    static char text[RDMACM_ADDRESS_TEXT];
    return rdmacm_address_text(&cm.address, text);
}

static void rdmacm_close(void)
{
    if (cm.devices) rdmacm_devices_free(cm.devices);
    rdmacm_engine_close();
    memset(&cm, 0, sizeof cm);
    cm.wake = -1;
}

/* --- connections --- */

static const char *device(void)
{
    return net_ib_rails.hca[0].name;
}

static rdmacm_address_t address_of(const connection_t *connection)
{
    rdmacm_address_t address;
    memcpy(&address, net_ib_contact(connection->peer->rank)->address.managed.address,
           sizeof address);
    return address;
}

static connection_t *link_to(uint32_t rank)
{
    connection_t *connection = cm.connection[rank];
    if (connection) return connection;
    connection = calloc(1, sizeof *connection);
    if (!connection) net_ib_cannot_connect(rank, device(), "no record of it", ENOMEM);
    connection->peer = net_ib_peer(rank);
    connection->connection.lower = gasnetc_job.rank < rank;
    const rdmacm_greeting_t greeting = {.key = net_ib_contact(rank)->address.managed.key,
                                        .from = gasnetc_job.rank,
                                        .to = rank,
                                        .word = RDMACM_HELLO};
    rdmacm_greeting_encode(&greeting, connection->greeting);
    snprintf(connection->failure, sizeof connection->failure,
             "it does not answer the connection manager");
    connection->next = cm.connections;
    return cm.connections = cm.connection[rank] = connection;
}

static rdmacm_terms_t terms(const connection_t *connection)
{
    const net_ib_reads_t reads = net_ib_reads();
    return (rdmacm_terms_t){.private_data = connection->greeting,
                            .private_length = sizeof connection->greeting,
                            .reads_served = reads.served,
                            .reads_started = reads.started,
                            .timeout = (uint8_t)gasnetc_params.qp_timeout,
                            .retries = (uint8_t)gasnetc_params.qp_retry_count};
}

/* A step of an attempt was refused by this host, or an event reports its failure. */
static unsigned failed(connection_t *connection, const char *failure)
{
    snprintf(connection->failure, sizeof connection->failure, "%s", failure);
    return rdmacm_failed(&connection->connection, false, gasneti_clock(), &cm.times);
}

static unsigned step_failed(connection_t *connection, const char *what, int error)
{
    char text[sizeof connection->failure];
    if (!error) return 0;
    snprintf(text, sizeof text, "%s: %s", what, strerror(error));
    return failed(connection, text);
}

static void abandon(connection_t *connection)
{
    if (connection->id) rdmacm_id_destroy(connection->id);
    if (connection->qp) net_ib_destroy_qps(connection->qp);
    connection->id = NULL;
    connection->qp = NULL;
}

static unsigned resolve(connection_t *connection)
{
    const rdmacm_address_t to = address_of(connection);
    connection->called = true;
    return step_failed(connection, "its address is refused",
                       rdmacm_id_create(&cm.address, &to, connection, &connection->id));
}

static unsigned call(connection_t *connection)
{
    const rdmacm_terms_t how = terms(connection);
    connection->qp = net_ib_make_qps(connection->peer);
    int error = rdmacm_id_prepare(connection->id, connection->qp->qp);
    if (!error) error = rdmacm_id_call(connection->id, connection->qp->qp, &how);
    return step_failed(connection, "the request is refused", error);
}

/* Hands the queue pair over to the peer's record. */
static void adopt(connection_t *connection)
{
    const net_ib_contact_t *contact = net_ib_contact(connection->peer->rank);
    net_ib_adopt_qp(connection->peer, connection->qp, contact->rail[0].device, &contact->rings);
    connection->qp = NULL;
}

static void cannot(const connection_t *connection, const char *what, int error)
{
    if (error && !gasneti_ending())
        net_ib_cannot_connect(connection->peer->rank, device(), what, error);
}

static void accept_call(connection_t *connection, struct rdma_cm_id *id)
{
    const rdmacm_terms_t how = terms(connection);
    hca_qp_t qp;
    connection->id = id;
    id->context = connection;
    connection->called = false;
    connection->qp = net_ib_make_qps(connection->peer);
    qp = connection->qp->qp;
    int error = rdmacm_id_prepare(id, qp);
    if (!error) adopt(connection);
    if (!error) error = rdmacm_id_accept(id, qp, &how);
    cannot(connection, "its connection cannot be accepted", error);
}

static void establish(connection_t *connection)
{
    const rdmacm_terms_t how = terms(connection);
    hca_qp_t qp = connection->qp->qp;
    adopt(connection);
    cannot(connection, "its queue pair is refused", rdmacm_id_establish(connection->id, qp, &how));
}

/* Opens the send rings.  On iWARP the end that was called opens them when the first message arrives
 * (system_messages.c). */
static void open_link(connection_t *connection)
{
    if (net_ib.wordy && !connection->called) return;
    if (net_ib.wordy) net_ib_send_first(net_ib_am(connection->peer));
    net_ib_open_qps(connection->peer);
}

static void reject(const connection_t *connection, struct rdma_cm_id *id)
{
    uint8_t bytes[RDMACM_GREETING];
    const rdmacm_greeting_t greeting = {
        .key = net_ib_contact(connection->peer->rank)->address.managed.key,
        .from = gasnetc_job.rank,
        .to = connection->peer->rank,
        .word = RDMACM_CROSSED};
    rdmacm_greeting_encode(&greeting, bytes);
    rdmacm_id_reject(id, bytes, sizeof bytes);
    rdmacm_id_destroy(id);
}

static void give_up(const connection_t *connection)
{
    char text[RDMACM_ADDRESS_TEXT];
    const rdmacm_address_t address = address_of(connection);
    net_ib_unanswered(connection->peer->rank);
    if (gasneti_ending()) return;
    net_ib_not_met(connection->peer->rank, device(), rdmacm_address_text(&address, text),
                   connection->failure, cm.times.give_up);
}

/* `id`: of the request that has arrived, if any.  A step that fails at once gives further actions.
 */
static void perform(connection_t *connection, unsigned actions, struct rdma_cm_id *id)
{
    while (actions) {
        unsigned more = 0;
        if (actions & RDMACM_ABANDON) abandon(connection);
        if (actions & RDMACM_RESOLVE) more = resolve(connection);
        if (actions & RDMACM_ROUTE)
            more = step_failed(connection, "no route to it", rdmacm_id_route(connection->id));
        if (actions & RDMACM_CALL) more = call(connection);
        if (id && actions & RDMACM_ACCEPT) accept_call(connection, id);
        if (id && actions & RDMACM_REJECT) reject(connection, id);
        if (actions & RDMACM_ESTABLISH) establish(connection);
        if (actions & RDMACM_OPEN) open_link(connection);
        if (actions & RDMACM_GIVE_UP) give_up(connection);
        actions = more;
    }
}

/* --- events --- */

static bool parse(const rdmacm_event_t *event, rdmacm_greeting_t *greeting)
{
    return !rdmacm_greeting_parse(event->private_data, event->private_length, cm.key,
                                  gasnetc_job.rank, cm.processes, greeting) &&
           net_ib_peer(greeting->from);
}

/* Answers a request; one that is not of this job is refused. */
static void on_request(rdmacm_event_t *event)
{
    rdmacm_greeting_t greeting;
    struct rdma_cm_id *id = event->id;
    const bool ours = parse(event, &greeting) && greeting.word == RDMACM_HELLO;
    rdmacm_done(event);
    if (ours) {
        connection_t *connection = link_to(greeting.from);
        perform(connection, rdmacm_requested(&connection->connection), id);
    } else {
        rdmacm_id_reject(id, NULL, 0);
        rdmacm_id_destroy(id);
    }
}

static unsigned on_failure(connection_t *connection, const rdmacm_event_t *event)
{
    rdmacm_greeting_t greeting;
    if (parse(event, &greeting) && greeting.word == RDMACM_CROSSED)
        return rdmacm_failed(&connection->connection, true, gasneti_clock(), &cm.times);
    return failed(connection, event->text);
}

static unsigned on_event(connection_t *connection, const rdmacm_event_t *event)
{
    switch (event->kind) {
    case RDMACM_EVENT_RESOLVED:
        return rdmacm_resolved(&connection->connection);
    case RDMACM_EVENT_ROUTED:
        return rdmacm_routed(&connection->connection);
    case RDMACM_EVENT_ANSWERED:
        return rdmacm_answered(&connection->connection);
    case RDMACM_EVENT_ESTABLISHED:
        return rdmacm_established(&connection->connection);
    case RDMACM_EVENT_FAILED:
        return on_failure(connection, event);
    default:
        return 0;
    }
}

static void meet_receive(void)
{
    rdmacm_event_t event;
    while (rdmacm_next(&event)) {
        if (event.kind == RDMACM_EVENT_REQUESTED) {
            on_request(&event);
            continue;
        }
        connection_t *connection = event.context;
        const unsigned actions = connection ? on_event(connection, &event) : 0;
        rdmacm_done(&event);
        if (actions) perform(connection, actions, NULL);
    }
}

/* --- the meeting --- */

static bool meet_open(uint32_t processes, char *why, size_t why_size)
{
    cm.processes = processes;
    cm.connection = calloc(processes, sizeof *cm.connection);
    cm.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!cm.connection || cm.wake < 0)
        gasneti_fatal("cannot prepare to connect %u peers: %s", processes - 1, strerror(errno));
    if (getrandom(&cm.key, sizeof cm.key, 0) != sizeof cm.key)
        gasneti_fatal("getrandom: no random numbers for the key of this process");
    cm.times =
        (rdmacm_times_t){.first = 0.02, .longest = 0.5, .give_up = net_ib_meeting_patience()};
    const int error = rdmacm_listen(&cm.address);
    if (!error) return true;
    char text[RDMACM_ADDRESS_TEXT];
    snprintf(why, why_size, "%s: cannot listen at %s: %s", device(),
             rdmacm_address_text(&cm.address, text), strerror(error));
    return false;
}

static net_ib_address_t meet_address(void)
{
    net_ib_address_t address = {.managed = {.key = cm.key}};
    memcpy(address.managed.address, &cm.address, sizeof cm.address);
    return address;
}

/* Nothing to arm: the event channel stays readable while it has events. */
static void meet_arm(void) {}

static void meet_want(uint32_t rank)
{
    connection_t *connection = link_to(rank);
    perform(connection, rdmacm_want(&connection->connection, gasneti_clock(), &cm.times), NULL);
}

static double meet_repeat(void)
{
    double first = -1;
    for (connection_t *connection = cm.connections; connection; connection = connection->next) {
        perform(connection, rdmacm_tick(&connection->connection, gasneti_clock(), &cm.times), NULL);
        const double due = rdmacm_due(&connection->connection, &cm.times);
        if (due >= 0 && (first < 0 || due < first)) first = due;
    }
    const double now = gasneti_clock();
    return first < 0 ? -1 : first > now ? first - now : 0;
}

static void meet_sleep(double seconds)
{
    struct pollfd wait[2] = {{.fd = rdmacm_descriptor(), .events = POLLIN},
                             {.fd = cm.wake, .events = POLLIN}};
    eventfd_t count;
    const int ms = seconds < 0 ? -1 : seconds > 1e6 ? 1000000000 : (int)(seconds * 1e3) + 1;
    if (poll(wait, 2, ms) > 0 && wait[1].revents) eventfd_read(cm.wake, &count);
}

static void meet_wake(void)
{
    eventfd_write(cm.wake, 1);
}

static void meet_close(void)
{
    for (connection_t *connection = cm.connections, *next; connection; connection = next) {
        next = connection->next;
        abandon(connection);
        free(connection);
    }
    free(cm.connection);
    cm.connection = NULL;
    cm.connections = NULL;
    close(cm.wake);
    cm.wake = -1;
}

static const struct net_ib_meeting meeting = {.open = meet_open,
                                              .address = meet_address,
                                              .arm = meet_arm,
                                              .receive = meet_receive,
                                              .want = meet_want,
                                              .repeat = meet_repeat,
                                              .sleep = meet_sleep,
                                              .wake = meet_wake,
                                              .close = meet_close};

const struct net_ib_manager net_ib_rdmacm = {.open = rdmacm_open,
                                             .device = rdmacm_device,
                                             .has_address = rdmacm_has_address,
                                             .address = rdmacm_address,
                                             .close = rdmacm_close,
                                             .meeting = &meeting};
