/* barrier_transport.h - transport of barrier messages: Active Messages, or puts to words that the
 * receiver polls (IB-W2).  GASNET_BARRIER chooses one; barrier.c runs the state machine over
 * either.
 */
#ifndef GASNETE_BARRIER_TRANSPORT_H
#define GASNETE_BARRIER_TRANSPORT_H

#include "extended-ref/barrier_state.h"

typedef struct gasnete_barrier_transport {
    /* Sends a message; called outside handlers, without locks; may poll.  */
    void (*send)(const gasnete_barrier_message_t *message);
    /* True with the message that phase `parity` awaits at `step`, if it has arrived; called with
     * the barrier's lock held.  NULL for a transport that calls gasnete_barrier_arrived.  */
    bool (*collect)(uint8_t parity, uint8_t step, gasnete_barrier_message_t *message);
} gasnete_barrier_transport_t;

extern const gasnete_barrier_transport_t gasnete_barrier_am, gasnete_barrier_rdma;

/* Takes a message that has arrived.  An invalid message ends the job; the error names the sender.
 */
void gasnete_barrier_arrived(uint32_t from, const gasnete_barrier_message_t *message);
uint32_t gasnete_barrier_sender(uint8_t step); /* of the messages that are received in a step */
void gasnete_barrier_bad(uint32_t from, uint32_t word) __attribute__((noreturn));

/* Called by attach on every rank; `steps`: the number of steps in a phase.  */
void gasnete_barrier_rdma_attach(uint8_t steps);

#endif
