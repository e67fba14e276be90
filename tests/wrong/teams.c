/* teams.c - one wrong use of teams, their barriers or their settings, named by the argument;
 * tests/wrong/teams.sh has the expected message.
 *
 *     teams CASE
 * Two ranks; in PAR rank 0 has two images.  Every image executes the case.
 */
#include <gasnet_coll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/wrong/cases.h"

enum { H_CALL = 128, IMAGES = GASNET_BARRIERFLAG_IMAGES };
enum { FLAGS = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL };
#ifdef GASNET_PAR
enum { ON_RANK_0 = 2 };
#else
enum { ON_RANK_0 = 1 };
#endif

static __thread gasnet_image_t image;
static gasnet_team_handle_t team;
static pthread_barrier_t meet;
static int called;

static bool one_of_node(void)
{
    return image == 0 || gasnet_mynode() == 1;
}

static void initialise(gasnet_image_t mine)
{
    static const gasnet_image_t images[] = {ON_RANK_0, 1};
    image = mine;
    gasnet_coll_init(ON_RANK_0 > 1 ? images : NULL, image, NULL, 0, 0);
    gasnet_team_handle_t made = gasnet_coll_team_split(GASNET_TEAM_ALL, 0, 1, NULL);
    if (one_of_node()) team = made;
}

/* --- barriers --- */

static void notify_twice(void)
{
    if (!one_of_node()) return;
    gasnet_coll_barrier_notify(team, 1, 0);
    gasnet_coll_barrier_notify(team, 2, 0);
}
CASE(wait_first, if (one_of_node()) gasnet_coll_barrier_wait(team, 1, 0))
CASE(try_first, if (one_of_node()) gasnet_coll_barrier_try(team, 1, 0))
static void wait_twice(void)
{
    if (!one_of_node()) return;
    gasnet_coll_barrier(team, 1, 0);
    gasnet_coll_barrier_wait(team, 1, 0);
}
CASE(no_team, gasnet_coll_barrier(NULL, 1, 0))
CASE(flag_16, gasnet_coll_barrier(team, 1, 16))
CASE(in_handler, if (one_of_node()) gasnet_AMRequestShort0(gasnet_mynode(), H_CALL);
     GASNET_BLOCKUNTIL(called))
CASE(image_notifies_twice, if (gasnet_mynode() == 1) return;
     gasnet_coll_barrier_notify(team, 1, IMAGES); gasnet_coll_barrier_notify(team, 1, IMAGES))
CASE(image_waits_first, if (gasnet_mynode() == 0) gasnet_coll_barrier_wait(team, 1, IMAGES))

/* --- teams --- */

CASE(split_null, gasnet_coll_team_split(NULL, 0, 0, NULL))
CASE(images_differ, gasnet_coll_team_split(team, 0, (gasnet_node_t)image, NULL))
CASE(rank_2, if (one_of_node()) gasnet_coll_team_rank2node(team, 2))
CASE(rank_minus_1, if (one_of_node()) gasnet_coll_team_rank2node(team, -1))
CASE(free_all, if (one_of_node()) gasnet_coll_team_free(GASNET_TEAM_ALL))
static void free_in_barrier(void)
{
    if (one_of_node()) gasnet_coll_barrier_notify(team, 1, 0);
    gasnet_coll_team_free(team);
}
/* Rank 0 enters an operation that rank 1 never enters. */
static void free_in_flight(void)
{
    static char data[4][64];
    if (gasnet_mynode() == 0)
        (void)gasnet_coll_broadcast_nb(team, data[image], ON_RANK_0, data[3], 64, FLAGS);
    gasnet_coll_team_free(team);
}

/* --- settings --- */

CASE(tree_of_exchange, gasnet_coll_set_tree_kind(team, 0, 2, GASNET_COLL_EXCHANGE_OP))
CASE(tree_2, gasnet_coll_set_tree_kind(team, 2, 2, GASNET_COLL_GATHER_OP))
CASE(dissemination_of_gather, gasnet_coll_set_dissem_limit(team, 2, GASNET_COLL_GATHERM_OP))
CASE(operation_99, gasnet_coll_get_num_tree_classes(team, (gasnet_coll_optype_t)99))
static void load(const char *text, const char *name)
{
    char file_name[64];
    snprintf(file_name, sizeof file_name, "%s.%d", name, (int)getpid());
    FILE *file = text && image == 0 ? fopen(file_name, "w") : NULL;
    if (file) fputs(text, file), fclose(file);
    gasnet_coll_loadTuningState(file_name, team);
}
CASE(no_file, load(NULL, "/nowhere/settings"))
CASE(wrong_line, load("gasnet-coll-settings 1\nradix 4\nradix many\n", "wrong_settings"))
CASE(other_file, load("#!/bin/sh\n", "wrong_settings"))
CASE(no_place, gasnet_coll_set_tree_kind(team, 0, 0, GASNET_COLL_GATHER_OP);
     gasnet_coll_dumpTuningState("/nowhere/settings", team))

static const wrong_case_t cases[] = {
    ROW(notify_twice),
    ROW(wait_first),
    ROW(try_first),
    ROW(wait_twice),
    ROW(no_team),
    ROW(flag_16),
    ROW(in_handler),
    ROW(image_notifies_twice),
    ROW(image_waits_first),
    ROW(split_null),
    ROW(images_differ),
    ROW(rank_2),
    ROW(rank_minus_1),
    ROW(free_all),
    ROW(free_in_barrier),
    ROW(free_in_flight),
    ROW(tree_of_exchange),
    ROW(tree_2),
    ROW(dissemination_of_gather),
    ROW(operation_99),
    ROW(no_file),
    ROW(wrong_line),
    ROW(other_file),
    ROW(no_place),
};

static void on_call(gasnet_token_t token)
{
    (void)token;
    gasnet_coll_barrier_notify(team, 1, 0);
    called = 1;
}

static void (*run)(void);

static void *second_image(void *arg)
{
    (void)arg;
    initialise(1);
    pthread_barrier_wait(&meet);
    run();
    return NULL;
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{H_CALL, on_call}};
    pthread_t thread;
    gasnet_init(&argc, &argv);
    gasnet_attach(table, 1, GASNET_PAGESIZE, 0);
    const wrong_case_t *wrong = WRONG_FIND(cases, argc > 1 ? argv[1] : "");
    if (!wrong) gasnet_exit(64);
    run = wrong->run;
    bool two = ON_RANK_0 > 1 && gasnet_mynode() == 0;
    pthread_barrier_init(&meet, NULL, two ? 2 : 1);
    if (two) pthread_create(&thread, NULL, second_image, NULL);
    initialise(gasnet_mynode() == 0 ? 0 : ON_RANK_0);
    pthread_barrier_wait(&meet);
    run();
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
}
