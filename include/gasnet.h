/* gasnet.h - the GASNet-1 Core and Extended API (specification 1.8), and with it GASNet-EX
 * (gasnetex.h).
 *
 * Every client includes this header before all others, gasnet_tools.h included, with exactly one of
 * GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR defined (by the build fragment).
 *
 * Phases: P0 before gasnet_init, P1 until gasnet_attach returns, P2 after it.  Unless its comment
 * says otherwise, a call is legal in P2, in client code (not in handlers, not with a lock held), in
 * any thread, and affects this node only.  Pointers must not be NULL unless the comment says so.
 */
#ifndef _INCLUDED_GASNET_H
#define _INCLUDED_GASNET_H

#include "gasnetex.h"

#define GASNETI_IN_GASNET_H 1
#include "gasnet_am.h"
#include "gasnet_extended.h"
#include "gasnet_vis.h"
#include "gasnet_coll.h"
#undef GASNETI_IN_GASNET_H
#endif
