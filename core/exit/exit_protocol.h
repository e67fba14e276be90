/* exit_protocol.h - which rank ends the job, and with which code: a plain state machine (IB-X2..X6,
 * B116).
 *
 * A rank that wants to end becomes a candidate: it sends its code to rank 0.  When every rank has
 * done so, rank 0 sends the largest code to all of them, and the exit was collective.  A candidate
 * that has waited for the grace period claims to be master; rank 0 grants the first claim, with the
 * largest code that it knows.  The master sends an exit request with that code to every other rank,
 * and waits for their answers.  A rank that gets a request and was not yet ending, ends.  A rank
 * that waits too long (rank 0 hangs, or a peer never polls) gives up, and the engine has the
 * launcher end the job.  Where the launcher can coordinate the exit (bootstrap_leaving), the engine
 * asks the launcher first, and sends these messages only if it does not answer; an order of the
 * launcher to all processes is delivered to this machine as TOGETHER.
 *
 * No I/O, no clock: the engine delivers messages and reports timeouts; each call returns the next
 * action.  Messages: 2N-2 for a collective exit; otherwise at most 4N-2.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Messages, each one word plus a code. */
enum gasnetc_exit_message {
    GASNETC_EXIT_CANDIDATE, /* to rank 0: the sender ends with `code` */
    GASNETC_EXIT_CLAIM,     /* to rank 0: the sender's grace period is over; it asks to be master */
    GASNETC_EXIT_ELECTED,   /* from rank 0: the receiver is master; `code` is the largest so far */
    GASNETC_EXIT_TOGETHER,  /* from rank 0: all ranks are ending; `code` is the job's */
    GASNETC_EXIT_REQUEST,   /* from the master: end now, with `code` */
    GASNETC_EXIT_ANSWER,    /* to the master: the request has arrived */
};

enum gasnetc_exit_state {
    GASNETC_EXIT_IDLE,       /* no exit is known */
    GASNETC_EXIT_WAITING,    /* candidate: waits for TOGETHER, ELECTED or REQUEST */
    GASNETC_EXIT_COLLECTING, /* master: waits for answers */
    GASNETC_EXIT_DONE,       /* coordinated: leave with `code` */
    GASNETC_EXIT_FAILED,     /* timeout: the launcher must end the job */
};

typedef struct gasnetc_exit_protocol {
    uint32_t rank, size;
    enum gasnetc_exit_state state;
    uint8_t code;         /* the code this rank ends with, also when FAILED */
    uint32_t answers;     /* master: received so far */
    uint32_t candidates;  /* rank 0: announced so far */
    uint8_t largest_code; /* rank 0 */
    bool decided;         /* rank 0: a master was chosen, or TOGETHER was sent */
    bool waited;          /* the grace period is over */
} gasnetc_exit_protocol_t;

/* The action that the engine must take after a call. */
typedef struct gasnetc_exit_action {
    enum { GASNETC_EXIT_SEND_NONE, GASNETC_EXIT_SEND_ONE, GASNETC_EXIT_SEND_ALL } send;
    enum gasnetc_exit_message message;
    uint32_t to; /* SEND_ONE; SEND_ALL goes to every other rank */
    uint8_t code;
    bool begin; /* this rank was idle and must start its own exit now */
} gasnetc_exit_action_t;

void gasnetc_exit_protocol_init(gasnetc_exit_protocol_t *p, uint32_t rank, uint32_t size);

/* This rank wants to end with `code`; only the first call counts. */
gasnetc_exit_action_t gasnetc_exit_want(gasnetc_exit_protocol_t *p, uint8_t code);

/* A message arrived, for the first time from this rank.  A message that the sender may not send, or
 * not in this state, is ignored. */
gasnetc_exit_action_t gasnetc_exit_receive(gasnetc_exit_protocol_t *p, uint32_t from,
                                           enum gasnetc_exit_message message, uint8_t code);

/* `part` of the rank's timeout has passed since its gasnetc_exit_want; called often.  After half of
 * the timeout, which is the grace period for a collective exit, the rank claims to be master: the
 * rest suffices for the messages that may follow.  After all of it any state but DONE becomes
 * FAILED, with a code that is not 0, since some rank is killed that did not ask to end. */
gasnetc_exit_action_t gasnetc_exit_passed(gasnetc_exit_protocol_t *p, double part);
