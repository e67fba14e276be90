/* count.c - N operations of one kind, of which count.sh counts the instructions under callgrind.
 *
 *   count OPERATION N
 *
 * What is to be counted happens inside counted() alone (callgrind's --toggle-collect).  Ranks keep
 * in step by a word of memory in each other's segment that is put with counting off and watched
 * without library calls, so that nothing arrives by surprise inside counted().
 */
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <sched.h>
#include <unistd.h>

#include "tests/programs/test.h"

enum { BATCH = 16, H_COUNT = 128, H_COUNT_MEDIUM, H_PING, H_PONG, H_TOKEN, SEGMENT = 64 * 1024 };

static int arrived, pongs;
static char source[4096];
static volatile uint64_t *flag; /* in my segment; the peer puts step numbers here */
static uint64_t step;

static void on_count(gasnet_token_t t)
{
    (void)t;
    arrived++;
}
static void on_count_medium(gasnet_token_t t, void *buf, size_t n)
{
    (void)t, (void)buf, (void)n;
    arrived++;
}
static void on_ping(gasnet_token_t t)
{
    arrived++;
    gasnet_AMReplyShort0(t, H_PONG);
}
static void on_pong(gasnet_token_t t)
{
    (void)t;
    pongs++;
}
static void on_token(gasnet_token_t t);
static gasnet_handlerentry_t table[] = {{H_COUNT, on_count},
                                        {H_COUNT_MEDIUM, on_count_medium},
                                        {H_PING, on_ping},
                                        {H_PONG, on_pong},
                                        {H_TOKEN, on_token}};

static void *remote(void)
{
    return test_at(1 - test_rank, 4096);
}

/* Callgrind collects from entry to exit of this function; its own few instructions are the same for
 * every operation and measured by the operation `nothing`. */
void counted(void (*operation)(void));
__attribute__((noinline)) void counted(void (*operation)(void))
{
    operation();
    __asm__ volatile("" ::: "memory"); /* no tail call: we must return from here */
}

/* --- the counted part of each operation --- */

static gasnet_handle_t handle;
static void nothing(void) {}
static void put_nbi(void)
{
    gasnet_put_nbi(1, remote(), source, 8);
}
static void wait_nbi(void)
{
    gasnet_wait_syncnbi_puts();
}
static void put_nb_wait(void)
{
    handle = gasnet_put_nb(1, remote(), source, 8);
    gasnet_wait_syncnb(handle);
}
static void put_blocking(void)
{
    gasnet_put(1, remote(), source, 8);
}
/* Puts to a shared-memory peer: the address is computed before, as in a client's loop. */
static void *there;
static void put_near(void)
{
    gasnet_put(1, there, source, 8);
}
static void get_nb_wait(void)
{
    handle = gasnet_get_nb(source, 1, remote(), 8);
    gasnet_wait_syncnb(handle);
}
static void put_nb_wait_4k(void)
{
    /* From the segment: what is not registered would be measured as a memcpy. */
    handle = gasnet_put_nb_bulk(1, remote(), test_at(0, 16384), 4096);
    gasnet_wait_syncnb(handle);
}
static char outside[8192];
static void put_nb_wait_8k(void)
{
    handle = gasnet_put_nb_bulk(1, remote(), test_at(0, 16384), sizeof outside);
    gasnet_wait_syncnb(handle);
}
static void put_nb_wait_hit(void)
{
    handle = gasnet_put_nb_bulk(1, remote(), outside, sizeof outside);
    gasnet_wait_syncnb(handle);
}
static void am_short(void)
{
    gasnet_AMRequestShort0(1, H_COUNT);
}
static void am_ping(void)
{
    gasnet_AMRequestShort0(1, H_PING);
}
static void barrier(void)
{
    gasnet_barrier_notify((int)step, 0);
    gasnet_barrier_wait((int)step, 0);
}
static void barrier_wait(void)
{
    gasnet_barrier_wait((int)step, 0);
}
static void barrier_try(void)
{
    gasnet_barrier_try((int)step, 0);
}
static void am_medium(void)
{
    gasnet_AMRequestMedium0(1, H_COUNT_MEDIUM, source, 64);
}
static void poll_once(void)
{
    gasnet_AMPoll();
}

enum { COLLECTIVE = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL };
static void coll_broadcast(void)
{
    uint64_t value = step;
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &value, 0, &value, sizeof value, COLLECTIVE);
}

/* --- GASNet-EX --- */

static gex_TM_t team;
static gex_Event_t event;
static int outcome;
static void ex_put_wait(void)
{
    event = gex_RMA_PutNB(team, 1, remote(), source, 8, GEX_EVENT_NOW, 0);
    gex_Event_Wait(event);
}
static void ex_short(void)
{
    gex_AM_RequestShort0(team, 1, H_COUNT, 0);
}
static void ex_immediate(void)
{
    outcome = gex_AM_RequestShort0(team, 1, H_COUNT, GEX_FLAG_IMMEDIATE);
}
static void ex_negotiated(void)
{
    gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(team, 1, NULL, 64, 64, NULL, 0, 0);
    gex_AM_CommitRequestMedium0(sd, H_COUNT_MEDIUM, 64);
}
static void ex_test(void)
{
    outcome = gex_Event_Test(event);
}
static gex_AD_t domain;
static int64_t earlier;
static void ex_fetch_add(void)
{
    event = gex_AD_OpNB_I64(domain, &earlier, 1, there, GEX_OP_FADD, 1, 0, 0);
}
static void ex_fetch_add_wait(void)
{
    ex_fetch_add();
    gex_Event_Wait(event);
}
static gex_Token_t token;
static gex_Token_Info_t token_info;
static void ex_token(void)
{
    gex_Token_Info(token, &token_info, GEX_TI_SRCRANK);
}
static void on_token(gasnet_token_t t)
{
    token = t;
    counted(ex_token);
    arrived++;
}
static void am_token(void)
{
    gasnet_AMRequestShort0(1, H_TOKEN);
}

/* --- keeping in step --- */

/* Announces step `step` to the peer / waits for it, without being served by the library. */
static void announce(void)
{
    uint64_t value = step;
    gasnet_put((gasnet_node_t)(1 - test_rank), test_at(1 - test_rank, 0), &value, sizeof value);
}
static void watch(void)
{
    while (*flag < step) sched_yield();
}

/* --- drivers: each does n operations --- */

static void sender_alone(void (*operation)(void), int n)
{
    if (test_rank != 0) return;
    operation(); /* registers the memory of an operation, local and remote */
    for (int i = 0; i < n; i++) counted(operation);
}

static void drive_put_nbi(int n)
{
    if (test_rank != 0) return;
    for (int i = 0; i < n; i++) {
        counted(put_nbi);
        if (i % BATCH == BATCH - 1) wait_nbi();
    }
    wait_nbi();
}

static void drive_reap(int n)
{
    if (test_rank != 0) return;
    for (int i = 0; i < n; i++) {
        put_nbi();
        if (i % BATCH == BATCH - 1) counted(wait_nbi);
    }
    wait_nbi();
}

/* Rank 0 sends a batch, rank 1 serves it, then the roles of waiting change. */
static void batches(void (*send)(void), void (*poll)(void (*)(void)),
                    void (*inject)(void (*)(void)), int n)
{
    /* Counted from the start: a message may be served while rank 1 is still in a barrier or a put.
     */
    int all = 0;
    for (int done = 0; done < n; done += BATCH) {
        step++;
        all += BATCH;
        if (test_rank == 0) {
            for (int i = 0; i < BATCH; i++) inject(send);
            announce();
            watch();
            for (int i = 0; i < BATCH; i++) gasnet_AMPoll(); /* hidden replies, credits */
        } else {
            watch();
            while (arrived < all) poll(poll_once);
            announce();
        }
    }
}
static void directly(void (*operation)(void))
{
    operation();
}

static void drive_short(int n)
{
    batches(am_short, directly, counted, n);
}
static void drive_medium(int n)
{
    batches(am_medium, directly, counted, n);
}
static void drive_receive(int n)
{
    batches(am_short, counted, directly, n);
}

static void drive_ex_put(int n)
{
    sender_alone(ex_put_wait, n);
}
static void drive_ex_short(int n)
{
    batches(ex_short, directly, counted, n);
}
static void drive_ex_negotiated(int n)
{
    batches(ex_negotiated, directly, counted, n);
}
static void drive_ex_token(int n)
{
    batches(am_token, directly, directly, n);
}

/* Refused: no credit is left, and the peer serves nothing before the end. */
static void drive_ex_refused(int n)
{
    if (test_rank != 0) return;
    do ex_immediate();
    while (outcome == 0);
    for (int i = 0; i < n; i++) counted(ex_immediate);
}

/* Tests of events: before any poll, and when they are complete. */
static void drive_ex_pending(int n)
{
    if (test_rank != 0) return;
    for (int i = 0; i < n; i++) {
        event = gasnet_put_nb_bulk(1, remote(), test_at(0, 16384), 4096);
        counted(ex_test);
        if (outcome != GASNET_OK) gex_Event_Wait(event);
    }
}
static void drive_ex_finished(int n)
{
    if (test_rank != 0) return;
    for (int i = 0; i < n; i++) {
        event = gasnet_put_nb_bulk(1, remote(), test_at(0, 16384), 4096);
        gex_Event_Wait(gex_Event_QueryLeaf(event, GEX_EC_PUT));
        counted(ex_test);
    }
}

/* announce() polls, and might serve a message that is to be counted; this does not.  Its completion
 * is reaped when the peer watches. */
static void tell(void)
{
    uint64_t value = step;
    gasnet_put_nbi((gasnet_node_t)(1 - test_rank), test_at(1 - test_rank, 0), &value, sizeof value);
}

/* Rank 0 asks, rank 1 serves; they find out whether n Requests are served, and n answered. */
static void round_trips(int n, void (*ask)(void), bool (*served)(int n), bool (*answered)(int n))
{
    for (int i = 1; i <= n; i++) {
        step++;
        if (test_rank == 0) {
            counted(ask);
            tell();
            watch();
            while (!answered(i)) counted(poll_once);
            wait_nbi();
            step++;
            tell();
            watch();
        } else {
            watch();
            while (!served(i)) counted(poll_once);
            tell();
            step++;
            watch();
            wait_nbi();
            tell();
        }
    }
    wait_nbi();
}

static bool ping_served(int n)
{
    return arrived >= n;
}
static bool ping_answered(int n)
{
    return pongs >= n;
}
static void drive_round_trip(int n)
{
    round_trips(n, am_ping, ping_served, ping_answered);
}

/* The element that is added to begins with 0, in the segment of rank 1. */
static bool atomic_served(int n)
{
    return *(volatile int64_t *)test_at(1, 4096) >= n;
}
static bool atomic_answered(int n)
{
    (void)n;
    return gex_Event_Test(event) == GASNET_OK;
}
static void domain_begin(void)
{
    there = test_at(1, 4096);
    if (test_rank == 1) memset(there, 0, sizeof(int64_t));
    gex_AD_Create(&domain, team, GEX_DT_I64, GEX_OP_FADD, 0);
    test_sync();
}
static void drive_ex_ad_round(int n)
{
    domain_begin();
    round_trips(n, ex_fetch_add, atomic_served, atomic_answered);
}
static void drive_ex_ad_near(int n)
{
    domain_begin();
    sender_alone(ex_fetch_add, n);
}

static void drive_ex_ad_device(int n)
{
    domain_begin();
    sender_alone(ex_fetch_add_wait, n);
}

static void drive_nothing(int n)
{
    sender_alone(nothing, n);
}
static void drive_put_nb(int n)
{
    sender_alone(put_nb_wait, n);
}
static void drive_put(int n)
{
    sender_alone(put_blocking, n);
}
static void drive_put_near(int n)
{
    there = remote();
    sender_alone(put_near, n);
}
static void drive_get(int n)
{
    sender_alone(get_nb_wait, n);
}
static void drive_put_4k(int n)
{
    sender_alone(put_nb_wait_4k, n);
}
static void drive_put_8k(int n)
{
    sender_alone(put_nb_wait_8k, n);
}
static void drive_put_hit(int n)
{
    sender_alone(put_nb_wait_hit, n);
}
static void drive_poll(int n)
{
    sender_alone(poll_once, n);
}

/* Rank 0 is the last to come, so that it finds the other's message when it looks; or, looking once
 * more often, the first, so that it finds none. */
static void barriers(int n, void (*alone)(void), void (*together)(void (*)(void)))
{
    for (int i = 0; i < n; i++) {
        step++;
        if (test_rank == 1) {
            if (alone) watch();
            gasnet_barrier_notify((int)step, 0);
            announce();
            gasnet_barrier_wait((int)step, 0);
            continue;
        }
        if (alone) {
            gasnet_barrier_notify((int)step, 0);
            counted(alone);
            announce();
        }
        watch();
        together(alone ? barrier_wait : barrier);
    }
}
static void drive_barrier(int n)
{
    barriers(n, NULL, counted);
}
static void drive_barrier_try(int n)
{
    barriers(n, barrier_try, directly);
}

/* Polls after gasnet_coll_init. */
static void drive_coll_poll(int n)
{
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    test_sync();
    drive_poll(n);
}

/* Polls while the other rank has not entered a collective. */
static void drive_coll_pending(int n)
{
    uint64_t value = 1, all[2];
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    test_sync();
    step++;
    if (test_rank == 0) {
        gasnet_coll_handle_t pending =
            gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, all, &value, sizeof value, COLLECTIVE);
        for (int i = 0; i < BATCH; i++) gasnet_AMPoll(); /* sends the messages of the collective */
        drive_poll(n);
        announce();
        gasnet_coll_wait_sync(pending);
    } else {
        watch();
        gasnet_coll_gather_all(GASNET_TEAM_ALL, all, &value, sizeof value, COLLECTIVE);
    }
}

/* Counts broadcasts. Rank 0 is the root; rank 1 enters when its message has arrived. */
static void broadcasts(int n, void (*at_root)(void (*)(void)), void (*elsewhere)(void (*)(void)))
{
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    for (int i = 0; i < n; i++) {
        step++;
        if (test_rank == 0) {
            at_root(coll_broadcast);
            announce();
            watch();
            gasnet_AMPoll(); /* credits */
        } else {
            watch();
            elsewhere(coll_broadcast);
            announce();
        }
    }
}
static void drive_coll_send(int n)
{
    broadcasts(n, counted, directly);
}
static void drive_coll_receive(int n)
{
    broadcasts(n, directly, counted);
}

/* Connections, first-use paths, what is published after some use: of both ranks, so that neither
 * needs the other's help while that one watches. */
static void warm_up(gasnet_node_t other)
{
    for (int i = 0; i < 16 * BATCH; i++) {
        gasnet_put(other, remote(), source, 8);
        gasnet_get(source, other, remote(), 8);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*drive)(int n);
    } operation[] = {
        {"nothing", drive_nothing},
        {"put_nbi", drive_put_nbi},
        {"put_nb", drive_put_nb},
        {"put", drive_put},
        {"get_nb", drive_get},
        {"put_nb_4k", drive_put_4k},
        {"put_nb_8k", drive_put_8k},
        {"put_hit", drive_put_hit},
        {"reap", drive_reap},
        {"am_short", drive_short},
        {"am_receive", drive_receive},
        {"am_round", drive_round_trip},
        {"am_medium", drive_medium},
        {"poll", drive_poll},
        {"barrier", drive_barrier},
        {"barrier_try", drive_barrier_try},
        {"coll_poll", drive_coll_poll},
        {"coll_pending", drive_coll_pending},
        {"coll_send", drive_coll_send},
        {"coll_receive", drive_coll_receive},
        {"put_near", drive_put_near},
        {"ex_put", drive_ex_put},
        {"ex_short", drive_ex_short},
        {"ex_refused", drive_ex_refused},
        {"ex_token", drive_ex_token},
        {"ex_negotiated", drive_ex_negotiated},
        {"ex_pending", drive_ex_pending},
        {"ex_finished", drive_ex_finished},
        {"ex_ad_near", drive_ex_ad_near},
        {"ex_ad_round", drive_ex_ad_round},
        {"ex_ad_device", drive_ex_ad_device},
    };
    test_start(&argc, &argv, table, TEST_COUNT(table), SEGMENT);
    int chosen = -1;
    for (int i = 0; argc == 3 && i < TEST_COUNT(operation); i++)
        if (strcmp(argv[1], operation[i].name) == 0) chosen = i;
    if (chosen < 0 || test_size != 2) {
        if (test_rank == 0) fprintf(stderr, "usage: gasnetrun_ibv -n 2 count OPERATION N\n");
        gasnet_exit(1);
    }
    gasnet_QueryGexObjects(NULL, NULL, &team, NULL);
    flag = test_at(test_rank, 0);
    *flag = 0;
    test_sync();
    for (int rank = 0; rank < 2; rank++) {
        if (test_rank == rank) warm_up((gasnet_node_t)(1 - rank));
        test_sync();
    }
    operation[chosen].drive(atoi(argv[2]) / BATCH * BATCH);
    /* Rank 1 sends nothing of its own while rank 0 counts. */
    step++;
    if (test_rank == 0)
        announce();
    else
        while (*flag < step) gasnet_AMPoll();
    test_sync();
    gasnet_exit(0);
}
