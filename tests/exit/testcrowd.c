/* testcrowd.c - many processes on few processors leave by themselves: crowd.sh counts their lines.
 *
 *   testcrowd [MICROSECONDS]   each rank computes for as many microseconds of a processor, times
 * its rank, between the barrier and the end; no rank polls meanwhile
 */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double processor_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
    gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    double work = argc > 1 ? atof(argv[1]) * 1e-6 * (double)gasnet_mynode() : 0;
    for (double end = processor_time() + work; processor_time() < end;) continue;
    printf("LAST %d\n", (int)gasnet_mynode());
    gasnet_exit(0);
}
