/* conduit_network.h - the network of vapi-conduit, for core/network.h. */
#include "vapi-conduit/vapi_shim.h"
/* The engine needs the shim before it. */
#include "core/ib/network_ib.h"
