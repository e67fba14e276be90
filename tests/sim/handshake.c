/* handshake.c - the handshake of other/connect/handshake between thousands of nodes (IB-W4):
 * messages are lost, repeated, delayed and reordered; nodes stall and die; queue pairs break, and
 * processes are replaced by others of the same name.  Messages of libportals pass its guard
 * (other/portals3/src/transport/connect_guard.h), and somebody records them and sends them again.
 *
 * Plays the engine of either user, core/ib or libportals.  What may never happen: that an end may
 * send on a queue pair whose remote end is not connected to it.  What must: that an end that wants
 * to send may do so or gives up, and that messages die out.  Time is in microseconds.
 */
#include "other/connect/handshake/handshake.h"

#include <math.h>
#include <string.h>

#include "other/portals3/src/transport/connect_guard.h"
#include "tests/sim/sim.h"

enum { MANY = 4096, SECOND = 1000000, MOST_STAMPS = 64, MOST_SENT = 1000 };

/* A queue pair that an end has or had, and what it was connected to. */
typedef struct stamp {
    uint64_t mine, theirs;
    struct stamp *earlier;
} stamp_t;

/* A message of libportals. */
typedef struct letter {
    ptli_connect_payload_t payload;
    bool accepted;
} letter_t;

typedef struct end {
    uint32_t node;
    handshake_t state;
    ptli_guard_t guard;
    uint64_t life, number;
    bool wants, failed;
    uint64_t made, joined; /* stamps */
    bool open;
    stamp_t *stamps;
    uint32_t stamp_count;
} end_t;

static struct pair {
    end_t end[2];
    uint32_t sent, challenges;
} * pairs;
static uint32_t count;
static sim_link_t link;
static bool recording; /* every message may come again, long after */
static uint64_t lives; /* used so far */

/* How core/ib and libportals use the machine. */
static const struct user {
    handshake_times_t times;
    double refusals_after;
    bool replaces; /* takes stamps from a clock, drops the queue pair of a silent peer, has a guard
                    */
} core_ib = {.times = {.first = 0.02, .longest = 0.5, .give_up = 5}},
  portals = {.times = {.first = 0.02, .longest = 0.5, .give_up = 10},
             .refusals_after = 0.5,
             .replaces = true};
static const struct user *user;

/* --- the engine --- */

static handshake_moment_t moment(void)
{
    return (handshake_moment_t){.now = (double)sim_now() / SECOND,
                                .stamp = user->replaces ? sim_now() + 1 : 1};
}

static end_t *other(uint32_t p, const end_t *me)
{
    return &pairs[p].end[me == &pairs[p].end[0]];
}

static end_t *end_at(const sim_message_t *m)
{
    return &pairs[m->number].end[pairs[m->number].end[0].node == m->to ? 0 : 1];
}

static sim_action_t receive, receive_challenge, tick, refuse;
static void perform(uint32_t p, end_t *me, unsigned actions, uint64_t theirs);

static void want(uint32_t p, end_t *me)
{
    me->wants = true;
    if (!me->open) perform(p, me, handshake_want(&me->state, moment(), &user->times), 0);
}

static void make(end_t *me, const end_t *peer)
{
    sim_check(!me->made, me->node, "creates a second queue pair for node %u", peer->node);
    sim_check(++me->stamp_count <= (user->replaces ? MOST_STAMPS : 1), me->node,
              "creates queue pairs for node %u for ever", peer->node);
    me->made = me->state.mine;
    stamp_t *stamp = sim_alloc(sizeof *stamp);
    *stamp = (stamp_t){.mine = me->made, .earlier = me->stamps};
    me->stamps = stamp;
}

static void drop(end_t *me, const end_t *peer)
{
    sim_note(me->node, "drops %ju for %u", (uintmax_t)me->made, peer->node);
    sim_check(me->made && user->replaces, me->node, "drops what it has not, or needs");
    me->made = me->joined = 0;
    me->open = false;
}

static void join(end_t *me, const end_t *peer, uint64_t theirs)
{
    sim_check(me->made && !me->joined && theirs, me->node, "connects nothing, or twice");
    sim_check(user->replaces || peer->made, me->node,
              "connects to a queue pair of node %u that is not there", peer->node);
    me->joined = me->stamps->theirs = theirs;
}

static uint64_t joined_to(const end_t *end, uint64_t mine)
{
    for (const stamp_t *stamp = end->stamps; stamp; stamp = stamp->earlier)
        if (stamp->mine == mine) return stamp->theirs;
    return 0;
}

/* The remote end must be ready to receive: a device would lose what it is not ready for. */
static void open(end_t *me, const end_t *peer)
{
    sim_note(me->node, "may send to %u", peer->node);
    sim_check(me->joined && !me->open, me->node, "opens what is not connected, or twice");
    sim_check(user->replaces || peer->joined, me->node,
              "may send to node %u, which cannot receive yet", peer->node);
    sim_check(joined_to(peer, me->joined) == me->made, me->node,
              "may send to node %u, whose queue pair is connected to another", peer->node);
    me->open = true;
}

static letter_t *write_letter(end_t *me)
{
    letter_t *letter = sim_alloc(sizeof *letter);
    me->number = sim_now() + 1 > me->number ? sim_now() + 1 : me->number + 1;
    me->guard.sent = me->number;
    *letter = (letter_t){
        .payload = {.life = me->life, .your_life = me->guard.life, .number = me->number}};
    return letter;
}

static void send(uint32_t p, end_t *me, const end_t *peer)
{
    const handshake_message_t m = handshake_message(&me->state);
    sim_check(me->made, me->node, "sends to node %u without a queue pair", peer->node);
    sim_check(++pairs[p].sent < MOST_SENT, me->node, "sends to node %u for ever", peer->node);
    sim_check(m.mine == me->made && m.yours == me->joined && m.ask == !me->open, me->node,
              "does not tell node %u its state", peer->node);
    sim_note(me->node, "sends %u: %ju %ju%s", peer->node, (uintmax_t)m.mine, (uintmax_t)m.yours,
             m.ask ? " ASK" : "");
    sim_message_t message = {
        .from = me->node, .to = peer->node, .kind = m.ask, .number = p, .word = {m.mine, m.yours}};
    if (user->replaces) message.data = write_letter(me);
    sim_send(&link, receive, &message);
    if (recording && sim_chance(50)) sim_after(sim_below(20 * SECOND), receive, &message);
    message = (sim_message_t){.from = peer->node, .to = me->node, .number = p};
    if (!sim_alive(peer->node) && user->replaces) sim_send(&link, refuse, &message);
}

/* Handles a peer that is given up: libportals drops the connection, core/ib ends the job if
 * messages are wanted. */
static unsigned silent(end_t *me, const end_t *peer)
{
    sim_note(me->node, "gives node %u up", peer->node);
    sim_check(!me->open && !me->state.waiting, me->node, "gives node %u up without need",
              peer->node);
    me->failed = me->failed || me->state.wanted;
    if (!user->replaces) return 0;
    if (me->state.wanted) me->wants = false;
    return handshake_reset(&me->state);
}

static void perform(uint32_t p, end_t *me, unsigned actions, uint64_t theirs)
{
    const end_t *peer = other(p, me);
    sim_concerns(peer->node);
    if (actions & HANDSHAKE_SILENT) {
        sim_check(actions == HANDSHAKE_SILENT, me->node, "gives up and goes on");
        actions = silent(me, peer);
    }
    if (actions & HANDSHAKE_DROP) drop(me, peer);
    if (actions & HANDSHAKE_MAKE) make(me, peer);
    if (actions & HANDSHAKE_JOIN) join(me, peer, theirs);
    if (actions & HANDSHAKE_OPEN) open(me, peer);
    if (actions & HANDSHAKE_SEND) send(p, me, peer);
    if (me->wants && !me->state.wanted) want(p, me); /* dropped, with something left to send */
    if (!me->state.waiting) return;
    double left = me->state.next - moment().now;
    sim_after(left > 0 ? (uint64_t)ceil(left * SECOND) + 1 : 1, tick,
              &(sim_message_t){.from = peer->node, .to = me->node, .number = p});
}

/* Whether a message of libportals is new; its sender is challenged if it does not know the life. */
static bool is_accepted(const sim_message_t *m, end_t *me)
{
    letter_t *letter = m->data;
    const enum ptli_verdict verdict = ptli_guard_judge(&me->guard, me->life, &letter->payload);
    if (verdict == PTLI_STALE && m->kind) {
        sim_message_t answer = {.from = m->to, .to = m->from, .number = m->number};
        memcpy(answer.word, (uint64_t[]){me->life, letter->payload.life, letter->payload.number},
               sizeof answer.word);
        pairs[m->number].challenges++;
        sim_send(&link, receive_challenge, &answer);
        if (recording) sim_after(sim_below(20 * SECOND), receive_challenge, &answer);
    }
    if (verdict != PTLI_NEW) return false;
    sim_check(!letter->accepted, me->node, "accepts a message of node %u twice", m->from);
    sim_check(letter->payload.your_life == me->life, me->node,
              "accepts what was sent to an earlier process");
    letter->accepted = true;
    ptli_guard_accept(&me->guard, &letter->payload);
    return true;
}

static void receive_challenge(const sim_message_t *m)
{
    end_t *me = end_at(m);
    if (!ptli_guard_challenged(&me->guard, me->life, m->word[1], m->word[2], m->word[0])) return;
    sim_note(me->node, "is challenged by %u", m->from);
    if (me->made) send(m->number, me, other(m->number, me));
}

static void receive(const sim_message_t *m)
{
    end_t *me = end_at(m);
    if (m->data && !is_accepted(m, me)) return;
    const handshake_message_t message = {.mine = m->word[0], .yours = m->word[1], .ask = m->kind};
    sim_note(m->to, "receives of %u: %ju %ju%s", m->from, (uintmax_t)m->word[0],
             (uintmax_t)m->word[1], m->kind ? " ASK" : "");
    perform(m->number, me, handshake_receive(&me->state, &message, moment(), &user->times),
            m->word[0]);
}

static void tick(const sim_message_t *m)
{
    end_t *me = end_at(m);
    perform(m->number, me, handshake_tick(&me->state, moment().now, &user->times), 0);
}

static void refuse(const sim_message_t *m)
{
    end_t *me = end_at(m);
    perform(m->number, me, handshake_refused(&me->state, moment().now, user->refusals_after), 0);
}

static void begin_to_want(const sim_message_t *m)
{
    sim_note(m->to, "wants to send to %u", m->from);
    want(m->number, end_at(m));
}

/* The device has found that the remote end is gone, or so it seems. */
static void break_it(const sim_message_t *m)
{
    end_t *me = end_at(m);
    sim_note(me->node, "its queue pair breaks");
    perform(m->number, me, handshake_reset(&me->state), 0);
    want(m->number, me);
}

/* The process ends, and another takes its name. */
static void restart(const sim_message_t *m)
{
    end_t *me = end_at(m);
    /* No process is replaced within one tick of the clock that stamps are from. */
    if (me->stamps && me->stamps->mine >= moment().stamp) return;
    sim_note(me->node, "is another process now");
    me->state = (handshake_t){0};
    me->guard = (ptli_guard_t){0};
    me->life = ++lives;
    me->number = 0;
    me->made = me->joined = 0;
    me->open = false;
    want(m->number, me);
}

/* --- schedules --- */

/* Nodes of which each may meet several. */
static uint32_t begin(uint32_t nodes, const struct user *u, sim_link_t l)
{
    user = u;
    link = l;
    recording = false;
    lives = 0;
    count = 0;
    sim_nodes(nodes);
    const uint32_t most = 2 * nodes; /* meet_many calls meet twice for each node */
    pairs = sim_alloc(most * sizeof *pairs);
    memset(pairs, 0, most * sizeof *pairs);
    return nodes;
}

static const struct user *any_user(void)
{
    return sim_chance(67) ? &core_ib : &portals;
}

static void at_some_time(uint32_t within, sim_action_t *act, uint32_t p, unsigned end)
{
    sim_after(sim_below(within + 1), act,
              &(sim_message_t){
                  .from = pairs[p].end[!end].node, .to = pairs[p].end[end].node, .number = p});
}

/* Lets one end, or both, want to send at some time. */
static void meet(uint32_t a, uint32_t b, uint32_t within)
{
    if (a == b) return;
    uint32_t p = count++;
    pairs[p].end[0].node = a;
    pairs[p].end[1].node = b;
    pairs[p].end[0].life = ++lives;
    pairs[p].end[1].life = ++lives;
    unsigned ends = 1 + sim_below(3);
    for (unsigned i = 0; i < 2; i++)
        if (ends & (1u << i)) at_some_time(within, begin_to_want, p, i);
}

/* Each pair once: a node that draws a pair a second time draws another. */
static void meet_many(uint32_t nodes, uint32_t within)
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

/* As many pairs as that, of nodes that meet nobody else. */
static void meet_in_pairs(uint32_t within)
{
    uint32_t nodes = 2 * (1 + sim_below(sim_chance(95) ? 4 : 500));
    begin(nodes, &portals, sim_any_link());
    for (uint32_t a = 0; a < nodes; a += 2) meet(a, a + 1, within);
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

/* Checks the outcome where no node is dead or silent. */
static void look_at_living(const end_t *me, const end_t *peer)
{
    sim_check(!me->failed, me->node, "gave up, though node %u is there", peer->node);
    sim_check(!me->joined || me->open, me->node, "never learns that node %u is ready", peer->node);
    sim_check(!me->open || (me->joined == peer->made && peer->joined == me->made), me->node,
              "ends on a queue pair that leads nowhere");
}

static void look(bool all_live)
{
    uint64_t sent = 0, failed = 0;
    for (uint32_t p = 0; p < count; p++) {
        for (unsigned i = 0; i < 2; i++) {
            const end_t *me = &pairs[p].end[i], *peer = &pairs[p].end[!i];
            if (!sim_alive(me->node)) continue;
            sim_concerns(peer->node);
            sim_check(!me->wants || me->open || (me->failed && !user->replaces), me->node,
                      "wants to send to node %u, and can neither do that nor gives up", peer->node);
            if (all_live) look_at_living(me, peer);
            failed += me->failed;
        }
        sent += pairs[p].sent;
    }
    sim_count("pairs", count);
    sim_count("messages", sent);
    sim_count("ends that gave up", failed);
}

static void quiet(void)
{
    const struct user *u = any_user();
    /* All is over before the first repetition. */
    const uint32_t most = u->replaces ? 4500 : 9000;
    uint32_t nodes = begin(any_nodes(), u, (sim_link_t){.least = 10, .most = most});
    meet_many(nodes, sim_chance(50) ? 0 : SECOND);
    sim_run();
    look(true);
    for (uint32_t p = 0; p < count; p++) {
        bool both = pairs[p].end[0].wants && pairs[p].end[1].wants;
        const uint32_t challenged = pairs[p].challenges;
        sim_check(both ? pairs[p].sent <= 6 + challenged : pairs[p].sent == 3 + challenged,
                  pairs[p].end[0].node, "needs %u messages", pairs[p].sent);
        sim_check(challenged <= (user->replaces ? 1u + both : 0), pairs[p].end[0].node,
                  "is challenged %u times", challenged);
    }
}

static void lossy(void)
{
    uint32_t nodes = begin(any_nodes(), any_user(), sim_any_link());
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
    uint32_t nodes = begin(any_nodes(), any_user(), l);
    meet_many(nodes, sim_below(2 * SECOND));
    for (uint32_t i = sim_below(3); i > 0; i--)
        sim_after(sim_below(2 * SECOND), die,
                  &(sim_message_t){.to = sim_below(nodes), .device = 1});
    stall_some(nodes, 10 * SECOND);
    sim_run();
    look(false);
}

static void troubled(void)
{
    meet_in_pairs(2 * SECOND);
    for (uint32_t p = 0; p < count; p++)
        for (uint32_t i = sim_below(4); i > 0; i--)
            at_some_time(3 * SECOND, sim_chance(50) ? break_it : restart, p, sim_below(2));
    sim_run();
    look(true);
}

/* Half of the messages come again, up to 20 seconds later. */
static void recorded(void)
{
    meet_in_pairs(2 * SECOND);
    recording = true;
    for (uint32_t p = 0; p < count; p++)
        for (uint32_t i = sim_below(4); i > 0; i--)
            at_some_time(3 * SECOND, sim_chance(50) ? break_it : restart, p, sim_below(2));
    sim_run();
    look(true);
}

/* No answer comes for long, or none at all. */
static void silence(void)
{
    meet_in_pairs(2 * SECOND);
    if (sim_chance(50)) link.lose = 100;
    for (uint32_t node = 0; node < 2 * count; node++)
        if (sim_chance(25))
            sim_after(sim_below(3 * SECOND), stall,
                      &(sim_message_t){.to = node, .number = 1 + sim_below(30 * SECOND)});
    sim_run();
    look(false);
}

int main(int argc, char **argv)
{
    const sim_scene_t scenes[] = {
        {"IB-W4 quiet links: three messages connect two nodes, also where both begin at once",
         quiet, 45000},
        {"IB-W4 messages lost, repeated, late: all that want to send may, and messages die out",
         lossy, 45000},
        {"IB-W4 nodes die or stall for long: what wants to send may, or gives up", deaths, 45000},
        {"queue pairs break, processes end and others take their names: the two ends agree again",
         troubled, 15000},
        {"messages that were recorded and are sent again change nothing", recorded, 15000},
        {"where no answer comes, what wants to send gives up", silence, 15000},
    };
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
