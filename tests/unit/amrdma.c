/* amrdma.c - the rings of core/rings/amrdma.h one rule at a time (IB-R9..R12): trailers, slots
 * freed in any order, numbers that wrap round, and which peers are chosen.
 *
 * Whole conversations under random schedules are amrdma_sim's business.
 */
#include "core/rings/amrdma.h"

#include <string.h>

#include "core/ib/amrdma_choice.h"
#include "tests/unit/check.h"

static void trailers(void)
{
    for (int i = 0; i < 1000; i++) {
        uint32_t number = (uint32_t)check_random(), length = check_below(AMRDMA_LIMIT + 1);
        uint16_t freed = (uint16_t)check_random();
        uint64_t trailer = amrdma_trailer(number, freed, length);
        check_each(amrdma_trailer_number(trailer) == number &&
                       amrdma_trailer_freed(trailer) == freed &&
                       amrdma_trailer_length(trailer) == length,
                   "number %u, freed %u, length %u come back otherwise", number, freed, length);
        uint32_t slot = amrdma_slot_size(length);
        check_each(slot >= amrdma_padded(length) + AMRDMA_TRAILER && slot % 64 == 0 &&
                       slot < length + AMRDMA_TRAILER + 72,
                   "%u bytes get a slot of %u", length, slot);
    }
    check_all("a trailer describes what was put in; a slot holds a message and no more");
    check(amrdma_slot_size(AMRDMA_LIMIT) == 4096, "IB-R9 the longest message has a slot of 4 KB");
}

/* Sender and receiver in step, as if the network took no time. */
typedef struct ends {
    amrdma_out_t out;
    amrdma_in_t in;
    amrdma_released_t released;
} ends_t;

static void begin(ends_t *e, uint32_t slots, uint32_t number)
{
    memset(e, 0, sizeof *e);
    amrdma_in_init(&e->in, slots, &e->released, false);
    e->out.slots = (uint16_t)slots;
    e->out.sent = e->in.freed = number;
    e->out.freed = (uint16_t)number;
    e->in.expected = number + 1;
    for (uint32_t i = 0; i < slots; i++) e->released.number[(number - i) & e->in.mask] = number - i;
}

/* How many more may be sent now; all are taken. */
static uint32_t fill(ends_t *e)
{
    uint32_t n = 0;
    for (; amrdma_may_send(&e->out); n++) {
        uint32_t number = amrdma_send(&e->out);
        uint64_t trailer = amrdma_trailer(number, 0, 8);
        check_each(amrdma_is_next(&e->in, trailer), "message %u is not expected", number);
        check_each(!amrdma_is_next(&e->in, amrdma_trailer(number - e->out.slots, 0, 8)),
                   "what message %u replaces looks like it", number);
        check_each(amrdma_take(&e->in) == number, "message %u is taken for another", number);
    }
    return n;
}

static void tell(ends_t *e, bool in_order)
{
    amrdma_update_freed(&e->out, amrdma_freed(&e->in, in_order));
}

static void no_ring(void)
{
    amrdma_out_t out = {.sent = 0};
    check(!amrdma_may_send(&out), "without a ring nothing may be sent");
}

static void depths(uint32_t first, const char *name)
{
    for (uint32_t slots = 1; slots <= AMRDMA_SLOTS; slots *= 2) {
        ends_t e;
        begin(&e, slots, first);
        for (int round = 0; round < 50; round++) {
            uint32_t sent = fill(&e);
            check_each(sent == slots, "%u messages fit into %u slots", sent, slots);
            tell(&e, true);
            check_each(!amrdma_may_send(&e.out), "a slot is free before it is released");
            for (uint32_t i = 0; i < slots; i++) amrdma_release(&e.in, 0, true);
            tell(&e, true);
        }
    }
    check_all("IB-R10 as many messages as slots, and after their release again: %s", name);
}

static void any_order(uint32_t first)
{
    for (int round = 0; round < 2000; round++) {
        ends_t e;
        uint32_t slots = 1u << check_below(6), released = 0, order[AMRDMA_SLOTS];
        begin(&e, slots, first);
        fill(&e);
        for (uint32_t i = 0; i < slots; i++) {
            uint32_t j = check_below(i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (uint32_t i = 0, prefix = 0; i < slots; i++) {
            amrdma_release(&e.in, first + 1 + order[i], false);
            released |= 1u << order[i];
            while (prefix < slots && released >> prefix & 1) prefix++;
            uint16_t freed = amrdma_freed(&e.in, false);
            check_each((uint16_t)(freed - first) == prefix,
                       "%u slots, the first %u released: %u are reported free", slots, prefix,
                       (uint16_t)(freed - first));
        }
        tell(&e, false);
        uint32_t again = fill(&e);
        check_each(again == slots, "all %u released, %u free", slots, again);
    }
    check_all("a slot is free when it and all before it are released, in whatever order (from %u)",
              first);
}

static void old_news(void)
{
    ends_t e;
    begin(&e, 4, 100);
    fill(&e);
    amrdma_update_freed(&e.out, 103);
    amrdma_update_freed(&e.out, 101);
    uint32_t sent = fill(&e);
    check(sent == 3, "news that comes late takes no slot back (%u sent)", sent);
    amrdma_update_freed(&e.out, 104);
    check(fill(&e) == 1, "and newer news frees the rest");
}

/* The sender looks for itself: after each release, or after some. */
static void shared(uint32_t first)
{
    for (uint32_t slots = 1; slots <= AMRDMA_SLOTS; slots *= 2)
        for (int in_order = 0; in_order < 2; in_order++) {
            ends_t e;
            begin(&e, slots, first);
            e.in.shared = true;
            fill(&e);
            amrdma_look(&e.out, &e.released);
            check_each(!amrdma_may_send(&e.out), "%u slots: one is free before its release", slots);
            for (uint32_t number = first + 1; number - first < 5 * AMRDMA_SLOTS;) {
                uint32_t some = 1 + check_below(slots);
                for (uint32_t i = 0; i < some; i++) amrdma_release(&e.in, number++, in_order);
                amrdma_look(&e.out, &e.released);
                uint32_t sent = fill(&e);
                check_each(sent == some, "%u slots, %u released: %u are free", slots, some, sent);
            }
        }
    amrdma_out_t none = {.sent = 0};
    amrdma_look(&none, &(amrdma_released_t){{0}});
    check_each(!amrdma_may_send(&none), "a look where there is no ring finds one");
    check_all("who shares the memory sees each slot that is released (from %u)", first);
}

/* --- the choice --- */

enum { PEERS = 8 };
static uint32_t counts[PEERS];

static amrdma_choice_t choosing(uint32_t cycle, uint32_t places)
{
    memset(counts, 0, sizeof counts);
    return (amrdma_choice_t){
        .cycle = cycle, .max_rings = places, .peers = PEERS, .arrivals = counts};
}

/* The chosen peers in order, as text. */
static const char *chosen(amrdma_choice_t *c)
{
    static char text[PEERS * 2 + 1];
    char *p = text;
    for (int64_t peer; (peer = amrdma_choose(c)) >= 0;) {
        *p++ = (char)('0' + peer);
        *p++ = ' ';
    }
    *p = 0;
    return text;
}

static bool hear(amrdma_choice_t *c, int64_t peer, uint32_t n)
{
    bool over = false;
    while (n-- > 0) {
        if (over) check_each(false, "the cycle was over before");
        over = amrdma_count_arrival(c, peer, 1);
    }
    return over;
}

static void choices(void)
{
    amrdma_choice_t c = choosing(1, 2);
    bool over = hear(&c, 5, 1);
    check(over && !strcmp(chosen(&c), "5 "), "IB-R12 cycle 1: the first peer that sends");
    check(hear(&c, 3, 1) && !strcmp(chosen(&c), "3 "), "IB-R12 cycle 1: then the second");
    check(!amrdma_choosing(&c), "IB-R11 when all rings are given there is nothing to choose");

    c = choosing(64, 2);
    over = hear(&c, 1, 8);
    over = hear(&c, 2, 30) || over;
    check(!over && !hear(&c, 7, 25), "IB-R12 no peer is chosen before the cycle is over");
    over = hear(&c, 1, 1);
    check(over && !strcmp(chosen(&c), "2 "),
          "IB-R12 the peer that sent most gets a ring, not one with less than a place's share");
    check(amrdma_choosing(&c), "and a place is left");
    over = hear(&c, AMRDMA_HAS_RING, 60);
    over = hear(&c, 7, 1) || over;
    check(!over && hear(&c, 1, 3), "messages of those with a ring count for the cycle");
    check(!strcmp(chosen(&c), "1 "), "IB-R12 counting begins anew with each cycle");

    c = choosing(64, 4);
    hear(&c, 0, 20), hear(&c, 4, 17), hear(&c, 6, 11);
    check(hear(&c, 5, 16) && !strcmp(chosen(&c), "0 4 5 "),
          "several may be chosen at once, by the number of messages received");

    c = choosing(4, 8);
    hear(&c, AMRDMA_HAS_RING, 4);
    check(!strcmp(chosen(&c), "") && c.given == 0, "a peer that sent nothing is not chosen");
    c = choosing(0, 8);
    check(!amrdma_choosing(&c), "IB-R12 cycle 0: no peer is ever chosen");
    c = choosing(1024, 1);
    hear(&c, 3, 1024);
    check(!strcmp(chosen(&c), "3 ") && !amrdma_choosing(&c), "no choice is left without places");
    c = choosing(1024, 0);
    check(!amrdma_choosing(&c), "IB-R11 no places: no peer is ever chosen");
    check_all("a cycle is over once");
}

/* Each ring leaves a buffer to a peer's Replies; some are kept for the peers without one. */
static void rings_for_few_buffers(void)
{
    check(amrdma_max_rings(32, 10, 32, 320) == 10 && amrdma_max_rings(4, 10, 32, 320) == 4,
          "IB-R11 buffers for the Replies of all peers: as many rings as peers, or as wanted");
    check(amrdma_max_rings(32, 100, 32, 1024) == 31 && amrdma_max_rings(8, 100, 32, 1024) == 8,
          "IB-R4 IB-R11 fewer buffers: those of one peer are kept for the others");
    check(amrdma_max_rings(32, 100, 32, 32) == 0 && amrdma_max_rings(32, 100, 32, 31) == 0,
          "IB-R4 IB-R11 buffers for one peer, or less: no ring");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    trailers();
    no_ring();
    depths(0, "from the start");
    depths(UINT32_MAX - 70, "across the end of the numbers");
    any_order(0);
    any_order(UINT32_MAX - 10);
    old_news();
    shared(0);
    shared(UINT32_MAX - 70);
    choices();
    rings_for_few_buffers();
    return check_end();
}
