/* public.h - includes the public headers for the library's own sources: their declarations are
 * exported, and the inline functions are left out, as these sources define them.
 */
#ifndef VAPI_PUBLIC_H
#define VAPI_PUBLIC_H

#define VAPI_NO_INLINE
#pragma GCC visibility push(default)
#include "other/vapi/include/mosal.h"
#include "other/vapi/include/vapi.h"
#include "other/vapi/include/vapi_common.h"
#pragma GCC visibility pop

#endif
