/* topology.c - supernodes of random groups, compared with what their definition says of each pair
 * of ranks.
 */
#include "extended-ref/topology.h"

#include <stdlib.h>

#include "tests/unit/check.h"

enum { MOST = 60 };

static struct {
    uint32_t size, numbers;
    uint32_t of[MOST];                         /* numbers of supernodes, by rank */
    uint32_t nodes[MOST], supernode[2 * MOST]; /* the group as part of a larger one */
} group;

/* A rank has the supernode of the rank before it at random, so that many groups are ranges. */
static void group_at_random(void)
{
    const uint32_t same = check_below(101);
    const bool mixed = check_below(2);
    group.size = 1 + check_below(MOST);
    group.numbers = 1 + check_below(check_below(2) ? 4 : 3 * MOST);
    for (uint32_t i = 0; i < 2 * MOST; i++) group.supernode[i] = check_below(group.numbers);
    for (uint32_t r = 0; r < group.size; r++) {
        group.of[r] = check_below(group.numbers);
        if (r > 0 && check_below(100) < same) group.of[r] = group.of[r - 1];
        group.nodes[r] = 2 * r + check_below(2);
    }
    for (uint32_t i = group.size; mixed && i > 1; i--) {
        const uint32_t j = check_below(i), node = group.nodes[j];
        group.nodes[j] = group.nodes[i - 1];
        group.nodes[i - 1] = node;
    }
    for (uint32_t r = 0; r < group.size; r++) group.supernode[group.nodes[r]] = group.of[r];
}

/* The first rank of a rank's supernode. */
static uint32_t leader_of(uint32_t rank)
{
    uint32_t leader = 0;
    while (group.of[leader] != group.of[rank]) leader++;
    return leader;
}

static bool is_ranges(void)
{
    for (uint32_t r = 1; r < group.size; r++)
        if (leader_of(r) != r && group.of[r] != group.of[r - 1]) return false;
    return true;
}

static uint32_t supernodes(void)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < group.size; r++) count += leader_of(r) == r;
    return count;
}

/* Compares one rank's supernode, whose number is that of the leaders before its own, and whose
 * ranks are behind those of lower supernodes. */
static void check_rank(const gasnete_topology_t *by, uint32_t rank)
{
    const uint32_t own = by->of[rank], leader = leader_of(rank);
    uint32_t members = 0, number = 0, index = 0;
    for (uint32_t r = 0; r < group.size; r++) {
        const uint32_t theirs = leader_of(r);
        members += theirs == leader;
        number += theirs == r && r < leader;
        index += theirs < leader || (theirs == leader && r < rank);
    }
    check_each(own == number, "rank %u of %u is in supernode %u, not %u", rank, group.size, own,
               number);
    check_each(gasnete_topology_leader(by, own) == leader, "rank %u has leader %u, not %u", rank,
               gasnete_topology_leader(by, own), leader);
    check_each(gasnete_topology_members(by, own) == members, "supernode %u has %u ranks, not %u",
               own, gasnete_topology_members(by, own), members);
    check_each(by->index[rank] == index && by->ranks[index] == rank, "rank %u has index %u, not %u",
               rank, by->index[rank], index);
    check_each(by->first[own] == by->index[leader], "supernode %u begins at %u", own,
               by->first[own]);
}

static void groups(void)
{
    uint32_t none = 0, ranges = 0, any = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        const bool part = check_below(2);
        gasnete_topology_t *by = NULL;
        group_at_random();
        check_each(gasnete_topology_new(&by, part ? group.supernode : group.of, group.numbers,
                                        part ? group.nodes : NULL, group.size),
                   "memory");
        const uint32_t count = supernodes();
        check_each((by == NULL) == (count == 1 || count == group.size), "%u supernodes of %u ranks",
                   count, group.size);
        none += by == NULL;
        ranges += by && by->ranges;
        any += by && !by->ranges;
        if (!by) continue;
        check_each(by->count == count, "%u supernodes, not %u", by->count, count);
        check_each(by->first[count] == group.size, "all ranks");
        check_each(by->ranges == is_ranges(), "ranges: %d", by->ranges);
        for (uint32_t r = 0; r < group.size; r++) check_rank(by, r);
        free(by);
    }
    check_all("supernodes, leaders and indices of groups, and of parts of groups");
    check(none > 100 && ranges > 100 && any > 100, "groups of each kind: %u, %u, %u", none, ranges,
          any);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    groups();
    return check_end();
}
