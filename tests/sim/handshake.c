/* handshake.c - the hand-shake of core/ib/handshake.h between thousands of nodes (IB-W4): greetings
 * get lost, repeated, late and overtake each other; nodes stall and die.
 *
 * Plays the greeter.  What may never happen: that an end opens while the other cannot receive.
 * What must: that whoever wants to send opens or gives up, and that greetings die out.  Time is in
 * microseconds.
 */
#include "core/ib/handshake.h"

#include <math.h>

#include "tests/sim/sim.h"

enum { MANY = 4096, MOST_PAIRS = 4 * MANY, SECOND = 1000000 };

typedef struct end {
    uint32_t node;
    net_ib_handshake_t state;
    bool made, joined, open, failed; /* as the greeter was told */
} end_t;

static struct pair {
    end_t end[2];
    uint32_t greetings;
} pairs[MOST_PAIRS];
static uint32_t count;
static sim_link_t link;
static const net_ib_patience_t patience = {.first = 0.02, .longest = 0.5, .give_up = 5};

/* --- the greeter --- */

static double now(void)
{
    return (double)sim_now() / SECOND;
}

static sim_action_t hear, tick;

static void greet(uint32_t p, end_t *me, const end_t *peer)
{
    sim_check(++pairs[p].greetings < 1000, me->node, "greets node %u for ever", peer->node);
    sim_note(me->node, "greets %u:%s%s", peer->node, me->state.flags & NET_IB_HAVE ? " HAVE" : "",
             me->state.flags & NET_IB_ASK ? " ASK" : "");
    sim_send(
        &link, hear,
        &(sim_message_t){.from = me->node, .to = peer->node, .kind = me->state.flags, .number = p});
}

/* The other end has told that it is ready to receive: a device would lose what it is not ready for.
 */
static void open(end_t *me, const end_t *peer)
{
    sim_note(me->node, "may send to %u", peer->node);
    sim_concerns(peer->node);
    sim_check(me->joined, me->node, "may send to node %u, to which it is not joined", peer->node);
    sim_check(peer->joined, me->node, "may send to node %u, which cannot receive yet", peer->node);
    sim_check(!me->open, me->node, "is told twice that it may send to node %u", peer->node);
    me->open = true;
}

static void perform(uint32_t p, end_t *me, unsigned actions)
{
    end_t *peer = me == &pairs[p].end[0] ? &pairs[p].end[1] : &pairs[p].end[0];
    if (actions & NET_IB_MAKE) {
        sim_check(!me->made, me->node, "makes the queue pairs for node %u twice", peer->node);
        me->made = true;
    }
    if (actions & NET_IB_JOIN) {
        sim_concerns(peer->node);
        sim_check(me->made && peer->made && !me->joined, me->node,
                  "joins queue pairs to node %u which are not there, or twice", peer->node);
        me->joined = true;
    }
    if (actions & NET_IB_OPEN) open(me, peer);
    if (actions & NET_IB_SEND) {
        sim_check(me->made, me->node, "greets node %u without queue pairs", peer->node);
        greet(p, me, peer);
    }
    if (actions & NET_IB_FAIL) {
        sim_note(me->node, "gives node %u up", peer->node);
        sim_check(!me->open && me->state.wanted, me->node, "gives node %u up without need",
                  peer->node);
        me->failed = true;
    }
    if (!me->state.waiting) return;
    double left = me->state.next - now();
    sim_after(left > 0 ? (uint64_t)ceil(left * SECOND) + 1 : 1, tick,
              &(sim_message_t){.from = peer->node, .to = me->node, .number = p});
}

static end_t *end_at(const sim_message_t *m)
{
    return &pairs[m->number].end[pairs[m->number].end[0].node == m->to ? 0 : 1];
}

static void hear(const sim_message_t *m)
{
    end_t *me = end_at(m);
    sim_note(m->to, "hears %u:%s%s", m->from, m->kind & NET_IB_HAVE ? " HAVE" : "",
             m->kind & NET_IB_ASK ? " ASK" : "");
    perform(m->number, me, net_ib_handshake_hear(&me->state, (uint8_t)m->kind, now(), &patience));
}

static void tick(const sim_message_t *m)
{
    end_t *me = end_at(m);
    perform(m->number, me, net_ib_handshake_tick(&me->state, now(), &patience));
}

static void want(const sim_message_t *m)
{
    end_t *me = end_at(m);
    sim_note(m->to, "wants to send to %u", m->from);
    perform(m->number, me, net_ib_handshake_want(&me->state, now(), &patience));
}

/* --- schedules --- */

static uint32_t begin(uint32_t nodes, sim_link_t l)
{
    link = l;
    count = 0;
    return sim_nodes(nodes);
}

/* One end wants to send at some time, or both do. */
static void meet(uint32_t a, uint32_t b, uint64_t within)
{
    if (a == b || count == MOST_PAIRS) return;
    uint32_t p = count++;
    pairs[p] = (struct pair){.end = {{.node = a}, {.node = b}}};
    unsigned who = 1 + sim_below(3);
    for (unsigned i = 0; i < 2; i++)
        if (who & (1u << i))
            sim_after(sim_below((uint32_t)within + 1), want,
                      &(sim_message_t){
                          .from = pairs[p].end[!i].node, .to = pairs[p].end[i].node, .number = p});
}

/* Each pair once: whoever draws a pair a second time draws another. */
static void meet_many(uint32_t nodes, uint64_t within)
{
    bool star = sim_chance(20);
    for (uint32_t a = 0; a < nodes; a++) {
        uint32_t step = 1 + sim_below(nodes - 1);
        if (star && a)
            meet(a, 0, within);
        else if (!star && (2 * step < nodes || (2 * step == nodes && a < step)))
            meet(a, (a + step) % nodes, within);
        if (!star && nodes > 2 && step != 1) meet(a, (a + 1) % nodes, within);
    }
    if (count == 0) meet(0, 1, within);
}

static uint32_t any_nodes(void)
{
    return 2 + sim_below(sim_chance(97) ? 8 : sim_chance(98) ? 60 : MANY - 2);
}

static void stall(const sim_message_t *m)
{
    sim_note(m->to, "stalls for %u", m->number);
    sim_stall(m->to, m->number);
}

static void stall_some(uint32_t nodes, uint32_t most)
{
    for (uint32_t i = 0; i < nodes; i++)
        if (sim_chance(10))
            sim_after(sim_below(SECOND), stall,
                      &(sim_message_t){.to = i, .number = sim_below(most), .device = 1});
}

static void look(bool all_open)
{
    uint64_t greetings = 0, failed = 0;
    for (uint32_t p = 0; p < count; p++) {
        for (unsigned i = 0; i < 2; i++) {
            const end_t *me = &pairs[p].end[i], *peer = &pairs[p].end[!i];
            if (!sim_alive(me->node)) continue;
            sim_concerns(peer->node);
            sim_check(!me->state.wanted || me->open || me->failed, me->node,
                      "wanted to send to node %u, and can neither do that nor gives up",
                      peer->node);
            sim_check(!all_open || !me->failed, me->node, "gives node %u up, which lives",
                      peer->node);
            /* Who was made to join learns that the other end is ready, too. */
            sim_check(!all_open || !me->joined || me->open, me->node,
                      "never hears that node %u is ready", peer->node);
            failed += me->failed;
        }
        greetings += pairs[p].greetings;
    }
    sim_count("pairs", count);
    sim_count("greetings", greetings);
    sim_count("ends that gave up", failed);
}

static void quiet(void)
{
    uint32_t nodes = begin(any_nodes(), (sim_link_t){.least = 10, .most = 9000});
    meet_many(nodes, sim_chance(50) ? 0 : SECOND);
    sim_run();
    look(true);
    for (uint32_t p = 0; p < count; p++) {
        bool both = pairs[p].end[0].state.wanted && pairs[p].end[1].state.wanted;
        sim_check(both ? pairs[p].greetings <= 6 : pairs[p].greetings == 3, pairs[p].end[0].node,
                  "needs %u greetings", pairs[p].greetings);
    }
}

static void lossy(void)
{
    uint32_t nodes = begin(any_nodes(), sim_any_link());
    meet_many(nodes, sim_below(2 * SECOND));
    stall_some(nodes, SECOND);
    sim_run();
    look(true);
}

static void die(const sim_message_t *m)
{
    sim_note(m->to, "dies");
    sim_kill(m->to);
}

static void deaths(void)
{
    sim_link_t l = sim_any_link();
    if (sim_chance(30)) l.lose = (uint8_t)sim_below(101);
    uint32_t nodes = begin(any_nodes(), l);
    meet_many(nodes, sim_below(2 * SECOND));
    for (uint32_t i = sim_below(3); i > 0; i--)
        sim_after(sim_below(2 * SECOND), die,
                  &(sim_message_t){.to = sim_below(nodes), .device = 1});
    stall_some(nodes, 10 * SECOND);
    sim_run();
    look(false);
}

int main(int argc, char **argv)
{
    const sim_scene_t scenes[] = {
        {"IB-W4 quiet links: three greetings join two nodes, nobody sends to who is not ready",
         quiet, 30000},
        {"IB-W4 greetings lost, repeated, late: all who want to send may, and greetings die out",
         lossy, 30000},
        {"IB-W4 nodes die or stall for long: who wants to send may, or gives up", deaths, 30000},
    };
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
