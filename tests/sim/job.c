/* job.c - one engine for all nodes: its globals change whenever another node goes on.
 *
 * Stands in for init.c, segment.c, segments.c, exit.c and report.c, whose globals the engine uses.
 */
#include "tests/sim/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/am/am.h"
#include "core/am/system_am.h"
#include "core/job/ending.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "core/rdma/buffers.h"
#include "core/rdma/firehose.h"
#include "core/rdma/published.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/stacks.h"

/* --- the engine's globals --- */

struct bootstrap_job gasnetc_job;
uint32_t gasnetc_reach;
_Atomic uint32_t gasneti_stacks_question; /* never asked */
void gasneti_stacks_answer(void) {}
_Atomic(enum gasnetc_phase) gasnetc_phase = GASNETC_RUNNING;
gasnetc_peer_t *gasnetc_peers;
struct net_caps gasnetc_caps;
gasnet_node_t gasneti_mynode, gasneti_nodes;
gasnetc_params_t gasnetc_params;
unsigned gasnetc_pin_shift = 62;
atomic_int gasnetc_exit_pending;

/* Without the Extended API (extended.h). */
__attribute__((weak)) atomic_bool gasnete_progress_due;
__attribute__((weak)) void gasnete_progress(bool client)
{
    (void)client;
}

/* The variables of the engine that each node has. */
static struct {
    gasnetc_peer_t *peers;
    gasneti_thread_t thread;
    int32_t handlers; /* that the thread is inside */
    gasnetc_link_t *free_bbufs;
    bool finished; /* the node's script is finished */
} own[SIM_NODES];

static void (*enter_too)(uint32_t), (*leave_too)(uint32_t);
sim_job_t sim_the_job;
static uint32_t unfinished; /* number of scripts that are not finished */
static char *remote;        /* memory that any node may write to */
static size_t remote_used;
enum { REMOTE = 1 << 30 };

static void enter(uint32_t node)
{
    gasnetc_peers = own[node].peers;
    gasnetc_job.rank = node;
    gasneti_mynode = (gasnet_node_t)node;
    gasneti_the_thread = own[node].thread;
    gasneti_my_handlers = own[node].handlers;
    gasneti_my_extended = own[node].thread.extended;
    gasnetc_free_bbufs.first = own[node].free_bbufs;
    if (enter_too) enter_too(node);
}

static void leave(uint32_t node)
{
    own[node].thread = gasneti_the_thread;
    own[node].handlers = gasneti_my_handlers;
    own[node].free_bbufs = gasnetc_free_bbufs.first;
    if (leave_too) leave_too(node);
}

void sim_job_exchange(void (*enter_node)(uint32_t), void (*leave_node)(uint32_t))
{
    enter_too = enter_node;
    leave_too = leave_node;
}

uint32_t sim_job_me(void)
{
    return gasnetc_job.rank;
}

gasnetc_peer_t *sim_job_peer(uint32_t node, uint32_t peer)
{
    return &own[node].peers[peer];
}

void *sim_job_remote(size_t length)
{
    char *bytes = remote + remote_used;
    remote_used += (length + 15) & ~(size_t)15;
    if (remote_used > REMOTE) abort();
    return bytes;
}

/* --- a job --- */

/* Zeroed memory of which only what is touched costs anything, for records that few nodes need. */
static void *sparse(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

static void make_peers(uint32_t nodes)
{
    static void *all;
    static size_t size;
    size_t wanted = (size_t)nodes * nodes * sizeof(gasnetc_peer_t);
    if (wanted > size || size > 1 << 20) {
        if (size) munmap(all, size);
        all = sparse(size = wanted);
    } else {
        memset(all, 0, wanted);
    }
    for (uint32_t i = 0; i < nodes; i++) own[i].peers = (gasnetc_peer_t *)all + (size_t)i * nodes;
}

/* Every node gets its own from the one arena. */
static void share_bbufs(void)
{
    gasnetc_bbuf_fini();
    gasnetc_bbuf_init(sim_the_job.nodes * sim_the_job.bbufs);
    for (uint32_t i = 0; i < sim_the_job.nodes; i++) {
        own[i].free_bbufs = NULL;
        for (uint32_t k = 0; k < sim_the_job.bbufs; k++) {
            gasnetc_link_t *bbuf = gasnetc_bbuf_fresh();
            bbuf->next = own[i].free_bbufs;
            own[i].free_bbufs = bbuf;
        }
    }
}

void sim_job_begin(const sim_job_t *job)
{
    sim_the_job = *job;
    if (!remote) remote = sparse(REMOTE);
    remote_used = 0;
    unfinished = 0;
    sim_job_exchange(NULL, NULL);
    gasnetc_caps = (struct net_caps){.inline_max = job->inline_max,
                                     .transfer_max = 1 << 20,
                                     .copy_put_max = 4096,
                                     .copy_get_max = 4096,
                                     .am_max = 4096,
                                     .region_max = (size_t)1 << 40,
                                     .credits = job->credits,
                                     .ordered = job->ordered};
    gasnetc_params.bounce_limit = job->bounce_limit;
    gasnetc_params.packedlong_limit = job->packed_limit;
    gasneti_nodes = gasnetc_job.size = gasnetc_reach = sim_nodes(job->nodes);
    make_peers(job->nodes);
    share_bbufs();
    sim_net_begin();
    for (uint32_t i = 0; i < job->nodes; i++) {
        own[i].thread = (gasneti_thread_t){0};
        own[i].handlers = 0;
        own[i].finished = false;
    }
}

static void add_record(uint32_t node, uint32_t peer)
{
    static const net_key_t key;
    static net_region_t region;
    static gasnetc_peer_counts_t counts; /* nobody looks at them */
    gasnetc_peer_t *p = sim_job_peer(node, peer);
    if (p->segment.base) return;
    gasnetc_local_segment = (gasnetc_local_segment_t){(uintptr_t)remote, REMOTE, &region};
    p->net.rank = peer;
    p->net.owner = node;
    p->counts = &counts;
    p->segment = (gasnetc_segment_t){(uintptr_t)remote, REMOTE, &key};
    gasnetc_credits_init(&p->credits, sim_the_job.credits, sim_the_job.slack);
    if (node != peer) sim_net_introduce(&p->net);
}

void sim_job_introduce(uint32_t a, uint32_t b)
{
    add_record(a, b);
    add_record(b, a);
    add_record(a, a);
    add_record(b, b);
}

void sim_job_script(uint32_t node, void (*script)(uint32_t))
{
    unfinished++;
    sim_script(node, script, enter, leave);
}

void sim_job_wake_all(void)
{
    if (unfinished) return;
    for (uint32_t i = 0; i < sim_the_job.nodes; i++) sim_wake(i);
}

void sim_job_finish(void)
{
    unfinished--;
    own[gasnetc_job.rank].finished = true;
    if (sim_net_at_rest()) sim_job_wake_all();
    while (unfinished || !sim_net_at_rest()) gasnet_AMPoll();
}

/* Checks a node's record of a peer when no message is on its way. */
static void look_at_rest(uint32_t node, uint32_t peer)
{
    gasnetc_peer_t *p = sim_job_peer(node, peer);
    sim_net_look(&p->net);
    int expected = sim_the_job.credits;
    if (!sim_the_job.shared)
        expected += p->credits.surplus + p->credits.limit - p->credits.available;
    sim_check(p->net.posted == expected, node, "%d buffers posted for node %u at rest, not %d",
              p->net.posted, peer, expected);
    sim_check(p->credits.banked <= p->credits.slack, node,
              "keeps %d of node %u's credits, the slack is %d", p->credits.banked, peer,
              p->credits.slack);
}

/* Nothing is left to happen: of the nodes that wait, one that has work left, if there is one. */
static void find_deadlock(void)
{
    uint32_t stuck = SIM_NODES;
    for (uint32_t i = 0; i < sim_the_job.nodes; i++) {
        if (!own[i].peers[i].segment.base || sim_ended(i)) continue; /* takes no part; done */
        if (stuck == SIM_NODES || (own[stuck].finished && !own[i].finished)) stuck = i;
    }
    if (stuck == SIM_NODES) return;
    for (uint32_t k = 0; k < sim_the_job.nodes; k++) {
        const gasnetc_peer_t *p = sim_job_peer(stuck, k);
        if (p->net.am && k != stuck)
            sim_note(stuck,
                     "at node %u: %u credits, %u banked, surplus %u, %d buffers, %u in flight", k,
                     p->credits.available, p->credits.banked, p->credits.surplus, p->net.posted,
                     p->net.am->in_flight);
    }
    sim_fail(stuck, "deadlock: nothing is left to happen, and it waits%s",
             own[stuck].finished ? " for nothing but the end" : "");
}

void sim_job_run(void)
{
    sim_run();
    find_deadlock();
    for (uint32_t i = 0; i < sim_the_job.nodes; i++) {
        if (sim_the_job.nodes > 64 && i % 64) continue;
        for (uint32_t k = 0; k < sim_the_job.nodes; k++)
            if (k != i && own[i].peers[k].net.am) look_at_rest(i, k);
    }
}

/* --- instead of segment.c, exit.c, report.c, rails.c --- */

void *net_alloc(size_t size)
{
    void *memory = NULL;
    return posix_memalign(&memory, 4096, size) ? NULL : memory;
}

void net_free(void *memory)
{
    free(memory);
}

bool net_register(void *start, size_t size, enum net_access access, net_region_t *made)
{
    (void)start, (void)size, (void)access, (void)made;
    return true;
}

void net_deregister(net_region_t *made)
{
    (void)made;
}

net_key_t net_key(const net_region_t *region)
{
    (void)region;
    return (net_key_t){0};
}

void net_explain_register(int error, size_t size, char *text, size_t text_size)
{
    (void)error, (void)size;
    snprintf(text, text_size, "never");
}

void net_release_system(net_message_t *message)
{
    sim_fail(message->peer->owner, "a system message");
}

void gasnetc_exit_system_message(uint32_t from, uint64_t word0, uint64_t word1)
{
    sim_fail(sim_job_me(), "a system message from %u: %lu %lu", from, word0, word1);
}

void gasnetc_exit_act(void)
{
    sim_fail(sim_job_me(), "asked to end");
}

void gasneti_fatal(const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    sim_fail(sim_job_me(), "fatal error: %s", text);
}

void gasneti_failed(const char *format, ...)
{
    gasneti_fatal("%s", format);
}

void gasnetc_require_attached(const char *call)
{
    (void)call; /* every node is */
}

void gasnetc_no_such_rank(const char *call, uint32_t rank)
{
    gasneti_fatal("%s names rank %u", call, rank);
}

const char *gasneti_rank_name(uint32_t rank)
{
    static char name[32];
    snprintf(name, sizeof name, "rank %u", rank);
    return name;
}

void gasneti_note_thread(void) {}

void gasneti_warn(const char *format, ...)
{
    (void)format;
}

void gasnetc_out_of_segment(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                            const char *what)
{
    gasneti_fatal("%s of %zu bytes at %#lx is outside the segment of rank %u", what, nbytes,
                  (unsigned long)start, peer->net.rank);
}

void gasnetc_check_reachable(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                             const char *what)
{
    gasnetc_check_remote(peer, start, nbytes, what);
}

/* Clients of the simulator create no segments. */
uintptr_t gasnetc_max_local_segsize(void)
{
    return 0;
}

bool gasnetc_created_pin(gasnetc_created_t *created, char *why, size_t why_size)
{
    (void)created, (void)why, (void)why_size;
    return false;
}

void gasnetc_created_unpin(gasnetc_created_t *created)
{
    (void)created;
}

bool gasneti_verbose_errors = true;

int gasneti_error(int code, const char *function, const char *format, ...)
{
    (void)function, (void)format;
    return code;
}

bool gasnetc_watch_at_use;

bool memory_events_intact(void)
{
    return true;
}

bool gasnetc_linked_as_pie(void)
{
    return false;
}
