/* machine.h - the barrier of one rank, as a plain state machine: that of the job and those of
 * teams.
 *
 * A phase of the machine is a list of steps, made once.  A step sends a message to a rank, receives
 * one from a rank, or first sends and then receives:
 *   - The ranks of a supernode form a binomial tree.  A rank receives the values of its children,
 *     and sends its own value, joined with theirs, to its parent (UP).
 *   - The leaders of the supernodes, at the tops of the trees, disseminate their values: in round k
 *     leader i sends to leader (i + 2^k) mod N and receives from leader (i - 2^k) mod N.
 *   - The value of all ranks returns along the trees (DOWN).
 * A rank that is alone in its supernode is a leader without children.
 *
 * A value is: no rank named an id / all ranks that named one gave the same / mismatch.  Joining two
 * values is idempotent, so a rank may be counted twice when N is not a power of two.
 *
 * At most two phases overlap: a rank in phase k+1 has left phase k, so all ranks have notified
 * phase k, and all messages of phase k-1 were received before that.  The lowest bit of the phase
 * number, its parity, distinguishes them.
 *
 * No I/O, no lock, no globals: barrier.c runs it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "extended-ref/topology.h"

enum gasnete_barrier_kind {
    GASNETE_BARRIER_NONE,     /* no rank named an id */
    GASNETE_BARRIER_NAMED,    /* all ranks that named an id gave `id` */
    GASNETE_BARRIER_MISMATCH, /* two ids differ, or a rank passed GASNET_BARRIERFLAG_MISMATCH */
};

typedef struct gasnete_barrier_value {
    enum gasnete_barrier_kind kind;
    int32_t id; /* NAMED only */
} gasnete_barrier_value_t;

/* Slots of a receiver, one for each message of a phase.  A leader has slot k for round k; every
 * other rank has slot DOWN.  UP + i is for the i-th child. */
enum {
    GASNETE_BARRIER_DOWN = 0,
    GASNETE_BARRIER_UP = 32,
    GASNETE_BARRIER_SLOTS = 64,
    GASNETE_BARRIER_STEPS = 96
};

typedef struct gasnete_barrier_message {
    uint32_t to;    /* rank of the receiver; not sent */
    uint8_t parity; /* of the phase */
    uint8_t slot;   /* of the receiver */
    gasnete_barrier_value_t value;
} gasnete_barrier_message_t;

#define GASNETE_BARRIER_NOBODY UINT32_MAX

typedef struct gasnete_barrier_step {
    uint32_t to, from; /* ranks, or GASNETE_BARRIER_NOBODY */
    uint8_t slot;      /* of `to` */
} gasnete_barrier_step_t;

enum gasnete_barrier_stage {
    GASNETE_BARRIER_SHUT, /* zeroed: not made yet; or no phase may be entered */
    GASNETE_BARRIER_OUTSIDE,
    GASNETE_BARRIER_INSIDE,  /* between notify and the wait that ends it */
    GASNETE_BARRIER_COMPLETE /* INSIDE, and `value` covers all ranks */
};

typedef struct gasnete_barrier_state {
    enum gasnete_barrier_stage stage;
    uint8_t children; /* the first steps, which receive from children */
    uint8_t slots;    /* the steps behind them, which receive in the slots from 0 on */
    uint8_t steps;    /* of a phase */
    uint8_t parity;   /* of the phase entered last */
    uint8_t done;     /* steps of the phase that are complete */
    bool sent;        /* the message of step `done` has been handed out */
    bool waits;       /* a message must arrive first, of rank `awaited` in `slot` */
    uint8_t slot;
    uint32_t awaited;
    gasnete_barrier_value_t value; /* of the phase entered last */
    uint64_t arrived[2]; /* by parity: bit s is set while inbox[parity][s] waits to be joined */
    gasnete_barrier_step_t step[GASNETE_BARRIER_STEPS];
    gasnete_barrier_value_t inbox[2][GASNETE_BARRIER_SLOTS];
} gasnete_barrier_state_t;

/* A rank among those of its barrier. */
typedef struct gasnete_barrier_shape {
    uint32_t rank, size;
    const gasnete_topology_t *topology; /* NULL: each rank is alone in its supernode */
    const uint32_t *nodes; /* [size] the job's ranks, which messages name; NULL: the same */
    bool words; /* the ranks of a supernode count in words: only its leader has steps, and one
                   child, itself, which stands for the ranks that count */
} gasnete_barrier_shape_t;

/* The value of two sets of ranks together.  */
gasnete_barrier_value_t gasnete_barrier_join(gasnete_barrier_value_t a, gasnete_barrier_value_t b);

/* The least k such that 2^k is not less than `count`. */
uint8_t gasnete_barrier_rounds(uint32_t count);

void gasnete_barrier_init(gasnete_barrier_state_t *state, const gasnete_barrier_shape_t *shape);

/* Enters the next phase with this rank's value.  false, and nothing is changed, if this rank has
 * not left the last phase.  */
bool gasnete_barrier_enter(gasnete_barrier_state_t *state, gasnete_barrier_value_t mine);

/* Takes a message of a rank; messages may arrive at any time and in any order.  false if the
 * message violates the protocol.  */
bool gasnete_barrier_receive(gasnete_barrier_state_t *state, uint32_t from,
                             const gasnete_barrier_message_t *message);

/* Takes the value of the message that is awaited, which has arrived by other means. */
void gasnete_barrier_take(gasnete_barrier_state_t *state, gasnete_barrier_value_t value);

/* Called after enter, receive and take, until it returns false: true with the next message to send.
 * After false, either the stage is COMPLETE or a message must arrive first.  The messages may be
 * sent in any order.  */
bool gasnete_barrier_go_on(gasnete_barrier_state_t *state, gasnete_barrier_message_t *message);
static inline bool gasnete_barrier_next(gasnete_barrier_state_t *state,
                                        gasnete_barrier_message_t *message)
{
    return !state->waits && gasnete_barrier_go_on(state, message);
}

/* Leaves a complete phase; `expected` is the value of the wait (NONE: anonymous).  Returns true if
 * the values match; state->value keeps the joined value.  */
bool gasnete_barrier_leave(gasnete_barrier_state_t *state, gasnete_barrier_value_t expected);

/* Conversion of a message to two words, no byte of the first above 63, and back.  unpack returns
 * false if the words are not a message.  */
static inline void gasnete_barrier_pack(const gasnete_barrier_message_t *message, int32_t words[2])
{
    words[0] = (int32_t)((uint32_t)message->value.kind << 16 | (uint32_t)message->parity << 8 |
                         message->slot);
    words[1] = message->value.id;
}

static inline bool gasnete_barrier_unpack(const int32_t words[2],
                                          gasnete_barrier_message_t *message)
{
    uint32_t kind = (uint32_t)words[0] >> 16;
    uint32_t parity = (uint32_t)words[0] >> 8 & 0xff;
    uint32_t slot = (uint32_t)words[0] & 0xff;
    if (kind > GASNETE_BARRIER_MISMATCH || parity > 1 || slot >= GASNETE_BARRIER_SLOTS)
        return false;
    message->to = 0;
    message->parity = (uint8_t)parity;
    message->slot = (uint8_t)slot;
    message->value = (gasnete_barrier_value_t){(enum gasnete_barrier_kind)kind, words[1]};
    return true;
}
