/* handshake.c - the hand-shake of connections at first use (IB-W4): its steps, its bytes, and many
 * random pairs over a network that loses, repeats, delays and reorders.
 */
#include "core/ib/handshake.h"

#include <string.h>

#include "tests/unit/check.h"

static const net_ib_patience_t patience = {.first = 0.02, .longest = 0.5, .give_up = 60};

/* --- step by step --- */

enum { MAKE = NET_IB_MAKE, JOIN = NET_IB_JOIN, OPEN = NET_IB_OPEN, SEND = NET_IB_SEND };
enum { HAVE = NET_IB_HAVE, ASK = NET_IB_ASK };

static void want(net_ib_handshake_t *h, unsigned expected, const char *what)
{
    unsigned actions = net_ib_handshake_want(h, 0, &patience);
    if (!check(actions == expected, "%s", what)) check_note("actions %#x", actions);
}

static void hear(net_ib_handshake_t *h, uint8_t flags, unsigned expected, const char *what)
{
    unsigned actions = net_ib_handshake_hear(h, flags, 0, &patience);
    if (!check(actions == expected, "%s", what)) check_note("actions %#x", actions);
}

static void steps(void)
{
    net_ib_handshake_t a = {0}, b = {0};
    want(&a, MAKE | SEND, "who wants to send makes its queue pairs and greets");
    check(a.flags == ASK, "asking, and having nothing yet");
    want(&a, 0, "wanting twice is wanting once");
    hear(&b, a.flags, MAKE | JOIN | SEND, "the other makes and joins, and greets");
    check(b.flags == (HAVE | ASK), "having, and asking");
    hear(&a, b.flags, JOIN | OPEN | SEND, "the first joins, opens and greets");
    check(a.flags == HAVE && !a.waiting, "not asking any more, and not waiting");
    hear(&b, a.flags, OPEN, "the other opens and is silent");
    check(!b.waiting, "and does not wait any more");
    hear(&b, ASK, SEND, "a late repetition is answered");
    check(b.flags == HAVE, "without asking");
    hear(&a, HAVE, 0, "and that is all");
    want(&b, 0, "an open one has what it wants");

    net_ib_handshake_t c = {0}, d = {0};
    want(&c, MAKE | SEND, "both begin: one");
    want(&d, MAKE | SEND, "and the other");
    hear(&c, ASK, JOIN | SEND, "who hears a greeting that crossed its own joins");
    hear(&d, ASK, JOIN | SEND, "as does the other");
    hear(&c, d.flags, OPEN | SEND, "then one opens");
    hear(&d, c.flags, OPEN, "and the other");

    net_ib_handshake_t e = {0};
    hear(&e, HAVE, 0, "nobody has what was not made");
    check(!e.made && !e.waiting, "and nothing has begun");
}

static void silence(void)
{
    net_ib_handshake_t a = {0}, b = {0};
    net_ib_handshake_want(&a, 0, &patience);
    net_ib_handshake_hear(&b, ASK, 0, &patience);
    check(net_ib_handshake_tick(&a, patience.first / 2, &patience) == 0, "not yet repeated");
    check(net_ib_handshake_tick(&a, patience.first, &patience) == SEND, "repeated");
    check(a.next == 3 * patience.first, "and later again");
    unsigned last = 0, more = 0;
    while (a.waiting) last = net_ib_handshake_tick(&a, a.next, &patience);
    while (b.waiting) more = net_ib_handshake_tick(&b, b.next, &patience);
    check(last == NET_IB_FAIL, "who wants to send fails at last");
    check(more == 0, "who does not gives up quietly");
    want(&b, SEND, "and asks again when it wants to send");
    hear(&a, b.flags, JOIN | OPEN | SEND, "which is never too late");
}

/* --- bytes --- */

static void refused(const net_ib_greeting_t *greeting, size_t length, const char *field)
{
    net_ib_greeting_t copy;
    const char *wrong = net_ib_greeting_parse(greeting, length, 100, &copy);
    check(wrong && strstr(wrong, field), "a bad %s is refused", field);
    if (!wrong || !strstr(wrong, field)) check_note("%s", wrong ? wrong : "it is not");
}

static void bytes(void)
{
    net_ib_greeting_t good, bad, copy;
    net_ib_greeting_init(&good, 99, 3);
    for (uint32_t i = 0; i < 3; i++) good.qp_number[i] = 1000 + i;
    good.flags = ASK;
    size_t size = net_ib_greeting_size(3);
    check(!net_ib_greeting_parse(&good, size, 100, &copy) && !memcmp(&good, &copy, size),
          "a greeting is understood");
    refused(&good, size - 4, "length");
    refused(&good, size + 4, "length");
    refused(&good, 8, "length");
#define WITH(change, field) bad = good, change, refused(&bad, size, field)
    WITH(bad.magic ^= 1, "magic");
    WITH(bad.version++, "version");
    WITH(bad.rank = 100, "rank");
    WITH(bad.flags = 4, "flags");
    WITH(bad.qps = 0, "number of queue pairs");
    WITH(bad.qps = NET_IB_GREETING_QPS + 1, "number of queue pairs");
    WITH(bad.qp_number[2] = 1 << 24, "queue pair number");
#undef WITH
}

/* --- random pairs --- */

enum { MOST = 64, NEVER = 1000000 };

/* The network, and what the two engines would have done. */
static struct {
    struct {
        double when;
        uint8_t flags;
        bool to;
    } flying[MOST];
    int count;
    net_ib_handshake_t end[2];
    bool made[2], ready[2], open[2], failed[2];
    double dies[2], wants[2];
    double now, slowest;
    uint32_t lost, doubled; /* percent */
    int sent;
} pair;

static double fraction(void)
{
    return check_below(1 << 20) / (double)(1 << 20);
}

static void fly(bool to, uint8_t flags)
{
    pair.sent++;
    for (int copies = check_below(100) < pair.doubled ? 2 : 1; copies > 0; copies--) {
        if (check_below(100) < pair.lost || pair.count == MOST) continue;
        pair.flying[pair.count].when = pair.now + 1e-5 + fraction() * pair.slowest;
        pair.flying[pair.count].flags = flags;
        pair.flying[pair.count++].to = to;
    }
}

static void perform(bool me, unsigned actions)
{
    net_ib_handshake_t *h = &pair.end[me];
    if (actions & MAKE) {
        check_each(!pair.made[me], "made twice");
        pair.made[me] = true;
    }
    if (actions & JOIN) {
        check_each(pair.made[me] && !pair.ready[me], "joined twice, or what was not made");
        check_each(pair.made[!me], "joined to what was not made");
        pair.ready[me] = true;
    }
    if (actions & OPEN) {
        check_each(pair.ready[me] && !pair.open[me], "opened twice, or before it was joined");
        check_each(pair.ready[!me], "may send to one that is not ready to receive");
        pair.open[me] = true;
    }
    if (actions & SEND) {
        check_each(pair.made[me], "greets without queue pairs");
        check_each(!(h->flags & HAVE) == !pair.ready[me], "says HAVE and is not ready");
        check_each(!(h->flags & ASK) == pair.open[me], "asks though it may send");
        fly(!me, h->flags);
    }
    if (actions & NET_IB_FAIL) {
        check_each(pair.wants[me] <= pair.now && !pair.open[me], "fails for no reason");
        check_each(pair.now - h->since < patience.give_up + patience.longest + 0.01,
                   "fails %.1f s late", pair.now - h->since - patience.give_up);
        pair.failed[me] = true;
    }
}

/* The next thing that happens; false when nothing does. */
static bool happen(void)
{
    double when = NEVER;
    int datagram = -1, tick = -1, wish = -1;
    for (int i = 0; i < pair.count; i++)
        if (pair.flying[i].when < when) when = pair.flying[datagram = i].when;
    for (int i = 0; i < 2; i++) {
        if (pair.end[i].waiting && pair.end[i].next < pair.dies[i] && pair.end[i].next < when)
            when = pair.end[tick = i].next;
        if (!pair.end[i].wanted && pair.wants[i] < pair.dies[i] && pair.wants[i] < when)
            when = pair.wants[wish = i];
    }
    if (when == NEVER) return false;
    pair.now = when;
    if (wish >= 0 && pair.wants[wish] == when) {
        perform(wish, net_ib_handshake_want(&pair.end[wish], when, &patience));
    } else if (tick >= 0 && pair.end[tick].next == when) {
        perform(tick, net_ib_handshake_tick(&pair.end[tick], when, &patience));
    } else {
        bool to = pair.flying[datagram].to;
        uint8_t flags = pair.flying[datagram].flags;
        pair.flying[datagram] = pair.flying[--pair.count];
        if (when < pair.dies[to])
            perform(to, net_ib_handshake_hear(&pair.end[to], flags, when, &patience));
    }
    return true;
}

static void one_pair(bool deaths)
{
    static const double delays[] = {0, 0.001, 0.1, 2};
    memset(&pair, 0, sizeof pair);
    pair.lost = check_below(4) ? check_below(50) : 0;
    pair.doubled = check_below(3) ? check_below(60) : 0;
    pair.slowest = delays[check_below(4)];
    for (int i = 0; i < 2; i++) {
        pair.wants[i] = i && check_below(2) ? NEVER : fraction() * delays[check_below(4)];
        pair.dies[i] = deaths && check_below(2) ? fraction() * delays[check_below(4)] : NEVER;
    }
    int turns = 0;
    while (turns < 100000 && happen()) turns++;
    check_each(turns < 100000, "it never ends");
    for (int i = 0; i < 2; i++) {
        bool lives = pair.dies[i] == NEVER, peer_lives = pair.dies[!i] == NEVER;
        bool wanted = pair.wants[i] != NEVER && lives;
        if (wanted) check_each(pair.open[i] || pair.failed[i], "neither open nor failed");
        if (lives && peer_lives) check_each(pair.open[i], "not open though both live");
        if (peer_lives || !lives) check_each(!pair.failed[i], "failed though the peer lives");
    }
    if (!pair.lost && !pair.doubled && pair.slowest < patience.first / 2 && !deaths)
        check_each(pair.sent <= 6, "%d greetings where nothing went wrong", pair.sent);
}

static void many_pairs(void)
{
    for (int i = 0; i < 20000; i++) one_pair(false);
    check_all("20000 random pairs connect, both ways, once");
    for (int i = 0; i < 5000; i++) one_pair(true);
    check_all("5000 random pairs with deaths: who lives and wants to send connects or fails");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    steps();
    silence();
    bytes();
    many_pairs();
    return check_end();
}
