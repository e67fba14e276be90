/* advice.c - the texts of advice.h.  Each says what to check next.
 */
#include "core/ib/advice.h"

static const char *const causes[HCA_CAUSES] = {
    [HCA_CAUSE_PEER_GONE] =
        "it no longer answers: did it crash, or is the cable or switch at fault? GASNET_QP_TIMEOUT "
        "and GASNET_QP_RETRY_COUNT say how long to try",
    [HCA_CAUSE_NOT_READY] =
        "it had no receive buffer: the job's flow control is broken; please report this",
    [HCA_CAUSE_FLUSHED] = "the connection had failed before: an earlier message has the cause",
    [HCA_CAUSE_REMOTE_ACCESS] = "it refused the address: is the remote range inside the segment, "
                                "and mapped there?",
    [HCA_CAUSE_PROTOCOL] =
        "the two ends disagree on the protocol: do all ranks run the same library with the "
        "same parameters, and their devices the same firmware?",
    [HCA_CAUSE_REMOTE_DEVICE] =
        "its device could not do it: look at the system log and ibv_devinfo on its host",
    [HCA_CAUSE_LOCAL_ACCESS] =
        "the local range is not registered: was the memory unmapped during the transfer?",
    [HCA_CAUSE_LENGTH] =
        "the message was longer than the buffer: do all ranks run the same library?",
    [HCA_CAUSE_LOCAL_DEVICE] =
        "this host's device could not do it: look at its system log and at ibv_devinfo",
    [HCA_CAUSE_NOT_POSTED] = "that is a status of operations which this library does not use: is "
                             "the driver the device's own? please report this",
    [HCA_CAUSE_UNKNOWN] = "this library does not know that status: is the verbs library newer? "
                          "check the device with ibv_devinfo and the system log",
};

static const char *const events[HCA_EVENTS] = {
    [HCA_EVENT_DEVICE] = "the device was removed or reset: look at the system log of its host",
    [HCA_EVENT_PORT] = "the port went down: check its cable and switch (ibv_devinfo)",
    [HCA_EVENT_ADDRESS] =
        "the address of the port, or its path in the fabric, has changed: was the "
        "subnet manager or the network restarted during the job?",
    [HCA_EVENT_OVERFLOW] = "a completion queue overflowed: lower GASNET_NETWORKDEPTH_PP or "
                           "GASNET_AM_CREDITS_PP, and please report this",
    [HCA_EVENT_QUEUE] = "a queue of the device broke: look at the system log and at ibv_devinfo",
    [HCA_EVENT_REFUSED] =
        "a request of a peer was refused here: does it use a segment after gex_Segment_Destroy, "
        "and do all ranks run the same program and library?",
    [HCA_EVENT_UNKNOWN] = "this library does not know that event: is the verbs library newer? "
                          "look at the system log",
};

enum hca_cause hca_status_cause(unsigned status)
{
    static const enum hca_cause of[] = {
        HCA_CAUSE_UNKNOWN,       /* success */
        HCA_CAUSE_LENGTH,        /* local length */
        HCA_CAUSE_LOCAL_DEVICE,  /* local queue pair operation */
        HCA_CAUSE_NOT_POSTED,    /* local EEC operation */
        HCA_CAUSE_LOCAL_ACCESS,  /* local protection */
        HCA_CAUSE_FLUSHED,       /* flushed */
        HCA_CAUSE_NOT_POSTED,    /* window bind */
        HCA_CAUSE_PROTOCOL,      /* bad response */
        HCA_CAUSE_LOCAL_ACCESS,  /* local access */
        HCA_CAUSE_PROTOCOL,      /* remote: invalid request */
        HCA_CAUSE_REMOTE_ACCESS, /* remote access */
        HCA_CAUSE_REMOTE_DEVICE, /* remote operation */
        HCA_CAUSE_PEER_GONE,     /* retries exceeded */
        HCA_CAUSE_NOT_READY,     /* RNR retries exceeded */
        HCA_CAUSE_NOT_POSTED,    /* RD domain violation */
        HCA_CAUSE_NOT_POSTED,    /* invalid RD request */
        HCA_CAUSE_REMOTE_DEVICE, /* aborted */
        HCA_CAUSE_NOT_POSTED,    /* EEC number */
        HCA_CAUSE_NOT_POSTED,    /* EEC state */
        HCA_CAUSE_LOCAL_DEVICE,  /* fatal */
        HCA_CAUSE_PEER_GONE,     /* response time-out */
        HCA_CAUSE_LOCAL_DEVICE,  /* general */
        HCA_CAUSE_NOT_POSTED,    /* tag matching */
        HCA_CAUSE_NOT_POSTED,    /* tag matching rendezvous */
    };
    return status < sizeof of / sizeof *of ? of[status] : HCA_CAUSE_UNKNOWN;
}

const char *net_ib_cause_advice(enum hca_cause cause)
{
    return causes[(unsigned)cause < HCA_CAUSES ? cause : HCA_CAUSE_UNKNOWN];
}

const char *net_ib_event_advice(enum hca_event_kind kind)
{
    return events[(unsigned)kind < HCA_EVENTS ? kind : HCA_EVENT_UNKNOWN];
}
