/* datagrams.h - the one UD queue pair that each process has, on its first port. */
#pragma once

#include <stdbool.h>

#include "core/ib/rail.h"

/* Opens the queue pair for datagrams of up to `length` bytes from `peers` processes.  False with
 * the reason. */
bool net_ib_datagrams_open(uint32_t peers, uint32_t length, char *why, size_t why_size);
void net_ib_datagrams_close(void);

/* The address to which peers send datagrams. */
hca_ud_addr_t net_ib_datagrams_address(void);

/* An address handle for the first port of a process; NULL with errno. */
hca_ah_t net_ib_datagram_ah(const hca_route_t *route);

/* Sends to the process of this rank a datagram, which may be lost.  0 or an errno. */
int net_ib_datagram_send(hca_ah_t ah, const hca_ud_addr_t *to, uint32_t rank, const void *bytes,
                         uint32_t length);

/* True if a send has completed with an error; for the first such send, to which rank and why.  The
 * queue pair is in error state then.  Completions are taken by net_ib_datagram_take. */
bool net_ib_datagram_failure(uint32_t *rank, hca_failure_t *failure);

/* Copies the next datagram that was received; returns its length, or -1 when none is left. */
int net_ib_datagram_take(void *bytes, uint32_t room);

/* net_ib_datagrams_sleep ends when a datagram arrives after net_ib_datagrams_arm, when any thread
 * calls net_ib_datagrams_wake, or after `seconds`; below 0: no limit. */
void net_ib_datagrams_arm(void);
void net_ib_datagrams_sleep(double seconds);
void net_ib_datagrams_wake(void);
