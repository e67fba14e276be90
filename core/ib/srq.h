/* srq.h - one receive queue for all peers, where buffers for each peer would be too many (IB-W4).
 * Shared by this folder's .c files only; the hot paths test net_ib.shared.
 */
#pragma once

#include "core/ib/rail.h"
#include "core/ib/srq_policy.h"

/* Spares beyond GASNET_AM_SPARES: the messages of one poll. */
enum { NET_IB_SHARED_IN_HAND = NET_DELIVER_MAX };

/* Makes queues and buffers as planned, and sets net_ib.shared.  0, or the error by which a device
 * refused a queue, if none was demanded by GASNET_USE_SRQ=1: each peer is to have its own queue
 * then. */
int net_ib_shared_open(const net_ib_recv_plan_t *plan);
void net_ib_shared_close(void);

/* The queue for queue pairs on this device; NULL if peers do not share. */
hca_srq_t net_ib_shared_queue(uint32_t hca);

/* Enters the peer's queue pair for Active Messages, before messages can arrive on it.  By one
 * thread at a time. */
void net_ib_shared_enter(const net_qp_t *qp);

/* net_arrivals from all devices, beginning with `first`; the poll lock is held. */
unsigned net_ib_shared_arrivals(uint32_t first, net_message_t **messages, unsigned budget,
                                unsigned *systems);

/* Reserves a receive buffer for one Reply; false if none is left. */
bool net_ib_shared_reply_recv(void);

/* Buffers in all queues, for net_counts. */
uint32_t net_ib_shared_buffers(void);
