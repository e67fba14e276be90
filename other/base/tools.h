/* tools.h - the interface of the tools to the core: hooks that it sets, and calls without public
 * names.
 *
 * Clients see include/gasnet_tools.h only.  The tools know nothing of jobs or ranks: the core sets
 * the hooks, which are NULL otherwise, from one thread and before anything that may be reported.
 */
#ifndef OTHER_TOOLS_H
#define OTHER_TOOLS_H

/* The tools are the same for every thread mode: only the libraries and programs that use them are
 * checked at link time. */
#ifndef _INCLUDED_GASNET_TOOLS_H
#ifndef _INCLUDED_GASNETEX_H
#define GASNETI_NO_LINKCHECK 1
#ifndef GASNETT_THREAD_SAFE
#define GASNETT_THREAD_SAFE 1
#endif
#endif
#include "gasnet_tools.h"
#endif
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "other/base/numbers.h"

/* --- Hooks --- */

/* The job's undecoded value of a variable; if NULL, that of the process's environment is used. Must
 * be thread-safe; the result must stay valid. */
extern char *(*gasneti_getenv_hook)(const char *name);

/* The name of this process in messages: "rank 2 on host x".  Called from fatal errors: must not
 * allocate memory or acquire a lock. */
extern const char *(*gasneti_fatal_prefix_hook)(void);

/* This process's rank, or -1 while unknown. */
extern int (*gasneti_rank_hook)(void);

/* Whether this process reports variables: 1 yes, 0 no, -1 not known yet (reports are kept).
 * Without a hook, it reports if GASNET_VERBOSEENV is set. */
extern int (*gasneti_verboseenv_hook)(void);

/* The trace, if one is written: takes a client's line; the source line of the calling thread; sets
 * the mask, whose letters are in `letters`. */
typedef struct gasneti_trace_source {
    const char *file;
    unsigned line;
    bool frozen;
} gasneti_trace_source_t;
typedef struct gasneti_trace_hooks {
    void (*line)(bool forced, const char *format, va_list list);
    gasneti_trace_source_t *(*source)(void);
    void (*set_mask)(const char *letters);
    char letters[40];
} gasneti_trace_hooks_t;
extern gasneti_trace_hooks_t *gasneti_trace_hooks;

/* Statistics are written, with these letters; NULL or "": all.  Before, the mask is "", and
 * GASNETT_STATS_INIT returns 0. */
void gasneti_stats_begin(const char *letters);
/* Writes what the callbacks of GASNETT_STATS_INIT print, a line "# client: ..." each, if the mask
 * has H. */
void gasneti_stats_print_clients(FILE *out);

/* Prints or drops the kept reports, once the hook returns 1 or 0. */
void gasneti_verboseenv_flush(void);

/* --- Environment and numbers --- */

/* Decodes %0XX (two hex digits) in the text itself; returns the new length. The result may hold
 * zero bytes.
 */
size_t gasneti_decode(char *text);

/* Decodes every argument; an argument with an encoded zero byte becomes several.  The new arrays
 * and texts are never freed.  Does nothing if GASNET_DISABLE_ARGDECODE is set. */
void gasneti_decode_args(int *argc, char ***argv);

/* --- Memory: clients see these only with gasnet.h, through gasnet_tools_lib.h --- */

GASNETI_EXPORTS_BEGIN
extern void *gasnett_mmap(uintptr_t size);
extern void *gasnett_malloc_aligned(size_t alignment, size_t size);
extern void gasnett_free_aligned(void *p);
GASNETI_EXPORTS_END

/* Whether a list of ranks such as "0,2-4", or "*", names this one. */
bool gasneti_list_names_rank(const char *list, int rank);

/* --- Writing --- */

/* Writes the text in one write, so that the lines of several processes do not mix, or in more if a
 * write is partial.  False, with errno set, if a write fails; the rest is lost. */
bool gasneti_write_all(int fd, const char *text, size_t len);

/* --- Signals and debugging --- */

/* "SIGSEGV", "SEGV", "segv" or "11"; 0 when unknown. */
int gasneti_signal_from_name(const char *name);

/* Installs the handlers of the signals that GASNET_FREEZE_SIGNAL and GASNET_BACKTRACE_SIGNAL name.
 */
void gasneti_ondemand_init(void);

#endif
