/* software_device.h - the calls of core/ib to the software verbs device of this package
 * (other/softhca); network_ib.h and the shims know nothing of it.  Shared by this folder's .c files
 * only.
 *
 * net_alloc and net_free are in software_device.c too: on real devices they are anonymous memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Hands over this process's rank and the hosts of the job, before devices are listed. */
void net_ib_software_open(void);

/* True if the device of this name is the software device. */
bool net_ib_is_software(const char *name);

/* True if the software device writes a ring's trailer after all other bytes of a message, as
 * hca_in_order. */
bool net_ib_software_in_order(void);

/* True if the software device's registrations are charged against the limit on locked memory. */
bool net_ib_software_charges(void);

/* Open files that the software device keeps for each peer, one for each direction; a real device
 * has none. */
enum { NET_IB_SOFTWARE_DESCRIPTORS = 2 };

/* The connection manager of the software device (softhca_rdmacm), NULL if that is not on. */
typedef void (*net_ib_function_t)(void);
typedef net_ib_function_t (*net_ib_finder_t)(const char *name);
net_ib_finder_t net_ib_software_manager(void);

/* What to check when no port can be used: completes "check ...". */
const char *net_ib_software_advice(void);

/* Why a peer could not be reached, as one line; false if nothing was reported.  From the first call
 * on such lines are kept for this call and not written to stderr. */
bool net_ib_software_trouble(char *line, size_t size);
