/* credits.c - the flow control of credits.h (IB-A1..A3, IB-R3, IB-R5) under random schedules of two
 * nodes, engine and network played by this file.
 *
 * After every step: the invariant of credits.h holds in both directions, no message can arrive
 * without a receive buffer waiting for it, and no node ever posts more buffers than 2M.
 */
#include "core/am/credits.h"

#include <stdlib.h>

#include "tests/unit/check.h"

typedef struct flight {
    bool reply;
    uint16_t credits;
} flight_t;

enum { MOST = 4096 };

typedef struct side {
    gasnetc_credits_t credits;
    int posted;   /* receive buffers */
    int handling; /* Requests taken from the network, not yet replied to nor banked */
    int owing;    /* hidden Replies due at the end of this poll */
    flight_t inbound[MOST];
    unsigned first, arrived; /* ring of messages on the way to this side */
    unsigned hidden;         /* Replies of its own that only carried credits */
    unsigned least;          /* credits that a Request has left */
} side_t;

static side_t sides[2];
static uint16_t limit;

static unsigned on_the_way(const side_t *s)
{
    return s->arrived - s->first;
}

static void post(side_t *to, bool reply, uint16_t credits)
{
    to->inbound[to->arrived++ % MOST] = (flight_t){reply, credits};
}

/* Requests from `a` to `b` and what becomes of their credits: must be M in all. */
static unsigned accounted(const side_t *a, const side_t *b)
{
    unsigned sum = a->credits.available + b->credits.banked + (unsigned)b->handling;
    if (gasnetc_credits_one_each(&b->credits)) sum += (unsigned)b->owing;
    for (unsigned i = b->first; i != b->arrived; i++) sum += !b->inbound[i % MOST].reply;
    for (unsigned i = a->first; i != a->arrived; i++) sum += a->inbound[i % MOST].credits;
    return sum;
}

static void look(const char *after)
{
    for (int i = 0; i < 2; i++) {
        const side_t *a = &sides[i], *b = &sides[!i];
        check_each(accounted(a, b) == limit, "after %s: %u credits accounted for, M is %u", after,
                   accounted(a, b), limit);
        check_each((int)on_the_way(a) <= a->posted, "after %s: %u may arrive, %d buffers", after,
                   on_the_way(a), a->posted);
        check_each(a->posted <= 2 * limit, "after %s: %d buffers posted, M is %u", after, a->posted,
                   limit);
        check_each(a->credits.banked <= a->credits.slack || a->owing ||
                       a->credits.slack == GASNETC_CREDITS_PER_MESSAGE - 1,
                   "after %s: banked %u, slack %u", after, a->credits.banked, a->credits.slack);
        check_each(a->credits.lowest == a->least, "after %s: the least is %u, reported %u", after,
                   a->least, a->credits.lowest);
        check_each(a->credits.surplus <= limit, "after %s: surplus %u", after, a->credits.surplus);
        check_each(a->credits.slack || a->credits.surplus == 0,
                   "after %s: no slack, and surplus %u", after, a->credits.surplus);
    }
}

static uint8_t carry(side_t *a, uint8_t own)
{
    uint8_t carried = gasnetc_credits_piggyback(&a->credits, own);
    check_each(carried >= own, "a message carries %u, of which %u are its own", carried, own);
    return carried;
}

/* As am_send.c does it; the network may be busy. */
static bool request(side_t *a, side_t *b, bool busy)
{
    bool needs_recv = false;
    if (!gasnetc_credits_take(&a->credits, &needs_recv)) return false;
    if (a->credits.available < a->least) a->least = a->credits.available;
    const uint8_t carried = carry(a, 0);
    if (busy) {
        gasnetc_credits_unpiggyback(&a->credits, carried, 0);
        gasnetc_credits_untake(&a->credits, needs_recv);
        return false;
    }
    a->posted += needs_recv;
    post(b, false, carried);
    return true;
}

/* As am_deliver.c does it, up to the handler. */
static void deliver(side_t *a)
{
    flight_t message = a->inbound[a->first++ % MOST];
    check_each(a->posted-- > 0, "a message finds no buffer");
    if (message.credits || message.reply)
        check_each(gasnetc_credits_return(&a->credits, message.credits, message.reply),
                   "%u credits are refused", message.credits);
    if (message.reply) return;
    a->posted++;
    a->handling++;
}

/* A handler ends: with a Reply, or without. */
static void finish(side_t *a, side_t *b, bool replies)
{
    a->handling--;
    if (replies) {
        post(b, true, carry(a, 1));
        return;
    }
    if (gasnetc_credits_bank(&a->credits)) a->owing++;
}

/* The end of a poll: what is still overdue leaves in hidden Replies. */
static void end_poll(side_t *a, side_t *b)
{
    for (; a->owing > 0; a->owing--) {
        if (!gasnetc_credits_overdue(&a->credits)) continue;
        a->hidden++;
        post(b, true, carry(a, gasnetc_credits_one_each(&a->credits)));
    }
}

static void begin(uint16_t m, uint16_t slack)
{
    limit = m;
    for (int i = 0; i < 2; i++) {
        sides[i] = (side_t){.posted = m, .least = m};
        gasnetc_credits_init(&sides[i].credits, m, slack);
    }
}

static void settle(void)
{
    for (int i = 0; i < 2;) {
        side_t *a = &sides[i], *b = &sides[!i];
        if (on_the_way(a))
            deliver(a);
        else if (a->handling)
            finish(a, b, check_below(2));
        else if (a->owing)
            end_poll(a, b);
        else if (on_the_way(b) || b->handling || b->owing)
            i = !i;
        else
            break;
        look("settling");
    }
}

static void random_schedule(void)
{
    begin((uint16_t)(1 + check_below(check_below(4) ? 12 : 400)), (uint16_t)check_below(400));
    unsigned eager = 1 + check_below(8), talkative = check_below(101);
    for (int step = 0; step < 3000; step++) {
        int i = (int)check_below(2);
        side_t *a = &sides[i], *b = &sides[!i];
        switch (check_below(2 + eager)) {
        case 0:
            if (on_the_way(a)) deliver(a);
            look("delivery");
            break;
        case 1:
            if (a->handling) finish(a, b, check_below(100) < talkative);
            look("a handler");
            if (check_below(3) == 0) end_poll(a, b);
            look("a poll");
            break;
        default:
            request(a, b, check_below(5) == 0);
            look("a Request");
        }
    }
    settle();
    for (int i = 0; i < 2; i++)
        check_each(sides[i].credits.available > 0, "M %u, slack %u: none available at rest", limit,
                   sides[i].credits.slack);
}

static void schedules(void)
{
    for (int round = 0; round < 300; round++) random_schedule();
    check_all(
        "IB-A1 random schedules of two nodes keep the invariant, and a buffer for each arrival");
}

/* Requests alternate, without Replies: banked credits ride along, nothing hidden is sent. */
static void ping_pong(uint16_t m, uint16_t slack, bool expect_hidden)
{
    begin(m, slack);
    for (int i = 0; i < 1000; i++) {
        side_t *a = &sides[i % 2], *b = &sides[!(i % 2)];
        if (!check_each(request(a, b, false), "no credit at Request %d", i)) break;
        deliver(b);
        finish(b, a, false);
        end_poll(b, a);
        if (on_the_way(a)) deliver(a);
        look("a turn");
    }
    unsigned hidden = sides[0].hidden + sides[1].hidden;
    check_each(expect_hidden ? hidden == 1000 : hidden == 0, "%u hidden Replies", hidden);
    check_all("IB-A3 a Request/Request ping-pong with M %u, slack %u costs %s", m, slack,
              expect_hidden ? "a hidden Reply each, having no slack" : "no extra messages");
}

/* One side only sends, the other only banks: one hidden Reply per slack + 1 Requests. */
static void one_way(uint16_t m, uint16_t slack)
{
    begin(m, slack);
    unsigned every = sides[1].credits.slack + 1u;
    for (unsigned i = 1; i <= 50 * every; i++) {
        if (!check_each(request(&sides[0], &sides[1], false), "Request %u has no credit", i)) break;
        deliver(&sides[1]);
        finish(&sides[1], &sides[0], false);
        end_poll(&sides[1], &sides[0]);
        if (on_the_way(&sides[0])) deliver(&sides[0]);
        look("a Request");
        check_each(sides[1].hidden == i / every, "%u hidden after %u", sides[1].hidden, i);
    }
    check_all("IB-R5 M %u, slack %u: a hidden Reply after every %u Requests, and never a stop", m,
              slack, every);
}

static void limits(void)
{
    gasnetc_credits_t c;
    gasnetc_credits_init(&c, 4, 4);
    check(c.slack == 3, "IB-R5 slack is kept below M, so that a sender never starves");
    gasnetc_credits_init(&c, 1, 7);
    check(c.slack == 0, "IB-R5 with one credit there is no slack");
    gasnetc_credits_init(&c, 8000, 700);
    check(c.slack == 254, "IB-R5 what is banked fits the header's byte, a Reply's own included");
}

/* Without slack, Requests both ways that one poll handles: buffers left behind would be kept from
 * other peers. */
static void one_each(void)
{
    begin(8, 0);
    for (int i = 0; i < 8; i++) request(&sides[0], &sides[1], false);
    for (int i = 0; i < 8; i++) {
        deliver(&sides[1]);
        finish(&sides[1], &sides[0], i == 3);
        look("a handler");
        if (i != 5) continue;
        request(&sides[1], &sides[0], false); /* another thread's */
        check(sides[0].inbound[(sides[0].arrived - 1) % MOST].credits == 0,
              "IB-R5 without slack a Request carries no credit");
    }
    end_poll(&sides[1], &sides[0]);
    while (on_the_way(&sides[0])) deliver(&sides[0]);
    look("a poll");
    check(sides[1].hidden == 7 && sides[0].credits.surplus == 0 && sides[0].credits.available == 8,
          "IB-R5 IB-A2 and each Request has a Reply of its own, which leaves no buffer behind");
}

/* Returns a broken peer might make are refused and change nothing. */
static void broken_peer(void)
{
    gasnetc_credits_t c;
    gasnetc_credits_init(&c, 4, 1);
    bool room;
    check(!gasnetc_credits_return(&c, 1, true) && c.available == 4,
          "IB-A1 a Reply to no Request is refused");
    gasnetc_credits_take(&c, &room);
    gasnetc_credits_take(&c, &room);
    gasnetc_credits_t before = c;
    check(!gasnetc_credits_return(&c, 3, false) && c.available == before.available &&
              c.surplus == before.surplus,
          "IB-A1 more credits than are out are refused, and nothing changes");
    check(!gasnetc_credits_return(&c, 0, true) && c.available == before.available &&
              c.surplus == before.surplus,
          "IB-A2 a Reply that brings no credit back is refused");
    check(!gasnetc_credits_return(&c, 65535, true), "IB-A1 a wild count is refused");
    check(gasnetc_credits_return(&c, 2, true) && c.available == 4 && c.surplus == 1,
          "IB-A3 a Reply with a banked credit leaves one buffer for the next Request");
    check(gasnetc_credits_take(&c, &room) && !room && c.surplus == 0,
          "IB-A3 which then posts none");
    gasnetc_credits_untake(&c, room);
    check(c.available == 4 && c.surplus == 1, "IB-A1 a Request that was not sent gives all back");
    gasnetc_credits_init(&c, 1, 0);
    check(gasnetc_credits_take(&c, &room) && room && !gasnetc_credits_take(&c, &room),
          "IB-A1 no credit, no Request");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    limits();
    broken_peer();
    ping_pong(8, 1, false);
    ping_pong(2, 1, false);
    ping_pong(8, 0, true);
    one_each();
    one_way(8, 0);
    one_way(8, 3);
    one_way(8, 7);
    one_way(8, 100);
    one_way(600, 254);
    one_way(1, 1);
    schedules();
    return check_end();
}
