/* amrdma_choice.c - which peers get a ring for their Active Messages (IB-R11, IB-R12).
 *
 * Called by amrdma_rings.c at the end of a cycle, while rings are left to give.
 */
#include "core/ib/amrdma_choice.h"

static uint32_t most_arrivals(const amrdma_choice_t *choice)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < choice->peers; i++)
        if (choice->arrivals[i] > choice->arrivals[best]) best = i;
    return best;
}

static int64_t end_of_cycle(amrdma_choice_t *choice)
{
    for (uint32_t i = 0; i < choice->peers; i++) choice->arrivals[i] = 0;
    choice->total = choice->chosen = 0;
    return -1;
}

int64_t amrdma_choose(amrdma_choice_t *choice)
{
    if (choice->given == choice->max_rings) return end_of_cycle(choice);
    uint32_t best = most_arrivals(choice);
    uint64_t arrivals = choice->arrivals[best];
    bool enough = choice->chosen ? arrivals * choice->max_rings >= choice->total : true;
    if (arrivals == 0 || !enough) return end_of_cycle(choice);
    choice->arrivals[best] = 0;
    choice->chosen++;
    choice->given++;
    return best;
}
