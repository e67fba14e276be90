/* lending.c - credits lent at run time: what is not on a sender's path.  See lending.h.
 *
 * Three things keep credits from swinging to and fro.  A borrower returns only what it did not
 * touch in the last epochs, and nothing while it had to wait itself; what may move between two
 * nodes in an epoch is bounded; and a peer that had nothing to give is left alone for twice as many
 * epochs each time.
 */
#include "portals-conduit/lending.h"

enum {
    asking_most = 4,       /* peers asked at once */
    requests_per_ask = 32, /* after as many in an epoch, so that asking never costs much */
    refusals_most = 10,    /* a peer is asked again after at most 2^10 epochs */
    give_limit = 64,       /* credits that may be added to a loan in an epoch */
    return_limit = 32,     /* and that a borrower returns in one of the lender's */
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

static uint16_t least(uint32_t a, uint32_t b)
{
    return (uint16_t)(a < b ? a : b);
}

/* A memory that fades to a quarter with each epoch. */
static uint16_t faded(uint16_t value, uint16_t epochs)
{
    return epochs < 8 ? (uint16_t)(value >> 2 * epochs) : 0;
}

/* Epochs have ended at the lender.  What was in use in the last one counts fully for one more, and
 * half as much with each that follows: less would make a steady borrower look idle at the moment
 * when an epoch ends. */
static void borrower_ages(gasnetc_loan_t *loan, uint16_t epochs)
{
    if (epochs == 0) return;
    uint16_t before = epochs < 16 ? (uint16_t)(loan->most_then >> epochs) : 0;
    uint16_t last = epochs < 17 ? (uint16_t)(loan->most >> (epochs - 1)) : 0;
    loan->most_then = last > before ? last : before;
    loan->most = loan->in_use;
    loan->stalls = faded(loan->stalls, epochs);
    loan->given_up = faded(loan->given_up, epochs);
}

static void lender_ages(const gasnetc_lending_t *l, gasnetc_loan_t *loan)
{
    uint16_t epochs = (uint16_t)(l->epoch - loan->aged);
    loan->aged = l->epoch;
    loan->wishes = faded(loan->wishes, epochs);
    loan->given = faded(loan->given, epochs);
}

/* --- as a borrower --- */

void gasnetc_lending_untake(const gasnetc_lending_t *l, gasnetc_loan_t *loan, uint8_t byte)
{
    loan->in_use = (uint16_t)(loan->in_use - (byte & GASNETC_LENDING_COST_MOST));
    if (byte & 0x80) loan->told = (uint16_t)(l->epoch - 1);
}

bool gasnetc_lending_replied(gasnetc_loan_t *loan, uint8_t byte)
{
    unsigned cost = byte & GASNETC_LENDING_COST_MOST;
    unsigned more = byte >> 4 & GASNETC_LENDING_MORE_MOST;
    if (cost < 1 || cost > loan->in_use || more > UINT16_MAX - (unsigned)loan->owned) return false;
    loan->in_use = (uint16_t)(loan->in_use - cost);
    loan->owned = (uint16_t)(loan->owned + more);
    borrower_ages(loan, byte >> 7);
    return true;
}

uint16_t gasnetc_lending_give_back(const gasnetc_lending_t *l, gasnetc_loan_t *loan,
                                   uint16_t epochs)
{
    borrower_ages(loan, epochs);
    uint16_t keep = loan->most > loan->most_then ? loan->most : loan->most_then;
    if (keep < l->floor) keep = l->floor;
    if (loan->stalls > 0 || loan->owned <= keep || loan->given_up >= l->return_limit) return 0;
    uint16_t back = least((uint32_t)(loan->owned - keep), l->return_limit - loan->given_up);
    loan->owned = (uint16_t)(loan->owned - back);
    loan->given_up = (uint16_t)(loan->given_up + back);
    return back;
}

/* --- as a lender --- */

/* Asking this peer was of no use. */
static void spare(const gasnetc_lending_t *l, gasnetc_loan_t *loan)
{
    if (loan->refusals < refusals_most) loan->refusals++;
    loan->ask_from = (uint16_t)(l->epoch + (1U << loan->refusals));
    loan->gave = false;
}

/* More for a peer that had to wait: as much as it was short of, if bank and limits allow. */
static unsigned lend(gasnetc_lending_t *l, gasnetc_loan_t *loan, unsigned wish)
{
    lender_ages(l, loan);
    if (loan->wishes < UINT16_MAX) loan->wishes++;
    if (loan->gave) spare(l, loan);
    if (wish > (unsigned)(l->ceiling - loan->loan)) wish = l->ceiling - loan->loan;
    if (loan->given >= l->give_limit || wish == 0) return 0;
    l->hungry = l->bank < wish;
    unsigned more = least(wish, l->bank);
    l->bank -= more;
    l->lent += more;
    loan->loan = (uint16_t)(loan->loan + more);
    loan->given = (uint16_t)(loan->given + more);
    return more;
}

uint8_t gasnetc_lending_answer(gasnetc_lending_t *l, gasnetc_loan_t *loan, uint8_t byte)
{
    unsigned cost = byte & GASNETC_LENDING_COST_MOST;
    unsigned wish = byte >> 4 & GASNETC_LENDING_MORE_MOST;
    borrower_ages(loan, byte >> 7);
    if (__builtin_expect(++l->requests >= l->epoch_length, 0)) {
        l->requests = l->asks = 0;
        l->epoch++;
    }
    unsigned more = wish > 0 && l->dynamic ? lend(l, loan, wish) : 0;
    unsigned ended = loan->told != l->epoch;
    loan->told = l->epoch;
    return (uint8_t)(ended << 7 | more << 4 | cost);
}

bool gasnetc_lending_ask(gasnetc_lending_t *l, gasnetc_loan_t *loan)
{
    if (!l->hungry || l->asking >= asking_most ||
        l->asks > asking_most + l->requests / requests_per_ask || loan->asked ||
        loan->loan <= l->floor || (int16_t)(uint16_t)(l->epoch - loan->ask_from) < 0)
        return false;
    lender_ages(l, loan);
    if (loan->wishes > 0) return false;
    if (loan->refusals > 0 && (uint16_t)(l->epoch - loan->ask_from) >> loan->refusals >= 4)
        loan->refusals--; /* it was spared for long */
    loan->asked = true;
    l->asking++;
    l->asks++;
    return true;
}

bool gasnetc_lending_gave_back(gasnetc_lending_t *l, gasnetc_loan_t *loan, uint16_t credits,
                               uint16_t epochs)
{
    if (!loan->asked || loan->loan < l->floor + (uint32_t)credits) return false;
    borrower_ages(loan, epochs);
    loan->asked = false;
    l->asking--;
    loan->loan = (uint16_t)(loan->loan - credits);
    l->bank += credits;
    l->returned += credits;
    if (credits == 0) {
        spare(l, loan);
    } else { /* its own limit is what protects it in this epoch */
        loan->gave = true;
        l->hungry = false;
    }
    return true;
}

/* --- both --- */

uint16_t gasnetc_lending_epochs(const gasnetc_lending_t *l, gasnetc_loan_t *loan)
{
    uint16_t epochs = (uint16_t)(l->epoch - loan->told);
    loan->told = l->epoch;
    return epochs;
}
