/* connection.h - two processes connect a queue pair by the RDMA connection manager: the state
 * machine of one end.  README.md describes the protocol.
 *
 * No I/O, no clock, no lock, no allocation.  The caller passes in each event and the time of it,
 * and performs the returned set of actions in the order of the enum.
 */
#ifndef RDMACM_LINK_H
#define RDMACM_LINK_H

#include <stdbool.h>

enum rdmacm_action {
    RDMACM_ABANDON = 1,    /* end the own attempt: its id, and the queue pair if one was made */
    RDMACM_RESOLVE = 2,    /* begin an attempt: an id, which resolves the peer's address */
    RDMACM_ROUTE = 4,      /* resolve the route */
    RDMACM_CALL = 8,       /* make the queue pair, and send the request */
    RDMACM_ACCEPT = 16,    /* make the queue pair, and accept the request that has just arrived */
    RDMACM_REJECT = 32,    /* refuse that request, and say that the own attempt stands */
    RDMACM_ESTABLISH = 64, /* the request was accepted: connect the queue pair, confirm */
    RDMACM_OPEN = 128,     /* the queue pairs of this process and the peer are connected */
    RDMACM_GIVE_UP = 256   /* no attempt has succeeded, and none follows */
};

enum rdmacm_state {
    RDMACM_NONE,
    RDMACM_RESOLVING,
    RDMACM_ROUTING,
    RDMACM_CALLING,
    RDMACM_WAITING, /* for the next attempt, or for the peer's request */
    RDMACM_ACCEPTED,
    RDMACM_CONNECTED,
    RDMACM_FAILED
};

/* Zeroed but for `lower`: the initial state. */
typedef struct rdmacm_connection {
    enum rdmacm_state state;
    bool lower;   /* this process is lower than the peer, in an order that both know: its request
                     stands */
    bool wanted;  /* the engine has something to send to the peer */
    double since; /* the begin of the first attempt */
    double next, interval; /* WAITING: when to try again, and how long after that */
} rdmacm_connection_t;

/* Seconds. */
typedef struct rdmacm_times {
    double first, longest; /* between attempts; each interval is twice the one before */
    double give_up;        /* after the begin of the first attempt */
} rdmacm_times_t;

/* The functions below return a set of actions.  An event that does not fit the state, such as one
 * of an attempt that was abandoned, has none. */

/* Notes that the engine has something to send to the peer. */
unsigned rdmacm_want(rdmacm_connection_t *l, double now, const rdmacm_times_t *times);

/* Steps of the own attempt. */
unsigned rdmacm_resolved(rdmacm_connection_t *l);
unsigned rdmacm_routed(rdmacm_connection_t *l);
unsigned rdmacm_answered(rdmacm_connection_t *l);

/* A request of the peer has arrived. */
unsigned rdmacm_requested(rdmacm_connection_t *l);

/* The connection that was accepted here is complete; or the own request was accepted, where the
 * manager connects the queue pair itself. */
unsigned rdmacm_established(rdmacm_connection_t *l);

/* The attempt, or the connection that was accepted here, has failed.  `crossed`: the peer has
 * refused because its own attempt stands. */
unsigned rdmacm_failed(rdmacm_connection_t *l, bool crossed, double now,
                       const rdmacm_times_t *times);

/* When rdmacm_tick is due at the latest; below 0: never. */
double rdmacm_due(const rdmacm_connection_t *l, const rdmacm_times_t *times);
unsigned rdmacm_tick(rdmacm_connection_t *l, double now, const rdmacm_times_t *times);

#endif
