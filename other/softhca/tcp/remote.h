/* remote.h - one end of a queue pair whose other end is on another host: two state machines.
 *
 * Pure: no globals, no I/O, no locks, no clock. The requester numbers the WRs of the send queue,
 * says which frame to send next, and tells when the oldest WR has ended and how. The responder says
 * which requests to run, which were run before, and what to answer. The carrier (tcp_send.c) puts
 * frames on a connection and runs requests; when the connection is lost it says so to both, and
 * the requester goes back to the oldest WR that has not ended. Times are ns of any one clock.
 */
#ifndef SOFTHCA_REMOTE_H
#define SOFTHCA_REMOTE_H

#include "other/softhca/tcp/wire.h"

#define REMOTE_NEVER (~0ull)

/* What a requester must know of a WR. */
struct requester_wr {
    uint8_t opcode; /* enum wire_opcode */
    bool fence;
    uint32_t length;
};

struct requester {
    /* settled by requester_start() */
    bool reliable;
    uint32_t life, max_fetches;
    uint64_t timeout; /* of one try; 0 = for ever */
    uint32_t tries;
    uint32_t rnr_retry; /* 7 = for ever */
    void (*look)(void *owner, uint32_t msn, struct requester_wr *wr);
    void *owner;

    uint32_t una, next, head; /* the oldest that has not ended, the next to send, the next posted */
    uint32_t at;              /* bytes of NEXT that are sent */
    uint32_t acked;           /* all before are executed, fetches aside */
    uint32_t fetched;         /* all fetches before are answered */
    uint32_t fetch_at;        /* bytes of the one that is being answered */
    uint32_t fetches;         /* sent and not answered */
    bool first;               /* no request is sent since we began or went back */
    bool probe;               /* one is due */
    bool failing;
    uint32_t fail_msn;
    int fail_status;
    uint32_t rnr_msn, rnr_tries;
    uint64_t pause_until; /* 0 = none */
    uint64_t since;       /* of the last progress, or of the first WR after a rest */
    uint64_t probed;      /* when last */
    uint64_t no_target_since,
        pause; /* nobody listens there: since when, and how long the next pause */
};

/* LOOK, OWNER and what is settled are in *Q already; the rest begins anew. */
void requester_start(struct requester *q);
/* WRs up to HEAD, exclusively, may be sent. */
void requester_posted(struct requester *q, uint32_t head, uint64_t now);
/* The next frame to send: its type, flags, life, msn, length, and the offset in value.
 * False when there is none now. requester_sent() once it is on its way. */
bool requester_next(struct requester *q, uint64_t now, struct wire_frame *f);
void requester_sent(struct requester *q, const struct wire_frame *f, uint64_t now);
/* Instead of it, of an unreliable one: the message that comes next is lost. */
void requester_skip(struct requester *q);
/* What arrived: WIRE_ACK, WIRE_NAK or WIRE_READY. */
void requester_on_frame(struct requester *q, const struct wire_frame *f, uint64_t now);
/* Whether N bytes at OFFSET of the answer to fetch MSN of LIFE are those that come next. Having
 * stored them: requester_received(). */
bool requester_wants(struct requester *q, uint32_t life, uint32_t msn, uint32_t offset, uint32_t n);
void requester_received(struct requester *q, uint32_t n, uint64_t now);
/* WR MSN fails with STATUS, an enum ibv_wc_status, once those before it have ended. */
void requester_fail(struct requester *q, uint32_t msn, int status);
/* The connection is lost: nothing that was sent is sure to have arrived. */
void requester_lost(struct requester *q);
/* Everything that waits for an answer has ended by other means: the QP is in ERR. */
void requester_stop(struct requester *q, uint32_t head);
/* Let time pass. DOWN_SINCE: when the way to the other process was lost, 0 while there is one;
 * GONE: that process has ended. Returns when to call again at the latest, if nothing happens. */
uint64_t requester_tick(struct requester *q, uint64_t now, uint64_t down_since, bool gone);
/* True, once for each WR and in order: the oldest has ended with *STATUS. */
bool requester_done(struct requester *q, int *status);

struct responder_fetch {
    uint32_t msn, total, at, rkey, srqn;
    uint8_t opcode;
    uint64_t addr, value;
};

struct responder {
    bool reliable;
    bool bound;  /* knows which life of the requester it serves */
    bool synced; /* has a first request, and refused none since */
    bool open;   /* REQUEST is being run; AT bytes of it are */
    uint32_t life, expected, at;
    struct wire_frame request;
    bool ack_due, nak_due, ready_due;
    struct wire_frame nak;
    uint32_t first_fetch, fetches;
    struct responder_fetch fetch[WIRE_FETCHES]; /* a ring */
    uint32_t atomics;                           /* ever executed */
    struct {
        uint32_t msn;
        uint64_t value;
    } saved[WIRE_FETCHES]; /* of the last ones */
};

enum responder_verdict {
    RESPONDER_DROP, /* not to be run; an answer may be due */
    RESPONDER_RUN,  /* run the payload at r->at of r->request */
    RESPONDER_BAD   /* no honest requester sends this */
};

/* r->reliable is settled; the rest begins anew. */
void responder_start(struct responder *r);
/* A WIRE_REQUEST, WIRE_DATA or WIRE_PROBE. */
enum responder_verdict responder_on_frame(struct responder *r, const struct wire_frame *f);
/* N bytes of the open request are run; true when that was all of it: then responder_finish(). */
bool responder_ran(struct responder *r, uint32_t n);
/* The open request is executed. VALUE: what an atomic found. */
enum responder_verdict responder_finish(struct responder *r, uint64_t value);
/* The open request cannot be executed; what follows is not to be either until the requester
 * went back. */
void responder_refuse(struct responder *r, const struct wire_nak *nak);
/* The data of the oldest READ cannot be had any more. */
void responder_fetch_failed(struct responder *r, int status);
void responder_lost(struct responder *r);
/* The next frame to answer, as with the requester. READ data are at fetch[first_fetch]. */
bool responder_next(const struct responder *r, struct wire_frame *f);
void responder_sent(struct responder *r, const struct wire_frame *f);
static inline struct responder_fetch *responder_oldest(struct responder *r)
{
    return &r->fetch[r->first_fetch % WIRE_FETCHES];
}
/* Nobody is there for F: the answer to it. */
void responder_no_target(const struct wire_frame *f, struct wire_frame *nak);

/* The RNR NAK timer field of the InfiniBand specification. */
uint64_t remote_rnr_ns(uint32_t timer);

#endif
