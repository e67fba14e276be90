/* gasnet_conduit.h - what a client sees differently from one conduit to the next: Portals 3.3.
 *
 * Private part of gasnet.h, found through the include path, which is how a client selects its
 * conduit.  Names and numbers only; no network header.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_conduit.h is private: include gasnet.h"
#endif
#ifndef GASNETI_CONDUIT_H
#define GASNETI_CONDUIT_H

#define GASNET_CONDUIT_NAME     PORTALS
#define GASNETI_LAUNCHER        "gasnetrun_portals"
#define GASNET_CONDUIT_NAME_STR "PORTALS"
#define GASNET_CONDUIT_PORTALS  1

#define GASNET_CORE_NAME            PORTALS
#define GASNET_CORE_NAME_STR        "PORTALS"
#define GASNET_CORE_VERSION         2.0
#define GASNET_CORE_VERSION_STR     "2.0"
#define GASNET_EXTENDED_NAME        REFERENCE
#define GASNET_EXTENDED_NAME_STR    "REFERENCE"
#define GASNET_EXTENDED_VERSION     2.0
#define GASNET_EXTENDED_VERSION_STR "2.0"

#define GASNET_MAXNODES         65535
#define GASNETC_NODE_TYPE       uint16_t
#define GASNET_ALIGNED_SEGMENTS 0 /* nodes' segments may lie at different addresses */
#define GASNET_PSHM             0 /* no memory is shared between nodes of one host */
#define GASNET_NULL_ARGV_OK     1

/* Message limits in bytes.  A Medium travels in one chunk of 2048 bytes less the largest header. */
#define GASNETC_MAX_ARGS         16
#define GASNETC_MAX_MEDIUM       1976
#define GASNETC_MAX_LONG_REQUEST 0x7fffffff
#define GASNETC_MAX_LONG_REPLY   0x7fffffff

/* Most client threads alive at once in one node (PARSYNC and PAR). */
#define GASNETC_MAX_THREADS 256

#endif
