/* gasnet_tools_util.h - gasnett_ functions: timers, environment, process and console, signals,
 * bytes, backtraces.
 *
 * Private part of gasnet_tools.h.  Implemented in other/tools, in the same way for every thread
 * mode; unless said otherwise, callable at any time, in any thread, and NULL is not allowed.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_util.h is private: include gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_UTIL_H
#define GASNETI_TOOLS_UTIL_H

GASNETI_EXPORTS_BEGIN

/* --- Environment --- */

/* Value in the job's environment if there is a job, else in this process's, with %0XX decoded.
 * NULL when unset or key is NULL.  Stays valid; not to be modified. */
extern char *gasnett_getenv(const char *key);

/* The same with a default (which may be NULL), reported under GASNET_VERBOSEENV. */
extern char *gasnett_getenv_withdefault(const char *key, const char *dflt);

/* Y, YES, 1, N, NO, 0 in any case give 1 or 0; another value is fatal. */
extern int gasnett_getenv_yesno_withdefault(const char *key, int dflt);

/* As gasnett_parse_int; a value that is no number is fatal. */
extern int64_t gasnett_getenv_int_withdefault(const char *key, int64_t dflt,
                                              uint64_t mem_multiplier);

/* A floating-point number or a fraction "a/b"; anything else is fatal. */
extern double gasnett_getenv_dbl_withdefault(const char *key, double dflt);

/* Change this process's environment only; not while other threads read it. */
extern void gasnett_setenv(const char *key, const char *value);
extern void gasnett_unsetenv(const char *key);

/* Whether this process reports the variables it consults; -1 while that is not known yet. */
extern int gasnett_verboseenv(void);

/* One line on stderr for each key and run, under GASNET_VERBOSEENV.  val may be NULL (not set). */
extern void gasnett_envstr_display(const char *key, const char *val, int is_dflt);
extern void gasnett_envint_display(const char *key, int64_t val, int is_dflt, int is_mem_size);
extern void gasnett_envdbl_display(const char *key, double val, int is_dflt);

/* A decimal or 0x number with optional sign.  With mem_multiplier (bytes, > 0) it is a memory size
 * in that unit, unless a letter B, K, M, G or T follows; decimal fractions are allowed.  The empty
 * string is 0; text that is no number ends the parse. */
extern int64_t gasnett_parse_int(const char *str, uint64_t mem_multiplier);

/* Writes val to buf (bufsz bytes) in a form that gasnett_parse_int reads back; is_mem_size adds the
 * unit.  Returns buf. */
extern char *gasnett_format_number(int64_t val, char *buf, size_t bufsz, int is_mem_size);

/* --- Process and console --- */

/* Prints "*** FATAL ERROR: ", the text and a newline on stderr; freezes or prints a backtrace if
 * the environment says so; aborts. */
extern void gasnett_fatalerror(const char *fmt, ...)
    GASNETI_ATTRIBUTE((__noreturn__, __format__(__printf__, 1, 2)));

/* Ends the process at once, without atexit functions. */
extern void gasnett_killmyprocess(int exitcode) GASNETI_ATTRIBUTE((__noreturn__));

/* Flush, or detach from the console, stdin, stdout and stderr; errors are ignored. */
extern void gasnett_flush_streams(void);
extern void gasnett_close_streams(void);

extern void gasnett_sched_yield(void);

/* Processors this process may use, as found at the first call; 0 when unknown. */
extern int gasnett_cpu_count(void);

/* Binds the calling thread to one of them: the (rank mod count)th. */
extern void gasnett_set_affinity(int rank);

/* Bytes of memory in this host; 0 when unknown, or fatal if so asked. */
extern uint64_t gasnett_getPhysMemSz(int fatal_on_failure);

/* Raise soft limits to the hard ones; `GASNET_MAXIMIZE_<name>`=no exempts one.  Non-zero when done.
 */
extern int gasnett_maximize_rlimits(void);
extern int gasnett_maximize_rlimit(int resource, const char *name);

/* "", or lines naming the build options that cost speed. */
extern const char *gasnett_performance_warning_str(void);

/* malloc'ed "function at file:line" of where it stands; no parentheses. */
#define gasnett_current_loc gasneti_build_loc(GASNETT_CURRENT_FUNCTION, __FILE__, __LINE__)
extern char *gasneti_build_loc(const char *function, const char *file, int line);

/* --- Signals --- */

typedef void (*gasnett_sighandlerfn_t)(int);

/* Installs a handler, SIG_DFL or SIG_IGN; returns what was there, or SIG_ERR. */
extern gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t handler);

/* "SIGINT" and so on; NULL for an unknown number. */
extern const char *gasnett_signame_fromval(int sig);

/* --- Bytes --- */

/* Sensitive to every byte and its position; the same on all nodes for the same data. */
extern uint64_t gasnett_checksum(const void *p, int nbytes);

/* Number of zero bytes among n; the second copies them as well.  Any alignment. */
extern size_t gasnett_count0s(const void *src, size_t n);
extern size_t gasnett_count0s_copy(void *GASNETT_RESTRICT dst, const void *GASNETT_RESTRICT src,
                                   size_t n);

GASNETI_INLINE int gasnett_count0s_uint64_t(uint64_t x)
{
    const uint64_t low7 = ~(uint64_t)0 / 255 * 0x7f;
    /* The high bit of each byte becomes 1 exactly where the byte is 0; then they are added up. */
    x = ~(((x & low7) + low7) | x | low7);
    return (int)(((x >> 7) * (~(uint64_t)0 / 255)) >> 56);
}
GASNETI_INLINE int gasnett_count0s_uint32_t(uint32_t x)
{
    return gasnett_count0s_uint64_t(x) - 4;
}
GASNETI_INLINE int gasnett_count0s_uintptr_t(uintptr_t x)
{
    return gasnett_count0s_uint64_t(x) - (int)(8 - sizeof x);
}

GASNETI_INLINE int gasnett_isLittleEndian(void)
{
#if PLATFORM_ARCH_LITTLE_ENDIAN
    return 1;
#else
    return 0;
#endif
}

/* Inside a loop that waits for another thread's store. */
GASNETI_INLINE void gasnett_spinloop_hint(void)
{
#if PLATFORM_ARCH_X86 || PLATFORM_ARCH_X86_64
    __asm__ __volatile__("pause" : : : "memory");
#elif PLATFORM_ARCH_AARCH64
    __asm__ __volatile__("yield" : : : "memory");
#else
    gasneti_compiler_fence();
#endif
}

/* --- Debugging --- */

/* Set non-zero in a debugger to let a frozen process go on. */
extern volatile int gasnet_frozen;

/* Prints host, process and how to continue, then waits until *flag is non-zero.  name is the
 * flag's, for the message. */
extern void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name);

/* The same if GASNET_FREEZE_ON_ERROR is set, otherwise nothing. */
extern void gasnett_freezeForDebuggerErr(void);

/* Reads the GASNET_BACKTRACE variables; argv0 names the executable.  May be repeated. */
extern void gasnett_backtrace_init(const char *argv0);

/* Writes a backtrace to a file descriptor by the first mechanism that works; 0 on success. */
extern int gasnett_print_backtrace(int fd);

/* The same if GASNET_BACKTRACE asks for it; replaceable. */
extern int (*gasnett_print_backtrace_ifenabled)(int fd);

/* A mechanism of the client's, who may define gasnett_backtrace_user; it then joins the list under
 * its name.  fnp returns 0 on success. */
typedef struct {
    const char *name;
    int (*fnp)(int fd);
    int threadsupport;
} gasnett_backtrace_type_t;
extern gasnett_backtrace_type_t gasnett_backtrace_user;

GASNETI_EXPORTS_END
#endif
