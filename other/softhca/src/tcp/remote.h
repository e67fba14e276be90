/* remote.h - one end of a queue pair whose other end is on another host: two state machines.
 *
 * Pure: no globals, no I/O, no locks, no clock. The requester numbers the WRs of the send queue,
 * chooses the next frame to send, and reports when the oldest WR has ended and how. The responder
 * decides which requests to execute, which were executed before, and what to answer. The engine
 * (tcp_send.c, tcp_respond.c) puts frames on a connection and executes requests. The engine reports
 * a lost connection to requester and responder, and the requester goes back to the oldest WR that
 * has not ended. Times are ns of one clock.
 */
#ifndef SOFTHCA_REMOTE_H
#define SOFTHCA_REMOTE_H

#include "other/softhca/src/tcp/wire.h"

#define REMOTE_NEVER (~0ull)

/* The properties of a WR that the requester needs. */
struct requester_wr {
    uint8_t opcode; /* enum wire_opcode */
    bool fence;
    uint32_t length;
};

struct requester {
    /* set before requester_start() */
    bool reliable;
    uint32_t life, max_fetches;
    uint64_t timeout; /* of one try; 0 = infinite */
    uint32_t tries;
    uint32_t rnr_retry; /* 7 = infinite */
    void (*look)(void *owner, uint32_t msn, struct requester_wr *wr);
    void *owner;

    uint32_t una, next, head; /* oldest WR that has not ended, next to send, next to be posted */
    uint32_t at;              /* bytes of NEXT already sent */
    uint32_t acked;           /* all before are executed, READs and atomics excepted */
    uint32_t fetched;         /* all fetches (READs and atomics) before are answered */
    uint32_t fetch_at;        /* bytes received of the fetch that is being answered */
    uint32_t fetches;         /* sent and not yet answered */
    bool first;               /* no request was sent since the start or the last go-back */
    bool probe;               /* a probe is due */
    bool failing;
    uint32_t fail_msn;
    int fail_status;
    uint32_t rnr_msn, rnr_tries;
    uint64_t pause_until; /* 0 = none */
    uint64_t since;       /* time of the last progress, or of the first WR of an empty queue */
    uint64_t probed;      /* time of the last probe */
    uint64_t no_target_since,
        pause; /* since when the target QP does not exist, and the next pause */
};

/* LOOK, OWNER and the settings are in *Q already; resets the rest. */
void requester_start(struct requester *q);
/* WRs up to HEAD, exclusive, may be sent. */
void requester_posted(struct requester *q, uint32_t head, uint64_t now);
/* The next frame to send: type, flags, life, msn, length, and the offset in value. False: none now.
 * Call requester_sent() once it is sent. */
bool requester_next(struct requester *q, uint64_t now, struct wire_frame *f);
void requester_sent(struct requester *q, const struct wire_frame *f, uint64_t now);
/* For an unreliable QP: skips the next message, which is lost. */
void requester_skip(struct requester *q);
/* A WIRE_ACK, WIRE_NAK or WIRE_READY arrived. */
void requester_on_frame(struct requester *q, const struct wire_frame *f, uint64_t now);
/* Whether N bytes at OFFSET of the answer to fetch MSN of LIFE are the next ones. Call
 * requester_received() once they are stored. */
bool requester_wants(struct requester *q, uint32_t life, uint32_t msn, uint32_t offset, uint32_t n);
void requester_received(struct requester *q, uint32_t n, uint64_t now);
/* WR MSN fails with STATUS, an enum ibv_wc_status, once those before it have ended. */
void requester_fail(struct requester *q, uint32_t msn, int status);
/* The connection is lost: any frame sent may not have arrived. */
void requester_lost(struct requester *q);
/* The QP is in ERR or SQE: all its WRs were flushed. */
void requester_stop(struct requester *q, uint32_t head);
/* Handles timeouts. DOWN_SINCE: when the connection was lost, 0 while there is one; GONE: the other
 * process has ended. Returns the time of the next call, if nothing else happens. */
uint64_t requester_tick(struct requester *q, uint64_t now, uint64_t down_since, bool gone);
/* Whether no message is on its way: each that was begun has ended or begins again. */
bool requester_drained(const struct requester *q);
/* True once for each WR, in order: the oldest WR has ended with *STATUS. */
bool requester_done(struct requester *q, int *status);

struct responder_fetch {
    uint32_t msn, total, at, rkey, srqn;
    uint8_t opcode;
    uint64_t addr, value;
};

struct responder {
    bool reliable;
    bool bound;  /* LIFE is known */
    bool synced; /* has received a request with WIRE_FIRST, and refused none since */
    bool open;   /* REQUEST is being executed; AT bytes of it are done */
    uint32_t life, expected, at;
    struct wire_frame request;
    bool ack_due, nak_due, ready_due;
    struct wire_frame nak;
    uint32_t first_fetch, fetches;
    struct responder_fetch fetch[WIRE_FETCHES]; /* a ring */
    uint64_t atomics;                           /* number executed */
    struct {
        uint32_t msn;
        uint64_t value;
    } saved[WIRE_FETCHES]; /* results of the last atomics */
};

enum responder_verdict {
    RESPONDER_DROP, /* do not execute; an answer may be due */
    RESPONDER_RUN,  /* execute the payload at r->at of r->request */
    RESPONDER_BAD   /* protocol violation: close the connection */
};

/* r->reliable is set; resets the rest. */
void responder_start(struct responder *r);
/* A WIRE_REQUEST, WIRE_DATA or WIRE_PROBE arrived. */
enum responder_verdict responder_on_frame(struct responder *r, const struct wire_frame *f);
/* N bytes of the open request were executed; true when it is complete: call responder_finish(). */
bool responder_ran(struct responder *r, uint32_t n);
/* The open request is complete. VALUE: the result of an atomic. */
enum responder_verdict responder_finish(struct responder *r, uint64_t value);
/* The open request failed. Later requests are dropped until the requester has gone back. */
void responder_refuse(struct responder *r, const struct wire_nak *nak);
/* The data of the oldest READ cannot be read any more. */
void responder_fetch_failed(struct responder *r, int status);
void responder_lost(struct responder *r);
/* The next answer to send, as with the requester. The data of a READ are described by
 * responder_oldest(). */
bool responder_next(const struct responder *r, struct wire_frame *f);
void responder_sent(struct responder *r, const struct wire_frame *f);
static inline struct responder_fetch *responder_oldest(struct responder *r)
{
    return &r->fetch[r->first_fetch % WIRE_FETCHES];
}
/* The QP is being destroyed: after all other answers, a NAK is due that says so. */
void responder_closed(struct responder *r);
/* The NAK for F, whose target QP does not exist. */
void responder_no_target(const struct wire_frame *f, struct wire_frame *nak);

#endif
