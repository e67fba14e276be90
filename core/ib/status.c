/* status.c - failed work requests, in words: operation, peer, cause, what to check.
 *
 * Called from the posting and reaping paths, which go on: the next poll ends the job, unless it was
 * ending already.
 */
#include <stdio.h>

#include "core/ib/rail.h"
#include "core/params.h"
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
    }
    return "an operation with";
}

/* What the devices have reported, which is usually the reason for what failed, and what to check
 * then; NULL when they are content. */
typedef struct report {
    char text[256];
    const char *advice;
} report_t;

static report_t ask_devices(void)
{
    report_t report = {.text = ""};
    size_t used = 0;
    for (uint32_t i = 0; i < net_ib_rails.hcas; i++) {
        const struct net_ib_hca *hca = &net_ib_rails.hca[i];
        hca_event_t event;
        while (used < sizeof report.text - 2 && hca_next_event(hca->hca, &event)) {
            char where[24] = "";
            if (event.kind == HCA_EVENT_NEWS) continue;
            if (!report.advice) report.advice = net_ib_event_advice(event.kind);
            if (event.port) snprintf(where, sizeof where, " port %u", event.port);
            used +=
                (size_t)snprintf(report.text + used, sizeof report.text - used - 1, "%s%s%s: %s",
                                 used ? ", " : " (reported by ", hca->name, where, event.text);
        }
    }
    if (used) strcat(report.text, ")");
    return report;
}

static void tell(const char *what, net_peer_t *peer, const hca_wc_t *wc)
{
    report_t report = ask_devices();
    const hca_failure_t failure = hca_wc_failure(wc);
    char vendor[40] = "";
    if (failure.vendor) snprintf(vendor, sizeof vendor, ", vendor's code %#x", failure.vendor);
    gasneti_failed("%s %s failed: %s%s%s; %s", what, gasneti_rank_name(peer->rank), failure.text,
                   vendor, report.text,
                   report.advice ? report.advice : net_ib_cause_advice(failure.cause));
}

/* What the operation holds stays held: the job ends, and the device may still look at it. */
void net_ib_send_failed(net_peer_t *peer, net_slot_t *slot, const hca_wc_t *wc)
{
    slot->sent.held = NULL;
    tell(operation_name(slot->operation), peer, wc);
}

void net_ib_recv_failed(net_peer_t *peer, const hca_wc_t *wc)
{
    if (hca_wc_failure(wc).cause != HCA_CAUSE_FLUSHED) {
        tell("receiving from", peer, wc);
        return;
    }
    net_reap(); /* the send side of the same queue pair tells the cause, if it has failed */
    report_t report = ask_devices();
    gasneti_failed("the connection to %s failed%s; %s", gasneti_rank_name(peer->rank), report.text,
                   report.advice ? report.advice
                                 : "check the device with ibv_devinfo and the system log");
}

void net_ib_post_failed(const net_qp_t *qp, const char *what, int error)
{
    report_t report = ask_devices();
    gasneti_failed("%s: posting %s for %s failed: %s%s; %s", net_ib_rails.hca[qp->here].name, what,
                   gasneti_rank_name(qp->lane.peer->rank), strerror(error), report.text,
                   report.advice  ? report.advice
                   : error == EIO ? net_ib_event_advice(HCA_EVENT_DEVICE)
                                  : net_ib_cause_advice(HCA_CAUSE_LOCAL_DEVICE));
}
