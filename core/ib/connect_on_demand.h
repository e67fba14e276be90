/* connect_on_demand.h - connections at first use: the engine around handshake.h. */
#ifndef NET_IB_GREETER_H
#define NET_IB_GREETER_H

#include <stddef.h>
#include <stdint.h>

/* For a job of so many processes.  Says in `why` if and why peers cannot be connected when first
 * used; else "".  net_close undoes it by net_ib_greeter_close, which may be called at any time. */
void net_ib_greeter_open(uint32_t processes, char *why, size_t why_size);
void net_ib_greeter_close(void);

#endif
