/* late.c - one node waits until the images of all others have entered, and looks at them before it
 * follows.
 *
 * The late node asks by messages, whose handlers look at memory and at completed operations; each
 * answer comes before the late node enters, so that nothing depends on time.
 */
#include "tests/coll/late.h"

enum { H_ENTERING = 140, H_LOOK, H_LOOKED, LOOKS = 20 };

static struct group *everyone;
static enum kind kind;
static int sync_flags, late_rank;
static struct operation watched[IMAGES_MOST]; /* the operation of each image of this rank */
static int completed[IMAGES_MOST];
static int entering, looked; /* counted by handlers of the late node */

/* Whether an operation cannot complete on an image of another node before the late one has entered.
 */
static bool must_wait(const struct operation *op)
{
    if (op->sync & GASNET_COLL_OUT_NOSYNC) return false;
    if (op->sync & (GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC)) return true;
    if (op->kind == GATHER_ALL || op->kind == EXCHANGE) return true;
    return image_rank(op->root) == late_rank && (op->kind == BROADCAST || op->kind == SCATTER);
}

static void on_entering(gasnet_token_t token)
{
    (void)token;
    test_add(&entering, 1);
}

static void on_look(gasnet_token_t token)
{
    for (int i = 0; i < image_here; i++) {
        const struct operation *op = &watched[i];
        if (op->sync & GASNET_COLL_IN_ALLSYNC) operation_untouched(op, image_first + i);
        if (must_wait(op))
            test_check(!test_get(&completed[i]),
                       "%s, sync %#x: image %d has left before rank %d came", kind_names[op->kind],
                       (unsigned)op->sync, image_first + i, late_rank);
    }
    gasnet_AMReplyShort0(token, H_LOOKED);
}

static void on_looked(gasnet_token_t token)
{
    (void)token;
    test_add(&looked, 1);
}

gasnet_handlerentry_t late_table[LATE_HANDLERS] = {
    {H_ENTERING, on_entering}, {H_LOOK, on_look}, {H_LOOKED, on_looked}};

static void look_at_others(void)
{
    GASNET_BLOCKUNTIL(test_get(&entering) == image_count - image_here);
    for (int i = 1; i <= LOOKS; i++) {
        for (int r = 0; r < test_size; r++)
            if (r != test_rank) gasnet_AMRequestShort0((gasnet_node_t)r, H_LOOK);
        GASNET_BLOCKUNTIL(test_get(&looked) == i * (test_size - 1));
    }
}

static void one_late_body(void)
{
    const int mine = image_me - image_first;
    const bool late = image_rank(image_me) == late_rank;
    struct operation *op = &watched[mine];
    struct test_random shared = {
        test_mix(test_seed ^ test_mix((uint64_t)(sync_flags * KINDS + (int)kind)))};
    *op = operation_random(&shared, everyone, kind, kind % 2 ? 20 : 9000);
    op->sync = sync_flags;
    op->list = op->single = op->in_place = false;
    if (shared.state % 2) op->root = image_first_of(late_rank);
    completed[mine] = 0;
    if (mine == 0) entering = looked = 0;
    if (late)
        operation_scribble(op);
    else
        operation_prepare(op);
    images_barrier();
    if (late) { /* the source is made at the last moment */
        if (mine == 0) look_at_others();
        images_meet();
        operation_scribbled(op);
        operation_prepare(op);
    } else {
        gasnet_AMRequestShort0((gasnet_node_t)late_rank, H_ENTERING);
    }
    operation_start(op);
    while (gasnet_coll_try_sync(op->handle) != GASNET_OK) gasnet_AMPoll();
    __atomic_store_n(&completed[mine], 1, __ATOMIC_RELEASE);
    images_barrier();
    operation_check(op);
    operation_end(op);
}

static void one_late(int flags)
{
    static struct group *group;
    if (test_size < 2) {
        test_skip("needs a peer");
        return;
    }
    if (!group) group = group_of_all(false);
    everyone = group;
    sync_flags = flags;
    for (int i = 0; i < 2 * KINDS; i++) {
        kind = (enum kind)(i / 2);
        late_rank = i % 2 ? test_size - 1 : 0;
        on_images(one_late_body);
    }
}

void late_in_allsync(void)
{
    one_late(GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_NOSYNC);
    one_late(GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_MYSYNC);
}

void late_in_mysync(void)
{
    one_late(GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_NOSYNC);
    one_late(GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
}

void late_out_allsync(void)
{
    one_late(GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_ALLSYNC);
}
