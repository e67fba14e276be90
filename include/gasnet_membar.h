/* gasnet_membar.h - memory fences used by both public headers.
 *
 * Each is a fence for the processor and for the compiler.  Private: clients use the gasnett_
 * names of gasnet_tools.h.
 */
#if !defined(GASNETI_IN_GASNET_H) && !defined(GASNETI_IN_GASNET_TOOLS_H)
#error "gasnet_membar.h is private: include gasnet.h or gasnet_tools.h"
#endif
#ifndef GASNETI_MEMBAR_H
#define GASNETI_MEMBAR_H

#if defined(__SANITIZE_THREAD__)
#define GASNETI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GASNETI_TSAN 1
#endif
#endif

GASNETI_EXPORTS_BEGIN

extern int gasneti_fence_word; /* declared in all builds: clients need what the library exports */

#if GASNETI_TSAN
/* The thread sanitizer does not model fences, only atomic operations, so with the sanitizer a fence
 * is a read-modify-write of one word.  That orders more than a fence, so no false race is reported.
 */
GASNETI_INLINE void gasneti_local_wmb(void)
{
    (void)__atomic_fetch_add(&gasneti_fence_word, 0, __ATOMIC_SEQ_CST);
}
GASNETI_INLINE void gasneti_local_rmb(void)
{
    (void)__atomic_fetch_add(&gasneti_fence_word, 0, __ATOMIC_SEQ_CST);
}
GASNETI_INLINE void gasneti_local_mb(void)
{
    (void)__atomic_fetch_add(&gasneti_fence_word, 0, __ATOMIC_SEQ_CST);
}
#else
/* Store fence: earlier stores become visible before later stores.  */
GASNETI_INLINE void gasneti_local_wmb(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}
/* Load fence: earlier loads complete before later loads.  */
GASNETI_INLINE void gasneti_local_rmb(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
/* Full fence, store-to-load included. */
GASNETI_INLINE void gasneti_local_mb(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#endif

/* For the compiler only, not for the processor.  */
GASNETI_INLINE void gasneti_compiler_fence(void)
{
    __asm__ __volatile__("" : : : "memory");
}

GASNETI_EXPORTS_END
#endif
