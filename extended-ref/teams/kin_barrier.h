/* kin_barrier.h - the barrier of a team of which some nodes share memory, as a plain state machine
 * of one node, run by team_barrier.c.
 *
 * The nodes of a supernode form a tree.  Each node sends its value, joined with the values of its
 * children, to its parent (UP).  The leaders at the top run the state machine of barrier_state.h
 * among themselves, and the value of the whole team returns along the trees (DOWN).  So each
 * supernode sends one message across the network in each step.
 *
 * A node enters a phase when all nodes have entered the previous one.  So messages of at most two
 * phases are in flight, and their parity distinguishes them.  No I/O, no lock, no globals.
 */
#ifndef GASNETE_KIN_BARRIER_H
#define GASNETE_KIN_BARRIER_H

#include "extended-ref/barrier_state.h"
#include "extended-ref/coll/plans/plan_parts.h"

/* Values of a message's `step` within a supernode. */
enum {
    GASNETE_BARRIER_UP = GASNETE_BARRIER_MAX_STEPS - 1,
    GASNETE_BARRIER_DOWN = GASNETE_BARRIER_MAX_STEPS - 2
};

enum gasnete_kin_stage {
    GASNETE_KIN_OUTSIDE,
    GASNETE_KIN_GATHERS, /* waits for its children */
    GASNETE_KIN_AMONG,   /* waits for the other leaders, or its parent */
    GASNETE_KIN_TELLS,   /* has messages for its children */
    GASNETE_KIN_COMPLETE
};

typedef struct gasnete_kin_barrier {
    plan_kin_t kin;
    uint32_t parent;             /* rank; unused in a leader */
    gasnete_barrier_state_t far; /* barrier of the leaders; used in a leader */
    enum gasnete_kin_stage stage;
    uint8_t parity;                      /* of the phase entered last */
    uint32_t told;                       /* children that have been sent DOWN */
    uint32_t arrived[2];                 /* UPs of children that wait to be joined */
    gasnete_barrier_value_t gathered[2]; /* their joined value */
    bool ended[2];                       /* DOWN of the parent has arrived */
    gasnete_barrier_value_t all[2];
    gasnete_barrier_value_t value; /* complete: of the whole team */
} gasnete_kin_barrier_t;

void gasnete_kin_barrier_init(gasnete_kin_barrier_t *barrier, uint32_t rank, uint32_t size,
                              const gasnete_coll_supernodes_t *supernodes);

/* Enters the next phase, after this node has left the last one.  */
void gasnete_kin_barrier_enter(gasnete_kin_barrier_t *barrier, gasnete_barrier_value_t mine);

/* True if the rank may send a message with this step.  */
bool gasnete_kin_barrier_fits(const gasnete_kin_barrier_t *barrier, uint32_t rank, uint8_t step);

/* Takes a message; messages may arrive at any time and in any order.  false if the message violates
 * the protocol.  */
bool gasnete_kin_barrier_receive(gasnete_kin_barrier_t *barrier,
                                 const gasnete_barrier_message_t *message);

/* Called after enter and receive, until it returns false: true with the next message to send.  */
bool gasnete_kin_barrier_next(gasnete_kin_barrier_t *barrier, gasnete_barrier_message_t *message);

/* Leaves the phase and returns true, if the phase is complete.  */
bool gasnete_kin_barrier_leave(gasnete_kin_barrier_t *barrier);

#endif
