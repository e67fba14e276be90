/* status.c - error messages of failed work requests: operation, peer, cause, what to check.
 *
 * Called from the posting and reaping paths, which continue; the next poll ends the job.
 */
#include <stdio.h>

#include "core/ib/connect.h"
#include "core/ib/meeting.h"
#include "core/ib/rail.h"
#include "core/params/params.h"
#include "core/report.h"

static const char *operation_name(enum net_operation operation)
{
    switch (operation) {
    case NET_OP_PUT:
        return "a put to";
    case NET_OP_GET:
        return "a get from";
    case NET_OP_AM:
        return "an Active Message to";
    case NET_OP_SYS:
        return "a system message to";
    case NET_OP_ATOMIC:
        return "an atomic operation on";
    }
    return "an operation with";
}

/* The asynchronous events of the devices, which usually are the cause of a failure, and what to
 * check then; advice is NULL when no event was reported. */
typedef struct report {
    char text[512];
    const char *advice;
} report_t;

static report_t ask_devices(void)
{
    report_t report;
    report.advice = net_ib_events_report(report.text, sizeof report.text);
    return report;
}

/* What to check after a work request has failed. */
static const char *cause_advice(enum hca_cause cause)
{
    if (cause == HCA_CAUSE_PEER_GONE && net_ib_rails.rail[0].port.ethernet && !net_ib.wordy)
        return "it no longer answers: did it crash, is the cable or switch at fault, or does "
               "something between the hosts drop UDP port 4791 (RoCE v2)? GASNET_QP_TIMEOUT and "
               "GASNET_QP_RETRY_COUNT say how long to try";
    return net_ib_cause_advice(cause);
}

static void report_failure(const char *what, net_peer_t *peer, const hca_wc_t *wc)
{
    report_t report = ask_devices();
    const hca_failure_t failure = hca_wc_failure(wc);
    char vendor[40] = "";
    if (failure.vendor) snprintf(vendor, sizeof vendor, ", vendor's code %#x", failure.vendor);
    gasneti_failed("%s %s failed: %s%s%s; %s", what, gasneti_rank_name(peer->rank), failure.text,
                   vendor, report.text,
                   report.advice ? report.advice : cause_advice(failure.cause));
}

/* The buffers of the operation are not freed: the device may still access them. */
void net_ib_send_failed(net_peer_t *peer, net_slot_t *slot, const hca_wc_t *wc)
{
    slot->sent.held = 0;
    report_failure(operation_name(slot->operation), peer, wc);
}

void net_ib_recv_failed(net_peer_t *peer, const hca_wc_t *wc)
{
    if (hca_wc_failure(wc).cause != HCA_CAUSE_FLUSHED) {
        report_failure("receiving from", peer, wc);
        return;
    }
    net_reap(); /* reports the cause if the send side of the queue pair has failed */
    report_t report = ask_devices();
    gasneti_failed("the connection to %s failed%s; %s", gasneti_rank_name(peer->rank), report.text,
                   report.advice ? report.advice
                                 : "check the device with ibv_devinfo and the system log");
}

void net_ib_post_failed(const net_qp_t *qp, const char *what, int error)
{
    report_t report = ask_devices();
    gasneti_failed("%s: posting %s for %s failed: %s%s; %s", net_ib_rails.hca[qp->local_hca].name,
                   what, gasneti_rank_name(qp->send_ring.peer->rank), strerror(error), report.text,
                   report.advice  ? report.advice
                   : error == EIO ? net_ib_event_advice(HCA_EVENT_DEVICE)
                                  : net_ib_cause_advice(HCA_CAUSE_LOCAL_DEVICE));
}

/* What to check after an errno of a verb that makes a connection. */
static const char *errno_advice(int error)
{
    switch (error) {
    case ENOMEM:
        return "raise ulimit -v and ulimit -l, lower GASNET_NETWORKDEPTH_PP, or run fewer "
               "processes "
               "on a host";
    case EMFILE:
    case ENFILE:
        return "raise ulimit -n, or run fewer processes on a host";
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "its port cannot be reached: are cable and switch in order, and both ports on one "
               "fabric (ibv_devinfo)?";
    case EIO:
        return net_ib_event_advice(HCA_EVENT_DEVICE);
    default:
        return "do all ranks run the same library, and are their ports on one fabric "
               "(ibv_devinfo)?";
    }
}

static void __attribute__((noreturn, cold))
cannot_connect(uint32_t rank, const char *device, const char *what, int error, const char *advice)
{
    report_t report = ask_devices();
    gasneti_fatal_once("%s: cannot connect to %s: %s: %s%s; %s%s", device, gasneti_rank_name(rank),
                       what, strerror(error), report.text, report.advice ? report.advice : advice,
                       net_ib_memlock_advice(error));
}

void net_ib_cannot_connect(uint32_t rank, const char *device, const char *what, int error)
{
    cannot_connect(rank, device, what, error, errno_advice(error));
}

/* Fatal: the peer cannot be reached.  On Ethernet, a time-out or a missing route is a fault of the
 * network interface below the port, for which the message has advice of its own. */
void net_ib_cannot_reach(uint32_t rank, const struct net_ib_rail *rail, const hca_remote_t *remote,
                         const char *what, int error)
{
    const char *device = net_ib_rails.hca[rail->hca].name;
    const int kind = roce_common(&rail->gids.offer, &remote->gids);
    const bool lost = net_ib_route_timed_out(error) || error == EHOSTUNREACH ||
                      error == ENETUNREACH || error == EADDRNOTAVAIL;
    if (!rail->port.ethernet || kind < 0 || !lost) net_ib_cannot_connect(rank, device, what, error);
    char ping[160], advice[400];
    snprintf(advice, sizeof advice,
             "%s; if not, correct the addresses of the interfaces, or choose another GID "
             "with " NET_GID_VARIABLE " (ibv_devinfo -v lists them)",
             roce_ping_text(&rail->gids, &remote->gids, kind, ping, sizeof ping));
    cannot_connect(rank, device, what, error, advice);
}

void net_ib_no_route(uint32_t rank, const struct net_ib_rail *rail, const hca_remote_t *remote)
{
    char mine[ROCE_TEXT], theirs[ROCE_TEXT];
    const char *device = net_ib_rails.hca[rail->hca].name;
    if (!roce_one_partition(&rail->gids.offer, &remote->gids))
        gasneti_fatal_once("%s: cannot connect to %s: its port and port %u here are in different "
                           "partitions: %s; " NET_PKEY_VARIABLE " chooses another P_Key "
                           "(/sys/class/infiniband/%s/ports/%u/pkeys lists them)",
                           device, gasneti_rank_name(rank), rail->number,
                           roce_partition_text(&rail->gids.offer, &remote->gids, mine, sizeof mine),
                           device, rail->number);
    if (rail->port.ethernet != remote->gids.ethernet)
        gasneti_fatal_once("%s: cannot connect to %s: its port is one of %s, and port %u here one "
                           "of %s; " NET_PORTS_VARIABLE " selects ports on one fabric",
                           device, gasneti_rank_name(rank),
                           remote->gids.ethernet ? "Ethernet" : "InfiniBand", rail->number,
                           rail->port.ethernet ? "Ethernet" : "InfiniBand");
    gasneti_fatal_once("%s: cannot connect to %s: no GID of its port is of the type and network of "
                       "one of port %u here: there %s; here %s; assign addresses of one kind to "
                       "both hosts' interfaces, or choose GIDs of one type "
                       "with " NET_GID_VARIABLE " (ibv_devinfo -v lists them)",
                       device, gasneti_rank_name(rank), rail->number,
                       roce_offer_text(&remote->gids, theirs, sizeof theirs),
                       roce_offer_text(&rail->gids.offer, mine, sizeof mine));
}

void net_ib_handshake_failed(uint32_t rank, const char *device, const hca_failure_t *failure)
{
    report_t report = ask_devices();
    gasneti_fatal_once("%s: cannot connect to %s: the handshake failed: %s%s; %s", device,
                       gasneti_rank_name(rank), failure->text, report.text,
                       report.advice ? report.advice : net_ib_cause_advice(failure->cause));
}

void net_ib_not_met(uint32_t rank, const char *device, const char *address, const char *failure,
                    double seconds)
{
    report_t report = ask_devices();
    gasneti_fatal_once("%s: cannot connect to %s at %s in %.0f s: %s%s; %s", device,
                       gasneti_rank_name(rank), address, seconds, failure, report.text,
                       report.advice
                           ? report.advice
                           : "does it still run, or is it stopped? If it runs, do the "
                             "hosts reach each other by these addresses (ping), and does "
                             "nothing between them drop what the connection manager sends "
                             "(TCP for iWARP, UDP port 4791 for RoCE)?");
}
