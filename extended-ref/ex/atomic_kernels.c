/* atomic_kernels.c - the operations of remote atomics, by the atomics of the processor: one
 * instruction where it has one, else a loop that ends when no other access has come between.
 *
 * Each is a release and an acquire, which GEX_FLAG_AD_REL and GEX_FLAG_AD_ACQ may ask for; on x86
 * that costs nothing.
 */
#include <string.h>

#include "extended-ref/ex/atomics.h"

/* A function of one operation: `statement` stores the earlier value of the element in x; `outcome`
 * is RESULT or NO_RESULT. */
#define KERNEL(op, T, type, statement, outcome)                                                    \
    static gex_Event_t op##_##T(void *memory, void *result, uint64_t operand1, uint64_t operand2)  \
    {                                                                                              \
        type *const at = memory, a, b, x, y;                                                       \
        memcpy(&a, &operand1, sizeof a);                                                           \
        memcpy(&b, &operand2, sizeof b);                                                           \
        statement;                                                                                 \
        outcome;                                                                                   \
        (void)a, (void)b, (void)x, (void)y;                                                        \
        return GEX_EVENT_INVALID;                                                                  \
    }
#define RESULT    memcpy(result, &x, sizeof x)
#define NO_RESULT (void)result

/* `statement` computes the new value, y, of x and a. */
#define LOOP(statement)                                                                            \
    __atomic_load(at, &x, __ATOMIC_RELAXED);                                                       \
    do statement;                                                                                  \
    while (!__atomic_compare_exchange(at, &x, &y, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
#define COMPARE                                                                                    \
    x = a;                                                                                         \
    __atomic_compare_exchange(at, &x, &b, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* --- the operations --- */

/* Operations that have a fetching form; `pair` takes the statement of both forms.  Signed integers
 * wrap as unsigned ones do. */
/* clang-format off */
#define INTEGER_PAIRS(pair, T, type) \
    pair(AND, T, type, x = __atomic_fetch_and(at, a, __ATOMIC_ACQ_REL)) \
    pair(OR, T, type, x = __atomic_fetch_or(at, a, __ATOMIC_ACQ_REL)) \
    pair(XOR, T, type, x = __atomic_fetch_xor(at, a, __ATOMIC_ACQ_REL)) \
    pair(ADD, T, type, x = __atomic_fetch_add(at, a, __ATOMIC_ACQ_REL)) \
    pair(SUB, T, type, x = __atomic_fetch_sub(at, a, __ATOMIC_ACQ_REL)) \
    pair(INC, T, type, x = __atomic_fetch_add(at, 1, __ATOMIC_ACQ_REL)) \
    pair(DEC, T, type, x = __atomic_fetch_sub(at, 1, __ATOMIC_ACQ_REL)) \
    pair(MULT, T, type, LOOP((void)__builtin_mul_overflow(x, a, &y))) \
    pair(MIN, T, type, LOOP(y = a < x ? a : x)) \
    pair(MAX, T, type, LOOP(y = x < a ? a : x))
#define FLOATING_PAIRS(pair, T, type) \
    pair(ADD, T, type, LOOP(y = x + a)) \
    pair(SUB, T, type, LOOP(y = x - a)) \
    pair(INC, T, type, LOOP(y = x + 1)) \
    pair(DEC, T, type, LOOP(y = x - 1)) \
    pair(MULT, T, type, LOOP(y = x * a)) \
    pair(MIN, T, type, LOOP(y = a < x ? a : x)) \
    pair(MAX, T, type, LOOP(y = x < a ? a : x))
#define SINGLES(single, T, type) \
    single(SET, T, type, __atomic_store(at, &a, __ATOMIC_RELEASE), NO_RESULT) \
    single(GET, T, type, __atomic_load(at, &x, __ATOMIC_ACQUIRE), RESULT) \
    single(SWAP, T, type, __atomic_exchange(at, &a, &x, __ATOMIC_ACQ_REL), RESULT) \
    single(CAS, T, type, COMPARE, NO_RESULT) \
    single(FCAS, T, type, COMPARE, RESULT)
/* clang-format on */

/* --- their functions --- */

#define KERNELS(op, T, type, statement)                                                            \
    KERNEL(op, T, type, statement, NO_RESULT)                                                      \
    KERNEL(F##op, T, type, statement, RESULT)
#define INTEGER_KERNELS(T, type)                                                                   \
    INTEGER_PAIRS(KERNELS, T, type)                                                                \
    SINGLES(KERNEL, T, type)
#define FLOATING_KERNELS(T, type)                                                                  \
    FLOATING_PAIRS(KERNELS, T, type)                                                               \
    SINGLES(KERNEL, T, type)
GASNETI_AD_TYPES(INTEGER_KERNELS, FLOATING_KERNELS)

/* --- the table --- */

#define ROW(op, T, type, statement, outcome) [__builtin_ctz(GEX_OP_##op)] = op##_##T,
#define ROWS(op, T, type, statement)         ROW(op, T, , , ) ROW(F##op, T, , , )
#define TYPE(T, type, rows)                                                                        \
    [__builtin_ctz(GEX_DT_##T)] = {sizeof(type), {rows(ROWS, T, type) SINGLES(ROW, T, type)}},
#define INTEGER_TYPE(T, type)  TYPE(T, type, INTEGER_PAIRS)
#define FLOATING_TYPE(T, type) TYPE(T, type, FLOATING_PAIRS)

const struct gasnete_atomic_type gasnete_atomic_types[GASNETE_ATOMIC_TYPES] = {
    GASNETI_AD_TYPES(INTEGER_TYPE, FLOATING_TYPE)};
