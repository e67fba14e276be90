/* network_untold.h - net_arrived for networks whose NET_REAP_TELLS is 0.
 *
 * Included by the network's header.  The core does not reach the call, but a compiler that does not
 * optimise keeps it.
 */
#ifndef NETWORK_UNTOLD_H
#define NETWORK_UNTOLD_H

#include <stdbool.h>

static inline bool net_arrived(void)
{
    return true;
}

#endif
