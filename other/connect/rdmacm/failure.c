/* failure.c - the words of failure.h. */
#include "other/connect/rdmacm/failure.h"

#include <stdio.h>
#include <string.h>

static const char *event_text(enum rdma_cm_event_type event)
{
    switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
        return "its address cannot be resolved";
    case RDMA_CM_EVENT_ROUTE_ERROR:
        return "no route to its address is found";
    case RDMA_CM_EVENT_CONNECT_ERROR:
        return "the connection manager has failed";
    case RDMA_CM_EVENT_UNREACHABLE:
        return "it does not answer the connection manager";
    case RDMA_CM_EVENT_REJECTED:
        return "it refuses the connection";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        return "the device was removed";
    default:
        return "the connection manager reports an event that this library does not know";
    }
}

/* Reasons of the REJ message of InfiniBand that can occur here. */
static const char *reason_text(int reason)
{
    static const struct {
        int reason;
        const char *text;
    } reasons[] = {{1, "no queue pair is available there"},
                   {3, "no resources are available there"},
                   {4, "it has waited for an answer in vain"},
                   {8, "no process listens there"},
                   {10, "the connection is stale"},
                   {13, "the port is redirected"},
                   {24, "it has no RDMA reads to spare"},
                   {28, "by the process itself"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].reason == reason) return reasons[i].text;
    return NULL;
}

void rdmacm_failure_text(enum rdma_cm_event_type event, int status, char *text, size_t size)
{
    const char *reason = event == RDMA_CM_EVENT_REJECTED && status > 0 ? reason_text(status) : NULL;
    if (reason)
        snprintf(text, size, "%s: %s", event_text(event), reason);
    else if (status < 0)
        snprintf(text, size, "%s: %s", event_text(event), strerror(-status));
    else
        snprintf(text, size, "%s (status %d)", event_text(event), status);
}
