/* conduit_network.h - the network of ibv-conduit, for core/network.h. */
#include "ibv-conduit/ibv_shim.h"
/* The engine needs the shim before it. */
#include "core/ib/network_ib.h"
