/* gasnet_ratomic.h - GASNet-EX: remote atomics.  Their calls are not in this release; the types and
 * operations are in gasnet_fwd.h.
 */
#ifndef _INCLUDED_GASNET_RATOMIC_H
#define _INCLUDED_GASNET_RATOMIC_H

#include "gasnetex.h"

typedef struct gex_AD_s *gex_AD_t;
#define GEX_AD_INVALID ((gex_AD_t)0)

#endif
