/* conduit_network.h - the network that tests/unit drives by a script, for core/network.h. */
#include "tests/unit/script/network_script.h"
