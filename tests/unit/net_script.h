/* net_script.h - the orders of a test to the scripted network, and the questions that it can ask
 * afterwards.
 *
 * Transfers move bytes when they complete, between real addresses of this process, so that data
 * inlined too late, freed too early or aimed outside a registration are detected. A call that
 * breaks the contract of core/network.h ends the program with the rule that it broke.
 */
#ifndef UNIT_NET_SCRIPT_H
#define UNIT_NET_SCRIPT_H

#include "core/network.h"

enum net_script_kind {
    NET_SCRIPT_PUT,
    NET_SCRIPT_GET,
    NET_SCRIPT_AM,
    NET_SCRIPT_SYS,
    NET_SCRIPT_REGISTER,
    NET_SCRIPT_DEREGISTER,
    NET_SCRIPT_ARRIVAL, /* handed to the core */
    NET_SCRIPT_REFILL,
    NET_SCRIPT_RELEASE,
    NET_SCRIPT_NOTE, /* by the test: net_script_note */
    NET_SCRIPT_KINDS
};

/* The values that net_counts and net_peer_counts report and do not count. */
enum {
    NET_SCRIPT_SPARES_OUT = 5,
    NET_SCRIPT_SHARED,
    NET_SCRIPT_CONNECTIONS,
    NET_SCRIPT_BY_RING,
    NET_SCRIPT_RINGS
};

/* A call that was made, in order. Postings answered refused are only counted. */
typedef struct net_script_event {
    enum net_script_kind kind;
    uint32_t rank;
    unsigned number;   /* index of the event among all, from 0 */
    const void *local; /* address in the memory of this node */
    uint64_t remote;   /* address in the memory of the peer */
    size_t length;
    uint32_t region;      /* id of the local registration, 0: inlined at the call */
    uint32_t key;         /* id of the remote registration */
    bool remote_use;      /* REGISTER: for peers too */
    bool wants_reply;     /* AM */
    enum net_order order; /* PUT */
    bool complete;        /* PUT, GET, AM: reaped */
    uint8_t *bytes;       /* AM, and inlined PUT: as they were at the call; SYS: the two words */
    uint64_t tag;         /* NOTE */
    gasnetc_sent_t sent;
} net_script_event_t;

typedef struct net_script {
    /* Orders. */
    struct net_caps caps; /* the capabilities that net_open reports */
    unsigned busy;        /* number of postings that are answered NET_BUSY before the next
                             is taken */
    unsigned connecting;  /* number of postings that are answered NET_CONNECTING before
                             those */
    unsigned refused_ams; /* number of Active Messages that are answered refused_as before those,
                             while puts and gets are taken */
    enum net_result refused_as;
    bool unready;              /* net_ready is false */
    bool hold;                 /* nothing completes except by net_script_complete */
    bool no_spare;             /* net_refill moves the message */
    int refuse;                /* errno with which net_register refuses, 0: it does not */
    void (*on_reap)(void);     /* called first in each net_reap: a turn of any waiting loop */
    void (*on_arrivals)(void); /* called first in each net_arrivals: a turn that may run handlers */
    /* Answers. */
    unsigned busy_answers, reaps, polls; /* busy_answers: all refusals */
    unsigned pool_turns;                 /* uses of the common pool of spare buffers */
    unsigned regions;                    /* registered now */
    int buffers[64];                     /* AM receive buffers posted, by rank; counts from 0 */
    int fewest[64], most_posted[64];     /* extremes of these */
} net_script_t;

extern net_script_t net_script;

/* Forgets everything; caps become those of a plain device. */
void net_script_reset(void);

/* How many events of a kind there were; the n-th of them (0 is the first, -1 the last). */
unsigned net_script_count(enum net_script_kind kind);
const net_script_event_t *net_script_get_event(enum net_script_kind kind, int n);
void net_script_note(uint64_t tag);
/* Forgets events (not orders, nor what is in flight). */
void net_script_forget(void);

/* Transfers in flight; lets the oldest `count` of them be found complete by the next net_reap. */
unsigned net_script_in_flight(void);
void net_script_complete(unsigned count);

/* Lets an AM, or a system message, arrive; the bytes are copied to a block of just that length. */
void net_script_arrive(uint32_t rank, const void *bytes, size_t length);
void net_script_arrive_system(uint32_t rank, const void *bytes, size_t length);
unsigned net_script_waiting(void); /* arrivals not yet handed over */

/* A peer's memory [start, start+size) becomes reachable under the key returned. */
net_key_t net_script_expose(void *start, size_t size);

#endif
