/* extended_barrier.c - the barrier's state machine: the messages of a phase, and what no correct
 * peer sends.  tests/sim/barrier.c runs whole jobs.
 */
#include <stdlib.h>
#include <string.h>

#include "extended-ref/barrier/machine.h"
#include "tests/unit/check.h"

static const gasnete_barrier_value_t anonymous = {GASNETE_BARRIER_NONE, 0};

/* The barrier of a rank whose supernodes have equally many members: member i of supernode s is rank
 * 10 s + i of the job.  `words`: members count in words. */
static gasnete_barrier_state_t made_of(uint32_t supernode, uint32_t supernodes, uint32_t index,
                                       uint32_t members, bool words)
{
    enum { MOST = 2000 };
    uint32_t of[MOST], nodes[MOST];
    const uint32_t size = supernodes * members;
    gasnete_topology_t *topology = NULL;
    gasnete_barrier_state_t state;
    if (size > MOST) abort();
    for (uint32_t r = 0; r < size; r++) {
        of[r] = r / members;
        nodes[r] = 10 * (r / members) + r % members;
    }
    if (!gasnete_topology_new(&topology, of, supernodes, NULL, size)) abort();
    gasnete_barrier_init(&state, &(gasnete_barrier_shape_t){.rank = supernode * members + index,
                                                            .size = size,
                                                            .topology = topology,
                                                            .nodes = nodes,
                                                            .words = words});
    free(topology);
    return state;
}

static gasnete_barrier_state_t made(uint32_t supernode, uint32_t supernodes, uint32_t index,
                                    uint32_t members)
{
    return made_of(supernode, supernodes, index, members, false);
}

/* Receives an anonymous message in the first phase. */
static bool takes(gasnete_barrier_state_t *state, uint32_t from, unsigned slot)
{
    return gasnete_barrier_receive(
        state, from, &(gasnete_barrier_message_t){.parity = 1, .slot = (uint8_t)slot});
}

/* The next message is to this rank's slot. */
static bool sends(gasnete_barrier_state_t *state, uint32_t to, unsigned slot)
{
    gasnete_barrier_message_t message;
    return gasnete_barrier_next(state, &message) && message.to == to && message.slot == slot &&
           message.parity == 1;
}

static bool waits(gasnete_barrier_state_t *state, uint32_t awaited)
{
    gasnete_barrier_message_t message;
    return !gasnete_barrier_next(state, &message) && state->waits && state->awaited == awaited;
}

static bool completes(gasnete_barrier_state_t *state)
{
    gasnete_barrier_message_t message;
    return !gasnete_barrier_next(state, &message) && state->stage == GASNETE_BARRIER_COMPLETE;
}

/* The leader of supernode 1 of 3, with three members: 10, 11 and 12. */
static void leader(void)
{
    enum { UP = GASNETE_BARRIER_UP, DOWN = GASNETE_BARRIER_DOWN };
    gasnete_barrier_state_t state = made(1, 3, 0, 3);
    check(gasnete_barrier_enter(&state, anonymous), "a rank enters");
    check(waits(&state, 11) && takes(&state, 11, UP), "it awaits its first child");
    check(waits(&state, 12) && takes(&state, 12, UP + 1), "and its second");
    check(sends(&state, 20, 0) && waits(&state, 0) && takes(&state, 0, 0), "round 0");
    check(sends(&state, 0, 1) && waits(&state, 20) && takes(&state, 20, 1), "round 1");
    check(sends(&state, 12, DOWN) && sends(&state, 11, DOWN), "it ends the phase of its children");
    check(completes(&state), "the phase is complete");
    check(gasnete_barrier_leave(&state, anonymous) && state.stage == GASNETE_BARRIER_OUTSIDE,
          "a rank leaves");
}

/* Rank 4 of 7 of a supernode, whose parent is 0 and whose children are 5 and 6. */
static void inner(void)
{
    enum { UP = GASNETE_BARRIER_UP, DOWN = GASNETE_BARRIER_DOWN };
    gasnete_barrier_state_t state = made(0, 2, 4, 7);
    gasnete_barrier_enter(&state, anonymous);
    check(takes(&state, 6, UP + 1) && takes(&state, 5, UP), "children come in any order");
    check(sends(&state, 0, UP + 2) && waits(&state, 0), "a rank with children has a parent");
    gasnete_barrier_take(&state, (gasnete_barrier_value_t){GASNETE_BARRIER_NAMED, 7});
    check(sends(&state, 6, DOWN) && sends(&state, 5, DOWN) && completes(&state) &&
              state.value.kind == GASNETE_BARRIER_NAMED && state.value.id == 7,
          "the value of all returns");
    check(!gasnete_barrier_leave(&state, (gasnete_barrier_value_t){GASNETE_BARRIER_NAMED, 8}),
          "another name is a mismatch");
}

/* The leader of supernode 1 of 2, whose three members count in words. */
static void counting(void)
{
    enum { UP = GASNETE_BARRIER_UP, DOWN = GASNETE_BARRIER_DOWN };
    gasnete_barrier_state_t state = made_of(1, 2, 0, 3, true);
    gasnete_barrier_enter(&state, anonymous);
    check(waits(&state, 10), "a leader awaits those that count, as itself");
    gasnete_barrier_take(&state, anonymous);
    check(sends(&state, 0, 0) && takes(&state, 0, 0), "it sends for them");
    check(sends(&state, 10, DOWN) && completes(&state), "and ends their phase, as its own");
    state = made_of(1, 2, 2, 3, true);
    check(state.steps == 0 && !takes(&state, 10, DOWN), "a rank that counts has no steps");
}

static void refusals(void)
{
    enum { UP = GASNETE_BARRIER_UP, DOWN = GASNETE_BARRIER_DOWN };
    gasnete_barrier_state_t state = {0};
    check(!gasnete_barrier_enter(&state, anonymous), "a barrier that is not made");
    check(!takes(&state, 0, 0), "a message to one");
    state = made(0, 4, 0, 1);
    check(takes(&state, 30, 0), "a message before notify is good");
    check(!takes(&state, 30, 0), "the same message twice");
    check(!takes(&state, 20, 2), "a round that does not exist");
    check(!takes(&state, 10, 1), "another sender");
    check(takes(&state, 20, 1), "a later round first is good");
    check(gasnete_barrier_enter(&state, anonymous), "notify is good");
    check(!gasnete_barrier_enter(&state, anonymous), "a second notify");
    check(!takes(&state, 1, UP), "a child's message to a rank without any");
    state = made(0, 2, 0, 2);
    check(takes(&state, 1, UP) && !takes(&state, 1, UP), "a child's message twice");
    check(!takes(&state, 1, UP + 1) && !takes(&state, 1, DOWN), "a child's message to other slots");
    state = made(0, 2, 1, 2);
    check(takes(&state, 0, DOWN) && !takes(&state, 0, DOWN), "a parent's message twice");
    check(!takes(&state, 10, DOWN) && !takes(&state, 10, 1), "a leader's message to a member");
}

static void words_of_messages(void)
{
    static const int32_t bad[][2] = {{3 << 16, 0}, {2 << 8, 0}, {64, 0}, {-1, -1}};
    gasnete_barrier_state_t state = made(0, 300, 0, 5);
    gasnete_barrier_message_t message;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_each(!gasnete_barrier_unpack(bad[i], &message), "words %u are a message", i);
    for (int i = 0; i < 100000; i++) {
        int32_t words[2] = {(int32_t)check_below(UINT32_MAX), (int32_t)check_below(UINT32_MAX)};
        int32_t back[2];
        if (i % 2) words[0] &= 0x3013f;
        if (!gasnete_barrier_unpack(words, &message)) continue;
        gasnete_barrier_pack(&message, back);
        check_each(memcmp(words, back, sizeof back) == 0, "%x %x: pack undoes unpack",
                   (unsigned)words[0], (unsigned)words[1]);
        check_each((words[0] & 0x80808080) == 0 && (words[0] & 0x40404040) == 0,
                   "%x: a byte above 63", (unsigned)words[0]);
        gasnete_barrier_receive(&state, check_below(5), &message);
    }
    check_all("only what a rank packs is unpacked");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    leader();
    inner();
    counting();
    refusals();
    words_of_messages();
    return check_end();
}
