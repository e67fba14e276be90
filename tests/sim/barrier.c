/* barrier.c - the barrier's state machine (extended-ref/barrier/machine.h) for 1 to 10,000 ranks,
 * alone or in supernodes of any size, which count in shared words or send along trees.
 *
 * Plays the engine of extended-ref/barrier/barrier.c.  Messages are late and overtake each other;
 * ranks stall, leave late, and go on only when a message arrives or another rank wakes them.  What
 * each rank learns is compared with the rules applied to the arguments of all ranks at once.
 */
#include <stdlib.h>
#include <string.h>

#include "extended-ref/barrier/words.h"
#include "tests/sim/sim.h"

enum { MANY = 10000, MOST_PHASES = 200 };
enum lower { ALONE, TREES, WORDS };
static const char *const lowers[] = {"alone", "trees", "words"};

typedef struct rank {
    gasnete_barrier_state_t state;
    uint32_t phase; /* of the next enter, or of the phase that it is in */
    bool counts;    /* in the words of its supernode: it has no messages */
} rank_t;

typedef struct supernode {
    uint32_t first, count, counting; /* in job.ranks; ranks that count in `words` */
    gasnete_barrier_words_t words;
} supernode_t;

/* What the rules say of a phase. */
typedef struct outcome {
    bool known, mismatch, any;
    int32_t id;
    uint32_t entered;
} outcome_t;

static struct {
    sim_link_t link;
    enum lower lower;
    uint64_t key; /* of the arguments */
    uint32_t size, supernodes, phases, pause;
    uint32_t ranks[MANY], of[MANY], place[MANY]; /* by supernode; by rank: the rank's, and where */
    outcome_t outcome[MOST_PHASES];
} job;
static rank_t ranks[MANY];
static supernode_t supernodes[MANY];

/* --- the arguments of all ranks: functions of the phase and the rank --- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t fixed(uint32_t phase, uint32_t what)
{
    return mix(job.key ^ mix((uint64_t)phase << 32 | what));
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
    const uint64_t r = fixed(phase, 1);
    return r % 4 == 0 ? special[r / 4 % 4] : (int32_t)(r >> 32);
}

static gasnete_barrier_value_t notified(uint32_t phase, uint32_t rank)
{
    const gasnete_barrier_value_t some =
        fixed(phase, 16 + rank) % 2 ? named(id_of(phase)) : anonymous;
    const uint32_t size = job.size, chosen = (uint32_t)(fixed(phase, 2) % size);
    const uint32_t behind = (chosen + 1 + (uint32_t)(fixed(phase, 3) % size)) % size;
    switch (fixed(phase, 0) % 8) {
    case 0:
        return anonymous;
    case 1:
        return named(id_of(phase));
    case 2:
        return rank == chosen ? named(id_of(phase)) : anonymous;
    case 3:
        return rank == chosen ? anonymous : named(id_of(phase));
    case 4:
        return some;
    case 5:
        return rank == chosen ? mismatch : some;
    case 6: /* two names, all others anonymous */
        if (rank == chosen) return named(id_of(phase));
        return rank == behind ? named((int32_t)((uint32_t)id_of(phase) + 1)) : anonymous;
    default:
        return rank == chosen ? named((int32_t) ~(uint32_t)id_of(phase)) : some;
    }
}

/* The value that a rank waits with: mostly that of its notify. */
static gasnete_barrier_value_t waited(uint32_t phase, uint32_t rank)
{
    switch (fixed(phase, 2 * MANY + rank) % 8) {
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

/* --- the rules, by counting over all ranks --- */

static const outcome_t *outcome(uint32_t phase)
{
    outcome_t *all = &job.outcome[phase];
    if (all->known) return all;
    all->known = true;
    for (uint32_t rank = 0; rank < job.size; rank++) {
        const gasnete_barrier_value_t mine = notified(phase, rank);
        if (mine.kind == GASNETE_BARRIER_MISMATCH) all->mismatch = true;
        if (mine.kind != GASNETE_BARRIER_NAMED) continue;
        if (all->any && all->id != mine.id) all->mismatch = true;
        all->any = true;
        all->id = mine.id;
    }
    return all;
}

static void check_left(uint32_t me, uint32_t phase, gasnete_barrier_value_t expected, bool matched)
{
    const outcome_t *all = outcome(phase);
    const gasnete_barrier_value_t got = ranks[me].state.value;
    const bool right =
        !all->mismatch && expected.kind != GASNETE_BARRIER_MISMATCH &&
        !(all->any && expected.kind == GASNETE_BARRIER_NAMED && expected.id != all->id);
    sim_check(all->entered == job.size, me, "leaves phase %u that %u of %u have entered", phase,
              all->entered, job.size);
    sim_check(matched == right, me, "phase %u: %s", phase,
              right ? "a mismatch for no reason" : "no mismatch");
    if (all->mismatch) return;
    sim_check(all->any ? got.kind == GASNETE_BARRIER_NAMED && got.id == all->id
                       : got.kind == GASNETE_BARRIER_NONE,
              me, "phase %u: another result", phase);
}

/* --- the engine of a rank --- */

static sim_action_t act, hear;

static void act_later(uint32_t me, uint32_t most)
{
    sim_after(1 + sim_below(most + 1), act, &(sim_message_t){.to = me});
}

/* Only leaders have messages between supernodes, and there are no words but of ranks that share. */
static bool may_send(uint32_t from, uint32_t to)
{
    if (to >= job.size) return false;
    if (to == from) return job.lower == WORDS;
    if (job.of[from] == job.of[to]) return job.lower == TREES;
    return job.place[from] == 0 && job.place[to] == 0;
}

static void send(uint32_t me, const gasnete_barrier_message_t *message)
{
    int32_t words[2];
    gasnete_barrier_pack(message, words);
    sim_note(me, "sends slot %u of %u to %u", message->slot, message->parity, message->to);
    sim_send(&job.link, hear,
             &(sim_message_t){
                 .from = me, .to = message->to, .word = {(uint32_t)words[0], (uint32_t)words[1]}});
}

static void count(uint32_t me, const gasnete_barrier_message_t *message)
{
    supernode_t *own = &supernodes[job.of[me]];
    sim_note(me, "counts, slot %u of %u", message->slot, message->parity);
    switch (gasnete_barrier_words_send(&own->words, message, own->counting, job.supernodes == 1)) {
    case GASNETE_WAKE_NOBODY:
        break;
    case GASNETE_WAKE_LEADER:
        act_later(job.ranks[own->first], job.pause);
        break;
    case GASNETE_WAKE_ALL:
        for (uint32_t i = 0; i < own->count; i++) act_later(job.ranks[own->first + i], job.pause);
    }
}

static bool collect(uint32_t me)
{
    gasnete_barrier_state_t *state = &ranks[me].state;
    supernode_t *own = &supernodes[job.of[me]];
    gasnete_barrier_value_t all;
    if (!state->waits || state->awaited != me ||
        !gasnete_barrier_words_joined(&own->words, state->parity, own->counting, &all))
        return false;
    gasnete_barrier_take(state, all);
    return true;
}

static void advance(uint32_t me)
{
    gasnete_barrier_message_t message;
    do
        while (gasnete_barrier_next(&ranks[me].state, &message)) {
            sim_check(may_send(me, message.to), me, "sends to rank %u", message.to);
            if (message.to == me)
                count(me, &message);
            else
                send(me, &message);
        }
    while (collect(me));
}

/* True if the rank may leave its phase. */
static bool complete(uint32_t me)
{
    gasnete_barrier_state_t *state = &ranks[me].state;
    advance(me);
    if (!ranks[me].counts) return state->stage == GASNETE_BARRIER_COMPLETE;
    return gasnete_barrier_words_complete(&supernodes[job.of[me]].words, state->parity,
                                          &state->value);
}

static void enter(uint32_t me)
{
    rank_t *rank = &ranks[me];
    const gasnete_barrier_value_t mine = notified(rank->phase, me);
    sim_check(gasnete_barrier_enter(&rank->state, mine), me, "cannot enter");
    sim_check(!gasnete_barrier_enter(&rank->state, anonymous), me, "enters twice");
    job.outcome[rank->phase].entered++;
    sim_note(me, "enters phase %u", rank->phase);
    if (rank->counts)
        count(me, &(gasnete_barrier_message_t){
                      .parity = rank->state.parity, .slot = GASNETE_BARRIER_UP, .value = mine});
}

/* Enters the next phase, or leaves the phase that is complete. */
static void act(const sim_message_t *m)
{
    const uint32_t me = m->to;
    rank_t *rank = &ranks[me];
    if (rank->state.stage == GASNETE_BARRIER_OUTSIDE) {
        if (rank->phase == job.phases || m->from != me) return; /* woken by others */
        enter(me);
    }
    if (!complete(me)) return;
    if (sim_chance(30)) {
        act_later(me, job.pause);
        return;
    }
    const gasnete_barrier_value_t expected = waited(rank->phase, me);
    check_left(me, rank->phase++, expected, gasnete_barrier_leave(&rank->state, expected));
    sim_note(me, "leaves");
    sim_after(1 + sim_below(job.pause + 1), act, &(sim_message_t){.from = me, .to = me});
}

static void hear(const sim_message_t *m)
{
    const int32_t words[2] = {(int32_t)m->word[0], (int32_t)m->word[1]};
    gasnete_barrier_state_t *state = &ranks[m->to].state;
    gasnete_barrier_message_t message;
    sim_concerns(m->from);
    sim_check(gasnete_barrier_unpack(words, &message) &&
                  gasnete_barrier_receive(state, m->from, &message),
              m->to, "refuses a message of %u", m->from);
    act_later(m->to, sim_chance(80) ? 0 : job.pause);
}

/* --- jobs --- */

/* Supernodes of random sizes, numbered in the order of their first ranks: ranges of ranks, or any.
 */
static void any_supernodes(uint32_t count, bool ranges)
{
    static uint32_t number[MANY];
    memset(number, 0xff, count * sizeof *number);
    const uint32_t drawn = 1 + sim_below(sim_chance(50) ? count : (count + 15) / 16);
    uint32_t current = 0;
    job.supernodes = 0;
    for (uint32_t r = 0; r < count; r++) {
        if (!ranges) current = sim_below(drawn);
        if (ranges && sim_below(count) < drawn && current + 1 < count) current += r > 0;
        if (number[current] == UINT32_MAX) {
            supernodes[job.supernodes].count = 0;
            number[current] = job.supernodes++;
        }
        job.of[r] = number[current];
        job.place[r] = supernodes[job.of[r]].count++;
    }
}

static void each_alone(uint32_t count)
{
    job.supernodes = count;
    for (uint32_t r = 0; r < count; r++) {
        job.of[r] = r;
        job.place[r] = 0;
        supernodes[r].count = 1;
    }
}

static void make_rank(uint32_t r, const gasnete_topology_t *topology)
{
    const supernode_t *own = &supernodes[job.of[r]];
    gasnete_barrier_shape_t shape = {.rank = r,
                                     .size = job.size,
                                     .topology = topology,
                                     .words = job.lower == WORDS && own->count > 1};
    ranks[r].counts = shape.words && (job.supernodes == 1 || job.place[r] > 0);
    if (shape.words && job.supernodes == 1) shape = (gasnete_barrier_shape_t){.size = 1};
    ranks[r].phase = 0;
    gasnete_barrier_init(&ranks[r].state, &shape);
    sim_check(!ranks[r].counts || ranks[r].state.steps == 0, r, "counts and has messages");
}

static void simulate(uint32_t count, enum lower lower, uint32_t phases)
{
    job.size = sim_nodes(count);
    job.lower = lower;
    job.phases = phases;
    job.pause = sim_below(sim_chance(50) ? 10 : 3000);
    job.key = (uint64_t)sim_below(UINT32_MAX) << 32 | sim_below(UINT32_MAX);
    job.link = (sim_link_t){.least = 1, .late = (uint8_t)sim_below(20)};
    job.link.most = 1 + sim_below(500);
    job.link.most_late = job.link.most + sim_below(20000);
    memset(job.outcome, 0, phases * sizeof *job.outcome);
    if (lower == ALONE)
        each_alone(count);
    else
        any_supernodes(count, sim_chance(50));
    for (uint32_t s = 0, first = 0; s < job.supernodes; first += supernodes[s++].count) {
        supernodes[s].first = first;
        supernodes[s].counting = supernodes[s].count - (job.supernodes > 1);
        memset(&supernodes[s].words, 0, sizeof supernodes[s].words);
    }
    for (uint32_t r = 0; r < count; r++) job.ranks[supernodes[job.of[r]].first + job.place[r]] = r;
    gasnete_topology_t *topology;
    if (!gasnete_topology_new(&topology, job.of, job.supernodes, NULL, count)) abort();
    for (uint32_t r = 0; r < count; r++) {
        make_rank(r, topology);
        sim_after(sim_below(1 + job.pause), act, &(sim_message_t){.from = r, .to = r});
        if (sim_chance(2)) sim_stall(r, sim_below(20000));
    }
    free(topology);
    sim_note(0, "%u ranks, %u supernodes, %s", count, job.supernodes, lowers[lower]);
    sim_run();
    for (uint32_t r = 0; r < count; r++) {
        sim_check(ranks[r].phase == phases, r, "is in phase %u of %u for ever: %u ranks, %s",
                  ranks[r].phase, phases, count, lowers[lower]);
        sim_check(!ranks[r].state.arrived[0] && !ranks[r].state.arrived[1], r,
                  "has a message left");
    }
    sim_count("ranks in phases", (uint64_t)count * phases);
}

static enum lower any_lower(void)
{
    static const enum lower all[] = {ALONE, TREES, WORDS};
    return all[sim_below(3)];
}

static void few(void)
{
    simulate(1 + sim_below(9), any_lower(), 1 + sim_below(MOST_PHASES));
}

static void hundreds(void)
{
    simulate(10 + sim_below(500), any_lower(), 1 + sim_below(6));
}

static void thousands(void)
{
    simulate(sim_chance(50) ? MANY : 500 + sim_below(MANY - 500), any_lower(), 3);
}

int main(int argc, char **argv)
{
    const sim_scene_t scenes[] = {
        {"B70-B74 few ranks, alone and in supernodes of any size, many phases", few, 3000},
        {"B70-B74 hundreds of ranks", hundreds, 300},
        {"B70-B74 up to 10,000 ranks", thousands, 6},
    };
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
