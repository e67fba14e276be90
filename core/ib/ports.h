/* ports.h - GASNET_IBV_PORTS / GASNET_VAPI_PORTS: which ports may be used (IB-C3), and how many of
 * them. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Checks the form `HCA[:port,port...][+HCA...]`; false with one line in `why` when it is bad. */
bool net_ib_ports_check(const char *filter, char *why, size_t why_size);

enum net_ib_port_rule {
    NET_IB_PORT_NO,          /* the filter excludes this port */
    NET_IB_PORT_YES,         /* named by number */
    NET_IB_PORT_FIRST_ACTIVE /* the device is named without ports: its first active one */
};

/* The rule of the filter for a port; NULL or "" admits the first active port of every device. */
enum net_ib_port_rule net_ib_ports_rule(const char *filter, const char *device, unsigned port);

/* The most ports to open: `limit`, and no more than the queue pairs `qps` that the user asks for
 * each peer (0: not set), since none would use the other ports (IB-C9). */
uint32_t net_ib_ports_most(int64_t qps, uint32_t limit);

/* An existing port. */
struct net_ib_port_name {
    char device[64];
    unsigned port;
};

/* Writes the filter's entries that match none of the ports, separated by commas; "" if all match.
 */
void net_ib_ports_unmatched(const char *filter, const struct net_ib_port_name *ports, size_t count,
                            char *text, size_t size);
