/* gasnet_tools_timer.h - timers and memory fences, the only tools in GASNETT_LITE_MODE.
 *
 * Private part of gasnet_tools.h.  A tick is a nanosecond of the monotonic clock.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_timer.h is private: include gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_TIMER_H
#define GASNETI_TOOLS_TIMER_H

GASNETI_EXPORTS_BEGIN

typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX (~(gasnett_tick_t)0)

/* The current time in ticks; monotonic in each thread.  */
extern gasnett_tick_t gasnett_ticks_now(void);

/* Conversion of ticks to nanoseconds and microseconds; the latter rounds down.  */
GASNETI_INLINE uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks)
{
    return ticks;
}
GASNETI_INLINE uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks)
{
    return ticks / 1000;
}

/* The measured smallest step of the clock, and the cost of gasnett_ticks_now; in microseconds, > 0.
 */
extern double gasnett_tick_granularityus(void);
extern double gasnett_tick_overheadus(void);

/* Wall-clock time in microseconds since 1970.  */
extern uint64_t gasnett_gettimeofday_us(void);

/* Fences for processor and compiler.  Without threads the weak fences are compiler fences only.  */
GASNETI_INLINE void gasnett_local_wmb(void)
{
    gasneti_local_wmb();
}
GASNETI_INLINE void gasnett_local_rmb(void)
{
    gasneti_local_rmb();
}
GASNETI_INLINE void gasnett_local_mb(void)
{
    gasneti_local_mb();
}
GASNETI_INLINE void gasnett_compiler_fence(void)
{
    gasneti_compiler_fence();
}
#if GASNETT_THREAD_SAFE || defined(GASNETT_LITE_MODE)
GASNETI_INLINE void gasnett_weak_wmb(void)
{
    gasneti_local_wmb();
}
GASNETI_INLINE void gasnett_weak_rmb(void)
{
    gasneti_local_rmb();
}
GASNETI_INLINE void gasnett_weak_mb(void)
{
    gasneti_local_mb();
}
#else
GASNETI_INLINE void gasnett_weak_wmb(void)
{
    gasneti_compiler_fence();
}
GASNETI_INLINE void gasnett_weak_rmb(void)
{
    gasneti_compiler_fence();
}
GASNETI_INLINE void gasnett_weak_mb(void)
{
    gasneti_compiler_fence();
}
#endif

GASNETI_EXPORTS_END
#endif
