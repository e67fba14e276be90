/* plan_choose.c - the table of plan_choose.h.  Pure.
 */
#include "extended-ref/coll/plans/plan_parts.h"

const char *const gasnete_coll_kind_name[GASNETE_COLL_KINDS] = {
    [GASNETE_COLL_BARRIER] = "barrier",       [GASNETE_COLL_BROADCAST] = "broadcast",
    [GASNETE_COLL_SCATTER] = "scatter",       [GASNETE_COLL_GATHER] = "gather",
    [GASNETE_COLL_GATHER_ALL] = "gather_all", [GASNETE_COLL_EXCHANGE] = "exchange",
    [GASNETE_COLL_REDUCE] = "reduce",         [GASNETE_COLL_REDUCE_ALL] = "reduce_all",
};
const char *const gasnete_coll_algorithm_name[GASNETE_COLL_ALGORITHMS] = {
    [GASNETE_COLL_FLAT] = "flat",
    [GASNETE_COLL_TREE] = "tree",
    [GASNETE_COLL_SCATTER_FIRST] = "scatter_first",
    [GASNETE_COLL_DISSEMINATION] = "dissemination",
    [GASNETE_COLL_PAIRWISE] = "pairwise",
};

/* The table.  Bytes are those of a rank: of the whole for BROADCAST, REDUCE and REDUCE_ALL, of its
 * own blocks for SCATTER, GATHER and GATHER_ALL, and of its blocks for one other rank for EXCHANGE.
 * The first row that matches counts.  */
static const struct row {
    enum gasnete_coll_kind kind;
    uint32_t least_size;
    size_t least_bytes;
    enum gasnete_coll_algorithm algorithm;
} table[] = {
    {GASNETE_COLL_BARRIER, 1, 0, GASNETE_COLL_DISSEMINATION},
    {GASNETE_COLL_BROADCAST, 8, (32 << 10) + 1, GASNETE_COLL_SCATTER_FIRST},
    {GASNETE_COLL_BROADCAST, 4, (128 << 10) + 1, GASNETE_COLL_SCATTER_FIRST},
    {GASNETE_COLL_BROADCAST, 1, 0, GASNETE_COLL_TREE},
    {GASNETE_COLL_SCATTER, 1, (2 << 10) + 1, GASNETE_COLL_FLAT},
    {GASNETE_COLL_SCATTER, 5, 0, GASNETE_COLL_TREE},
    {GASNETE_COLL_SCATTER, 1, 0, GASNETE_COLL_FLAT},
    {GASNETE_COLL_GATHER, 1, (2 << 10) + 1, GASNETE_COLL_FLAT},
    {GASNETE_COLL_GATHER, 5, 0, GASNETE_COLL_TREE},
    {GASNETE_COLL_GATHER, 1, 0, GASNETE_COLL_FLAT},
    {GASNETE_COLL_GATHER_ALL, 1, 0, GASNETE_COLL_DISSEMINATION},
    {GASNETE_COLL_EXCHANGE, 1, 256 + 1, GASNETE_COLL_PAIRWISE},
    {GASNETE_COLL_EXCHANGE, 16, 0, GASNETE_COLL_DISSEMINATION},
    {GASNETE_COLL_EXCHANGE, 1, 0, GASNETE_COLL_PAIRWISE},
    {GASNETE_COLL_REDUCE, 9, (32 << 10) + 1, GASNETE_COLL_SCATTER_FIRST},
    {GASNETE_COLL_REDUCE, 9, 0, GASNETE_COLL_TREE},
    {GASNETE_COLL_REDUCE, 2, (64 << 10) + 1, GASNETE_COLL_PAIRWISE},
    {GASNETE_COLL_REDUCE, 1, 0, GASNETE_COLL_TREE},
    {GASNETE_COLL_REDUCE_ALL, 9, (8 << 10) + 1, GASNETE_COLL_SCATTER_FIRST},
    {GASNETE_COLL_REDUCE_ALL, 9, 0, GASNETE_COLL_DISSEMINATION},
    {GASNETE_COLL_REDUCE_ALL, 3, (4 << 10) + 1, GASNETE_COLL_PAIRWISE},
    {GASNETE_COLL_REDUCE_ALL, 2, (64 << 10) + 1, GASNETE_COLL_PAIRWISE},
    {GASNETE_COLL_REDUCE_ALL, 1, 0, GASNETE_COLL_DISSEMINATION},
};

/* Radix of trees, and bytes of a segment.  Among up to three ranks none forwards data: segments
 * then only overlap the combining of a reduction with its messages.  */
enum { RADIX = 2, SEGMENT = 32 << 10, SEGMENT_OF_THREE = 128 << 10 };

/* Most bytes of a rank's blocks that leaders pass on: more bytes take longer on a link than a
 * message costs.  */
enum { BY_LEADERS = 16 << 10 };

/* Limits of an EXCHANGE by leaders: local copies and messages in a leader, and bytes of one rank
 * for another.  Beyond these the copies take longer than the messages that they save.  A leader
 * needs twice the bytes of its supernode, less than 1 MiB.  */
enum { EXCHANGE_ACTIONS = 56, EXCHANGE_BYTES = 256 };

static size_t choose_segment_of(const gasnete_coll_plan_t *plan, size_t wanted)
{
    if (wanted == 0) wanted = plan->size <= 3 ? SEGMENT_OF_THREE : SEGMENT;
    return plan_segment(wanted, plan->nbytes);
}

/* The team size for the table: the number of supernodes, if only their leaders use the network;
 * UINT32_MAX for a tree of blocks, which pays for any number of ranks then.  */
static uint32_t choose_size_of(const gasnete_coll_plan_t *plan)
{
    const gasnete_topology_t *by = plan->topology;
    if (!by || (plan->in_order && !gasnete_coll_in_stages(plan))) return plan->size;
    switch (plan->kind) {
    case GASNETE_COLL_BROADCAST:
    case GASNETE_COLL_REDUCE:
    case GASNETE_COLL_REDUCE_ALL:
        return by->count;
    case GASNETE_COLL_SCATTER:
    case GASNETE_COLL_GATHER:
    case GASNETE_COLL_EXCHANGE:
        return UINT32_MAX;
    default:
        return plan->size;
    }
}

/* The bytes for the table: an average, because all ranks must choose the same algorithm.  */
static size_t choose_bytes_of(const gasnete_coll_plan_t *plan)
{
    const size_t each = (plan_first(plan, plan->size) + plan->size - 1) / plan->size;
    switch (plan->kind) {
    case GASNETE_COLL_SCATTER:
    case GASNETE_COLL_GATHER:
    case GASNETE_COLL_GATHER_ALL:
        return each * plan->nbytes;
    case GASNETE_COLL_EXCHANGE:
        return each * each * plan->nbytes;
    default:
        return plan->nbytes;
    }
}

static enum gasnete_coll_algorithm choose_from_table(const gasnete_coll_plan_t *plan)
{
    const size_t bytes = choose_bytes_of(plan);
    const struct row *row = table;
    while (row->kind != plan->kind || choose_size_of(plan) < row->least_size ||
           bytes < row->least_bytes || !gasnete_coll_plan_possible(plan, row->algorithm))
        row++;
    return row->algorithm;
}

/* The algorithm that a limit of the settings asks for, or that of the table.  */
static enum gasnete_coll_algorithm choose_wanted(const gasnete_coll_plan_t *plan,
                                                 const gasnete_coll_settings_t *settings)
{
    if (settings->tree[plan->kind] && settings->tree[plan->kind] <= GASNETE_COLL_ALGORITHMS)
        return settings->tree[plan->kind] - 1;
    if (plan->kind == GASNETE_COLL_GATHER_ALL || plan->kind == GASNETE_COLL_EXCHANGE) {
        const size_t limit = settings->dissemination_limit[plan->kind == GASNETE_COLL_EXCHANGE];
        if (limit)
            return choose_bytes_of(plan) * plan->size <= limit ? GASNETE_COLL_DISSEMINATION
                                                               : GASNETE_COLL_PAIRWISE;
    }
    return choose_from_table(plan);
}

/* The actions of a leader in an EXCHANGE: a copy for each rank, one for each supernode or rank, and
 * the messages.  */
static uint32_t leader_actions(const gasnete_coll_plan_t *plan)
{
    const gasnete_topology_t *by = plan->topology;
    return plan->size + (by->ranges ? by->count : plan->size) + 2 * by->count;
}

/* True if all ranks exchange messages as if none shared memory: in a flat tree that a setting asks
 * for, and for large blocks, each of which crosses the network once in any case.  */
static bool choose_direct(const gasnete_coll_plan_t *plan, const gasnete_coll_settings_t *settings)
{
    const bool blocks = plan->kind == GASNETE_COLL_SCATTER || plan->kind == GASNETE_COLL_GATHER;
    if (plan->kind == GASNETE_COLL_EXCHANGE && plan->topology)
        return leader_actions(plan) > EXCHANGE_ACTIONS || choose_bytes_of(plan) > EXCHANGE_BYTES;
    if (plan->kind == GASNETE_COLL_REDUCE_ALL) return !gasnete_coll_in_stages(plan);
    return blocks && plan->algorithm == GASNETE_COLL_FLAT &&
           (settings->tree[plan->kind] == 1 + GASNETE_COLL_FLAT ||
            choose_bytes_of(plan) > BY_LEADERS);
}

void gasnete_coll_choose(gasnete_coll_plan_t *plan, const gasnete_coll_settings_t *settings)
{
    const enum gasnete_coll_algorithm algorithm = choose_wanted(plan, settings);
    plan->algorithm =
        gasnete_coll_plan_possible(plan, algorithm) ? algorithm : choose_from_table(plan);
    if (choose_direct(plan, settings)) plan->topology = NULL;
    plan->radix = settings->radix > 1 ? settings->radix : RADIX;
    plan->segment = choose_segment_of(plan, settings->segment);
}
