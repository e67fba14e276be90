/* soak.c - random operations between two processes; each checks what it must have received.
 *
 * Usage: softhca_soak [SECONDS [SEED]]. Both sides send at once: random sizes, opcodes, flags and
 * depths, late receives, pauses. Length and content of each message follow from a generator known
 * to both sides, so that order and content are checked without another channel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"
#include "rules.h"

enum { SLOTS = 64, SLOT = 4096, WINDOW = 512 * 1024 };

static unsigned seed, seconds;
static bool cuts; /* of connections between hosts, with SOAK_CUTS set */

struct traffic {
    unsigned random;          /* random operations of this side */
    uint64_t sent, done, got; /* messages, numbered */
    uint64_t reads;
    int cuts;
    uint64_t posted; /* receives */
};

static unsigned any(struct traffic *t, unsigned below)
{
    return rand_r(&t->random) % below;
}

/* Length and content of message N follow from its number and its sender. */
static uint32_t length_of(uint64_t n, bool from_a)
{
    unsigned r = (unsigned)(n * 2654435761u) ^ seed ^ from_a;
    static const uint32_t most[] = {8, 64, 256, 257, SLOT};
    return rand_r(&r) % most[rand_r(&r) % 5] + 1;
}

static void offer_receives(struct side *s, struct traffic *t)
{
    for (unsigned n = any(t, 8); n > 0 && t->posted - t->got < SLOTS; n--) {
        CHECK_EQ(post_recv(s, t->posted, t->posted % SLOTS * SLOT, SLOT), 0);
        t->posted++;
    }
}

/* A message is a SEND, or a WRITE into the window of the other side followed by an immediate. */
static void send_one(struct side *s, struct traffic *t)
{
    uint32_t len = length_of(t->sent, s->is_a);
    size_t at = SLOTS * SLOT + t->sent % SLOTS * SLOT;
    bool write = t->sent % 5 == 3;
    fill(s->buf + at, len, t->sent);
    struct ibv_send_wr *wr = make_wr(s, write ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND, t->sent,
                                     at, len, WINDOW + t->sent % SLOTS * SLOT);
    wr->imm_data = (uint32_t)t->sent;
    if (len <= 128 && any(t, 2)) wr->send_flags |= IBV_SEND_INLINE;
    CHECK_EQ(post(s, wr), 0);
    t->sent++;
}

/* Writes to memory that only this side uses, and reads it back. */
static void write_and_read_back(struct side *s, struct traffic *t)
{
    uint32_t len = any(t, 20000) + 1;
    size_t theirs = 900000;
    fill(s->buf + 800000, len, (uint32_t)t->reads);
    struct ibv_send_wr *wr = make_wr(s, IBV_WR_RDMA_WRITE, 0, 800000, len, theirs);
    wr->send_flags = 0;
    CHECK_EQ(post(s, wr), 0);
    CHECK_EQ(post(s, make_wr(s, IBV_WR_RDMA_READ, 1ull << 63 | len, 850000, len, theirs)), 0);
}

static void poll_sends(struct side *s, struct traffic *t)
{
    struct ibv_wc wc[8];
    int n = ibv_poll_cq(s->scq, 8, wc);
    CHECK(n >= 0);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
        if (wc[i].wr_id >> 63) {
            CHECK(filled(s->buf + 850000, (uint32_t)wc[i].wr_id, (uint32_t)t->reads));
            t->reads++;
        } else
            CHECK_EQ(wc[i].wr_id, t->done++);
    }
}

static void poll_receives(struct side *s, struct traffic *t)
{
    struct ibv_wc wc[4];
    int n = ibv_poll_cq(s->rcq, (int)any(t, 4) + 1, wc);
    CHECK(n >= 0);
    for (int i = 0; i < n; i++, t->got++) {
        CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
        CHECK_EQ(wc[i].wr_id, t->got);
        CHECK_EQ(wc[i].byte_len, length_of(t->got, !s->is_a));
        bool write = wc[i].opcode == IBV_WC_RECV_RDMA_WITH_IMM;
        CHECK_EQ(write, t->got % 5 == 3);
        if (write) CHECK_EQ(wc[i].imm_data, (uint32_t)t->got);
        CHECK(
            filled(s->buf + (write ? WINDOW : 0) + t->got % SLOTS * SLOT, wc[i].byte_len, t->got));
    }
}

static void random_traffic(struct side *s)
{
    struct traffic t = {.random = seed * 2 + s->is_a};
    uint64_t reads_started = 0;
    time_t end = time(NULL) + seconds;
    while (time(NULL) < end) {
        unsigned r = any(&t, 100);
        if (r < 30)
            offer_receives(s, &t);
        else if (r < 60) {
            /* A window slot is free again when its message was received; the receiver holds at most
             * SLOTS, and completions are in order. */
            if (t.sent - t.done < SLOTS / 2) send_one(s, &t);
        } else if (r < 65 && reads_started == t.reads) {
            write_and_read_back(s, &t);
            reads_started++;
        } else if (r == 99) {
            if (cuts && any(&t, 100) == 0) t.cuts += cut_connections();
            usleep(any(&t, 300));
        }
        poll_sends(s, &t);
        poll_receives(s, &t);
    }
    /* Finishes: all messages are received. */
    uint64_t total;
    tell(s, &t.sent, sizeof t.sent);
    hear(s, &total, sizeof total);
    while (t.got < total || t.done < t.sent || t.reads < reads_started) {
        offer_receives(s, &t);
        poll_sends(s, &t);
        poll_receives(s, &t);
    }
    meet(s);
    if (s->is_a)
        printf("# %llu messages, %llu reads, %d connections cut\n", (unsigned long long)t.sent,
               (unsigned long long)t.reads, t.cuts);
}

int main(int argc, char **argv)
{
    seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
    seed =
        argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : (unsigned)time(NULL) ^ (unsigned)getpid();
    cuts = getenv("SOAK_CUTS") != NULL;
    printf("# seed %u\n", seed);
    int bad = 0;
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        struct options o = {.ordinary = ordinary, .timeout = 18}; /* 8 times a second */
        bool ok = run_pair(random_traffic, &o);
        printf("%sok %d - random operations, %s memory (seed %u)\n", ok ? "" : "not ", ordinary + 1,
               ordinary ? "ordinary" : "mapped", seed);
        fflush(stdout);
        bad += !ok;
    }
    printf("1..2\n");
    return bad;
}
