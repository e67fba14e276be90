/* atomics.h - the operations of remote atomics on memory of this process (atomic_kernels.c, pure),
 * and the checks of debug builds.
 */
#pragma once

#include <gasnet_ratomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gasnet.h"

/* Executes an operation on the element at `memory`, which is aligned, and stores its earlier value
 * at `result` if the operation fetches.  The operands are the first bytes of the words.  Returns
 * GEX_EVENT_INVALID, so that a call that ends with an operation can end with a jump to it. */
typedef gex_Event_t gasnete_atomic_t(void *memory, void *result, uint64_t operand1,
                                     uint64_t operand2);

/* The types of domains, by the numbers of their bits (GEX_DT_*): the size of an element, and its
 * operations by the numbers of theirs (GEX_OP_*); NULL: the type has no such operation. */
enum { GASNETE_ATOMIC_TYPES = 6 };
extern const struct gasnete_atomic_type {
    size_t size;
    gasnete_atomic_t *of[32];
} gasnete_atomic_types[GASNETE_ATOMIC_TYPES];

/* The number of the only, or lowest, bit of a GEX_DT_* or GEX_OP_*. */
#define GASNETE_BIT(mask) ((unsigned)__builtin_ctz(mask))

/* The operation of a type: a gasnete_atomic_t. */
#define GASNETE_KERNEL(dt, op) gasnete_atomic_types[GASNETE_BIT(dt)].of[GASNETE_BIT(op)]

static inline bool gasnete_op_fetches(gex_OP_t op)
{
    return op >= GEX_OP_FAND;
}

/* atomics.c: whether gex_AD_Create has made the domain, and gex_AD_Destroy has not ended it. */
bool gasnete_is_domain(gex_AD_t ad);
/* Whether there is a domain of the team. */
bool gasnete_has_domain(gex_TM_t tm);
/* The address of an element in this process; NULL: it has none. */
void *gasnete_atomic_at(gex_DT_t dt, gex_Rank_t node, void *addr);
/* The end of a call that began then, for the trace. */
void gasnete_atomic_trace(uint64_t began, gex_DT_t dt, gex_Rank_t node);
#define GASNETE_NO_DOMAIN "gex_AD_Create has not made, or gex_AD_Destroy has ended"

/* atomics_adapter.c: who executes the operations of a domain.  BOTH: a processor that maps the
 * memory, else the adapter. */
enum gasnete_atomics_by { GASNETE_BY_PROCESSORS, GASNETE_BY_ADAPTER, GASNETE_BY_BOTH };
enum gasnete_atomics_by gasnete_atomics_by(gex_DT_t dt, gex_OP_t ops, gex_Flags_t favors);

/* The calls of gasnet_ratomic.h for the other domains than those of processors; `node` is a rank of
 * the job. */
gex_Event_t gasnete_adapter_nb(gex_AD_t ad, void *result, gex_Rank_t node, void *addr, gex_OP_t op,
                               uint64_t operand1, uint64_t operand2, gex_Flags_t flags);
int gasnete_adapter_nbi(gex_AD_t ad, void *result, gex_Rank_t node, void *addr, gex_OP_t op,
                        uint64_t operand1, uint64_t operand2, gex_Flags_t flags);

/* checks.c, in checking builds only: fatal if the call or an argument of it is wrong. */
void gasnete_check_atomic(const char *call, gex_AD_t ad, gex_DT_t dt, const void *result,
                          gex_Rank_t rank, const void *addr, gex_OP_t op, gex_Flags_t flags);
