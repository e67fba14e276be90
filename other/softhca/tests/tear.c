/* tear.c - rules about messages that a fault writes byte by byte: their order, and that the
 * completion comes after all of them.
 */
#include <stdio.h>
#include <string.h>

#include "other/softhca/include/softhca.h"
#include "pair.h"
#include "rules.h"

enum { TORN = 8, TORN_SEND = 300, ROUNDS = 40, WRITTEN = 4096 };

/* Observations during a message: whether a byte was present before the byte at the next lower
 * address, or at the next higher. */
struct seen {
    bool above_first, below_first;
};

/* True when the whole message of this round is present. A byte that was written stays, so an old
 * byte read after a new one was written later. */
static bool look(const struct side *s, int round, struct seen *seen)
{
    const volatile unsigned char *at = (unsigned char *)s->buf + WRITTEN;
    int down = 0, up = 0;
    for (int i = TORN - 1; i >= 0; i--) {
        bool new = at[i] == round;
        seen->above_first |= down && !new;
        down += new;
    }
    for (int i = 0; i < TORN; i++) {
        bool new = at[i] == round;
        seen->below_first |= up && !new;
        up += new;
    }
    return up == TORN;
}

/* A sends too: a receive buffer is complete when its completion is polled. */
static struct seen torn(struct side *s)
{
    struct seen seen = {0};
    for (int round = 1; round <= ROUNDS; round++) {
        if (!s->is_a) CHECK_EQ(post_recv(s, 50, 0, TORN_SEND), 0);
        meet(s);
        if (s->is_a) {
            memset(s->buf, round, TORN_SEND);
            CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, 1, 0, TORN, WRITTEN)), 0);
            expect(s->scq, 1, IBV_WC_SUCCESS);
            CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 2, 0, TORN_SEND, 0)), 0);
            expect(s->scq, 2, IBV_WC_SUCCESS);
            continue;
        }
        while (!look(s, round, &seen)) continue;
        expect(s->rcq, 50, IBV_WC_SUCCESS);
        for (int i = 0; i < TORN_SEND; i++) CHECK_EQ(s->buf[i], round);
    }
    meet(s);
    return seen;
}

static void torn_upwards(struct side *s)
{
    CHECK(softhca_in_order());
    struct seen seen = torn(s);
    CHECK(s->is_a || (seen.below_first && !seen.above_first));
}

static void torn_downwards(struct side *s)
{
    CHECK(!softhca_in_order());
    struct seen seen = torn(s);
    CHECK(s->is_a || (seen.above_first && !seen.below_first));
}

static void torn_at_random(struct side *s)
{
    CHECK(!softhca_in_order());
    struct seen seen = torn(s);
    CHECK(s->is_a || (seen.above_first && seen.below_first));
}

void tear_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        const char *faults;
        bool ordinary;
    } pairs[] = {
        {"tear in ascending order", torn_upwards, "tear:process=0,order=ascending,us=50", false},
        {"tear in descending order", torn_downwards, "tear:process=0,order=descending,us=50",
         false},
        {"tear in random order", torn_at_random, "tear:process=0,order=random,us=50", false},
        {"the same, ordinary memory", torn_at_random, "tear:process=0,order=random,us=50", true},
    };
    if (sides_are_remote()) return; /* no fault of this kind between hosts */
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[200];
        struct options o = {.env = {text}, .ordinary = pairs[i].ordinary};
        snprintf(text, sizeof text, "SOFTHCA_FAULTS=%s", pairs[i].faults);
        check(run_pair(pairs[i].run, &o), "%s", pairs[i].name);
    }
}
