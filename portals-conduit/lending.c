/* lending.c - credits lent at run time: the calls that are not on the path of a send.  See
 * lending.h.
 *
 * Three rules prevent credits from oscillating between ranks.  A borrower returns only credits that
 * it did not use in the last epochs, and none if one of its Requests stalled lately.  The credits
 * that may move between two ranks in an epoch are bounded.  A peer that returned none is asked
 * again after a delay that doubles each time.
 */
#include "portals-conduit/lending.h"

enum {
    asking_most = 4,       /* peers that are asked and have not answered */
    requests_per_ask = 32, /* received Requests that allow one further system message in an epoch */
    refusals_most = 10,    /* a peer is asked again after at most 2^10 epochs */
    give_limit = 64,       /* no credits are added to a loan in an epoch after as many */
    return_limit = 32,     /* credits that a borrower returns in an epoch of the lender */
};

bool gasnetc_lending_init(gasnetc_lending_t *l, uint32_t total, uint32_t peers, uint16_t each,
                          uint16_t floor, uint16_t ceiling, uint32_t epoch_length, bool dynamic)
{
    if (floor < 1 || floor > GASNETC_LENDING_COST_MOST || each < floor || ceiling < each ||
        epoch_length < 1 || (uint64_t)peers * each > total)
        return false;
    *l = (gasnetc_lending_t){
        .floor = floor,
        .ceiling = ceiling,
        .give_limit = give_limit,
        .return_limit = return_limit,
        .epoch_length = epoch_length,
        .dynamic = dynamic,
        .bank = total - peers * each,
    };
    return true;
}

static uint16_t lending_min(uint32_t a, uint32_t b)
{
    return (uint16_t)(a < b ? a : b);
}

/* Decays a count of past use: to a quarter with each epoch. */
static uint16_t lending_decay(uint16_t value, uint16_t epochs)
{
    return epochs < 8 ? (uint16_t)(value >> 2 * epochs) : 0;
}

/* Decays a borrower's counts, when `epochs` epochs have ended at the lender.  The most credits in
 * use in the last of them count fully for one more epoch, then half as much with each: a faster
 * decay would make a steady borrower look idle just after the end of an epoch. */
static void lending_age_borrower(gasnetc_loan_t *loan, uint16_t epochs)
{
    if (epochs == 0) return;
    uint16_t before = epochs < 16 ? (uint16_t)(loan->most_then >> epochs) : 0;
    uint16_t last = epochs < 17 ? (uint16_t)(loan->most >> (epochs - 1)) : 0;
    loan->most_then = last > before ? last : before;
    loan->most = loan->in_use;
    loan->stalls = lending_decay(loan->stalls, epochs);
    loan->given_up = lending_decay(loan->given_up, epochs);
}

/* The epochs that ended at the lender since `then`, at most 65535. */
static uint16_t lending_ended(const gasnetc_lending_t *l, uint32_t then)
{
    return lending_min((uint32_t)l->epoch - then, UINT16_MAX);
}

static void lending_age_lender(const gasnetc_lending_t *l, gasnetc_loan_t *loan)
{
    uint16_t epochs = lending_ended(l, loan->aged);
    loan->aged = (uint32_t)l->epoch;
    loan->stalled_requests = lending_decay(loan->stalled_requests, epochs);
    loan->given = lending_decay(loan->given, epochs);
}

/* --- as a borrower --- */

bool gasnetc_lending_replied(gasnetc_loan_t *loan, uint8_t byte)
{
    unsigned cost = byte & GASNETC_LENDING_COST_MOST;
    unsigned more = byte >> 4 & GASNETC_LENDING_MORE_MOST;
    if (cost < 1 || cost > loan->in_use || more > UINT16_MAX - (unsigned)loan->owned) return false;
    loan->in_use = (uint16_t)(loan->in_use - cost);
    loan->owned = (uint16_t)(loan->owned + more);
    lending_age_borrower(loan, byte >> 7);
    return true;
}

uint16_t gasnetc_lending_give_back(const gasnetc_lending_t *l, gasnetc_loan_t *loan,
                                   uint16_t epochs)
{
    lending_age_borrower(loan, epochs);
    uint16_t keep = loan->most > loan->most_then ? loan->most : loan->most_then;
    if (keep < l->floor) keep = l->floor;
    if (loan->stalls > 0 || loan->owned <= keep || loan->given_up >= l->return_limit) return 0;
    uint16_t back = lending_min((uint32_t)(loan->owned - keep), l->return_limit - loan->given_up);
    loan->owned = (uint16_t)(loan->owned - back);
    loan->given_up = (uint16_t)(loan->given_up + back);
    return back;
}

/* --- as a lender --- */

/* Doubles the epochs until the peer may be asked again, since it returned no credits. */
static void lending_back_off(const gasnetc_lending_t *l, gasnetc_loan_t *loan)
{
    if (loan->refusals < refusals_most) loan->refusals++;
    loan->ask_from = l->epoch + (1U << loan->refusals);
    loan->returned_last = false;
}

/* Credits to add to the loan of a peer whose Request stalled: `wanted`, as far as bank and limits
 * allow. */
static unsigned lending_lend(gasnetc_lending_t *l, gasnetc_loan_t *loan, unsigned wanted)
{
    lending_age_lender(l, loan);
    if (loan->stalled_requests < UINT16_MAX) loan->stalled_requests++;
    if (loan->returned_last) lending_back_off(l, loan);
    if (wanted > (unsigned)(l->ceiling - loan->loan)) wanted = l->ceiling - loan->loan;
    if (loan->given >= l->give_limit || wanted == 0) return 0;
    l->bank_short = l->bank < wanted;
    unsigned more = lending_min(wanted, l->bank);
    l->bank -= more;
    l->lent += more;
    loan->loan = (uint16_t)(loan->loan + more);
    loan->given = (uint16_t)(loan->given + more);
    return more;
}

uint8_t gasnetc_lending_answer(gasnetc_lending_t *l, gasnetc_loan_t *loan, uint8_t byte)
{
    unsigned cost = byte & GASNETC_LENDING_COST_MOST;
    unsigned wanted = byte >> 4 & GASNETC_LENDING_MORE_MOST;
    lending_age_borrower(loan, byte >> 7);
    if (++l->requests >= l->epoch_length) {
        l->requests = l->asks = 0;
        l->epoch++;
    }
    unsigned more = wanted > 0 && l->dynamic ? lending_lend(l, loan, wanted) : 0;
    unsigned ended = loan->reported != (uint32_t)l->epoch;
    loan->reported = (uint32_t)l->epoch;
    return (uint8_t)(ended << 7 | more << 4 | cost);
}

/* True if the peer is to be asked for credits now. */
static bool lending_ask(gasnetc_lending_t *l, gasnetc_loan_t *loan)
{
    if (!l->bank_short || l->asking >= asking_most ||
        l->asks > asking_most + l->requests / requests_per_ask || loan->asked ||
        loan->loan <= l->floor || l->epoch < loan->ask_from)
        return false;
    lending_age_lender(l, loan);
    if (loan->stalled_requests > 0) return false;
    if (loan->refusals > 0 && (l->epoch - loan->ask_from) >> loan->refusals >= 4)
        loan->refusals--; /* the peer was not asked for at least four times the delay */
    loan->asked = true;
    l->asking++;
    l->asks++;
    return true;
}

unsigned gasnetc_lending_choose(gasnetc_lending_t *l, uint32_t ranks,
                                gasnetc_loan_t *(*loan_of)(void *context, uint32_t rank),
                                void *context,
                                gasnetc_lending_ask_t asks[GASNETC_LENDING_ASKS_MOST])
{
    unsigned n = 0;
    for (uint32_t i = 0;
         i < GASNETC_LENDING_EXAMINED_MOST && i < ranks && n < GASNETC_LENDING_ASKS_MOST; i++) {
        l->examined = (l->examined + 1) % ranks;
        gasnetc_loan_t *loan = loan_of(context, l->examined);
        if (!loan || !lending_ask(l, loan)) continue;
        asks[n++] = (gasnetc_lending_ask_t){l->examined, gasnetc_lending_epochs(l, loan)};
    }
    return n;
}

bool gasnetc_lending_gave_back(gasnetc_lending_t *l, gasnetc_loan_t *loan, uint16_t credits,
                               uint16_t epochs)
{
    if (!loan->asked || loan->loan < l->floor + (uint32_t)credits) return false;
    lending_age_borrower(loan, epochs);
    loan->asked = false;
    l->asking--;
    loan->loan = (uint16_t)(loan->loan - credits);
    l->bank += credits;
    l->returned += credits;
    if (credits == 0) {
        lending_back_off(l, loan);
    } else { /* return_limit bounds the credits that the peer returns in this epoch */
        loan->returned_last = true;
        l->bank_short = false;
    }
    return true;
}

/* --- both --- */

uint16_t gasnetc_lending_epochs(const gasnetc_lending_t *l, gasnetc_loan_t *loan)
{
    uint16_t epochs = lending_ended(l, loan->reported);
    loan->reported = (uint32_t)l->epoch;
    return epochs;
}
