/* machine.c - the state machine of machine.h.
 *
 * Pure: tests/unit/extended_barrier.c and tests/sim/barrier.c run all ranks of a job in one
 * process, in any order of arrival.
 */
#include "extended-ref/barrier/machine.h"

#include <string.h>

gasnete_barrier_value_t gasnete_barrier_join(gasnete_barrier_value_t a, gasnete_barrier_value_t b)
{
    if (a.kind == GASNETE_BARRIER_NONE) return b;
    if (b.kind == GASNETE_BARRIER_NONE) return a;
    if (a.kind == GASNETE_BARRIER_NAMED && b.kind == GASNETE_BARRIER_NAMED && a.id == b.id)
        return a;
    return (gasnete_barrier_value_t){GASNETE_BARRIER_MISMATCH, 0};
}

/* --- the steps of a phase --- */

uint8_t gasnete_barrier_rounds(uint32_t count)
{
    uint8_t rounds = 0;
    while (((uint64_t)1 << rounds) < count) rounds++;
    return rounds;
}

static void machine_add(gasnete_barrier_state_t *state, uint32_t to, unsigned slot, uint32_t from)
{
    state->step[state->steps++] = (gasnete_barrier_step_t){to, from, (uint8_t)slot};
}

/* A rank of a supernode by its index there, as messages name it; 0 is the leader. */
static uint32_t machine_rank(const gasnete_barrier_shape_t *shape, uint64_t supernode,
                             uint32_t index)
{
    const gasnete_topology_t *by = shape->topology;
    const uint32_t rank = by ? by->ranks[by->first[supernode] + index] : (uint32_t)supernode;
    return shape->nodes ? shape->nodes[rank] : rank;
}

/* The index of the i-th child in the tree of a supernode, or 0.  The children of index p are p +
 * 2^i for all 2^i that are less than the lowest bit of p. */
static uint32_t machine_child(uint32_t index, uint32_t members, unsigned i)
{
    const uint32_t distance = (uint32_t)1 << i;
    const bool below = index == 0 || distance < (index & -index);
    return i < GASNETE_BARRIER_UP - 1 && below && distance < members - index ? index + distance : 0;
}

void gasnete_barrier_init(gasnete_barrier_state_t *state, const gasnete_barrier_shape_t *shape)
{
    const gasnete_topology_t *by = shape->topology;
    const uint32_t count = by ? by->count : shape->size;
    const uint32_t own = by ? by->of[shape->rank] : shape->rank;
    const uint32_t index = by ? by->index[shape->rank] - by->first[own] : 0;
    const uint32_t members = by ? gasnete_topology_members(by, own) : 1;
    const uint32_t parent = machine_rank(shape, own, index & (index - 1));
    uint32_t child;
    memset(state, 0, sizeof *state);
    state->stage = GASNETE_BARRIER_OUTSIDE;
    if (shape->words && index > 0) return;
    if (shape->words)
        machine_add(state, GASNETE_BARRIER_NOBODY, 0, machine_rank(shape, own, 0));
    else
        for (unsigned i = 0; (child = machine_child(index, members, i)) != 0; i++)
            machine_add(state, GASNETE_BARRIER_NOBODY, 0, machine_rank(shape, own, child));
    state->children = state->steps;
    if (index > 0)
        machine_add(state, parent, GASNETE_BARRIER_UP + gasnete_barrier_rounds(index & -index),
                    parent);
    else
        for (unsigned k = 0; k < gasnete_barrier_rounds(count); k++)
            machine_add(
                state, machine_rank(shape, (own + ((uint64_t)1 << k)) % count, 0), k,
                machine_rank(shape, ((uint64_t)own + count - ((uint64_t)1 << k)) % count, 0));
    state->slots = (uint8_t)(state->steps - state->children);
    /* The child with the largest subtree is first. */
    for (unsigned i = state->children; i-- > 0;)
        machine_add(state, state->step[i].from, GASNETE_BARRIER_DOWN, GASNETE_BARRIER_NOBODY);
}

/* --- a phase --- */

/* The slot in which a step receives. */
static unsigned machine_slot_of(const gasnete_barrier_state_t *state, unsigned step)
{
    return step < state->children ? GASNETE_BARRIER_UP + step : step - state->children;
}

/* The rank that may send to a slot, or NOBODY. */
static uint32_t machine_sender(const gasnete_barrier_state_t *state, unsigned slot)
{
    const bool up = slot >= GASNETE_BARRIER_UP;
    const unsigned i = up ? slot - GASNETE_BARRIER_UP : slot;
    if (i >= (up ? state->children : state->slots)) return GASNETE_BARRIER_NOBODY;
    return state->step[up ? i : state->children + i].from;
}

bool gasnete_barrier_enter(gasnete_barrier_state_t *state, gasnete_barrier_value_t mine)
{
    if (state->stage != GASNETE_BARRIER_OUTSIDE) return false;
    state->stage = GASNETE_BARRIER_INSIDE;
    state->parity ^= 1;
    state->done = 0;
    state->sent = false;
    state->value = mine;
    return true;
}

bool gasnete_barrier_receive(gasnete_barrier_state_t *state, uint32_t from,
                             const gasnete_barrier_message_t *message)
{
    const uint64_t bit = (uint64_t)1 << message->slot;
    if (from == GASNETE_BARRIER_NOBODY || machine_sender(state, message->slot) != from)
        return false;
    if (state->arrived[message->parity] & bit) return false;
    state->arrived[message->parity] |= bit;
    state->inbox[message->parity][message->slot] = message->value;
    state->waits = false;
    return true;
}

void gasnete_barrier_take(gasnete_barrier_state_t *state, gasnete_barrier_value_t value)
{
    state->value = gasnete_barrier_join(state->value, value);
    state->done++;
    state->sent = false;
    state->waits = false;
}

/* True if the message of the present step has yet to arrive, which it records. */
static bool machine_lacks(gasnete_barrier_state_t *state, const gasnete_barrier_step_t *step)
{
    state->slot = (uint8_t)machine_slot_of(state, state->done);
    if (step->from == GASNETE_BARRIER_NOBODY || state->arrived[state->parity] >> state->slot & 1)
        return false;
    state->awaited = step->from;
    state->waits = true;
    return true;
}

bool gasnete_barrier_go_on(gasnete_barrier_state_t *state, gasnete_barrier_message_t *message)
{
    const uint8_t parity = state->parity;
    if (state->stage != GASNETE_BARRIER_INSIDE) return false;
    while (state->done < state->steps) {
        const gasnete_barrier_step_t *step = &state->step[state->done];
        if (step->to != GASNETE_BARRIER_NOBODY && !state->sent) {
            state->sent = true;
            *message = (gasnete_barrier_message_t){step->to, parity, step->slot, state->value};
            machine_lacks(state, step);
            return true;
        }
        if (machine_lacks(state, step)) return false;
        if (step->from == GASNETE_BARRIER_NOBODY) {
            state->done++;
            state->sent = false;
            continue;
        }
        state->arrived[parity] &= ~((uint64_t)1 << state->slot);
        gasnete_barrier_take(state, state->inbox[parity][state->slot]);
    }
    state->stage = GASNETE_BARRIER_COMPLETE;
    return false;
}

bool gasnete_barrier_leave(gasnete_barrier_state_t *state, gasnete_barrier_value_t expected)
{
    state->stage = GASNETE_BARRIER_OUTSIDE;
    return gasnete_barrier_join(state->value, expected).kind != GASNETE_BARRIER_MISMATCH;
}
