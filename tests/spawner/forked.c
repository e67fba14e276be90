/* forked.c - a program that starts its ranks itself, for forked.sh: prints before gasnet_init, and
 * then the number of ranks and how much standard input each has.  The argument `threads`: a thread
 * runs before gasnet_init.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "gasnet.h"

static void *wait_for_end(void *unused)
{
    for (;;) pause();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char input[100];
    printf("before\n"); /* stays in the buffer */
    if (argc > 1) pthread_create(&thread, NULL, wait_for_end, NULL);
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 3;
    if (gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) return 4;
    const size_t got = fread(input, 1, sizeof input, stdin);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    printf("rank %u of %u: %zu bytes\n", (unsigned)gasnet_mynode(), (unsigned)gasnet_nodes(), got);
    gasnet_exit(0);
}
