/* conduit_network.h - the network of ibv-conduit, for core/network.h. */
#include "ibv-conduit/ibv_shim.h"
/* The engine is written over the shim. */
#include "core/ib/network_ib.h"
