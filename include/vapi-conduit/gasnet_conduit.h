/* gasnet_conduit.h - definitions specific to vapi-conduit (Mellanox VAPI).
 *
 * Private part of gasnet.h.  A client selects its conduit by the include path on which this file is
 * found.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_conduit.h is private: include gasnet.h"
#endif
#define GASNET_CONDUIT_NAME     VAPI
#define GASNET_CONDUIT_NAME_STR "VAPI"
#undef GASNET_CONDUIT_VAPI
#define GASNET_CONDUIT_VAPI        1
#define GASNETI_WORD_CONDUIT(name) name##_VAPI
#define GASNETI_LAUNCHER           "gasnetrun_vapi"
#include "gasnet_conduit_common.h"
