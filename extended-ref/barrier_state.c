/* barrier_state.c - the state machine of barrier_state.h.
 *
 * Pure: no I/O, no lock, no globals, so tests/unit/extended_barrier.c can run all nodes of a
 * job in one process, in any order of arrival.
 */
#include "extended-ref/barrier_state.h"

#include <string.h>

gasnete_barrier_value_t gasnete_barrier_join(gasnete_barrier_value_t a, gasnete_barrier_value_t b)
{
    if (a.kind == GASNETE_BARRIER_NONE) return b;
    if (b.kind == GASNETE_BARRIER_NONE) return a;
    if (a.kind == GASNETE_BARRIER_NAMED && b.kind == GASNETE_BARRIER_NAMED && a.id == b.id)
        return a;
    return (gasnete_barrier_value_t){GASNETE_BARRIER_MISMATCH, 0};
}

void gasnete_barrier_init(gasnete_barrier_state_t *state, uint32_t rank, uint32_t size)
{
    memset(state, 0, sizeof *state);
    state->rank = rank;
    state->size = size;
    while (((uint64_t)1 << state->steps) < size) state->steps++;
}

bool gasnete_barrier_enter(gasnete_barrier_state_t *state, gasnete_barrier_value_t mine)
{
    if (state->notified) return false;
    state->notified = true;
    state->complete = false;
    state->parity ^= 1;
    state->sent = state->received = 0;
    state->value = mine;
    return true;
}

bool gasnete_barrier_receive(gasnete_barrier_state_t *state,
                             const gasnete_barrier_message_t *message)
{
    uint32_t bit = (uint32_t)1 << message->step;
    if (message->step >= state->steps || (state->arrived[message->parity] & bit)) return false;
    state->arrived[message->parity] |= bit;
    state->inbox[message->parity][message->step] = message->value;
    return true;
}

/* Builds the message of step `sent`.  Its value covers steps 0..sent-1, whose messages have been
 * joined by then.  */
static void hand_out(gasnete_barrier_state_t *state, gasnete_barrier_message_t *message)
{
    uint64_t distance = (uint64_t)1 << state->sent;
    message->to = (uint32_t)((state->rank + distance) % state->size);
    message->parity = state->parity;
    message->step = state->sent++;
    message->value = state->value;
}

bool gasnete_barrier_next(gasnete_barrier_state_t *state, gasnete_barrier_message_t *message)
{
    if (!state->notified || state->complete) return false;
    for (;;) {
        if (state->received == state->steps) {
            state->complete = true;
            return false;
        }
        if (state->sent == state->received) {
            hand_out(state, message);
            return true;
        }
        uint32_t bit = (uint32_t)1 << state->received;
        if (!(state->arrived[state->parity] & bit)) return false;
        state->arrived[state->parity] &= ~bit;
        state->value =
            gasnete_barrier_join(state->value, state->inbox[state->parity][state->received]);
        state->received++;
    }
}

bool gasnete_barrier_leave(gasnete_barrier_state_t *state, gasnete_barrier_value_t expected)
{
    state->notified = false;
    return gasnete_barrier_join(state->value, expected).kind != GASNETE_BARRIER_MISMATCH;
}
