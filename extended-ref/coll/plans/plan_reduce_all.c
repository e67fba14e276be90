/* plan_reduce_all.c - REDUCE_ALL of short vectors by recursive doubling.  Pure.
 *
 * Of a power of two of ranks, pairs at the distances 1, 2, 4 ... exchange their sums.
 * Both ranks of a pair combine the same two sums, that of the lower ranks on the left: so all ranks
 * have the same result to the last bit, and the order of ranks is kept.  Of other numbers of ranks,
 * the first ones meet in pairs before: the higher rank of a pair sends its vector to the lower one,
 * and gets the result in the end.  TMP has a ring of BUFFERS for messages and two sums: with RECVs
 * posted PLAN_FENCE rounds early, one message is being combined while others are awaited.
 */
#include "extended-ref/coll/plans/plan_parts.h"

enum { BUFFERS = PLAN_FENCE + 2, SUMS = 2 };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

typedef struct member {
    uint32_t pairs;     /* of ranks that meet before the doubling: the first 2 * pairs ranks */
    uint32_t distance;  /* number of distances */
    uint32_t v;         /* the rank's number in the doubling */
    bool meets, leaves; /* is the lower, or the higher rank of such a pair */
    uint32_t messages;  /* that are combined */
} member_t;

static member_t doubling_member_of(const gasnete_coll_plan_t *plan)
{
    member_t m = {.distance = 31 - (uint32_t)__builtin_clz(plan->size)};
    m.pairs = plan->size - ((uint32_t)1 << m.distance);
    const bool paired = plan->rank < 2 * (uint64_t)m.pairs;
    m.leaves = paired && plan->rank % 2;
    m.meets = paired && !m.leaves;
    m.v = paired ? plan->rank / 2 : plan->rank - m.pairs;
    m.messages = m.leaves ? 0 : m.meets + m.distance;
    return m;
}

/* Fences are those of a plan in place: see PLAN_FENCE. */
static uint32_t doubling_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = doubling_member_of(plan);
    return m.messages + 1 + (m.leaves && plan->in_place ? 1 + PLAN_FENCE : 0);
}

static size_t doubling_scratch(const gasnete_coll_plan_t *plan)
{
    const member_t m = doubling_member_of(plan);
    const uint32_t sums = m.messages ? least(m.messages - 1, SUMS) : 0;
    return (least(m.messages, BUFFERS) + sums) * plan_aligned(plan->nbytes);
}

static gasnete_coll_address_t doubling_buffer(const gasnete_coll_plan_t *plan, uint32_t message)
{
    return address(GASNETE_COLL_TMP, message % BUFFERS * plan_aligned(plan->nbytes));
}

/* The sum of the rank's own vector and of `count` messages. */
static gasnete_coll_address_t doubling_sum(const gasnete_coll_plan_t *plan, const member_t *m,
                                           uint32_t count)
{
    if (count == 0) return address(GASNETE_COLL_SRC, 0);
    if (count == m->messages) return address(GASNETE_COLL_DST, 0);
    const uint32_t behind = least(m->messages, BUFFERS) + (count - 1) % SUMS;
    return address(GASNETE_COLL_TMP, behind * plan_aligned(plan->nbytes));
}

static uint32_t doubling_distance(const member_t *m, uint32_t message)
{
    return (uint32_t)1 << (message - m->meets);
}

static uint32_t doubling_peer(const member_t *m, uint32_t distance)
{
    const uint32_t v = m->v ^ distance;
    return v < m->pairs ? 2 * v : v + m->pairs;
}

/* Combines a message.  The sum may replace one that was sent, or in place the vector that was. */
static bool doubling_combine(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m,
                             uint32_t message)
{
    const gasnete_coll_address_t own = doubling_sum(plan, m, message);
    const gasnete_coll_address_t other = doubling_buffer(plan, message);
    const gasnete_coll_address_t sum = doubling_sum(plan, m, message + 1);
    const bool first = message < m->meets;
    const bool behind = !first && (m->v & doubling_distance(m, message));
    const bool sent = sum.buffer == GASNETE_COLL_DST ? plan->in_place : message >= SUMS;
    if (sent && offer_drain(o)) return true;
    return offer_combine(o, sum, behind ? other : own, behind ? own : other, plan->nbytes);
}

/* The rank that does not take part in the doubling: the tags are those of its peer. */
static bool doubling_leaves(const gasnete_coll_plan_t *plan, const member_t *m, uint32_t round,
                            offer_t *o)
{
    const uint32_t last = plan->in_place ? 1 + PLAN_FENCE : 0;
    if (round == 0 && offer_send(o, plan->rank - 1, 0, address(GASNETE_COLL_SRC, 0), plan->nbytes))
        return true;
    if (round == last)
        return offer_recv(o, plan->rank - 1, 1 + m->distance, address(GASNETE_COLL_DST, 0),
                          plan->nbytes);
    return round == 0 && offer_drain(o);
}

static bool doubling_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = doubling_member_of(plan);
    if (m.leaves) return doubling_leaves(plan, &m, round, o);
    if (round > 0 && doubling_combine(o, plan, &m, round - 1)) return true;
    if (round == m.messages) {
        if (m.messages == 0)
            return offer_copy(o, address(GASNETE_COLL_DST, 0), address(GASNETE_COLL_SRC, 0),
                              plan->nbytes);
        return m.meets && offer_send(o, plan->rank + 1, 1 + m.distance,
                                     address(GASNETE_COLL_DST, 0), plan->nbytes);
    }
    const gasnete_coll_address_t to = doubling_buffer(plan, round);
    if (round < m.meets) return offer_recv(o, plan->rank + 1, 0, to, plan->nbytes);
    const uint32_t peer = doubling_peer(&m, doubling_distance(&m, round));
    const uint32_t tag = 1 + round - m.meets;
    return offer_send(o, peer, tag, doubling_sum(plan, &m, round), plan->nbytes) ||
           offer_recv(o, peer, tag, to, plan->nbytes);
}

const gasnete_coll_method_t gasnete_coll_method_doubling = {.rounds = doubling_rounds,
                                                            .ahead = PLAN_FENCE,
                                                            .scratch = doubling_scratch,
                                                            .action = doubling_action};
