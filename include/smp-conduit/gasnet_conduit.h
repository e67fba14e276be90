/* gasnet_conduit.h - definitions specific to smp-conduit (memory shared within one host).
 *
 * Private part of gasnet.h.  A client selects its conduit by the include path on which this file is
 * found.
 */
#ifndef GASNETI_IN_GASNET_H
#error "gasnet_conduit.h is private: include gasnet.h"
#endif
#define GASNET_CONDUIT_NAME     SMP
#define GASNET_CONDUIT_NAME_STR "SMP"
#undef GASNET_CONDUIT_SMP
#define GASNET_CONDUIT_SMP         1
#define GASNETI_WORD_CONDUIT(name) name##_SMP
#define GASNETI_LAUNCHER           "gasnetrun_smp"
#include "gasnet_conduit_common.h"
