/* gasnet_tools_atomic.h - atomic integers, by the compiler's builtins.
 *
 * Private part of gasnet_tools.h.  Two widths are implemented; the unsized family is the 32-bit
 * one.  The strong families are the same as the plain ones, which are atomic in every build.  The
 * operations are relaxed; the flags add fences before and after.
 */
#ifndef GASNETI_IN_GASNET_TOOLS_H
#error "gasnet_tools_atomic.h is private: include gasnet_tools.h"
#endif
#ifndef GASNETI_TOOLS_ATOMIC_H
#define GASNETI_TOOLS_ATOMIC_H

/* Flags, to be OR-ed. */
#define GASNETT_ATOMIC_NONE              0
#define GASNETT_ATOMIC_RMB_PRE           0x01
#define GASNETT_ATOMIC_WMB_PRE           0x02
#define GASNETT_ATOMIC_MB_PRE            0x03
#define GASNETT_ATOMIC_RMB_POST          0x04
#define GASNETT_ATOMIC_WMB_POST          0x08
#define GASNETT_ATOMIC_MB_POST           0x0c
#define GASNETT_ATOMIC_RMB_POST_IF_TRUE  0x10 /* after compare_and_swap, decrement_and_test */
#define GASNETT_ATOMIC_RMB_POST_IF_FALSE 0x20
#define GASNETT_ATOMIC_REL               GASNETT_ATOMIC_WMB_PRE
#define GASNETT_ATOMIC_ACQ               GASNETT_ATOMIC_RMB_POST
#define GASNETT_ATOMIC_ACQ_IF_TRUE       GASNETT_ATOMIC_RMB_POST_IF_TRUE
#define GASNETT_ATOMIC_ACQ_IF_FALSE      GASNETT_ATOMIC_RMB_POST_IF_FALSE

#define GASNETT_HAVE_ATOMIC_CAS           1
#define GASNETT_HAVE_ATOMIC_ADD_SUB       1
#define GASNETT_HAVE_STRONGATOMIC_CAS     1
#define GASNETT_HAVE_STRONGATOMIC_ADD_SUB 1

GASNETI_EXPORTS_BEGIN

/* Size and alignment of the integer; a pointer to any 4- or 8-byte object may be cast to it.  */
typedef struct {
    volatile uint32_t value;
} GASNETI_MAYALIAS gasnett_atomic32_t;
typedef struct {
    volatile uint64_t value;
} GASNETI_MAYALIAS gasnett_atomic64_t;

#define gasnett_atomic32_init(v)                                                                   \
    {                                                                                              \
        (uint32_t)(v)                                                                              \
    }
#define gasnett_atomic64_init(v)                                                                   \
    {                                                                                              \
        (uint64_t)(v)                                                                              \
    }

/* The fences that `flags` request; with constant flags no branch remains.  */
GASNETI_INLINE void gasneti_fence_pre(int flags)
{
    if ((flags & GASNETT_ATOMIC_MB_PRE) == GASNETT_ATOMIC_MB_PRE)
        gasneti_local_mb();
    else if (flags & GASNETT_ATOMIC_RMB_PRE)
        gasneti_local_rmb();
    else if (flags & GASNETT_ATOMIC_WMB_PRE)
        gasneti_local_wmb();
}
GASNETI_INLINE void gasneti_fence_post(int flags)
{
    if ((flags & GASNETT_ATOMIC_MB_POST) == GASNETT_ATOMIC_MB_POST)
        gasneti_local_mb();
    else if (flags & GASNETT_ATOMIC_RMB_POST)
        gasneti_local_rmb();
    else if (flags & GASNETT_ATOMIC_WMB_POST)
        gasneti_local_wmb();
}
GASNETI_INLINE void gasneti_fence_post_bool(int flags, int result)
{
    gasneti_fence_post(flags);
    if (flags & (result ? GASNETT_ATOMIC_RMB_POST_IF_TRUE : GASNETT_ATOMIC_RMB_POST_IF_FALSE))
        gasneti_local_rmb();
}

/* --- 32 bits --- */

GASNETI_INLINE void gasnett_atomic32_set(gasnett_atomic32_t *p, uint32_t v, int flags)
{
    gasneti_fence_pre(flags);
    __atomic_store_n(&p->value, v, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
}
GASNETI_INLINE uint32_t gasnett_atomic32_read(gasnett_atomic32_t *p, int flags)
{
    uint32_t v;
    gasneti_fence_pre(flags);
    v = __atomic_load_n(&p->value, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
    return v;
}
GASNETI_INLINE void gasnett_atomic32_increment(gasnett_atomic32_t *p, int flags)
{
    gasneti_fence_pre(flags);
    (void)__atomic_fetch_add(&p->value, 1, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
}
GASNETI_INLINE void gasnett_atomic32_decrement(gasnett_atomic32_t *p, int flags)
{
    gasneti_fence_pre(flags);
    (void)__atomic_fetch_sub(&p->value, 1, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
}
/* Returns non-zero if the new value is 0.  */
GASNETI_INLINE int gasnett_atomic32_decrement_and_test(gasnett_atomic32_t *p, int flags)
{
    int zero;
    gasneti_fence_pre(flags);
    zero = __atomic_sub_fetch(&p->value, 1, __ATOMIC_RELAXED) == 0;
    gasneti_fence_post_bool(flags, zero);
    return zero;
}
/* Stores newval if the value is oldval; returns non-zero if it did.  */
GASNETI_INLINE int gasnett_atomic32_compare_and_swap(gasnett_atomic32_t *p, uint32_t oldval,
                                                     uint32_t newval, int flags)
{
    int done;
    gasneti_fence_pre(flags);
    done = __atomic_compare_exchange_n(&p->value, &oldval, newval, 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
    gasneti_fence_post_bool(flags, done);
    return done;
}
/* Returns the old value. */
GASNETI_INLINE uint32_t gasnett_atomic32_swap(gasnett_atomic32_t *p, uint32_t v, int flags)
{
    gasneti_fence_pre(flags);
    v = __atomic_exchange_n(&p->value, v, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
    return v;
}
/* gasnett_atomic32_add and gasnett_atomic32_subtract return the new value, modulo the width.  */
GASNETI_INLINE uint32_t gasnett_atomic32_add(gasnett_atomic32_t *p, uint32_t v, int flags)
{
    gasneti_fence_pre(flags);
    v = __atomic_add_fetch(&p->value, v, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
    return v;
}
GASNETI_INLINE uint32_t gasnett_atomic32_subtract(gasnett_atomic32_t *p, uint32_t v, int flags)
{
    gasneti_fence_pre(flags);
    v = __atomic_sub_fetch(&p->value, v, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
    return v;
}

/* --- 64 bits --- */

GASNETI_INLINE void gasnett_atomic64_set(gasnett_atomic64_t *p, uint64_t v, int flags)
{
    gasneti_fence_pre(flags);
    __atomic_store_n(&p->value, v, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
}
GASNETI_INLINE uint64_t gasnett_atomic64_read(gasnett_atomic64_t *p, int flags)
{
    uint64_t v;
    gasneti_fence_pre(flags);
    v = __atomic_load_n(&p->value, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
    return v;
}
GASNETI_INLINE void gasnett_atomic64_increment(gasnett_atomic64_t *p, int flags)
{
    gasneti_fence_pre(flags);
    (void)__atomic_fetch_add(&p->value, 1, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
}
GASNETI_INLINE void gasnett_atomic64_decrement(gasnett_atomic64_t *p, int flags)
{
    gasneti_fence_pre(flags);
    (void)__atomic_fetch_sub(&p->value, 1, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
}
/* Returns non-zero if the new value is 0.  */
GASNETI_INLINE int gasnett_atomic64_decrement_and_test(gasnett_atomic64_t *p, int flags)
{
    int zero;
    gasneti_fence_pre(flags);
    zero = __atomic_sub_fetch(&p->value, 1, __ATOMIC_RELAXED) == 0;
    gasneti_fence_post_bool(flags, zero);
    return zero;
}
/* Stores newval if the value is oldval; returns non-zero if it did.  */
GASNETI_INLINE int gasnett_atomic64_compare_and_swap(gasnett_atomic64_t *p, uint64_t oldval,
                                                     uint64_t newval, int flags)
{
    int done;
    gasneti_fence_pre(flags);
    done = __atomic_compare_exchange_n(&p->value, &oldval, newval, 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
    gasneti_fence_post_bool(flags, done);
    return done;
}
/* Returns the old value. */
GASNETI_INLINE uint64_t gasnett_atomic64_swap(gasnett_atomic64_t *p, uint64_t v, int flags)
{
    gasneti_fence_pre(flags);
    v = __atomic_exchange_n(&p->value, v, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
    return v;
}
/* gasnett_atomic64_add and gasnett_atomic64_subtract return the new value, modulo the width.  */
GASNETI_INLINE uint64_t gasnett_atomic64_add(gasnett_atomic64_t *p, uint64_t v, int flags)
{
    gasneti_fence_pre(flags);
    v = __atomic_add_fetch(&p->value, v, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
    return v;
}
GASNETI_INLINE uint64_t gasnett_atomic64_subtract(gasnett_atomic64_t *p, uint64_t v, int flags)
{
    gasneti_fence_pre(flags);
    v = __atomic_sub_fetch(&p->value, v, __ATOMIC_RELAXED);
    gasneti_fence_post(flags);
    return v;
}

/* --- The unsized family: 32 bits --- */

typedef gasnett_atomic32_t gasnett_atomic_t;
typedef uint32_t gasnett_atomic_val_t;
typedef int32_t gasnett_atomic_sval_t;
#define GASNETT_ATOMIC_MAX        ((gasnett_atomic_val_t)0xffffffffu)
#define GASNETT_ATOMIC_SIGNED_MAX ((gasnett_atomic_sval_t)0x7fffffff)
#define GASNETT_ATOMIC_SIGNED_MIN ((gasnett_atomic_sval_t)(-0x7fffffff - 1))
#define gasnett_atomic_signed(v)  ((gasnett_atomic_sval_t)(v))

#define gasnett_atomic_init               gasnett_atomic32_init
#define gasnett_atomic_set                gasnett_atomic32_set
#define gasnett_atomic_read               gasnett_atomic32_read
#define gasnett_atomic_increment          gasnett_atomic32_increment
#define gasnett_atomic_decrement          gasnett_atomic32_decrement
#define gasnett_atomic_decrement_and_test gasnett_atomic32_decrement_and_test
#define gasnett_atomic_compare_and_swap   gasnett_atomic32_compare_and_swap
#define gasnett_atomic_swap               gasnett_atomic32_swap
#define gasnett_atomic_add                gasnett_atomic32_add
#define gasnett_atomic_subtract           gasnett_atomic32_subtract

/* --- The strong families: the same, and safe in signal handlers where lock-free --- */

#define GASNETT_STRONGATOMIC_NOT_SIGNALSAFE   0
#define GASNETT_STRONGATOMIC32_NOT_SIGNALSAFE 0
#if PLATFORM_ARCH_64 || defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_8)
#define GASNETT_STRONGATOMIC64_NOT_SIGNALSAFE 0
#else
#define GASNETT_STRONGATOMIC64_NOT_SIGNALSAFE 1
#endif

typedef gasnett_atomic32_t gasnett_strongatomic_t;
#define GASNETT_STRONGATOMIC_MAX        GASNETT_ATOMIC_MAX
#define GASNETT_STRONGATOMIC_SIGNED_MAX GASNETT_ATOMIC_SIGNED_MAX
#define GASNETT_STRONGATOMIC_SIGNED_MIN GASNETT_ATOMIC_SIGNED_MIN
#define gasnett_strongatomic_signed(v)  ((gasnett_atomic_sval_t)(v))
typedef gasnett_atomic32_t gasnett_strongatomic32_t;
typedef gasnett_atomic64_t gasnett_strongatomic64_t;

#define gasnett_strongatomic_init               gasnett_atomic32_init
#define gasnett_strongatomic_set                gasnett_atomic32_set
#define gasnett_strongatomic_read               gasnett_atomic32_read
#define gasnett_strongatomic_increment          gasnett_atomic32_increment
#define gasnett_strongatomic_decrement          gasnett_atomic32_decrement
#define gasnett_strongatomic_decrement_and_test gasnett_atomic32_decrement_and_test
#define gasnett_strongatomic_compare_and_swap   gasnett_atomic32_compare_and_swap
#define gasnett_strongatomic_swap               gasnett_atomic32_swap
#define gasnett_strongatomic_add                gasnett_atomic32_add
#define gasnett_strongatomic_subtract           gasnett_atomic32_subtract

#define gasnett_strongatomic32_init               gasnett_atomic32_init
#define gasnett_strongatomic32_set                gasnett_atomic32_set
#define gasnett_strongatomic32_read               gasnett_atomic32_read
#define gasnett_strongatomic32_increment          gasnett_atomic32_increment
#define gasnett_strongatomic32_decrement          gasnett_atomic32_decrement
#define gasnett_strongatomic32_decrement_and_test gasnett_atomic32_decrement_and_test
#define gasnett_strongatomic32_compare_and_swap   gasnett_atomic32_compare_and_swap
#define gasnett_strongatomic32_swap               gasnett_atomic32_swap
#define gasnett_strongatomic32_add                gasnett_atomic32_add
#define gasnett_strongatomic32_subtract           gasnett_atomic32_subtract

#define gasnett_strongatomic64_init               gasnett_atomic64_init
#define gasnett_strongatomic64_set                gasnett_atomic64_set
#define gasnett_strongatomic64_read               gasnett_atomic64_read
#define gasnett_strongatomic64_increment          gasnett_atomic64_increment
#define gasnett_strongatomic64_decrement          gasnett_atomic64_decrement
#define gasnett_strongatomic64_decrement_and_test gasnett_atomic64_decrement_and_test
#define gasnett_strongatomic64_compare_and_swap   gasnett_atomic64_compare_and_swap
#define gasnett_strongatomic64_swap               gasnett_atomic64_swap
#define gasnett_strongatomic64_add                gasnett_atomic64_add
#define gasnett_strongatomic64_subtract           gasnett_atomic64_subtract

GASNETI_EXPORTS_END
#endif
