/* between_hosts.c - rules that apply only between hosts: connections that break, programs that end
 * while an answer is due, long messages, many queue pairs on one connection.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

enum { QPS = 100, LONG = 512 * 1024 };

static void goes_on_after_a_cut(struct side *s)
{
    for (int i = 0; i < 50; i++) {
        if (s->is_a) {
            fill(s->buf, 1000, i);
            CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_WRITE, i, 0, 1000, 5000)), 0);
            struct ibv_send_wr *wr = make_wr(s, IBV_WR_ATOMIC_FETCH_AND_ADD, i, 2000, 8, 8000);
            wr->wr.atomic.compare_add = 1;
            CHECK_EQ(post(s, wr), 0);
            cut_connections();
            expect(s->scq, i, IBV_WC_SUCCESS);
            expect(s->scq, i, IBV_WC_SUCCESS);
            CHECK_EQ(*(uint64_t *)(s->buf + 2000), i);
        }
        meet(s);
        if (!s->is_a) CHECK(filled(s->buf + 5000, 1000, i));
        if (!s->is_a) CHECK_EQ(*(uint64_t *)(s->buf + 8000), i + 1);
        meet(s);
    }
}

/* B exits as soon as it has the message: the send of A must have succeeded. */
static void last_message_is_acknowledged(struct side *s)
{
    if (!s->is_a) {
        CHECK_EQ(post_recv(s, 1, 0, 64), 0);
        meet(s);
        expect(s->rcq, 1, IBV_WC_SUCCESS);
        exit(0);
    }
    meet(s);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_SEND, 1, 0, 64, 0)), 0);
    expect(s->scq, 1, IBV_WC_SUCCESS);
}

/* Sides A and B post all that they may before either polls. */
static void both_flood_with_long_messages(struct side *s)
{
    enum { DEPTH = 64 };
    for (int i = 0; i < DEPTH; i++)
        CHECK_EQ(post(s, make_wr(s, i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, i,
                                 i % 2 ? 0 : LONG, LONG, i % 2 ? LONG : 0)),
                 0);
    for (int i = 0; i < DEPTH; i++) expect(s->scq, i, IBV_WC_SUCCESS);
    meet(s);
}

static void queue_pairs_share_a_connection(struct side *s)
{
    struct side more[QPS];
    for (int i = 0; i < QPS; i++) {
        more[i] = *s;
        add_qp(&more[i]);
        tell(s, &more[i].mine, sizeof more[i].mine);
        hear(s, &more[i].its, sizeof more[i].its);
        connect_qp(&more[i], &more[i].its);
    }
    meet(s);
    for (int i = 0; i < QPS; i++) { /* A and B at once, to the memory of the peer */
        size_t at = (size_t)i * 1000 + (s->is_a ? 0 : 200000);
        fill(s->buf + at, 1000, i);
        CHECK_EQ(post(&more[i], make_wr(&more[i], IBV_WR_RDMA_WRITE, i, at, 1000, at)), 0);
    }
    for (int i = 0; i < QPS; i++) CHECK_EQ(await(s->scq).status, IBV_WC_SUCCESS);
    meet(s);
    for (int i = 0; i < QPS; i++)
        CHECK(filled(s->buf + (size_t)i * 1000 + (s->is_a ? 200000 : 0), 1000, i));
    meet(s);
    if (s->is_a) CHECK_EQ(cut_connections(), 1);
    for (int i = 0; i < QPS; i++) CHECK_EQ(ibv_destroy_qp(more[i].qp), 0);
    meet(s);
}

void host_rules(void)
{
    static const struct {
        const char *name;
        test_function *run;
        int times;
    } tests[] = {
        {"what a lost connection swallowed is executed once", goes_on_after_a_cut, 1},
        {"a program that ends has acknowledged what it received", last_message_is_acknowledged, 30},
        {"both sides flood each other", both_flood_with_long_messages, 1},
        {"queue pairs share one connection", queue_pairs_share_a_connection, 5},
    };
    if (!sides_are_remote()) return;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        struct options o = {.timeout = 18};
        bool ok = true;
        for (int n = 0; n < tests[i].times && ok; n++) ok = run_pair(tests[i].run, &o);
        check(ok, "%s", tests[i].name);
    }
}
