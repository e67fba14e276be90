/* collectives.c - the engine of collectives under random schedules: random operations on
 * overlapping teams, synced in any order, with team barriers, puts, gets and Active Messages among
 * them.
 *
 * Every node is the real engine over the real AM engine (extended.h).  Nodes are late, stall, and
 * lack credits, queue space and buffers.  collops.h says what is looked at.
 */
#include <string.h>

#include "core/am/am.h"
#include "core/params/params.h"
#include "extended-ref/barrier/machine.h"
#include "extended-ref/coll/plans/plan_choose.h"
#include "tests/sim/extended/collops.h"

enum { MOST_NODES = 2000, MOST_ITEMS = 80, MOST_PENDING = 40, MOST_OPEN = 8, H_COUNT = 200 };
enum { ALL, REVERSED, ROWS, COLUMNS, FAMILIES };

/* The list of what all nodes do, in this order: an operation, or a barrier of a team. */
static struct item {
    operation_t *op;
    group_t *group; /* of the barrier */
    uint32_t entered;
} items[MOST_ITEMS];
static uint32_t item_count;
static group_t *groups[FAMILIES][MOST_NODES]; /* by color */
static uint32_t nodes, width, most_pause;
static int families;

/* An operation, or aggregate, that a node has begun and not synced. */
typedef struct pending {
    gasnet_coll_handle_t handle;
    operation_t *op[MOST_OPEN]; /* more than one: an aggregate */
    uint32_t count;
} pending_t;
typedef struct state {
    pending_t pending[MOST_PENDING], open[FAMILIES];
    uint32_t count;
    uint32_t sent, heard; /* messages to the next node, from the previous one */
    char *cell;           /* of the previous node's, here */
} state_t;
static state_t *states;

/* --- teams --- */

static uint32_t color_of(int family, uint32_t node)
{
    return family == ROWS ? node / width : family == COLUMNS ? node % width : 0;
}

static group_t *group_of(int family, uint32_t node)
{
    return groups[family][color_of(family, node)];
}

static void make_groups(void)
{
    for (int f = 0; f < families; f++) {
        memset(groups[f], 0, nodes * sizeof *groups[f]);
        for (uint32_t i = 0; i < nodes; i++) {
            const uint32_t node = f == REVERSED ? nodes - 1 - i : i;
            group_t **group = &groups[f][color_of(f, node)];
            if (!*group) {
                *group = group_new(nodes);
                (*group)->size = 0;
            }
            (*group)->node[(*group)->size++] = node;
        }
    }
}

static void split(int family, uint32_t me)
{
    group_t *group = group_of(family, me);
    const uint32_t rank = group_rank(group, me);
    gasnet_team_handle_t team = gasnet_coll_team_split(
        GASNET_TEAM_ALL, (gasnet_node_t)color_of(family, me), (gasnet_node_t)rank, NULL);
    group->team[rank] = team;
    sim_check(gasnet_coll_team_size(team) == group->size, me, "a team of %u nodes, not %u",
              (unsigned)gasnet_coll_team_size(team), group->size);
    for (uint32_t r = 0; r < group->size; r++)
        sim_check(gasnet_coll_team_rank2node(team, (int)r) == group->node[r], me,
                  "rank %u of a team is not node %u", r, group->node[r]);
}

/* --- between two operations --- */

static void on_count(gasnet_token_t token)
{
    (void)token;
    states[sim_job_me()].heard++;
}

static void put_and_get(uint32_t me)
{
    const uint32_t next = (me + 1) % nodes, n = 1 + sim_below(300);
    char here[300], back[300], *there = states[next].cell;
    for (uint32_t i = 0; i < n; i++) here[i] = (char)sim_below(256);
    sim_job_busy();
    if (sim_chance(50)) {
        gasnet_put((gasnet_node_t)next, there, here, n);
    } else {
        gasnet_put_nbi((gasnet_node_t)next, there, here, n);
        gasnet_wait_syncnbi_puts();
    }
    sim_job_busy();
    gasnet_get(back, (gasnet_node_t)next, there, n);
    sim_check(memcmp(here, back, n) == 0, me, "a put of %u bytes, and a get", n);
}

static void something(uint32_t me)
{
    switch (sim_below(8)) {
    case 0:
        if (nodes > 1) put_and_get(me);
        return;
    case 1:
        states[me].sent++;
        sim_job_busy();
        gasnet_AMRequestShort0((gasnet_node_t)((me + 1) % nodes), H_COUNT);
        return;
    case 2:
        sim_job_busy();
        gasnet_AMPoll();
        return;
    case 3:
        if (most_pause) sim_sleep(sim_below(most_pause));
        return;
    default:
        return;
    }
}

/* --- syncing --- */

static void retired(uint32_t me, pending_t *pending)
{
    for (uint32_t i = 0; i < pending->count; i++)
        operation_synced(pending->op[i], group_rank(pending->op[i]->group, me));
}

/* Removes those whose handles are synced. */
static void retire(uint32_t me, const gasnet_coll_handle_t *handles)
{
    state_t *s = &states[me];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (handles[i] == GASNET_COLL_INVALID_HANDLE)
            retired(me, &s->pending[i]);
        else
            s->pending[kept++] = s->pending[i];
    }
    s->count = kept;
}

/* Some, all or one of them, in any order. */
static void sync_some(uint32_t me)
{
    state_t *s = &states[me];
    gasnet_coll_handle_t handles[MOST_PENDING];
    if (s->count == 0) return;
    for (uint32_t i = 0; i < s->count; i++) handles[i] = s->pending[i].handle;
    gasnet_coll_handle_t *one = &handles[sim_below(s->count)];
    sim_job_busy();
    switch (sim_below(6)) {
    case 0:
        gasnet_coll_wait_sync(*one);
        *one = GASNET_COLL_INVALID_HANDLE;
        break;
    case 1:
        if (gasnet_coll_try_sync(*one) == GASNET_OK) *one = GASNET_COLL_INVALID_HANDLE;
        break;
    case 2:
        gasnet_coll_wait_sync_all(handles, s->count);
        break;
    case 3:
        gasnet_coll_try_sync_all(handles, s->count);
        break;
    case 4:
        gasnet_coll_wait_sync_some(handles, s->count);
        break;
    default:
        gasnet_coll_try_sync_some(handles, s->count);
    }
    retire(me, handles);
}

/* --- a node's script --- */

static void barrier(uint32_t me, struct item *item)
{
    gasnet_team_handle_t team = item->group->team[group_rank(item->group, me)];
    const int id = (int)(item - items);
    while (states[me].count) sync_some(me);
    item->entered++;
    sim_job_busy();
    gasnet_coll_barrier_notify(team, id, 0);
    while (sim_chance(50)) something(me);
    sim_job_busy();
    sim_check(gasnet_coll_barrier_wait(team, id, 0) == GASNET_OK, me, "a barrier mismatches");
    sim_check(item->entered == item->group->size, me, "leaves a barrier that %u of %u have entered",
              item->entered, item->group->size);
}

static void operate(uint32_t me, operation_t *op, int family)
{
    state_t *s = &states[me];
    pending_t *open = &s->open[family];
    const bool blocking = !op->aggregate && op->form != LIST_SINGLE && sim_chance(30);
    while (s->count == MOST_PENDING) sync_some(me);
    open->op[open->count++] = op;
    open->handle = operation_begin(op, group_rank(op->group, me), blocking);
    if (op->aggregate) return;
    if (open->handle == GASNET_COLL_INVALID_HANDLE)
        retired(me, open);
    else
        s->pending[s->count++] = *open;
    open->count = 0;
}

static int family_of(const group_t *group, uint32_t me)
{
    for (int f = 0; f < families; f++)
        if (group_of(f, me) == group) return f;
    return -1;
}

static void node_script(uint32_t me)
{
    sim_extended_attach();
    if (most_pause && sim_chance(10)) sim_sleep(10 * sim_below(most_pause)); /* a late one */
    gasnet_coll_init(NULL, 0, functions, FUNCTIONS, 0);
    groups[ALL][0]->team[me] = GASNET_TEAM_ALL;
    for (int f = 1; f < families; f++) split(f, me);
    for (struct item *item = items; item < items + item_count; item++) {
        const int family = family_of(item->op ? item->op->group : item->group, me);
        if (family < 0) continue;
        if (item->op)
            operate(me, item->op, family);
        else
            barrier(me, item);
        while (sim_chance(40)) something(me);
        while (sim_chance(30)) sync_some(me);
    }
    while (states[me].count) sync_some(me);
    for (int f = 1; f < families; f++)
        gasnet_coll_team_free(group_of(f, me)->team[group_rank(group_of(f, me), me)]);
    sim_job_finish();
}

/* --- schedules --- */

static void any_settings(void)
{
    static const struct gasneti_word_number trees[] = {{GASNETC_TREE_AUTO, 0},
                                                       {GASNETC_TREE_FLAT, 0},
                                                       {GASNETC_TREE_KNOMIAL, 3},
                                                       {GASNETC_TREE_KNOMIAL, 0}};
    gasnetc_params.coll_segment = sim_chance(50) ? 0 : 64 + sim_below(8000);
    gasnetc_params.coll_gather_all_limit = sim_chance(50) ? 0 : 1 + sim_below(5000);
    gasnetc_params.coll_exchange_limit = sim_chance(50) ? 0 : 1 + sim_below(5000);
    gasnetc_params.coll_geometry = trees[sim_below(4)];
}

/* Of all nodes: ranges of them, or any; numbered without gaps. */
static const uint32_t *any_supernodes(uint32_t count, bool ranges)
{
    static uint32_t supernode[MOST_NODES];
    uint32_t number[MOST_NODES] = {0}, last = 0; /* number: 1 + that of a draw */
    const uint32_t each = 1 + sim_below(count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t drawn = ranges ? i / each : sim_below(each);
        if (number[drawn] == 0) number[drawn] = ++last;
        supernode[i] = number[drawn] - 1;
    }
    return supernode;
}

static void begin(uint32_t count, const uint32_t *supernode)
{
    const uint16_t credits = (uint16_t)(1 + sim_below(sim_chance(70) ? 6 : 40));
    sim_job_t job = {.nodes = count,
                     .credits = credits,
                     .slack = (uint16_t)sim_below(credits + 2u),
                     .qps = 1 + sim_below(4),
                     .depth = 1 + sim_below(sim_chance(50) ? 4 : 40),
                     .reply_buffers = credits * (count - 1),
                     .spares = 1 + sim_below(4),
                     .bbufs = 2 + sim_below(4),
                     .inline_max = sim_chance(30) ? 0 : sim_below(600),
                     .ordered = sim_chance(80),
                     .connecting = sim_chance(50) ? 0 : 1 + sim_below(3000),
                     .bounce_limit = sim_below(3000),
                     .packed_limit = sim_below(2000),
                     .supernode = supernode};
    job.link = (sim_link_t){.least = 1 + sim_below(50), .late = (uint8_t)sim_below(20)};
    job.link.most = job.link.least + sim_below(500);
    job.link.most_late = job.link.most + sim_below(5000);
    nodes = count;
    sim_job_begin(&job);
    sim_extended_begin();
    most_pause = sim_chance(30) ? 0 : 1 + sim_below(5000);
    states = memset(sim_alloc(count * sizeof *states), 0, count * sizeof *states);
    for (uint32_t i = 0; i < count; i++) states[i].cell = sim_job_remote(300);
    item_count = 0;
}

static void stall(const sim_message_t *m)
{
    sim_note(m->to, "stalls for %u", m->number);
    sim_stall(m->to, m->number);
}

static void go(void)
{
    for (uint32_t i = 0; i < nodes; i++) {
        sim_job_script(i, node_script);
        if (sim_chance(10))
            sim_after(sim_below(20000), stall,
                      &(sim_message_t){.to = i, .number = 1 + sim_below(20000), .device = 1});
    }
    sim_job_run();
    for (uint32_t i = 0; i < nodes; i++)
        sim_check(states[(i + 1) % nodes].heard == states[i].sent, i,
                  "sends %u messages, %u arrive", states[i].sent, states[(i + 1) % nodes].heard);
    for (uint32_t i = 0; i < item_count; i++)
        if (items[i].op) operation_at_rest(items[i].op);
    sim_count("operations", item_count);
    sim_count("Requests", sim_job_sent.requests);
    sim_count("puts", sim_job_sent.puts);
    sim_count("gets", sim_job_sent.gets);
}

/* Makes the list of operations and barriers. An aggregate ends with an operation that is not in the
 * aggregate, has at most MOST_OPEN, and no barrier in between. */
static void make_items(uint32_t count, size_t most)
{
    for (item_count = 0; item_count < count; item_count++) {
        struct item *item = &items[item_count];
        *item =
            (struct item){.group = group_of((int)sim_below((uint32_t)families), sim_below(nodes))};
        if (sim_chance(10)) continue;
        item->op = operation_any(item->group, sim_below(KINDS), sim_chance(80) ? 2000 : most);
        item->op->aggregate = sim_chance(20);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!items[i].op || !items[i].op->aggregate) continue;
        uint32_t next = i + 1;
        while (next < count && items[next].op && items[next].group != items[i].group) next++;
        items[i].op->aggregate = next < count && items[next].op && next - i < MOST_OPEN;
    }
}

/* Few nodes, many operations. */
static void mixed(void)
{
    const uint32_t count = 2 + sim_below(sim_chance(90) ? 8 : 24);
    begin(count, sim_chance(40) ? NULL : any_supernodes(count, sim_chance(50)));
    width = 1 + sim_below(nodes);
    families = sim_chance(70) ? FAMILIES : 1;
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = 0; b < a; b++) sim_job_introduce(a, b);
    any_settings();
    make_groups();
    make_items(1 + sim_below(sim_chance(80) ? 20 : MOST_ITEMS), 100000);
    go();
}

/* Introduces the nodes that send to each other in an operation of the whole job. */
static void introduce_partners(enum gasnete_coll_kind kind, uint32_t root, size_t nbytes,
                               bool in_order)
{
    static const gasnete_coll_settings_t none;
    for (uint32_t rank = 0; rank < nodes; rank++) {
        gasnete_coll_plan_t plan = {.kind = kind,
                                    .rank = rank,
                                    .size = nodes,
                                    .root = root,
                                    .nbytes = nbytes,
                                    .unit = 8,
                                    .in_order = in_order};
        gasnete_coll_action_t a;
        gasnete_coll_choose(&plan, &none);
        for (uint32_t round = 0; round < gasnete_coll_plan_rounds(&plan); round++)
            for (uint32_t i = 0; gasnete_coll_plan_action(&plan, round, i, &a); i++)
                if (a.verb == GASNETE_COLL_SEND) sim_job_introduce(rank, a.peer);
    }
}

/* Introduces the nodes that send to each other in the job's barrier. */
static void introduce_for_barrier(void)
{
    for (uint32_t rank = 0; rank < nodes; rank++) {
        gasnete_barrier_state_t state;
        gasnete_barrier_init(&state, &(gasnete_barrier_shape_t){.rank = rank, .size = nodes});
        for (uint32_t i = 0; i < state.steps; i++)
            if (state.step[i].to != GASNETE_BARRIER_NOBODY)
                sim_job_introduce(rank, state.step[i].to);
    }
}

/* Many nodes, few operations, which thousands of messages to one node do not belong to. */
static void large(void)
{
    static const enum kind kinds[] = {BROADCAST, REDUCE, SCATTER, GATHER};
    /* Powers of two have partners of their own in some algorithms. */
    begin(sim_chance(30) ? 128u << sim_below(4) : 100 + sim_below(sim_chance(90) ? 400 : 1900),
          NULL);
    width = nodes;
    families = 1;
    gasnetc_params.coll_segment = gasnetc_params.coll_gather_all_limit = 0;
    gasnetc_params.coll_exchange_limit = 0;
    gasnetc_params.coll_geometry.word = GASNETC_TREE_AUTO;
    make_groups();
    for (uint32_t i = 0; i < nodes; i++) sim_job_introduce(i, (i + 1) % nodes);
    introduce_for_barrier();
    introduce_partners(GASNETE_COLL_BARRIER, 0, 0, false);
    for (item_count = 0; item_count < 1 + sim_below(3); item_count++) {
        operation_t *op = operation_any(groups[ALL][0], kinds[sim_below(4)], 40 * nodes);
        items[item_count] = (struct item){op, groups[ALL][0], 0};
        introduce_partners((enum gasnete_coll_kind)(op->kind + 1), op->root, op->nbytes,
                           functions[op->function].flags & GASNET_COLL_NONCOMM);
    }
    go();
}

/* Messages across the network of an operation of few bytes: one to or from each supernode but the
 * root's, or one of each supernode in each step of a dissemination, or to each other. */
static uint32_t messages_across(enum kind kind, uint32_t supernodes)
{
    uint32_t steps = 0;
    while (1u << steps < supernodes) steps++;
    if (kind == EXCHANGE) return supernodes * (supernodes - 1);
    return kind == GATHER_ALL ? supernodes * steps : supernodes - 1;
}

static void across(void)
{
    static const enum kind kinds[] = {BROADCAST, REDUCE, SCATTER, GATHER, GATHER_ALL, EXCHANGE};
    const enum kind kind = kinds[sim_below(6)];
    const bool ranges = sim_chance(50);
    const uint32_t count = 2 + sim_below(kind == EXCHANGE ? 11 : 30);
    const uint32_t *supernode = any_supernodes(count, ranges);
    uint32_t supernodes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (supernode[i] >= supernodes) supernodes = supernode[i] + 1;
    begin(count, supernode);
    width = nodes;
    families = 1;
    gasnetc_params.coll_segment = gasnetc_params.coll_gather_all_limit = 0;
    gasnetc_params.coll_exchange_limit = 0;
    gasnetc_params.coll_geometry.word = GASNETC_TREE_AUTO;
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = 0; b < a; b++) sim_job_introduce(a, b);
    make_groups();
    operation_t *op;
    do op = operation_any(groups[ALL][0], kind, 100);
    while (op->nbytes == 0 ||
           (kind == REDUCE && !ranges && functions[op->function].flags & GASNET_COLL_NONCOMM));
    items[item_count++] = (struct item){op, groups[ALL][0], 0};
    go();
    /* A job in which no two nodes share memory has no supernodes for its collectives. */
    sim_check(supernodes == nodes || sim_job_sent.across == messages_across(kind, supernodes),
              op->root, "%llu messages across the network, of %u supernodes",
              (unsigned long long)sim_job_sent.across, supernodes);
}

int main(int argc, char **argv)
{
    static const sim_scene_t scenes[] = {
        {"random operations on overlapping teams give their results, and end", mixed, 150},
        {"so do few operations on up to 2,000 nodes", large, 1},
        {"an operation has one message across the network for each supernode", across, 150},
    };
    gasnetc_register_client((gasnet_handlerentry_t[]){{H_COUNT, (void (*)(void))on_count}}, 1);
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
