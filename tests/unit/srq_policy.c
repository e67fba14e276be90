/* srq_policy.c - the shared receive queue's pure parts (IB-W4): when it is used, and whose queue
 * pair has a number.
 */
#include "core/ib/srq_policy.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/ib/qp_table.h"
#include "tests/unit/check.h"

static void rule(void)
{
    static const enum net_ib_sharing OWN = NET_IB_OWN, SHARE = NET_IB_SHARE,
                                     CANNOT = NET_IB_CANNOT_SHARE;
    check(net_ib_sharing(-1, 1101, 1100, 4096) == SHARE, "IB-W4 shared where that saves a buffer");
    check(net_ib_sharing(-1, 1100, 1100, 4096) == OWN, "IB-W4 and not where it saves none");
    check(net_ib_sharing(-1, 1 << 30, 1100, 0) == OWN,
          "IB-W4 a device without such queues: each peer has its own");
    check(net_ib_sharing(0, 1 << 30, 1100, 4096) == OWN, "IB-W4 GASNET_USE_SRQ=0: never");
    check(net_ib_sharing(1, 2, 1100, 4096) == SHARE, "IB-W4 GASNET_USE_SRQ=1: always");
    check(net_ib_sharing(1, 2, 1100, 0) == CANNOT, "IB-W4 unless the device has none");
}

enum { MANY = 30000 };

static char owner[MANY]; /* the addresses alone matter */
static uint32_t key[MANY];
static net_ib_qp_table_t owners;
static atomic_int entered;

static void few(void)
{
    net_ib_qp_table_t two = {0};
    check(!net_ib_owners_find(&two, 77), "IB-W4 an empty table knows nobody");
    bool fits = net_ib_owners_enter(&two, net_ib_owners_key(0, 77), &owner[0]) &&
                net_ib_owners_enter(&two, net_ib_owners_key(1, 77), &owner[1]) &&
                net_ib_owners_enter(&two, net_ib_owners_key(0, 0xffffff), &owner[2]);
    check(fits && net_ib_owners_find(&two, net_ib_owners_key(0, 77)) == &owner[0] &&
              net_ib_owners_find(&two, net_ib_owners_key(1, 77)) == &owner[1] &&
              net_ib_owners_find(&two, net_ib_owners_key(0, 0xffffff)) == &owner[2],
          "IB-W4 one number on two devices has two owners");
    check(!net_ib_owners_find(&two, net_ib_owners_key(2, 77)) &&
              !net_ib_owners_find(&two, net_ib_owners_key(0, 78)),
          "IB-W4 a number that was not entered has none");
    net_ib_owners_enter(&two, net_ib_owners_key(0, 77), &owner[3]);
    check(net_ib_owners_find(&two, net_ib_owners_key(0, 77)) == &owner[3],
          "IB-W4 one that is used again has its last owner");
    net_ib_owners_free(&two);
    check(!net_ib_owners_find(&two, net_ib_owners_key(0, 77)), "IB-W4 nothing is left");
}

/* Whoever was entered is found, while the table grows. */
static void *look(void *unused)
{
    uint64_t state = check_seed();
    for (int n; (n = atomic_load(&entered)) < MANY;) {
        if (n == 0) continue;
        state = state * 6364136223846793005u + 1442695040888963407u;
        int i = (int)((state >> 33) % (uint64_t)n);
        if (net_ib_owners_find(&owners, key[i]) != &owner[i]) return &owners;
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
        key[i] = net_ib_owners_key(0, next);
        check_each(net_ib_owners_enter(&owners, key[i], &owner[i]), "number %u", next);
        atomic_store(&entered, i + 1);
    }
    pthread_join(reader, &wrong);
    check_all("IB-W4 %d numbers are entered", MANY);
    check(!wrong, "IB-W4 each is found by another thread as soon as it is, while the table grows");
    for (int i = 0; i < MANY; i++)
        check_each(net_ib_owners_find(&owners, key[i]) == &owner[i], "number %u", key[i]);
    for (uint32_t number = 2; number < 1 << 24; number += 7)
        check_each(taken[number] || !net_ib_owners_find(&owners, number), "number %u", number);
    check_all("IB-W4 and later, and nobody else");
    const net_ib_owner_table_t *table = atomic_load(&owners.table);
    check(table->used == MANY && UINT32_C(1) << table->bits <= 4 * MANY,
          "IB-W4 the table is as large as that, and no larger");
    net_ib_owners_free(&owners);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    rule();
    few();
    many();
    return check_end();
}
