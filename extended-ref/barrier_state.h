/* barrier_state.h - the dissemination barrier of one node, as a plain state machine.
 *
 * A phase takes ceil(log2 N) steps.  In step s a node tells (rank + 2^s) mod N everything it knows
 * of the phase and learns the same from (rank - 2^s) mod N; after the last step it knows what all
 * nodes know.  What is known is a named value: nobody named / all who named gave V / mismatch.
 * Joining two of them is idempotent, so it does no harm that a node is heard of twice when N is no
 * power of two.  No I/O, no lock, no globals: barrier.c drives it.
 *
 * At most two phases overlap: whoever is in phase k+1 has left phase k, so all have notified k, and
 * all messages of phase k-1 were received before that.  One bit of phase number tells them apart.
 */
#ifndef GASNETE_BARRIER_STATE_H
#define GASNETE_BARRIER_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum gasnete_barrier_kind {
    GASNETE_BARRIER_NONE,     /* nobody named an id so far */
    GASNETE_BARRIER_NAMED,    /* all who named one gave `id` */
    GASNETE_BARRIER_MISMATCH, /* two differ, or a node asked for it */
};

typedef struct gasnete_barrier_value {
    enum gasnete_barrier_kind kind;
    int32_t id; /* NAMED only */
} gasnete_barrier_value_t;

typedef struct gasnete_barrier_message {
    uint32_t to;    /* rank; known to the sender alone */
    uint8_t parity; /* of the phase */
    uint8_t step;
    gasnete_barrier_value_t value;
} gasnete_barrier_message_t;

enum { GASNETE_BARRIER_MAX_STEPS = 32 };

typedef struct gasnete_barrier_state {
    uint32_t rank, size;
    uint8_t steps;       /* ceil(log2 size) */
    uint8_t parity;      /* of the phase entered last */
    uint8_t sent;        /* steps of it whose message has been handed out */
    uint8_t received;    /* steps of it whose message has been joined into `value` */
    bool notified;       /* between notify and the wait that ends it */
    bool complete;       /* ... and everything is known */
    uint32_t arrived[2]; /* by parity: bit s is set while inbox[parity][s] waits to be joined */
    gasnete_barrier_value_t inbox[2][GASNETE_BARRIER_MAX_STEPS];
    gasnete_barrier_value_t value; /* of the phase entered last */
} gasnete_barrier_state_t;

/* What of two parts of the job is known when each is known. */
gasnete_barrier_value_t gasnete_barrier_join(gasnete_barrier_value_t a, gasnete_barrier_value_t b);

void gasnete_barrier_init(gasnete_barrier_state_t *state, uint32_t rank, uint32_t size);

/* This node enters the next phase with `mine`.  false, and nothing changes, if it has not left the
 * last one. */
bool gasnete_barrier_enter(gasnete_barrier_state_t *state, gasnete_barrier_value_t mine);

/* A message arrived, at any time, in any order.  false if no correct peer can have sent it. */
bool gasnete_barrier_receive(gasnete_barrier_state_t *state,
                             const gasnete_barrier_message_t *message);

/* After enter and receive: true with the next message to send, until false; then either
 * state->complete or nothing to do before the next message arrives.  Messages handed out may be
 * sent in any order. */
bool gasnete_barrier_next(gasnete_barrier_state_t *state, gasnete_barrier_message_t *message);

/* This node leaves a complete phase, having waited with `expected` (NONE: anonymously).  Returns
 * true if the barrier's values match; state->value keeps what was named. */
bool gasnete_barrier_leave(gasnete_barrier_state_t *state, gasnete_barrier_value_t expected);

/* A message as two words, no byte of the first above 63, and back; unpack is false when the words
 * are no message. */
static inline void gasnete_barrier_pack(const gasnete_barrier_message_t *message, int32_t words[2])
{
    words[0] = (int32_t)((uint32_t)message->value.kind << 16 | (uint32_t)message->parity << 8 |
                         message->step);
    words[1] = message->value.id;
}

static inline bool gasnete_barrier_unpack(const int32_t words[2],
                                          gasnete_barrier_message_t *message)
{
    uint32_t kind = (uint32_t)words[0] >> 16;
    uint32_t parity = (uint32_t)words[0] >> 8 & 0xff;
    uint32_t step = (uint32_t)words[0] & 0xff;
    if (kind > GASNETE_BARRIER_MISMATCH || parity > 1 || step >= GASNETE_BARRIER_MAX_STEPS)
        return false;
    message->to = 0;
    message->parity = (uint8_t)parity;
    message->step = (uint8_t)step;
    message->value = (gasnete_barrier_value_t){(enum gasnete_barrier_kind)kind, words[1]};
    return true;
}

#endif
