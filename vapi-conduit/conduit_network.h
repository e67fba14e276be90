/* conduit_network.h - the network of vapi-conduit, for core/network.h. */
#include "vapi-conduit/vapi_shim.h"
/* network_ib.h needs the shim to be included before. */
#include "core/ib/network_ib.h"
