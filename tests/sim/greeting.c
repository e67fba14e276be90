/* greeting.c - how libportals' processes join their queue pairs
 * (other/portals3/transport/greeting.h), between thousands of pairs: greetings get lost, repeated,
 * late and overtake each other; queue pairs break, processes end and others begin under their
 * names.
 *
 * Plays link.c.  What may never happen: that an end sends on a queue pair whose other end is not
 * joined to it.  What must: that whoever wants to send may do so in the end, or gives up when
 * nobody is there, and that greetings die out.  Time is in microseconds.
 */
#include "other/portals3/transport/greeting.h"

#include <math.h>
#include <string.h>

#include "tests/sim/sim.h"

enum { MOST_PAIRS = 2 * SIM_NODES, SECOND = 1000000, MOST_STAMPS = 64 };

typedef struct end {
    uint32_t node, peer;
    ptli_greet_t state;
    bool wants, failed;
    uint64_t made, joined; /* as link.c was told: stamps */
    bool open;
    /* Every queue pair that this end ever had, and what it was joined to. */
    uint32_t stamps;
    struct {
        uint64_t mine, theirs;
    } stamp[MOST_STAMPS];
} end_t;

static struct pair {
    end_t end[2];
    uint32_t greetings;
} * pairs;
static uint32_t count;
static sim_link_t link;
static const ptli_patience_t patience = {
    .first = 0.02, .longest = 0.5, .silent = 10, .refused = 0.5};

static ptli_moment_t moment(void)
{
    return (ptli_moment_t){.now = (double)sim_now() / SECOND, .stamp = sim_now() + 1};
}

static end_t *other(uint32_t p, const end_t *me)
{
    return me == &pairs[p].end[0] ? &pairs[p].end[1] : &pairs[p].end[0];
}

static end_t *end_at(const sim_message_t *m)
{
    return &pairs[m->number].end[pairs[m->number].end[0].node == m->to ? 0 : 1];
}

static sim_action_t hear, tick;

static uint64_t joined_to(const end_t *end, uint64_t mine)
{
    for (uint32_t i = 0; i < end->stamps; i++)
        if (end->stamp[i].mine == mine) return end->stamp[i].theirs;
    return 0;
}

static void perform(uint32_t p, end_t *me, unsigned actions, uint64_t theirs);

static void want(uint32_t p, end_t *me)
{
    me->wants = true;
    if (!me->open) perform(p, me, ptli_greet_want(&me->state, moment(), &patience), 0);
}

static void perform(uint32_t p, end_t *me, unsigned actions, uint64_t theirs)
{
    end_t *peer = other(p, me);
    sim_concerns(peer->node);
    if (actions & PTLI_GREET_DROP) {
        sim_note(me->node, "drops %ju for %u", (uintmax_t)me->made, peer->node);
        sim_check(me->made, me->node, "drops what it has not");
        me->made = me->joined = 0;
        me->open = false;
    }
    if (actions & PTLI_GREET_MAKE) {
        sim_check(!me->made, me->node, "makes a second queue pair for node %u", peer->node);
        me->made = me->state.mine;
        sim_check(me->stamps < MOST_STAMPS, me->node, "begins anew with %u for ever", peer->node);
        me->stamp[me->stamps++].mine = me->made;
    }
    if (actions & PTLI_GREET_JOIN) {
        sim_check(me->made && !me->joined && theirs, me->node, "joins nothing, or twice");
        me->joined = theirs;
        me->stamp[me->stamps - 1].theirs = theirs;
    }
    if (actions & PTLI_GREET_OPEN) {
        sim_note(me->node, "may send to %u", peer->node);
        sim_check(me->joined && !me->open, me->node, "opens what is not joined, or twice");
        sim_check(joined_to(peer, me->joined) == me->made, me->node,
                  "may send to node %u, whose queue pair is joined to another", peer->node);
        me->open = true;
    }
    if (actions & PTLI_GREET_SEND) {
        sim_check(me->made, me->node, "greets without a queue pair");
        sim_check(++pairs[p].greetings < 2000, me->node, "greets node %u for ever", peer->node);
        sim_note(me->node, "greets %u: %ju %ju%s", peer->node, (uintmax_t)me->state.mine,
                 (uintmax_t)me->state.theirs, me->state.ask ? " ASK" : "");
        sim_send(&link, hear,
                 &(sim_message_t){.from = me->node,
                                  .to = peer->node,
                                  .kind = me->state.ask,
                                  .number = p,
                                  .word = {me->state.mine, me->state.theirs}});
    }
    if (actions & PTLI_GREET_FAIL) {
        sim_note(me->node, "gives node %u up", peer->node);
        me->failed = true;
        me->wants = false;
    } else if (me->wants && !me->state.wanted) {
        want(p, me); /* dropped, with something left to send */
    }
    if (!me->state.waiting) return;
    double left = me->state.next - moment().now;
    sim_after(left > 0 ? (uint64_t)ceil(left * SECOND) + 1 : 1, tick,
              &(sim_message_t){.from = peer->node, .to = me->node, .number = p});
}

static void hear(const sim_message_t *m)
{
    end_t *me = end_at(m);
    sim_note(m->to, "hears %u: %ju %ju%s", m->from, (uintmax_t)m->word[0], (uintmax_t)m->word[1],
             m->kind ? " ASK" : "");
    perform(m->number, me,
            ptli_greet_hear(&me->state, m->word[0], m->word[1], m->kind, moment(), &patience),
            m->word[0]);
}

static void tick(const sim_message_t *m)
{
    end_t *me = end_at(m);
    perform(m->number, me, ptli_greet_tick(&me->state, moment().now, &patience), 0);
}

static void begin_to_want(const sim_message_t *m)
{
    want(m->number, end_at(m));
}

/* The device has found that the other end is gone, or so it believes. */
static void break_it(const sim_message_t *m)
{
    end_t *me = end_at(m);
    sim_note(me->node, "its queue pair breaks");
    perform(m->number, me, ptli_greet_broken(&me->state), 0);
    want(m->number, me);
}

/* The process ends, and another takes its name. */
static void restart(const sim_message_t *m)
{
    end_t *me = end_at(m);
    /* Nobody ends and is followed within one tick of the clock that stamps are from. */
    if (me->stamps && me->stamp[me->stamps - 1].mine >= moment().stamp) return;
    sim_note(me->node, "is another process now");
    me->state = (ptli_greet_t){0};
    me->made = me->joined = 0;
    me->open = false;
    want(m->number, me);
}

/* --- schedules --- */

static void begin(sim_link_t l)
{
    link = l;
    count = 1 + sim_below(sim_chance(95) ? 4 : 500);
    sim_nodes(2 * count);
    pairs = sim_alloc(count * sizeof *pairs);
    memset(pairs, 0, count * sizeof *pairs);
    for (uint32_t p = 0; p < count; p++) {
        end_t *end = pairs[p].end;
        end[0].node = end[1].peer = 2 * p;
        end[1].node = end[0].peer = 2 * p + 1;
    }
}

static void at_some_time(uint32_t within, sim_action_t *act, uint32_t p, unsigned end)
{
    sim_after(sim_below(within), act,
              &(sim_message_t){
                  .from = pairs[p].end[!end].node, .to = pairs[p].end[end].node, .number = p});
}

static void meet(uint32_t within)
{
    for (uint32_t p = 0; p < count; p++) {
        unsigned who = 1 + sim_below(3);
        for (unsigned i = 0; i < 2; i++)
            if (who & (1u << i)) at_some_time(within, begin_to_want, p, i);
    }
}

static void look(void)
{
    uint64_t greetings = 0;
    for (uint32_t p = 0; p < count; p++) {
        for (unsigned i = 0; i < 2; i++) {
            const end_t *me = &pairs[p].end[i], *peer = &pairs[p].end[!i];
            sim_concerns(peer->node);
            sim_check(!me->failed, me->node, "gave up, though node %u is there", peer->node);
            sim_check(!me->wants || me->open, me->node, "wants to send to node %u for ever",
                      peer->node);
            sim_check(!me->open || (me->joined == peer->made && peer->joined == me->made), me->node,
                      "ends on a queue pair that leads nowhere");
        }
        greetings += pairs[p].greetings;
    }
    sim_count("pairs", count);
    sim_count("greetings", greetings);
}

static void quiet(void)
{
    begin((sim_link_t){.least = 10, .most = 9000});
    meet(sim_chance(50) ? 1 : SECOND);
    sim_run();
    look();
    for (uint32_t p = 0; p < count; p++) {
        bool both = pairs[p].end[0].wants && pairs[p].end[1].wants;
        sim_check(pairs[p].greetings <= (both ? 6u : 3u), pairs[p].end[0].node,
                  "needs %u greetings", pairs[p].greetings);
    }
}

static void lossy(void)
{
    begin(sim_any_link());
    meet(2 * SECOND);
    sim_run();
    look();
}

static void troubled(void)
{
    begin(sim_any_link());
    meet(2 * SECOND);
    for (uint32_t p = 0; p < count; p++)
        for (uint32_t i = sim_below(4); i > 0; i--)
            at_some_time(3 * SECOND, sim_chance(50) ? break_it : restart, p, sim_below(2));
    sim_run();
    look();
}

static void stall(const sim_message_t *m)
{
    sim_stall(m->to, 1 + sim_below(30 * SECOND));
}

/* Nobody answers for long, or at all. */
static void silence(void)
{
    begin(sim_any_link());
    if (sim_chance(50)) link.lose = 100;
    meet(2 * SECOND);
    for (uint32_t p = 0; p < count; p++)
        if (sim_chance(50)) at_some_time(3 * SECOND, stall, p, sim_below(2));
    sim_run();
    for (uint32_t p = 0; p < count; p++)
        for (unsigned i = 0; i < 2; i++)
            sim_check(!pairs[p].end[i].wants || pairs[p].end[i].open, pairs[p].end[i].node,
                      "neither sends nor gives up");
}

int main(int argc, char **argv)
{
    const sim_scene_t scenes[] = {
        {"quiet links: three greetings join two processes, both beginning at once too", quiet,
         15000},
        {"greetings lost, repeated, late: all who want to send may, and greetings die out", lossy,
         15000},
        {"queue pairs break, processes end and others take their names: the two ends agree again",
         troubled, 15000},
        {"where nobody answers, who wants to send gives up", silence, 15000},
    };
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
