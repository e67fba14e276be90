/* atomics.c - whether the devices execute remote atomics (net_atomic), decided at start-up. */
#include "core/ib/rail.h"
#include "core/log.h"
#include "core/params/params.h"

/* Why the device cannot be used for atomics; NULL: it can. */
static const char *atomics_missing(void)
{
    if (net_ib_rails.limits.atomics == HCA_ATOMICS_NONE) return "has no atomic operations";
    return net_ib_rails.manager ? "is connected by the RDMA connection manager" : NULL;
}

enum net_atomics net_ib_atomics_open(void)
{
    if (!gasnetc_params.atomics) return NET_NO_ATOMICS;
    const char *missing = atomics_missing();
    if (missing) {
        gasneti_info(network, "GASNET_ADAPTER_ATOMICS has no effect: %s %s", net_ib_rails.text,
                     missing);
        return NET_NO_ATOMICS;
    }
    net_ib.atomics = true;
    return net_ib_rails.limits.atomics == HCA_ATOMICS_GLOBAL ? NET_GLOBAL_ATOMICS
                                                             : NET_ADAPTER_ATOMICS;
}
