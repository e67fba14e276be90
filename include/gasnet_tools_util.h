/* gasnet_tools_util.h - gasnett_ functions: environment, process and console, signals, bytes,
 * backtraces.
 *
 * Private part of gasnet_tools.h.  Implemented in other/base, the same for every thread mode.
 * Unless a comment says otherwise, a function may be called at any time in any thread, and pointers
 * must not be NULL.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_util.h is private: include gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_UTIL_H
#define GASNETI_TOOLS_UTIL_H

GASNETI_EXPORTS_BEGIN

/* --- Environment --- */

/* Value in the environment of the job, or of this process if there is no job, with %0XX decoded.
 * NULL if unset or key is NULL.  The result stays valid and must not be modified.  */
extern char *gasnett_getenv(const char *key);

/* gasnett_getenv with a default, which may be NULL; the value is reported if GASNET_VERBOSEENV is
 * set.  */
extern char *gasnett_getenv_withdefault(const char *key, const char *dflt);

/* 1 for Y, YES, 1, and 0 for N, NO, 0, in upper or lower case; another value is fatal.  */
extern int gasnett_getenv_yesno_withdefault(const char *key, int dflt);

/* The value as gasnett_parse_int parses it; a value that is not a number is fatal.  */
extern int64_t gasnett_getenv_int_withdefault(const char *key, int64_t dflt,
                                              uint64_t mem_multiplier);

/* A floating-point number or a fraction "a/b"; anything else is fatal. */
extern double gasnett_getenv_dbl_withdefault(const char *key, double dflt);

/* Change the environment of this process only; not while other threads read it.  */
extern void gasnett_setenv(const char *key, const char *value);
extern void gasnett_unsetenv(const char *key);

/* 1 if this process reports the variables that it reads, else 0; -1 while that is not known yet. */
extern int gasnett_verboseenv(void);

/* If GASNET_VERBOSEENV is set, prints one line on stderr at the first call for each key.  val may
 * be NULL (not set).  */
extern void gasnett_envstr_display(const char *key, const char *val, int is_dflt);
extern void gasnett_envint_display(const char *key, int64_t val, int is_dflt, int is_mem_size);
extern void gasnett_envdbl_display(const char *key, double val, int is_dflt);

/* Parses a decimal or 0x number with optional sign.  With mem_multiplier > 0, in bytes, the number
 * is a memory size in that unit, unless a letter B, K, M, G or T follows; decimal fractions are
 * allowed.  The empty string is 0; parsing ends at text that is not a number.  */
extern int64_t gasnett_parse_int(const char *str, uint64_t mem_multiplier);

/* Writes val to buf (bufsz bytes) in a form that gasnett_parse_int accepts; is_mem_size adds a
 * unit.  Returns buf. */
extern char *gasnett_format_number(int64_t val, char *buf, size_t bufsz, int is_mem_size);

/* --- Process and console --- */

/* Prints "*** FATAL ERROR: ", the text and a newline on stderr; then freezes or prints a backtrace
 * as GASNET_FREEZE_ON_ERROR and GASNET_BACKTRACE request; then aborts.  */
extern void gasnett_fatalerror(const char *fmt, ...)
    GASNETI_ATTRIBUTE((__noreturn__, __format__(__printf__, 1, 2)));

/* The same: this library's messages have no position in the source. */
#define gasnett_fatalerror_nopos gasnett_fatalerror

/* Ends the process at once, without atexit functions. */
extern void gasnett_killmyprocess(int exitcode) GASNETI_ATTRIBUTE((__noreturn__));

/* Flush the standard streams; detach them from the console.  Errors are ignored.  */
extern void gasnett_flush_streams(void);
extern void gasnett_close_streams(void);

extern void gasnett_sched_yield(void);

/* Sleeps for so many nanoseconds.  Returns 0; or non-zero, with errno EINTR, after a signal. */
extern int gasnett_nsleep(uint64_t ns);

/* The path of the running program; "" if it is unknown. */
extern const char *gasnett_exe_name(void);

/* The release of the library: "2025.8.0", and a number that is greater in later releases. */
extern const char *gasnett_release_version_str(void);
extern uint64_t gasnett_release_version(void);

/* Number of processors that this process may use, determined at the first call; 0 if unknown.  */
extern int gasnett_cpu_count(void);

/* Binds the calling thread to the (rank mod gasnett_cpu_count())th processor that this process may
 * use; errors are ignored.  */
extern void gasnett_set_affinity(int rank);

/* Physical memory of this host in bytes.  If unknown: 0, or fatal if fatal_on_failure is non-zero.
 */
extern uint64_t gasnett_getPhysMemSz(int fatal_on_failure);

/* Raise soft limits to the hard ones; GASNET_MAXIMIZE_<name>=no exempts a limit.  Return non-zero
 * on success.  */
extern int gasnett_maximize_rlimits(void);
extern int gasnett_maximize_rlimit(int resource, const char *name);

/* "", or lines that name the build options that reduce performance.  */
extern const char *gasnett_performance_warning_str(void);

/* "function at file:line" of the line that uses it, allocated by malloc; used without parentheses.
 */
#define gasnett_current_loc gasneti_build_loc(GASNETT_CURRENT_FUNCTION, __FILE__, __LINE__)
extern char *gasneti_build_loc(const char *function, const char *file, int line);

/* --- Signals --- */

typedef void (*gasnett_sighandlerfn_t)(int);

/* Installs a handler, SIG_DFL or SIG_IGN; returns the previous one, or SIG_ERR.  */
extern gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t handler);

/* The name, such as "SIGINT"; NULL for an unknown number.  */
extern const char *gasnett_signame_fromval(int sig);

/* --- Bytes --- */

/* A checksum that depends on every byte and its position; the same on all nodes for the same data.
 */
extern uint64_t gasnett_checksum(const void *p, int nbytes);

/* Number of zero bytes among n; the second function also copies the n bytes.  Any alignment.  */
extern size_t gasnett_count0s(const void *src, size_t n);
extern size_t gasnett_count0s_copy(void *GASNETT_RESTRICT dst, const void *GASNETT_RESTRICT src,
                                   size_t n);

GASNETI_INLINE int gasnett_count0s_uint64_t(uint64_t x)
{
    const uint64_t low7 = ~(uint64_t)0 / 255 * 0x7f;
    /* Sets the high bit of each byte that is 0 and clears all other bits; the multiplication adds
     * them.  */
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

/* A hint for the body of a loop that waits for another thread's store.  */
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

/* To be set non-zero in a debugger to continue a frozen process.  */
extern volatile int gasnet_frozen;

/* Prints host, process id and how to continue, then waits until *flag is non-zero.  name: the
 * flag's, for the message.  */
extern void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name);

/* Freezes as gasnett_freezeForDebuggerNow if GASNET_FREEZE_ON_ERROR is set, otherwise does nothing.
 */
extern void gasnett_freezeForDebuggerErr(void);

/* Reads the GASNET_BACKTRACE variables; argv0 is the path of the executable.  May be called again.
 */
extern void gasnett_backtrace_init(const char *argv0);

/* Writes a backtrace to a file descriptor by the first mechanism that works; returns 0 on success.
 */
extern int gasnett_print_backtrace(int fd);

/* Writes a backtrace as gasnett_print_backtrace if GASNET_BACKTRACE enables it.  A client may
 * assign another function.  */
extern int (*gasnett_print_backtrace_ifenabled)(int fd);

/* A client may define gasnett_backtrace_user, which adds a backtrace mechanism under its name.  fnp
 * returns 0 on success; threadsupport is non-zero if it works in programs with threads.  */
typedef struct {
    const char *name;
    int (*fnp)(int fd);
    int threadsupport;
} gasnett_backtrace_type_t;
extern gasnett_backtrace_type_t gasnett_backtrace_user;

GASNETI_EXPORTS_END
#endif
