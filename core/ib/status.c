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

static const char *advice(enum hca_cause cause)
{
    switch (cause) {
    case HCA_CAUSE_PEER_GONE:
        return "it no longer answers: did it crash, or is the cable or switch at fault? "
               "GASNET_QP_TIMEOUT and GASNET_QP_RETRY_COUNT say how long to try";
    case HCA_CAUSE_NOT_READY:
        return "it had no receive buffer: the job's flow control is broken; please report this";
    case HCA_CAUSE_FLUSHED:
        return "the connection had failed before";
    case HCA_CAUSE_REMOTE_ACCESS:
        return "it refused the address: is the remote range inside the segment?";
    case HCA_CAUSE_LOCAL_ACCESS:
        return "the local range is not registered: was the memory unmapped during the transfer?";
    case HCA_CAUSE_LENGTH:
        return "the message was longer than the buffer: do all ranks run the same library?";
    case HCA_CAUSE_OTHER:
        break;
    }
    return "check the device with ibv_devinfo and the system log";
}

/* What the devices have reported: usually the reason for what failed. */
static const char *reported(void)
{
    static __thread char text[256];
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < net_ib_rails.hcas; i++) {
        const struct net_ib_hca *hca = &net_ib_rails.hca[i];
        unsigned port;
        const char *event;
        while (used < sizeof text && (event = hca_event(hca->hca, &port))) {
            char where[24] = "";
            if (port) snprintf(where, sizeof where, " port %u", port);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s: %s",
                                     used ? ", " : " (reported by ", hca->name, where, event);
        }
    }
    if (used && used < sizeof text - 1) strcat(text, ")");
    return text;
}

/* What the operation holds stays held: the job ends, and the device may still look at it. */
void net_ib_send_failed(net_peer_t *peer, net_slot_t *slot, const hca_wc_t *wc)
{
    slot->sent.held = NULL;
    gasneti_failed("%s %s failed: %s%s; %s", operation_name(slot->operation),
                   gasneti_rank_name(peer->rank), hca_wc_text(wc), reported(),
                   advice(hca_wc_cause(wc)));
}

void net_ib_recv_failed(net_peer_t *peer, const hca_wc_t *wc)
{
    enum hca_cause cause = hca_wc_cause(wc);
    if (cause == HCA_CAUSE_FLUSHED) {
        net_reap(); /* the send side of the same queue pair tells the cause, if it has failed */
        gasneti_failed("the connection to %s failed%s; check the device with ibv_devinfo and the "
                       "system log",
                       gasneti_rank_name(peer->rank), reported());
    } else {
        gasneti_failed("receiving from %s failed: %s%s; %s", gasneti_rank_name(peer->rank),
                       hca_wc_text(wc), reported(), advice(cause));
    }
}

void net_ib_post_failed(net_peer_t *peer, const char *what, int error)
{
    gasneti_failed("%s: posting a %s for %s failed: %s%s; %s", net_ib_rails.text, what,
                   gasneti_rank_name(peer->rank), strerror(error), reported(),
                   error == EIO ? "was the device removed, or its driver reset?"
                                : advice(HCA_CAUSE_OTHER));
}
