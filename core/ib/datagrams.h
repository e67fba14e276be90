/* datagrams.h - the one queue pair for datagrams that each process has, on its first port. */
#ifndef NET_IB_DATAGRAMS_H
#define NET_IB_DATAGRAMS_H

#include <stdbool.h>

#include "core/ib/rail.h"

/* For datagrams of up to `length` bytes from `peers` processes.  False with the reason. */
bool net_ib_datagrams_open(uint32_t peers, uint32_t length, char *why, size_t why_size);
void net_ib_datagrams_close(void);

/* Where this process's are received. */
hca_ud_addr_t net_ib_datagrams_address(void);

/* The address handle of a process, NULL with errno when there is none. */
hca_ah_t net_ib_datagrams_way(const hca_ud_addr_t *to);

/* Sends what may be lost, to a process of this rank; 0 or an errno. */
int net_ib_datagram_send(hca_ah_t ah, const hca_ud_addr_t *to, uint32_t rank, const void *bytes,
                         uint32_t length);

/* Whether one of them could not leave: the first, to which rank and why.  The queue pair sends no
 * more then.  Seen by net_ib_datagram_take. */
bool net_ib_datagram_failure(uint32_t *rank, hca_failure_t *failure);

/* Copies the next one that has arrived; how long it is, -1 when there is none. */
int net_ib_datagram_take(void *bytes, uint32_t room);

/* What arrives from now on ends net_ib_datagrams_sleep, as do net_ib_datagrams_wake, by any thread,
 * and so many seconds: below 0 is for ever. */
void net_ib_datagrams_arm(void);
void net_ib_datagrams_sleep(double seconds);
void net_ib_datagrams_wake(void);

#endif
