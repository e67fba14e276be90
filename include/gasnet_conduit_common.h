/* gasnet_conduit_common.h - definitions that are the same in every conduit.
 *
 * Private part of gasnet.h, included at the end of each <conduit>-conduit/gasnet_conduit.h, which
 * may override the #ifndef ones.  Names and numbers only; no network header.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_conduit_common.h is private: include gasnet.h"
#endif
#ifndef GASNETI_CONDUIT_COMMON_H
#define GASNETI_CONDUIT_COMMON_H

#define GASNET_CORE_NAME            GASNET_CONDUIT_NAME
#define GASNET_CORE_NAME_STR        GASNET_CONDUIT_NAME_STR
#define GASNET_CORE_VERSION         2.0
#define GASNET_CORE_VERSION_STR     "2.0"
#define GASNET_EXTENDED_NAME        REFERENCE
#define GASNET_EXTENDED_NAME_STR    "REFERENCE"
#define GASNET_EXTENDED_VERSION     2.0
#define GASNET_EXTENDED_VERSION_STR "2.0"

#define GASNET_MAXNODES         65535 /* one less than a power of two: gasnet_pshm.h */
#define GASNET_ALIGNED_SEGMENTS 0     /* the nodes' segments may have different addresses */
#define GASNET_PSHM             GASNETI_PSHM
#define GASNET_NULL_ARGV_OK     1

/* Message limits in bytes.  A Medium and its header fit in one 4096-byte buffer.  */
#define GASNETC_MAX_ARGS 16
#ifndef GASNETC_MAX_MEDIUM
#define GASNETC_MAX_MEDIUM 4024
#endif
#define GASNETC_MAX_LONG_REQUEST 0x7fffffff
#if defined(GASNET_SEGMENT_FAST)
#define GASNETC_MAX_LONG_REPLY 0x7fffffff
#else
#define GASNETC_MAX_LONG_REPLY 4016 /* sent in one message: a handler cannot wait for pinning */
#endif

/* The default of GASNET_MAX_THREADS (PARSYNC and PAR).  */
#define GASNETC_MAX_THREADS 256

#endif
