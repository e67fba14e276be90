/* conduit_network.h - the network of portals-conduit, for core/network.h. */
#include "portals-conduit/network_portals.h"
