/* kernels.c - the operations of reductions on the built-in types: to = left op right.  */
#include "extended-ref/ex/kernels.h"

#include "gasnet.h"

/* The compiler vectorises at -O3 only, and needs to be told that no iteration reads what an earlier
 * one has written: `to` is `left` or `right`, or overlaps neither. */
#if defined __clang__
#define VECTORISED
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTORISED  __attribute__((optimize("O3")))
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define KERNEL(name, type, expression)                                                             \
    VECTORISED static void name(void *to, const void *left, const void *right, size_t count)       \
    {                                                                                              \
        type *out = to;                                                                            \
        const type *a = left, *b = right;                                                          \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            const type x = a[i], y = b[i];                                                         \
            out[i] = expression;                                                                   \
        }                                                                                          \
    }
#define ORDERED(type, c)                                                                           \
    KERNEL(min_##type, c, x < y ? x : y)                                                           \
    KERNEL(max_##type, c, x < y ? y : x)
/* Sums and products wrap around; they are the same for signed and unsigned integers. */
#define WRAPPING(type, c)                                                                          \
    KERNEL(add_##type, c, (c)(x + y))                                                              \
    KERNEL(mult_##type, c, (c)(x * y))                                                             \
    KERNEL(and_##type, c, x &y)                                                                    \
    KERNEL(or_##type, c, x | y)                                                                    \
    KERNEL(xor_##type, c, x ^ y)
#define FLOATING(type, c)                                                                          \
    KERNEL(add_##type, c, x + y)                                                                   \
    KERNEL(mult_##type, c, x *y)

WRAPPING(u32, uint32_t)
WRAPPING(u64, uint64_t)
ORDERED(i32, int32_t)
ORDERED(u32, uint32_t)
ORDERED(i64, int64_t)
ORDERED(u64, uint64_t)
FLOATING(flt, float)
ORDERED(flt, float)
FLOATING(dbl, double)
ORDERED(dbl, double)

#define BITS(type)                                                                                 \
    {GEX_OP_AND, and_##type}, {GEX_OP_OR, or_##type},                                              \
    {                                                                                              \
        GEX_OP_XOR, xor_##type                                                                     \
    }
#define SUMS(type)                                                                                 \
    {GEX_OP_ADD, add_##type},                                                                      \
    {                                                                                              \
        GEX_OP_MULT, mult_##type                                                                   \
    }
#define ENDS(type)                                                                                 \
    {GEX_OP_MIN, min_##type},                                                                      \
    {                                                                                              \
        GEX_OP_MAX, max_##type                                                                     \
    }

static const struct {
    gex_DT_t dt;
    size_t size;
    struct {
        gex_OP_t op;
        gasnete_kernel_t kernel;
    } of[8];
} kernels[] = {
    {GEX_DT_I32, 4, {SUMS(u32), BITS(u32), ENDS(i32)}},
    {GEX_DT_U32, 4, {SUMS(u32), BITS(u32), ENDS(u32)}},
    {GEX_DT_I64, 8, {SUMS(u64), BITS(u64), ENDS(i64)}},
    {GEX_DT_U64, 8, {SUMS(u64), BITS(u64), ENDS(u64)}},
    {GEX_DT_FLT, sizeof(float), {SUMS(flt), ENDS(flt)}},
    {GEX_DT_DBL, sizeof(double), {SUMS(dbl), ENDS(dbl)}},
};

gasnete_kernel_t gasnete_kernel(gex_DT_t dt, gex_OP_t op, size_t *size)
{
    *size = 0;
    for (size_t t = 0; t < sizeof kernels / sizeof *kernels; t++) {
        if (kernels[t].dt != dt) continue;
        *size = kernels[t].size;
        for (size_t i = 0; i < 8; i++)
            if (kernels[t].of[i].op == op) return kernels[t].of[i].kernel;
    }
    return NULL;
}
