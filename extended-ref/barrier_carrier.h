/* barrier_carrier.h - how a barrier's messages travel: Active Messages, or puts that mark the
 * notification (IB-W2).  GASNET_BARRIER chooses; barrier.c drives the state machine over either.
 */
#ifndef GASNETE_BARRIER_CARRIER_H
#define GASNETE_BARRIER_CARRIER_H

#include "extended-ref/barrier_state.h"

typedef struct gasnete_barrier_carrier {
    /* Not in a handler, no lock held; may poll. */
    void (*send)(const gasnete_barrier_message_t *message);
    /* The message that phase `parity` waits for at `step`, if it has arrived: the barrier's lock is
     * held.  NULL where messages announce themselves (gasnete_barrier_arrived). */
    bool (*collect)(uint8_t parity, uint8_t step, gasnete_barrier_message_t *message);
} gasnete_barrier_carrier_t;

extern const gasnete_barrier_carrier_t gasnete_barrier_am, gasnete_barrier_rdma;

/* A message has arrived; ends the job, naming the sender, when it cannot be one. */
void gasnete_barrier_arrived(uint32_t from, const gasnete_barrier_message_t *message);
void gasnete_barrier_bad(uint32_t from, uint32_t word) __attribute__((noreturn));

/* Attach, on every node. */
void gasnete_barrier_rdma_attach(uint8_t steps);

#endif
