/* coll.c - the plans of collectives on 16 to 10,000 nodes: how many steps and bytes each takes,
 * beside the formula of the best algorithm known for the case.
 *
 * In the figures a step is the time of one message: a node sends one at a time, and receives one at
 * a time, as the formulas have it.  Bytes are those that the busiest node sends or receives.
 * Messages carry no data (tests/unit/coll_plan.c compares it) but those of REDUCE_ALL, and each
 * must meet its RECV.  What takes a message between each pair of nodes is carried out on few nodes,
 * and counted for many.  Another scene has random delays, images and stalls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extended-ref/coll/plans/plan_choose.h"
#include "tests/sim/sim.h"

enum { CARRIED_OUT = 256 }; /* most nodes of pairwise algorithms */

/* A message that came before its RECV, or a RECV that waits for its message. */
typedef struct waiting {
    uint32_t peer, tag;
    size_t nbytes;
    void *data; /* NULL, or of a message: a copy; of a RECV: where it goes */
    struct waiting *next;
} waiting_t;

typedef struct node {
    uint32_t round, action, awaited;
    bool ended;
    uint64_t sends_until, receives_until;
    size_t sent, received;
    waiting_t *early, *posted;
    char *memory[3]; /* by buffer; NULL: no data */
} node_t;

static gasnete_coll_plan_t plan; /* plan.rank is the node that acts */
static uint32_t images[SIM_NODES + 1];
static node_t nodes[SIM_NODES];
static bool timed; /* one message at a time, of one step; otherwise delayed at random */
static sim_link_t link;

static const char *const kinds[] = {"barrier",    "broadcast", "scatter", "gather",
                                    "gather_all", "exchange",  "reduce",  "reduce_all"};
static const char *const algorithms[] = {"flat", "tree", "pieces", "dissemination", "pairwise"};

/* --- the data of REDUCE_ALL --- */

/* In order, the function x -> scale * x + offset, and its composition; otherwise sums.  `tree`
 * tells in which order the elements were combined, and of what. */
typedef struct element {
    uint64_t scale, offset, tree;
} element_t;
static size_t scratch; /* bytes of TMP */

static element_t element_combined(element_t left, element_t right)
{
    const element_t sum = {left.scale + right.scale, left.offset + right.offset, 0};
    element_t all = plan.in_order ? (element_t){left.scale * right.scale,
                                                left.scale * right.offset + left.offset, 0}
                                  : sum;
    all.tree = (left.tree * 0x9e3779b97f4a7c15 ^ (right.tree >> 29 | right.tree << 35)) *
               0xd1342543de82ef95;
    return all;
}

static void *data_at(uint32_t rank, gasnete_coll_address_t at, size_t nbytes)
{
    char *memory = nodes[rank].memory[at.buffer];
    const size_t size = at.buffer == GASNETE_COLL_TMP ? scratch : plan.nbytes;
    if (!memory) return NULL;
    sim_check(at.offset <= size && nbytes <= size - at.offset, rank,
              "uses %zu bytes at %zu of buffer %d, which has %zu", nbytes, at.offset,
              (int)at.buffer, size);
    return memory + at.offset;
}

static void act_on_data(uint32_t rank, const gasnete_coll_action_t *a)
{
    if (a->verb != GASNETE_COLL_COPY && a->verb != GASNETE_COLL_COMBINE) return;
    element_t *to = data_at(rank, a->to, a->nbytes);
    const element_t *from = data_at(rank, a->from, a->nbytes);
    if (a->verb == GASNETE_COLL_COPY) {
        memmove(to, from, a->nbytes);
        return;
    }
    const element_t *with = data_at(rank, a->with, a->nbytes);
    sim_check(a->nbytes % sizeof *to == 0, rank, "combines %zu bytes", a->nbytes);
    for (size_t i = 0; i < a->nbytes / sizeof *to; i++) to[i] = element_combined(from[i], with[i]);
}

/* --- nodes --- */

static void advance(uint32_t rank);

static waiting_t *take(waiting_t **list, uint32_t peer, uint32_t tag)
{
    for (; *list; list = &(*list)->next)
        if ((*list)->peer == peer && (*list)->tag == tag) {
            waiting_t *found = *list;
            *list = found->next;
            return found;
        }
    return NULL;
}

static void add(waiting_t **list, uint32_t peer, uint32_t tag, size_t nbytes, void *data)
{
    waiting_t *w = sim_alloc(sizeof *w);
    *w = (waiting_t){peer, tag, nbytes, data, *list};
    *list = w;
}

static void received(const sim_message_t *m)
{
    node_t *n = &nodes[m->to];
    const size_t nbytes = m->word[0];
    sim_concerns(m->from);
    sim_note(m->to, "has message %u of %u, %zu bytes", m->number, m->from, nbytes);
    n->received += nbytes;
    waiting_t *w = take(&n->posted, m->from, m->number);
    if (!w) {
        add(&n->early, m->from, m->number, nbytes, m->data);
        return;
    }
    sim_check(w->nbytes == nbytes, m->to, "expects %zu bytes of %u, not %zu", w->nbytes, m->from,
              nbytes);
    if (w->data) memcpy(w->data, m->data, nbytes);
    n->awaited--;
    advance(m->to);
}

static void arrives(const sim_message_t *m)
{
    node_t *n = &nodes[m->to];
    if (!timed || sim_now() > n->receives_until) {
        n->receives_until = sim_now();
        received(m);
    } else
        sim_after(++n->receives_until - sim_now(), received, m);
}

static void wake(const sim_message_t *m)
{
    advance(m->to);
}

static void begin_send(uint32_t rank, const gasnete_coll_action_t *a)
{
    node_t *n = &nodes[rank];
    sim_message_t m = {.from = rank, .to = a->peer, .number = a->tag, .word = {a->nbytes}};
    const void *from = data_at(rank, a->from, a->nbytes);
    sim_check(a->peer < plan.size && a->peer != rank, rank, "sends to %u", a->peer);
    if (from) m.data = memcpy(sim_alloc(a->nbytes), from, a->nbytes);
    n->sent += a->nbytes;
    if (!timed) {
        sim_send(&link, arrives, &m);
        return;
    }
    n->sends_until = (n->sends_until > sim_now() ? n->sends_until : sim_now()) + 1;
    sim_after(n->sends_until - sim_now(), arrives, &m);
}

static void begin_receive(uint32_t rank, const gasnete_coll_action_t *a)
{
    node_t *n = &nodes[rank];
    void *to = data_at(rank, a->to, a->nbytes);
    waiting_t *w = take(&n->early, a->peer, a->tag);
    sim_check(!w || w->nbytes == a->nbytes, rank, "message %u of %u has %zu bytes, not %zu", a->tag,
              a->peer, w->nbytes, a->nbytes);
    if (w && to) memcpy(to, w->data, a->nbytes);
    if (w) return;
    add(&n->posted, a->peer, a->tag, a->nbytes, to);
    n->awaited++;
}

/* The node does what it can. */
static void advance(uint32_t rank)
{
    node_t *n = &nodes[rank];
    gasnete_coll_action_t a;
    plan.rank = rank;
    while (!n->ended) {
        if (!gasnete_coll_plan_action(&plan, n->round, n->action, &a)) {
            if (n->awaited) return;
            n->action = 0;
            n->ended = ++n->round >= gasnete_coll_plan_rounds(&plan);
            continue;
        }
        if (a.verb == GASNETE_COLL_DRAIN && n->sends_until > sim_now()) {
            sim_after(n->sends_until - sim_now(), wake, &(sim_message_t){.to = rank});
            return;
        }
        n->action++;
        if (a.verb == GASNETE_COLL_SEND) begin_send(rank, &a);
        if (a.verb == GASNETE_COLL_RECV) begin_receive(rank, &a);
        if (n->memory[GASNETE_COLL_SRC]) act_on_data(rank, &a);
    }
}

static void begins(const sim_message_t *m)
{
    node_t *n = &nodes[m->to];
    plan.rank = m->to;
    n->ended = gasnete_coll_plan_rounds(&plan) == 0;
    advance(m->to);
}

/* All nodes carry out the plan, which begins on each at most `late` after the first. */
static void carry_out(uint32_t late)
{
    for (uint32_t i = 0; i < plan.size; i++) {
        char *const *const kept = nodes[i].memory;
        nodes[i] = (node_t){.memory = {kept[0], kept[1], kept[2]}};
        sim_after(late ? sim_below(late) : 0, begins, &(sim_message_t){.to = i});
    }
    sim_run();
    for (uint32_t i = 0; i < plan.size; i++)
        sim_check(nodes[i].ended && !nodes[i].early && !nodes[i].posted, i,
                  "has not ended, or has a message too many");
}

/* --- figures --- */

typedef struct figures {
    const char *name;
    double steps, bytes;
} figures_t;

static double rounds_of(uint32_t n)
{
    double rounds = 0;
    while ((1u << (unsigned)rounds) < n) rounds++;
    return rounds;
}

/* Steps and bytes of the best algorithm known.  The limits are those at which implementations of
 * MPI change from the one to the other. */
static figures_t best(void)
{
    const double n = plan.size, bytes = (double)plan.nbytes, rounds = rounds_of(plan.size);
    const bool power_of_two = (plan.size & (plan.size - 1)) == 0;
    switch (plan.kind) {
    case GASNETE_COLL_BARRIER:
        return (figures_t){"dissemination", rounds, 0};
    case GASNETE_COLL_BROADCAST:
    case GASNETE_COLL_REDUCE:
        if (plan.nbytes <= 12 << 10) return (figures_t){"binomial", rounds, rounds * bytes};
        if (plan.kind == GASNETE_COLL_BROADCAST && !power_of_two)
            return (figures_t){"scatter, ring", rounds + n - 1, 2 * (n - 1) / n * bytes};
        return (figures_t){plan.kind == GASNETE_COLL_REDUCE ? "halving, gather"
                                                            : "scatter, doubling",
                           2 * rounds, 2 * (n - 1) / n * bytes};
    case GASNETE_COLL_REDUCE_ALL: {
        /* Ranks beyond a power of two take two steps more. */
        const double doubling = power_of_two ? rounds : rounds - 1 + 2;
        if (plan.nbytes <= (plan.size == 2 ? 64 : plan.size <= 8 ? 4 : 8) << 10 || plan.size == 1)
            return (figures_t){"doubling", doubling, (doubling - !power_of_two) * bytes};
        if (plan.size <= 8) return (figures_t){"ring", 2 * (n - 1), 2 * (n - 1) / n * bytes};
        if (plan.in_order) return (figures_t){"doubling", doubling, doubling * bytes};
        return (figures_t){"halving, doubling", 2 * rounds, 2 * (n - 1) / n * bytes};
    }
    case GASNETE_COLL_GATHER_ALL:
        if (n * bytes <= (power_of_two ? 512 << 10 : 80 << 10))
            return (figures_t){power_of_two ? "doubling" : "Bruck", rounds, (n - 1) * bytes};
        return (figures_t){"ring", n - 1, (n - 1) * bytes};
    case GASNETE_COLL_EXCHANGE:
        if (plan.nbytes <= 256) return (figures_t){"Bruck", rounds, n / 2 * rounds * bytes};
        return (figures_t){"pairwise", n - 1, (n - 1) * bytes};
    default:
        if (plan.nbytes <= 2 << 10) return (figures_t){"binomial", rounds, (n - 1) * bytes};
        return (figures_t){"linear", n - 1, (n - 1) * bytes};
    }
}

/* Counts the messages of one of many equal nodes. */
static figures_t count(uint32_t rank)
{
    figures_t f = {0};
    gasnete_coll_action_t a;
    double received_messages = 0, received_bytes = 0;
    plan.rank = rank;
    for (uint32_t round = 0; round < gasnete_coll_plan_rounds(&plan); round++)
        for (uint32_t i = 0; gasnete_coll_plan_action(&plan, round, i, &a); i++) {
            if (a.verb == GASNETE_COLL_SEND) {
                f.steps++;
                f.bytes += (double)a.nbytes;
            } else if (a.verb == GASNETE_COLL_RECV) {
                received_messages++;
                received_bytes += (double)a.nbytes;
            }
        }
    sim_check(f.steps == received_messages && f.bytes == received_bytes, rank,
              "sends %.0f bytes and receives %.0f", f.bytes, received_bytes);
    return f;
}

static figures_t measure(void)
{
    if (plan.algorithm == GASNETE_COLL_PAIRWISE && plan.size > CARRIED_OUT)
        return count(plan.size / 3);
    figures_t f = {.steps = 0};
    carry_out(0);
    f.steps = (double)sim_now();
    for (uint32_t i = 0; i < plan.size; i++) {
        if ((double)nodes[i].sent > f.bytes) f.bytes = (double)nodes[i].sent;
        if ((double)nodes[i].received > f.bytes) f.bytes = (double)nodes[i].received;
    }
    return f;
}

/* Fails if the figures are more than 1.1 of the formula's; pieces are of whole units. */
static void compare(figures_t found, figures_t formula)
{
    const double rounding =
        plan.nbytes % (plan.size * plan.unit) ? formula.steps * (double)plan.unit : 0;
    sim_check(found.steps <= 1.1 * formula.steps, 0,
              "%u nodes, %zu bytes by %s: %.0f steps, the formula has %.0f", plan.size, plan.nbytes,
              algorithms[plan.algorithm], found.steps, formula.steps);
    sim_check(found.bytes <= 1.1 * formula.bytes + rounding, 0,
              "%u nodes, %zu bytes by %s: %.0f bytes, the formula has %.0f", plan.size, plan.nbytes,
              algorithms[plan.algorithm], found.bytes, formula.bytes);
}

static void figures_of(enum gasnete_coll_kind kind, uint32_t size, size_t nbytes)
{
    static const gasnete_coll_settings_t none;
    plan = (gasnete_coll_plan_t){.kind = kind,
                                 .size = sim_nodes(size),
                                 .root = kind == GASNETE_COLL_REDUCE_ALL ? 0 : size / 3,
                                 .nbytes = nbytes,
                                 .unit = 8};
    gasnete_coll_choose(&plan, &none);
    for (uint32_t i = 0; i < size; i++) nodes[i] = (node_t){0};
    timed = true;
    const figures_t found = measure(), formula = best();
    printf("# %-10s %6u nodes %6zu bytes  %-13s %5.0f steps %10.0f bytes; %s: %.0f, %.0f\n",
           kinds[kind], size, nbytes, algorithms[plan.algorithm], found.steps, found.bytes,
           formula.name, formula.steps, formula.bytes);
    compare(found, formula);
}

/* Once in a run: nothing is random. */
static void figures(void)
{
    static const uint32_t sizes[] = {16, 100, 1000, 10000};
    static const size_t bytes[] = {8, 1 << 10, 64 << 10};
    static bool printed;
    if (printed) return;
    for (uint32_t kind = GASNETE_COLL_BARRIER; kind < GASNETE_COLL_KINDS; kind++)
        for (uint32_t s = 0; s < 4; s++)
            for (uint32_t b = 0; b < (kind == GASNETE_COLL_BARRIER ? 1 : 3); b++)
                figures_of(kind, sizes[s], bytes[b]);
    printed = true;
}

/* --- anything --- */

static void anything(void)
{
    const uint32_t size = sim_nodes(1 + sim_below(sim_chance(5) ? 1000 : 60));
    memset(nodes, 0, size * sizeof *nodes);
    plan = (gasnete_coll_plan_t){.kind = sim_below(GASNETE_COLL_KINDS),
                                 .size = size,
                                 .root = sim_below(size),
                                 .radix = 2 + sim_below(8),
                                 .nbytes = 1 + sim_below(sim_chance(50) ? 50 : 100000),
                                 .unit = 1,
                                 .in_order = sim_chance(50),
                                 .first = sim_chance(50) ? images : NULL};
    for (uint32_t i = 0; i < size; i++) images[i + 1] = images[i] + 1 + sim_below(4);
    if (plan.kind == GASNETE_COLL_REDUCE_ALL) {
        plan.root = 0;
        plan.first = NULL;
    }
    plan.segment = sim_chance(50) ? 0 : 1 + plan.nbytes / (1 + sim_below(10));
    do plan.algorithm = (uint8_t)sim_below(GASNETE_COLL_ALGORITHMS);
    while (!gasnete_coll_plan_possible(&plan, plan.algorithm) ||
           (plan.kind >= GASNETE_COLL_REDUCE && plan.algorithm == GASNETE_COLL_PAIRWISE &&
            size > CARRIED_OUT));
    timed = false;
    link = (sim_link_t){.least = 1 + sim_below(100), .late = (uint8_t)sim_below(10)};
    link.most = link.least + sim_below(1000);
    link.most_late = link.most + sim_below(10000);
    for (uint32_t stalls = sim_below(4); stalls; stalls--)
        sim_stall(sim_below(size), sim_below(20000));
    carry_out(sim_below(2) * 5000 + 1);
}

/* --- REDUCE_ALL: the result, equal bits on all nodes, steps and bytes --- */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

static void give_data(uint64_t seed)
{
    scratch = 0;
    for (plan.rank = 0; plan.rank < plan.size; plan.rank++) {
        const size_t needs = gasnete_coll_plan_scratch(&plan);
        if (needs > scratch) scratch = needs;
    }
    for (uint32_t rank = 0; rank < plan.size; rank++) {
        char **memory = nodes[rank].memory;
        element_t *own = sim_alloc(plan.nbytes);
        for (size_t i = 0; i < plan.nbytes / sizeof *own; i++)
            for (int word = 0; word < 3; word++)
                (&own[i].scale)[word] = mixed(mixed(mixed(seed + rank) + i) + (uint64_t)word);
        memory[GASNETE_COLL_SRC] = (char *)own;
        memory[GASNETE_COLL_DST] = plan.in_place ? (char *)own : sim_alloc(plan.nbytes);
        memory[GASNETE_COLL_TMP] = sim_alloc(scratch + 16);
    }
}

static void check_data(element_t *expects)
{
    const element_t *first = data_at(0, (gasnete_coll_address_t){GASNETE_COLL_DST, 0}, plan.nbytes);
    for (size_t i = 0; i < plan.nbytes / sizeof *first; i++)
        sim_check(first[i].scale == expects[i].scale && first[i].offset == expects[i].offset, 0,
                  "%u nodes by %s: element %zu is wrong", plan.size, algorithms[plan.algorithm], i);
    for (uint32_t rank = 1; rank < plan.size; rank++)
        sim_check(memcmp(first, nodes[rank].memory[GASNETE_COLL_DST], plan.nbytes) == 0, rank,
                  "%u nodes by %s: has another result than node 0", plan.size,
                  algorithms[plan.algorithm]);
    for (uint32_t rank = 0; rank < plan.size; rank++) nodes[rank] = (node_t){0};
}

static element_t *expected(void)
{
    element_t *all = sim_alloc(plan.nbytes);
    memcpy(all, nodes[0].memory[GASNETE_COLL_SRC], plan.nbytes);
    for (uint32_t rank = 1; rank < plan.size; rank++)
        for (size_t i = 0; i < plan.nbytes / sizeof *all; i++)
            all[i] = element_combined(
                all[i], ((element_t *)(void *)nodes[rank].memory[GASNETE_COLL_SRC])[i]);
    return all;
}

/* Supernodes of 1 to 9 members: ranges, or of any ranks. */
static gasnete_topology_t *any_topology(uint32_t size)
{
    static uint32_t supernode[SIM_NODES];
    const bool ranges = sim_chance(50);
    gasnete_topology_t *topology = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; count++)
        for (uint32_t members = 1 + sim_below(9); members && i < size; members--)
            supernode[i++] = count;
    for (uint32_t i = 0; i < size && !ranges; i++) {
        const uint32_t other = sim_below(size), swapped = supernode[i];
        supernode[i] = supernode[other];
        supernode[other] = swapped;
    }
    if (!gasnete_topology_new(&topology, supernode, count, NULL, size)) abort();
    return topology;
}

/* The table's choice, or any. */
static void reduce_all_of(uint32_t size)
{
    const gasnete_coll_settings_t settings = {
        .segment = sim_chance(50) ? 0 : 1 + sim_below(1000),
        .tree[GASNETE_COLL_REDUCE_ALL] =
            sim_chance(50) ? (uint8_t)(1 + sim_below(GASNETE_COLL_ALGORITHMS)) : 0};
    gasnete_topology_t *topology = sim_chance(50) ? any_topology(size) : NULL;
    const size_t count = 1 + sim_below(sim_chance(50) || size > 1000 ? 8 : size > 70 ? 500 : 2000);
    plan = (gasnete_coll_plan_t){.kind = GASNETE_COLL_REDUCE_ALL,
                                 .size = sim_nodes(size),
                                 .nbytes = count * sizeof(element_t),
                                 .unit = sizeof(element_t),
                                 .in_order = sim_chance(50),
                                 .in_place = sim_chance(50),
                                 .topology = topology};
    gasnete_coll_choose(&plan, &settings);
    if (plan.algorithm == GASNETE_COLL_PAIRWISE && size > CARRIED_OUT)
        plan.algorithm = GASNETE_COLL_DISSEMINATION;
    give_data(mixed(sim_below(UINT32_MAX)));
    element_t *const expects = expected();
    const bool by_table = settings.tree[GASNETE_COLL_REDUCE_ALL] == 0;
    timed = true;
    const figures_t found = measure();
    check_data(expects);
    if (!plan.topology && by_table) compare(found, best());
    free(topology);
}

static void reduce_all(void)
{
    for (uint32_t size = 1; size <= 70; size++) reduce_all_of(size);
    reduce_all_of(71 + sim_below(sim_chance(90) ? 500 : 9930));
}

int main(int argc, char **argv)
{
    static const sim_scene_t scenes[] = {
        {"steps and bytes at 16 to 10,000 nodes: at most 1.1 of the best known", figures, 1},
        {"every SEND meets its RECV, whatever the delays and stalls", anything, 2000},
        {"REDUCE_ALL of 1 to 70 nodes and of up to 10,000: right, and the same bits everywhere",
         reduce_all, 30},
    };
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
