/* gasnet_tools_client.h - thread-specific keys, and the client's lines in a trace.
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

/* --- The client's own lines in a trace (GASNET_TRACEFILE).  All may be called at any time; before
 * gasnet_init, and in programs without GASNet, they do nothing. --- */

GASNETI_EXPORTS_BEGIN

/* Whether a trace is written, and whether lines of gasneti_trace_printf are. */
extern int gasneti_trace_written, gasneti_trace_lines;
/* A line, a moment in the trace.  The format need not be a literal. */
extern void gasneti_trace_printf(const char *format, ...);
/* The same, whatever GASNET_TRACEMASK says. */
extern void gasneti_trace_printf_forced(const char *format, ...);

/* The line of the client's own source from which the calling thread calls next; `file` must stay
 * valid.  Without effect while it is frozen. */
extern void gasneti_trace_set_source(const char *file, unsigned int line);
/* What was set last: NULL and 0 if nothing was. */
extern void gasneti_trace_get_source(const char **file, unsigned int *line);
extern void gasneti_trace_freeze_source(int frozen);

/* The letters of GASNET_TRACEMASK, all of them if it selects all; "" if no trace is written.  To
 * set
 * "" ends all but gasneti_trace_printf_forced; NULL: all. */
extern const char *gasneti_trace_get_mask(void);
extern void gasneti_trace_set_mask(const char *letters);

/* GASNET_TRACELOCAL: whether transfers within this rank are traced. */
extern int gasneti_trace_local;

/* Lines behind the counters of GASNET_STATSFILE: the callback is called when they are written, and
 * calls `print` for each, with a format as of printf.  The result: whether GASNET_STATSFILE is
 * written and GASNET_STATSMASK has H.  At most 16 callbacks. */
extern int gasneti_stats_init(void (*callback)(void (*print)(const char *format, ...)));
/* The letters of GASNET_STATSMASK; "": all, or nothing is written. */
extern const char *gasneti_stats_get_mask(void);
extern void gasneti_stats_set_mask(const char *letters);

GASNETI_EXPORTS_END

#define GASNETT_TRACE_ENABLED      gasneti_trace_lines
#define GASNETT_TRACE_PRINTF       gasneti_trace_printf
#define GASNETT_TRACE_PRINTF_FORCE gasneti_trace_printf_forced
#define GASNETT_TRACE_SETSOURCELINE(file, line)                                                    \
    (gasneti_trace_written ? gasneti_trace_set_source(file, line) : (void)0)
#define GASNETT_TRACE_GETSOURCELINE(pfile, pline) gasneti_trace_get_source(pfile, pline)
#define GASNETT_TRACE_FREEZESOURCELINE()          gasneti_trace_freeze_source(1)
#define GASNETT_TRACE_UNFREEZESOURCELINE()        gasneti_trace_freeze_source(0)
#define GASNETT_TRACE_GETMASK()                   gasneti_trace_get_mask()
#define GASNETT_TRACE_SETMASK(mask)               gasneti_trace_set_mask(mask)
#define GASNETT_TRACE_GET_TRACELOCAL()            gasneti_trace_local
#define GASNETT_TRACE_SET_TRACELOCAL(newval)      ((void)(gasneti_trace_local = (newval)))
#define GASNETT_STATS_INIT(callback)              gasneti_stats_init(callback)
#define GASNETT_STATS_GETMASK()                   gasneti_stats_get_mask()
#define GASNETT_STATS_SETMASK(mask)               gasneti_stats_set_mask(mask)

#endif
