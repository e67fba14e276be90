/* advice.h - why operations on an InfiniBand pair fail, and what to check: causes and events as the
 * shims sort their verbs' codes, and the words for each.
 *
 * Pure, and known to the shims, which have no words of their own.
 */
#ifndef NET_IB_WORDS_H
#define NET_IB_WORDS_H

/* Why a work request failed. */
enum hca_cause {
    HCA_CAUSE_PEER_GONE,     /* the peer acknowledges nothing */
    HCA_CAUSE_NOT_READY,     /* it had no receive posted */
    HCA_CAUSE_FLUSHED,       /* the queue pair had failed before */
    HCA_CAUSE_REMOTE_ACCESS, /* the peer's device refused the address or key */
    HCA_CAUSE_DISAGREE,      /* one end does not understand the other */
    HCA_CAUSE_REMOTE_DEVICE, /* the peer's device could not do it */
    HCA_CAUSE_LOCAL_ACCESS,  /* our own address or key */
    HCA_CAUSE_LENGTH,        /* message longer than the buffer */
    HCA_CAUSE_LOCAL_DEVICE,  /* our device could not do it */
    HCA_CAUSE_NOT_OURS,      /* a status of operations that this library never posts */
    HCA_CAUSE_UNKNOWN,       /* a status newer than this library */
    HCA_CAUSES
};

/* What a device says besides completions. */
enum hca_event_kind {
    HCA_EVENT_NEWS,        /* nothing is wrong */
    HCA_EVENT_DEVICE,      /* removed, or reset */
    HCA_EVENT_PORT,        /* down */
    HCA_EVENT_PORT_ACTIVE, /* nothing is wrong with it any more */
    HCA_EVENT_ADDRESS,     /* how others reach the port has changed */
    HCA_EVENT_OVERFLOW,    /* a completion queue lost completions */
    HCA_EVENT_QUEUE,       /* a queue pair or receive queue is broken */
    HCA_EVENT_REFUSED,     /* a peer's request was refused here */
    HCA_EVENT_UNKNOWN,     /* newer than this library */
    HCA_EVENTS
};

/* The cause of a completion's status, by the numbers of the IB Verbs; VAPI shares those up to 18.
 */
enum { HCA_STATUS_GENERAL = 21 };
enum hca_cause hca_status_cause(unsigned status);

/* What to check, in words that follow a semicolon. */
const char *net_ib_cause_advice(enum hca_cause cause);

/* The same; NULL for HCA_EVENT_NEWS and HCA_EVENT_PORT_ACTIVE. */
const char *net_ib_event_advice(enum hca_event_kind kind);

#endif
