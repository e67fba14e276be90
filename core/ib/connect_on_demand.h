/* connect_on_demand.h - connections at first use. */
#ifndef NET_IB_CONNECT_ON_DEMAND_H
#define NET_IB_CONNECT_ON_DEMAND_H

#include <stddef.h>
#include <stdint.h>

/* Starts the thread, for a job of `processes`.  `why`: the reason if peers cannot be connected at
 * first use; else "".
 */
void net_ib_on_demand_open(uint32_t processes, char *why, size_t why_size);

/* Ends the thread, if it was started. */
void net_ib_on_demand_close(void);

#endif
