/* gasnet_mk.h - GASNet-EX: kinds of memory.  There is host memory alone: no GASNET_HAVE_MK_CLASS_*
 * is defined, and so no kind can be made.
 */
#ifndef _INCLUDED_GASNET_MK_H
#define _INCLUDED_GASNET_MK_H

#include "gasnetex.h"

typedef struct gex_MK_s *gex_MK_t;
#define GEX_MK_INVALID ((gex_MK_t)0)
#define GEX_MK_HOST    ((gex_MK_t)(uintptr_t)1)

#endif
