/* barrier_state.h - the dissemination barrier of one rank, as a plain state machine.
 *
 * A phase has ceil(log2 N) steps.  In step s a rank sends the joined value of all ranks that it
 * knows of to (rank + 2^s) mod N, and receives that of (rank - 2^s) mod N; after the last step its
 * value covers all ranks.  A value is: no rank named an id / all ranks that named one gave the same
 * / mismatch.  Joining two values is idempotent, so a rank may be counted twice when N is not a
 * power of two.  No I/O, no lock, no globals: barrier.c runs it.
 *
 * At most two phases overlap: a rank in phase k+1 has left phase k, so all ranks have notified
 * phase k, and all messages of phase k-1 were received before that.  The lowest bit of the phase
 * number, its parity, distinguishes them.
 */
#ifndef GASNETE_BARRIER_STATE_H
#define GASNETE_BARRIER_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum gasnete_barrier_kind {
    GASNETE_BARRIER_NONE,     /* no rank named an id */
    GASNETE_BARRIER_NAMED,    /* all ranks that named an id gave `id` */
    GASNETE_BARRIER_MISMATCH, /* two ids differ, or a rank passed GASNET_BARRIERFLAG_MISMATCH */
};

typedef struct gasnete_barrier_value {
    enum gasnete_barrier_kind kind;
    int32_t id; /* NAMED only */
} gasnete_barrier_value_t;

typedef struct gasnete_barrier_message {
    uint32_t to;    /* rank of the receiver; not sent */
    uint8_t parity; /* of the phase */
    uint8_t step;
    gasnete_barrier_value_t value;
} gasnete_barrier_message_t;

enum { GASNETE_BARRIER_MAX_STEPS = 32 };

typedef struct gasnete_barrier_state {
    uint32_t rank, size;
    uint8_t steps;       /* ceil(log2 size) */
    uint8_t parity;      /* of the phase entered last */
    uint8_t sent;        /* steps of the phase whose message has been handed out */
    uint8_t received;    /* steps of the phase whose message has been joined into `value` */
    bool notified;       /* between notify and the wait that ends it */
    bool complete;       /* notified, and `value` covers all ranks */
    uint32_t arrived[2]; /* by parity: bit s is set while inbox[parity][s] waits to be joined */
    gasnete_barrier_value_t inbox[2][GASNETE_BARRIER_MAX_STEPS];
    gasnete_barrier_value_t value; /* of the phase entered last */
} gasnete_barrier_state_t;

/* The value of two sets of ranks together.  */
gasnete_barrier_value_t gasnete_barrier_join(gasnete_barrier_value_t a, gasnete_barrier_value_t b);

void gasnete_barrier_init(gasnete_barrier_state_t *state, uint32_t rank, uint32_t size);

/* Enters the next phase with this rank's value. false, and nothing is changed, if this rank has not
 * left the last phase.  */
bool gasnete_barrier_enter(gasnete_barrier_state_t *state, gasnete_barrier_value_t mine);

/* Takes a message; messages may arrive at any time and in any order.  false if the message violates
 * the protocol.  */
bool gasnete_barrier_receive(gasnete_barrier_state_t *state,
                             const gasnete_barrier_message_t *message);

/* Called after enter and receive, until it returns false: true with the next message to send. After
 * false, either state->complete is set or a message must arrive first.  The messages may be sent in
 * any order.  */
bool gasnete_barrier_next(gasnete_barrier_state_t *state, gasnete_barrier_message_t *message);

/* The rank that sends the message of a step, which is less than state->steps.  */
static inline uint32_t gasnete_barrier_from(const gasnete_barrier_state_t *state, uint8_t step)
{
    return (uint32_t)((state->rank + state->size - ((uint64_t)1 << step) % state->size) %
                      state->size);
}

/* Leaves a complete phase; `expected` is the value of the wait (NONE: anonymous).  Returns true if
 * the values match; state->value keeps the joined value.  */
bool gasnete_barrier_leave(gasnete_barrier_state_t *state, gasnete_barrier_value_t expected);

/* Conversion of a message to two words, no byte of the first above 63, and back.  unpack returns
 * false if the words are not a message.  */
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
