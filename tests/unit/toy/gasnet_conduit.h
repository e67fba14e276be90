/* gasnet_conduit.h - the conduit of tests/unit/reference.c: one with nothing but the Core API, and
 * with limits so small that transfers of some kilobytes take many messages.
 */
#ifndef GASNETI_CONDUIT_H
#define GASNETI_CONDUIT_H

#define GASNET_CONDUIT_NAME        TOY
#define GASNETI_WORD_CONDUIT(name) name##_TOY
#define GASNET_CONDUIT_NAME_STR    "TOY"

#define GASNET_CORE_NAME            TOY
#define GASNET_CORE_NAME_STR        "TOY"
#define GASNET_CORE_VERSION         1.0
#define GASNET_CORE_VERSION_STR     "1.0"
#define GASNET_EXTENDED_NAME        REFERENCE
#define GASNET_EXTENDED_NAME_STR    "REFERENCE"
#define GASNET_EXTENDED_VERSION     2.0
#define GASNET_EXTENDED_VERSION_STR "2.0"

#define GASNET_MAXNODES         2
#define GASNET_ALIGNED_SEGMENTS 0
#define GASNET_PSHM             0
#define GASNET_NULL_ARGV_OK     1

#define GASNETC_MAX_ARGS         16
#define GASNETC_MAX_MEDIUM       512
#define GASNETC_MAX_LONG_REQUEST 7000
#define GASNETC_MAX_LONG_REPLY   5000

#define GASNETC_MAX_THREADS 1

#endif
