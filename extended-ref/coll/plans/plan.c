/* plan.c - which file plan_*.c has the plan of an operation and an algorithm.  Pure.
 */
#include "extended-ref/coll/plans/plan_parts.h"

static const gasnete_coll_method_t *const methods[][GASNETE_COLL_ALGORITHMS] = {
    [GASNETE_COLL_BARRIER] = {[GASNETE_COLL_DISSEMINATION] = &gasnete_coll_method_barrier},
    [GASNETE_COLL_BROADCAST] = {[GASNETE_COLL_FLAT] = &gasnete_coll_method_broadcast_tree,
                                [GASNETE_COLL_TREE] = &gasnete_coll_method_broadcast_tree,
                                [GASNETE_COLL_SCATTER_FIRST] =
                                    &gasnete_coll_method_broadcast_pieces},
    [GASNETE_COLL_SCATTER] = {[GASNETE_COLL_FLAT] = &gasnete_coll_method_scatter_tree,
                              [GASNETE_COLL_TREE] = &gasnete_coll_method_scatter_tree},
    [GASNETE_COLL_GATHER] = {[GASNETE_COLL_FLAT] = &gasnete_coll_method_gather_tree,
                             [GASNETE_COLL_TREE] = &gasnete_coll_method_gather_tree},
    [GASNETE_COLL_GATHER_ALL] = {[GASNETE_COLL_DISSEMINATION] = &gasnete_coll_method_gather_all,
                                 [GASNETE_COLL_PAIRWISE] = &gasnete_coll_method_pairwise},
    [GASNETE_COLL_EXCHANGE] = {[GASNETE_COLL_DISSEMINATION] = &gasnete_coll_method_bruck,
                               [GASNETE_COLL_PAIRWISE] = &gasnete_coll_method_pairwise},
    [GASNETE_COLL_REDUCE] = {[GASNETE_COLL_FLAT] = &gasnete_coll_method_reduce_tree,
                             [GASNETE_COLL_TREE] = &gasnete_coll_method_reduce_tree,
                             [GASNETE_COLL_SCATTER_FIRST] = &gasnete_coll_method_reduce_pieces,
                             [GASNETE_COLL_PAIRWISE] = &gasnete_coll_method_pairs},
    [GASNETE_COLL_REDUCE_ALL] = {[GASNETE_COLL_SCATTER_FIRST] =
                                     &gasnete_coll_method_reduce_all_pieces,
                                 [GASNETE_COLL_DISSEMINATION] = &gasnete_coll_method_doubling,
                                 [GASNETE_COLL_PAIRWISE] = &gasnete_coll_method_pairs},
};

const gasnete_coll_method_t *gasnete_coll_method(const gasnete_coll_plan_t *plan)
{
    if (!gasnete_coll_in_stages(plan)) return methods[plan->kind][plan->algorithm];
    return plan->kind == GASNETE_COLL_BROADCAST || plan_is_reduction(plan)
               ? &gasnete_coll_method_stages_in_segments
               : &gasnete_coll_method_stages;
}

bool gasnete_coll_plan_possible(const gasnete_coll_plan_t *plan,
                                enum gasnete_coll_algorithm algorithm)
{
    if (!methods[plan->kind][algorithm]) return false;
    if (plan->kind == GASNETE_COLL_EXCHANGE && algorithm == GASNETE_COLL_DISSEMINATION)
        return plan->even || !plan->first;
    return algorithm != GASNETE_COLL_SCATTER_FIRST || (plan->size > 1 && !plan->in_order);
}

uint32_t gasnete_coll_plan_rounds(const gasnete_coll_plan_t *plan)
{
    return gasnete_coll_method(plan)->rounds(plan);
}

uint32_t gasnete_coll_plan_ahead(const gasnete_coll_plan_t *plan)
{
    return gasnete_coll_method(plan)->ahead;
}

size_t gasnete_coll_plan_scratch(const gasnete_coll_plan_t *plan)
{
    const gasnete_coll_method_t *method = gasnete_coll_method(plan);
    return method->scratch ? method->scratch(plan) : 0;
}

bool gasnete_coll_plan_action(const gasnete_coll_plan_t *plan, uint32_t round, uint32_t i,
                              gasnete_coll_action_t *action)
{
    return gasnete_coll_method(plan)->action(plan, round, &(offer_t){.left = i, .action = action});
}
