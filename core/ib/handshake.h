/* handshake.h - how two processes join their queue pairs by datagrams, as a plain state machine.
 *
 * Both ends run the same machine, and either may begin, or both at once.  A greeting tells the
 * sender's queue pairs; its flags tell whether the sender has the receiver's (HAVE), and whether it
 * wants to be answered (ASK).  Who has the other's queue pairs has made room and is ready to
 * receive, and may say HAVE; who hears HAVE may send.  Who may not send yet repeats its greeting
 * until it may.  So a quiet hand-shake is
 *
 *     A, which wants to send                 B
 *     ASK                 ------------>      makes its queue pairs, joins them to A's
 *     joins, opens        <------------      HAVE | ASK
 *     HAVE                ------------>      opens
 *
 * Greetings may be lost, repeated, delayed and reordered: each says all there is to say, and a
 * queue pair never changes its number.  Every ASK is answered, nothing else is, so that greetings
 * die out.  Whoever gets no answer for too long gives up, which is an error only if something was
 * to be sent.
 *
 * No I/O, no clock, no lock: the engine (connect_on_demand.c) passes in what happened and when, and
 * acts upon what comes out, in the order of the enum.  tests/sim runs thousands of pairs of these.
 */
#ifndef NET_IB_HANDSHAKE_H
#define NET_IB_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum net_ib_greeting_flags {
    NET_IB_HAVE = 1, /* the sender has the receiver's queue pairs and is ready to receive */
    NET_IB_ASK = 2,  /* the sender may not send yet: please answer */
};

/* What the engine must do after a call. */
enum net_ib_handshake_action {
    NET_IB_MAKE = 1, /* make this end's queue pairs */
    NET_IB_JOIN = 2, /* join them to those of the greeting just heard; make room; be ready */
    NET_IB_OPEN = 4, /* from now on messages may be sent */
    NET_IB_SEND = 8, /* send a greeting with `flags` */
    NET_IB_FAIL = 16 /* nobody answers, and something was to be sent */
};

typedef struct net_ib_handshake {
    bool wanted; /* there is something to send */
    bool made, joined, open;
    bool waiting;     /* the times below count */
    double since;     /* seconds: when the peer was last heard, or the waiting began */
    double next;      /* when to repeat the greeting */
    double interval;  /* how long after that again */
    uint8_t flags;    /* of the greeting to send now */
    uint8_t repeated; /* greetings sent because none was heard, for people */
} net_ib_handshake_t;

/* Seconds. */
typedef struct net_ib_patience {
    double first, longest; /* between repetitions; each is twice the one before */
    double give_up;        /* without hearing anything */
} net_ib_patience_t;

/* All of these return a set of net_ib_handshake_action; a zeroed machine is one that has not begun.
 */

/* Something is to be sent to the peer. */
unsigned net_ib_handshake_want(net_ib_handshake_t *h, double now,
                               const net_ib_patience_t *patience);

/* A greeting with `flags` was heard. */
unsigned net_ib_handshake_hear(net_ib_handshake_t *h, uint8_t flags, double now,
                               const net_ib_patience_t *patience);

/* It is `now`; to be called no later than h->next while h->waiting. */
unsigned net_ib_handshake_tick(net_ib_handshake_t *h, double now,
                               const net_ib_patience_t *patience);

/* --- on the wire --- */

/* As many as fit into a datagram of the smallest MTU there is. */
enum { NET_IB_GREETING_QPS = 59, NET_IB_GREETING_MAX = 256 };

typedef struct net_ib_greeting {
    uint32_t magic;
    uint32_t rank; /* the sender's */
    uint8_t version, flags;
    uint16_t qps;
    uint32_t qp_number[NET_IB_GREETING_QPS]; /* as many as qps */
} net_ib_greeting_t;

static inline size_t net_ib_greeting_size(uint32_t qps)
{
    return offsetof(net_ib_greeting_t, qp_number) + qps * sizeof(uint32_t);
}

_Static_assert(sizeof(net_ib_greeting_t) <= NET_IB_GREETING_MAX, "a greeting is one datagram");

/* Fills in what is the same in every greeting. */
void net_ib_greeting_init(net_ib_greeting_t *greeting, uint32_t rank, uint32_t qps);

/* Takes `length` bytes of a job of `ranks` processes apart into an aligned copy.  NULL, or the name
 * of the field that is wrong. */
const char *net_ib_greeting_parse(const void *bytes, size_t length, uint32_t ranks,
                                  net_ib_greeting_t *greeting);

#endif
