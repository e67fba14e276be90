/* lending.h - credits that are lent at run time, as a plain state machine (PO-9, PO-10, PO-17).
 *
 * For networks whose receive space is one pool for all peers.  A node lends each peer a share of
 * the pool; a Request spends 1 to 15 credits of what its target has lent, and the Reply, of which
 * there is one for each Request, brings them back.  A sender that had to wait says so in its next
 * Request and may be lent more, from the lender's bank; a lender whose bank cannot serve asks peers
 * that spoke little of late to give some back, by system messages.  What is remembered of use fades
 * with the lender's epochs, each so many received Requests long.
 *
 * No I/O, no lock, no list of peers: the engine delivers messages and holds the peer's lock, and
 * for calls that take both structures also one lock for all peers.
 *
 * Invariants: bank + the sum of all loans = total, at every moment; a loan = what its borrower owns
 * + credits on the way to it + credits on the way back; floor <= loan <= ceiling.
 */
#ifndef GASNETC_LENDING_H
#define GASNETC_LENDING_H

#include <stdbool.h>
#include <stdint.h>

/* What one node has to lend. */
typedef struct gasnetc_lending {
    /* Settings; see gasnetc_lending_init. */
    uint16_t floor, ceiling;
    uint16_t give_limit, return_limit;
    uint32_t epoch_length;
    bool dynamic;

    bool hungry; /* somebody asked for more than the bank could spare */
    uint16_t epoch;
    uint16_t asking;   /* peers that were asked to give back and have not answered */
    uint32_t requests; /* received in this epoch */
    uint32_t asks;     /* sent in this epoch */
    uint32_t bank;
    uint64_t lent, returned; /* credits moved so far; only told */
} gasnetc_lending_t;

/* What is known of one peer: what it has lent us, and what we have lent it. */
typedef struct gasnetc_loan {
    uint16_t owned;     /* credits that we may use */
    uint16_t in_use;    /* of which Requests without their Reply hold so many */
    uint16_t most;      /* most in use in the peer's present epoch */
    uint16_t most_then; /* the same of its earlier epochs; fades */
    uint16_t stalls;    /* Requests that had to wait; fades */
    uint16_t given_up;  /* credits that went back; fades */

    uint16_t loan;     /* our credits that the peer has */
    uint16_t wishes;   /* Requests of the peer that had waited; fades */
    uint16_t given;    /* credits added to the loan; fades */
    uint16_t aged;     /* our epoch when those two last faded */
    uint16_t told;     /* our epoch when the peer was last told of one */
    uint16_t ask_from; /* our epoch from which it may be asked to give back */
    uint8_t refusals;  /* times that asking it was of no use */
    bool asked;        /* it was asked and has not answered */
    bool gave;         /* it gave credits back, and has not wished for more since */
} gasnetc_loan_t;
_Static_assert(sizeof(gasnetc_loan_t) <= 40, "PO-17 bounds what a node keeps of each peer");

/* The byte EXXXNNNN that rides on each Request and Reply: whether an epoch has ended at the sender,
 * credits more (asked for by a Request, added by a Reply), and credits held by this Request. */
enum { GASNETC_LENDING_COST_MOST = 15, GASNETC_LENDING_MORE_MOST = 7 };

/* --- start --- */

/* `total` credits for `peers` others, each of which begins with `each`; the rest is the bank.
 * false unless floor <= each <= ceiling and they all fit.  `floor` is what the largest Request
 * costs: with less in its hands forever, a peer could never send it. */
bool gasnetc_lending_init(gasnetc_lending_t *l, uint32_t total, uint32_t peers, uint16_t each,
                          uint16_t floor, uint16_t ceiling, uint32_t epoch_length, bool dynamic);

/* All nodes use the same `each`, so that no message is needed. */
static inline void gasnetc_loan_init(gasnetc_loan_t *loan, uint16_t each)
{
    *loan = (gasnetc_loan_t){.owned = each, .loan = each};
}

/* --- as a borrower --- */

/* What a Request that was so much short asks for: who had to wait several times of late is in for
 * more. */
static inline unsigned gasnetc_lending_wish(const gasnetc_loan_t *loan, unsigned short_of)
{
    unsigned wish = short_of + loan->stalls - 1;
    return wish < GASNETC_LENDING_MORE_MOST ? wish : GASNETC_LENDING_MORE_MOST;
}

/* Before a Request of `cost`, 1 to floor: false when the credits are not there; poll, and call
 * again with the same *short_of, which begins as 0.  On true, *byte goes with the Request. */
static inline bool gasnetc_lending_take(const gasnetc_lending_t *l, gasnetc_loan_t *loan,
                                        unsigned cost, unsigned *short_of, uint8_t *byte)
{
    unsigned available = (unsigned)loan->owned - loan->in_use;
    if (__builtin_expect(available < cost, 0)) {
        if (*short_of == 0) {
            *short_of = cost - available;
            if (loan->stalls < UINT16_MAX) loan->stalls++;
        }
        return false;
    }
    loan->in_use = (uint16_t)(loan->in_use + cost);
    if (loan->in_use > loan->most) loan->most = loan->in_use;
    unsigned more = *short_of ? gasnetc_lending_wish(loan, *short_of) : 0;
    *byte = (uint8_t)((unsigned)(loan->told != l->epoch) << 7 | more << 4 | cost);
    loan->told = l->epoch;
    return true;
}

/* That Request could not be sent after all. */
void gasnetc_lending_untake(const gasnetc_lending_t *l, gasnetc_loan_t *loan, uint8_t byte);

/* A Reply came with `byte`.  false if that breaks the invariant (a broken peer), and then nothing
 * has changed. */
bool gasnetc_lending_replied(gasnetc_loan_t *loan, uint8_t byte);

/* The lender asks for credits, and so many of its epochs have ended since it last said: how many we
 * give back.  Answer, even if none, together with gasnetc_lending_epochs. */
uint16_t gasnetc_lending_give_back(const gasnetc_lending_t *l, gasnetc_loan_t *loan,
                                   uint16_t epochs);

/* --- as a lender --- */

/* A Request with `byte` was handled: the byte of its Reply. */
uint8_t gasnetc_lending_answer(gasnetc_lending_t *l, gasnetc_loan_t *loan, uint8_t byte);

/* What a Request's byte must be: costs something, and not more than the peer can own. */
static inline bool gasnetc_lending_valid(const gasnetc_loan_t *loan, uint8_t byte)
{
    unsigned cost = byte & GASNETC_LENDING_COST_MOST;
    return cost >= 1 && cost <= loan->loan;
}

/* While l->hungry, for one peer after another: true if it is to be asked now. */
bool gasnetc_lending_ask(gasnetc_lending_t *l, gasnetc_loan_t *loan);

/* Its answer: so many credits, and so many of its epochs.  false as for gasnetc_lending_replied. */
bool gasnetc_lending_gave_back(gasnetc_lending_t *l, gasnetc_loan_t *loan, uint16_t credits,
                               uint16_t epochs);

/* --- both --- */

/* Our epochs that the peer has not been told of: for a system message that leaves for it now. */
uint16_t gasnetc_lending_epochs(const gasnetc_lending_t *l, gasnetc_loan_t *loan);

#endif
