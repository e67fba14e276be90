/* batch.c - the phases of a batch.h.  */
#include "tests/coll/batch.h"

struct batch batch_of(int room)
{
    struct batch batch = {.room = room};
    batch.op = malloc((size_t)room * sizeof *batch.op);
    return batch;
}

void batch_free(struct batch *batch)
{
    free(batch->op);
}

bool batch_add(struct batch *batch, const struct operation *op)
{
    const size_t bytes = batch->slot ? batch->slot : operation_extent(op);
    if (batch->count == batch->room || batch->used + bytes > REGION || operation_extent(op) > bytes)
        return false;
    batch->op[batch->count] = *op;
    batch->op[batch->count++].offset = batch->used;
    batch->used += bytes;
    return true;
}

static bool early(const struct operation *op)
{
    return op->sync & GASNET_COLL_IN_NOSYNC;
}

static bool late(const struct operation *op)
{
    return op->sync & GASNET_COLL_OUT_NOSYNC;
}

static void enter(struct operation *op)
{
    if (!early(op)) operation_prepare(op);
}

static void leave(struct operation *op)
{
    operation_end(op);
    if (late(op)) return;
    operation_check(op);
    operation_scribble(op);
}

static void before(struct batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        if (early(&batch->op[i])) operation_prepare(&batch->op[i]);
    images_barrier();
}

static void after(struct batch *batch)
{
    images_barrier();
    for (int i = 0; i < batch->count; i++)
        if (late(&batch->op[i])) operation_check(&batch->op[i]);
    batch->count = 0;
    batch->used = 0;
}

void batch_blocking(struct batch *batch)
{
    before(batch);
    for (int i = 0; i < batch->count; i++) {
        enter(&batch->op[i]);
        operation_run(&batch->op[i]);
        leave(&batch->op[i]);
    }
    after(batch);
}

static void complete(gasnet_coll_handle_t *handle, int status, const char *call)
{
    if (status == GASNET_OK)
        *handle = GASNET_COLL_INVALID_HANDLE;
    else
        test_check(status == GASNET_ERR_NOT_READY, "%s returns %d", call, status);
}

static int valid_of(const gasnet_coll_handle_t *handles, int count)
{
    int valid = 0;
    for (int i = 0; i < count; i++) valid += handles[i] != GASNET_COLL_INVALID_HANDLE;
    return valid;
}

void batch_sync_some(struct test_random *random, gasnet_coll_handle_t *handles, int count)
{
    const int valid = valid_of(handles, count), i = (int)test_below(random, (uint64_t)count);
    int status;
    switch (test_below(random, 7)) {
    case 0:
    case 1:
        gasnet_coll_wait_sync(handles[i]);
        handles[i] = GASNET_COLL_INVALID_HANDLE;
        return;
    case 2:
        complete(&handles[i], gasnet_coll_try_sync(handles[i]), "try_sync");
        return;
    case 3:
        status = gasnet_coll_try_sync_some(handles, (size_t)count);
        test_check(
            status ==
                (valid == 0 || valid_of(handles, count) < valid ? GASNET_OK : GASNET_ERR_NOT_READY),
            "try_sync_some returns %d; of %d handles %d are left", status, valid,
            valid_of(handles, count));
        return;
    case 4:
        status = gasnet_coll_try_sync_all(handles, (size_t)count);
        test_check(status == (valid_of(handles, count) == 0 ? GASNET_OK : GASNET_ERR_NOT_READY),
                   "try_sync_all returns %d; %d handles are left", status,
                   valid_of(handles, count));
        return;
    case 5:
        gasnet_coll_wait_sync_some(handles, (size_t)count);
        test_check(valid == 0 || valid_of(handles, count) < valid,
                   "wait_sync_some: none is complete");
        return;
    default:
        gasnet_coll_wait_sync_all(handles, (size_t)count);
        test_check(valid_of(handles, count) == 0, "wait_sync_all: handles are left");
    }
}

/* Operations that were started, in random order: their handles and their indices in the batch. */
struct outstanding {
    gasnet_coll_handle_t *handle;
    int *which; /* -1: it has been synced */
    int first, count;
};

static struct outstanding none_outstanding(int room)
{
    struct outstanding out = {.first = 0};
    out.handle = malloc((size_t)room * sizeof *out.handle);
    out.which = malloc((size_t)room * sizeof *out.which);
    return out;
}

/* Inserts operation i at a random position among those that wait. */
static void take(struct outstanding *out, struct batch *batch, int i)
{
    const int j =
        out->first + (int)test_below(&image_random, (uint64_t)(out->count - out->first) + 1);
    out->which[out->count] = out->which[j], out->handle[out->count++] = out->handle[j];
    out->which[j] = i, out->handle[j] = batch->op[i].handle;
}

static void sync_a_few(struct outstanding *out, struct batch *batch)
{
    const int first = out->first;
    const int wish = 1 + (int)test_below(&image_random, 20), n = MIN(wish, out->count - first);
    if (n == 0) return;
    batch_sync_some(&image_random, out->handle + first, n);
    for (int i = first; i < first + n; i++) {
        if (out->handle[i] != GASNET_COLL_INVALID_HANDLE || out->which[i] < 0) continue;
        leave(&batch->op[out->which[i]]);
        out->which[i] = -1;
    }
    while (out->first < out->count && out->which[out->first] < 0) out->first++;
}

static void sync_all(struct outstanding *out, struct batch *batch)
{
    while (out->first < out->count) sync_a_few(out, batch);
    free(out->handle);
    free(out->which);
}

void batch_together(struct batch *batch)
{
    struct outstanding out = none_outstanding(batch->count);
    before(batch);
    for (int i = 0; i < batch->count; i++) {
        enter(&batch->op[i]);
        operation_start(&batch->op[i]);
        take(&out, batch, i);
    }
    sync_all(&out, batch);
    after(batch);
}

void batch_mixed(struct batch *batch, void (*between)(void))
{
    struct outstanding out = none_outstanding(batch->count);
    before(batch);
    for (int i = 0; i < batch->count; i++) {
        enter(&batch->op[i]);
        if (test_below(&image_random, 4) == 0) {
            operation_run(&batch->op[i]);
            leave(&batch->op[i]);
        } else {
            operation_start(&batch->op[i]);
            take(&out, batch, i);
        }
        between();
        if (test_below(&image_random, 6) == 0) sync_a_few(&out, batch);
    }
    sync_all(&out, batch);
    after(batch);
}
