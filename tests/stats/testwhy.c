/* testwhy.c - jobs of three ranks that hang, for why.sh.
 *
 *   testwhy WHAT FOLDER
 *
 * Each rank makes FOLDER/ready.RANK with its process id.  Then rank 1 keeps the others waiting,
 * which are in a barrier unless said otherwise, until FOLDER/go is there; all meet then and exit.
 * WHAT rank 1 does:
 *   missing     sleeps before it calls the barrier
 *   handler     runs a handler that does not return
 *   unsent      waits for a message that nobody sends
 *   lost        waits for messages of rank 0, some of which the network loses
 *   lock        (par) its main thread holds a lock that a handler in the other thread needs
 *   credits     sleeps, and rank 0 sends it Requests before its barrier
 *   slow-init, slow-attach
 *               nothing: each rank sleeps before gasnet_init, or rank 1 before gasnet_attach
 *   again       sleeps before the barrier, and after it once more until FOLDER/again/go is there
 *   moves       nothing: barriers and broadcasts follow each other, until FOLDER/go is there
 *   team, team-collective
 *               waits in the barrier; rank 2 waits in a barrier, or a collective, of a team for
 * rank 0, which sleeps collective  calls the barrier before its third broadcast; the others call
 * the broadcast first, and the job never ends
 */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/stats/ready.h"

enum { H_COUNT = 200, H_LOOP, H_LOCK, REQUESTS = 5000, FEW = 20 };
static const char *folder;
static atomic_int arrived;
static atomic_bool locked, over;
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;

static void await_go(void)
{
    while (!go(folder)) usleep(1000);
}

static void on_count(gasnet_token_t t)
{
    (void)t;
    arrived++;
}

static void on_loop(gasnet_token_t t)
{
    (void)t;
    await_go();
    arrived++;
}

static void on_lock(gasnet_token_t t)
{
    (void)t;
    gasnet_hsl_lock(&lock);
    arrived++;
    gasnet_hsl_unlock(&lock);
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void broadcast(void)
{
    int from = 1, to = 0;
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &to, 0, &from, sizeof to,
                          GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
}

static void *poll_until_over(void *unused)
{
    while (!over) gasnet_AMPoll();
    return unused;
}

/* The main thread does not poll while it holds the lock. */
static void hold_lock(void)
{
    pthread_t other;
    gasnet_hsl_lock(&lock);
    locked = true;
    say_ready(folder);
    if (pthread_create(&other, NULL, poll_until_over, NULL)) gasnet_exit(4);
    await_go();
    gasnet_hsl_unlock(&lock);
    while (!arrived) usleep(1000);
    over = true;
    pthread_join(other, NULL);
}

/* Until rank 0 finds that the script lets the job go on. */
static void move_on(void)
{
    for (int over = 0, found = 0; !over;) {
        for (int i = 0; i < 10; i++) barrier();
        found = go(folder);
        gasnet_coll_broadcast(GASNET_TEAM_ALL, &over, 0, &found, sizeof over,
                              GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
        usleep(10000);
    }
}

/* Rank 2 waits in a team for rank 0; rank 1 has a team of its own with the same id. */
static void wait_in_team(bool collective)
{
    const gasnet_node_t me = gasnet_mynode();
    gasnet_team_handle_t team = gasnet_coll_team_split(GASNET_TEAM_ALL, me % 2, me, NULL);
    int from = 1, to = 0;
    if (me == 1) return;
    if (me == 0) await_go();
    if (collective)
        gasnet_coll_broadcast(team, &to, 0, &from, sizeof to,
                              GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
    else
        gasnet_coll_barrier(team, 0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void sleep_again(void)
{
    char again[400];
    snprintf(again, sizeof again, "%s/again", folder);
    while (!go(again)) usleep(1000);
}

static void keep_waiting(const char *what)
{
    if (!strcmp(what, "handler")) {
        GASNET_BLOCKUNTIL(arrived == 1);
    } else if (!strcmp(what, "unsent") || !strcmp(what, "lost")) {
        GASNET_BLOCKUNTIL(arrived == FEW || go(folder));
    } else if (!strcmp(what, "lock")) {
        hold_lock();
    } else if (!strcmp(what, "moves")) {
        move_on();
    } else if (strncmp(what, "team", 4) != 0 && strncmp(what, "slow", 4) != 0) {
        await_go();
    }
}

static void of_rank_0(const char *what)
{
    if (!strcmp(what, "handler")) gasnet_AMRequestShort0(1, H_LOOP);
    if (!strcmp(what, "lock")) gasnet_AMRequestShort0(1, H_LOCK);
    for (int i = 0; !strcmp(what, "lost") && i < FEW; i++) gasnet_AMRequestShort0(1, H_COUNT);
    for (int i = 0; !strcmp(what, "credits") && i < REQUESTS; i++)
        gasnet_AMRequestShort0(1, H_COUNT);
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{H_COUNT, (void (*)(void))on_count},
                                     {H_LOOP, (void (*)(void))on_loop},
                                     {H_LOCK, (void (*)(void))on_lock}};
    enum { SLOW = 4 }; /* seconds */
    if (argc == 3 && !strcmp(argv[1], "slow-init")) sleep(SLOW);
    if (gasnet_init(&argc, &argv)) return 1;
    if (argc == 3 && !strcmp(argv[1], "slow-attach") && (int)gasnet_mynode() == 1) sleep(SLOW);
    if (gasnet_attach(table, 3, 16 * GASNET_PAGESIZE, 0)) return 1;
    if (argc != 3 || gasnet_nodes() != 3) gasnet_exit(2);
    const char *what = argv[1];
    const int me = (int)gasnet_mynode();
    folder = argv[2];
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    broadcast();
    broadcast();
    barrier();
    if (me != 1 || strcmp(what, "lock") != 0) say_ready(folder);
    if (!strcmp(what, "collective")) {
        if (me == 1) barrier();
        broadcast();
    }
    if (!strncmp(what, "team", 4)) wait_in_team(!strcmp(what, "team-collective"));
    if (!strcmp(what, "moves") && me != 1) move_on();
    if (me == 0) of_rank_0(what);
    if (me == 1) keep_waiting(what);
    barrier();
    if (me == 1 && !strcmp(what, "again")) sleep_again();
    barrier();
    gasnet_exit(0);
}
