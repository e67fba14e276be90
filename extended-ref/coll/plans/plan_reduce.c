/* plan_reduce.c - REDUCE along a k-nomial tree.  Pure.
 *
 * Without supernodes a subtree is a range of ranks, and children are combined in their order.  If
 * the function is not commutative, there are two such trees, which begin at rank 0 and at the root;
 * the result of the tree at rank 0 is combined last, on the left.  More than `segment` bytes are
 * combined by segments, each of which is sent on while the next arrives.
 *
 * Messages of children arrive in a ring of BUFFERS in TMP, behind the sum so far: with RECVs posted
 * two rounds early three buffers await messages, and one is being combined.
 */
#include "extended-ref/coll/plans/plan_parts.h"

enum { BUFFERS = 4, AHEAD = BUFFERS - 2 };

typedef struct member {
    plan_levels_t levels;
    uint32_t children; /* with the top of the left tree */
    bool left;         /* the last child is the top of the left tree */
    uint32_t segments;
    size_t segment;
} member_t;

/* The rank's position in the tree of the ranks before the root, whose top has the root as its
 * parent, or in the tree of the other ranks. */
static plan_levels_t levels_in_order(const gasnete_coll_plan_t *plan)
{
    plan_levels_t levels = {.at.count = plan->root};
    if (plan->rank >= plan->root)
        levels.at = (plan_position_t){.first = plan->root, .count = plan->size - plan->root};
    levels.within = gasnete_coll_tree(plan, plan->rank - levels.at.first, levels.at.count);
    levels.between = gasnete_coll_tree(plan, 0, 1);
    levels.children = levels.within.children;
    return levels;
}

static member_t reduce_member_of(const gasnete_coll_plan_t *plan)
{
    member_t m = {.levels = plan->in_order ? levels_in_order(plan)
                                           : gasnete_coll_levels(plan, plan->rank)};
    m.left = plan->in_order && plan_is_root(plan) && plan->root;
    m.children = m.levels.children + m.left;
    m.segment = plan->segment / plan->unit * plan->unit;
    if (plan->segment == 0 || m.segment > plan->nbytes) m.segment = plan->nbytes;
    if (m.segment == 0) m.segment = plan->unit;
    m.segments = (uint32_t)((plan->nbytes + m.segment - 1) / m.segment);
    return m;
}

static plan_range_t reduce_segment(const gasnete_coll_plan_t *plan, const member_t *m, uint32_t s)
{
    size_t offset = s * m->segment, rest = plan->nbytes - offset;
    return (plan_range_t){offset, rest < m->segment ? rest : m->segment};
}

/* True if the sum so far lies in TMP.  */
static bool sum_in_tmp(const gasnete_coll_plan_t *plan, const member_t *m)
{
    return plan_is_root(plan) ? m->left && m->children > 1 : m->children > 0;
}

static gasnete_coll_address_t reduce_buffer(const gasnete_coll_plan_t *plan, const member_t *m,
                                            uint32_t i)
{
    size_t sum = sum_in_tmp(plan, m) ? plan_aligned(plan->nbytes) : 0;
    return address(GASNETE_COLL_TMP, sum + i % BUFFERS * plan_aligned(m->segment));
}

static size_t reduce_scratch(const gasnete_coll_plan_t *plan)
{
    const member_t m = reduce_member_of(plan);
    const uint64_t messages = (uint64_t)m.segments * m.children;
    const uint32_t buffers = messages < BUFFERS ? (uint32_t)messages : BUFFERS;
    return (sum_in_tmp(plan, &m) ? plan_aligned(plan->nbytes) : 0) +
           buffers * plan_aligned(m.segment);
}

/* The number of rounds: one for each message from a child, and one for the last combination.  */
static uint32_t reduce_rounds(const gasnete_coll_plan_t *plan)
{
    const member_t m = reduce_member_of(plan);
    return m.segments * m.children + 1;
}

static bool offer_child(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m,
                        uint32_t message)
{
    const uint32_t s = message / m->children, child = message % m->children;
    const uint32_t peer =
        child < m->levels.children
            ? gasnete_coll_child_rank(&m->levels, gasnete_coll_child(&m->levels, child))
            : 0;
    return offer_recv(o, peer, s, reduce_buffer(plan, m, message),
                      reduce_segment(plan, m, s).nbytes);
}

static bool offer_sum(offer_t *o, const gasnete_coll_plan_t *plan, const member_t *m,
                      uint32_t message)
{
    const uint32_t s = message / m->children, child = message % m->children;
    const plan_range_t r = reduce_segment(plan, m, s);
    const gasnete_coll_address_t other = reduce_buffer(plan, m, message);
    const gasnete_coll_address_t sum =
        address(sum_in_tmp(plan, m) ? GASNETE_COLL_TMP : GASNETE_COLL_DST, r.offset);
    const gasnete_coll_address_t own = child ? sum : address(GASNETE_COLL_SRC, r.offset);
    if (child + 1 == m->children && m->left)
        return offer_combine(o, address(GASNETE_COLL_DST, r.offset), other, own, r.nbytes);
    return offer_combine(o, sum, own, other, r.nbytes);
}

static bool leaf_action(const gasnete_coll_plan_t *plan, const member_t *m, offer_t *o)
{
    if (plan_is_root(plan))
        return offer_copy(o, address(GASNETE_COLL_DST, 0), address(GASNETE_COLL_SRC, 0),
                          plan->nbytes);
    const uint32_t s = o->left;
    if (s >= m->segments) {
        o->left -= m->segments;
        return false;
    }
    const plan_range_t r = reduce_segment(plan, m, s);
    o->left = 0;
    return offer_send(o, gasnete_coll_parent_rank(plan, &m->levels), s,
                      address(GASNETE_COLL_SRC, r.offset), r.nbytes);
}

static bool reduce_action(const gasnete_coll_plan_t *plan, uint32_t round, offer_t *o)
{
    const member_t m = reduce_member_of(plan);
    if (m.children == 0) return leaf_action(plan, &m, o);
    if (round < m.segments * m.children && offer_child(o, plan, &m, round)) return true;
    if (round == 0) return false;
    if (offer_sum(o, plan, &m, round - 1)) return true;
    const plan_range_t r = reduce_segment(plan, &m, (round - 1) / m.children);
    return round % m.children == 0 && !plan_is_root(plan) &&
           offer_send(o, gasnete_coll_parent_rank(plan, &m.levels), (round - 1) / m.children,
                      address(GASNETE_COLL_TMP, r.offset), r.nbytes);
}

const gasnete_coll_method_t gasnete_coll_method_reduce_tree = {
    .rounds = reduce_rounds, .ahead = AHEAD, .scratch = reduce_scratch, .action = reduce_action};
