/* exit.c - the exit's state machine (IB-X2..X6) for 1 to thousands of nodes: messages are late,
 * overtake each other and get lost; nodes stall and die.
 *
 * Plays the engine of core/exit/exit.c: a node's timeout is counted from when it wanted to end, and
 * the node looks at the time now and then.  Nothing is repeated: the network below never does that.
 */
#include "core/exit/exit_protocol.h"
#include "tests/sim/sim.h"

enum {
    MANY = 4096, /* the largest job */
    LOOKS = 10,
};

typedef struct node {
    gasnetc_exit_protocol_t protocol;
    bool wants, wanted; /* will want to end; has said so */
    bool timed_out;
    uint8_t own_code, begun; /* times the machine asked it to begin */
} node_t;

static struct {
    sim_link_t link;
    uint32_t nodes, wanting;
    uint64_t timeout;
    uint32_t sent;
    bool too_early; /* some grace period ended before all had said that they want to end */
} job;
static node_t nodes[SIM_NODES];

/* --- the engine --- */

static const char *const names[] = {"CANDIDATE", "CLAIM",   "ELECTED",
                                    "TOGETHER",  "REQUEST", "ANSWER"};

static sim_action_t hear;
static void look_later(uint32_t me, uint32_t looks);

static void send_one(uint32_t from, uint32_t to, const gasnetc_exit_action_t *action)
{
    sim_check(to < job.nodes && to != from, from, "sends to node %u", to);
    sim_note(from, "sends %s %u to %u", names[action->message], action->code, to);
    job.sent++;
    sim_send(
        &job.link, hear,
        &(sim_message_t){.from = from, .to = to, .kind = action->message, .number = action->code});
}

static void perform(uint32_t me, gasnetc_exit_action_t action)
{
    if (action.send == GASNETC_EXIT_SEND_ONE) send_one(me, action.to, &action);
    if (action.send != GASNETC_EXIT_SEND_ALL) return;
    for (uint32_t to = 0; to < job.nodes; to++)
        if (to != me) send_one(me, to, &action);
}

/* A node that is not done looks at the time: number `kind` of LOOKS while it waits. */
static void look_at_time(const sim_message_t *m)
{
    node_t *node = &nodes[m->to];
    enum gasnetc_exit_state before = node->protocol.state;
    gasnetc_exit_action_t action = gasnetc_exit_passed(&node->protocol, m->kind / (double)LOOKS);
    node->timed_out = node->protocol.state == GASNETC_EXIT_FAILED && node->protocol.state != before;
    if (node->timed_out) sim_note(m->to, "gives up");
    if (action.send && job.wanting) job.too_early = true;
    perform(m->to, action);
    if (m->kind < LOOKS && node->protocol.state != GASNETC_EXIT_DONE) look_later(m->to, m->kind);
}

/* Each look is at its part of the whole time, whatever the rounding of those before. */
static void look_later(uint32_t me, uint32_t looks)
{
    const uint64_t at = job.timeout * looks / LOOKS, next = job.timeout * (looks + 1) / LOOKS;
    sim_after(next - at, look_at_time, &(sim_message_t){.to = me, .kind = looks + 1});
}

/* Ends the node as gasnetc_exit does, for any caller: only the first time counts. */
static void want(uint32_t me, uint8_t code)
{
    node_t *node = &nodes[me];
    if (node->wanted) return;
    node->wanted = true;
    if (node->wants) job.wanting--;
    sim_note(me, "wants to end with %u", code);
    perform(me, gasnetc_exit_want(&node->protocol, code));
    look_later(me, 0);
}

static void begin_to_want(const sim_message_t *m)
{
    want(m->to, nodes[m->to].own_code);
}

static void hear(const sim_message_t *m)
{
    node_t *node = &nodes[m->to];
    sim_note(m->to, "hears %s %u from %u", names[m->kind], m->number, m->from);
    gasnetc_exit_action_t action = gasnetc_exit_receive(
        &node->protocol, m->from, (enum gasnetc_exit_message)m->kind, (uint8_t)m->number);
    perform(m->to, action);
    if (!action.begin) return;
    node->begun++;
    sim_check(!node->wanted, m->to, "is told to begin what it has begun");
    want(m->to, (uint8_t)m->number);
}

/* --- schedules --- */

static uint32_t any_nodes(void)
{
    return 1 + sim_below(sim_chance(90) ? 9 : sim_chance(98) ? 64 : MANY);
}

static void begin(uint32_t n, sim_link_t link, uint64_t timeout)
{
    job.link = link;
    job.nodes = sim_nodes(n);
    job.timeout = timeout;
    job.wanting = job.sent = 0;
    job.too_early = false;
    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = (node_t){.own_code = (uint8_t)sim_below(256)};
        gasnetc_exit_protocol_init(&nodes[i].protocol, i, n);
    }
}

static void will_want(uint32_t i, uint64_t when)
{
    if (nodes[i].wants) return;
    nodes[i].wants = true;
    job.wanting++;
    sim_after(when, begin_to_want, &(sim_message_t){.to = i});
}

/* Quick and slow links of any kind; none takes longer than 1000. */
static sim_link_t any_link(void)
{
    sim_link_t link = {.least = sim_below(100)};
    link.most = link.least + sim_below(200);
    link.late = (uint8_t)sim_below(30);
    link.most_late = link.most + sim_below(700);
    return link;
}

static uint8_t largest(void)
{
    uint8_t most = 0;
    for (uint32_t i = 0; i < job.nodes; i++)
        if (nodes[i].own_code > most) most = nodes[i].own_code;
    return most;
}

static bool waits(const node_t *node)
{
    return node->protocol.state == GASNETC_EXIT_WAITING ||
           node->protocol.state == GASNETC_EXIT_COLLECTING;
}

/* Invariants: no live node waits for ever; all nodes that are done have one code; when some are
 * done and others were not notified, the launcher is: by a node that gave up, or by the end of a
 * node that died, or was wedged until its alarm, after it had begun to end. */
static void look(void)
{
    int code = -1;
    uint32_t failed = 0, untold = job.nodes;
    for (uint32_t i = 0; i < job.nodes; i++) {
        const gasnetc_exit_protocol_t *p = &nodes[i].protocol;
        if (!sim_alive(i)) {
            failed += nodes[i].wanted;
            continue;
        }
        sim_check(!waits(&nodes[i]), i, "still waits when its time is over");
        sim_check(!nodes[i].wanted || p->state != GASNETC_EXIT_IDLE, i, "forgot its exit");
        sim_check(!nodes[i].timed_out || p->state == GASNETC_EXIT_FAILED, i,
                  "called the launcher, and then is in state %d", p->state);
        sim_check(p->state != GASNETC_EXIT_FAILED || p->code, i,
                  "has the launcher end nodes that did not ask for it, with code 0");
        sim_check(nodes[i].begun <= 1, i, "was told to begin %u times", nodes[i].begun);
        failed += p->state == GASNETC_EXIT_FAILED;
        if (p->state == GASNETC_EXIT_IDLE) untold = i;
        if (p->state != GASNETC_EXIT_DONE) continue;
        sim_check(code < 0 || code == p->code, i, "is done with code %u, others with %d", p->code,
                  code);
        code = p->code;
    }
    sim_check(untold == job.nodes || failed || code < 0, untold,
              "was not notified, others are done, and no node calls the launcher");
    sim_check(job.nodes == 0 || job.sent <= 4 * job.nodes - 2, 0, "%u nodes needed %u messages",
              job.nodes, job.sent);
    sim_count("nodes", job.nodes);
    sim_count("messages", job.sent);
    sim_count("nodes that gave up", failed);
}

/* Checks a job without losses and deaths: all nodes end before their time is over, with the code of
 * one of them.
 */
static void look_healthy(void)
{
    look();
    bool known = false;
    for (uint32_t i = 0; i < job.nodes; i++) {
        sim_check(nodes[i].protocol.state == GASNETC_EXIT_DONE, i, "ends in state %d",
                  nodes[i].protocol.state);
        known |= nodes[i].wants && nodes[i].own_code == nodes[0].protocol.code;
    }
    sim_check(known, 0, "ends with code %u, which no node gave", nodes[0].protocol.code);
}

static void some_want(uint64_t within)
{
    unsigned likely = sim_below(101);
    for (uint32_t i = 0; i < job.nodes; i++)
        if (sim_chance(likely)) will_want(i, sim_below((uint32_t)within + 1));
    will_want(sim_below(job.nodes), sim_below((uint32_t)within + 1));
}

static void stall(const sim_message_t *m)
{
    sim_note(m->to, "stalls for %u", m->number);
    sim_stall(m->to, m->number);
}

static void stall_some(uint32_t most)
{
    for (uint32_t i = sim_below(4); i > 0; i--)
        sim_after(sim_below((uint32_t)job.timeout), stall,
                  &(sim_message_t){
                      .to = sim_below(job.nodes), .number = sim_below(most + 1), .device = 1});
}

static void all_end(void)
{
    begin(any_nodes(), any_link(), 20000);
    for (uint32_t i = 0; i < job.nodes; i++) will_want(i, sim_below(8000));
    sim_run();
    look_healthy();
    sim_check(!job.too_early && job.sent == 2 * job.nodes - 2, 0, "%u nodes needed %u messages",
              job.nodes, job.sent);
    sim_check(nodes[0].protocol.code == largest(), 0, "ends with code %u, the largest is %u",
              nodes[0].protocol.code, largest());
}

static void one_ends(void)
{
    begin(1 + any_nodes() % (MANY - 1), any_link(), 20000);
    uint32_t who = sim_below(job.nodes);
    will_want(who, 0);
    sim_run();
    look_healthy();
    for (uint32_t i = 0; i < job.nodes; i++)
        sim_check(nodes[i].begun == (i != who), i, "was told to begin %u times", nodes[i].begun);
    sim_check(job.sent <= 2 * job.nodes + 1, who, "alone, it needed %u messages of %u nodes",
              job.sent, job.nodes);
}

/* Grace periods end at any time: claims, elections and a late collective end cross.  The whole time
 * suffices for what may follow the last grace period. */
static void some_end(void)
{
    begin(any_nodes(), any_link(), 20000);
    some_want(sim_below(100000));
    stall_some(1000);
    sim_run();
    look_healthy();
}

/* Time is short: messages may come when the node has given up. */
static void in_haste(void)
{
    begin(any_nodes(), any_link(), 1 + sim_below(4000));
    some_want(sim_below(5000));
    stall_some(5000);
    sim_run();
    look();
}

static void losses(void)
{
    sim_link_t link = any_link();
    link.lose = (uint8_t)(1 + sim_below(sim_chance(70) ? 5 : 60));
    begin(any_nodes(), link, 1 + sim_below(20000));
    some_want(sim_below(20000));
    sim_run();
    look();
}

static void die(const sim_message_t *m)
{
    sim_note(m->to, "dies");
    sim_kill(m->to);
}

static void deaths(void)
{
    sim_link_t link = any_link();
    if (sim_chance(30)) link.lose = (uint8_t)sim_below(20);
    begin(any_nodes(), link, 1 + sim_below(20000));
    some_want(sim_below(20000));
    for (uint32_t i = 1 + sim_below(3); i > 0; i--)
        sim_after(sim_below(30000), die,
                  &(sim_message_t){.to = sim_chance(30) ? 0 : sim_below(job.nodes), .device = 1});
    stall_some(3000);
    sim_run();
    look();
}

static void wedged_zero(void)
{
    begin(2 + sim_below(sim_chance(95) ? 20 : 2000), any_link(), 10000);
    sim_kill(0);
    some_want(5000);
    sim_run();
    look();
    for (uint32_t i = 1; i < job.nodes; i++)
        sim_check(!nodes[i].wants ||
                      (nodes[i].protocol.state == GASNETC_EXIT_FAILED &&
                       nodes[i].protocol.code == (nodes[i].own_code ? nodes[i].own_code : 1)),
                  i, "does not give up with its own code, or 1 for 0, while node 0 is wedged");
}

int main(int argc, char **argv)
{
    const sim_scene_t scenes[] = {
        {"IB-X4 IB-X9 all end: 2N-2 messages, and all take the largest code", all_end, 20000},
        {"IB-X3 IB-X5 one ends: the others are notified once and take its code, 2N+1 messages",
         one_ends, 20000},
        {"IB-X4 some end at any time: one code, at most 4N-2 messages", some_end, 20000},
        {"IB-X4 IB-X6 time is short: no node waits, one code, or the launcher is notified",
         in_haste, 20000},
        {"IB-X6 messages get lost: no node waits, one code, or the launcher is notified", losses,
         20000},
        {"IB-X6 nodes die: no node waits, one code, or the launcher is notified", deaths, 20000},
        {"IB-X3 node 0 wedged costs only the timeout", wedged_zero, 10000},
    };
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
