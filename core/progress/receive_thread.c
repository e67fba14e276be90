/* receive_thread.c - handles Active Messages while the client's threads compute (IB-C8): one thread
 * for each channel of the network (network.h), and one that shared-memory peers wake.
 *
 * The thread sleeps in the kernel until a message arrives, then sleeps a while before it polls:
 * client threads that poll handle their messages themselves, and a wake-up for each would delay
 * them (IB-W3).  That sleep doubles, up to LONGEST_NS, each time the thread finds nothing to
 * handle, and is SHORTEST_NS again after the thread has handled a message.  The thread keeps a
 * spare receive buffer of its own (IB-A4).
 */
#include "core/progress/receive_thread.h"

#include <string.h>
#include <time.h>

#include "core/job/progress.h"
#include "core/job/thread.h"
#include "core/network.h"
#include "core/report.h"
#include "core/shm/messages.h"
#include "other/base/quiet_thread.h"

enum { SHORTEST_NS = 20 * 1000, LONGEST_NS = 10 * 1000 * 1000 };

static void nap(long ns)
{
    struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

static unsigned serve_all(net_spare_t *spare)
{
    unsigned served = 0, n;
    while ((n = gasnetc_poll_blocking(spare)) > 0) served += n;
    return served;
}

/* net_arm and net_block; the channel after those of the network is that of shared-memory peers. */
static void arm(unsigned channel)
{
    if (channel == net_rx_channels())
        gasnetc_shm_arm();
    else
        net_arm(channel);
}

static void block(unsigned channel)
{
    if (channel == net_rx_channels())
        gasnetc_shm_block();
    else
        net_block(channel);
}

void *gasnetc_receive_thread(void *number)
{
    const unsigned channel = (unsigned)(uintptr_t)number;
    net_spare_t spare;
    net_spare_own(&spare);
    for (long nap_ns = SHORTEST_NS;;) {
        arm(channel);
        /* Messages that arrived before `arm` need not end `block`. */
        unsigned served = serve_all(&spare);
        block(channel);
        gasneti_self()->counts.wakes++;
        nap(nap_ns);
        served += serve_all(&spare);
        if (served)
            nap_ns = SHORTEST_NS;
        else if (nap_ns < LONGEST_NS)
            nap_ns *= 2;
    }
    return NULL;
}

unsigned gasnetc_receive_channels(void)
{
    return net_rx_channels() + gasnetc_shm_has_sleeper();
}

void gasnetc_receive_thread_start(void)
{
    const unsigned channels = gasnetc_receive_channels();
    int error = 0;
    for (unsigned i = 0; !error && i < channels; i++)
        error = gasneti_quiet_thread(NULL, 0, gasnetc_receive_thread, (void *)(uintptr_t)i);
    if (error)
        gasneti_fatal("cannot start the receive thread: %s (see ulimit -u); or unset "
                      "GASNET_RCV_THREAD",
                      strerror(error));
}
