/* gasnet_conduit.h - definitions specific to ibv-conduit (InfiniBand verbs).
 *
 * Private part of gasnet.h.  A client selects its conduit by the include path on which this file is
 * found.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_conduit.h is private: include gasnet.h"
#endif
#define GASNET_CONDUIT_NAME     IBV
#define GASNET_CONDUIT_NAME_STR "IBV"
#undef GASNET_CONDUIT_IBV
#define GASNET_CONDUIT_IBV         1
#define GASNETI_WORD_CONDUIT(name) name##_IBV
#define GASNETI_LAUNCHER           "gasnetrun_ibv"
#include "gasnet_conduit_common.h"
