/* gasnet_more.h - names outside the documented interface that existing programs use.
 *
 * Private: included by gasnet_basic.h, and so by both gasnet.h and gasnet_tools.h.  Such names
 * about threads are in gasnet_types.h and gasnet_extended.h.
 */
#if !defined(GASNETI_IN_GASNET_H) && !defined(GASNETI_IN_GASNET_TOOLS_H)
#error "gasnet_more.h is private: include gasnet.h or gasnet_tools.h"
#endif
#ifndef GASNETI_MORE_H
#define GASNETI_MORE_H

GASNETI_EXPORTS_BEGIN

/* This host's name; valid for ever, not to be modified. gasneti_gethostname is the older name of
 * the call.  */
extern const char *gasnett_gethostname(void);
GASNETI_INLINE const char *gasneti_gethostname(void)
{
    return gasnett_gethostname();
}

/* Do nothing.  Programs take their addresses to avoid warnings about unused functions.  */
GASNETI_INLINE void _gasneti_threadkey_init(void *key)
{
    (void)key;
}
GASNETI_INLINE void _gasnett_trace_printf_noop(const char *fmt, ...)
{
    (void)fmt;
}

/* Marks code that is never reached; undefined behaviour if it is.  */
GASNETI_INLINE void gasnett_unreachable(void) GASNETI_ATTRIBUTE((__noreturn__));
GASNETI_INLINE void gasnett_unreachable(void)
{
#if defined(__GNUC__)
    __builtin_unreachable();
#else
    abort();
#endif
}

#define gasneti_builtin_unreachable() gasnett_unreachable()

/* Tells the compiler that a condition holds; undefined behaviour if it does not. */
#define gasnett_assume(cond) ((cond) ? (void)0 : gasnett_unreachable())

/* Evaluate their arguments, to avoid warnings about unused ones. */
#define GASNETT_UNUSED_ARGS1(a)                ((void)(a))
#define GASNETT_UNUSED_ARGS2(a, b)             ((void)(a), GASNETT_UNUSED_ARGS1(b))
#define GASNETT_UNUSED_ARGS3(a, b, c)          ((void)(a), GASNETT_UNUSED_ARGS2(b, c))
#define GASNETT_UNUSED_ARGS4(a, b, c, d)       ((void)(a), GASNETT_UNUSED_ARGS3(b, c, d))
#define GASNETT_UNUSED_ARGS5(a, b, c, d, e)    ((void)(a), GASNETT_UNUSED_ARGS4(b, c, d, e))
#define GASNETT_UNUSED_ARGS6(a, b, c, d, e, f) ((void)(a), GASNETT_UNUSED_ARGS5(b, c, d, e, f))
#define GASNETT_UNUSED_ARGS7(a, b, c, d, e, f, g)                                                  \
    ((void)(a), GASNETT_UNUSED_ARGS6(b, c, d, e, f, g))
#define GASNETT_UNUSED_ARGS8(a, b, c, d, e, f, g, h)                                               \
    ((void)(a), GASNETT_UNUSED_ARGS7(b, c, d, e, f, g, h))

/* The conversion of a size_t in printf formats. */
#ifndef PRIuSZ
#define PRIuSZ "zu"
#endif

/* --- The debug allocator: this library has none; these are the functions of the C library --- */

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
/* A copy of at most n bytes of s with a final NUL, to be freed by gasnett_debug_free.  */
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

/* Fills *counts with zeros and returns non-zero: nothing is counted.  */
GASNETI_INLINE int gasnett_getheapstats(gasnett_heapstats_t *counts)
{
    memset(counts, 0, sizeof *counts);
    return 1;
}

GASNETI_EXPORTS_END
#endif
