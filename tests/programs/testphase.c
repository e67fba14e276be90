/* testphase.c - what works between gasnetc_init and gasnet_attach: handlers are registered, and
 * messages, polls, barriers and collectives work, between all ranks; then attach adds the segments.
 *
 * Linked with the library that has the names of the inside. `testphase never` ends before attach.
 */
#include <gasnet_coll.h>
#include <stdarg.h>

#include "core/am/am.h"
#include "core/job/job.h"
#include "test.h"

enum { MEDIUM = 400, LARGE = 100000, BARRIERS = 50, SEGMENT = 65536 };

static int shorts, mediums, answers, late, wrong;
static gasnet_handler_t h_short, h_medium, h_answer, h_late;

/* A check before attach, where test_check's sum is not possible yet. */
static void early(int ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void early(int ok, const char *format, ...)
{
    va_list list;
    if (ok) return;
    test_add(&wrong, 1);
    va_start(list, format);
    printf("# rank %d: ", test_rank);
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

static void on_short(gasnet_token_t t, gasnet_handlerarg_t a)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(t, &from);
    early(a == (gasnet_handlerarg_t)from + 7, "a Short of rank %u has %d", from, a);
    test_add(&shorts, 1);
    gasnet_AMReplyShort0(t, h_answer);
}

static void on_medium(gasnet_token_t t, void *data, size_t nbytes)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(t, &from);
    early(nbytes == MEDIUM && test_mismatch(data, nbytes, from) < 0,
          "a Medium of rank %u is damaged", from);
    test_add(&mediums, 1);
    gasnet_AMReplyShort0(t, h_answer);
}

static void on_answer(gasnet_token_t t)
{
    (void)t;
    test_add(&answers, 1);
}

static void on_late(gasnet_token_t t, void *data, size_t nbytes)
{
    (void)t, (void)data, (void)nbytes;
    test_add(&late, 1);
}

static void register_one(gasnet_handler_t *index, void (*function)(void), uint8_t kinds,
                         uint8_t numargs)
{
    static gasnet_handler_t free_index = 200; /* not those of test.c */
    gex_EP_t ep;
    gex_AM_Entry_t entry = {.gex_fnptr = (gex_AM_Fn_t)function,
                            .gex_index = free_index++,
                            .gex_flags = kinds,
                            .gex_nargs = numargs};
    gasnet_QueryGexObjects(NULL, &ep, NULL, NULL);
    const int result = gex_EP_RegisterHandlers(ep, &entry, 1);
    early(result == GASNET_OK && entry.gex_index, "a handler is refused");
    *index = entry.gex_index;
}

static void barrier(int id)
{
    gasnet_barrier_notify(id, 0);
    early(gasnet_barrier_wait(id, 0) == GASNET_OK, "barrier %d", id);
}

static void register_handlers(void)
{
    const uint8_t requests = GEX_FLAG_AM_REQUEST, replies = GEX_FLAG_AM_REPLY;
    register_one(&h_short, (void (*)(void))on_short, GEX_FLAG_AM_SHORT | requests, 1);
    register_one(&h_medium, (void (*)(void))on_medium, GEX_FLAG_AM_MEDIUM | requests, 0);
    register_one(&h_answer, (void (*)(void))on_answer, GEX_FLAG_AM_SHORT | replies, 0);
    barrier(1); /* all ranks have the three */
}

static void messages(void)
{
    static char data[MEDIUM];
    test_fill(data, MEDIUM, (uint64_t)test_rank);
    for (int r = 0; r < test_size; r++) {
        gasnet_AMRequestShort1((gasnet_node_t)r, h_short, test_rank + 7);
        gasnet_AMRequestMedium0((gasnet_node_t)r, h_medium, data, MEDIUM);
    }
    GASNET_BLOCKUNTIL(test_get(&answers) == 2 * test_size);
    GASNET_BLOCKUNTIL(test_get(&shorts) == test_size && test_get(&mediums) == test_size);
}

static void barriers(void)
{
    for (int i = 0; i < BARRIERS; i++) barrier(i);
    gasnet_barrier_notify(test_rank, 0);
    const int result = gasnet_barrier_wait(test_rank, 0);
    early(result == (test_size == 1 ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH),
          "a barrier of different ids gives %d", result);
}

/* Private memory, longer than a Medium too. */
static void collectives(void)
{
    static char all[LARGE], mine[LARGE];
    const gasnet_node_t root = (gasnet_node_t)(test_size - 1);
    gasnet_coll_init(NULL, (gasnet_image_t)test_rank, NULL, 0, 0);
    if (test_rank == (int)root) test_fill(mine, LARGE, 5);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, all, root, mine, LARGE,
                          GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
    early(test_mismatch(all, LARGE, 5) < 0, "a broadcast");
}

static void a_segment_is_added(void)
{
    uint64_t *there = test_seg[test_next].addr;
    const uint64_t value = 1000 + (uint64_t)test_rank;
    gasnet_put((gasnet_node_t)test_next, there, (void *)&value, sizeof value);
    barrier(3);
    const uint64_t *here = test_seg[test_rank].addr;
    test_check(*here == 1000 + (uint64_t)test_prev, "a put into the new segment");
    register_one(&h_late, (void (*)(void))on_late, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 0);
    barrier(4);
    gasnet_AMRequestLong0((gasnet_node_t)test_next, h_late, (void *)&value, sizeof value, there);
    GASNET_BLOCKUNTIL(test_get(&late) == 1);
}

static void nothing_failed(void)
{
    test_check(wrong == 0, "%d checks failed before attach", wrong);
}

int main(int argc, char **argv)
{
    static const struct test_rule rules[] = {
        {"2.3 messages, barriers and collectives before attach", nothing_failed},
        {"2.3 attach adds a segment, and handlers are registered after it", a_segment_is_added},
    };
    test_init(&argc, &argv);
    gasnetc_enter_phase(GASNETC_RUNNING); /* as an interface does that needs no attach */
    register_handlers();
    messages();
    barriers();
    collectives();
    if (argc > 1 && strcmp(argv[1], "never") == 0) {
        if (test_rank == 0)
            printf("%sok 1 - 2.3 a job that never attaches\n1..1\n", wrong ? "not " : "");
        barrier(2);
        gasnet_exit(wrong != 0);
    }
    test_attach(NULL, 0, SEGMENT);
    test_run(rules, TEST_COUNT(rules));
    test_finish();
}
