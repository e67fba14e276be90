/* gasnet_tools_lib.h - the tools that exist only together with gasnet.h.
 *
 * Private part of gasnet_tools.h, included when gasnet.h was.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_lib.h is private: include gasnet.h and gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_LIB_H
#define GASNETI_TOOLS_LIB_H

/* Most client threads of a node alive at once. */
#define GASNETT_MAX_THREADS GASNETI_MAX_THREADS

GASNETI_EXPORTS_BEGIN

/* Anonymous private memory; size in bytes, a multiple of the page size.  Fatal on failure. */
extern void *gasnett_mmap(uintptr_t size);

/* alignment: a power of two.  Fatal on failure; free takes NULL. */
extern void *gasnett_malloc_aligned(size_t alignment, size_t size);
extern void gasnett_free_aligned(void *p);

/* The low nbytes (0 .. sizeof value) of value, as an integer of that width, to dst, and back. */
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
/* Returns from the function it stands in. */
#define GASNETT_VALUE_RETURN(src, nbytes) return gasneti_value_load((src), (nbytes))

#define GASNETT_FAST_ALIGNED_MEMCPY(d, s, n)   ((void)memcpy((d), (s), (n)))
#define GASNETT_FAST_UNALIGNED_MEMCPY(d, s, n) ((void)memcpy((d), (s), (n)))

/* Self-tests, collective; 0 when all passed on this node; node 0 reports on stderr.  sections:
 * letters, "" or NULL for all: a atomics and m mutexes, in so many threads (one unless PAR), t the
 * timer, s puts and gets to the neighbour's segment, left out without seginfo, the
 * segments of all nodes.  The handlers, of which there are none, belong into gasnet_attach. */
extern int gasnett_run_diagnostics(int iters, int threads, const char *sections,
                                   gasnet_seginfo_t const *seginfo);
extern void gasnett_diagnostic_gethandlers(gasnet_handlerentry_t **table, int *numentries);

GASNETI_EXPORTS_END
#endif
