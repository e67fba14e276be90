/* ring.c - Active Messages: a letter is passed around the ring of processes, and each process signs
 * it.
 *
 * A handler may reply to its sender but send no Request, so the handler only copies the letter; the
 * main program, which waits in GASNET_BLOCKUNTIL, sends the letter to the next process.  Rank 0
 * checks that the signatures are complete and in order.
 *
 *   gasnetrun_ibv -n 4 ring [laps]
 */
#include <gasnet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTER = 200, MAX_SIGNATURES = 256 }; /* 1 KB of ranks fits every network's AMMedium */

static int32_t letter[MAX_SIGNATURES];
static int signatures;       /* number of valid entries of `letter` */
static volatile int arrived; /* letters received so far */

/* Runs on the receiving process, inside one of its GASNet calls. */
static void letter_handler(gasnet_token_t token, void *text, size_t bytes, gasnet_handlerarg_t lap)
{
    (void)token, (void)lap;
    memcpy(letter, text, bytes); /* `text` is invalid after the handler returns */
    signatures = (int)(bytes / sizeof(letter[0]));
    arrived++;
}

static void sign_and_send(gasnet_node_t to, int lap)
{
    letter[signatures++] = (int32_t)gasnet_mynode();
    gasnet_AMRequestMedium1(to, LETTER, letter, (size_t)signatures * sizeof(letter[0]), lap);
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = {{LETTER, letter_handler}};

    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    if (gasnet_attach(handlers, 1, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;

    int me = (int)gasnet_mynode(), n = (int)gasnet_nodes(), wrong = 0;
    int laps = argc > 1 ? atoi(argv[1]) : 10;
    if (laps < 1 || n > MAX_SIGNATURES) {
        if (me == 0)
            fprintf(stderr, "usage: ring [laps >= 1], on at most %d processes\n", MAX_SIGNATURES);
        gasnet_exit(1);
    }

    for (int lap = 1; lap <= laps; lap++) {
        if (me == 0) { /* rank 0 starts each lap with a blank letter */
            signatures = 0;
            sign_and_send((gasnet_node_t)(1 % n), lap);
        }
        GASNET_BLOCKUNTIL(arrived == lap);
        if (me != 0) sign_and_send((gasnet_node_t)((me + 1) % n), lap);
    }

    if (me == 0) {
        wrong = signatures != n;
        for (int i = 0; !wrong && i < n; i++) wrong = letter[i] != i;
        printf("ring of %d: %d laps, %s\n", n, laps,
               wrong ? "FAILED: signatures are wrong" : "verified");
    }
    gasnet_exit(wrong);
}
