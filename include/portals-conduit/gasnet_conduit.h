/* gasnet_conduit.h - definitions specific to portals-conduit (Portals 3.3).
 *
 * Private part of gasnet.h.  A client selects its conduit by the include path on which this file is
 * found.
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
/* A Medium and its header, 72 bytes at most, fit in one chunk: 2048 bytes unless configured as
 * 1024. */
#define GASNETC_MAX_MEDIUM (GASNETI_PORTALS_CHUNK - 72)
#include "gasnet_conduit_common.h"
