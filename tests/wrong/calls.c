/* calls.c - one wrong call of a client, named by the arguments; tests/wrong/run.sh has the expected
 * message.
 *
 *     calls WHEN CALL [NUMBER]
 * WHEN is `before_init`, `before_attach` or `attached`.  CALL is a call of the interface without
 * its prefix; NUMBER is what is wrong about it: the rank (put, get, AMRequestShort...), the bytes
 * of a value (value_put...), the bytes of a get into NULL and of a put from NULL (null_get...), or
 * an offset, a length or a stride of a vector, indexed or strided transfer. Rank 0 makes the call;
 * the others wait for the end of the job.
 */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H_NOTHING = 128, SEGMENT = 1 << 20 };

static void nothing(void *token)
{
    (void)token;
}

static void *there; /* in the segment of rank 1 */
static char local[SEGMENT];
static gasnet_handle_t handle;

static void synchronise(void)
{
    gasnet_wait_syncnb(handle);
    gasnet_wait_syncnbi_all();
}

/* --- calls with a rank --- */

typedef void call_t(size_t number);
#define RANK ((gasnet_node_t)number)

#define CALL(name, statement)                                                                      \
    static void name(size_t number)                                                                \
    {                                                                                              \
        (void)number;                                                                              \
        statement;                                                                                 \
    }

CALL(put, gasnet_put(RANK, there, local, 8))
CALL(put_bulk, gasnet_put_bulk(RANK, there, local, 8))
CALL(put_nb, handle = gasnet_put_nb(RANK, there, local, 8))
CALL(put_nb_bulk, handle = gasnet_put_nb_bulk(RANK, there, local, SEGMENT / 2))
CALL(put_nbi, gasnet_put_nbi(RANK, there, local, 8))
CALL(put_nbi_bulk, gasnet_put_nbi_bulk(RANK, there, local, 8))
CALL(get, gasnet_get(local, RANK, there, 8))
CALL(get_nb, handle = gasnet_get_nb(local, RANK, there, 8))
CALL(get_nbi, gasnet_get_nbi(local, RANK, there, 8))
CALL(set, gasnet_memset(RANK, there, 0, 8))
CALL(set_nb, handle = gasnet_memset_nb(RANK, there, 0, SEGMENT / 2))
CALL(set_nbi, gasnet_memset_nbi(RANK, there, 0, 8))
CALL(put_val, gasnet_put_val(RANK, there, 0, 8))
CALL(put_nb_val, handle = gasnet_put_nb_val(RANK, there, 0, 8))
CALL(put_nbi_val, gasnet_put_nbi_val(RANK, there, 0, 8))
CALL(get_val, (void)gasnet_get_val(RANK, there, 8))
CALL(get_nb_val, (void)gasnet_wait_syncnb_valget(gasnet_get_nb_val(RANK, there, 8)))
CALL(am_short, gasnet_AMRequestShort0(RANK, H_NOTHING))
CALL(am_medium, gasnet_AMRequestMedium0(RANK, H_NOTHING, local, 8))
CALL(am_long, gasnet_AMRequestLong0(RANK, H_NOTHING, local, 8, there))
CALL(am_longasync, gasnet_AMRequestLongAsync0(RANK, H_NOTHING, local, 8, there))

/* --- values of wrong sizes --- */

CALL(value_put, gasnet_put_val(1, there, 0, number))
CALL(value_put_nb, handle = gasnet_put_nb_val(1, there, 0, number))
CALL(value_put_nbi, gasnet_put_nbi_val(1, there, 0, number))
CALL(value_get, (void)gasnet_get_val(1, there, number))
CALL(value_get_nb, (void)gasnet_wait_syncnb_valget(gasnet_get_nb_val(1, there, number)))

/* --- NULL, of which the compiler must not know --- */

static void *volatile null;

CALL(null_get, gasnet_get(null, 1, there, number))
CALL(null_get_nb, handle = gasnet_get_nb(null, 1, there, number))
CALL(null_get_nbi, gasnet_get_nbi((char *)null + 16, 1, there, number))
CALL(null_put, gasnet_put(1, there, null, number))
CALL(null_put_nb, handle = gasnet_put_nb(1, there, null, number))

/* --- vector, indexed and strided: 16 bytes in two pieces on each side --- */

static gasnet_memvec_t *pieces_at(char *base)
{
    static gasnet_memvec_t lists[2][2];
    static int which;
    gasnet_memvec_t *list = lists[which++ % 2];
    list[0] = (gasnet_memvec_t){base, 8};
    list[1] = (gasnet_memvec_t){base + 32, 8};
    return list;
}

static void **addresses_at(char *base)
{
    static void *lists[2][2];
    static int which;
    void **list = lists[which++ % 2];
    list[0] = base;
    list[1] = base + 32;
    return list;
}

static const size_t strides[1] = {32}, counts[2] = {8, 2};
#define HERE     (local + number % 1) /* not constant, as the compiler would warn before */
#define VECTORS  2, pieces_at(there), 2, pieces_at(HERE)
#define SECTIONS there, strides, HERE, strides, counts, 1

CALL(putv, gasnet_putv_bulk(RANK, VECTORS))
CALL(putv_nbi, gasnet_putv_nbi_bulk(RANK, VECTORS))
CALL(getv_nb, handle = gasnet_getv_nb_bulk(2, pieces_at(HERE), RANK, 2, pieces_at(there)))
CALL(puti_nb,
     handle = gasnet_puti_nb_bulk(RANK, 2, addresses_at(there), 8, 2, addresses_at(HERE), 8))
CALL(geti, gasnet_geti_bulk(2, addresses_at(HERE), 8, RANK, 2, addresses_at(there), 8))
CALL(puts_nb, handle = gasnet_puts_nb_bulk(RANK, SECTIONS))
CALL(gets_nbi, gasnet_gets_nbi_bulk(HERE, strides, RANK, there, strides, counts, 1))

/* The second piece begins at this offset. */
static char *piece_there(size_t number)
{
    return (char *)there + number;
}
static void putv_at(size_t number)
{
    gasnet_memvec_t list[2] = {{there, 8}, {piece_there(number), 8}};
    gasnet_putv_bulk(1, 2, list, 2, pieces_at(local));
}

static void geti_at(size_t number)
{
    void *list[2] = {there, piece_there(number)};
    gasnet_geti_bulk(2, addresses_at(local), 8, 1, 2, list, 8);
}

CALL(puts_at,
     handle = gasnet_puts_nb_bulk(1, piece_there(number - 32), strides, local, strides, counts, 1))

/* The total of one side, or a length or stride of it.  */
static void putv_total(size_t number)
{
    gasnet_memvec_t list[1] = {{local, number}};
    gasnet_putv_bulk(1, 2, pieces_at(there), 1, list);
}

CALL(geti_total, gasnet_geti_bulk(2, addresses_at(local), number, 1, 2, addresses_at(there), 8))
CALL(puti_empty, gasnet_puti_bulk(1, 2, addresses_at(there), number, 0, addresses_at(local), 8))
CALL(gets_stride, gasnet_gets_bulk(local, strides, 1, there, &number, counts, 1))

/* --- calls without a number --- */

CALL(poll, gasnet_AMPoll())
CALL(barrier, (gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS)))
CALL(barrier_wait, (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS))
CALL(barrier_try, (void)gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS))
CALL(try_all, (void)gasnet_try_syncnbi_all())

static const struct {
    const char *name;
    call_t *call;
} calls[] = {
#define ROW(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }
    ROW(put),          ROW(put_bulk),   ROW(put_nb),       ROW(put_nb_bulk),   ROW(put_nbi),
    ROW(put_nbi_bulk), ROW(get),        ROW(get_nb),       ROW(get_nbi),       ROW(set),
    ROW(set_nb),       ROW(set_nbi),    ROW(put_val),      ROW(put_nb_val),    ROW(put_nbi_val),
    ROW(get_val),      ROW(get_nb_val), ROW(am_short),     ROW(am_medium),     ROW(am_long),
    ROW(am_longasync), ROW(value_put),  ROW(value_put_nb), ROW(value_put_nbi), ROW(value_get),
    ROW(value_get_nb), ROW(null_get),   ROW(null_get_nb),  ROW(null_get_nbi),  ROW(null_put),
    ROW(null_put_nb),  ROW(poll),       ROW(barrier),      ROW(barrier_wait),  ROW(barrier_try),
    ROW(try_all),      ROW(putv),       ROW(putv_nbi),     ROW(getv_nb),       ROW(puti_nb),
    ROW(geti),         ROW(puts_nb),    ROW(gets_nbi),     ROW(putv_at),       ROW(geti_at),
    ROW(puts_at),      ROW(putv_total), ROW(geti_total),   ROW(puti_empty),    ROW(gets_stride),
};

static void make(const char *name, const char *number)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name) != 0) continue;
        calls[i].call((size_t)strtoll(number ? number : "0", NULL, 0));
        synchronise();
        printf("nothing was wrong about %s %s\n", name, number ? number : "");
        fflush(stdout);
        return;
    }
    printf("there is no call %s\n", name);
}

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[] = {{H_NOTHING, (void (*)(void))nothing}};
    static gasnet_seginfo_t segments[64];
    const char *when = argc > 2 ? argv[1] : "", *name = argc > 2 ? argv[2] : "",
               *number = argc > 3 ? argv[3] : NULL;
    if (strcmp(when, "before_init") == 0) {
        make(name, number);
        return 0;
    }
    gasnet_init(&argc, &argv);
    if (strcmp(when, "before_attach") == 0 && gasnet_mynode() == 0) make(name, number);
    gasnet_attach(table, 1, SEGMENT, 0);
    gasnet_getSegmentInfo(segments, 64);
    there = segments[gasnet_nodes() - 1].addr;
    if (strcmp(when, "attached") == 0 && gasnet_mynode() == 0) {
        make(name, number);
        gasnet_exit(0);
    }
    for (;;) gasnet_AMPoll();
}
