/* exit_protocol.h - who ends the job and with which code, as a plain state machine (IB-X2..X6,
 * B116).
 *
 * A node that wants to end becomes a candidate: it tells node 0 its code.  When every node has
 * done so, node 0 tells all of them the largest code, and the end was collective.  A candidate that
 * has waited for the grace period claims to be master; node 0 grants the first claim, and tells the
 * largest code of which it knows.  The master sends every other node an exit request with that code
 * and waits for their answers.  A node that
 * gets a request and was not yet ending, ends.  Whoever waits too long (node 0 wedged, a peer that
 * never polls) gives up, and the engine has the launcher end the job.  Where the launcher itself
 * helps processes to end together (bootstrap_leaving) the engine asks that first, and none of these
 * messages is sent unless it is silent; its word to all is the machine's TOGETHER.
 *
 * No I/O, no clock: the engine delivers messages and says when time is up; each call returns what
 * to do next.  Messages: 2N-2 for a collective end; otherwise at most 4N-2.
 */
#ifndef GASNETC_EXIT_PROTOCOL_H
#define GASNETC_EXIT_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

/* Messages, each one word plus a code. */
enum gasnetc_exit_message {
    GASNETC_EXIT_CANDIDATE, /* to node 0: I am ending with `code` */
    GASNETC_EXIT_CLAIM,     /* to node 0: I have waited for the others; make me master */
    GASNETC_EXIT_ELECTED,   /* from node 0: you are master; the largest code so far is `code` */
    GASNETC_EXIT_TOGETHER,  /* from node 0: all are ending; the job's code is `code` */
    GASNETC_EXIT_REQUEST,   /* from the master: end now, with `code` */
    GASNETC_EXIT_ANSWER,    /* to the master: I have it */
};

enum gasnetc_exit_state {
    GASNETC_EXIT_IDLE,       /* nothing known of an exit */
    GASNETC_EXIT_WAITING,    /* candidate: waits for TOGETHER, ELECTED or REQUEST */
    GASNETC_EXIT_COLLECTING, /* master: waits for answers */
    GASNETC_EXIT_DONE,       /* coordinated: leave with `code` */
    GASNETC_EXIT_FAILED,     /* not coordinated in time: the launcher must end the job */
};

typedef struct gasnetc_exit_protocol {
    uint32_t rank, size;
    enum gasnetc_exit_state state;
    uint8_t code;         /* the code this node leaves with, also when it has failed */
    uint32_t answers;     /* master: received */
    uint32_t candidates;  /* node 0: how many have announced themselves */
    uint8_t largest_code; /* node 0 */
    bool decided;         /* node 0: a master was chosen, or TOGETHER was sent */
} gasnetc_exit_protocol_t;

/* What the engine must do after a call. */
typedef struct gasnetc_exit_action {
    enum { GASNETC_EXIT_SEND_NONE, GASNETC_EXIT_SEND_ONE, GASNETC_EXIT_SEND_ALL } send;
    enum gasnetc_exit_message message;
    uint32_t to; /* SEND_ONE; SEND_ALL goes to every other node */
    uint8_t code;
    bool begin; /* this node was idle and must begin its own exit now (raise SIGQUIT, ...) */
} gasnetc_exit_action_t;

void gasnetc_exit_protocol_init(gasnetc_exit_protocol_t *p, uint32_t rank, uint32_t size);

/* This node wants to end with `code`; only the first call counts. */
gasnetc_exit_action_t gasnetc_exit_want(gasnetc_exit_protocol_t *p, uint8_t code);

/* A message arrived. */
gasnetc_exit_action_t gasnetc_exit_receive(gasnetc_exit_protocol_t *p, uint32_t from,
                                           enum gasnetc_exit_message message, uint8_t code);

/* The grace period for a collective end is over (counted from this node's own gasnetc_exit_want).
 */
gasnetc_exit_action_t gasnetc_exit_grace_over(gasnetc_exit_protocol_t *p);

/* The whole time for coordination is over: DONE stays, everything else becomes FAILED, and its code
 * is not 0: some node has not asked to end, and is ended. */
void gasnetc_exit_time_over(gasnetc_exit_protocol_t *p);

#endif
