/* kin_barrier.c - the state machine of kin_barrier.h.  Pure.
 */
#include "extended-ref/teams/kin_barrier.h"

static bool leads(const gasnete_kin_barrier_t *barrier)
{
    return barrier->kin.near.v == 0;
}

void gasnete_kin_barrier_init(gasnete_kin_barrier_t *barrier, uint32_t rank, uint32_t size,
                              const gasnete_coll_supernodes_t *supernodes)
{
    const gasnete_coll_plan_t plan = {.kind = GASNETE_COLL_BARRIER,
                                      .algorithm = GASNETE_COLL_DISSEMINATION,
                                      .rank = rank,
                                      .size = size,
                                      .radix = 2,
                                      .supernodes = supernodes};
    *barrier = (gasnete_kin_barrier_t){.kin = gasnete_coll_kin(&plan, rank)};
    if (!leads(barrier)) barrier->parent = gasnete_coll_parent_rank(&plan, &barrier->kin);
    gasnete_barrier_init(&barrier->far, supernodes->of[rank], supernodes->count);
}

void gasnete_kin_barrier_enter(gasnete_kin_barrier_t *barrier, gasnete_barrier_value_t mine)
{
    barrier->stage = GASNETE_KIN_GATHERS;
    barrier->parity ^= 1;
    barrier->told = 0;
    barrier->value = mine;
}

/* The rank of the leader of a supernode. */
static uint32_t leader_of(const gasnete_kin_barrier_t *barrier, uint32_t supernode)
{
    return barrier->kin.by->ranks[barrier->kin.by->first[supernode]];
}

static uint32_t child_at(const gasnete_kin_barrier_t *barrier, uint32_t i)
{
    return gasnete_coll_child_rank(&barrier->kin, gasnete_coll_child(&barrier->kin, i));
}

bool gasnete_kin_barrier_fits(const gasnete_kin_barrier_t *barrier, uint32_t rank, uint8_t step)
{
    if (step == GASNETE_BARRIER_DOWN) return !leads(barrier) && rank == barrier->parent;
    if (step != GASNETE_BARRIER_UP)
        return leads(barrier) && step < barrier->far.steps &&
               rank == leader_of(barrier, gasnete_barrier_from(&barrier->far, step));
    for (uint32_t i = 0; i < barrier->kin.near.children; i++)
        if (rank == child_at(barrier, i)) return true;
    return false;
}

bool gasnete_kin_barrier_receive(gasnete_kin_barrier_t *barrier,
                                 const gasnete_barrier_message_t *message)
{
    const uint8_t parity = message->parity;
    switch (message->step) {
    case GASNETE_BARRIER_UP:
        if (barrier->arrived[parity] == barrier->kin.near.children) return false;
        if (barrier->arrived[parity]++)
            barrier->gathered[parity] =
                gasnete_barrier_join(barrier->gathered[parity], message->value);
        else
            barrier->gathered[parity] = message->value;
        return true;
    case GASNETE_BARRIER_DOWN:
        if (leads(barrier) || barrier->ended[parity]) return false;
        barrier->ended[parity] = true;
        barrier->all[parity] = message->value;
        return true;
    default:
        return leads(barrier) && gasnete_barrier_receive(&barrier->far, message);
    }
}

/* Joins the values of the children, which all have sent UP.  True with the message to the parent.
 */
static bool gathered(gasnete_kin_barrier_t *barrier, gasnete_barrier_message_t *message)
{
    const uint8_t parity = barrier->parity;
    if (barrier->arrived[parity])
        barrier->value = gasnete_barrier_join(barrier->value, barrier->gathered[parity]);
    barrier->arrived[parity] = 0;
    barrier->stage = GASNETE_KIN_AMONG;
    if (leads(barrier)) gasnete_barrier_enter(&barrier->far, barrier->value);
    *message =
        (gasnete_barrier_message_t){barrier->parent, parity, GASNETE_BARRIER_UP, barrier->value};
    return !leads(barrier);
}

/* The stage in which a leader exchanges messages with the other leaders, and another rank waits for
 * its parent.  True with a message to a leader. */
static bool among(gasnete_kin_barrier_t *barrier, gasnete_barrier_message_t *message)
{
    const uint8_t parity = barrier->parity;
    if (leads(barrier) && gasnete_barrier_next(&barrier->far, message)) {
        message->to = leader_of(barrier, message->to);
        return true;
    }
    if (leads(barrier) ? !barrier->far.complete : !barrier->ended[parity]) return false;
    barrier->value = leads(barrier) ? barrier->far.value : barrier->all[parity];
    if (leads(barrier)) gasnete_barrier_leave(&barrier->far, barrier->value);
    barrier->ended[parity] = false;
    barrier->stage = GASNETE_KIN_TELLS;
    return false;
}

/* Sends DOWN to the children, the child with the largest subtree first.  True with a message. */
static bool tells(gasnete_kin_barrier_t *barrier, gasnete_barrier_message_t *message)
{
    const uint32_t children = barrier->kin.near.children;
    if (barrier->told == children) {
        barrier->stage = GASNETE_KIN_COMPLETE;
        return false;
    }
    barrier->told++;
    *message = (gasnete_barrier_message_t){child_at(barrier, children - barrier->told),
                                           barrier->parity, GASNETE_BARRIER_DOWN, barrier->value};
    return true;
}

bool gasnete_kin_barrier_next(gasnete_kin_barrier_t *barrier, gasnete_barrier_message_t *message)
{
    if (barrier->stage == GASNETE_KIN_GATHERS) {
        if (barrier->arrived[barrier->parity] < barrier->kin.near.children) return false;
        if (gathered(barrier, message)) return true;
    }
    if (barrier->stage == GASNETE_KIN_AMONG && among(barrier, message)) return true;
    return barrier->stage == GASNETE_KIN_TELLS && tells(barrier, message);
}

bool gasnete_kin_barrier_leave(gasnete_kin_barrier_t *barrier)
{
    if (barrier->stage != GASNETE_KIN_COMPLETE) return false;
    barrier->stage = GASNETE_KIN_OUTSIDE;
    return true;
}
