/* tracing.c - what a trace (GASNET_TRACEFILE) costs the thread that is traced; for tracing.sh.
 *
 * Prints the processor time of a put of 8 bytes to this rank itself, which is one event, in
 * nanoseconds: the least mean of several batches, each of which fits in the ring of the thread.
 */
#include <gasnet.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    enum { BATCHES = 100, PUTS = 4000 };
    const struct timespec pause = {.tv_nsec = 20000000}; /* the writer empties the ring */
    gasnet_seginfo_t segment;
    if (gasnet_init(&argc, &argv) != GASNET_OK ||
        gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK ||
        gasnet_getSegmentInfo(&segment, 1) != GASNET_OK)
        return 1;
    uint64_t value = 1;
    double least = 1e9;
    for (int batch = 0; batch < BATCHES; batch++) {
        const double began = cpu_ns();
        for (int i = 0; i < PUTS; i++) gasnet_put(gasnet_mynode(), segment.addr, &value, 8);
        const double each = (cpu_ns() - began) / PUTS;
        if (each < least) least = each;
        nanosleep(&pause, NULL);
    }
    printf("%.1f\n", least);
    gasnet_exit(0);
}
