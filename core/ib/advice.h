/* advice.h - why work requests fail, and what to check: the causes and events to which the shims
 * map the codes of their verbs, and a text for each.  Pure.
 */
#pragma once

/* Why a work request failed. */
enum hca_cause {
    HCA_CAUSE_PEER_GONE,     /* the peer acknowledges nothing */
    HCA_CAUSE_NOT_READY,     /* the peer had no receive posted */
    HCA_CAUSE_FLUSHED,       /* the queue pair had failed before */
    HCA_CAUSE_REMOTE_ACCESS, /* the peer's device refused the address or key */
    HCA_CAUSE_PROTOCOL,      /* the two ends do not follow the same protocol */
    HCA_CAUSE_REMOTE_DEVICE, /* the peer's device could not perform the operation */
    HCA_CAUSE_LOCAL_ACCESS,  /* the local address or key is wrong */
    HCA_CAUSE_LENGTH,        /* message longer than the buffer */
    HCA_CAUSE_LOCAL_DEVICE,  /* the local device could not perform the operation */
    HCA_CAUSE_NOT_POSTED,    /* a status of operations that this library never posts */
    HCA_CAUSE_UNKNOWN,       /* a status newer than this library */
    HCA_CAUSES
};

/* Asynchronous events of a device. */
enum hca_event_kind {
    HCA_EVENT_INFO,        /* no failure */
    HCA_EVENT_DEVICE,      /* removed, or reset */
    HCA_EVENT_PORT,        /* down */
    HCA_EVENT_PORT_ACTIVE, /* usable again */
    HCA_EVENT_ADDRESS,     /* the address of the port has changed */
    HCA_EVENT_OVERFLOW,    /* a completion queue lost completions */
    HCA_EVENT_QUEUE,       /* a queue pair or receive queue is broken */
    HCA_EVENT_REFUSED,     /* the local device refused a peer's request */
    HCA_EVENT_UNKNOWN,     /* a kind newer than this library */
    HCA_EVENTS
};

/* The cause of a completion's status, whose number is that of the IB Verbs; VAPI shares the numbers
 * up to 18.
 */
enum { HCA_STATUS_GENERAL = 21 };
enum hca_cause hca_status_cause(unsigned status);

/* What to check after a failure with this cause: text that follows a semicolon. */
const char *net_ib_cause_advice(enum hca_cause cause);

/* What to check after an event: text that follows a semicolon; NULL for HCA_EVENT_INFO and
 * HCA_EVENT_PORT_ACTIVE. */
const char *net_ib_event_advice(enum hca_event_kind kind);
