/* handshake.h - two processes connect a pair of queue pairs by datagrams: the state machine of one
 * end.  README.md describes the protocol.
 *
 * No I/O, no clock, no lock, no allocation.  The engine passes in each event and the time of it,
 * and performs the returned set of actions in the order of the enum.  Engines:
 * core/ib/connect_on_demand.c, other/portals3/src/transport/verbs_address.c with
 * verbs_connection.c.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "other/connect/handshake/handshake_wire.h"

enum handshake_action {
    HANDSHAKE_DROP = 1,   /* the remote queue pair is gone: destroy the local one */
    HANDSHAKE_MAKE = 2,   /* create a queue pair */
    HANDSHAKE_JOIN = 4,   /* connect it to that of the message just received; post receives */
    HANDSHAKE_OPEN = 8,   /* the remote end can receive: from now on it may be sent to */
    HANDSHAKE_SEND = 16,  /* send handshake_message() */
    HANDSHAKE_SILENT = 32 /* the peer does not answer, and is not asked any more */
};

/* Zeroed: the initial state. */
typedef struct handshake {
    uint64_t mine, theirs; /* stamps of the queue pairs; 0: not created, not connected */
    uint64_t last;         /* the latest stamp ever used at this end */
    uint64_t dead;         /* the latest stamp of the peer that was connected to and dropped */
    bool wanted;           /* the engine has something to send to the peer */
    bool open;
    bool waiting;          /* for the peer; the times below are valid */
    double since;          /* of the last message received, or of the begin of the waiting */
    double next, interval; /* when to repeat the message, and how long after that again */
} handshake_t;

/* Seconds. */
typedef struct handshake_times {
    double first, longest; /* between repetitions; each interval is twice the one before */
    double give_up;        /* without a message from the peer */
} handshake_times_t;

/* `now`: seconds of a monotonic clock.  `stamp`: not 0, for a queue pair that is created at this
 * moment.  Where a peer may be replaced by a later process of the same name, both take stamps from
 * one real-time clock; otherwise any constant serves. */
typedef struct handshake_moment {
    double now;
    uint64_t stamp;
} handshake_moment_t;

/* The functions from handshake_want to handshake_reset return a set of actions. */

/* Notes that the engine has something to send to the peer. */
unsigned handshake_want(handshake_t *h, handshake_moment_t at, const handshake_times_t *times);

/* Handles a message that was received. */
unsigned handshake_receive(handshake_t *h, const handshake_message_t *message,
                           handshake_moment_t at, const handshake_times_t *times);

/* To be called no later than h->next while h->waiting. */
unsigned handshake_tick(handshake_t *h, double now, const handshake_times_t *times);

/* Handles the report of the peer's host that no process has this name. Ignored during the first
 * `least` seconds of waiting, in which the peer may still be starting. */
unsigned handshake_refused(handshake_t *h, double now, double least);

/* Drops the queue pair, which has failed, or whose silent peer the engine gives up. All but the
 * stamps begins anew. */
unsigned handshake_reset(handshake_t *h);

/* The message that HANDSHAKE_SEND sends, without payload. */
handshake_message_t handshake_message(const handshake_t *h);

#endif
