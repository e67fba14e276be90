/* job.h - a simulated job: the real AM engine and put path for each of thousands of nodes, over
 * queue pairs that are lanes of the simulator.
 *
 * After every sleep of a node, and after every arrival, the invariant of credits.h is looked at for
 * the pairs concerned; a message that finds no receive buffer, or bytes that were reused too early,
 * fail the schedule.  job.c switches the engine's globals from node to node; network.c is the
 * network.
 */
#ifndef SIM_JOB_H
#define SIM_JOB_H

#include "core/job/job.h"
#include "tests/sim/sim.h"

typedef struct sim_job {
    uint32_t nodes;
    uint16_t credits, slack;
    uint32_t qps, depth;    /* queue pairs of each two nodes, and sends on each */
    uint32_t reply_buffers; /* of a node, for all it waits for */
    uint32_t shared;        /* receive buffers of a node that its peers share; 0: each its own */
    uint32_t spares, bbufs; /* of a node */
    uint32_t inline_max;
    bool ordered;         /* as caps.ordered tells */
    uint32_t ring_places; /* nodes that get a ring for their messages, at each; 0: no rings */
    uint32_t ring_slots, ring_limit, ring_cycle;
    uint32_t connecting; /* longest time from the first use to the connection; 0: from the start */
    bool ring_in_order;  /* which of two ways slots are released in */
    sim_link_t link;
    uint32_t bounce_limit, packed_limit;
    const uint32_t *supernode; /* of each node, as gasnet_getNodeInfo reports; NULL: its number */
} sim_job_t;

/* Begins a schedule's job; no node has a connection yet. */
void sim_job_begin(const sim_job_t *job);

/* Two nodes that will send to each other: each gets a record of the other. */
void sim_job_introduce(uint32_t a, uint32_t b);

/* The node's program: client calls, with polls that sleep when nothing is there.  Before each call
 * that may poll: sim_job_busy, if there is other work to do. */
void sim_job_script(uint32_t node, void (*script)(uint32_t node));
void sim_job_busy(void);

/* For what the job does not know of: called each time a node goes on, and each time it sleeps;
 * until the next sim_job_begin. */
void sim_job_exchange(void (*enter)(uint32_t node), void (*leave)(uint32_t node));

/* The end of each script: polls until no node has anything to do and no message is in flight. */
void sim_job_finish(void);

/* Every script has returned, or the schedule has failed for a deadlock, naming a node and what it
 * waits for; then everything is at rest, and each credit and each buffer is where it belongs. */
void sim_job_run(void);

/* The node whose engine runs; its record of a peer. */
uint32_t sim_job_me(void);
gasnetc_peer_t *sim_job_peer(uint32_t node, uint32_t peer);

/* `length` bytes that every node may write to, as if it were in the segment of each node. */
void *sim_job_remote(size_t length);

/* Messages since the schedule began. */
extern struct sim_job_sent {
    uint64_t requests, replies, hidden, moved, puts, gets, by_ring;
    uint64_t across; /* Requests with a payload to another supernode */
} sim_job_sent;

/* Between job.c and network.c. */
extern sim_job_t sim_the_job;
static inline uint32_t sim_job_supernode(uint32_t node)
{
    return sim_the_job.supernode ? sim_the_job.supernode[node] : node;
}
void sim_job_wake_all(void);
void sim_net_begin(void);
void sim_net_introduce(net_peer_t *peer);
void sim_net_look(net_peer_t *peer);
/* The record of this node, at the peer. */
net_peer_t *sim_net_mirror(const net_peer_t *peer);
bool sim_net_at_rest(void);

#endif
