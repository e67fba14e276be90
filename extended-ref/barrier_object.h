/* barrier_object.h - one barrier of this rank: the state machine of barrier_state.h with its lock
 * and the result of the last phase.
 *
 * barrier.c has the job's barrier, teams/team_barrier.c one for each team.  These files send and
 * find the messages, which differ.  The functions are inline because the address of the job's
 * barrier is a constant.  None of them sends or waits.
 */
#ifndef GASNETE_BARRIER_OBJECT_H
#define GASNETE_BARRIER_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/lock.h"
#include "extended-ref/barrier_state.h"
#include "gasnet.h"

typedef struct gasnete_barrier {
    atomic_bool complete; /* the phase that this rank is in is complete */
    gasneti_lock_t lock;
    gasnete_barrier_state_t state;
    gasnete_barrier_value_t result; /* of the phase that this rank left last */
} gasnete_barrier_t;

/* The value that a call with these arguments gives or expects.  */
static inline gasnete_barrier_value_t gasnete_barrier_value(int id, int flags)
{
    if (flags & GASNET_BARRIERFLAG_MISMATCH)
        return (gasnete_barrier_value_t){GASNETE_BARRIER_MISMATCH, 0};
    if (flags & GASNET_BARRIERFLAG_ANONYMOUS)
        return (gasnete_barrier_value_t){GASNETE_BARRIER_NONE, 0};
    return (gasnete_barrier_value_t){GASNETE_BARRIER_NAMED, id};
}

/* Enters the next phase, without sending.  False, and nothing is changed, if this rank is in a
 * phase.  */
static inline bool gasnete_barrier_object_enter(gasnete_barrier_t *barrier,
                                                gasnete_barrier_value_t mine)
{
    gasneti_lock(&barrier->lock);
    bool entered = gasnete_barrier_enter(&barrier->state, mine);
    if (entered) atomic_store_explicit(&barrier->complete, false, memory_order_relaxed);
    gasneti_unlock(&barrier->lock);
    return entered;
}

/* Takes a message that has arrived.  False if it violates the protocol. */
static inline bool gasnete_barrier_object_receive(gasnete_barrier_t *barrier,
                                                  const gasnete_barrier_message_t *message)
{
    gasneti_lock(&barrier->lock);
    bool good = gasnete_barrier_receive(&barrier->state, message);
    gasneti_unlock(&barrier->lock);
    return good;
}

/* True if this rank is in a phase.  */
static inline bool gasnete_barrier_object_notified(gasnete_barrier_t *barrier)
{
    gasneti_lock(&barrier->lock);
    bool notified = barrier->state.notified;
    gasneti_unlock(&barrier->lock);
    return notified;
}

static inline bool gasnete_barrier_object_complete(gasnete_barrier_t *barrier)
{
    return atomic_load_explicit(&barrier->complete, memory_order_acquire);
}

/* Leaves a complete phase: GASNET_OK or GASNET_ERR_BARRIER_MISMATCH.  */
static inline int gasnete_barrier_object_leave(gasnete_barrier_t *barrier,
                                               gasnete_barrier_value_t expected)
{
    gasneti_lock(&barrier->lock);
    bool match = gasnete_barrier_leave(&barrier->state, expected);
    barrier->result = barrier->state.value;
    gasneti_unlock(&barrier->lock);
    return match ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH;
}

/* Implements gasnet_barrier_result. */
static inline int gasnete_barrier_object_result(gasnete_barrier_t *barrier, int *id)
{
    gasneti_lock(&barrier->lock);
    gasnete_barrier_value_t result = barrier->result;
    gasneti_unlock(&barrier->lock);
    if (result.kind != GASNETE_BARRIER_NAMED) return 1;
    *id = result.id;
    return 0;
}

#endif
