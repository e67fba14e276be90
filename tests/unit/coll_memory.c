/* coll_memory.c - see coll_memory.h.
 */
#include "tests/unit/coll_memory.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* DST and SRC are allocated together, so that they may overlap.  */
static struct memory {
    char *base[3];
    size_t size[3];
    char *source_before; /* a copy of SRC */
    char *allocated;
} memories[COLL_MOST_RANKS];

static gasnete_coll_plan_t plan;

static size_t first(uint32_t rank)
{
    return plan.first ? plan.first[rank] : rank;
}

static size_t images(uint32_t rank)
{
    return first(rank + 1) - first(rank);
}

static void sizes_of(uint32_t rank, size_t *src, size_t *dst)
{
    const bool root = rank == plan.root;
    const size_t own = images(rank) * plan.nbytes, all = first(plan.size) * plan.nbytes;
    *src = *dst = 0;
    switch (plan.kind) {
    case GASNETE_COLL_BARRIER:
        break;
    case GASNETE_COLL_BROADCAST:
        *src = root ? plan.nbytes : 0;
        *dst = plan.nbytes;
        break;
    case GASNETE_COLL_SCATTER:
        *src = root ? all : 0;
        *dst = own;
        break;
    case GASNETE_COLL_GATHER:
        *src = own;
        *dst = root ? all : 0;
        break;
    case GASNETE_COLL_GATHER_ALL:
        *src = own;
        *dst = all;
        break;
    case GASNETE_COLL_EXCHANGE:
        *src = *dst = images(rank) * all;
        break;
    case GASNETE_COLL_REDUCE:
        *src = plan.nbytes;
        *dst = root ? plan.nbytes : 0;
        break;
    case GASNETE_COLL_REDUCE_ALL:
        *src = *dst = plan.nbytes;
        break;
    }
}

static void *filled(size_t nbytes)
{
    void *memory = aligned_alloc(16, (nbytes + 16) & ~(size_t)15);
    if (!memory) abort();
    check_fill(memory, nbytes);
    return memory;
}

/* Makes the smaller of the two a part of the other.  */
static void overlap(uint32_t rank)
{
    struct memory *m = &memories[rank];
    const size_t offset = first(rank) * plan.nbytes;
    switch (plan.kind) {
    case GASNETE_COLL_BROADCAST:
    case GASNETE_COLL_SCATTER:
        if (rank == plan.root)
            m->base[GASNETE_COLL_DST] =
                m->base[GASNETE_COLL_SRC] + (plan.kind == GASNETE_COLL_SCATTER ? offset : 0);
        break;
    case GASNETE_COLL_GATHER:
    case GASNETE_COLL_GATHER_ALL:
        if (m->size[GASNETE_COLL_DST])
            m->base[GASNETE_COLL_SRC] = m->base[GASNETE_COLL_DST] + offset;
        break;
    case GASNETE_COLL_REDUCE_ALL:
        m->base[GASNETE_COLL_DST] = m->base[GASNETE_COLL_SRC];
        break;
    default:
        break;
    }
}

void coll_memory_begin(const gasnete_coll_plan_t *of, bool in_place)
{
    plan = *of;
    for (uint32_t rank = 0; rank < plan.size; rank++) {
        struct memory *m = &memories[rank];
        plan.rank = rank;
        sizes_of(rank, &m->size[GASNETE_COLL_SRC], &m->size[GASNETE_COLL_DST]);
        m->size[GASNETE_COLL_TMP] = gasnete_coll_plan_scratch(&plan);
        size_t src = (m->size[GASNETE_COLL_SRC] + 15) & ~(size_t)15;
        m->allocated = filled(src + m->size[GASNETE_COLL_DST]);
        m->base[GASNETE_COLL_SRC] = m->allocated;
        m->base[GASNETE_COLL_DST] = m->allocated + src;
        m->base[GASNETE_COLL_TMP] = filled(m->size[GASNETE_COLL_TMP]);
        if (in_place) overlap(rank);
        m->source_before = filled(src);
        memcpy(m->source_before, m->base[GASNETE_COLL_SRC], m->size[GASNETE_COLL_SRC]);
    }
}

void coll_memory_end(void)
{
    for (uint32_t rank = 0; rank < plan.size; rank++) {
        free(memories[rank].allocated);
        free(memories[rank].base[GASNETE_COLL_TMP]);
        free(memories[rank].source_before);
    }
}

void *coll_memory_at(uint32_t rank, gasnete_coll_address_t at, size_t nbytes, bool write)
{
    struct memory *m = &memories[rank];
    if (write && at.buffer == GASNETE_COLL_SRC) return NULL;
    if (at.offset > m->size[at.buffer] || nbytes > m->size[at.buffer] - at.offset) return NULL;
    return m->base[at.buffer] + at.offset;
}

/* --- the reduction: 32-bit sums; in order, the composition of x -> a * x + b --- */

static void combine(char *to, const char *from, const char *with, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i += plan.in_order ? 8 : 4) {
        uint32_t left[2], right[2], result[2];
        memcpy(left, from + i, plan.in_order ? 8 : 4);
        memcpy(right, with + i, plan.in_order ? 8 : 4);
        if (plan.in_order) {
            result[0] = left[0] * right[0];
            result[1] = left[0] * right[1] + left[1];
        } else
            result[0] = left[0] + right[0];
        memcpy(to + i, result, plan.in_order ? 8 : 4);
    }
}

static bool act_combine(uint32_t rank, const gasnete_coll_action_t *a)
{
    char *to = coll_memory_at(rank, a->to, a->nbytes, true);
    const char *from = coll_memory_at(rank, a->from, a->nbytes, false);
    const char *with = coll_memory_at(rank, a->with, a->nbytes, false);
    if (!to || !from || !with || (to == with && !plan.in_place) || a->nbytes % plan.unit ||
        a->nbytes == 0)
        return false;
    const uintptr_t align = plan.unit % 8 ? 4 : 8;
    if (((uintptr_t)to | (uintptr_t)from | (uintptr_t)with) % align) return false;
    combine(to, from, with, a->nbytes);
    return true;
}

static bool act_copy(uint32_t rank, const gasnete_coll_action_t *a)
{
    if (a->count == 0 || a->nbytes == 0) return false;
    for (size_t i = 0; i < a->count; i++) {
        gasnete_coll_address_t to = a->to, from = a->from;
        to.offset += i * (size_t)a->to_stride;
        from.offset += i * (size_t)a->from_stride;
        char *t = coll_memory_at(rank, to, a->nbytes, true);
        const char *f = coll_memory_at(rank, from, a->nbytes, false);
        if (!t || !f || (t != f && t < f + a->nbytes && f < t + a->nbytes)) return false;
        memmove(t, f, a->nbytes);
    }
    return true;
}

bool coll_memory_act(uint32_t rank, const gasnete_coll_action_t *action)
{
    return action->verb == GASNETE_COLL_COPY ? act_copy(rank, action) : act_combine(rank, action);
}

/* --- the expected contents of DST --- */

static bool reduced(const char *dst)
{
    char *sum = filled(plan.nbytes);
    memcpy(sum, memories[0].source_before, plan.nbytes);
    for (uint32_t a = 1; a < plan.size; a++)
        combine(sum, sum, memories[a].source_before, plan.nbytes);
    bool same = memcmp(dst, sum, plan.nbytes) == 0;
    free(sum);
    return same;
}

/* Whether the blocks of rank a are right in `dst` of `rank`.  */
static bool blocks_right(const char *dst, uint32_t rank, uint32_t a)
{
    const size_t n = plan.nbytes;
    if (plan.kind == GASNETE_COLL_EXCHANGE)
        return memcmp(dst + images(rank) * first(a) * n,
                      memories[a].source_before + images(a) * first(rank) * n,
                      images(rank) * images(a) * n) == 0;
    return memcmp(dst + first(a) * n, memories[a].source_before, images(a) * n) == 0;
}

bool coll_memory_right(uint32_t rank)
{
    const struct memory *m = &memories[rank];
    const char *dst = m->base[GASNETE_COLL_DST], *from_root = memories[plan.root].source_before;
    if (!plan.in_place &&
        memcmp(m->base[GASNETE_COLL_SRC], m->source_before, m->size[GASNETE_COLL_SRC]))
        return false;
    if (m->size[GASNETE_COLL_DST] == 0) return true;
    if (plan.kind == GASNETE_COLL_BROADCAST) return memcmp(dst, from_root, plan.nbytes) == 0;
    if (plan.kind == GASNETE_COLL_SCATTER)
        return memcmp(dst, from_root + first(rank) * plan.nbytes, images(rank) * plan.nbytes) == 0;
    if (plan.kind >= GASNETE_COLL_REDUCE) return reduced(dst);
    for (uint32_t a = 0; a < plan.size; a++)
        if (!blocks_right(dst, rank, a)) return false;
    return true;
}
