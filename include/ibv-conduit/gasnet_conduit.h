/* gasnet_conduit.h - what a client sees differently from one conduit to the next: InfiniBand verbs.
 *
 * Private part of gasnet.h, found through the include path, which is how a client selects its
 * conduit.
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
