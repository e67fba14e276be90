/* operations.c - the memory and the contents of operations.h; calls.c has the calls.
 *
 * An operation owns the same bytes of every image's region: an area for the source and one for the
 * destination.  Around the blocks are bytes that must not change.
 */
#include "tests/coll/operations.h"

#include <sys/mman.h>

enum { MARGIN = 16, SHIFT = 16, AROUND = 0xa5, DIRTY = 0x5a, SCRIBBLED = 0xee };
enum side { SRC, DST };

const char *const kind_names[KINDS] = {"broadcast",  "scatter",  "gather",
                                       "gather_all", "exchange", "reduce"};

static char *arena; /* memory at one address on all nodes */
static bool aligned_segments;

/* --- memory --- */

uintptr_t operations_segment(int images)
{
    /* The thread and the address sanitizer each allow one of them.  */
    static char *const wish[] = {(char *)0x4000000000, (char *)0x200000000000};
    const size_t bytes = (size_t)IMAGES_MOST * REGION;
    for (int i = 0; i < TEST_COUNT(wish) && !arena; i++) {
        char *got =
            mmap(wish[i], bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (got == wish[i])
            arena = got;
        else if (got != MAP_FAILED)
            munmap(got, bytes);
    }
    return OPERATIONS_OFFSET + (uintptr_t)images * REGION;
}

void operations_check_arena(void)
{
    const uint32_t mine = (uint32_t)((uintptr_t)arena >> 32);
    if (mine == 0 || test_sync_sum(mine) != mine * (uint32_t)test_size) {
        fprintf(stderr, "# rank %d: no memory at an address that all ranks have free\n", test_rank);
        gasnet_exit(5);
    }
    aligned_segments = true;
    for (int r = 1; r < test_size; r++) aligned_segments &= test_seg[r].addr == test_seg[0].addr;
}

static char *region(enum memory memory, int image)
{
    const int rank = image_rank(image);
    const size_t offset = (size_t)(image - image_first_of(rank)) * REGION;
    return memory == ARENA ? arena + offset : test_at(rank, OPERATIONS_OFFSET + offset);
}

static bool one_address(const struct operation *op)
{
    return op->single && !op->list;
}

static size_t blocks(const struct operation *op, enum side side)
{
    const bool many =
        op->kind == EXCHANGE ||
        (side == SRC ? op->kind == SCATTER : op->kind == GATHER || op->kind == GATHER_ALL);
    return many ? (size_t)op->group->count : 1;
}

/* Blocks that a participant really has.  */
static size_t blocks_of(const struct operation *op, enum side side, int p)
{
    const bool rooted = side == SRC ? op->kind == BROADCAST || op->kind == SCATTER
                                    : op->kind == GATHER || op->kind == REDUCE;
    return rooted && p != op->root ? 0 : blocks(op, side);
}

static size_t area_bytes(const struct operation *op, enum side side)
{
    return (blocks(op, side) * op->nbytes + 2 * MARGIN + SHIFT + 15) & ~(size_t)15;
}

size_t operation_extent(const struct operation *op)
{
    return area_bytes(op, SRC) + area_bytes(op, DST);
}

static char *area(const struct operation *op, enum side side, int p)
{
    enum memory memory = side == SRC ? op->src : op->dst;
    if (memory == MIXED)
        memory = test_mix(op->key ^ (uint64_t)(2 * p + side)) % 2 ? ARENA : SEGMENT;
    return region(memory, op->group->image[p]) + op->offset +
           (side == DST ? area_bytes(op, SRC) : 0);
}

/* The offset of the blocks from the begin of the area. */
static size_t shift(const struct operation *op, enum side side, int p)
{
    size_t bytes =
        test_mix(op->key + 77 + (uint64_t)side + (one_address(op) ? 0 : 2 * (uint64_t)p)) % SHIFT;
    if (op->kind == REDUCE) bytes &= ~(size_t)7;
    return MARGIN + bytes;
}

struct spot {
    enum side side;
    size_t offset;
};

static struct spot spot_of(const struct operation *op, enum side side, int p)
{
    const bool here = p == op->root || one_address(op);
    if (op->in_place && side == SRC && op->kind == GATHER_ALL)
        return (struct spot){DST, shift(op, DST, p) + (size_t)p * op->nbytes};
    if (op->in_place && side == SRC && op->kind == GATHER && here)
        return (struct spot){DST, shift(op, DST, p) + (size_t)op->root * op->nbytes};
    if (op->in_place && side == DST && op->kind == SCATTER && here)
        return (struct spot){SRC, shift(op, SRC, p) + (size_t)op->root * op->nbytes};
    if (op->in_place && side == DST && (op->kind == BROADCAST || op->kind == REDUCE) && here)
        return (struct spot){SRC, shift(op, SRC, p)};
    return (struct spot){side, shift(op, side, p)};
}

void *operation_source(const struct operation *op, int p)
{
    const struct spot spot = spot_of(op, SRC, p);
    return area(op, spot.side, p) + spot.offset;
}

void *operation_destination(const struct operation *op, int p)
{
    const struct spot spot = spot_of(op, DST, p);
    return area(op, spot.side, p) + spot.offset;
}

/* --- contents --- */

static void fill_block(const struct operation *op, char *at, int from, int block)
{
    test_fill(at, op->nbytes, op->key ^ test_mix((uint64_t)(uint32_t)from << 32 | (uint32_t)block));
}

static void fill_combined(const struct operation *op, char *at)
{
    char *left = malloc(op->nbytes), *right = malloc(op->nbytes);
    fill_block(op, left, 0, 0);
    for (int p = 1; p < op->group->count; p++) {
        fill_block(op, right, p, 0);
        combine_into(op->function, left, right, op->nbytes / op->elem_size, op->elem_size);
    }
    memcpy(at, left, op->nbytes);
    free(left);
    free(right);
}

/* Block i of participant p's destination.  */
static void fill_result(const struct operation *op, char *at, int p, int i)
{
    switch (op->kind) {
    case BROADCAST:
        fill_block(op, at, op->root, 0);
        return;
    case SCATTER:
        fill_block(op, at, op->root, p);
        return;
    case EXCHANGE:
        fill_block(op, at, i, p);
        return;
    case REDUCE:
        fill_combined(op, at);
        return;
    default:
        fill_block(op, at, i, 0);
    }
}

/* Fills the areas of a participant with their content before, or after, the operation. */
static void lay(const struct operation *op, int p, char *src_area, char *dst_area, bool after)
{
    char *const areas[] = {src_area, dst_area};
    const struct spot src = spot_of(op, SRC, p), dst = spot_of(op, DST, p);
    memset(src_area, AROUND, area_bytes(op, SRC));
    memset(dst_area, AROUND, area_bytes(op, DST));
    memset(areas[dst.side] + dst.offset, DIRTY, blocks_of(op, DST, p) * op->nbytes);
    for (int i = 0; i < (int)blocks_of(op, SRC, p); i++)
        fill_block(op, areas[src.side] + src.offset + (size_t)i * op->nbytes, p, i);
    for (int i = 0; after && i < (int)blocks_of(op, DST, p); i++)
        fill_result(op, areas[dst.side] + dst.offset + (size_t)i * op->nbytes, p, i);
}

void operation_prepare(const struct operation *op)
{
    const int me = group_me(op->group);
    lay(op, me, area(op, SRC, me), area(op, DST, me), false);
}

static bool same(const struct operation *op, int p, enum side side, const char *wanted)
{
    const char *found = area(op, side, p);
    size_t i = 0;
    if (memcmp(found, wanted, area_bytes(op, side)) == 0) return true;
    while (found[i] == wanted[i]) i++;
    const struct spot spot = spot_of(op, side, p);
    return test_check(
        false,
        "%s%s%s%s root %d of %d, %zu bytes, sync %#x, memory %d %d%s: participant %d: "
        "byte %td of its %s is %#x, not %#x",
        kind_names[op->kind], op->list ? "M" : "", op->single ? " SINGLE" : " LOCAL",
        op->in_place ? " in place" : "", op->root, op->group->count, op->nbytes, (unsigned)op->sync,
        op->src, op->dst, op->group->flags & GASNET_COLL_NO_IMAGES ? ", NO_IMAGES" : "", p,
        (ptrdiff_t)(i - spot.offset), side == SRC ? "source" : "destination",
        (unsigned)(uint8_t)found[i], (unsigned)(uint8_t)wanted[i]);
}

static void scribble(const struct operation *op, char *src_area, char *dst_area)
{
    memset(src_area, SCRIBBLED, area_bytes(op, SRC));
    memset(dst_area, SCRIBBLED, area_bytes(op, DST));
}

void operation_scribble(const struct operation *op)
{
    const int me = group_me(op->group);
    scribble(op, area(op, SRC, me), area(op, DST, me));
}

enum state { BEFORE, AFTER, OVERWRITTEN };

static bool is_as(const struct operation *op, int p, enum state state)
{
    char *src = malloc(operation_extent(op)), *dst = src + area_bytes(op, SRC);
    if (state == OVERWRITTEN)
        scribble(op, src, dst);
    else
        lay(op, p, src, dst, state == AFTER);
    const bool good = same(op, p, SRC, src) && same(op, p, DST, dst);
    free(src);
    return good;
}

bool operation_scribbled(const struct operation *op)
{
    return is_as(op, group_me(op->group), OVERWRITTEN);
}

bool operation_untouched(const struct operation *op, int participant)
{
    return is_as(op, participant, BEFORE);
}

bool operation_check(const struct operation *op)
{
    return is_as(op, group_me(op->group), AFTER);
}

/* --- groups --- */

struct group *group_of_all(bool no_images)
{
    struct group *group = calloc(1, sizeof *group);
    int *image = malloc((size_t)image_count * sizeof *image);
    group->team = GASNET_TEAM_ALL;
    group->count = no_images ? test_size : image_count;
    for (int i = 0; i < group->count; i++) image[i] = no_images ? image_first_of(i) : i;
    group->image = image;
    group->first = no_images ? test_rank : image_first;
    group->here = no_images ? 1 : image_here;
    group->flags = no_images ? GASNET_COLL_NO_IMAGES : 0;
    group->one_each = no_images || image_count == test_size;
    return group;
}

struct group *group_of_team(gasnet_team_handle_t team)
{
    struct group *group = calloc(1, sizeof *group);
    int *image = malloc((size_t)image_count * sizeof *image);
    group->team = team;
    group->one_each = true;
    for (int r = 0; r < (int)gasnet_coll_team_size(team); r++) {
        const int rank = (int)gasnet_coll_team_rank2node(team, r);
        const int first = image_first_of(rank), past = image_first_of(rank + 1);
        if (rank == test_rank) group->first = group->count, group->here = image_here;
        if (past - first > 1) group->one_each = false;
        for (int i = first; i < past; i++) image[group->count++] = i;
    }
    group->image = image;
    return group;
}

void group_free(struct group *group)
{
    free((void *)(uintptr_t)group->image);
    free(group);
}

int group_me(const struct group *group)
{
    return group->first + image_me - image_first;
}

/* --- choices --- */

int sync_mode(int number)
{
    return GASNET_COLL_IN_NOSYNC << number % 3 | GASNET_COLL_OUT_NOSYNC << number / 3 % 3;
}

void operation_settle(struct operation *op)
{
    if (op->kind == EXCHANGE) op->in_place = false;
    if (op->single && !op->list) {
        /* SINGLE without a list needs one address on all images: possible where each node has one
         * image, and all the same memory. */
        if (!op->group->one_each) op->list = true;
        if (op->src == MIXED || (op->src == SEGMENT && !aligned_segments)) op->src = ARENA;
        if (op->dst == MIXED || (op->dst == SEGMENT && !aligned_segments)) op->dst = ARENA;
    }
    if (one_address(op) && op->kind == GATHER_ALL) op->in_place = false;
    if (op->kind == REDUCE)
        op->nbytes = (op->nbytes + op->elem_size - 1) / op->elem_size * op->elem_size;
}

struct operation operation_random(struct test_random *shared, const struct group *group,
                                  enum kind kind, size_t nbytes)
{
    struct operation op = {.group = group, .kind = kind, .nbytes = nbytes};
    op.list = test_below(shared, 2);
    op.single = test_below(shared, 2);
    op.in_place = test_below(shared, 4) == 0;
    op.src = (enum memory)test_below(shared, MEMORIES);
    op.dst = (enum memory)test_below(shared, MEMORIES);
    op.sync = sync_mode((int)test_below(shared, 9));
    op.root = (int)test_below(shared, (uint64_t)group->count);
    op.function = (int)test_below(shared, COMBINE_FUNCTIONS);
    op.elem_size = combine_elem_size(op.function, test_random(shared));
    op.key = test_random(shared);
    operation_settle(&op);
    return op;
}

struct operation operation_any(struct test_random *shared, const struct group *group, size_t most)
{
    const enum kind kind = (enum kind)test_below(shared, KINDS);
    const bool many = kind != BROADCAST && kind != REDUCE;
    const size_t bound = most / (many ? (size_t)group->count : 1);
    /* Small sizes more often.  */
    const size_t below = test_below(shared, 2) ? MIN(bound, 64) : bound;
    return operation_random(shared, group, kind, 1 + test_below(shared, below));
}
