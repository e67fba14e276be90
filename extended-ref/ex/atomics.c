/* atomics.c - domains of remote atomics, and their operations.
 *
 * The operations of most domains are executed by processors (atomics.h): by that of the caller if
 * it can address the element, else by the handler of a Request, whose Reply has the earlier value
 * if the operation fetches.  atomics_adapter.c has the other domains.  All accesses to an element
 * are atomic with respect to each other.  Nothing of a domain is sent.
 */
#include "extended-ref/ex/atomics.h"

#include <stdlib.h>
#include <string.h>

#include "core/lock.h"
#include "core/report.h"
#include "core/trace/trace.h"
#include "extended-ref/ex/objects.h"
#include "extended-ref/handles.h"
#include "extended-ref/internal_am.h"
#include "extended-ref/shm_transfer.h"
#include "other/base/hot.h"

/* --- domains --- */

static gex_AD_t domains; /* that exist, in a list */
static gasneti_lock_t domains_lock;

/* The operations that a type has, or'd; 0: domains have no such type. */
static gex_OP_t domains_ops(gex_DT_t dt)
{
    gex_OP_t ops = 0;
    for (unsigned type = 0; type < GASNETE_ATOMIC_TYPES; type++)
        for (unsigned op = 0; op < 32; op++)
            if (dt == 1U << type && gasnete_atomic_types[type].of[op]) ops |= 1U << op;
    return ops;
}

void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
{
    const gex_Flags_t favours =
        GEX_FLAG_AD_FAVOR_MY_RANK | GEX_FLAG_AD_FAVOR_MY_NBRHD | GEX_FLAG_AD_FAVOR_REMOTE;
    const gex_OP_t possible = domains_ops(dt);
    if (GASNETC_CHECKING) gasnetc_check_client_code(__func__);
    if (!gasnete_is_team(tm))
        gasneti_fatal("%s is given %p, which is no team", __func__, (void *)tm);
    if (!possible)
        gasneti_fatal("%s is given the type 0x%x: it is one of GEX_DT_I32, U32, I64, U64, FLT, DBL",
                      __func__, dt);
    if (!ops || ops & ~possible)
        gasneti_fatal("%s is given the operations 0x%x; those of the type 0x%x are 0x%x", __func__,
                      ops, dt, possible);
    if (flags & ~favours || flags & (flags - 1))
        gasneti_fatal("%s is given the flags 0x%x: they are 0 or one of GEX_FLAG_AD_FAVOR_",
                      __func__, flags);
    gex_AD_t ad = gasneti_calloc(1, sizeof *ad, "a domain of atomics");
    ad->tm = tm;
    ad->by = gasnete_atomics_by(dt, ops, flags);
    ad->usual = tm == gasnete_all && ad->by == GASNETE_BY_PROCESSORS;
    ad->dt = dt;
    ad->ops = ops;
    ad->flags = flags;
    gasneti_lock(&domains_lock);
    ad->next = domains;
    domains = ad;
    gasneti_unlock(&domains_lock);
    *ad_p = ad;
}

/* The link of the list that points to the domain, or to GEX_AD_INVALID.  The lock is held. */
static gex_AD_t *domains_find(gex_AD_t ad)
{
    gex_AD_t *link = &domains;
    while (*link && *link != ad) link = &(*link)->next;
    return link;
}

bool gasnete_is_domain(gex_AD_t ad)
{
    gasneti_lock(&domains_lock);
    const bool found = ad && *domains_find(ad);
    gasneti_unlock(&domains_lock);
    return found;
}

bool gasnete_has_domain(gex_TM_t tm)
{
    gasneti_lock(&domains_lock);
    gex_AD_t ad = domains;
    while (ad && ad->tm != tm) ad = ad->next;
    gasneti_unlock(&domains_lock);
    return ad != GEX_AD_INVALID;
}

void gex_AD_Destroy(gex_AD_t ad)
{
    if (GASNETC_CHECKING) gasnetc_check_client_code(__func__);
    gasneti_lock(&domains_lock);
    gex_AD_t *link = domains_find(ad);
    const bool found = *link != GEX_AD_INVALID;
    if (found) *link = ad->next;
    gasneti_unlock(&domains_lock);
    if (!found)
        gasneti_fatal("%s is given the domain %p, which " GASNETE_NO_DOMAIN, __func__, (void *)ad);
    free(ad);
}

/* --- operations of ranks whose memory is not mapped --- */

/* The words of a Request, and of its Reply. */
enum { AT, OPERAND1, OPERAND2, NUMBER, KIND };
enum { GOT_NUMBER, GOT_EARLIER };
_Static_assert(KIND + 1 == GASNETE_ATOMIC_WORDS && GOT_EARLIER + 1 == GASNETE_ATOMIC_GOT_WORDS,
               "the handlers get all words");

/* The type and the operation, as one word. */
static uint64_t atomics_kind(gex_DT_t dt, gex_OP_t op)
{
    return GASNETE_BIT(dt) << 5 | GASNETE_BIT(op);
}

HOT void atomics_send(gasnetc_counter_t *counter, gex_DT_t dt, void *result, gex_Rank_t node,
                      void *addr, gex_OP_t op, uint64_t operand1, uint64_t operand2)
{
    const size_t nbytes = gasnete_op_fetches(op) ? gasnete_atomic_types[GASNETE_BIT(dt)].size : 0;
    gasnetc_words_t request;
    request.word[AT] = (uintptr_t)addr;
    request.word[OPERAND1] = operand1;
    request.word[OPERAND2] = operand2;
    request.word[NUMBER] = gasnete_expect(GASNETE_REPLY_ATOMIC_GOT, node, result, nbytes, counter);
    request.word[KIND] = atomics_kind(dt, op);
    gasnetc_request_words(node, GASNETE_H_ATOMIC, &request, GASNETE_ATOMIC_WORDS);
}

static void __attribute__((noreturn, cold))
atomics_refuse(gasnet_token_t token, uint64_t kind, const void *at)
{
    gasneti_fatal("%s asks for the atomic operation 0x%llx at %p: there is no such operation, or "
                  "the address is not aligned; do all ranks run the same program and library?",
                  gasneti_rank_name(gasnetc_token_source(token)), (unsigned long long)kind, at);
}

void gasnete_atomic_handler(gasnet_token_t token, const uint64_t *words)
{
    void *const at = (void *)(uintptr_t)gasnetc_word(words, AT);
    const uint64_t kind = gasnetc_word(words, KIND), type = kind >> 5;
    if (type >= GASNETE_ATOMIC_TYPES) atomics_refuse(token, kind, at);
    gasnete_atomic_t *const operation = gasnete_atomic_types[type].of[kind & 31];
    const size_t nbytes = gasnete_atomic_types[type].size;
    gasnete_check_requested(token, at, nbytes, "an atomic operation");
    if (!operation || (uintptr_t)at & (nbytes - 1)) atomics_refuse(token, kind, at);
    gasnetc_words_t reply;
    reply.word[GOT_NUMBER] = gasnetc_word(words, NUMBER);
    reply.word[GOT_EARLIER] = 0;
    operation(at, &reply.word[GOT_EARLIER], gasnetc_word(words, OPERAND1),
              gasnetc_word(words, OPERAND2));
    gasnetc_reply_words(token, GASNETE_H_ATOMIC_GOT, &reply, GASNETE_ATOMIC_GOT_WORDS);
}

void gasnete_atomic_got_handler(gasnet_token_t token, const uint64_t *words)
{
    const gasnete_operation_t operation = gasnete_answered(
        token, GASNETE_REPLY_ATOMIC_GOT, gasnetc_word(words, GOT_NUMBER), GASNETE_ANY_LENGTH);
    const uint64_t earlier = gasnetc_word(words, GOT_EARLIER);
    if (operation.nbytes == sizeof earlier)
        memcpy(operation.memory, &earlier, sizeof earlier);
    else if (operation.nbytes)
        memcpy(operation.memory, &earlier, operation.nbytes);
    gasnetc_counter_ack(operation.counter);
}

/* --- the calls --- */

void *gasnete_atomic_at(gex_DT_t dt, gex_Rank_t node, void *addr)
{
    const gasnete_shm_peer_t *shm = gasnete_shm_peer(node);
    const size_t nbytes = gasnete_atomic_types[GASNETE_BIT(dt)].size;
    void *at = shm ? gasnete_shm_at(shm, addr, nbytes) : NULL;
    if (GASNET_PSHM && gasneti_trace_on && !at) at = gasnete_shm_traced_at(node, addr, nbytes);
    return !at && node == gasnetc_job.rank ? addr : at;
}

/* The same, without the cost of a call for a rank whose memory is not mapped. */
HOT void *atomics_at(gex_DT_t dt, gex_Rank_t node, void *addr)
{
    const bool mapped = gasnete_shm_peer(node) || node == gasnetc_job.rank;
    return mapped ? gasnete_atomic_at(dt, node, addr) : NULL;
}

void gasnete_atomic_trace(uint64_t began, gex_DT_t dt, gex_Rank_t node)
{
    gasneti_trace_end(began, .kind = GASNETI_TRACE_atomic, .peer = node,
                      .bytes = gasnete_atomic_types[GASNETE_BIT(dt)].size);
}

/* Elements that the calls do not find at once.  Without noinline the calls save registers for these
 * functions first, and row ex_ad_near of make bench is a third worse. */
static __attribute__((noinline)) gex_Event_t atomics_slow_nb(gex_DT_t dt, void *result,
                                                             gex_Rank_t node, void *addr,
                                                             gex_OP_t op, uint64_t operand1,
                                                             uint64_t operand2)
{
    const uint64_t began = gasneti_trace_begin();
    void *const at = atomics_at(dt, node, addr);
    gex_Event_t event = GEX_EVENT_INVALID;
    if (at) {
        event = GASNETE_KERNEL(dt, op)(at, result, operand1, operand2);
    } else {
        event = gasnete_op_new(gasnete_self(), GASNETE_OP_HANDLE);
        atomics_send(&event->counter, dt, result, node, addr, op, operand1, operand2);
    }
    gasnete_atomic_trace(began, dt, node);
    return event;
}

static __attribute__((noinline)) void atomics_slow_nbi(gex_DT_t dt, void *result, gex_Rank_t node,
                                                       void *addr, gex_OP_t op, uint64_t operand1,
                                                       uint64_t operand2)
{
    const enum gasnete_set set = op == GEX_OP_SET   ? GASNETE_PUTS
                                 : op == GEX_OP_GET ? GASNETE_GETS
                                                    : GASNETE_ATOMICS;
    const uint64_t began = gasneti_trace_begin();
    void *const at = atomics_at(dt, node, addr);
    if (at)
        (void)GASNETE_KERNEL(dt, op)(at, result, operand1, operand2);
    else
        atomics_send(gasnete_self()->implicit[set], dt, result, node, addr, op, operand1, operand2);
    gasnete_atomic_trace(began, dt, node);
}

/* Sets *at to the address of an element that is mapped here, and not one of the last of its
 * segment; else returns false. */
HOT bool atomics_mapped(gex_Rank_t node, void *addr, void **at)
{
    const gasnete_shm_peer_t *shm = gasnete_shm_peer(node);
    if (!shm || (uintptr_t)addr - shm->base >= shm->inner) return false;
    *at = (void *)((uintptr_t)addr - shm->base + shm->mapped);
    return true;
}

/* The rank in the job, of a domain that is not `usual`: the calls test that first, which saves 5 %
 * of row ex_ad_near of make bench. */
HOT gex_Rank_t atomics_node(gex_AD_t ad, gex_Rank_t rank, gex_Flags_t flags)
{
    return flags & GEX_FLAG_RANK_IS_JOBRANK ? rank : gasneti_jobrank(ad->tm, rank);
}

#define CALLS(T, type)                                                                             \
    static uint64_t atomics_word_##T(type operand)                                                 \
    {                                                                                              \
        uint64_t word = 0;                                                                         \
        memcpy(&word, &operand, sizeof operand);                                                   \
        return word;                                                                               \
    }                                                                                              \
    gex_Event_t gex_AD_OpNB_##T(gex_AD_t ad, type *result_p, gex_Rank_t rank, void *addr,          \
                                gex_OP_t op, type operand1, type operand2, gex_Flags_t flags)      \
    {                                                                                              \
        const uint64_t a = atomics_word_##T(operand1), b = atomics_word_##T(operand2);             \
        if (GASNETC_CHECKING)                                                                      \
            gasnete_check_atomic(__func__, ad, GEX_DT_##T, result_p, rank, addr, op, flags);       \
        gex_Rank_t node = rank;                                                                    \
        void *at;                                                                                  \
        if (!ad->usual) {                                                                          \
            node = atomics_node(ad, rank, flags);                                                  \
            if (ad->by) return gasnete_adapter_nb(ad, result_p, node, addr, op, a, b, flags);      \
        }                                                                                          \
        if (!atomics_mapped(node, addr, &at))                                                      \
            return atomics_slow_nb(GEX_DT_##T, result_p, node, addr, op, a, b);                    \
        return GASNETE_KERNEL(GEX_DT_##T, op)(at, result_p, a, b);                                 \
    }                                                                                              \
    int gex_AD_OpNBI_##T(gex_AD_t ad, type *result_p, gex_Rank_t rank, void *addr, gex_OP_t op,    \
                         type operand1, type operand2, gex_Flags_t flags)                          \
    {                                                                                              \
        const uint64_t a = atomics_word_##T(operand1), b = atomics_word_##T(operand2);             \
        if (GASNETC_CHECKING)                                                                      \
            gasnete_check_atomic(__func__, ad, GEX_DT_##T, result_p, rank, addr, op, flags);       \
        gex_Rank_t node = rank;                                                                    \
        void *at;                                                                                  \
        if (!ad->usual) {                                                                          \
            node = atomics_node(ad, rank, flags);                                                  \
            if (ad->by) return gasnete_adapter_nbi(ad, result_p, node, addr, op, a, b, flags);     \
        }                                                                                          \
        if (atomics_mapped(node, addr, &at))                                                       \
            (void)GASNETE_KERNEL(GEX_DT_##T, op)(at, result_p, a, b);                              \
        else                                                                                       \
            atomics_slow_nbi(GEX_DT_##T, result_p, node, addr, op, a, b);                          \
        return 0;                                                                                  \
    }
GASNETI_AD_TYPES(CALLS, CALLS)
