/* lending.c - what a broken peer may say of credits, and where counters end (PO-9, PO-10).  How
 * lending goes among many is seen in tests/sim/lending.c.
 */
#include "portals-conduit/lending.h"

#include "tests/unit/check.h"

static gasnetc_lending_t lending;
static gasnetc_loan_t loan;

static void begin(uint32_t bank)
{
    gasnetc_lending_init(&lending, 10 + bank, 1, 10, 4, 20, 8, true);
    gasnetc_loan_init(&loan, 10);
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
    lending.bank_short = true;
    check(gasnetc_lending_ask(&lending, &loan) && !gasnetc_lending_ask(&lending, &loan),
          "a peer is asked once at a time");
    check(!gasnetc_lending_gave_back(&lending, &loan, 7, 0) && lending.bank == 0,
          "more than it could have is refused");
    check(gasnetc_lending_gave_back(&lending, &loan, 3, 0) && loan.loan == 7 && lending.bank == 3 &&
              !lending.bank_short,
          "what it gives is in the bank");
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
    lending.epoch = (uint16_t)(loan.reported + 3);
    check(gasnetc_lending_epochs(&lending, &loan) == 3 &&
              gasnetc_lending_epochs(&lending, &loan) == 0,
          "a system message tells all of them");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    settings();
    replies();
    requests();
    stalled_requests();
    giving_back();
    epochs();
    return check_end();
}
