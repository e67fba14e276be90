/* leaving.c - which messages are handled by the time that a rank leaves a barrier or
 * gasnet_coll_init.
 *
 * The interface promises neither, and programs count on both: on having handled at the end of a
 * barrier what was sent before it, and on no message of a peer inside gasnet_coll_init that the
 * peer sends after its own.  Rank 0 prints `early E of N` for the ranks, or `late L of R` for the
 * rounds; tests/coll/run.sh judges.  Argument: init, or barrier.
 */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <stdio.h>
#include <string.h>

enum { H_SHORT = 200, H_REPORT };
enum { ROUNDS = 200, MESSAGES = 100 };

static volatile int ready, early, seen, bad, reports;

static void on_short(gasnet_token_t token)
{
    (void)token;
    seen++;
    early += !ready;
}

static void on_report(gasnet_token_t token, gasnet_handlerarg_t found)
{
    (void)token;
    bad += found;
    reports++;
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static int init(void)
{
    const gasnet_node_t me = gasnet_mynode(), n = gasnet_nodes();
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    ready = 1;
    for (gasnet_node_t r = 0; r < n; r++)
        if (r != me) gasnet_AMRequestShort0(r, H_SHORT);
    GASNET_BLOCKUNTIL(seen == (int)n - 1);
    return early > 0;
}

static int rounds(void)
{
    const gasnet_node_t next = (gasnet_mynode() + 1) % gasnet_nodes();
    int late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        seen = 0;
        barrier();
        for (int i = 0; i < MESSAGES; i++) gasnet_AMRequestShort0(next, H_SHORT);
        barrier();
        late += seen < MESSAGES;
        GASNET_BLOCKUNTIL(seen == MESSAGES);
    }
    return late;
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{H_SHORT, (void (*)(void))on_short},
                                     {H_REPORT, (void (*)(void))on_report}};
    gasnet_init(&argc, &argv);
    gasnet_attach(table, 2, GASNET_PAGESIZE, 0);
    const int of_init = argc > 1 && !strcmp(argv[1], "init"), n = (int)gasnet_nodes();
    const int found = of_init ? init() : rounds();
    barrier();
    gasnet_AMRequestShort1(0, H_REPORT, found);
    if (gasnet_mynode() == 0) GASNET_BLOCKUNTIL(reports == n);
    barrier();
    if (gasnet_mynode() == 0)
        printf("%s %d of %d\n", of_init ? "early" : "late", bad, of_init ? n : ROUNDS * n);
    gasnet_exit(0);
    return 0;
}
