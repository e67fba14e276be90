/* host_addresses.h - a job that spans hosts tells the software verbs device which hosts these are,
 * and a network that calls hosts by their IPv4 addresses by which of them this one is known.
 *
 * Whoever started it: no launcher knows by which addresses its hosts reach each other.  Where a job
 * has real devices nobody looks at what is set here.
 */
#ifndef GASNETC_SPAN_H
#define GASNETC_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "other/spawner/bootstrap.h"

/* An address of an interface, with the length of its network's prefix in bits. */
typedef struct gasnetc_address {
    uint8_t length; /* 4 or 16 bytes; 0: none */
    uint8_t prefix;
    uint8_t bytes[16];
} gasnetc_address_t;

enum { GASNETC_SPAN_ADDRESSES = 6 };

/* What a process tells the others. */
typedef struct gasnetc_site {
    gasnetc_address_t addresses[GASNETC_SPAN_ADDRESSES];
    uint8_t secret[16]; /* rank 0's is used */
} gasnetc_site_t;

/* One address for each of `count` hosts: of a network that all are on, else one that no other host
 * has too.  false: there is none.  `chosen` has room for `count`. */
bool gasnetc_span_choose(const gasnetc_site_t *const *hosts, uint32_t count,
                         gasnetc_address_t *chosen);

/* Collective; to be called before the device is looked at. */
void gasnetc_span_tell(const struct bootstrap_job *job);

/* After that: this host's IPv4 address that leads to the others; "" when not all hosts have one,
 * NULL when the job is on one host, or was told SOFTHCA_HOSTS. */
const char *gasnetc_span_ipv4(void);

#endif
