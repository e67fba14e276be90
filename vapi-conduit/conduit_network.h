/* conduit_network.h - the network of vapi-conduit, for core/network.h. */
#include "vapi-conduit/vapi_shim.h"
/* The engine is written over the shim. */
#include "core/ib/network_ib.h"
