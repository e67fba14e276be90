/* collops.c - see collops.h.
 *
 * With IN_NOSYNC all sources are there from the start; otherwise each is written when its node
 * enters, and no destination may change before.  What is over after a sync is overwritten, and must
 * stay so.  Around all blocks are bytes that never change.
 */
#include "tests/sim/extended/collops.h"

#include <string.h>

enum { MARGIN = 16, AROUND = 0xa5, DIRTY = 0x5a, SCRIBBLED = 0xee };

/* --- functions of reductions, on elements of two words --- */

typedef struct element {
    uint32_t a, b;
} element_t;

static void sum(void *results, size_t count, const void *left, size_t left_count, const void *right,
                size_t size, int flags, int argument)
{
    element_t *to = results;
    const element_t *l = left, *r = right;
    (void)left_count, (void)size, (void)flags, (void)argument;
    for (size_t i = 0; i < count; i++) to[i] = (element_t){l[i].a + r[i].a, l[i].b ^ r[i].b};
}

/* Of functions a * x + b: not commutative. */
static void compose(void *results, size_t count, const void *left, size_t left_count,
                    const void *right, size_t size, int flags, int argument)
{
    element_t *to = results;
    const element_t *l = left, *r = right;
    (void)left_count, (void)size, (void)flags, (void)argument;
    for (size_t i = 0; i < count; i++)
        to[i] = (element_t){l[i].a * r[i].a, l[i].a * r[i].b + l[i].b};
}

gasnet_coll_fn_entry_t functions[FUNCTIONS] = {
    {sum, GASNET_COLL_AMSAFE},
    {compose, GASNET_COLL_AMSAFE | GASNET_COLL_NONCOMM},
    {sum, 0},
};

/* --- groups --- */

group_t *group_new(uint32_t size)
{
    group_t *group = sim_alloc(sizeof *group);
    *group = (group_t){size, sim_alloc(size * sizeof(uint32_t)),
                       sim_alloc(size * sizeof(gasnet_team_handle_t))};
    return group;
}

uint32_t group_rank(const group_t *group, uint32_t node)
{
    uint32_t rank = 0;
    while (rank < group->size && group->node[rank] != node) rank++;
    return rank;
}

/* --- contents --- */

static size_t src_blocks(const operation_t *op, uint32_t rank)
{
    if (op->kind == EXCHANGE) return op->group->size;
    if (op->kind == SCATTER) return rank == op->root ? op->group->size : 0;
    return op->kind == BROADCAST && rank != op->root ? 0 : 1;
}

static size_t dst_blocks(const operation_t *op, uint32_t rank)
{
    if (op->kind == EXCHANGE || op->kind == GATHER_ALL) return op->group->size;
    if (op->kind == GATHER) return rank == op->root ? op->group->size : 0;
    return op->kind == REDUCE && rank != op->root ? 0 : 1;
}

static uint8_t byte_of(const operation_t *op, uint32_t rank, uint32_t block, size_t i)
{
    uint32_t x = op->key + rank * 0x9e3779b1u + block * 0x85ebca6bu + (uint32_t)i * 0xc2b2ae35u;
    return (uint8_t)((x ^ x >> 15) * 0x2c1b3c6du >> 24);
}

static void fill_block(const operation_t *op, char *at, uint32_t rank, uint32_t block)
{
    for (size_t i = 0; i < op->nbytes; i++) at[i] = (char)byte_of(op, rank, block, i);
}

static void fill_source(operation_t *op, uint32_t rank)
{
    for (uint32_t b = 0; b < src_blocks(op, rank); b++)
        fill_block(op, op->src[rank] + b * op->nbytes, rank, b);
}

static const char *combined(const operation_t *op)
{
    char *result = sim_alloc(op->nbytes), *next = sim_alloc(op->nbytes);
    const size_t count = op->nbytes / sizeof(element_t);
    fill_block(op, result, 0, 0);
    for (uint32_t rank = 1; rank < op->group->size; rank++) {
        fill_block(op, next, rank, 0);
        functions[op->function].fnptr(result, count, result, count, next, sizeof(element_t), 0, 0);
    }
    return result;
}

/* Block `b` of a destination, byte `i`. */
static uint8_t result_of(const operation_t *op, uint32_t rank, uint32_t b, size_t i)
{
    switch (op->kind) {
    case BROADCAST:
        return byte_of(op, op->root, 0, i);
    case SCATTER:
        return byte_of(op, op->root, rank, i);
    case EXCHANGE:
        return byte_of(op, b, rank, i);
    case REDUCE:
        return (uint8_t)op->result[i];
    default:
        return byte_of(op, b, 0, i);
    }
}

/* --- checks --- */

static const char *const names[] = {"broadcast",  "scatter",  "gather",
                                    "gather_all", "exchange", "reduce"};

static void wrong(const operation_t *op, uint32_t rank, const char *what, size_t at)
{
    sim_fail(op->group->node[rank],
             "%s of %zu bytes, %u nodes, root %u, in %d, out %d, form %d: byte %zd of rank %u's %s",
             names[op->kind], op->nbytes, op->group->size, op->root, op->in, op->out, op->form,
             (ssize_t)at, rank, what);
}

static void check_all_are(const operation_t *op, uint32_t rank, const char *at, size_t length,
                          uint8_t value, const char *what)
{
    for (size_t i = 0; i < length; i++)
        if ((uint8_t)at[i] != value) wrong(op, rank, what, i);
}

static void check_around(const operation_t *op, uint32_t rank, const char *at, size_t length)
{
    check_all_are(op, rank, at - MARGIN, MARGIN, AROUND, "margin");
    check_all_are(op, rank, at + length, MARGIN, AROUND, "margin behind");
}

static void check_untouched(const operation_t *op, uint32_t rank)
{
    check_all_are(op, rank, op->dst[rank], dst_blocks(op, rank) * op->nbytes, DIRTY,
                  "destination, which is written early");
}

static void check_result(const operation_t *op, uint32_t rank)
{
    for (uint32_t b = 0; b < dst_blocks(op, rank); b++)
        for (size_t i = 0; i < op->nbytes; i++)
            if ((uint8_t)op->dst[rank][b * op->nbytes + i] != result_of(op, rank, b, i))
                wrong(op, rank, "destination", b * op->nbytes + i);
    for (uint32_t b = 0; b < src_blocks(op, rank); b++)
        for (size_t i = 0; i < op->nbytes; i++)
            if ((uint8_t)op->src[rank][b * op->nbytes + i] != byte_of(op, rank, b, i))
                wrong(op, rank, "source", b * op->nbytes + i);
}

static void check_all(const operation_t *op, void (*check)(const operation_t *, uint32_t))
{
    for (uint32_t rank = 0; rank < op->group->size; rank++) check(op, rank);
}

void operation_synced(operation_t *op, uint32_t rank)
{
    const uint32_t size = op->group->size;
    if (op->out == ALLSYNC || op->in == ALLSYNC)
        sim_check(op->entered == size, op->group->node[rank],
                  "has synced a %s that %u of %u nodes have entered", names[op->kind], op->entered,
                  size);
    op->synced++;
    if (op->out == MYSYNC) check_result(op, rank);
    if (op->out == ALLSYNC && op->synced == 1) check_all(op, check_result);
    if (op->out == NOSYNC && op->synced == size) check_all(op, check_result);
    if (op->out == NOSYNC) return;
    memset(op->src[rank], SCRIBBLED, src_blocks(op, rank) * op->nbytes);
    memset(op->dst[rank], SCRIBBLED, dst_blocks(op, rank) * op->nbytes);
}

void operation_at_rest(const operation_t *op)
{
    for (uint32_t rank = 0; rank < op->group->size; rank++) {
        const size_t src = src_blocks(op, rank) * op->nbytes,
                     dst = dst_blocks(op, rank) * op->nbytes;
        sim_check(op->synced == op->group->size, op->group->node[rank], "%u of %u have synced a %s",
                  op->synced, op->group->size, names[op->kind]);
        check_around(op, rank, op->src[rank], src);
        check_around(op, rank, op->dst[rank], dst);
        if (op->out == NOSYNC) continue;
        check_all_are(op, rank, op->src[rank], src, SCRIBBLED, "source, written after its sync");
        check_all_are(op, rank, op->dst[rank], dst, SCRIBBLED,
                      "destination, written after its sync");
    }
}

/* --- making and calling --- */

static char *make_memory(size_t length)
{
    const size_t all = length + 2 * MARGIN;
    char *memory = sim_chance(50) ? sim_job_remote(all) : sim_alloc(all);
    memset(memory, AROUND, all);
    return memset(memory + MARGIN, DIRTY, length);
}

operation_t *operation_any(const group_t *group, enum kind kind, size_t most)
{
    const size_t bound = kind == BROADCAST || kind == REDUCE ? most : most / group->size;
    operation_t *op = sim_alloc(sizeof *op);
    *op = (operation_t){.group = group,
                        .kind = kind,
                        .form = sim_below(FORMS),
                        .in = sim_below(3),
                        .out = sim_below(3),
                        .root = sim_below(group->size),
                        .nbytes =
                            sim_below(1 + (uint32_t)(bound > 64 && sim_chance(60) ? 64 : bound)),
                        .function = (int)sim_below(FUNCTIONS),
                        .key = sim_below(UINT32_MAX),
                        .src = sim_alloc(group->size * sizeof(char *)),
                        .dst = sim_alloc(group->size * sizeof(char *))};
    if (kind == REDUCE) op->nbytes -= op->nbytes % sizeof(element_t);
    for (uint32_t rank = 0; rank < group->size; rank++) {
        op->src[rank] = make_memory(src_blocks(op, rank) * op->nbytes);
        op->dst[rank] = make_memory(dst_blocks(op, rank) * op->nbytes);
        if (op->in == NOSYNC) fill_source(op, rank);
    }
    if (kind == REDUCE) op->result = combined(op);
    return op;
}

static int flags_of(const operation_t *op)
{
    return GASNET_COLL_IN_NOSYNC << op->in | GASNET_COLL_OUT_NOSYNC << op->out |
           (op->form == LIST_SINGLE ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL) |
           (op->aggregate ? GASNET_COLL_AGGREGATE : 0);
}

static gasnet_coll_handle_t call_with_addresses(const operation_t *op, uint32_t rank,
                                                gasnet_team_handle_t team)
{
    char *src = op->src[rank], *dst = op->dst[rank];
    const int flags = flags_of(op);
    switch (op->kind) {
    case BROADCAST:
        return gasnet_coll_broadcast_nb(team, dst, op->root, src, op->nbytes, flags);
    case SCATTER:
        return gasnet_coll_scatter_nb(team, dst, op->root, src, op->nbytes, flags);
    case GATHER:
        return gasnet_coll_gather_nb(team, op->root, dst, src, op->nbytes, flags);
    case GATHER_ALL:
        return gasnet_coll_gather_all_nb(team, dst, src, op->nbytes, flags);
    case EXCHANGE:
        return gasnet_coll_exchange_nb(team, dst, src, op->nbytes, flags);
    default:
        return gasnet_coll_reduce_nb(team, op->root, dst, src, 0, 0, sizeof(element_t),
                                     op->nbytes / sizeof(element_t), op->function, 0, flags);
    }
}

/* LOCAL: a list of this node's own image; SINGLE: of all. */
static gasnet_coll_handle_t call_with_lists(const operation_t *op, uint32_t rank,
                                            gasnet_team_handle_t team)
{
    const uint32_t first = op->form == LIST_LOCAL ? rank : 0;
    void *const *srcs = (void **)op->src + first, *const *dsts = (void **)op->dst + first;
    char *src = op->src[op->root], *dst = op->dst[op->root];
    const int flags = flags_of(op);
    switch (op->kind) {
    case BROADCAST:
        return gasnet_coll_broadcastM_nb(team, dsts, op->root, src, op->nbytes, flags);
    case SCATTER:
        return gasnet_coll_scatterM_nb(team, dsts, op->root, src, op->nbytes, flags);
    case GATHER:
        return gasnet_coll_gatherM_nb(team, op->root, dst, srcs, op->nbytes, flags);
    case GATHER_ALL:
        return gasnet_coll_gather_allM_nb(team, dsts, srcs, op->nbytes, flags);
    case EXCHANGE:
        return gasnet_coll_exchangeM_nb(team, dsts, srcs, op->nbytes, flags);
    default:
        return gasnet_coll_reduceM_nb(team, op->root, dst, srcs, 0, 0, sizeof(element_t),
                                      op->nbytes / sizeof(element_t), op->function, 0, flags);
    }
}

/* The blocking call keeps its operation, which is another path of the engine. */
static void call_blocking(const operation_t *op, uint32_t rank, gasnet_team_handle_t team)
{
    char *src = op->src[rank], *dst = op->dst[rank];
    const int flags = (flags_of(op) & ~GASNET_COLL_SINGLE) | GASNET_COLL_LOCAL;
    switch (op->kind) {
    case BROADCAST:
        gasnet_coll_broadcast(team, dst, op->root, src, op->nbytes, flags);
        return;
    case SCATTER:
        gasnet_coll_scatter(team, dst, op->root, src, op->nbytes, flags);
        return;
    case GATHER:
        gasnet_coll_gather(team, op->root, dst, src, op->nbytes, flags);
        return;
    case GATHER_ALL:
        gasnet_coll_gather_all(team, dst, src, op->nbytes, flags);
        return;
    case EXCHANGE:
        gasnet_coll_exchange(team, dst, src, op->nbytes, flags);
        return;
    default:
        gasnet_coll_reduce(team, op->root, dst, src, 0, 0, sizeof(element_t),
                           op->nbytes / sizeof(element_t), op->function, 0, flags);
    }
}

gasnet_coll_handle_t operation_begin(operation_t *op, uint32_t rank, bool blocking)
{
    gasnet_team_handle_t team = op->group->team[rank];
    op->entered++;
    if (op->in == MYSYNC) check_untouched(op, rank);
    if (op->in == ALLSYNC && op->entered == op->group->size) check_all(op, check_untouched);
    if (op->in != NOSYNC) fill_source(op, rank);
    sim_note(op->group->node[rank], "enters %s of %zu bytes, %u nodes%s", names[op->kind],
             op->nbytes, op->group->size, blocking ? ", blocking" : "");
    sim_job_busy();
    if (blocking) {
        call_blocking(op, rank, team);
        return GASNET_COLL_INVALID_HANDLE;
    }
    return op->form == LOCAL ? call_with_addresses(op, rank, team)
                             : call_with_lists(op, rank, team);
}
