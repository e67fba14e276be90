/* srq_policy.c - the shared receive queue's pure parts (IB-W4, IB-A8): when it is used, how its
 * buffers are divided, and which peer's queue pair has a number.
 */
#include "core/ib/srq_policy.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/ib/qp_table.h"
#include "tests/unit/check.h"

enum { PEERS = 20, CREDITS = 32, REPLIES = 500, SPARES = 18 };

/* Buffers of 20 peers' own: 20 x (32 + 3) + 500. */
enum { OWN = PEERS * (CREDITS + NET_IB_SYS_RECVS) + REPLIES };

static net_ib_recv_plan_t planned(int64_t use, uint32_t buffers, uint32_t most)
{
    return net_ib_recv_plan(use, PEERS, buffers, most, SPARES, 1, CREDITS, REPLIES);
}

static enum net_ib_sharing sharing(int64_t use, uint32_t buffers, uint32_t most)
{
    return planned(use, buffers, most).sharing;
}

static void rule(void)
{
    static const enum net_ib_sharing EACH = NET_IB_OWN, SHARE = NET_IB_SHARE,
                                     CANNOT = NET_IB_CANNOT_SHARE;
    check(sharing(-1, OWN - SPARES - 1, 4096) == SHARE, "IB-W4 shared where that saves a buffer");
    check(sharing(-1, OWN - SPARES, 4096) == EACH, "IB-W4 and not where it saves none");
    check(sharing(-1, 100, 0) == EACH, "IB-W4 a device without such queues: each peer has its own");
    check(sharing(0, 100, 4096) == EACH, "IB-W4 GASNET_USE_SRQ=0: never");
    check(sharing(1, 4000, 4096) == SHARE, "IB-W4 GASNET_USE_SRQ=1: always");
    check(sharing(1, 100, 0) == CANNOT, "IB-W4 unless the device has none");
    check(sharing(1, 100, PEERS * 4) == CANNOT && sharing(-1, 100, PEERS * 4) == EACH &&
              sharing(1, 100, PEERS * 4 + 1) == SHARE,
          "IB-A8 nor where it holds too few for a Request and three system messages of each peer");
    check(planned(1, 1, 4096).buffers == PEERS * 4 + 1,
          "IB-A8 so many there are at least, whatever GASNET_RBUF_COUNT is");
    check(planned(1, 4096, 200).buffers == 200, "IB-W4 and at most what the device takes");
    net_ib_recv_plan_t own = planned(0, 100, 4096);
    check(own.credits == CREDITS && own.replies == REPLIES,
          "IB-R3 IB-R4 buffers of their own: as many credits as are asked for");
}

/* All messages in flight at once have a buffer, and each peer may send some. */
static void fits(void)
{
    for (int i = 0; i < 100000; i++) {
        uint32_t peers = 1 + check_below(3000), most = 1 + check_below(20000);
        uint32_t buffers = 1 + check_below(20000);
        const uint32_t credits = 1 + check_below(64), replies = 1 + check_below(4000);
        net_ib_recv_plan_t plan = net_ib_recv_plan(1, peers, buffers, most, check_below(100),
                                                   1 + check_below(2), credits, replies);
        if (plan.sharing != NET_IB_SHARE) continue;
        uint64_t all = (uint64_t)peers * (plan.credits + NET_IB_SYS_RECVS) + plan.replies;
        check_each(plan.credits > 0 && plan.replies > 0 && all <= plan.buffers &&
                       plan.buffers <= most,
                   "%u peers, %u buffers: %u credits, %u Replies", peers, plan.buffers,
                   plan.credits, plan.replies);
    }
    check_all("IB-A8 every message on the way has a buffer in the shared queue");
    for (int i = 0; i < 100000; i++) {
        const uint32_t peers = 1 + check_below(3000), credits = 1 + check_below(64),
                       replies = 1 + check_below(4000), buffers = 1 + check_below(20000);
        const net_ib_recv_plan_t plan =
            net_ib_recv_plan(1, peers, buffers, 20000, SPARES, 1, credits, replies);
        if (plan.sharing != NET_IB_SHARE) continue;
        const uint64_t all = (uint64_t)peers * (plan.credits + NET_IB_SYS_RECVS) + plan.replies;
        check_each(plan.credits == credits || all + peers > plan.buffers,
                   "%u peers, %u buffers: %u credits of %u", peers, plan.buffers, plan.credits,
                   credits);
        check_each(plan.replies == replies || all == plan.buffers || plan.credits == credits,
                   "%u peers, %u buffers: %u Replies of %u", peers, plan.buffers, plan.replies,
                   replies);
    }
    check_all("IB-A8 no buffer is left that would be a credit more for each peer");
    const net_ib_recv_plan_t of_20 =
        net_ib_recv_plan(1, 19, net_ib_rbuf_default(19), 4096, SPARES, 1, 32, 608);
    check(of_20.buffers == 1024 && of_20.credits == 25 && of_20.replies == 492,
          "IB-A8 20 ranks at defaults: 25 credits for each peer, 492 Replies");
    const net_ib_recv_plan_t few_requests = net_ib_recv_plan(1, 10, 1000, 4096, SPARES, 1, 2, 900),
                             few_replies = net_ib_recv_plan(1, 10, 1000, 4096, SPARES, 1, 90, 5);
    check(few_requests.credits == 2 && few_requests.replies == 900 && few_replies.credits == 90 &&
              few_replies.replies == 5,
          "IB-A8 what Requests do not need is for Replies, and the other way round");
    for (uint32_t peers = 17; peers < 5000; peers++) {
        net_ib_recv_plan_t plan =
            net_ib_recv_plan(1, peers, net_ib_rbuf_default(peers), UINT32_MAX, SPARES, 1, CREDITS,
                             net_ib_credits_total(1024, 0, peers, CREDITS));
        check_each(plan.credits >= 3, "%u peers: %u credits each", peers, plan.credits);
    }
    check_all("IB-A8 at defaults each of up to 5000 peers has three credits at least");
}

static void total(void)
{
    check(net_ib_credits_total(1024, 0, 100, 32) == 1024 &&
              net_ib_credits_total(1024, 0, 1023, 32) == 1024 &&
              net_ib_credits_total(1024, 0, 1024, 32) == 1025 &&
              net_ib_credits_total(1024, 0, 5000, 32) == 5001,
          "IB-R4 by default max(1024, nodes) Requests in flight");
    check(net_ib_credits_total(1024, 0, 3, 32) == 96 && net_ib_credits_total(0, 0, 100, 32) == 3200,
          "IB-R4 no more than the peers' credits; 0: as many");
    check(net_ib_credits_total(1024, 500, 100, 32) == 500 &&
              net_ib_credits_total(0, 500, 100, 32) == 500 &&
              net_ib_credits_total(300, 500, 100, 32) == 300,
          "IB-R4 trimmed to GASNET_NETWORKDEPTH_TOTAL");
}

enum { MANY = 30000 };

static int owner[MANY];
static _Atomic uint32_t key[MANY];
static net_ib_qp_table_t owners;
static atomic_int entered;

static void few(void)
{
    net_ib_qp_table_t two = {0};
    check(!net_ib_qp_table_find(&two, 77), "IB-W4 an empty table has no owners");
    bool fits = net_ib_qp_table_enter(&two, net_ib_qp_table_key(0, 77), &owner[0]) &&
                net_ib_qp_table_enter(&two, net_ib_qp_table_key(1, 77), &owner[1]) &&
                net_ib_qp_table_enter(&two, net_ib_qp_table_key(0, 0xffffff), &owner[2]);
    check(fits && net_ib_qp_table_find(&two, net_ib_qp_table_key(0, 77)) == &owner[0] &&
              net_ib_qp_table_find(&two, net_ib_qp_table_key(1, 77)) == &owner[1] &&
              net_ib_qp_table_find(&two, net_ib_qp_table_key(0, 0xffffff)) == &owner[2],
          "IB-W4 one number on two devices has two owners");
    check(!net_ib_qp_table_find(&two, net_ib_qp_table_key(2, 77)) &&
              !net_ib_qp_table_find(&two, net_ib_qp_table_key(0, 78)),
          "IB-W4 a number that was not entered has none");
    net_ib_qp_table_enter(&two, net_ib_qp_table_key(0, 77), &owner[3]);
    check(net_ib_qp_table_find(&two, net_ib_qp_table_key(0, 77)) == &owner[3],
          "IB-W4 one that is used again has its last owner");
    net_ib_qp_table_free(&two);
    check(!net_ib_qp_table_find(&two, net_ib_qp_table_key(0, 77)), "IB-W4 nothing is left");
}

/* Finds each owner that was entered, while the table grows, and waits for the next one.  Only the
 * table orders what an owner holds before the wait ends: the thread sanitizer checks that. */
static void *look(void *unused)
{
    uint64_t state = check_seed();
    for (int n; (n = atomic_load(&entered)) < MANY;) {
        uint32_t next = atomic_load_explicit(&key[n], memory_order_relaxed);
        const int *found = NULL;
        while (next && !found && atomic_load_explicit(&entered, memory_order_relaxed) <= n)
            found = net_ib_qp_table_find(&owners, next);
        if (found && (found != &owner[n] || *found != n)) return &owners;
        if (n == 0) continue;
        state = state * 6364136223846793005u + 1442695040888963407u;
        int i = (int)((state >> 33) % (uint64_t)n);
        if (net_ib_qp_table_find(&owners, key[i]) != &owner[i]) return &owners;
    }
    return unused;
}

/* Numbers as devices give them: in sequence from anywhere, or at random. */
static void many(void)
{
    static uint8_t taken[1 << 24];
    pthread_t reader;
    void *wrong;
    pthread_create(&reader, NULL, look, NULL);
    uint32_t next = check_below(1 << 24);
    for (int i = 0; i < MANY; i++) {
        next = (i % 3 ? next + 1 : check_below(1 << 24)) & 0xffffff;
        while (next < 2 || taken[next]) next = (next + 1) & 0xffffff;
        taken[next] = 1;
        atomic_store_explicit(&key[i], net_ib_qp_table_key(0, next), memory_order_relaxed);
        owner[i] = i;
        check_each(net_ib_qp_table_enter(&owners, key[i], &owner[i]), "number %u", next);
        atomic_store(&entered, i + 1);
    }
    pthread_join(reader, &wrong);
    check_all("IB-W4 %d numbers are entered", MANY);
    check(!wrong, "IB-W4 each is found by another thread as soon as it is, while the table grows");
    for (int i = 0; i < MANY; i++)
        check_each(net_ib_qp_table_find(&owners, key[i]) == &owner[i], "number %u", key[i]);
    for (uint32_t number = 2; number < 1 << 24; number += 7)
        check_each(taken[number] || !net_ib_qp_table_find(&owners, number), "number %u", number);
    check_all("IB-W4 and later, and no other");
    const net_ib_qp_cells_t *table = atomic_load(&owners.table);
    check(table->used == MANY && UINT32_C(1) << table->bits <= 4 * MANY,
          "IB-W4 the table is as large as that, and no larger");
    net_ib_qp_table_free(&owners);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    rule();
    fits();
    total();
    few();
    many();
    return check_end();
}
