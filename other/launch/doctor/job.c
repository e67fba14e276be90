/* job.c - the job of the report: messages between rank 0 and each other rank in turn, for a second
 * in all.
 */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "other/base/clock.h"
#include "other/launch/doctor/doctor.h"

enum { PING = 128, PONG };
enum { LARGE = 1 << 20 };
static const double ALL = 1.0; /* seconds */

static volatile long pongs;

static void ping_handler(gasnet_token_t token)
{
    gasnet_AMReplyShort0(token, PONG);
}

static void pong_handler(gasnet_token_t token)
{
    (void)token;
    pongs++;
}

static void ping(gasnet_node_t peer)
{
    long expected = pongs + 1;
    gasnet_AMRequestShort0(peer, PING);
    GASNET_BLOCKUNTIL(pongs == expected);
}

/* Seconds of one operation, repeated for as long as `seconds`. */
static double round_trip(gasnet_node_t peer, double seconds)
{
    double start = gasneti_clock(), end;
    long count = 0;
    do {
        ping(peer);
        count++;
    } while ((end = gasneti_clock()) - start < seconds);
    return (end - start) / (double)count;
}

static double large_put(gasnet_node_t peer, void *theirs, void *mine, double seconds)
{
    double start = gasneti_clock(), end;
    long count = 0;
    do {
        gasnet_put_bulk(peer, theirs, mine, LARGE);
        count++;
    } while ((end = gasneti_clock()) - start < seconds);
    return (end - start) / (double)count;
}

void doctor_job(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = {{PING, (void (*)(void))ping_handler},
                                        {PONG, (void (*)(void))pong_handler}};
    if (gasnet_init(&argc, &argv) != GASNET_OK) exit(1);
    uintptr_t size = (LARGE + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    if (gasnet_attach(handlers, 2, size, 0) != GASNET_OK) gasnet_exit(1);
    const gasnet_node_t ranks = gasnet_nodes(), me = gasnet_mynode();
    gasnet_seginfo_t *segments = malloc(ranks * sizeof *segments);
    if (!segments || gasnet_getSegmentInfo(segments, (int)ranks) != GASNET_OK) gasnet_exit(1);
    const double share = ALL / 2 / (ranks > 1 ? ranks - 1 : 1);
    for (gasnet_node_t peer = 1; me == 0 && peer < ranks; peer++) {
        ping(peer); /* connects */
        double trip = round_trip(peer, share);
        double put = large_put(peer, segments[peer].addr, segments[0].addr, share);
        doctor_good("rank 0 and rank %u: message and reply %.1f us, puts of 1 MB %.2f GB/s",
                    (unsigned)peer, trip * 1e6, LARGE / put / 1e9);
    }
    fflush(stdout);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
    abort(); /* not reached */
}
