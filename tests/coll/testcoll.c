/* testcoll.c - the collectives: B79-B83, all calls of section 5.5 to 5.7, by all images.
 *
 *   testcoll [IMAGES [quick]]
 * IMAGES: of each node, or `uneven`.  `quick` takes fewer repetitions.  late.c has the rules about
 * when data may move and when an image may leave.
 */
#include <sched.h>

#include "tests/coll/batch.h"
#include "tests/coll/late.h"

static struct group *everyone, *one_a_node;
static int thin = 1; /* repetitions are divided by it */

static int times(int base)
{
    const int n = base / thin / (image_count > 4 ? 4 : 1);
    return n < 1 ? 1 : n;
}

/* A random stream that is the same on all images. */
static struct test_random shared_random(uint64_t purpose)
{
    return (struct test_random){test_mix(test_seed ^ test_mix(purpose << 20))};
}

static const int mysync = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;

/* --- B80: a value of one image, on the stack of all --- */

static void share_value(gasnet_image_t root, int i, int flags)
{
    uint64_t value = image_me == (int)root ? test_mix((uint64_t)i) : 0, half = value >> 32;
    uint32_t small = (uint32_t)half;
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &value, root, &value, sizeof value, flags);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &small, root, &small, sizeof small, flags);
    if (flags & GASNET_COLL_OUT_NOSYNC) images_barrier();
    test_check(value == test_mix((uint64_t)i) && small == (uint32_t)(value >> 32),
               "value %d of image %u: %#llx, %#x", i, root, (unsigned long long)value, small);
    if (i % 3 == 0) images_barrier();
}

static void shared_values_body(void)
{
    for (int i = 0; i < times(300); i++) {
        const gasnet_image_t root = (gasnet_image_t)(i % image_count);
        share_value(root, i, mysync);
        share_value(root, i, sync_mode(i % 9) | GASNET_COLL_LOCAL);
    }
}
static void shared_values(void)
{
    on_images(shared_values_body);
}

/* --- B81: every call in every sync mode --- */

static void all_calls(void (*run)(struct batch *batch), const struct group *group)
{
    const int roots[] = {0, group->count / 2, group->count - 1};
    struct test_random shared = shared_random(81);
    struct batch batch = batch_of(TEST_COUNT(roots) * 4);
    for (int call = 0; call < KINDS * 9; call++) {
        for (int i = 0; i < TEST_COUNT(roots) * 4; i++) {
            struct operation op = operation_random(&shared, group, (enum kind)(call % KINDS),
                                                   1 + test_below(&shared, 40));
            op.sync = sync_mode(call / KINDS);
            op.root = roots[i / 4];
            op.list = i & 1, op.single = i >> 1 & 1;
            operation_settle(&op);
            test_check(batch_add(&batch, &op), "too many operations");
        }
        run(&batch);
    }
    batch_free(&batch);
}

static void all_calls_blocking_body(void)
{
    all_calls(batch_blocking, everyone);
}
static void all_calls_blocking(void)
{
    on_images(all_calls_blocking_body);
}

static void all_calls_together_body(void)
{
    all_calls(batch_together, everyone);
}
static void all_calls_together(void)
{
    on_images(all_calls_together_body);
}

/* Runs operations on all nodes with one image each. */
static void no_images_body(void)
{
    struct test_random shared = shared_random(82);
    struct batch batch = batch_of(times(300));
    for (int i = 0; i < batch.room; i++) {
        const struct operation op = operation_any(&shared, one_a_node, 500);
        if (!batch_add(&batch, &op)) break;
    }
    if (image_me == image_first) {
        for (int i = 0; i < batch.count; i++)
            batch.op[i].sync = mysync & GASNET_COLL_SYNC_FLAG_MASK;
        for (int i = 0; i < batch.count; i++) {
            operation_prepare(&batch.op[i]);
            operation_start(&batch.op[i]);
        }
        for (int i = batch.count - 1; i >= 0; i--) {
            gasnet_coll_wait_sync(batch.op[i].handle);
            operation_check(&batch.op[i]);
            operation_end(&batch.op[i]);
        }
    }
    batch_free(&batch);
}
static void no_images(void)
{
    on_images(no_images_body);
}

/* --- B81: a thousand outstanding --- */

static void thousand_body(void)
{
    struct test_random shared = shared_random(83);
    struct batch batch = batch_of(1000 / (image_count > 8 ? 4 : 1));
    for (int round = 0; round < times(3); round++) {
        struct operation op;
        do op = operation_any(&shared, everyone, 2000);
        while (batch_add(&batch, &op));
        test_check(batch.count >= batch.room / 2, "only %d operations", batch.count);
        batch_together(&batch);
    }
    batch_free(&batch);
}
static void thousand(void)
{
    on_images(thousand_body);
}

/* --- sizes --- */

static void sizes_body(void)
{
    static const size_t sizes[] = {1, 3, 8, 13, 1024, 4095, 5000, 64 << 10, 1 << 20};
    struct test_random shared = shared_random(84);
    struct batch batch = batch_of(64);
    for (int i = 0; i < TEST_COUNT(sizes); i++) {
        /* The bound is what leaves room for one operation of any kind.  */
        const size_t most = (REGION / 2 - 4096) / (size_t)image_count / 16 * 16;
        for (int j = 0; j < KINDS * MAX(1, times(4)); j++) {
            const struct operation op =
                operation_random(&shared, everyone, (enum kind)(j % KINDS), MIN(sizes[i], most));
            if (batch_add(&batch, &op)) continue;
            (test_below(&shared, 2) ? batch_together : batch_blocking)(&batch);
            test_check(batch_add(&batch, &op), "%zu bytes do not fit", op.nbytes);
        }
        batch_together(&batch);
    }
    batch_free(&batch);
}
static void sizes(void)
{
    on_images(sizes_body);
}

/* Memory that comes from malloc and returns to it: at the same address is other memory.  */
static void heap_body(void)
{
    struct test_random shared = shared_random(85);
    for (int i = 0; i < times(60); i++) {
        const size_t n = 1 + test_below(&shared, i % 10 ? 20000 : 200000);
        char *mine = malloc(n), *all = malloc(n * (size_t)image_count);
        test_fill(mine, n, (uint64_t)(i * image_count + image_me));
        gasnet_coll_gather_all(GASNET_TEAM_ALL, all, mine, n, mysync);
        for (int p = 0; p < image_count; p++)
            test_check(test_mismatch(all + n * (size_t)p, n, (uint64_t)(i * image_count + p)) < 0,
                       "%d: %zu bytes of image %d differ", i, n, p);
        free(mine);
        free(all);
    }
}
static void heap(void)
{
    on_images(heap_body);
}

/* --- AGGREGATE --- */

static void aggregate_body(void)
{
    struct test_random shared = shared_random(86);
    struct batch batch = batch_of(20);
    for (int round = 0; round < times(60); round++) {
        const int count = 1 + (int)test_below(&shared, 20);
        const bool blocking = test_below(&shared, 2);
        while (batch.count < count) {
            struct operation op = operation_any(&shared, everyone, 2000);
            op.sync = sync_mode(4) | (batch.count < count - 1 ? GASNET_COLL_AGGREGATE : 0);
            test_check(batch_add(&batch, &op), "no room");
        }
        for (int i = 0; i < count; i++) {
            operation_prepare(&batch.op[i]);
            if (i == count - 1 && blocking)
                operation_run(&batch.op[i]);
            else
                operation_start(&batch.op[i]);
        }
        if (!blocking) gasnet_coll_wait_sync(batch.op[count - 1].handle);
        for (int i = 0; i < count; i++) {
            operation_check(&batch.op[i]);
            operation_end(&batch.op[i]);
        }
        batch.count = 0, batch.used = 0;
    }
    batch_free(&batch);
}
static void aggregate(void)
{
    on_images(aggregate_body);
}

/* --- B83: reductions --- */

static void reductions_body(void)
{
    static const size_t counts[] = {1, 2, 7, 100, 1023, 10000, 100000};
    struct test_random shared = shared_random(87);
    struct batch batch = batch_of(64);
    for (int i = 0; i < TEST_COUNT(counts) * COMBINE_FUNCTIONS; i++) {
        struct operation op = operation_random(&shared, everyone, REDUCE, 16);
        op.function = i % COMBINE_FUNCTIONS;
        op.elem_size = combine_elem_size(op.function, test_random(&shared));
        op.nbytes =
            counts[i / COMBINE_FUNCTIONS] / (size_t)(op.function < 2 ? 1 : thin) * op.elem_size;
        if (op.nbytes == 0) op.nbytes = op.elem_size;
        if (batch_add(&batch, &op)) continue;
        batch_together(&batch);
        test_check(batch_add(&batch, &op), "%zu bytes do not fit", op.nbytes);
    }
    batch_together(&batch);
    batch_free(&batch);
}
static void reductions(void)
{
    on_images(reductions_body);
}

/* --- handles --- */

static void many_handles_body(void)
{
    const int count = 65535 / thin / (image_count > 4 ? 16 : 1);
    gasnet_coll_handle_t *handle = malloc((size_t)count * sizeof *handle);
    uint32_t *from = malloc((size_t)count * sizeof *from), *to = malloc((size_t)count * sizeof *to);
    for (int i = 0; i < count; i++) {
        from[i] = (uint32_t)test_mix((uint64_t)i), to[i] = 0;
        handle[i] = gasnet_coll_broadcast_nb(
            GASNET_TEAM_ALL, &to[i], (gasnet_image_t)(i % image_count), &from[i], 4, mysync);
    }
    gasnet_coll_wait_sync_all(handle, (size_t)count);
    int wrong = 0, left = 0;
    for (int i = 0; i < count; i++) {
        wrong += to[i] != (uint32_t)test_mix((uint64_t)i);
        left += handle[i] != GASNET_COLL_INVALID_HANDLE;
    }
    test_check(wrong == 0 && left == 0, "of %d: %d wrong, %d handles left", count, wrong, left);
    free(handle);
    free(from);
    free(to);
}
static void many_handles(void)
{
    on_images(many_handles_body);
}

static void invalid_handles_body(void)
{
    gasnet_coll_handle_t none[5] = {GASNET_COLL_INVALID_HANDLE};
    uint32_t value = 7, zero[2] = {0};
    test_check(memcmp(&none[0], zero, sizeof none[0]) == 0 || sizeof none[0] != sizeof zero,
               "the invalid handle is not zero");
    gasnet_coll_wait_sync(none[0]);
    gasnet_coll_wait_sync_all(none, 5);
    gasnet_coll_wait_sync_some(none, 5);
    gasnet_coll_wait_sync_all(NULL, 0);
    gasnet_coll_wait_sync_some(NULL, 0);
    test_check(gasnet_coll_try_sync(none[0]) == GASNET_OK, "try_sync");
    test_check(gasnet_coll_try_sync_all(none, 5) == GASNET_OK, "try_sync_all");
    test_check(gasnet_coll_try_sync_some(none, 5) == GASNET_OK, "try_sync_some");
    test_check(gasnet_coll_try_sync_all(NULL, 0) == GASNET_OK, "try_sync_all of none");
    test_check(gasnet_coll_try_sync_some(NULL, 0) == GASNET_OK, "try_sync_some of none");
    for (int i = 0; i < 5; i += 2)
        none[i] = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &value, 0, &value, 4, mysync);
    gasnet_coll_wait_sync_all(none, 5);
    for (int i = 0; i < 5; i++) test_check(none[i] == GASNET_COLL_INVALID_HANDLE, "handle %d", i);
}
static void invalid_handles(void)
{
    on_images(invalid_handles_body);
}

/* --- B82 and others' company --- */

/* In NOSYNC loops images that have left do not poll, but wait in a barrier.  */
static void nosync_loops_body(void)
{
    struct test_random shared = shared_random(88);
    struct batch batch = batch_of(1);
    for (int i = 0; i < times(400); i++) {
        struct operation op = operation_any(&shared, everyone, i % 20 ? 600 : 60000);
        op.sync = sync_mode(0);
        batch_add(&batch, &op);
        (i % 2 ? batch_blocking : batch_together)(&batch);
    }
    batch_free(&batch);
}
static void nosync_loops(void)
{
    on_images(nosync_loops_body);
}

enum { H_COUNT = 128 };
static int counted;
static void on_count(gasnet_token_t token)
{
    (void)token;
    test_add(&counted, 1);
}

/* Puts, messages and barriers between the start of collectives and their sync.  */
static void company_body(void)
{
    struct test_random shared = shared_random(89);
    struct batch batch = batch_of(8);
    const int next = (image_rank(image_me) + 1) % test_size, rounds = times(60);
    char *there = test_at(next, (size_t)(image_me - image_first) * 8192);
    char cell[8192], back[8192];
    for (int i = 0; i < rounds; i++) {
        const size_t n = 1 + test_below(&shared, sizeof cell);
        gasnet_handle_t put;
        struct operation op;
        do op = operation_any(&shared, everyone, 10000);
        while (batch_add(&batch, &op));
        for (int j = 0; j < batch.count; j++) batch.op[j].sync = sync_mode(4);
        for (int j = 0; j < batch.count; j++) {
            operation_prepare(&batch.op[j]);
            operation_start(&batch.op[j]);
            gasnet_AMRequestShort0((gasnet_node_t)next, H_COUNT);
            test_fill(cell, n, (uint64_t)(i * 8 + j));
            put = gasnet_put_nb((gasnet_node_t)next, there, cell, n);
            if (j % 3 == 0) gasnet_AMPoll();
            gasnet_wait_syncnb(put);
            gasnet_get(back, (gasnet_node_t)next, there, n);
            test_check(memcmp(cell, back, n) == 0, "a put among collectives, %zu bytes", n);
        }
        for (int j = batch.count - 1; j >= 0; j--) {
            gasnet_coll_wait_sync(batch.op[j].handle);
            operation_check(&batch.op[j]);
            operation_end(&batch.op[j]);
        }
        batch.count = 0, batch.used = 0;
        if (i % 4 == 0) images_barrier();
    }
    batch_free(&batch);
}

static void company(void)
{
    const int prev = (test_rank + test_size - 1) % test_size;
    const int sent = 8 * times(60) * (image_first_of(prev + 1) - image_first_of(prev));
    counted = 0;
    on_images(company_body);
    GASNET_BLOCKUNTIL(test_get(&counted) == sent);
}

/* --- team barriers --- */

static int inside[2]; /* images of this node that have entered barriers of even and odd number */

static void image_barriers_body(void)
{
    for (int i = 0; i < times(200); i++) {
        test_add(&inside[i % 2], 1);
        if (i % 3 == 0) {
            gasnet_coll_barrier(GASNET_TEAM_ALL, i, GASNET_BARRIERFLAG_IMAGES);
        } else {
            gasnet_coll_barrier_notify(GASNET_TEAM_ALL, i, GASNET_BARRIERFLAG_IMAGES);
            while (i % 3 == 1 &&
                   gasnet_coll_barrier_try(GASNET_TEAM_ALL, i, GASNET_BARRIERFLAG_IMAGES) ==
                       GASNET_ERR_NOT_READY)
                sched_yield();
            if (i % 3 == 2) gasnet_coll_barrier_wait(GASNET_TEAM_ALL, i, GASNET_BARRIERFLAG_IMAGES);
        }
        test_check(test_get(&inside[i % 2]) == image_here * (i / 2 + 1),
                   "barrier %d: image %d leaves when %d of %d are inside", i, image_me,
                   test_get(&inside[i % 2]) - image_here * (i / 2), image_here);
    }
}

static void team_barriers(void)
{
    inside[0] = inside[1] = 0;
    on_images(image_barriers_body);
    for (int i = 0; i < times(100); i++) { /* a barrier of the node, of the collectives or of the
                                              core by turns */
        const int status =
            i % 2 ? gasnet_coll_barrier(GASNET_TEAM_ALL, i, 0) : gasnet_barrier(i, 0);
        test_check(status == GASNET_OK, "barrier %d: %d", i, status);
    }
}

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[1 + LATE_HANDLERS] = {{H_COUNT, on_count}};
    static const struct test_rule rules[] = {
        {"B79 B80 a value of one image for all", shared_values},
        {"B81 all calls in nine sync modes, blocking", all_calls_blocking},
        {"B81 all calls in nine sync modes, non-blocking", all_calls_together},
        {"B81 a thousand outstanding, synced in any order", thousand},
        {"B81 1 byte to 1 MiB, in and outside the segment, misaligned", sizes},
        {"B81 memory allocated and freed around each", heap},
        {"5.3 IN_ALLSYNC: no data moves before the last has entered", late_in_allsync},
        {"5.3 IN_MYSYNC: an image's data are untouched before it enters", late_in_mysync},
        {"5.3 OUT_ALLSYNC: none leaves before all are done", late_out_allsync},
        {"5.4 AGGREGATE: one handle for a run of operations", aggregate},
        {"5.1 NO_IMAGES: one image of each node", no_images},
        {"B83 5.6 reductions, in the order of images", reductions},
        {"5.4 65,535 outstanding", many_handles},
        {"5.7 invalid handles and empty lists", invalid_handles},
        {"B82 NOSYNC loops between barriers", nosync_loops},
        {"5.4 puts, messages and barriers in between", company},
        {"5.8 barriers of all images", team_barriers},
    };
    const char *images = argc > 1 && strcmp(argv[1], "1") != 0 ? argv[1] : NULL;
    if (argc > 2) thin = 10;
    test_init(&argc, &argv);
    const uintptr_t segment = operations_segment(images ? IMAGES_MOST : 1);
    memcpy(table + 1, late_table, sizeof late_table);
    test_attach(table, TEST_COUNT(table), segment);
    gasnet_set_waitmode(GASNET_WAIT_BLOCK); /* the test may have more threads than processors */
    operations_check_arena();
    images_start(images, combine_table, COMBINE_FUNCTIONS);
    everyone = group_of_all(false);
    one_a_node = group_of_all(true);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
