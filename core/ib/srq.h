/* srq.h - one receive queue for all peers, where each peer's own buffers would be too many
 * (IB-W4).  Shared by this folder's .c files only; what the hot paths must know is net_ib.shared.
 */
#ifndef NET_IB_SHARED_H
#define NET_IB_SHARED_H

#include "core/ib/rail.h"

/* Settles whether to share, knowing how many buffers peers of their own would have in all, and for
 * how many Replies there is to be room.  Sets net_ib.shared, and makes queues and buffers.  Returns
 * how many receives may be complete at once on each device; 0: peers have buffers of their own. */
uint32_t net_ib_shared_open(uint64_t own, uint32_t replies);
void net_ib_shared_close(void);

/* What queue pairs on this device are to be made with. */
hca_srq_t net_ib_shared_queue(uint32_t hca);

/* Before anything can arrive on it: the peer's queue pair for messages.  By one thread at a time.
 */
void net_ib_shared_enter(const net_qp_t *qp);

/* As net_arrivals, from all devices, `first` of them first; the poll lock is held. */
unsigned net_ib_shared_arrivals(uint32_t first, net_message_t **messages, unsigned budget,
                                unsigned *systems);

/* Room for one Reply; false if there is none. */
bool net_ib_shared_reply_room(void);

/* For net_counts. */
uint32_t net_ib_shared_buffers(void);
extern _Atomic uint64_t net_ib_drained;

#endif
