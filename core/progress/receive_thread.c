/* receive_thread.c - serves Active Messages while the client's threads compute (IB-C8); one thread
 * for each place where they arrive.
 *
 * It sleeps in the kernel until a message arrives, then waits a moment before it looks: threads
 * that poll serve their messages themselves, and waking for each of them would only be in their way
 * (IB-W3).  As long as it comes for nothing the moment grows, up to the longest; the first message
 * that nobody served makes it short again.
 */
#include "core/progress/receive_thread.h"

#include <string.h>
#include <time.h>

#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/network.h"
#include "core/report.h"
#include "other/tools/quiet_thread.h"

enum { SHORTEST_NS = 20 * 1000, LONGEST_NS = 10 * 1000 * 1000 };

static void wait_a_moment(long ns)
{
    struct timespec moment = {.tv_nsec = ns};
    nanosleep(&moment, NULL);
}

static unsigned serve_all(void)
{
    unsigned served = 0, n;
    while ((n = gasnetc_poll_surely()) > 0) served += n;
    return served;
}

static void *run(void *number)
{
    const unsigned place = (unsigned)(uintptr_t)number;
    for (long moment = SHORTEST_NS;;) {
        net_arm(place);
        /* What arrived before that wakes nobody. */
        unsigned served = serve_all();
        net_block(place);
        gasneti_self()->counts.wakes++;
        wait_a_moment(moment);
        served += serve_all();
        if (served)
            moment = SHORTEST_NS;
        else if (moment < LONGEST_NS)
            moment *= 2;
    }
    return NULL;
}

void gasnetc_receive_thread_start(void)
{
    int error = 0;
    for (unsigned i = 0; !error && i < net_rx_channels(); i++)
        error = gasneti_quiet_thread(NULL, 0, run, (void *)(uintptr_t)i);
    if (error)
        gasneti_fatal("cannot start the receive thread: %s (see ulimit -u); or unset "
                      "GASNET_RCV_THREAD",
                      strerror(error));
}
