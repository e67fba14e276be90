/* greeting.h - how two processes join their queue pairs by datagrams, as a plain state machine.
 *
 * Portals knows no connections: any process may address any other, at any time, and one that ended
 * may be followed by another under the same name.  So a queue pair carries the stamp of the moment
 * it was made, and a greeting tells the stamp of its sender's queue pair (`mine`) and of the
 * receiver's that it is joined to (`yours`, 0 for none).  A later stamp replaces an earlier one:
 * who hears it drops the old queue pair (DROP) and begins anew.  Who hears its own stamp in `yours`
 * may send (OPEN).  Who may not send yet asks (ASK) until it may, or gives up:
 *
 *     A, which wants to send                     B
 *     mine=a        ASK        ------------>     makes b, joins it to a
 *     joins to b, opens        <------------     mine=b yours=a ASK
 *     mine=a yours=b           ------------>     opens
 *
 * Greetings may be lost, repeated, delayed and reordered.  Every ASK is answered, nothing else is,
 * so that greetings die out.  A queue pair that has been joined is never joined again.
 *
 * No I/O, no clock, no lock.  verbs_address.c brings greetings, verbs_link.c acts on what comes
 * out, in the order of the enum; tests/sim runs thousands of pairs of these.
 */
#ifndef PTL_GREETING_H
#define PTL_GREETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is to be done after a call. */
enum ptli_greet_action {
    PTLI_GREET_DROP = 1, /* the queue pair leads nowhere any more: what was sent on it has failed */
    PTLI_GREET_MAKE = 2, /* make one, stamped `mine` */
    PTLI_GREET_JOIN = 4, /* join it to that of the greeting just heard, and be ready to receive */
    PTLI_GREET_OPEN = 8, /* from now on messages may be sent */
    PTLI_GREET_SEND = 16, /* send a greeting with `mine`, `theirs` and `ask` */
    PTLI_GREET_FAIL = 32  /* nobody is there: what waits to be sent has failed; after DROP */
};

/* Zeroed: one that has not begun. */
typedef struct ptli_greet {
    uint64_t mine, theirs; /* stamps; 0: no queue pair, or not joined */
    uint64_t last;         /* the latest stamp ever used here */
    uint64_t dead;         /* the peer's latest that was joined and dropped */
    bool wanted, open;
    bool ask;              /* in the greeting to send now */
    bool waiting;          /* the times below count */
    double since;          /* when the peer was last heard, or the waiting began */
    double next, interval; /* when to repeat the greeting, and how long after that again */
} ptli_greet_t;

/* Seconds. */
typedef struct ptli_patience {
    double first, longest; /* between repetitions; each is twice the one before */
    double silent;         /* how long to go on when nothing is heard */
    double refused;        /* when the peer's host says that nobody has this name */
} ptli_patience_t;

/* Two moments: `now` in seconds of a clock that never goes back, and a `stamp` in units of the
 * caller's, from a clock that all processes that ever have this name share. */
typedef struct ptli_moment {
    double now;
    uint64_t stamp;
} ptli_moment_t;

/* All of these return a set of actions.  Something is to be sent to the peer: */
unsigned ptli_greet_want(ptli_greet_t *g, ptli_moment_t at, const ptli_patience_t *patience);

/* A greeting was heard. */
unsigned ptli_greet_hear(ptli_greet_t *g, uint64_t mine, uint64_t yours, bool ask, ptli_moment_t at,
                         const ptli_patience_t *patience);

/* The peer's host says that nobody listens there. */
unsigned ptli_greet_refused(ptli_greet_t *g, double now, const ptli_patience_t *patience);

/* It is `now`; to be called no later than g->next while g->waiting. */
unsigned ptli_greet_tick(ptli_greet_t *g, double now, const ptli_patience_t *patience);

/* The queue pair has broken, or both ends have said goodbye. */
unsigned ptli_greet_broken(ptli_greet_t *g);

/* --- on the wire --- */

enum { PTLI_GREETING_ASK = 1 };

typedef struct ptli_greeting {
    uint32_t magic;
    uint8_t version, flags, mtu, rd_atom;
    uint64_t mine, yours;
    uint32_t nid, pid, uid, jid; /* the sender's */
    uint32_t qp_number, psn;
    uint32_t eager;  /* the longest message it can receive */
    uint16_t window; /* requests without an answer that it accepts */
    uint16_t lid;
    uint8_t gid[16];
} ptli_greeting_t;

/* Fills in what is the same in every greeting. */
void ptli_greeting_init(ptli_greeting_t *greeting);

/* Takes `length` bytes apart into an aligned copy.  NULL, or the name of the field that is wrong.
 */
const char *ptli_greeting_parse(const void *bytes, size_t length, ptli_greeting_t *greeting);

#endif
