/* gasnet_tools_lib.h - the tools that exist only together with gasnet.h.
 *
 * Private part of gasnet_tools.h, which includes it if gasnet.h was included.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_lib.h is private: include gasnet.h and gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_LIB_H
#define GASNETI_TOOLS_LIB_H

/* The most client threads alive at once in one node.  */
#define GASNETT_MAX_THREADS GASNETI_MAX_THREADS

GASNETI_EXPORTS_BEGIN

/* Maps anonymous private memory, zeroed; size in bytes, a multiple of the page size.  Fatal on
 * failure.  */
extern void *gasnett_mmap(uintptr_t size);

/* Allocates `size` bytes; alignment is a power of two.  Fatal on failure; gasnett_free_aligned
 * accepts NULL. */
extern void *gasnett_malloc_aligned(size_t alignment, size_t size);
extern void gasnett_free_aligned(void *p);

/* Store the low nbytes (0 .. sizeof value) of value at dst, as an integer of that width, and load
 * it, zero-extended.  Any alignment.  */
GASNETI_INLINE void gasneti_value_store(void *dst, uintptr_t value, size_t nbytes)
{
#if PLATFORM_ARCH_BIG_ENDIAN
    memcpy(dst, (const char *)&value + (sizeof value - nbytes), nbytes);
#else
    memcpy(dst, &value, nbytes);
#endif
}
GASNETI_INLINE uintptr_t gasneti_value_load(const void *src, size_t nbytes)
{
    uintptr_t value = 0;
#if PLATFORM_ARCH_BIG_ENDIAN
    memcpy((char *)&value + (sizeof value - nbytes), src, nbytes);
#else
    memcpy(&value, src, nbytes);
#endif
    return value;
}
#define GASNETT_VALUE_ASSIGN(dst, value, nbytes)                                                   \
    gasneti_value_store((dst), (uintptr_t)(value), (nbytes))
/* A return statement.  */
#define GASNETT_VALUE_RETURN(src, nbytes) return gasneti_value_load((src), (nbytes))

#define GASNETT_FAST_ALIGNED_MEMCPY(d, s, n)   ((void)memcpy((d), (s), (n)))
#define GASNETT_FAST_UNALIGNED_MEMCPY(d, s, n) ((void)memcpy((d), (s), (n)))

/* Self-tests; collective.  Returns the number of sections that failed on this node; node 0 reports
 * every section on stderr, other nodes their failures.  sections: letters, "" or NULL for all: a
 * atomics and m mutexes, in `threads` threads (one unless PAR); t the timer; s puts and gets to the
 * next node's segment, skipped if seginfo, the segments of all nodes, is NULL.  The handlers,
 * currently none, are to be passed to gasnet_attach.  */
extern int gasnett_run_diagnostics(int iters, int threads, const char *sections,
                                   gasnet_seginfo_t const *seginfo);
extern void gasnett_diagnostic_gethandlers(gasnet_handlerentry_t **table, int *numentries);

GASNETI_EXPORTS_END
#endif
