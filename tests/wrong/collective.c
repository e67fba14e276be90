/* collective.c - one wrong use of the collectives, named by the argument; tests/wrong/collective.sh
 * has the expected message.
 *
 *     collective CASE
 * Two ranks. Arguments that they must agree on depend on the rank; all else is equal.
 */
#include <gasnet_coll.h>
#include <stdio.h>
#include <string.h>

#include "tests/wrong/cases.h"

enum { H_CALL = 128, FLAGS = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL };

static char src[4096], dst[4096];
static int rank, called;

static void broadcast(gasnet_image_t root, size_t nbytes, int flags)
{
    gasnet_coll_broadcast(GASNET_TEAM_ALL, dst, root, src, nbytes, flags);
}

static void reduce(size_t elem_size, gasnet_coll_fn_handle_t function, size_t blksz)
{
    gasnet_coll_reduce(GASNET_TEAM_ALL, 0, dst, src, blksz, 0, elem_size, 4, function, 0, FLAGS);
}

static void on_call(gasnet_token_t token)
{
    (void)token;
    broadcast(0, 8, FLAGS);
    called = 1;
}

static void nothing(void *results, size_t result_count, const void *left, size_t left_count,
                    const void *right, size_t elem_size, int flags, int arg)
{
    (void)results, (void)result_count, (void)left, (void)left_count, (void)right;
    (void)elem_size, (void)flags, (void)arg;
}

static void initialise(const gasnet_image_t *images)
{
    static gasnet_coll_fn_entry_t functions[] = {{nothing, 0}, {nothing, 0}};
    gasnet_coll_init(images, 0, functions, 2, 0);
}

/* Arguments that the ranks must agree on. */
CASE(root, broadcast((gasnet_image_t)rank, 8, FLAGS))
CASE(bytes, broadcast(0, rank ? 8 : 16, FLAGS))
CASE(many_bytes, broadcast(0, rank ? 4096 : 4000, FLAGS))
CASE(sync_flags,
     broadcast(0, 8, rank ? FLAGS : FLAGS ^ GASNET_COLL_IN_MYSYNC ^ GASNET_COLL_IN_NOSYNC))
CASE(elements, reduce(rank ? 4 : 8, 0, 0))
CASE(functions, reduce(4, rank, 0))
static void operation(void)
{
    if (rank)
        broadcast(0, 8, FLAGS);
    else
        gasnet_coll_gather(GASNET_TEAM_ALL, 0, dst, src, 8, FLAGS);
}

/* Arguments that are wrong on each rank. */
CASE(root_2, broadcast(2, 8, FLAGS))
CASE(no_in_flag, broadcast(0, 8, FLAGS & ~GASNET_COLL_IN_MYSYNC))
CASE(two_out_flags, broadcast(0, 8, FLAGS | GASNET_COLL_OUT_ALLSYNC))
CASE(single_and_local, broadcast(0, 8, FLAGS | GASNET_COLL_SINGLE))
CASE(function_2, reduce(4, 2, 0))
CASE(block_size, reduce(4, 0, 16))
CASE(too_many, reduce(SIZE_MAX / 2, 0, 0))
CASE(no_team, gasnet_coll_broadcast(NULL, dst, 0, src, 8, FLAGS))
CASE(scan, gasnet_coll_scan(GASNET_TEAM_ALL, dst, 0, 0, src, 0, 0, 4, 1, 0, 0, FLAGS))
CASE(initialised_twice, initialise(NULL))

/* Calls at a wrong time. */
CASE(in_split_barrier, (gasnet_barrier_notify(0, 0), broadcast(0, 8, FLAGS)))
static void across_barrier(void)
{
    while (rank == 1) gasnet_AMPoll(); /* keeps the operation from completing */
    (void)gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, dst, src, 8, FLAGS);
    gasnet_barrier_notify(0, 0);
}
static void in_handler(void)
{
    gasnet_AMRequestShort0((gasnet_node_t)rank, H_CALL);
    GASNET_BLOCKUNTIL(called);
}

static const wrong_case_t cases[] = {
    ROW(root),
    ROW(bytes),
    ROW(many_bytes),
    ROW(sync_flags),
    ROW(elements),
    ROW(functions),
    ROW(operation),
    ROW(root_2),
    ROW(no_in_flag),
    ROW(two_out_flags),
    ROW(single_and_local),
    ROW(function_2),
    ROW(block_size),
    ROW(too_many),
    ROW(no_team),
    ROW(scan),
    ROW(initialised_twice),
    ROW(in_split_barrier),
    ROW(across_barrier),
    ROW(in_handler),
};

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[] = {{H_CALL, (void (*)(void))on_call}};
    const char *name = argc > 1 ? argv[1] : "";
    gasnet_init(&argc, &argv);
    gasnet_attach(table, 1, GASNET_PAGESIZE, 0);
    rank = (int)gasnet_mynode();
    if (strcmp(name, "before_init") == 0) broadcast(0, 8, FLAGS);
    initialise(strcmp(name, "two_images") == 0 ? (const gasnet_image_t[]){2, 2} : NULL);
    const wrong_case_t *wrong = WRONG_FIND(cases, name);
    if (wrong) wrong->run();
    printf("nothing was wrong about %s\n", name);
    fflush(stdout);
    gasnet_barrier_notify(1, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(1, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
}
