/* rings.h - rings for Active Messages in the simulated network: network.c's use of rings.c. */
#ifndef SIM_RINGS_H
#define SIM_RINGS_H

#include "core/ib/amrdma_choice.h"
#include "tests/sim/job.h"

/* The word that accompanies a message, or the slot that it is written to. */
typedef struct sim_aim {
    bool write;      /* into slot `number` of the peer's ring, trailer included */
    bool marked;     /* `word` goes beside it */
    uint32_t number; /* of the message in its ring */
    uint32_t word;
    size_t length; /* with padding and trailer, for a write */
} sim_aim_t;

void sim_rings_begin(void);

/* A message of `length` bytes is about to leave; a trailer is written behind it where it goes by a
 * ring. */
sim_aim_t sim_rings_aim(net_peer_t *peer, char *data, bool inlined, size_t length);

/* Bytes from..to of a write arrive at the receiver, whose record of the sender this is. */
void sim_rings_write(net_peer_t *peer, const sim_aim_t *aim, const char *src, size_t from,
                     size_t to);

/* A message that was sent is taken by the receiver. */
void sim_rings_heard(net_peer_t *peer, const sim_aim_t *aim, size_t length);

/* The next message in the ring from this peer, if it is there: its number, and where it is. */
bool sim_rings_take(net_peer_t *peer, uint32_t *number, char **data, uint32_t *length);

void sim_rings_release(net_peer_t *peer, uint32_t number);

/* The peers that have a ring in a node's memory. */
uint32_t sim_rings_given(uint32_t node);
net_peer_t *sim_rings_giver(uint32_t node, uint32_t index);

#endif
