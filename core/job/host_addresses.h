/* host_addresses.h - the addresses by which the hosts of a job reach each other.  Part of the
 * contract with the networks: a device that reaches hosts by their IP addresses asks here.
 *
 * No launcher knows these addresses, so the processes find them together, however they were
 * started.  A network whose devices have addresses of their own ignores them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "other/launch/bootstrap.h"

/* An address of an interface, with the length of its network's prefix in bits. */
typedef struct gasnetc_address {
    uint8_t length; /* 4 or 16 bytes; 0: no address */
    uint8_t prefix;
    uint8_t bytes[16];
} gasnetc_address_t;

enum { GASNETC_HOST_ADDRESSES = 6 };

/* The record that each process contributes to the search. */
typedef struct gasnetc_site {
    gasnetc_address_t addresses[GASNETC_HOST_ADDRESSES];
} gasnetc_site_t;

/* Pure: chooses one address for each of `count` hosts: of a network that all hosts are on, or else
 * any address that no other host has.  False if some host has no such address.  `chosen` has
 * `count` elements. */
bool gasnetc_hosts_choose(const gasnetc_site_t *const *hosts, uint32_t count,
                          gasnetc_address_t *chosen);

/* Finds the addresses.  Collective, in gasnet_init and before net_open. */
void gasnetc_hosts_find(const struct bootstrap_job *job);

/* The addresses of all hosts, with commas between them.  NULL: the job is on one host; "": no
 * addresses were found by which all hosts reach each other. */
const char *gasnetc_hosts_list(void);

/* This host's IPv4 address that leads to the others; "" when not all hosts have one, NULL without
 * a list. */
const char *gasnetc_hosts_ipv4(void);
