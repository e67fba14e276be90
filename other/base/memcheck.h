/* memcheck.h - what valgrind cannot see: other processes and devices write into memory. */
#ifndef GASNETI_MEMCHECK_H
#define GASNETI_MEMCHECK_H

#include <stddef.h>

#if defined __has_include
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

/* From here on valgrind takes the bytes for initialised.  Nothing in a build without its headers.
 */
static inline void gasneti_written_by_others(const void *start, size_t size)
{
#ifdef VALGRIND_MAKE_MEM_DEFINED
    (void)VALGRIND_MAKE_MEM_DEFINED(start, size);
#else
    (void)start, (void)size;
#endif
}

#endif
