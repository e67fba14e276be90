/* kernels.h - the operations of reductions on the built-in types; pure.  */
#pragma once

#include <stddef.h>

#include "gasnet.h"

/* to[i] = left[i] op right[i]; `to` may be `left` or `right`.  Aligned for the type. */
typedef void (*gasnete_kernel_t)(void *to, const void *left, const void *right, size_t count);

/* NULL: the type has no such operation.  *size: bytes of an element; 0 for an unknown type. */
gasnete_kernel_t gasnete_kernel(gex_DT_t dt, gex_OP_t op, size_t *size);
