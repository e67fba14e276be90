/* lending.h - credits that are lent at run time, as a plain state machine (PO-9, PO-10, PO-17).
 *
 * For networks whose receive space is one pool for all peers.  A rank lends each peer a share of
 * the pool.  A Request spends 1 to 15 credits of the loan of its target; its Reply returns them,
 * and every Request has one Reply.  A sender that stalled asks for more in its next Request, and
 * may be lent more from the lender's bank.  A lender whose bank is short sends system messages that
 * ask peers with little recent use to return credits.  Counts of past use decay with the lender's
 * epochs, each of which is a number of received Requests.
 *
 * No I/O, no lock, no list of peers: the engine delivers messages and holds the peer's lock; for
 * calls that take both structures it also holds one lock for all peers.
 *
 * Invariants: bank + the sum of all loans = total, at every moment; a loan = the credits that its
 * borrower owns + credits in flight to it + credits in flight from it; floor <= loan <= ceiling.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The lender's state of a rank: one for all peers. */
typedef struct gasnetc_lending {
    /* Settings; see gasnetc_lending_init. */
    uint16_t floor, ceiling;
    uint16_t give_limit, return_limit;
    uint32_t epoch_length;
    bool dynamic;

    bool bank_short;   /* a peer asked for more than the bank held */
    uint64_t epoch;    /* number of the present epoch; does not wrap */
    uint16_t asking;   /* peers that were asked to return credits and have not answered */
    uint32_t requests; /* Requests received in this epoch */
    uint32_t asks;     /* peers asked in this epoch */
    uint32_t examined; /* rank examined last by gasnetc_lending_choose */
    uint32_t bank;
    uint64_t lent, returned; /* credits moved so far; statistics */
} gasnetc_lending_t;

/* State of one peer: first as a lender to this rank, then as a borrower from it. */
typedef struct gasnetc_loan {
    uint16_t owned;     /* credits that this rank may use */
    uint16_t in_use;    /* credits held by Requests that await their Reply */
    uint16_t most;      /* most in use in the peer's present epoch */
    uint16_t most_then; /* most in use in the peer's earlier epochs; decays */
    uint16_t stalls;    /* Requests to the peer that stalled; decays */
    uint16_t given_up;  /* credits returned to the peer on request; decays */

    uint16_t loan;             /* credits of this rank that the peer holds */
    uint16_t stalled_requests; /* Requests of the peer that had stalled; decays */
    uint16_t given;            /* credits added to the loan; decays */
    uint8_t refusals;          /* times that the peer was asked and returned none */
    bool asked;                /* the peer was asked and has not answered */
    bool returned_last;        /* the peer returned credits, and has not asked for more since */
    uint32_t aged; /* this rank's epoch, modulo 2^32, when `stalled_requests` and `given` decayed */
    uint32_t reported; /* this rank's epoch, modulo 2^32, that the peer was last informed of */
    uint64_t ask_from; /* this rank's first epoch in which the peer may be asked again */
} gasnetc_loan_t;
_Static_assert(sizeof(gasnetc_loan_t) <= 40, "PO-17 bounds what a rank keeps of each peer");

/* The byte in each Request and Reply.  Bit 7: an epoch has ended at the sender.  Bits 6 to 4:
 * further credits, which a Request asks for and a Reply adds.  Bits 3 to 0: the credits that this
 * Request spends. */
enum { GASNETC_LENDING_COST_MOST = 15, GASNETC_LENDING_MORE_MOST = 7 };

/* --- start --- */

/* `total` credits for `peers` peers, each of which begins with `each`; the rest is the bank.
 * `floor` is the cost of the largest Request, so every peer can send one.  false unless 1 <= floor
 * <= each <= ceiling, epoch_length is not 0 and `total` suffices. */
bool gasnetc_lending_init(gasnetc_lending_t *l, uint32_t total, uint32_t peers, uint16_t each,
                          uint16_t floor, uint16_t ceiling, uint32_t epoch_length, bool dynamic);

/* Begins a loan.  All ranks use the same `each`, so no message is needed. */
static inline void gasnetc_loan_init(gasnetc_loan_t *loan, uint16_t each)
{
    *loan = (gasnetc_loan_t){.owned = each, .loan = each};
}

/* --- as a borrower --- */

/* The further credits that a Request asks for after it lacked `short_of`; more if several Requests
 * stalled lately. */
static inline unsigned gasnetc_lending_increment(const gasnetc_loan_t *loan, unsigned short_of)
{
    unsigned wanted = short_of + loan->stalls - 1;
    return wanted < GASNETC_LENDING_MORE_MOST ? wanted : GASNETC_LENDING_MORE_MOST;
}

/* Acquires the credits of a Request of `cost`, 1 to floor.  *short_of is 0 at the first attempt.
 * false if the loan does not suffice: the caller polls, and calls again with the same *short_of. On
 * true, *byte is to be sent with the Request. */
static inline bool gasnetc_lending_take(const gasnetc_lending_t *l, gasnetc_loan_t *loan,
                                        unsigned cost, unsigned *short_of, uint8_t *byte)
{
    unsigned available = (unsigned)loan->owned - loan->in_use;
    if (available < cost) {
        if (*short_of == 0) {
            *short_of = cost - available;
            if (loan->stalls < UINT16_MAX) loan->stalls++;
        }
        return false;
    }
    loan->in_use = (uint16_t)(loan->in_use + cost);
    if (loan->in_use > loan->most) loan->most = loan->in_use;
    unsigned more = *short_of ? gasnetc_lending_increment(loan, *short_of) : 0;
    *byte = (uint8_t)((unsigned)(loan->reported != (uint32_t)l->epoch) << 7 | more << 4 | cost);
    loan->reported = (uint32_t)l->epoch;
    return true;
}

/* A Reply arrived with `byte`.  false, and nothing is changed, if that violates the invariants: a
 * protocol error of the peer. */
bool gasnetc_lending_replied(gasnetc_loan_t *loan, uint8_t byte);

/* The lender asks for credits; `epochs` of its epochs have ended since it last informed this rank.
 * Returns the credits to send back, with gasnetc_lending_epochs, even if their number is 0. */
uint16_t gasnetc_lending_give_back(const gasnetc_lending_t *l, gasnetc_loan_t *loan,
                                   uint16_t epochs);

/* --- as a lender --- */

/* A Request with `byte` was handled; returns the byte of its Reply. */
uint8_t gasnetc_lending_answer(gasnetc_lending_t *l, gasnetc_loan_t *loan, uint8_t byte);

/* True if `byte` may come with a Request, which costs at least a credit, and no more than the loan.
 */
static inline bool gasnetc_lending_valid(const gasnetc_loan_t *loan, uint8_t byte)
{
    unsigned cost = byte & GASNETC_LENDING_COST_MOST;
    return cost >= 1 && cost <= loan->loan;
}

/* A peer to ask for credits: its rank, and the epochs that the system message to it reports. */
typedef struct gasnetc_lending_ask {
    uint32_t rank;
    uint16_t epochs;
} gasnetc_lending_ask_t;
enum { GASNETC_LENDING_ASKS_MOST = 4, GASNETC_LENDING_EXAMINED_MOST = 16 };

/* Called while l->bank_short: chooses peers to ask now, and returns their number.  Examines some
 * of the ranks 0 to `ranks` - 1, round robin from call to call.  loan_of returns the loan of a
 * rank, valid until its next call, or NULL for the calling rank. */
unsigned gasnetc_lending_choose(gasnetc_lending_t *l, uint32_t ranks,
                                gasnetc_loan_t *(*loan_of)(void *context, uint32_t rank),
                                void *context,
                                gasnetc_lending_ask_t asks[GASNETC_LENDING_ASKS_MOST]);

/* Takes the answer of a peer that was asked: credits, and epochs that have ended at the peer. false
 * as for gasnetc_lending_replied. */
bool gasnetc_lending_gave_back(gasnetc_lending_t *l, gasnetc_loan_t *loan, uint16_t credits,
                               uint16_t epochs);

/* --- both --- */

/* The number of this rank's epochs that ended since the peer was last informed, at most 65535; for
 * a system message that is sent to the peer now. */
uint16_t gasnetc_lending_epochs(const gasnetc_lending_t *l, gasnetc_loan_t *loan);
