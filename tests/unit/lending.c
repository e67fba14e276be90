/* lending.c - invalid messages about credits, the limits of counters, and the rules by which a
 * lender chooses the peers that it asks for credits (PO-9, PO-10, PO-17).  tests/sim/lending.c runs
 * whole jobs.
 */
#include "portals-conduit/lending.h"

#include <string.h>

#include "tests/unit/check.h"

static gasnetc_lending_t lending;
static gasnetc_loan_t loan;

static void begin(uint32_t bank)
{
    gasnetc_lending_init(&lending, 10 + bank, 1, 10, 4, 20, 8, true);
    gasnetc_loan_init(&loan, 10);
}

static gasnetc_loan_t *only_loan(void *context, uint32_t rank)
{
    (void)context, (void)rank;
    return &loan;
}

/* Whether the only peer is asked now. */
static bool is_asked(void)
{
    gasnetc_lending_ask_t asks[GASNETC_LENDING_ASKS_MOST];
    lending.bank_short = true;
    return gasnetc_lending_choose(&lending, 1, only_loan, NULL, asks) == 1;
}

static uint8_t take(unsigned cost)
{
    unsigned short_of = 0;
    uint8_t byte = 0xff;
    check(gasnetc_lending_take(&lending, &loan, cost, &short_of, &byte), "%u credits are there",
          cost);
    return byte;
}

static void settings(void)
{
    gasnetc_lending_t l;
    check(gasnetc_lending_init(&l, 40, 10, 4, 4, 4, 1, true) && l.bank == 0, "all lent, none left");
    check(!gasnetc_lending_init(&l, 39, 10, 4, 4, 4, 1, true), "more lent than there is");
    check(!gasnetc_lending_init(&l, 100, 10, 3, 4, 4, 1, true), "a share below the floor");
    check(!gasnetc_lending_init(&l, 100, 10, 5, 4, 4, 1, true), "a share above the ceiling");
    check(!gasnetc_lending_init(&l, 100, 4, 16, 16, 20, 1, true), "a floor the byte cannot say");
    check(!gasnetc_lending_init(&l, UINT32_MAX, UINT32_MAX, 4, 4, 4, 1, true),
          "a product beyond 32 bits");
}

static void replies(void)
{
    begin(0);
    take(3);
    check(!gasnetc_lending_replied(&loan, 4), "a Reply for more than is in use is refused");
    check(!gasnetc_lending_replied(&loan, 0), "a Reply for nothing is refused");
    check(loan.in_use == 3 && loan.owned == 10, "a refused Reply changes nothing");
    check(gasnetc_lending_replied(&loan, 0x73) && loan.in_use == 0 && loan.owned == 17,
          "a Reply brings back 3 and adds 7");
    check(!gasnetc_lending_replied(&loan, 3), "it does so once");
    loan.owned = UINT16_MAX - 6;
    take(1);
    check(!gasnetc_lending_replied(&loan, 0x71) && loan.owned == UINT16_MAX - 6,
          "a loan does not overflow");
}

static void requests(void)
{
    begin(3);
    check(!gasnetc_lending_valid(&loan, 0x70) && gasnetc_lending_valid(&loan, 0x0a) &&
              !gasnetc_lending_valid(&loan, 0x0b),
          "a Request costs at least one credit and at most what was lent");
    check((gasnetc_lending_answer(&lending, &loan, 0x21) >> 4 & 7) == 2 && loan.loan == 12 &&
              lending.bank == 1 && !lending.bank_short,
          "a wish is served");
    check((gasnetc_lending_answer(&lending, &loan, 0x71) >> 4 & 7) == 1 && loan.loan == 13 &&
              lending.bank == 0 && lending.bank_short,
          "a wish beyond the bank is served in part, and the lender goes hungry");
    begin(100);
    while ((gasnetc_lending_answer(&lending, &loan, 0x71) >> 4 & 7) != 0) {
    }
    check(loan.loan == 20 && lending.bank == 90 && !lending.bank_short,
          "the ceiling holds, and is no hunger");
    begin(100);
    lending.dynamic = false;
    check(gasnetc_lending_answer(&lending, &loan, 0x71) == 1 && loan.loan == 10,
          "nothing is lent where that is switched off");
}

static void stalled_requests(void)
{
    begin(0);
    take(10);
    unsigned short_of = 0;
    uint8_t byte = 0;
    for (int i = 0; i < 5; i++)
        check_each(!gasnetc_lending_take(&lending, &loan, 2, &short_of, &byte), "some were left");
    check_all("a Request waits while none is left");
    check(loan.stalls == 1 && short_of == 2, "one Request that waits is one stall");
    gasnetc_lending_replied(&loan, 10);
    check(gasnetc_lending_take(&lending, &loan, 2, &short_of, &byte) && byte == 0x22,
          "and asks for what it was short of");
    check(take(1) == 1, "the next one asks for nothing");
}

static void giving_back(void)
{
    begin(0);
    check(gasnetc_lending_give_back(&lending, &loan, 0) == 6 && loan.owned == 4,
          "all but the floor");
    check(gasnetc_lending_give_back(&lending, &loan, 99) == 0, "never the floor");
    begin(0);
    take(7);
    gasnetc_lending_replied(&loan, 7);
    check(gasnetc_lending_give_back(&lending, &loan, 1) == 3, "not what was in use of late");
    check(!gasnetc_lending_gave_back(&lending, &loan, 1, 0), "an answer nobody asked for");
    check(is_asked() && !is_asked(), "a peer is asked once at a time");
    check(!gasnetc_lending_gave_back(&lending, &loan, 7, 0) && lending.bank == 0,
          "more than it could have is refused");
    check(gasnetc_lending_gave_back(&lending, &loan, 3, 0) && loan.loan == 7 && lending.bank == 3 &&
              !lending.bank_short,
          "what it gives is in the bank");
}

static void stalled_borrower(void)
{
    begin(0);
    take(7);
    unsigned short_of = 0;
    uint8_t byte = 0;
    gasnetc_lending_take(&lending, &loan, 4, &short_of, &byte);
    gasnetc_lending_replied(&loan, 7);
    check(gasnetc_lending_give_back(&lending, &loan, 0) == 0 && loan.owned == 10,
          "PO-10 a borrower whose Request stalled lately returns nothing");
    check(gasnetc_lending_give_back(&lending, &loan, 1) == 3,
          "PO-10 an epoch later it returns what it did not use");
}

/* --- the choice of the peers that are asked --- */

static void peer_that_stalled(void)
{
    begin(3);
    gasnetc_lending_answer(&lending, &loan, 0x71);
    check(lending.bank_short && !is_asked(), "PO-10 the peer that asked for more is not asked");
    lending.epoch++;
    check(is_asked(), "PO-10 an epoch later it is");
}

static unsigned epochs_until_asked(void)
{
    unsigned epochs = 0;
    for (lending.asks = 0; epochs < 5000 && !is_asked(); lending.asks = 0) {
        lending.epoch++;
        epochs++;
    }
    return epochs;
}

static void refusals(void)
{
    begin(0);
    check(epochs_until_asked() == 0, "a peer that never refused is asked at once");
    for (unsigned delay = 2; delay <= 2048; delay *= 2) {
        gasnetc_lending_gave_back(&lending, &loan, 0, 0);
        unsigned epochs = epochs_until_asked(), most = delay < 1024 ? delay : 1024;
        check_each(epochs == most, "asked after %u epochs, not %u", epochs, most);
    }
    check_all(
        "PO-17 the delay until a peer that refuses is asked again doubles, up to 1024 epochs");
    begin(0);
    for (unsigned i = 0; i < 3; i++) {
        epochs_until_asked();
        gasnetc_lending_gave_back(&lending, &loan, 0, 0);
    }
    lending.epoch += 8 + 4 * 8;
    check(epochs_until_asked() == 0, "it was not asked for four times the delay");
    gasnetc_lending_gave_back(&lending, &loan, 0, 0);
    check(epochs_until_asked() == 8, "PO-17 one of its refusals is forgotten then");
    begin(0);
    epochs_until_asked();
    gasnetc_lending_gave_back(&lending, &loan, 3, 0);
    gasnetc_lending_answer(&lending, &loan, 0x11);
    check(epochs_until_asked() == 2,
          "PO-17 a peer that asks for credits after it returned some has refused");
}

enum { MANY = 40, SELF = 7 };
static gasnetc_loan_t loans[MANY];

static gasnetc_loan_t *loan_of(void *context, uint32_t rank)
{
    (void)context;
    return rank == SELF ? NULL : &loans[rank];
}

static void begin_many(void)
{
    gasnetc_lending_init(&lending, (MANY - 1) * 10, MANY - 1, 10, 4, 20, 1024, true);
    for (int i = 0; i < MANY; i++) gasnetc_loan_init(&loans[i], 10);
    lending.bank_short = true;
}

/* Calls the lender's choice until it asks nobody; each peer asked refuses at once if `refuse`. */
static unsigned ask_all(bool refuse, unsigned *asked)
{
    gasnetc_lending_ask_t asks[GASNETC_LENDING_ASKS_MOST];
    unsigned sum = 0;
    for (unsigned calls = 0; calls < MANY; calls++) {
        unsigned n = gasnetc_lending_choose(&lending, MANY, loan_of, NULL, asks);
        for (unsigned i = 0; i < n; i++) {
            asked[asks[i].rank]++;
            if (refuse) gasnetc_lending_gave_back(&lending, &loans[asks[i].rank], 0, 0);
        }
        sum += n;
    }
    return sum;
}

static void choice(void)
{
    unsigned asked[MANY] = {0}, sum = 0;
    begin_many();
    sum = ask_all(false, asked);
    check(sum == 4, "PO-17 %u peers are asked and have not answered: 4 at most", sum);
    for (uint32_t r = 0; r < MANY; r++)
        if (asked[r]) gasnetc_lending_gave_back(&lending, &loans[r], 0, 0);
    sum = ask_all(true, asked);
    check(sum == 1, "PO-17 %u more in the same epoch: 5 at most without Requests", sum);
    lending.requests = 64;
    sum = ask_all(true, asked);
    check(sum == 2, "PO-17 %u more after 64 Requests: one for each 32", sum);

    memset(asked, 0, sizeof asked);
    begin_many();
    for (unsigned round = 0; round < MANY; round++, lending.asks = 0) ask_all(true, asked);
    for (uint32_t r = 0; r < MANY; r++)
        check_each(asked[r] == (r != SELF), "rank %u is asked %u times", r, asked[r]);
    check_all("PO-17 the choice goes round: each of 39 peers that refuse is asked, and once");

    gasnetc_lending_ask_t asks[GASNETC_LENDING_ASKS_MOST];
    begin_many();
    lending.epoch = 3;
    unsigned n = gasnetc_lending_choose(&lending, MANY, loan_of, NULL, asks);
    check(n > 0 && asks[0].epochs == 3 && loans[asks[0].rank].reported == 3,
          "PO-10 a peer that is asked is informed of the epochs that ended");
    lending.bank_short = false;
    lending.asking = 0;
    check(gasnetc_lending_choose(&lending, MANY, loan_of, NULL, asks) == 0,
          "nobody is asked while the bank suffices");
}

static void epochs(void)
{
    begin(0);
    uint8_t byte = take(1);
    check(byte == 1, "no epoch has ended");
    for (int i = 0; i < 7; i++) gasnetc_lending_answer(&lending, &loan, 1);
    check(gasnetc_lending_answer(&lending, &loan, 1) == 0x81, "the eighth Request ends one");
    check(take(1) == 1, "the peer is told once");
    lending.epoch++;
    byte = take(1);
    check(byte == 0x81, "the next message tells the next");
    lending.epoch = loan.reported + 3;
    check(gasnetc_lending_epochs(&lending, &loan) == 3 &&
              gasnetc_lending_epochs(&lending, &loan) == 0,
          "a system message tells all of them");
}

/* Counts of past use, after one epoch that the byte of a message reports. */
static void epochs_in_messages(void)
{
    begin(0);
    loan.stalls = 4;
    take(1);
    gasnetc_lending_replied(&loan, 0x01);
    check(loan.stalls == 4, "PO-10 a Reply without the bit: its sender's epoch goes on");
    take(1);
    gasnetc_lending_replied(&loan, 0x81);
    check(loan.stalls == 1, "PO-10 the bit of a Reply ends an epoch of its sender");
    loan.stalls = 4;
    gasnetc_lending_answer(&lending, &loan, 0x01);
    check(loan.stalls == 4, "PO-10 a Request without the bit: its sender's epoch goes on");
    gasnetc_lending_answer(&lending, &loan, 0x81);
    check(loan.stalls == 1, "PO-10 the bit of a Request ends an epoch of its sender");
}

static void stalls_decay(void)
{
    begin(0);
    loan.stalls = 5;
    check(gasnetc_lending_give_back(&lending, &loan, 1) == 0 &&
              gasnetc_lending_give_back(&lending, &loan, 1) == 6,
          "PO-10 five stalls are forgotten after two epochs, not after one");
}

/* Credits lent to the peer by Requests that ask for as many as a Request can. */
static unsigned lent_now(void)
{
    unsigned sum = 0, more;
    while ((more = gasnetc_lending_answer(&lending, &loan, 0x71) >> 4 & 7) != 0) sum += more;
    return sum;
}

static void limits_of_an_epoch(void)
{
    gasnetc_lending_init(&lending, 10 + 1000, 1, 10, 4, 1000, 1 << 20, true);
    gasnetc_loan_init(&loan, 10);
    unsigned lent = lent_now();
    check(lent >= lending.give_limit && lent < lending.give_limit + 7u,
          "PO-17 %u credits are lent to a peer in an epoch", lent);
    lending.epoch++;
    check(lent_now() > 0, "PO-17 the next epoch lends more");

    begin(0);
    loan.owned = 200;
    unsigned first = gasnetc_lending_give_back(&lending, &loan, 0);
    check(first == lending.return_limit && gasnetc_lending_give_back(&lending, &loan, 0) == 0,
          "PO-17 %u credits are returned in an epoch", first);
    check(gasnetc_lending_give_back(&lending, &loan, 1) > 0, "PO-17 more in the next");
}

static const uint64_t late_epochs[] = {32767, 32768,   65535,          65536,
                                       98304, 1 << 20, UINT32_MAX - 1, (uint64_t)UINT32_MAX + 2};

/* A lender in its epoch `epoch`, of which the peer was informed lately if `informed`. */
static void begin_late(uint64_t epoch, bool informed)
{
    begin(0);
    lending.epoch = epoch;
    if (informed) loan.reported = loan.aged = (uint32_t)epoch;
}

static void late(void)
{
    enum { COUNT = sizeof late_epochs / sizeof *late_epochs };
    for (unsigned i = 0; i < COUNT; i++) {
        const unsigned long long epoch = late_epochs[i];
        begin_late(epoch, false);
        check_each(is_asked(), "epoch %llu: a peer that never refused is asked", epoch);
        gasnetc_lending_gave_back(&lending, &loan, 0, 0);
        const unsigned delay = epochs_until_asked();
        check_each(delay == 2, "epoch %llu: asked after %u epochs, not 2", epoch, delay);
    }
    check_all("PO-17 peers are asked, and asked again, however many epochs have ended");
    for (unsigned i = 0; i < COUNT; i++) {
        begin_late(late_epochs[i], true);
        lending.epoch += 3;
        const unsigned told = gasnetc_lending_epochs(&lending, &loan);
        check_each(told == 3, "epoch %llu: %u epochs are reported, not 3",
                   (unsigned long long)late_epochs[i], told);
        lending.epoch += 65536;
        check_each(gasnetc_lending_epochs(&lending, &loan) == UINT16_MAX,
                   "more epochs than a message can report count as the most it can");
        loan.stalled_requests = loan.given = 4;
        lending.epoch += 65536;
        is_asked();
        check_each(loan.given == 0, "what was lent 65536 epochs ago is forgotten");
    }
    check_all("PO-10 the epochs that ended are counted across every wrap");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    settings();
    replies();
    requests();
    stalled_requests();
    giving_back();
    stalled_borrower();
    peer_that_stalled();
    refusals();
    choice();
    epochs();
    epochs_in_messages();
    stalls_decay();
    limits_of_an_epoch();
    late();
    return check_end();
}
