/* testfaults.c - a small job that uses each part of the library once, for tests/faults/faults.py.
 *
 * Each rank prints one line when all that it received was right, and nothing else: what fails is
 * for the library to say.
 */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PING = 200, PONG, LETTER, BYTES = 20000, PART = 1000 };
static int pings, pongs, letters;
static gasnet_node_t me, ranks;
static char *segment[64];

static void on_ping(gasnet_token_t token, gasnet_handlerarg_t value)
{
    pings++;
    gasnet_AMReplyShort1(token, PONG, value + 1);
}

static void on_pong(gasnet_token_t token, gasnet_handlerarg_t value)
{
    (void)token;
    pongs += value == 8;
}

static void on_letter(gasnet_token_t token, void *text, size_t n)
{
    (void)token;
    letters += n == PART && ((char *)text)[PART - 1] == 'l';
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    if (gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK) exit(5);
}

/* Puts to the segment of the next rank and gets the same bytes; true if they are equal. */
static bool puts_and_gets(gasnet_node_t to)
{
    char *out = malloc(BYTES), *in = calloc(1, BYTES); /* outside of the segment */
    if (!out || !in) exit(6);
    memset(out, 'a' + (int)me, BYTES);
    gasnet_put(to, segment[to], out, BYTES);
    gasnet_put_nbi(to, segment[to] + BYTES, out, 8);
    gasnet_puts_nbi_bulk(to, segment[to] + BYTES + 8, (size_t[]){8}, out, (size_t[]){16},
                         (size_t[]){4, 3}, 1);
    gasnet_wait_syncnbi_all();
    barrier();
    gasnet_get(in, to, segment[to], BYTES);
    bool right = !memcmp(in, out, BYTES) && segment[me][BYTES + 7] == segment[me][BYTES - 1];
    free(out);
    free(in);
    return right;
}

static bool messages(gasnet_node_t to)
{
    char text[PART];
    memset(text, 'l', sizeof text);
    gasnet_AMRequestShort1(to, PING, 7);
    gasnet_AMRequestMedium0(to, LETTER, text, sizeof text);
    gasnet_AMRequestLong0(to, LETTER, text, sizeof text, segment[to] + 2 * BYTES);
    GASNET_BLOCKUNTIL(pings == 1 && pongs == 1 && letters == 2);
    return true;
}

static bool collectives(void)
{
    int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC;
    int value = me == 0 ? 42 : 0, all[64] = {0}, mine = (int)me + 1;
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, &value, 0, &value, sizeof value, flags);
    gasnet_coll_gather_all(GASNET_TEAM_ALL, all, &mine, sizeof mine, flags);
    bool right = value == 42;
    for (int r = 0; r < (int)ranks; r++) right &= all[r] == r + 1;
    return right;
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = {
        {PING, (void *)on_ping}, {PONG, (void *)on_pong}, {LETTER, (void *)on_letter}};
    gasnet_seginfo_t table[64];
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 3;
    if (gasnet_attach(handlers, 3, 16 * GASNET_PAGESIZE, 0) != GASNET_OK) return 4;
    me = gasnet_mynode(), ranks = gasnet_nodes();
    if (gasnet_getSegmentInfo(table, (int)ranks) != GASNET_OK) return 5;
    for (gasnet_node_t r = 0; r < ranks; r++) segment[r] = table[r].addr;
    gasnet_node_t to = (me + 1) % ranks;
    if (puts_and_gets(to) && messages(to) && collectives())
        printf("rank %d: right\n", (int)me);
    else
        fprintf(stderr, "rank %d: wrong data\n", (int)me);
    barrier();
    gasnet_exit(0);
}
