/* exit_protocol.c - the exit's state machine (IB-X2..X6) for 1 to 64 nodes in this process.
 *
 * Messages wait a random time and arrive in the order sent between any two nodes; grace periods end
 * at random times, or only when nothing else can happen; nodes fall silent.  At last time is over
 * for whoever still waits, as the engine promises.
 */
#include "core/exit_protocol.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

enum { NODES = 64, FLIGHT = 8 * NODES };

typedef struct node {
    gasnetc_exit_protocol_t protocol;
    bool wants, wanted, silent; /* will want to end; has said so; neither sends nor hears */
    uint8_t own_code;
    bool grace_over, timed_out;
    unsigned begun; /* times it was told to begin */
} node_t;

typedef struct flight {
    uint32_t from, to;
    enum gasnetc_exit_message message;
    uint8_t code;
} flight_t;

static node_t nodes[NODES];
static uint32_t size;
static flight_t flight[FLIGHT];
static unsigned in_flight, sent;
static bool too_early; /* some grace period ended before all had said that they want to end */

static void send_one(uint32_t from, uint32_t to, const gasnetc_exit_action_t *action)
{
    check_each(to < size && to != from, "%u nodes: node %u sends to %u", size, from, to);
    sent++;
    if (in_flight == FLIGHT) abort();
    flight[in_flight++] = (flight_t){from, to, action->message, action->code};
}

static void perform(uint32_t me, const gasnetc_exit_action_t *action)
{
    if (action->begin) nodes[me].begun++;
    if (nodes[me].silent) return;
    if (action->send == GASNETC_EXIT_SEND_ONE) send_one(me, action->to, action);
    if (action->send != GASNETC_EXIT_SEND_ALL) return;
    for (uint32_t to = 0; to < size; to++)
        if (to != me) send_one(me, to, action);
}

static void want(uint32_t me)
{
    node_t *node = &nodes[me];
    node->wanted = true;
    gasnetc_exit_action_t action = gasnetc_exit_want(&node->protocol, node->own_code);
    perform(me, &action);
}

static void end_grace(uint32_t me)
{
    nodes[me].grace_over = true;
    for (uint32_t i = 0; i < size; i++)
        if (!nodes[i].wanted) too_early = true;
    gasnetc_exit_action_t action = gasnetc_exit_grace_over(&nodes[me].protocol);
    perform(me, &action);
}

/* The oldest message between two nodes that chance picks. */
static void deliver(unsigned pick)
{
    flight_t message = flight[pick];
    for (unsigned i = 0; i < pick; i++)
        if (flight[i].from == message.from && flight[i].to == message.to) {
            message = flight[pick = i];
            break;
        }
    memmove(flight + pick, flight + pick + 1, (--in_flight - pick) * sizeof *flight);
    node_t *node = &nodes[message.to];
    if (node->silent) return;
    gasnetc_exit_action_t action =
        gasnetc_exit_receive(&node->protocol, message.from, message.message, message.code);
    perform(message.to, &action);
    /* The engine then goes through the same door as a caller of gasnet_exit, with that code. */
    if (action.begin) {
        action = gasnetc_exit_want(&node->protocol, message.code);
        check_each(action.send == GASNETC_EXIT_SEND_NONE, "a node told to end announces itself");
        node->wanted = true;
    }
}

static bool waits(const node_t *node)
{
    return node->protocol.state == GASNETC_EXIT_WAITING ||
           node->protocol.state == GASNETC_EXIT_COLLECTING;
}

/* One random thing that can happen; `hasty` lets grace periods end while there is other work. */
static bool step(unsigned hasty)
{
    uint32_t start = check_below(size);
    unsigned kind = check_below(100);
    if (kind < 40 && in_flight) {
        deliver(check_below(in_flight));
        return true;
    }
    for (uint32_t k = 0; k < size; k++) {
        node_t *node = &nodes[(start + k) % size];
        if (!node->wants || node->wanted || node->silent) continue;
        want((start + k) % size);
        return true;
    }
    if (in_flight && kind >= hasty) {
        deliver(check_below(in_flight));
        return true;
    }
    for (uint32_t k = 0; k < size; k++) {
        node_t *node = &nodes[(start + k) % size];
        if (!waits(node) || node->grace_over || node->silent) continue;
        end_grace((start + k) % size);
        return true;
    }
    if (!in_flight) return false;
    deliver(check_below(in_flight));
    return true;
}

static void time_over(void)
{
    for (uint32_t i = 0; i < size; i++) {
        nodes[i].timed_out = waits(&nodes[i]);
        if (nodes[i].timed_out) gasnetc_exit_time_over(&nodes[i].protocol);
    }
}

static void begin(uint32_t n)
{
    size = n;
    in_flight = sent = 0;
    too_early = false;
    memset(nodes, 0, sizeof nodes);
    for (uint32_t i = 0; i < size; i++) {
        gasnetc_exit_protocol_init(&nodes[i].protocol, i, size);
        nodes[i].own_code = (uint8_t)check_below(256);
    }
}

/* What holds whatever happened: nobody live waits for ever, all who are done have one code, and
 * when some are done but others were not told, somebody calls the launcher. */
static void look(const char *story)
{
    int code = -1;
    unsigned failed = 0, untold = 0;
    for (uint32_t i = 0; i < size; i++) {
        const node_t *node = &nodes[i];
        if (node->silent) continue;
        enum gasnetc_exit_state state = node->protocol.state;
        check_each(!waits(node), "%s, %u nodes: node %u still waits", story, size, i);
        check_each(!node->wanted || state != GASNETC_EXIT_IDLE, "%s: node %u forgot", story, i);
        check_each(node->begun <= 1, "%s: node %u was told to begin %u times", story, i,
                   node->begun);
        failed += state == GASNETC_EXIT_FAILED;
        untold += state == GASNETC_EXIT_IDLE;
        if (state != GASNETC_EXIT_DONE) continue;
        check_each(code < 0 || code == node->protocol.code, "%s, %u nodes: codes %d and %u", story,
                   size, code, node->protocol.code);
        code = node->protocol.code;
    }
    check_each(!untold || failed || code < 0,
               "%s, %u nodes: some are done, %u were not told, and nobody calls the launcher",
               story, size, untold);
    check_each(sent <= 4 * size - 2, "%s, %u nodes: %u messages", story, size, sent);
}

/* No node is silent: all are done, before time was over. */
static void look_healthy(const char *story)
{
    look(story);
    bool candidate = false;
    for (uint32_t i = 0; i < size; i++) {
        check_each(nodes[i].protocol.state == GASNETC_EXIT_DONE && !nodes[i].timed_out,
                   "%s, %u nodes: node %u is in state %d", story, size, i, nodes[i].protocol.state);
        candidate |= nodes[i].wants && nodes[i].own_code == nodes[0].protocol.code;
    }
    check_each(candidate, "%s, %u nodes: nobody wanted code %u", story, size,
               nodes[0].protocol.code);
}

static uint8_t largest(void)
{
    uint8_t most = 0;
    for (uint32_t i = 0; i < size; i++)
        if (nodes[i].own_code > most) most = nodes[i].own_code;
    return most;
}

static void collective(void)
{
    for (uint32_t n = 1; n <= NODES; n++) {
        begin(n);
        for (uint32_t i = 0; i < n; i++) nodes[i].wants = true;
        while (step(0)) continue;
        time_over();
        look_healthy("all end");
        check_each(!too_early && sent == 2 * n - 2, "%u nodes: %u messages", n, sent);
        check_each(nodes[0].protocol.code == largest(), "%u nodes: code %u, largest %u", n,
                   nodes[0].protocol.code, largest());
    }
    check_all("IB-X4 all end, 1..64 nodes: 2N-2 messages, and the largest code is everybody's");
}

static void one_ends(void)
{
    for (uint32_t n = 2; n <= NODES; n++) {
        begin(n);
        uint32_t who = check_below(n);
        nodes[who].wants = true;
        while (step(0)) continue;
        time_over();
        look_healthy("one ends");
        for (uint32_t i = 0; i < n; i++)
            check_each(nodes[i].begun == (i != who), "%u nodes: node %u was told %u times", n, i,
                       nodes[i].begun);
    }
    check_all("IB-X3 IB-X5 one of 2..64 ends: the others are told, once each, and take its code");
}

/* Grace periods may end at any time: claims, elections and a late collective end cross. */
static void hasty(void)
{
    for (int round = 0; round < 4000; round++) {
        begin(1 + check_below(round % 8 ? 9 : NODES));
        unsigned likely = check_below(101);
        for (uint32_t i = 0; i < size; i++) nodes[i].wants = check_below(100) < likely;
        nodes[check_below(size)].wants = true;
        unsigned haste = check_below(101);
        while (step(haste)) continue;
        time_over();
        look_healthy("some end, in haste");
    }
    check_all("IB-X4 some or all of 1..64 end, grace periods end at random: one code, <= 4N-2 "
              "messages");
}

static void silence(void)
{
    for (int round = 0; round < 4000; round++) {
        begin(1 + check_below(round % 8 ? 9 : NODES));
        for (uint32_t i = 0; i < size; i++) nodes[i].wants = check_below(2);
        nodes[check_below(size)].wants = true;
        unsigned quiet = 1 + check_below(3), haste = check_below(101), when = check_below(4 * size);
        for (unsigned t = 0; step(haste); t++)
            if (t >= when && quiet && quiet--) nodes[check_below(size)].silent = true;
        time_over();
        look("some fall silent");
    }
    check_all("IB-X6 up to three nodes fall silent: when time is over nobody live waits, and the "
              "launcher hears of it");
}

static void wedged_zero(void)
{
    for (uint32_t n = 2; n <= NODES; n++) {
        begin(n);
        nodes[0].silent = true;
        for (uint32_t i = 1; i < n; i++) nodes[i].wants = check_below(2);
        nodes[1 + check_below(n - 1)].wants = true;
        while (step(0)) continue;
        time_over();
        look("node 0 is wedged");
        for (uint32_t i = 1; i < n; i++)
            check_each(!nodes[i].wants || (nodes[i].protocol.state == GASNETC_EXIT_FAILED &&
                                           nodes[i].protocol.code == nodes[i].own_code),
                       "%u nodes: node %u", n, i);
    }
    check_all("IB-X3 node 0 wedged costs only the timeout: candidates give up with their own code");
}

/* Answers to messages that no honest schedule brings, or brings late. */
static void odd_messages(void)
{
    gasnetc_exit_protocol_t p;
    gasnetc_exit_protocol_init(&p, 3, 5);
    gasnetc_exit_want(&p, 7);
    gasnetc_exit_action_t again = gasnetc_exit_want(&p, 9);
    check(p.code == 7 && again.send == GASNETC_EXIT_SEND_NONE,
          "IB-X2 the first caller's code is kept");
    gasnetc_exit_receive(&p, 0, GASNETC_EXIT_ANSWER, 0);
    check(p.state == GASNETC_EXIT_WAITING, "IB-X4 an answer to no request means nothing");
    gasnetc_exit_action_t answer = gasnetc_exit_receive(&p, 1, GASNETC_EXIT_REQUEST, 44);
    check(p.state == GASNETC_EXIT_DONE && p.code == 44 && !answer.begin &&
              answer.send == GASNETC_EXIT_SEND_ONE && answer.to == 1 &&
              answer.message == GASNETC_EXIT_ANSWER,
          "IB-X4 one that waits takes the master's code, answers, and is not told to begin");
    gasnetc_exit_receive(&p, 0, GASNETC_EXIT_TOGETHER, 12);
    gasnetc_exit_receive(&p, 0, GASNETC_EXIT_ELECTED, 7);
    gasnetc_exit_time_over(&p);
    check(p.state == GASNETC_EXIT_DONE && p.code == 44, "IB-X4 what is done stays done");
    gasnetc_exit_protocol_init(&p, 2, 5);
    gasnetc_exit_action_t told = gasnetc_exit_receive(&p, 1, GASNETC_EXIT_REQUEST, 44);
    check(told.begin && p.code == 44, "IB-X5 a request that is the first news begins the exit");
    told = gasnetc_exit_receive(&p, 1, GASNETC_EXIT_REQUEST, 45);
    check(!told.begin && p.code == 44, "IB-X5 a second one does not, nor does it change the code");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    collective();
    one_ends();
    hasty();
    silence();
    wedged_zero();
    odd_messages();
    return check_end();
}
