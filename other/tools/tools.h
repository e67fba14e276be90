/* tools.h - what the library that absorbs these tools may tell them, and use beyond gasnett_ names.
 *
 * For the conduit core; clients see include/gasnet_tools.h only.  The tools know nothing of jobs or
 * ranks: a library that does sets the hooks, which are NULL otherwise, before anything that may be
 * reported happens, from one thread.
 */
#ifndef OTHER_TOOLS_H
#define OTHER_TOOLS_H

/* The tools are the same for every thread mode; the check belongs to those who use them. */
#ifndef _INCLUDED_GASNET_TOOLS_H
#ifndef _INCLUDED_GASNET_H
#define GASNETI_NO_LINKCHECK 1
#ifndef GASNETT_THREAD_SAFE
#define GASNETT_THREAD_SAFE 1
#endif
#endif
#include "gasnet_tools.h"
#endif
#include <stdbool.h>

/* --- Hooks --- */

/* The job's raw value of a variable, NULL when the job does not know the name (the process's own is
 * then used).  Must be thread-safe and the result must stay valid. */
extern char *(*gasneti_getenv_hook)(const char *name);

/* Who this is, for messages: "rank 2 on host x".  Called when dying: no locks, no allocation. */
extern const char *(*gasneti_fatal_prefix_hook)(void);

/* This process's rank, or -1 while unknown. */
extern int (*gasneti_rank_hook)(void);

/* Whether this process reports variables: 1, 0, or -1 not known yet (reports are kept back).
 * Without a hook, the presence of GASNET_VERBOSEENV decides. */
extern int (*gasneti_verboseenv_hook)(void);

/* Prints what was kept back, or drops it, once the hook gives an answer. */
void gasneti_verboseenv_flush(void);

/* --- Environment and numbers --- */

/* Decodes %0XX (two hex digits) in place; returns the new length.  The result may hold zero bytes.
 */
size_t gasneti_decode(char *text);

/* Decodes every argument; one that holds an encoded zero byte becomes several.  The arrays and
 * texts put in place are never freed.  Nothing happens under GASNET_DISABLE_ARGDECODE. */
void gasneti_decode_args(int *argc, char ***argv);

/* As gasnett_parse_int, but false when text is not exactly one number, or is one that does not fit;
 * errno then is EINVAL or ERANGE, and *value the nearest that fits. */
bool gasneti_parse_int(const char *text, uint64_t mem_multiplier, int64_t *value);

/* As gasnett_getenv_dbl_withdefault accepts; false when text is anything else. */
bool gasneti_parse_double(const char *text, double *value);

/* 1 yes, 0 no, -1 neither. */
int gasneti_parse_yesno(const char *text);

/* --- Memory: clients see these only with gasnet.h, through gasnet_tools_lib.h --- */

GASNETI_EXPORTS_BEGIN
extern void *gasnett_mmap(uintptr_t size);
extern void *gasnett_malloc_aligned(size_t alignment, size_t size);
extern void gasnett_free_aligned(void *p);
GASNETI_EXPORTS_END

/* --- Writing --- */

/* In one write, so that the texts of several processes do not mix; in more if the stream takes it
 * in parts.  What cannot be written is lost: false, and errno says why. */
bool gasneti_write_all(int fd, const char *text, size_t len);

/* --- Signals and debugging --- */

/* "SIGSEGV", "SEGV", "segv" or "11"; 0 when unknown. */
int gasneti_signal_from_name(const char *name);

/* Installs the handlers that GASNET_FREEZE_SIGNAL and GASNET_BACKTRACE_SIGNAL ask for. */
void gasneti_ondemand_init(void);

#endif
