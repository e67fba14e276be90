/* conduit_network.h - the network of the simulator, for core/network.h. */
#include "tests/sim/network/network_sim.h"
