/* calls.c - the calls of an operation of operations.h: six kinds, single and with lists, blocking
 * and not.  */
#include "tests/coll/operations.h"

struct arguments {
    gasnet_team_handle_t team;
    void *dst, *src;
    void **dst_list, **src_list;
    gasnet_image_t root;
    size_t n, elem_size, elem_count;
    int function, arg, flags;
};

/* With LOCAL, addresses that are other images' are ignored.  */
static void *const garbage = (void *)(uintptr_t)0x10;

static int flags_of(const struct operation *op)
{
    int flags = op->sync | op->group->flags | (op->single ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL);
    const bool both = op->src == SEGMENT && op->dst == SEGMENT; /* with in_place, one lies in the
                                                                   other */
    if (op->key % 2 == 0) return flags;
    if (both || (op->src == SEGMENT && !op->in_place)) flags |= GASNET_COLL_SRC_IN_SEGMENT;
    if (both || (op->dst == SEGMENT && !op->in_place)) flags |= GASNET_COLL_DST_IN_SEGMENT;
    return flags;
}

/* The lists are of the call, and stay until operation_end.  */
static struct arguments arguments_of(struct operation *op)
{
    const struct group *group = op->group;
    const int me = group_me(group);
    const bool rooted_src = op->kind == BROADCAST || op->kind == SCATTER;
    const bool rooted_dst = op->kind == GATHER || op->kind == REDUCE;
    const bool at_root = op->single || me == op->root;
    const int first = op->single ? 0 : group->first,
              count = op->single ? group->count : group->here;
    struct arguments a = {.team = group->team, .root = (gasnet_image_t)op->root, .n = op->nbytes};
    a.src = !rooted_src ? operation_source(op, me)
            : at_root   ? operation_source(op, op->root)
                        : garbage;
    a.dst = !rooted_dst ? operation_destination(op, me)
            : at_root   ? operation_destination(op, op->root)
                        : garbage;
    a.flags = flags_of(op);
    if (op->kind == REDUCE) {
        a.elem_size = op->elem_size, a.elem_count = op->nbytes / op->elem_size;
        a.function = op->function, a.arg = combine_arg(op->function, op->elem_size);
    }
    if (!op->list) return a;
    op->lists = malloc(2 * (size_t)count * sizeof *op->lists);
    a.src_list = op->lists, a.dst_list = op->lists + count;
    for (int i = 0; i < count; i++) {
        a.src_list[i] = operation_source(op, first + i);
        a.dst_list[i] = operation_destination(op, first + i);
    }
    return a;
}

static gasnet_coll_handle_t start(enum kind kind, const struct arguments *a)
{
    switch (kind) {
    case BROADCAST:
        return gasnet_coll_broadcast_nb(a->team, a->dst, a->root, a->src, a->n, a->flags);
    case SCATTER:
        return gasnet_coll_scatter_nb(a->team, a->dst, a->root, a->src, a->n, a->flags);
    case GATHER:
        return gasnet_coll_gather_nb(a->team, a->root, a->dst, a->src, a->n, a->flags);
    case GATHER_ALL:
        return gasnet_coll_gather_all_nb(a->team, a->dst, a->src, a->n, a->flags);
    case EXCHANGE:
        return gasnet_coll_exchange_nb(a->team, a->dst, a->src, a->n, a->flags);
    default:
        return gasnet_coll_reduce_nb(a->team, a->root, a->dst, a->src, 0, 0, a->elem_size,
                                     a->elem_count, a->function, a->arg, a->flags);
    }
}

static gasnet_coll_handle_t start_lists(enum kind kind, const struct arguments *a)
{
    switch (kind) {
    case BROADCAST:
        return gasnet_coll_broadcastM_nb(a->team, a->dst_list, a->root, a->src, a->n, a->flags);
    case SCATTER:
        return gasnet_coll_scatterM_nb(a->team, a->dst_list, a->root, a->src, a->n, a->flags);
    case GATHER:
        return gasnet_coll_gatherM_nb(a->team, a->root, a->dst, a->src_list, a->n, a->flags);
    case GATHER_ALL:
        return gasnet_coll_gather_allM_nb(a->team, a->dst_list, a->src_list, a->n, a->flags);
    case EXCHANGE:
        return gasnet_coll_exchangeM_nb(a->team, a->dst_list, a->src_list, a->n, a->flags);
    default:
        return gasnet_coll_reduceM_nb(a->team, a->root, a->dst, a->src_list, 0, 0, a->elem_size,
                                      a->elem_count, a->function, a->arg, a->flags);
    }
}

static void run(enum kind kind, const struct arguments *a)
{
    switch (kind) {
    case BROADCAST:
        gasnet_coll_broadcast(a->team, a->dst, a->root, a->src, a->n, a->flags);
        return;
    case SCATTER:
        gasnet_coll_scatter(a->team, a->dst, a->root, a->src, a->n, a->flags);
        return;
    case GATHER:
        gasnet_coll_gather(a->team, a->root, a->dst, a->src, a->n, a->flags);
        return;
    case GATHER_ALL:
        gasnet_coll_gather_all(a->team, a->dst, a->src, a->n, a->flags);
        return;
    case EXCHANGE:
        gasnet_coll_exchange(a->team, a->dst, a->src, a->n, a->flags);
        return;
    default:
        gasnet_coll_reduce(a->team, a->root, a->dst, a->src, 0, 0, a->elem_size, a->elem_count,
                           a->function, a->arg, a->flags);
    }
}

static void run_lists(enum kind kind, const struct arguments *a)
{
    switch (kind) {
    case BROADCAST:
        gasnet_coll_broadcastM(a->team, a->dst_list, a->root, a->src, a->n, a->flags);
        return;
    case SCATTER:
        gasnet_coll_scatterM(a->team, a->dst_list, a->root, a->src, a->n, a->flags);
        return;
    case GATHER:
        gasnet_coll_gatherM(a->team, a->root, a->dst, a->src_list, a->n, a->flags);
        return;
    case GATHER_ALL:
        gasnet_coll_gather_allM(a->team, a->dst_list, a->src_list, a->n, a->flags);
        return;
    case EXCHANGE:
        gasnet_coll_exchangeM(a->team, a->dst_list, a->src_list, a->n, a->flags);
        return;
    default:
        gasnet_coll_reduceM(a->team, a->root, a->dst, a->src_list, 0, 0, a->elem_size,
                            a->elem_count, a->function, a->arg, a->flags);
    }
}

void operation_start(struct operation *op)
{
    const struct arguments a = arguments_of(op);
    op->handle = op->list ? start_lists(op->kind, &a) : start(op->kind, &a);
}

void operation_run(struct operation *op)
{
    const struct arguments a = arguments_of(op);
    if (op->list)
        run_lists(op->kind, &a);
    else
        run(op->kind, &a);
}

void operation_end(struct operation *op)
{
    free(op->lists);
    op->lists = NULL;
}
