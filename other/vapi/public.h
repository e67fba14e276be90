/* public.h - the public headers as the library's own sources include them: everything declared
 * there is exported, nothing else is; and without the inline bodies, which these sources supply.
 */
#ifndef VAPI_PUBLIC_H
#define VAPI_PUBLIC_H

#define VAPI_NO_INLINE
#pragma GCC visibility push(default)
#include "include/mosal.h"
#include "include/vapi.h"
#include "include/vapi_common.h"
#pragma GCC visibility pop

#endif
