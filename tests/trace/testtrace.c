/* testtrace.c - a job of known traffic, for trace.sh: what is in its trace is counted.
 *
 *   testtrace [FLOOD]
 *
 * Each rank puts to and gets from the next one, sends it Requests whose handler replies, and passes
 * barriers and a broadcast; numbers in the names of the functions below.  FLOOD: puts as many times
 * as that too, to see what becomes of more events than a file takes.
 */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_vis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gasnet_tools.h>

enum { H_ASK = 200, H_ANSWER, H_BYTES };

static volatile int answers, bytes_arrived;
static unsigned char *mine, *theirs;
static gasnet_node_t next;

static void on_ask(gasnet_token_t token)
{
    gasnet_AMReplyShort0(token, H_ANSWER);
}

static void on_answer(gasnet_token_t token)
{
    (void)token;
    answers++;
}

static void on_bytes(gasnet_token_t token, void *bytes, size_t nbytes)
{
    (void)token, (void)bytes;
    bytes_arrived += (int)nbytes;
}

static void meet(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void put_3_blocking_2_nb_and_4_nbi(void)
{
    gasnet_handle_t handles[2];
    for (int i = 0; i < 3; i++) gasnet_put(next, theirs + 8 * i, mine, 8);
    for (int i = 0; i < 2; i++) handles[i] = gasnet_put_nb(next, theirs + 100 + 16 * i, mine, 16);
    gasnet_wait_syncnb_all(handles, 2);
    for (int i = 0; i < 4; i++) gasnet_put_nbi_bulk(next, theirs + 200, mine, 5000);
    gasnet_wait_syncnbi_puts();
}

static void get_2_blocking_1_nb_and_1_nbi(void)
{
    unsigned char here[1000];
    gasnet_get(here, next, theirs, 8);
    gasnet_get_bulk(here, next, theirs, sizeof here);
    gasnet_wait_syncnb(gasnet_get_nb(here, next, theirs, 16));
    gasnet_get_nbi(here, next, theirs, 24);
    gasnet_wait_syncnbi_gets();
    if (memcmp(here, mine, 8) != 0) gasnet_exit(7);
}

static void other_ways_of_putting(void)
{
    gasnet_memset(next, theirs + 6000, 5, 77);
    gasnet_memvec_t to = {theirs + 7000, 60}, from = {mine, 60};
    gasnet_putv_bulk(next, 1, &to, 1, &from);
    gasnet_put(gasnet_mynode(), mine + 8000, mine, 40); /* within the rank */
}

static void send_5_shorts_and_2_mediums(void)
{
    for (int i = 0; i < 5; i++) gasnet_AMRequestShort0(next, H_ASK);
    for (int i = 0; i < 2; i++) gasnet_AMRequestMedium0(next, H_BYTES, mine, 300);
    GASNET_BLOCKUNTIL(answers == 5 && bytes_arrived == 600);
}

static void wait_for_a_late_rank(void)
{
    if (gasnet_mynode() == 0) usleep(50000);
    meet();
}

static void tell(void)
{
    const char *file = NULL;
    unsigned line = 0;
    GASNETT_TRACE_PRINTF("round %d of \"%s\"", 1, "tell");
    GASNETT_TRACE_SETSOURCELINE("upc.c", 12);
    GASNETT_TRACE_GETSOURCELINE(&file, &line);
    if (GASNETT_TRACE_ENABLED && (!file || strcmp(file, "upc.c") != 0 || line != 12))
        gasnet_exit(8);
    GASNETT_TRACE_FREEZESOURCELINE();
    GASNETT_TRACE_SETSOURCELINE("frozen.c", 13);
    GASNETT_TRACE_UNFREEZESOURCELINE();
    meet(); /* at upc.c:12 */
    const char *mask = GASNETT_TRACE_GETMASK();
    char before[80];
    snprintf(before, sizeof before, "%s", mask);
    GASNETT_TRACE_SETMASK("A");
    if (GASNETT_TRACE_ENABLED) gasnet_exit(9);
    gasnet_put(next, theirs, mine, 11); /* not traced */
    GASNETT_TRACE_PRINTF("not written");
    GASNETT_TRACE_PRINTF_FORCE("forced");
    GASNETT_TRACE_SETMASK(before);
}

static void flood(long puts)
{
    for (long i = 0; i < puts; i++) gasnet_put_nbi(next, theirs, mine, 9);
    gasnet_wait_syncnbi_puts();
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{H_ASK, (void (*)(void))on_ask},
                                     {H_ANSWER, (void (*)(void))on_answer},
                                     {H_BYTES, (void (*)(void))on_bytes}};
    GASNETT_TRACE_PRINTF("before gasnet_init: nowhere");
    if (gasnet_init(&argc, &argv) != GASNET_OK ||
        gasnet_attach(table, 3, 16 * GASNET_PAGESIZE, 0) != GASNET_OK)
        return 1;
    gasnet_seginfo_t segments[64];
    gasnet_getSegmentInfo(segments, (int)gasnet_nodes());
    next = (gasnet_mynode() + 1) % gasnet_nodes();
    mine = segments[gasnet_mynode()].addr;
    theirs = segments[next].addr;
    if (gasnet_mynode() == 0) usleep(50000);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    for (int i = 0; i < 8; i++) mine[i] = (unsigned char)i;
    meet();
    put_3_blocking_2_nb_and_4_nbi();
    get_2_blocking_1_nb_and_1_nbi();
    other_ways_of_putting();
    send_5_shorts_and_2_mediums();
    wait_for_a_late_rank();
    tell();
    if (argc > 1) flood(atol(argv[1]));
    gasnet_coll_broadcast(GASNET_TEAM_ALL, mine + 9000, 0, mine, 64,
                          GASNET_COLL_DST_IN_SEGMENT | GASNET_COLL_SRC_IN_SEGMENT |
                              GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
    meet();
    if (gasnet_mynode() == 0) puts("ok 1 - a job of known traffic\n1..1");
    gasnet_exit(0);
}
