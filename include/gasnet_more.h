/* gasnet_more.h - names that are no part of the documented interface, and that programs use.
 *
 * Private: included by gasnet_basic.h, so that they are there after gasnet.h as after
 * gasnet_tools.h.  Those of threads are in gasnet_types.h and gasnet_extended.h.
 */
#if !defined(GASNETI_IN_GASNET_H) && !defined(GASNETI_IN_GASNET_TOOLS_H)
#error "gasnet_more.h is private: include gasnet.h or gasnet_tools.h"
#endif
#ifndef GASNETI_MORE_H
#define GASNETI_MORE_H

GASNETI_EXPORTS_BEGIN

/* This host's name; static.  The second is an older name of the first. */
extern const char *gasnett_gethostname(void);
GASNETI_INLINE const char *gasneti_gethostname(void)
{
    return gasnett_gethostname();
}

/* Do nothing.  Programs take their addresses, so that a compiler does not call them unused. */
GASNETI_INLINE void _gasneti_threadkey_init(void *key)
{
    (void)key;
}
GASNETI_INLINE void _gasnett_trace_printf_noop(const char *fmt, ...)
{
    (void)fmt;
}

/* Where control cannot come. */
GASNETI_INLINE void gasnett_unreachable(void) GASNETI_ATTRIBUTE((__noreturn__));
GASNETI_INLINE void gasnett_unreachable(void)
{
#if defined(__GNUC__)
    __builtin_unreachable();
#else
    abort();
#endif
}

/* --- The checking allocator: this library has none, so these are the C library's, and there is
 * nothing to check or to count --- */

GASNETI_INLINE void *gasnett_debug_malloc(size_t nbytes)
{
    return malloc(nbytes);
}
GASNETI_INLINE void *gasnett_debug_realloc(void *p, size_t nbytes)
{
    return realloc(p, nbytes);
}
GASNETI_INLINE void *gasnett_debug_calloc(size_t n, size_t nbytes)
{
    return calloc(n, nbytes);
}
GASNETI_INLINE void gasnett_debug_free(void *p)
{
    free(p);
}
/* The first n bytes of s at most, and a NUL, in memory from gasnett_debug_malloc. */
GASNETI_INLINE char *gasnett_debug_strndup(const char *s, size_t n)
{
    const char *end = (const char *)memchr(s, 0, n);
    size_t length = end ? (size_t)(end - s) : n;
    char *copy = (char *)malloc(length + 1);
    if (copy) {
        memcpy(copy, s, length);
        copy[length] = 0;
    }
    return copy;
}
GASNETI_INLINE char *gasnett_debug_strdup(const char *s)
{
    return gasnett_debug_strndup(s, strlen(s));
}
GASNETI_INLINE void gasnett_debug_memcheck(void *p)
{
    (void)p;
}
GASNETI_INLINE void gasnett_debug_memcheck_one(void) {}
GASNETI_INLINE void gasnett_debug_memcheck_all(void) {}

typedef struct {
    uint64_t allocated_bytes;
    uint64_t freed_bytes;
    uint64_t live_bytes;
    uint64_t live_bytes_max;
    uint64_t allocated_objects;
    uint64_t freed_objects;
    uint64_t live_objects;
    uint64_t live_objects_max;
    uint64_t overhead_bytes;
} gasnett_heapstats_t;

/* Fills *counts with zeros; non-zero, since nothing is counted. */
GASNETI_INLINE int gasnett_getheapstats(gasnett_heapstats_t *counts)
{
    memset(counts, 0, sizeof *counts);
    return 1;
}

GASNETI_EXPORTS_END
#endif
