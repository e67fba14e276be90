/* mtl_common.h - header that programs include beside vapi.h: base types, the general result type,
 * and log macros that print nothing.
 */
#ifndef H_MTL_COMMON_H
#define H_MTL_COMMON_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of Mellanox's general library; VAPI itself returns VAPI_ret_t. */
typedef enum {
    MT_OK = 0,
    MT_ERROR = 1,
    MT_ENOSYS,
    MT_ENOMEM,
    MT_EAGAIN,
    MT_EBUSY,
    MT_ETIMEDOUT,
    MT_EINVAL,
    MT_EPERM,
    MT_ENORSC
} call_result_t;

/* Takes printf's arguments and does nothing.  Never called: see MTL_LOG_NOTHING. */
void vapi_log_nothing(const char *format, ...);

/* The log of the original could be turned on at run time; here its macros evaluate nothing. */
#define MTL_LOG_NOTHING 1 ? (void)0 : vapi_log_nothing
#ifndef H_MTL_LOG_H
#define H_MTL_LOG_H
#define MTL_ERROR    MTL_LOG_NOTHING
#define MTL_ERROR1   MTL_LOG_NOTHING
#define MTL_ERROR2   MTL_LOG_NOTHING
#define MTL_ERROR3   MTL_LOG_NOTHING
#define MTL_ERROR4   MTL_LOG_NOTHING
#define MTL_ERROR5   MTL_LOG_NOTHING
#define MTL_DEBUG    MTL_LOG_NOTHING
#define MTL_DEBUG1   MTL_LOG_NOTHING
#define MTL_DEBUG2   MTL_LOG_NOTHING
#define MTL_DEBUG3   MTL_LOG_NOTHING
#define MTL_DEBUG4   MTL_LOG_NOTHING
#define MTL_DEBUG5   MTL_LOG_NOTHING
#define MTL_TRACE    MTL_LOG_NOTHING
#define MTL_TRACE1   MTL_LOG_NOTHING
#define MTL_TRACE2   MTL_LOG_NOTHING
#define MTL_TRACE3   MTL_LOG_NOTHING
#define MTL_TRACE4   MTL_LOG_NOTHING
#define MTL_TRACE5   MTL_LOG_NOTHING
#define MT_RETURN(r) return (r)
#define FUNC_IN
#define FUNC_OUT
#endif

#ifdef __cplusplus
}
#endif

#endif
