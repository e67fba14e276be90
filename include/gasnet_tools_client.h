/* gasnet_tools_client.h - thread-specific keys, and tracing hooks for clients.
 *
 * Private part of gasnet_tools.h.  Macros, because keys are identifiers, and clients use the hooks
 * in comma expressions and with variable arguments.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_client.h is private: include gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_CLIENT_H
#define GASNETI_TOOLS_CLIENT_H

/* --- Thread-specific keys: one pointer per thread, initially NULL --- */

#if GASNETT_THREAD_SAFE
#define GASNETI_PER_THREAD __thread
#else
#define GASNETI_PER_THREAD
#endif

/* DEFINE once, at file scope; DECLARE in any scope, before or after.  */
#define GASNETT_THREADKEY_DECLARE(key) extern GASNETI_PER_THREAD void *gasneti_key_##key
#define GASNETT_THREADKEY_DEFINE(key)  GASNETI_PER_THREAD void *gasneti_key_##key = NULL

#define gasnett_threadkey_get(key)        (gasneti_key_##key)
#define gasnett_threadkey_set(key, value) ((void)(gasneti_key_##key = (value)))

/* Keys need no initialisation: this is for clients that initialise them, once or several times.  */
#define gasnett_threadkey_init(key)              ((void)gasneti_key_##key)
#define gasnett_threadkey_get_noinit(key)        gasnett_threadkey_get(key)
#define gasnett_threadkey_set_noinit(key, value) gasnett_threadkey_set(key, value)

/* --- Tracing and statistics hooks: without effect in this library --- */

GASNETI_EXPORTS_BEGIN

GASNETI_INLINE const char *gasneti_trace_nomask(void)
{
    return "";
}
GASNETI_INLINE void gasneti_trace_ignore(const char *mask)
{
    (void)mask;
}
GASNETI_INLINE int gasneti_stats_none(void (*callback)(void (*print)(const char *fmt, ...)))
{
    (void)callback;
    return 0;
}
GASNETI_INLINE int gasneti_trace_nolocal(void)
{
    return 1;
}

GASNETI_EXPORTS_END

#define GASNETT_TRACE_ENABLED      0
#define GASNETT_TRACE_PRINTF       _gasnett_trace_printf_noop
#define GASNETT_TRACE_PRINTF_FORCE _gasnett_trace_printf_noop
/* sizeof uses the arguments, which may be uninitialised, without reading them.  */
#define GASNETT_TRACE_SETSOURCELINE(file, line)   ((void)sizeof(file), (void)sizeof(line))
#define GASNETT_TRACE_GETSOURCELINE(pfile, pline) ((void)(pfile), (void)(pline))
#define GASNETT_TRACE_FREEZESOURCELINE()          ((void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE()        ((void)0)
#define GASNETT_TRACE_GETMASK()                   gasneti_trace_nomask()
#define GASNETT_TRACE_SETMASK(mask)               gasneti_trace_ignore(mask)
#define GASNETT_TRACE_GET_TRACELOCAL()            gasneti_trace_nolocal()
#define GASNETT_TRACE_SET_TRACELOCAL(newval)      ((void)(newval))
#define GASNETT_STATS_INIT(callback)              gasneti_stats_none(callback)
#define GASNETT_STATS_GETMASK()                   gasneti_trace_nomask()
#define GASNETT_STATS_SETMASK(mask)               gasneti_trace_ignore(mask)

#endif
