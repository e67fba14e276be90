/* extended_barrier.c - the barrier's state machines against the rules of the barrier, for 1 to 9
 * nodes and for many, all in this process: that of nodes which are alone, and that of nodes in
 * supernodes.
 *
 * Nodes act and messages arrive in random order; some messages are held back until nothing else can
 * happen, so that phases overlap as far as they may.  What each node learns is compared with the
 * rules applied to all nodes' arguments at once.  TAP output; a seed as argument replays a run.
 */
#include "extended-ref/barrier_state.h"
#include "extended-ref/teams/kin_barrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_NODES = 1000, MAX_FLIGHT = MAX_NODES * 20, MAX_PHASES = 2000 };

struct flight {
    uint32_t to;
    bool late;
    int32_t words[2];
};

struct node {
    gasnete_barrier_state_t state;
    gasnete_kin_barrier_t kin;
    uint32_t phase; /* of the next enter, or of the one it is in */
    bool inside;
};

static struct node nodes[MAX_NODES];
static struct flight flight[MAX_FLIGHT];
static uint32_t in_flight, size, phases;
static uint64_t seed, random_state;
static uint32_t failures, tests;

/* The nodes form them. */
static gasnete_coll_supernodes_t supernodes;
static bool by_kin;
static uint32_t first[MAX_NODES + 1], by_supernode[MAX_NODES], place_of[MAX_NODES], of[MAX_NODES];

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint32_t below(uint32_t bound)
{
    return (uint32_t)(mix(random_state++) % bound);
}

/* A fixed random number for each (phase, what): what the nodes pass is a function of the phase, so
 * that nobody has to store it. */
static uint64_t fixed(uint32_t phase, uint32_t what)
{
    return mix(mix(seed ^ ((uint64_t)size << 40)) ^ ((uint64_t)phase << 20 | what));
}

static void fail(const char *what, uint32_t rank, uint32_t phase)
{
    if (failures++ < 10) printf("# %u nodes, phase %u, node %u: %s\n", size, phase, rank, what);
}

static void report(const char *name)
{
    printf("%sok %u - %s\n", failures ? "not " : "", ++tests, name);
    fflush(stdout);
}

static const gasnete_barrier_value_t anonymous = {GASNETE_BARRIER_NONE, 0};
static const gasnete_barrier_value_t mismatch = {GASNETE_BARRIER_MISMATCH, 0};

static gasnete_barrier_value_t named(int32_t id)
{
    return (gasnete_barrier_value_t){GASNETE_BARRIER_NAMED, id};
}

/* The id of a phase: now and then extreme. */
static int32_t id_of(uint32_t phase)
{
    static const int32_t special[] = {0, -1, INT32_MIN, INT32_MAX};
    uint64_t r = fixed(phase, 1);
    return r % 4 == 0 ? special[r / 4 % 4] : (int32_t)(r >> 32);
}

static uint32_t chosen(uint32_t phase)
{
    return (uint32_t)(fixed(phase, 2) % size);
}

/* The value that node `rank` notifies with. */
static gasnete_barrier_value_t notified(uint32_t phase, uint32_t rank)
{
    gasnete_barrier_value_t some = fixed(phase, 16 + rank) % 2 ? named(id_of(phase)) : anonymous;
    switch (fixed(phase, 0) % 8) {
    case 0:
        return anonymous;
    case 1:
        return named(id_of(phase));
    case 2:
        return rank == chosen(phase) ? named(id_of(phase)) : anonymous;
    case 3:
        return rank == chosen(phase) ? anonymous : named(id_of(phase));
    case 4:
        return some;
    case 5:
        return rank == chosen(phase) ? mismatch : some;
    case 6: /* two names on one pair of nodes, all others anonymous */
        if (rank == chosen(phase)) return named(id_of(phase));
        return rank == (chosen(phase) + 1 + fixed(phase, 3) % (size > 1 ? size - 1 : 1)) % size
                   ? named((int32_t)((uint32_t)id_of(phase) + 1))
                   : anonymous;
    default:
        return rank == chosen(phase) ? named((int32_t) ~(uint32_t)id_of(phase)) : some;
    }
}

/* The value that node `rank` waits with: mostly that of its notify, sometimes anonymous, the common
 * name or a wrong one.
 */
static gasnete_barrier_value_t waited(uint32_t phase, uint32_t rank)
{
    switch (fixed(phase, 4096 + rank) % 8) {
    case 0:
        return anonymous;
    case 1:
        return named(id_of(phase));
    case 2:
        return named((int32_t)((uint32_t)id_of(phase) + 7));
    default:
        return notified(phase, rank);
    }
}

/* The rules, by counting over all nodes. */
struct outcome {
    bool mismatch, any;
    int32_t id;
};

static struct outcome outcome(uint32_t phase)
{
    struct outcome all = {false, false, 0};
    for (uint32_t rank = 0; rank < size; rank++) {
        gasnete_barrier_value_t mine = notified(phase, rank);
        if (mine.kind == GASNETE_BARRIER_MISMATCH) all.mismatch = true;
        if (mine.kind != GASNETE_BARRIER_NAMED) continue;
        if (all.any && all.id != mine.id) all.mismatch = true;
        all.any = true;
        all.id = mine.id;
    }
    return all;
}

static void check_leave(uint32_t rank, uint32_t phase, bool matched)
{
    struct outcome all = outcome(phase);
    gasnete_barrier_value_t expected = waited(phase, rank), got = nodes[rank].state.value;
    bool right = !all.mismatch && expected.kind != GASNETE_BARRIER_MISMATCH &&
                 !(all.any && expected.kind == GASNETE_BARRIER_NAMED && expected.id != all.id);
    if (matched != right) fail(right ? "mismatch for no reason" : "missed a mismatch", rank, phase);
    if (all.mismatch) return;
    if (all.any ? got.kind != GASNETE_BARRIER_NAMED || got.id != all.id
                : got.kind != GASNETE_BARRIER_NONE)
        fail("wrong result", rank, phase);
}

/* --- either of the state machines --- */

static bool node_enter(struct node *node, gasnete_barrier_value_t mine)
{
    if (by_kin) gasnete_kin_barrier_enter(&node->kin, mine);
    return gasnete_barrier_enter(&node->state, mine);
}

static bool node_receive(struct node *node, const gasnete_barrier_message_t *message)
{
    return by_kin ? gasnete_kin_barrier_receive(&node->kin, message)
                  : gasnete_barrier_receive(&node->state, message);
}

static bool node_next(struct node *node, gasnete_barrier_message_t *message)
{
    if (!by_kin) return gasnete_barrier_next(&node->state, message);
    if (gasnete_kin_barrier_next(&node->kin, message)) return true;
    if (gasnete_kin_barrier_leave(&node->kin)) {
        node->state.value = node->kin.value;
        node->state.complete = true;
    }
    return false;
}

/* Between supernodes only leaders have messages. */
static bool may_send(uint32_t from, uint32_t to)
{
    if (to >= size || to == from) return false;
    return !by_kin || of[from] == of[to] ||
           (by_supernode[first[of[from]]] == from && by_supernode[first[of[to]]] == to);
}

/* Sends what node `rank` has to send. */
static void pump(uint32_t rank)
{
    gasnete_barrier_message_t message;
    while (node_next(&nodes[rank], &message)) {
        if (in_flight == MAX_FLIGHT || !may_send(rank, message.to)) {
            fail("sends a message it must not", rank, nodes[rank].phase);
            return;
        }
        struct flight *f = &flight[in_flight++];
        f->to = message.to;
        f->late = below(16) == 0;
        gasnete_barrier_pack(&message, f->words);
    }
}

static void deliver(uint32_t i)
{
    struct flight f = flight[i];
    flight[i] = flight[--in_flight];
    gasnete_barrier_message_t message;
    struct node *node = &nodes[f.to];
    if (!gasnete_barrier_unpack(f.words, &message) || !node_receive(node, &message))
        fail("refuses a good message", f.to, node->phase);
    if (below(2)) pump(f.to); /* otherwise the node does it when it acts next */
}

/* One deed of a node: enters, leaves or only makes progress.  true if it entered or left. */
static bool act(uint32_t rank)
{
    struct node *node = &nodes[rank];
    if (!node->inside) {
        if (node->phase == phases) return false;
        node->inside = node_enter(node, notified(node->phase, rank));
        if (!node->inside) fail("cannot enter", rank, node->phase);
        if (below(2)) pump(rank);
        return true;
    }
    pump(rank);
    if (!node->state.complete) return false;
    for (uint32_t other = 0; other < size; other++)
        if (nodes[other].phase + nodes[other].inside <= node->phase)
            fail("leaves before all have entered", rank, node->phase);
    check_leave(rank, node->phase, gasnete_barrier_leave(&node->state, waited(node->phase, rank)));
    node->inside = false;
    node->phase++;
    return true;
}

/* When luck does nothing for long: everything that can happen, the late messages last. */
static bool force(void)
{
    bool any = false;
    for (uint32_t rank = 0; rank < size; rank++) any |= act(rank);
    for (uint32_t i = in_flight; i-- > 0;)
        if (i < in_flight && !flight[i].late) {
            deliver(i);
            any = true;
        }
    if (any) return true;
    for (uint32_t i = 0; i < in_flight; i++) {
        flight[i].late = false;
        any = true;
    }
    return any;
}

/* Any, numbered in the order of their first ranks. */
static void make_supernodes(uint32_t count)
{
    uint32_t placed = 0;
    for (uint32_t rank = 0; rank < size; rank++) of[rank] = rank < count ? rank : below(count);
    for (uint32_t s = 0; s < count; s++) {
        first[s] = placed;
        for (uint32_t rank = 0; rank < size; rank++)
            if (of[rank] == s) {
                place_of[rank] = placed;
                by_supernode[placed++] = rank;
            }
    }
    first[count] = size;
    supernodes = (gasnete_coll_supernodes_t){
        .count = count, .first = first, .ranks = by_supernode, .place = place_of, .of = of};
}

/* `supernode_count`: 0 for none. */
static void simulate(uint32_t count, uint32_t supernode_count, uint32_t how_many)
{
    size = count;
    phases = how_many;
    in_flight = 0;
    failures = 0;
    by_kin = supernode_count > 0;
    if (by_kin) make_supernodes(supernode_count);
    for (uint32_t rank = 0; rank < size; rank++) {
        nodes[rank] = (struct node){.phase = 0};
        gasnete_barrier_init(&nodes[rank].state, rank, size);
        if (by_kin) gasnete_kin_barrier_init(&nodes[rank].kin, rank, size, &supernodes);
    }
    for (uint32_t idle = 0; failures == 0;) {
        uint32_t pick = in_flight ? below(in_flight) : 0;
        idle++;
        if (in_flight && below(2) && !flight[pick].late) {
            deliver(pick);
            idle = 0;
        } else if (act(below(size))) {
            idle = 0;
        }
        if (idle > 4 * size && !force()) break;
    }
    for (uint32_t rank = 0; rank < size; rank++)
        if (nodes[rank].phase != phases) fail("is stuck", rank, nodes[rank].phase);
    if (in_flight) fail("left a message behind", flight[0].to, phases);
    char name[100];
    snprintf(name, sizeof name, "B70-B74 %u nodes, %u supernodes, %u phases in random order", size,
             supernode_count, phases);
    report(name);
}

static void check(bool cond, const char *what)
{
    if (!cond) fail(what, 0, 0);
}

/* Of a supernode of two, in which rank 0 leads, and one of one. */
static void refusals_of_kin(void)
{
    gasnete_kin_barrier_t leader, child;
    gasnete_barrier_message_t up = {0, 1, GASNETE_BARRIER_UP, anonymous}, step = up, down = up;
    step.step = 0;
    down.step = GASNETE_BARRIER_DOWN;
    size = 3;
    failures = 0;
    do make_supernodes(2);
    while (of[2] != 0);
    gasnete_kin_barrier_init(&leader, 0, size, &supernodes);
    gasnete_kin_barrier_init(&child, 2, size, &supernodes);
    check(gasnete_kin_barrier_receive(&leader, &up), "a child's message before notify is good");
    check(!gasnete_kin_barrier_receive(&leader, &up), "more messages than children");
    check(gasnete_kin_barrier_receive(&leader, &step), "a leader's message before notify is good");
    check(!gasnete_kin_barrier_receive(&leader, &step), "the same message of a leader twice");
    check(!gasnete_kin_barrier_receive(&leader, &down), "a leader has no parent");
    check(gasnete_kin_barrier_receive(&child, &down), "a parent's message is good");
    check(!gasnete_kin_barrier_receive(&child, &down), "a parent's message twice");
    check(!gasnete_kin_barrier_receive(&child, &step), "a leader's message to none");
    check(!gasnete_kin_barrier_receive(&child, &up), "a child's message to a node without any");
    report("what no correct node of a supernode sends is refused");
}

static void refusals(void)
{
    gasnete_barrier_state_t state;
    gasnete_barrier_message_t message = {0, 1, 0, anonymous};
    size = 4;
    failures = 0;
    gasnete_barrier_init(&state, 0, size);
    check(gasnete_barrier_receive(&state, &message), "a message before notify is good");
    check(!gasnete_barrier_receive(&state, &message), "the same message twice");
    message.step = 2;
    check(!gasnete_barrier_receive(&state, &message), "a step that does not exist");
    message.step = 1;
    check(gasnete_barrier_receive(&state, &message), "a later step first is good");
    check(gasnete_barrier_enter(&state, named(3)), "notify is good");
    check(!gasnete_barrier_enter(&state, named(3)), "a second notify");
    static const int32_t bad[][2] = {{3 << 16, 0}, {2 << 8, 0}, {32, 0}, {-1, -1}};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check(!gasnete_barrier_unpack(bad[i], &message), "words that are no message");
    for (int i = 0; i < 100000; i++) {
        int32_t words[2] = {(int32_t)mix(random_state++), (int32_t)mix(random_state++)}, back[2];
        if (i % 2) words[0] &= 0x3011f;
        if (!gasnete_barrier_unpack(words, &message)) continue;
        gasnete_barrier_pack(&message, back);
        check(memcmp(words, back, sizeof back) == 0, "pack undoes unpack");
        gasnete_barrier_receive(&state, &message);
    }
    report("what no correct peer sends is refused");
}

int main(int argc, char **argv)
{
    uint32_t bad = 0;
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    random_state = mix(seed);
    printf("# seed %llu\n", (unsigned long long)seed);
    for (uint32_t count = 1; count <= 9; count++) {
        simulate(count, 0, MAX_PHASES);
        bad += failures;
        simulate(count, 1 + below(count), MAX_PHASES);
        bad += failures;
    }
    simulate(64, 0, 100);
    bad += failures;
    simulate(64, 9, 100);
    bad += failures;
    simulate(MAX_NODES, 0, 5);
    bad += failures;
    simulate(MAX_NODES, 60, 5);
    bad += failures;
    refusals();
    bad += failures;
    refusals_of_kin();
    bad += failures;
    printf("1..%u\n", tests);
    return bad ? 1 : 0;
}
