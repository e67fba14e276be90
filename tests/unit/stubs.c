/* stubs.c - stands in for init.c, exit.c, the bootstrap and the Extended API in the programs that
 * test the engines.  All weak: a test may bring its own.
 */
#include "tests/unit/stubs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/am/am.h"
#include "core/am/system_am.h"
#include "core/job/ending.h"
#include "core/job/host_addresses.h"
#include "core/job/secret.h"
#include "core/job/startup.h"
#include "core/params/params.h"
#include "core/rdma/bounce.h"
#include "core/rdma/rdma_internal.h"
#include "core/report.h"
#include "gasnet.h"

#define STUB __attribute__((weak))

/* --- init.c --- */

struct bootstrap_job gasnetc_job;
uint32_t gasnetc_reach;
_Atomic(enum gasnetc_phase) gasnetc_phase;
gasnetc_peer_t *gasnetc_peers;
struct net_caps gasnetc_caps;
gasnet_node_t gasneti_mynode, gasneti_nodes;

STUB char *gasneti_getenv(const char *name)
{
    return getenv(name);
}

/* --- exit.c --- */

struct unit_system_message unit_system_message;
atomic_int gasnetc_exit_pending;

STUB bool gasneti_ending(void)
{
    return false;
}

STUB void gasnetc_exit_act(void)
{
    printf("# asked to end by a signal\n");
    fflush(stdout);
    _exit(7);
}

STUB bool gasnetc_exit_of_child(void)
{
    return false;
}

STUB void gasnetc_exit_fatal(int code)
{
    _exit(code);
}

STUB void gasnetc_exit_system_message(uint32_t from, uint64_t word0, uint64_t word1)
{
    unit_system_message =
        (struct unit_system_message){unit_system_message.count + 1, from, word0, word1};
}

STUB void gasnetc_exit(int code)
{
    _exit(code);
}

/* --- the Extended API --- */

unsigned unit_progress;
atomic_bool gasnete_progress_due;
STUB const gasnetc_internal_t gasnete_handlers[] = {{0}};

STUB void gasnete_init(void) {}
STUB void gasnete_attach(void) {}

STUB void gasnete_progress(bool client)
{
    (void)client;
    unit_progress++;
}

/* --- the bootstrap --- */

void (*unit_exchange)(const void *mine, size_t len, char *all);

STUB const char *bootstrap_getenv(const char *name)
{
    return getenv(name);
}

STUB const char *gasnetc_hosts_list(void)
{
    return NULL;
}

STUB const uint8_t *gasnetc_secret(void)
{
    static const uint8_t secret[GASNETC_SECRET_BYTES];
    return secret;
}

STUB const char *gasnetc_secret_text(void)
{
    return "";
}

STUB const char *gasnetc_hosts_ipv4(void)
{
    return NULL;
}

STUB const char *const *bootstrap_environ(void)
{
    return NULL;
}

STUB bool bootstrap_host_name(uint32_t host, char *name, size_t size)
{
    (void)host;
    (void)name;
    (void)size;
    return false;
}

STUB void gasnetc_startup_step(enum gasnetc_startup step, uint64_t done, uint64_t total)
{
    (void)step, (void)done, (void)total;
}

STUB bool bootstrap_complain(const char *what, const char *why, bool once)
{
    (void)what;
    (void)why;
    (void)once;
    return false;
}

/* No rank enters a barrier: a rank that waits for the job's end reaches it. */
STUB void bootstrap_barrier(void)
{
    _exit(9);
}

STUB void bootstrap_exchange(const void *mine, size_t len, void *all)
{
    for (uint32_t r = 0; r < gasnetc_job.size; r++) memcpy((char *)all + r * len, mine, len);
    if (unit_exchange) unit_exchange(mine, len, all);
}

/* --- a job --- */

static char *segments[64];
static net_key_t *keys[64];
static uint32_t *hosts;

net_peer_t *net_script_peer(uint32_t rank);
net_peer_t *net_script_peer(uint32_t rank)
{
    return &gasnetc_peers[rank].net;
}

char *unit_segment(uint32_t node)
{
    return segments[node];
}

static void make_segment(uint32_t node, size_t size, unsigned shift)
{
    bool mine = node == gasnetc_job.rank;
    size_t pieces = size ? ((size - 1) >> shift) + 1 : 0;
    segments[node] = size ? net_alloc(size) : NULL;
    keys[node] = calloc(pieces + 1, sizeof **keys);
    if (mine)
        gasnetc_local_segment =
            (gasnetc_local_segment_t){(uintptr_t)segments[node], size,
                                      calloc(pieces + 1, sizeof *gasnetc_local_segment.regions)};
    for (size_t i = 0; i < pieces; i++) {
        size_t start = i << shift, piece = (size_t)1 << shift;
        if (piece > size - start) piece = size - start;
        if (mine)
            net_register(segments[node] + start, piece, NET_SEGMENT,
                         &gasnetc_local_segment.regions[i]);
        else
            keys[node][i] = net_script_expose(segments[node] + start, piece);
    }
    gasnetc_peers[node].segment =
        (gasnetc_segment_t){.base = (uintptr_t)segments[node], .size = size, .keys = keys[node]};
}

void unit_job_begin(const unit_job_t *job)
{
    gasnetc_job.size = gasnetc_reach = job->size;
    gasnetc_job.rank = job->rank;
    gasneti_nodes = (gasnet_node_t)job->size;
    gasneti_mynode = (gasnet_node_t)job->rank;
    hosts = calloc(job->size, sizeof *hosts);
    gasneti_report_init(job->rank, job->size, hosts);
    net_open(job->size - 1, &gasnetc_caps);
    gasnetc_peers = aligned_alloc(_Alignof(gasnetc_peer_t), job->size * sizeof *gasnetc_peers);
    memset(gasnetc_peers, 0, job->size * sizeof *gasnetc_peers);
    gasnetc_pin_shift = job->shift;
    for (uint32_t i = 0; i < job->size; i++) {
        gasnetc_peers[i].net.rank = i;
        gasnetc_peers[i].counts = calloc(1, sizeof *gasnetc_peers[i].counts);
        gasnetc_credits_init(&gasnetc_peers[i].credits, job->credits, job->slack);
        make_segment(i, job->segment, job->shift);
    }
    if (!NET_BUFFERS) gasnetc_bbuf_init(UNIT_BBUFS);
    gasnetc_phase = GASNETC_RUNNING;
    net_script_forget();
}

void unit_job_end(void)
{
    net_script_reset();
    gasnetc_bbuf_fini();
    for (uint32_t i = 0; i < gasnetc_job.size; i++) {
        free(segments[i]);
        free(keys[i]);
        free(gasnetc_peers[i].counts);
    }
    size_t pieces =
        gasnetc_peers[gasnetc_job.rank].segment.size
            ? ((gasnetc_peers[gasnetc_job.rank].segment.size - 1) >> gasnetc_pin_shift) + 1
            : 0;
    for (size_t i = 0; i < pieces; i++) net_deregister(&gasnetc_local_segment.regions[i]);
    free(gasnetc_local_segment.regions);
    free(gasnetc_peers);
    gasnetc_peers = NULL;
    free(hosts);
    gasneti_report_init(0, 0, NULL);
    memset(gasnetc_handlers, 0, sizeof gasnetc_handlers);
    net_script_reset();
}

unsigned unit_free_bbufs(void)
{
    void *taken[UNIT_BBUFS + 1];
    unsigned n = 0;
    while (n <= UNIT_BBUFS && (taken[n] = gasnetc_bbuf_try())) n++;
    for (unsigned i = n; i-- > 0;) gasnetc_bbuf_free(taken[i]);
    return n;
}

STUB bool gasnetc_linked_as_pie(void)
{
    return false;
}
