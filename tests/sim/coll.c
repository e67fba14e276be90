/* coll.c - the plans of collectives on 16 to 10,000 nodes: how many steps and bytes each takes,
 * beside the formula of the best algorithm known for the case.
 *
 * In the figures a step is the time of one message: a node sends one at a time, and receives one at
 * a time, as the formulas have it.  Bytes are those that the busiest node sends or receives.
 * Messages carry no data (tests/unit/coll_plan.c compares it), but each must meet its RECV.  What
 * takes a message between each pair of nodes is carried out on few nodes, and counted for many.
 * Another scene has random delays, images and stalls.
 */
#include "extended-ref/coll/plans/plan_choose.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

enum { CARRIED_OUT = 256 }; /* most nodes of pairwise algorithms */

/* A message that came before its RECV, or a RECV that waits for its message. */
typedef struct waiting {
    uint32_t peer, tag;
    size_t nbytes;
    struct waiting *next;
} waiting_t;

typedef struct node {
    uint32_t round, action, awaited;
    bool ended;
    uint64_t sends_until, receives_until;
    size_t sent, received;
    waiting_t *early, *posted;
} node_t;

static gasnete_coll_plan_t plan; /* plan.rank is the node that acts */
static uint32_t images[SIM_NODES + 1];
static node_t nodes[SIM_NODES];
static bool timed; /* one message at a time, of one step; otherwise delayed at random */
static sim_link_t link;

static const char *const kinds[] = {"barrier",    "broadcast", "scatter", "gather",
                                    "gather_all", "exchange",  "reduce"};
static const char *const algorithms[] = {"flat", "tree", "pieces", "dissemination", "pairwise"};

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

static void add(waiting_t **list, uint32_t peer, uint32_t tag, size_t nbytes)
{
    waiting_t *w = sim_alloc(sizeof *w);
    *w = (waiting_t){peer, tag, nbytes, *list};
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
        add(&n->early, m->from, m->number, nbytes);
        return;
    }
    sim_check(w->nbytes == nbytes, m->to, "expects %zu bytes of %u, not %zu", w->nbytes, m->from,
              nbytes);
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
    sim_check(a->peer < plan.size && a->peer != rank, rank, "sends to %u", a->peer);
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
    waiting_t *w = take(&n->early, a->peer, a->tag);
    sim_check(!w || w->nbytes == a->nbytes, rank, "message %u of %u has %zu bytes, not %zu", a->tag,
              a->peer, w->nbytes, a->nbytes);
    if (w) return;
    add(&n->posted, a->peer, a->tag, a->nbytes);
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
        nodes[i] = (node_t){0};
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

static void figures_of(enum gasnete_coll_kind kind, uint32_t size, size_t nbytes)
{
    static const gasnete_coll_settings_t none;
    plan = (gasnete_coll_plan_t){
        .kind = kind, .size = sim_nodes(size), .root = size / 3, .nbytes = nbytes, .unit = 8};
    gasnete_coll_choose(&plan, &none);
    timed = true;
    const figures_t found = measure(), formula = best();
    printf("# %-10s %6u nodes %6zu bytes  %-13s %5.0f steps %10.0f bytes; %s: %.0f, %.0f\n",
           kinds[kind], size, nbytes, algorithms[plan.algorithm], found.steps, found.bytes,
           formula.name, formula.steps, formula.bytes);
    sim_check(found.steps <= 1.1 * formula.steps, 0, "more steps than 1.1 of the formula's");
    sim_check(found.bytes <= 1.1 * formula.bytes, 0, "more bytes than 1.1 of the formula's");
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
    plan = (gasnete_coll_plan_t){.kind = sim_below(GASNETE_COLL_KINDS),
                                 .size = size,
                                 .root = sim_below(size),
                                 .radix = 2 + sim_below(8),
                                 .nbytes = 1 + sim_below(sim_chance(50) ? 50 : 100000),
                                 .unit = 1,
                                 .in_order = sim_chance(50),
                                 .first = sim_chance(50) ? images : NULL};
    for (uint32_t i = 0; i < size; i++) images[i + 1] = images[i] + 1 + sim_below(4);
    plan.segment = sim_chance(50) ? 0 : 1 + plan.nbytes / (1 + sim_below(10));
    do plan.algorithm = (uint8_t)sim_below(GASNETE_COLL_ALGORITHMS);
    while (!gasnete_coll_plan_possible(&plan, plan.algorithm));
    timed = false;
    link = (sim_link_t){.least = 1 + sim_below(100), .late = (uint8_t)sim_below(10)};
    link.most = link.least + sim_below(1000);
    link.most_late = link.most + sim_below(10000);
    for (uint32_t stalls = sim_below(4); stalls; stalls--)
        sim_stall(sim_below(size), sim_below(20000));
    carry_out(sim_below(2) * 5000 + 1);
}

int main(int argc, char **argv)
{
    static const sim_scene_t scenes[] = {
        {"steps and bytes at 16 to 10,000 nodes: at most 1.1 of the best known", figures, 1},
        {"every SEND meets its RECV, whatever the delays and stalls", anything, 2000},
    };
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
