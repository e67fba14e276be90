/* handshake.c - other/connect/handshake (IB-W4): its steps, stamps and bytes, the payloads of its
 * users, and many random pairs over a network that loses, repeats, delays and reorders.
 */
#include "other/connect/handshake/handshake.h"

#include <string.h>

#include "core/ib/connect_payload.h"
#include "other/connect/handshake/seal.h"
#include "other/portals3/src/transport/connect_guard.h"
#include "other/portals3/src/transport/connect_payload.h"
#include "tests/unit/check.h"

static const handshake_times_t times = {.first = 0.02, .longest = 0.5, .give_up = 60};

/* --- step by step --- */

enum {
    DROP = HANDSHAKE_DROP,
    MAKE = HANDSHAKE_MAKE,
    JOIN = HANDSHAKE_JOIN,
    OPEN = HANDSHAKE_OPEN,
    SEND = HANDSHAKE_SEND,
    SILENT = HANDSHAKE_SILENT
};

/* The fields of a message where no queue pair is replaced: HAVE, yours is 1. */
enum { HAVE = 1, ASK = 2 };

static uint8_t flags_of(const handshake_t *h)
{
    const handshake_message_t m = handshake_message(h);
    return (m.yours ? HAVE : 0) | (m.ask ? ASK : 0);
}

static unsigned receive_flags(handshake_t *h, uint8_t flags, double now)
{
    const handshake_message_t m = {.mine = 1, .yours = flags & HAVE ? 1 : 0, .ask = flags & ASK};
    return handshake_receive(h, &m, (handshake_moment_t){now, 1}, &times);
}

static void expect(unsigned actions, unsigned expected, const char *what)
{
    if (!check(actions == expected, "%s", what)) check_note("actions %#x", actions);
}

static void want(handshake_t *h, unsigned expected, const char *what)
{
    expect(handshake_want(h, (handshake_moment_t){0, 1}, &times), expected, what);
}

static void receive(handshake_t *h, uint8_t flags, unsigned expected, const char *what)
{
    expect(receive_flags(h, flags, 0), expected, what);
}

static void steps(void)
{
    handshake_t a = {0}, b = {0};
    want(&a, MAKE | SEND, "an end that wants to send creates its queue pair and sends a message");
    check(flags_of(&a) == ASK, "asking, and not connected yet");
    want(&a, 0, "wanting twice is wanting once");
    receive(&b, flags_of(&a), MAKE | JOIN | SEND, "the other creates, connects and answers");
    check(flags_of(&b) == (HAVE | ASK), "connected, and asking");
    receive(&a, flags_of(&b), JOIN | OPEN | SEND, "the first connects, opens and answers");
    check(flags_of(&a) == HAVE && !a.waiting, "not asking any more, and not waiting");
    receive(&b, flags_of(&a), OPEN, "the other opens and is silent");
    check(!b.waiting, "and does not wait any more");
    receive(&b, ASK, SEND, "a late repetition is answered");
    check(flags_of(&b) == HAVE, "without asking");
    receive(&a, HAVE, 0, "and that is all");
    want(&b, 0, "an open end has what it wants");

    handshake_t c = {0}, d = {0};
    want(&c, MAKE | SEND, "both begin: one");
    want(&d, MAKE | SEND, "and the other");
    receive(&c, ASK, JOIN | SEND, "a message that crosses that of its receiver makes it connect");
    receive(&d, ASK, JOIN | SEND, "and the other");
    receive(&c, flags_of(&d), OPEN | SEND, "then one opens");
    receive(&d, flags_of(&c), OPEN, "and the other");

    handshake_t e = {0};
    receive(&e, HAVE, 0, "no peer is connected to what was not created");
    check(!e.mine && !e.waiting, "and nothing has begun");
}

static void silence(void)
{
    handshake_t a = {0}, b = {0};
    handshake_want(&a, (handshake_moment_t){0, 1}, &times);
    receive_flags(&b, ASK, 0);
    check(handshake_tick(&a, times.first / 2, &times) == 0, "not yet repeated");
    check(handshake_tick(&a, times.first, &times) == SEND, "repeated");
    check(a.next == 3 * times.first, "and later again");
    unsigned last = 0, more = 0;
    while (a.waiting) last = handshake_tick(&a, a.next, &times);
    while (b.waiting) more = handshake_tick(&b, b.next, &times);
    check(last == SILENT && a.wanted, "an end that wants to send gives up at last");
    check(more == SILENT && !b.wanted, "as does one that does not");
    want(&b, SEND, "which asks again when it wants to send");
    receive(&a, flags_of(&b), JOIN | OPEN | SEND, "and that is never too late");

    handshake_t c = {0};
    want(&c, MAKE | SEND, "a third waits");
    check(handshake_refused(&c, 0.4, 0.5) == 0, "a peer that may still be starting is not refused");
    check(handshake_refused(&c, 0.5, 0.5) == SILENT && !c.waiting, "later it is");
    check(handshake_refused(&c, 9, 0.5) == 0, "but once");
}

/* --- queue pairs that are replaced --- */

enum { ANSWER = 0, ASKING = 1 };

static void receive_stamps(handshake_t *h, uint64_t mine, uint64_t yours, bool ask, uint64_t now,
                           unsigned expected, const char *what)
{
    const handshake_message_t m = {.mine = mine, .yours = yours, .ask = ask};
    expect(handshake_receive(h, &m, (handshake_moment_t){0, now}, &times), expected, what);
}

static void stamps(void)
{
    handshake_t a = {0};
    expect(handshake_want(&a, (handshake_moment_t){0, 10}, &times), MAKE | SEND, "made at 10");
    receive_stamps(&a, 20, 10, ASKING, 30, JOIN | OPEN | SEND, "connected to 20");
    receive_stamps(&a, 19, 10, ASKING, 30, 0, "a message of an earlier queue pair is ignored");
    receive_stamps(&a, 20, 9, ASKING, 30, SEND, "one that is stale is answered");
    receive_stamps(&a, 40, 0, ASKING, 50, DROP | MAKE | JOIN | SEND, "a later one replaces it");
    check(a.mine == 50 && a.theirs == 40 && a.dead == 20 && !a.open && a.wanted,
          "by a new queue pair, for what is still to be sent");
    receive_stamps(&a, 20, 10, ANSWER, 60, 0, "nothing is left of the old one");
    receive_stamps(&a, 40, 50, ANSWER, 60, OPEN, "the new one opens");
    check(handshake_reset(&a) == DROP && handshake_reset(&a) == 0, "dropped once");
    receive_stamps(&a, 40, 50, ANSWER, 60, 0, "a late answer to what was dropped is ignored");
    receive_stamps(&a, 40, 50, ASKING, 55, MAKE | SEND,
                   "a peer that asks for what was dropped learns of the next, and is not joined");
    check(a.mine == 55 && handshake_message(&a).yours == 0, "made at 55");
    expect(handshake_want(&a, (handshake_moment_t){0, 57}, &times), 0, "which it waits for");
    receive_stamps(&a, 40, 55, ANSWER, 60, DROP | MAKE | SEND,
                   "both begin anew where the peer joins what is dead here to it");
    check(a.mine == 60, "made at 60");
    handshake_reset(&a);
    expect(handshake_want(&a, (handshake_moment_t){0, 60}, &times), MAKE | SEND,
           "made at 60 again");
    check(a.mine == 61, "no stamp is used twice, even if the clock stands still");

    handshake_t b = {0};
    receive_stamps(&b, 20, 0, ASKING, 10, MAKE | JOIN | SEND, "one that was asked by 20");
    check(handshake_reset(&b) == DROP, "drops it");
    receive_stamps(&b, 19, 0, ASKING, 30, 0, "a message of before that is ignored");
    receive_stamps(&b, 20, 0, ASKING, 30, MAKE | SEND, "what was dropped is not joined again");
    receive_stamps(&b, 21, 0, ASKING, 30, JOIN | SEND, "but what follows it is");
}

/* --- bytes --- */

enum { PROTOCOL = 77 };

static void refused(const char *wrong, const char *field)
{
    check(wrong && strstr(wrong, field), "a bad %s is refused", field);
    if (!wrong || !strstr(wrong, field)) check_note("%s", wrong ? wrong : "it is not");
}

static void bytes(void)
{
    char good[HANDSHAKE_MOST], bad[HANDSHAKE_MOST + 1] = {0}, payload[HANDSHAKE_MOST_PAYLOAD];
    memset(payload, 'p', sizeof payload);
    handshake_message_t copy, message = {.mine = UINT64_MAX,
                                         .yours = UINT64_MAX - 1,
                                         .ask = true,
                                         .payload = payload,
                                         .payload_size = sizeof payload};
    const size_t most = HANDSHAKE_MOST - HANDSHAKE_SEAL;
    check(handshake_encode(&message, PROTOCOL, good) == most, "the longest message");
    check(!handshake_parse(good, most, PROTOCOL, &copy) && copy.mine == message.mine &&
              copy.yours == message.yours && copy.ask && copy.payload_size == sizeof payload &&
              !memcmp(copy.payload, payload, sizeof payload),
          "is understood");
    message.payload_size = 5;
    const size_t size = handshake_encode(&message, PROTOCOL, good);
    check(size == HANDSHAKE_HEADER + 5, "a short one is short");
    memcpy(bad, good, size);
    refused(handshake_parse(bad, size - 1, PROTOCOL, &copy), "length");
    refused(handshake_parse(bad, size + 1, PROTOCOL, &copy), "length");
    refused(handshake_parse(bad, 8, PROTOCOL, &copy), "length");
    refused(handshake_parse(bad, most + 1, PROTOCOL, &copy), "length");
    refused(handshake_parse(bad, size, PROTOCOL + 1, &copy), "protocol");
    bad[4]++;
    refused(handshake_parse(bad, size, PROTOCOL, &copy), "version");
    memcpy(bad, good, size);
    bad[5] |= 2;
    refused(handshake_parse(bad, size, PROTOCOL, &copy), "flags");
    message.mine = 0;
    handshake_encode(&message, PROTOCOL, bad);
    refused(handshake_parse(bad, size, PROTOCOL, &copy), "stamp");
}

/* --- seals --- */

static void seals(void)
{
    static const handshake_key_t key = {.size = 16, .bytes = "sixteen of them"};
    static const handshake_way_t there = {.from = 1, .to = 2};
    handshake_key_t other = key;
    handshake_way_t way = there;
    uint8_t good[HANDSHAKE_MOST + 1], bad[HANDSHAKE_MOST + 1] = {0};
    enum { SIZE = 168, SEALED = SIZE + HANDSHAKE_SEAL };
    for (int i = 0; i < SIZE; i++) good[i] = (uint8_t)check_random();
    check(handshake_seal(&key, there, good, SIZE) == SEALED, "a sealed message is 16 bytes longer");
    check(handshake_unseal(&key, there, good, SEALED) == SIZE, "and authentic");
    for (size_t bit = 0; bit < 8 * (size_t)SEALED; bit++) {
        memcpy(bad, good, SEALED);
        bad[bit / 8] ^= (uint8_t)(1u << bit % 8);
        check_each(!handshake_unseal(&key, there, bad, SEALED), "bit %zu changed", bit);
    }
    check_all("no bit of it can be changed");
    memcpy(bad, good, SEALED);
    for (size_t size = 0; size <= sizeof bad; size++)
        check_each((size == SEALED) == (handshake_unseal(&key, there, bad, size) > 0), "%zu bytes",
                   size);
    check_all("nor its length");
    way = (handshake_way_t){.from = 2, .to = 1};
    check(!handshake_unseal(&key, way, good, SEALED), "it cannot be sent back");
    way = (handshake_way_t){.from = 3, .to = 2};
    check(!handshake_unseal(&key, way, good, SEALED), "nor from another");
    way = (handshake_way_t){.from = 1, .to = 3};
    check(!handshake_unseal(&key, way, good, SEALED), "nor to another");
    other.bytes[15] ^= 1;
    check(!handshake_unseal(&other, there, good, SEALED), "nor with another key");
    other.size = HANDSHAKE_KEY_LEAST - 1;
    handshake_seal(&other, there, bad, SIZE);
    check(!handshake_unseal(&other, there, bad, SEALED), "a short key opens nothing");
}

/* --- messages of libportals that were recorded --- */

static enum ptli_verdict judge(const ptli_guard_t *guard, uint64_t self, uint64_t your_life,
                               uint64_t number)
{
    const ptli_connect_payload_t m = {.life = 70, .your_life = your_life, .number = number};
    return ptli_guard_judge(guard, self, &m);
}

static void guards(void)
{
    enum { SELF = 50, PEER = 70 };
    ptli_guard_t peer = {0};
    check(judge(NULL, SELF, 0, 9) == PTLI_STALE,
          "portals: who does not know the life is challenged");
    check(judge(NULL, SELF, 49, 9) == PTLI_STALE, "as is what was sent to an earlier process");
    check(judge(NULL, SELF, SELF, 9) == PTLI_NEW, "the first message with it is new");
    ptli_guard_accept(&peer, &(ptli_connect_payload_t){.life = PEER, .number = 9});
    check(peer.life == PEER, "which says of what life the peer is");
    check(judge(&peer, SELF, SELF, 9) == PTLI_REPEATED, "the same message is not new twice");
    check(judge(&peer, SELF, SELF, 8) == PTLI_REPEATED, "nor an earlier one");
    check(judge(&peer, SELF, SELF, 10) == PTLI_NEW, "but a later one");
    check(judge(&peer, SELF, 49, 10) == PTLI_STALE, "unless it was sent to another");

    ptli_guard_t asked = {.sent = 20};
    check(!ptli_guard_challenged(&asked, SELF, 49, 20, PEER), "a challenge of another is ignored");
    check(!ptli_guard_challenged(&asked, SELF, SELF, 19, PEER), "and one of an earlier message");
    check(ptli_guard_challenged(&asked, SELF, SELF, 20, PEER) && asked.life == PEER,
          "one of the latest message tells the peer's life");
    check(!ptli_guard_challenged(&asked, SELF, SELF, 20, PEER), "once");
    ptli_guard_t silent = {0};
    check(!ptli_guard_challenged(&silent, SELF, SELF, 0, PEER), "nobody is challenged unasked");
}

static void payload_of_ib(void)
{
    uint8_t bytes[HANDSHAKE_MOST_PAYLOAD + 4];
    net_ib_payload_t copy, good = {.rank = 99, .qps = NET_IB_PAYLOAD_QPS};
    for (uint32_t i = 0; i < good.qps; i++) good.qp_number[i] = 0xffffff - 1000 * i;
    const size_t size = net_ib_payload_size(good.qps);
    net_ib_payload_encode(&good, bytes);
    check(size <= HANDSHAKE_MOST_PAYLOAD && !net_ib_payload_parse(bytes, size, 100, &copy) &&
              copy.rank == 99 && copy.qps == good.qps &&
              !memcmp(copy.qp_number, good.qp_number, sizeof good.qp_number),
          "ib: numbers of queue pairs, as many as fit, are understood");
    refused(net_ib_payload_parse(bytes, 3, 100, &copy), "payload size");
    refused(net_ib_payload_parse(bytes, size - 1, 100, &copy), "payload size");
    refused(net_ib_payload_parse(bytes, size + 3, 100, &copy), "number of queue pairs");
    refused(net_ib_payload_parse(bytes, net_ib_payload_size(0), 100, &copy),
            "number of queue pairs");
    refused(net_ib_payload_parse(bytes, size, 99, &copy), "rank");
}

static void refused_of_portals(ptli_connect_payload_t bad, const char *field)
{
    ptli_connect_payload_t copy;
    refused(ptli_connect_payload_parse(&bad, sizeof bad, &copy), field);
}

static void payload_of_portals(void)
{
    const ptli_connect_payload_t good = {
        .qp_number = 0xffffff, .psn = 0xffffff, .window = 1, .mtu = 5, .life = 5, .number = 6};
    ptli_connect_payload_t bad, copy;
    check(!ptli_connect_payload_parse(&good, sizeof good, &copy) &&
              !memcmp(&good, &copy, sizeof good),
          "portals: what connects a process is understood");
    refused(ptli_connect_payload_parse(&good, sizeof good - 1, &copy), "payload size");
    refused(ptli_connect_payload_parse(&good, sizeof good + 1, &copy), "payload size");
#define WITH(change, field) bad = good, change, refused_of_portals(bad, field)
    WITH(bad.mtu = 0, "MTU");
    WITH(bad.mtu = 6, "MTU");
    WITH(bad.qp_number = 1 << 24, "queue pair number");
    WITH(bad.psn = 1 << 24, "packet sequence number");
    WITH(bad.window = 0, "window");
    WITH(bad.life = 0, "life");
    WITH(bad.number = 0, "number");
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
    handshake_t end[2];
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
    const handshake_t *h = &pair.end[me];
    const uint8_t flags = flags_of(h);
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
        check_each(pair.made[me], "sends without a queue pair");
        check_each(!(flags & HAVE) == !pair.ready[me], "says HAVE and is not ready");
        check_each(!(flags & ASK) == pair.open[me], "asks though it may send");
        fly(!me, flags);
    }
    if ((actions & SILENT) && h->wanted) {
        check_each(pair.wants[me] <= pair.now && !pair.open[me], "fails for no reason");
        check_each(pair.now - h->since < times.give_up + times.longest + 0.01, "fails %.1f s late",
                   pair.now - h->since - times.give_up);
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
        perform(wish, handshake_want(&pair.end[wish], (handshake_moment_t){when, 1}, &times));
    } else if (tick >= 0 && pair.end[tick].next == when) {
        perform(tick, handshake_tick(&pair.end[tick], when, &times));
    } else {
        bool to = pair.flying[datagram].to;
        uint8_t flags = pair.flying[datagram].flags;
        pair.flying[datagram] = pair.flying[--pair.count];
        if (when < pair.dies[to]) perform(to, receive_flags(&pair.end[to], flags, when));
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
    if (!pair.lost && !pair.doubled && pair.slowest < times.first / 2 && !deaths)
        check_each(pair.sent <= 6, "%d messages where nothing went wrong", pair.sent);
}

static void many_pairs(void)
{
    for (int i = 0; i < 20000; i++) one_pair(false);
    check_all("20000 random pairs connect, both ways, once");
    for (int i = 0; i < 5000; i++) one_pair(true);
    check_all(
        "5000 random pairs with deaths: an end that lives and wants to send connects or fails");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    steps();
    silence();
    stamps();
    bytes();
    seals();
    guards();
    payload_of_ib();
    payload_of_portals();
    many_pairs();
    return check_end();
}
