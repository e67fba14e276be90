/* conduit_network.h - the network of ibv-conduit, for core/network.h. */
#include "ibv-conduit/ibv_shim.h"
/* network_ib.h needs the shim to be included before. */
#include "core/ib/network_ib.h"
