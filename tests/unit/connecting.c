/* connecting.c - a thread that sends to a peer that is still being connected sleeps once in each
 * turn, and polls in it (IB-W4): every way to send, on the scripted network.
 */
#include <time.h>

#include "core/am/am.h"
#include "core/rdma/rdma.h"
#include "core/rdma/remote_flags.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 65536, REFUSALS = 100 };

static unsigned naps;
static long shortest, longest, last; /* sleeps, in ns */

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    last = wanted->tv_nsec;
    if (!naps++) shortest = longest = last;
    if (last < shortest) shortest = last;
    if (last > longest) longest = last;
    return 0;
}

static gasnetc_counter_t counter;

static void short_request(uint32_t node)
{
    gasnet_AMRequestShort0(node, 128);
}

static void medium_request(uint32_t node)
{
    static char source[2000];
    gasnet_AMRequestMedium0(node, 128, source, sizeof source);
}

static void put(uint32_t node)
{
    gasnetc_rdma_put(node, unit_segment(node), unit_segment(0), 8, &counter);
}

static void large_put(uint32_t node)
{
    gasnetc_rdma_put_bulk(node, unit_segment(node), unit_segment(0), SEGMENT, &counter);
}

static void get(uint32_t node)
{
    gasnetc_rdma_get(node, unit_segment(0), unit_segment(node), 8, &counter);
}

static void notice(uint32_t node)
{
    gasnetc_remote_flag_put(node, 0, 1);
}

static void try(const char *name, void (*send)(uint32_t node))
{
    net_script_reset();
    unit_job_begin(&(unit_job_t){3, 0, 8, 1, SEGMENT, 40});
    gasnetc_remote_flags_init(1);
    naps = 0;
    net_script.connecting = REFUSALS;
    unsigned polls = net_script.polls;
    send(1);
    polls = net_script.polls - polls;
    /* Puts and gets try once more before they wait. */
    if (!check(net_script.busy_answers == REFUSALS && naps <= REFUSALS && naps + 2 >= REFUSALS &&
                   polls == naps && shortest > 0 && shortest < 100000 && longest == 2000000,
               "IB-W4 %s: one nap in each turn, longer and longer", name))
        check_note("%u refusals, %u naps of %ld to %ld ns, %u polls", net_script.busy_answers, naps,
                   shortest, longest, polls);
    net_script.connecting = 1;
    short_request(2);
    check_each(last == shortest, "after %s: %ld ns", name, last);
    naps = 0;
    net_script.busy = 5;
    short_request(1);
    check_each(naps == 0, "after %s: %u naps", name, naps);
    gasnetc_remote_flags_close();
    unit_job_end();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    try("a Short Request", short_request);
    try("a Medium Request", medium_request);
    try("a put", put);
    try("a put that takes many posts", large_put);
    try("a get", get);
    try("a barrier's word", notice);
    check_all("IB-W4 naps for another peer begin anew, and for one that is busy there are none");
    return check_end();
}
