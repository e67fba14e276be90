/* coll_plan.c - the plans of collectives, carried out by the rules of plan.h for 1 to 100 ranks in
 * one process, and compared with what the operations define.
 *
 * Ranks act and messages arrive in random order.  RECVs are posted as early as the plan allows, or
 * at their action; their memory is overwritten then.  What a SEND sends must still be in its memory
 * at the next DRAIN, or at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "extended-ref/coll/plans/plan_choose.h"
#include "tests/unit/check.h"
#include "tests/unit/coll_memory.h"

static const char *const kind_names[] = {"barrier",    "broadcast", "scatter", "gather",
                                         "gather_all", "exchange",  "reduce",  "reduce_all"};
static const char *const algorithm_names[] = {"flat", "tree", "scatter first", "dissemination",
                                              "pairwise"};

/* --- a run: messages and ranks --- */

typedef struct message {
    gasnete_coll_action_t send, recv;
    uint32_t from, tag, round; /* round: of the RECV */
    bool sent, posted, delivered, drained;
    char *data;
} message_t;

typedef struct rank {
    uint32_t round, action;
    uint32_t posted;      /* RECVs of the rounds before are posted */
    uint32_t undelivered; /* messages from it */
    message_t *inbox;     /* messages to it, sent or awaited */
    uint32_t count, room;
} rank_t;

static struct run {
    gasnete_coll_plan_t plan;
    uint32_t first[COLL_MOST_RANKS + 1];
    gasnete_topology_t *topology; /* of the plan, and to be freed */
    uint32_t supernode[COLL_MOST_RANKS], first_by_index[2 * COLL_MOST_RANKS + 2];
    rank_t ranks[COLL_MOST_RANKS];
    bool early;
    bool sound;
} run;

static bool broken(const char *what, uint32_t rank)
{
    const gasnete_coll_plan_t *p = &run.plan;
    run.sound = check_each(
        false,
        "%s: rank %u of %u, root %u, %s by %s, %zu bytes, unit %zu, segment %zu, radix %u%s%s, %u "
        "supernodes",
        what, rank, p->size, p->root, kind_names[p->kind], algorithm_names[p->algorithm], p->nbytes,
        p->unit, p->segment, p->radix, p->first ? ", images" : "", p->in_order ? ", in order" : "",
        p->topology ? p->topology->count : 0);
    return false;
}

static message_t *message(uint32_t from, uint32_t to, uint32_t tag)
{
    rank_t *r = &run.ranks[to];
    for (uint32_t i = 0; i < r->count; i++)
        if (r->inbox[i].from == from && r->inbox[i].tag == tag) return &r->inbox[i];
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 16;
        r->inbox = realloc(r->inbox, r->room * sizeof *r->inbox);
        if (!r->inbox) abort();
    }
    r->inbox[r->count] = (message_t){.from = from, .tag = tag};
    return &r->inbox[r->count++];
}

static bool post(uint32_t rank, uint32_t round, const gasnete_coll_action_t *a)
{
    if (a->peer >= run.plan.size || a->peer == rank) return broken("wrong peer", rank);
    message_t *m = message(a->peer, rank, a->tag);
    if (m->posted || a->tag >> 30) return broken("a tag is received twice", rank);
    void *to = coll_memory_at(rank, a->to, a->nbytes, a->nbytes > 0);
    if (!to) return broken("RECV out of bounds", rank);
    check_fill(to, a->nbytes);
    m->recv = *a;
    m->round = round;
    m->posted = true;
    return true;
}

static bool begin_send(uint32_t rank, const gasnete_coll_action_t *a)
{
    if (a->peer >= run.plan.size || a->peer == rank) return broken("wrong peer", rank);
    message_t *m = message(rank, a->peer, a->tag);
    if (m->sent || a->tag >> 30) return broken("a tag is sent twice", rank);
    const void *from = coll_memory_at(rank, a->from, a->nbytes, false);
    if (!from) return broken("SEND out of bounds", rank);
    m->data = malloc(a->nbytes + 1);
    if (!m->data) abort();
    memcpy(m->data, from, a->nbytes);
    m->send = *a;
    m->sent = true;
    run.ranks[rank].undelivered++;
    return true;
}

/* The SENDs of the rank so far are complete.  */
static bool drained(uint32_t rank)
{
    for (uint32_t to = 0; to < run.plan.size; to++)
        for (uint32_t i = 0; i < run.ranks[to].count; i++) {
            message_t *m = &run.ranks[to].inbox[i];
            if (m->from != rank || !m->sent || m->drained) continue;
            if (memcmp(coll_memory_at(rank, m->send.from, m->send.nbytes, false), m->data,
                       m->send.nbytes))
                return broken("memory of a SEND was overwritten", rank);
            m->drained = true;
        }
    return true;
}

static bool deliver(uint32_t to, message_t *m)
{
    m->delivered = true;
    run.ranks[m->from].undelivered--;
    if (m->send.nbytes != m->recv.nbytes) return broken("SEND and RECV differ", to);
    memcpy(coll_memory_at(to, m->recv.to, m->recv.nbytes, false), m->data, m->send.nbytes);
    return true;
}

/* True if all messages that rounds up to `round` RECV have been delivered. */
static bool in_place(uint32_t rank, uint32_t round)
{
    const rank_t *r = &run.ranks[rank];
    for (uint32_t i = 0; i < r->count; i++)
        if (r->inbox[i].posted && !r->inbox[i].delivered && r->inbox[i].round <= round)
            return false;
    return true;
}

/* --- a rank --- */

static bool action_of(uint32_t rank, uint32_t round, uint32_t i, gasnete_coll_action_t *a)
{
    run.plan.rank = rank;
    return gasnete_coll_plan_action(&run.plan, round, i, a);
}

static uint32_t rounds_of(uint32_t rank)
{
    run.plan.rank = rank;
    return gasnete_coll_plan_rounds(&run.plan);
}

static bool post_early(uint32_t rank)
{
    rank_t *r = &run.ranks[rank];
    const uint32_t rounds = rounds_of(rank), ahead = gasnete_coll_plan_ahead(&run.plan);
    uint32_t end = rounds - r->round > ahead ? r->round + ahead + 1 : rounds;
    if (r->posted < r->round) r->posted = r->round;
    for (; r->posted < end; r->posted++) {
        gasnete_coll_action_t a;
        for (uint32_t i = 0; action_of(rank, r->posted, i, &a); i++)
            if (a.verb == GASNETE_COLL_RECV && !post(rank, r->posted, &a)) return false;
    }
    return true;
}

/* Executes the next action of the rank; false if it must wait, or is at its end. */
static bool step(uint32_t rank)
{
    rank_t *r = &run.ranks[rank];
    gasnete_coll_action_t a;
    if (r->round == rounds_of(rank)) return false;
    if (r->action == 0 && run.early && !post_early(rank)) return false;
    if (!action_of(rank, r->round, r->action, &a)) {
        if (!in_place(rank, r->round)) return false;
        r->round++;
        r->action = 0;
        return true;
    }
    switch (a.verb) {
    case GASNETE_COLL_SEND:
        begin_send(rank, &a);
        break;
    case GASNETE_COLL_RECV:
        if (r->posted <= r->round) post(rank, r->round, &a);
        break;
    case GASNETE_COLL_DRAIN:
        if (r->undelivered) return false;
        drained(rank);
        break;
    default:
        if (!coll_memory_act(rank, &a)) broken("a wrong local action", rank);
    }
    r->action++;
    return true;
}

/* --- all ranks --- */

static bool deliver_one(void)
{
    const uint32_t n = run.plan.size, start = check_below(n), where = check_below(n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t to = (start + i) % n;
        const rank_t *r = &run.ranks[to];
        for (uint32_t j = 0; j < r->count; j++) {
            message_t *m = &r->inbox[(where + j) % r->count];
            if (m->sent && m->posted && !m->delivered) {
                deliver(to, m);
                return true;
            }
        }
    }
    return false;
}

static bool step_one(void)
{
    uint32_t start = check_below(run.plan.size);
    for (uint32_t i = 0; i < run.plan.size && run.sound; i++)
        if (step((start + i) % run.plan.size)) return true;
    return false;
}

static void check_end_of_run(void)
{
    for (uint32_t rank = 0; rank < run.plan.size && run.sound; rank++)
        for (uint32_t i = 0; i < run.ranks[rank].count && run.sound; i++)
            if (!run.ranks[rank].inbox[i].delivered) broken("a SEND or RECV is alone", rank);
    for (uint32_t rank = 0; rank < run.plan.size && run.sound; rank++) {
        if (run.ranks[rank].round < rounds_of(rank))
            broken("waits forever", rank);
        else if (drained(rank) && !coll_memory_right(rank))
            broken("wrong data", rank);
    }
}

/* Pairs of ranks of different supernodes that have messages. */
static uint32_t crossings(void)
{
    uint32_t count = 0;
    for (uint32_t to = 0; to < run.plan.size; to++)
        for (uint32_t i = 0; i < run.ranks[to].count; i++) {
            const message_t *inbox = run.ranks[to].inbox;
            bool again = run.supernode[inbox[i].from] == run.supernode[to];
            for (uint32_t j = 0; j < i; j++) again = again || inbox[j].from == inbox[i].from;
            count += !again;
        }
    return count;
}

/* How many pairs of ranks may have messages across the network; UINT32_MAX: any number.  Along a
 * tree each supernode but the root's has one.  A dissemination has one of each in each step, pieces
 * have both, or two disseminations; a doubling has two more for each pair that meets before. */
static uint32_t most_crossings(void)
{
    const gasnete_coll_plan_t *p = &run.plan;
    const uint32_t count = p->topology ? p->topology->count : 0;
    uint32_t steps = 0;
    while (1u << steps < count) steps++;
    if (p->in_order && !p->topology->ranges) return UINT32_MAX;
    switch (p->algorithm) {
    case GASNETE_COLL_FLAT:
        if (p->kind != GASNETE_COLL_SCATTER && p->kind != GASNETE_COLL_GATHER) return UINT32_MAX;
        return count - 1;
    case GASNETE_COLL_TREE:
        return count - 1;
    case GASNETE_COLL_SCATTER_FIRST:
        return count * steps + (p->kind == GASNETE_COLL_REDUCE_ALL ? count * steps : count - 1);
    case GASNETE_COLL_DISSEMINATION:
        if (p->kind == GASNETE_COLL_REDUCE_ALL) return count * steps + count;
        return p->kind == GASNETE_COLL_EXCHANGE ? count * (count - 1) : count * steps;
    case GASNETE_COLL_PAIRWISE:
        return p->kind >= GASNETE_COLL_REDUCE ? count * (count - 1) : UINT32_MAX;
    default:
        return UINT32_MAX;
    }
}

static void check_crossings(void)
{
    if (run.plan.topology && crossings() > most_crossings())
        broken("too many messages between supernodes", run.plan.root);
}

/* Carries out run.plan.  */
static void carry_out(void)
{
    const uint32_t late = check_below(3) * 50; /* percent: act first, deliver then */
    run.sound = true;
    run.early = check_below(2);
    coll_memory_begin(&run.plan, run.plan.kind == GASNETE_COLL_REDUCE_ALL ? run.plan.in_place
                                                                          : check_below(2));
    for (bool going = true; going && run.sound;)
        going = check_below(100) < late ? step_one() || deliver_one() : deliver_one() || step_one();
    if (run.sound) check_end_of_run();
    if (run.sound) check_crossings();
    for (uint32_t rank = 0; rank < run.plan.size; rank++) {
        for (uint32_t i = 0; i < run.ranks[rank].count; i++) free(run.ranks[rank].inbox[i].data);
        free(run.ranks[rank].inbox);
        run.ranks[rank] = (rank_t){0};
    }
    coll_memory_end();
}

/* --- which plans --- */

static void images_at_random(void)
{
    const uint32_t how = run.plan.kind == GASNETE_COLL_REDUCE_ALL ? 0 : check_below(3);
    const uint32_t each = 1 + check_below(4);
    run.plan.first = how ? run.first : NULL;
    run.plan.even = how == 1;
    for (uint32_t i = 0; i < run.plan.size; i++)
        run.first[i + 1] = run.first[i] + (how == 1 ? each : 1 + check_below(4));
}

/* Images in the order of supernodes. */
static void count_images(const gasnete_topology_t *by)
{
    const uint32_t size = run.plan.size, *first = run.plan.first;
    run.plan.first_by_index = first ? run.first_by_index : NULL;
    for (uint32_t i = 0; first && i < size; i++) {
        const uint32_t rank = by->ranks[i];
        run.first_by_index[i + 1] = run.first_by_index[i] + first[rank + 1] - first[rank];
    }
    for (uint32_t s = 0; first && s <= by->count; s++)
        run.first_by_index[size + 1 + s] = run.first_by_index[by->first[s]];
}

/* None, ranges of ranks, or ranks of any supernode. */
static void supernodes_at_random(void)
{
    const uint32_t how = check_below(3), size = run.plan.size, count = 1 + check_below(size);
    for (uint32_t i = 0; i < size; i++) run.supernode[i] = i < count ? i : check_below(count);
    for (uint32_t i = size; how == 1 && i > 1; i--) /* sorts them */
        for (uint32_t j = 1; j < i; j++)
            if (run.supernode[j - 1] > run.supernode[j]) {
                const uint32_t larger = run.supernode[j - 1];
                run.supernode[j - 1] = run.supernode[j];
                run.supernode[j] = larger;
            }
    free(run.topology);
    run.topology = NULL;
    if (how && !gasnete_topology_new(&run.topology, run.supernode, count, NULL, size)) abort();
    run.plan.topology = run.topology;
    if (run.topology) count_images(run.topology);
}

static size_t bytes_at_random(void)
{
    switch (check_below(4)) {
    case 0:
        return 1 + check_below(8);
    case 1:
        return 1 + check_below(100);
    default:
        return 1 + check_below(run.plan.size > 40 ? 300 : 3000);
    }
}

static void plan_at_random(enum gasnete_coll_kind kind, enum gasnete_coll_algorithm algorithm,
                           uint32_t size, uint32_t root)
{
    run.plan = (gasnete_coll_plan_t){.kind = kind,
                                     .algorithm = (uint8_t)algorithm,
                                     .size = size,
                                     .root = kind == GASNETE_COLL_REDUCE_ALL ? 0 : root,
                                     .radix = 2 + check_below(4) * check_below(2),
                                     .unit = 1};
    images_at_random();
    supernodes_at_random();
    run.plan.nbytes = bytes_at_random();
    if (kind == GASNETE_COLL_EXCHANGE) run.plan.nbytes = 1 + run.plan.nbytes / 32;
    if (kind == GASNETE_COLL_REDUCE || kind == GASNETE_COLL_REDUCE_ALL) {
        run.plan.in_order = check_below(2);
        run.plan.in_place = kind == GASNETE_COLL_REDUCE_ALL && check_below(2);
        run.plan.unit = (run.plan.in_order ? 8 : 4) * (1 + check_below(3));
        run.plan.nbytes += run.plan.unit - run.plan.nbytes % run.plan.unit;
    }
    const size_t blocks = kind == GASNETE_COLL_GATHER_ALL ? size : 1;
    run.plan.segment = check_below(3) ? 1 + blocks * run.plan.nbytes / (1 + check_below(6)) : 0;
}

static uint32_t one_algorithm(enum gasnete_coll_kind kind, enum gasnete_coll_algorithm algorithm)
{
    uint32_t runs = 0;
    for (uint32_t size = 1; size <= 100; size += size < 40 ? 1 : 1 + check_below(19)) {
        const bool sample = size > 12;
        for (uint32_t i = 0; i < (sample ? 3 : size); i++) {
            plan_at_random(kind, algorithm, size, sample ? check_below(size) : i);
            if (!gasnete_coll_plan_possible(&run.plan, algorithm)) continue;
            carry_out();
            runs++;
        }
    }
    return runs;
}

/* --- the choice --- */

static void choice(void)
{
    enum { MOST_SEGMENTS = 200 }; /* the time of a run grows with their square */
    for (uint32_t i = 0; i < 1500; i++) {
        const enum gasnete_coll_kind kind = check_below(GASNETE_COLL_KINDS);
        gasnete_coll_settings_t settings = {.radix = check_below(5), .segment = check_below(500)};
        settings.tree[kind] = (uint8_t)check_below(GASNETE_COLL_ALGORITHMS + 1);
        settings.dissemination_limit[0] = settings.dissemination_limit[1] =
            check_below(2) * (size_t)check_below(10000);
        const uint32_t size = 1 + check_below(20);
        plan_at_random(kind, GASNETE_COLL_FLAT, size, check_below(size));
        const size_t least = run.plan.nbytes * size / MOST_SEGMENTS;
        if (settings.segment && settings.segment < least) settings.segment = least;
        gasnete_coll_choose(&run.plan, &settings);
        enum gasnete_coll_algorithm forced = settings.tree[kind] - 1;
        if (!gasnete_coll_plan_possible(&run.plan, run.plan.algorithm))
            broken("an impossible choice", 0);
        else if (settings.tree[kind] && gasnete_coll_plan_possible(&run.plan, forced) &&
                 run.plan.algorithm != forced)
            broken("a setting is ignored", 0);
        else
            carry_out();
    }
    check_all("what the table and the settings choose is possible, and right");
}

/* Tags have 30 bits, and each segment has its own.  */
static void segments_are_bounded(void)
{
    const gasnete_coll_settings_t settings = {.segment = 1};
    const enum gasnete_coll_kind kinds[] = {GASNETE_COLL_BROADCAST, GASNETE_COLL_REDUCE};
    for (int i = 0; i < 2; i++) {
        gasnete_coll_plan_t plan = {
            .kind = kinds[i], .size = 2, .nbytes = (size_t)1 << 40, .unit = 8};
        gasnete_coll_choose(&plan, &settings);
        if (plan.nbytes / plan.segment >= 1u << 30) broken("too many segments", 0);
    }
    check_all("a setting does not make more segments than there are tags");
}

static void large_by_table(void)
{
    static const gasnete_coll_settings_t none;
    for (uint32_t i = 0; i < 60; i++) {
        const enum gasnete_coll_kind kind = check_below(GASNETE_COLL_KINDS);
        const uint32_t size = 1 + check_below(24);
        plan_at_random(kind, GASNETE_COLL_FLAT, size, check_below(size));
        run.plan.nbytes = run.plan.unit * (1 + check_below(20000));
        if (kind == GASNETE_COLL_BROADCAST || kind >= GASNETE_COLL_REDUCE) run.plan.nbytes *= 8;
        if (kind == GASNETE_COLL_EXCHANGE) run.plan.nbytes /= 16;
        run.plan.nbytes += run.plan.nbytes == 0;
        gasnete_coll_choose(&run.plan, &none);
        carry_out();
    }
    check_all("large blocks by the table's choice");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    for (uint32_t kind = 0; kind < GASNETE_COLL_KINDS; kind++)
        for (uint32_t algorithm = 0; algorithm < GASNETE_COLL_ALGORITHMS; algorithm++) {
            uint32_t runs = one_algorithm(kind, algorithm);
            if (runs) check_all("%s by %s", kind_names[kind], algorithm_names[algorithm]);
        }
    choice();
    segments_are_bounded();
    large_by_table();
    return check_end();
}
