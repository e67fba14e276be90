/* gasnet_conduit.h - what a client sees differently from one conduit to the next: Portals 3.3.
 *
 * Private part of gasnet.h, found through the include path, which is how a client selects its
 * conduit.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_conduit.h is private: include gasnet.h"
#endif
#define GASNET_CONDUIT_NAME     PORTALS
#define GASNET_CONDUIT_NAME_STR "PORTALS"
#undef GASNET_CONDUIT_PORTALS
#define GASNET_CONDUIT_PORTALS     1
#define GASNETI_WORD_CONDUIT(name) name##_PORTALS
#define GASNETI_LAUNCHER           "gasnetrun_portals"
/* A Medium travels in one chunk of 2048 bytes less the largest header. */
#define GASNETC_MAX_MEDIUM 1976
#include "gasnet_conduit_common.h"
