/* init.c - gasnet_init and gasnet_attach: the order of start-up.
 *
 * The exit engine undoes each step at the end; this file only calls the steps in order, and has the
 * calls that report on the job.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/am/am.h"
#include "core/am/context.h"
#include "core/am/system_am.h"
#include "core/am/trace_clock.h"
#include "core/exit/exit.h"
#include "core/job/ending.h"
#include "core/job/host_addresses.h"
#include "core/job/job.h"
#include "core/job/progress.h"
#include "core/job/secret.h"
#include "core/job/startup.h"
#include "core/job/thread.h"
#include "core/log.h"
#include "core/params/params.h"
#include "core/progress/receive_thread.h"
#include "core/rdma/buffers.h"
#include "core/rdma/firehose.h"
#include "core/rdma/remote.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "core/shm/shm.h"
#include "core/shm/wake.h"
#include "core/stats/stats.h"
#include "core/trace/trace.h"
#include "gasnet.h"
#include "gasnet_idents.h"
#include "other/base/clock.h"
#include "other/base/descriptors.h"
#include "other/base/tools.h"

struct bootstrap_job gasnetc_job;
uint32_t gasnetc_reach;
_Atomic(enum gasnetc_phase) gasnetc_phase;
gasnetc_peer_t *gasnetc_peers;
struct net_caps gasnetc_caps;

gasnet_node_t gasneti_mynode, gasneti_nodes;

const int GASNETI_LINKCHECK_NAME = 1;

/* --- hooks of the tools --- */

static char *raw_getenv(const char *name)
{
    return (char *)(uintptr_t)bootstrap_getenv(name);
}

static int rank_or_unknown(void)
{
    return gasnetc_job.size ? (int)gasnetc_job.rank : -1;
}

static int reports_environment(void)
{
    if (gasnetc_job.size == 0) return -1;
    return gasnetc_job.rank == 0 && bootstrap_getenv("GASNET_VERBOSEENV");
}

static void set_tool_hooks(void)
{
    gasneti_getenv_hook = raw_getenv;
    gasneti_fatal_prefix_hook = gasneti_own_name;
    gasneti_rank_hook = rank_or_unknown;
    gasneti_verboseenv_hook = reports_environment;
}

/* --- init --- */

/* Joins the job; GASNET_OK, or an error code after a message. */
static int join(int *argc, char ***argv)
{
    char why[1024] = "";
    bootstrap_launcher = GASNETI_LAUNCHER;
    switch (bootstrap_init(argc, argv, &gasnetc_job, why, sizeof why)) {
    case BOOTSTRAP_OK:
        break;
    case BOOTSTRAP_NOT_SPAWNED:
    case BOOTSTRAP_FAILED:
        fprintf(stderr, "gasnet: %s\n", why);
        return GASNET_ERR_NOT_INIT;
    }
    if (gasnetc_job.size > GASNET_MAXNODES)
        return gasneti_error(GASNET_ERR_RESOURCE, "gasnet_init", "%u processes; the most is %d",
                             gasnetc_job.size, GASNET_MAXNODES);
    gasneti_mynode = (gasnet_node_t)gasnetc_job.rank;
    gasneti_nodes = (gasnet_node_t)gasnetc_job.size;
    gasneti_report_init(gasnetc_job.rank, gasnetc_job.size, gasnetc_job.host_of);
    return GASNET_OK;
}

/* The launcher has died, or has ended the job with `code`.  If `code` is 0, the process ends with
 * its own exit code, or with 1 if it was not ending. */
static void on_job_death(int code)
{
    int own = gasneti_ending() ? gasnetc_exit_code() : 1;
    _exit(code == 0 ? own : code);
}

static void make_peers(void)
{
    uint32_t n = gasnetc_job.size;
    /* calloc: the pages of peers that are never used are not touched. */
    gasnetc_peer_counts_t *counts = calloc(n, sizeof *counts);
    if (!counts || posix_memalign((void **)&gasnetc_peers, _Alignof(gasnetc_peer_t),
                                  n * sizeof *gasnetc_peers))
        gasneti_fatal("out of memory for %u peers", n);
    memset(gasnetc_peers, 0, n * sizeof *gasnetc_peers);
    for (uint32_t i = 0; i < n; i++) {
        gasnetc_peers[i].net.rank = i;
        gasnetc_peers[i].counts = &counts[i];
    }
}

enum { SPARE_FILES = 16 }; /* open files for the device and the program, beyond those for peers */

/* Checks the limit of open files on all ranks before connecting: a rank that ran out of descriptors
 * later would leave its peers waiting for their connections. */
static void reserve_files(void)
{
    struct gasneti_descriptors found;
    char error[256] = "";
    unsigned more = gasnetc_caps.descriptors;
    if (more && !gasneti_descriptors_reserve(more + SPARE_FILES, &found))
        snprintf(error, sizeof error,
                 "%u processes take up to %lu open files in each, and the hard limit is %lu "
                 "(ulimit -Hn): have it raised to %lu, or start fewer processes",
                 gasnetc_job.size, found.needed, found.hard, found.needed);
    gasneti_fatal_if_any(error);
}

/* The values on which all processes agree before they connect. */
struct settled {
    uint32_t credits, replies, address, contact;
    uint32_t atomics; /* enum net_atomics */
    uint32_t early;   /* 1: peers cannot be connected at first use; no padding is sent */
};

/* Reports whether peers are connected at first use or at start-up; the first process that requires
 * start-up gives its reason. */
static void report_early(const struct settled *all)
{
    uint32_t first = 0;
    while (first < gasnetc_job.size && !all[first].early) first++;
    bool at_first_use = first == gasnetc_job.size;
    if (gasnetc_job.rank != (at_first_use ? 0 : first) || !bootstrap_getenv("GASNET_VERBOSEENV"))
        return;
    fprintf(stderr, "gasnet: peers are connected at %s%s\n",
            at_first_use ? "first use" : "start-up: ", gasnetc_caps.early);
}

/* Collective: the minimum of all ranks' credits and atomics, the longest address and contact. */
static struct settled settle(void)
{
    uint32_t n = gasnetc_job.size;
    struct settled mine = {.credits = gasnetc_caps.credits,
                           .replies = gasnetc_caps.replies,
                           .address = (uint32_t)net_address_size(),
                           .contact = (uint32_t)net_contact_size(),
                           .atomics = REMOTE_PENDS ? NET_NO_ATOMICS : gasnetc_caps.atomics,
                           .early = gasnetc_caps.early[0] != 0},
                   *all = malloc(n * sizeof *all);
    if (!all) gasneti_fatal("out of memory");
    bootstrap_exchange(&mine, sizeof mine, all);
    for (uint32_t i = 0; i < n; i++) {
        if (all[i].credits < mine.credits) mine.credits = all[i].credits;
        if (all[i].replies < mine.replies) mine.replies = all[i].replies;
        if (all[i].address > mine.address) mine.address = all[i].address;
        if (all[i].contact > mine.contact) mine.contact = all[i].contact;
        if (all[i].atomics < mine.atomics) mine.atomics = all[i].atomics;
        mine.early = mine.early || all[i].early;
    }
    report_early(all);
    free(all);
    return mine;
}

static void settle_atomics(enum net_atomics of_all)
{
    if (gasnetc_caps.atomics && !of_all)
        gasneti_info(network, "GASNET_ADAPTER_ATOMICS has no effect: %s",
                     REMOTE_PENDS ? "segments are not registered as a whole (core/rdma/README.md)"
                                  : "the devices of some ranks have no atomic operations");
    gasnetc_caps.atomics = of_all;
}

static void init_credits(uint32_t credits, uint32_t replies)
{
    uint32_t n = gasnetc_job.size;
    /* A credit that returns with another message, or several that return together, leave a receive
     * buffer posted for the peer's next Reply.  Where the buffers are too few for all peers, no
     * buffer may be left posted like that (IB-R5). */
    int64_t slack = gasnetc_params.credits_slack;
    if (replies < (uint64_t)credits * (n - 1)) slack = 0;
    for (uint32_t i = 0; i < n; i++)
        gasnetc_credits_init(&gasnetc_peers[i].credits, (uint16_t)credits, (uint16_t)slack);
}

/* Connects every pair of ranks: makes both ends, exchanges their addresses, joins the ends. */
static void connect_all(size_t size)
{
    uint32_t n = gasnetc_job.size, me = gasnetc_job.rank;
    char *mine = calloc(n, size), *theirs = calloc(n, size);
    if (!mine || !theirs) gasneti_fatal("out of memory for %u addresses", n);
    for (uint32_t i = 0; i < n; i++)
        if (i != me) net_address(&gasnetc_peers[i].net, mine + i * size);
    bootstrap_alltoall(mine, size, theirs);
    for (uint32_t i = 0; i < n; i++) {
        gasnetc_startup_step(GASNETC_STARTUP_CONNECTS, i, n);
        if (i != me) net_connect(&gasnetc_peers[i].net, theirs + i * size);
    }
    gasnetc_startup_step(GASNETC_STARTUP_WAITS, 0, 0);
    free(mine);
    free(theirs);
    bootstrap_barrier();
}

/* Exchanges the contact addresses by which peers are connected at first use. */
static void exchange_contacts(size_t size)
{
    uint32_t n = gasnetc_job.size, me = gasnetc_job.rank;
    char *mine = calloc(1, size), *all = calloc(n, size);
    if (!mine || !all) gasneti_fatal("out of memory for %u addresses", n);
    net_contact(mine);
    bootstrap_exchange(mine, size, all);
    for (uint32_t i = 0; i < n; i++)
        if (i != me) net_set_contact(&gasnetc_peers[i].net, all + i * size);
    free(mine);
    free(all);
    net_start();
}

enum { BBUF_DEFAULT = 1024 }; /* of GASNET_BBUF_COUNT */

static uint32_t bbuf_count(void)
{
    int64_t most = gasnetc_params.depth_pp * (gasnetc_job.size - 1);
    if (gasnetc_params.depth_total && gasnetc_params.depth_total < most)
        most = gasnetc_params.depth_total;
    int64_t count = gasnetc_params.bbuf_count;
    if (count == 0 || count > most) count = most;
    /* Where little may be pinned, at most a quarter is for bounce buffers: the segment gets most of
     * it. */
    int64_t pinnable = (int64_t)(gasnetc_caps.pinnable / GASNETC_BBUF_SIZE / 4);
    if (pinnable && gasnetc_params.bbuf_count == BBUF_DEFAULT && count > pinnable) count = pinnable;
    /* Two buffers for each thread: a Request that waits for a credit may hold one while handlers in
     * its thread need another. */
    int64_t least = GASNETC_THREADED ? 2 * gasnetc_params.max_threads : 2;
    return (uint32_t)(count > least ? count : least);
}

/* IB-C8, IB-C10: ignores GASNET_RCV_THREAD in libraries without the locks that such a thread needs
 * (lock.h). */
static void settle_receive_thread(void)
{
    if (!gasnetc_params.rcv_thread || (GASNETC_RCV_THREAD && GASNETC_THREADED)) return;
    gasnetc_params.rcv_thread = false;
    if (gasnetc_job.rank == 0)
        gasneti_warn("GASNET_RCV_THREAD has no effect: %s",
                     GASNETC_RCV_THREAD
                         ? "link the program with the PAR library, or configure this "
                           "one with --enable-seq-rcv-thread"
                         : "this library was configured without the thread");
}

/* Sets how threads wait: with more processes, or threads, than processors they must yield;
 * processes may even sleep. */
static void settle_spins(void)
{
    if (GASNETC_THREADED) gasnetc_set_waiting(100, 0);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors > 0 && gasnetc_job.host_size > (uint32_t)processors)
        gasnetc_set_waiting(1, gasnetc_longest_sleep());
}

/* The launcher's name for messages: with several hosts it used a remote shell. */
static const char *started_by(void)
{
    bool hosts = false;
    for (uint32_t r = 1; r < gasnetc_job.size; r++)
        hosts = hosts || gasnetc_job.host_of[r] != gasnetc_job.host_of[0];
    if (strcmp(gasnetc_job.spawner, "ssh") != 0) return gasnetc_job.spawner;
    return hosts ? GASNETI_LAUNCHER " by ssh" : bootstrap_launcher;
}

static void open_network(void)
{
    struct gasneti_descriptors found;
    make_peers();
    gasnetc_secret_share(&gasnetc_job);
    gasnetc_hosts_find(&gasnetc_job);
    (void)gasneti_descriptors_reserve(SPARE_FILES,
                                      &found); /* the device reports a shortage itself */
    net_open(gasnetc_job.size - 1, &gasnetc_caps);
    if (gasnetc_job.size > 1) {
        reserve_files();
        struct settled settled = settle();
        settle_atomics((enum net_atomics)settled.atomics);
        init_credits(settled.credits, settled.replies);
        if (!NET_BUFFERS) gasnetc_bbuf_init(bbuf_count());
        if (settled.early)
            connect_all(settled.address);
        else
            exchange_contacts(settled.contact);
        gasnetc_poll_open();
    }
    if (gasnetc_caps.plain[0]) gasneti_note("limits of the device: %s", gasnetc_caps.plain + 2);
    if (reports_environment())
        fprintf(stderr, "gasnet: %u processes, started by %s, over %s\n", gasnetc_job.size,
                started_by(), gasnetc_caps.device);
}

/* Ends a job in which ranks share no memory, over a network that reaches none of them. */
static void check_reach(void)
{
    uint32_t r = 1;
    while (r < gasnetc_job.size && gasnetc_shm_supernode(r) == gasnetc_shm_supernode(0)) r++;
    if (!gasnetc_caps.unreachable[0] || r >= gasnetc_job.size) return;
    char why[128] = "the system does not let them (GASNET_VERBOSEENV=1 says why)";
    if (!GASNET_PSHM)
        strcpy(why, "this library is configured so (--disable-pshm, or a segment other than FAST)");
    else if (gasnetc_params.supernode_maxsize)
        snprintf(why, sizeof why, "GASNET_SUPERNODE_MAXSIZE is %lld",
                 (long long)gasnetc_params.supernode_maxsize);
    gasneti_fatal_once("%s, and ranks 0 and %u share no memory: %s; change that, or start one "
                       "process",
                       gasnetc_caps.unreachable, r, why);
}

/* Detects a program that is linked with MPI too, but started by a launcher that does not start MPI:
 * every process would be rank 0 of MPI. */
static void check_mpi(void)
{
    static const char words[] =
        "the program is linked with an MPI, which " GASNETI_LAUNCHER
        " did not start: MPI_Init makes each process rank 0 of 1; start the program with "
        "-spawner=mpi, -spawner=pmix or the MPI's own mpirun";
    enum bootstrap_mpi mpi = bootstrap_mpi();
    if (gasnetc_job.size == 1 || mpi == BOOTSTRAP_MPI_FITS) return;
    if (mpi == BOOTSTRAP_MPI_ALONE) gasneti_fatal("%s", words);
    if (gasnetc_job.rank == 0) gasneti_warn("%s", words);
}

/* True if gasnet_init was called and could not join a job. */
static bool refused;

static bool attached;

/* Polls while gasnet_attach waits for other ranks: if such a rank ends instead, this rank ends with
 * it.  Its client sends no message before it has left attach, so no handler of the client runs. */
void gasnetc_poll_in_attach(void)
{
    gasnetc_poll();
}

/* Checks for a pending exit in the last exchange of attach, without polling: messages of peers that
 * have left attach wait until this rank has left it too. */
static void look_for_end(void)
{
    if (atomic_load(&gasnetc_exit_pending)) gasnetc_exit_act();
}

void gasnetc_enter_phase(enum gasnetc_phase phase)
{
    gasnete_admit(phase == GASNETC_RUNNING);
    gasnetc_phase = phase;
}

int gasnetc_init(const char *call, int *argc, char ***argv)
{
    const double began = gasneti_clock();
    if (gasnetc_phase != GASNETC_BEFORE_INIT)
        return gasneti_error(GASNET_ERR_NOT_INIT, call, "called a second time");
    set_tool_hooks();
    gasnetc_wakeup_prepare();
    int result = join(argc, argv);
    refused = result != GASNET_OK;
    if (refused) return result;
    if (argc && argv) gasneti_decode_args(argc, argv);
    gasneti_verboseenv_flush();
    gasnetc_exit_init();
    bootstrap_watch(on_job_death);
    gasnetc_params_init(&gasnetc_job);
    gasneti_trace_init();
    gasnetc_reach = gasneti_trace_on ? 0 : gasnetc_job.size;
    if (gasneti_trace_on) gasnetc_trace_waits();
    gasnett_backtrace_init(argv && *argv ? (*argv)[0] : NULL);
    check_mpi();
    if (gasnetc_exit_catch_signals()) gasneti_threads_get_signal_stacks();
    settle_receive_thread();
    settle_spins();
    gasnetc_stats_init();
    gasnetc_startup_begin("gasnet_init", GASNETC_STARTUP_OPENS);
    open_network();
    gasnetc_startup_step(GASNETC_STARTUP_WAITS, 0, 0);
    gasnetc_shm_find();
    check_reach();
    gasnetc_segment_limits();
    gasnetc_stats_serve();
    gasnetc_register_internal(gasnete_handlers);
    if (REMOTE_PENDS) gasnetc_register_firehose_handler();
    gasnetc_trace_clock_init();
    gasnetc_shm_open();
    gasnete_init();
    bootstrap_barrier();
    gasnetc_startup_end();
    gasnetc_enter_phase(GASNETC_RUNNING);
    if (gasneti_trace_on)
        gasneti_trace_note((uint64_t)(began * 1e9),
                           &(gasneti_trace_event_t){.kind = GASNETI_TRACE_phase,
                                                    .text = "init",
                                                    .peer = GASNETI_TRACE_NO_PEER});
    gasneti_info(job, "started in %.3f s: %u ranks, %u on this host, by %s, over %s",
                 gasneti_clock() - began, gasnetc_job.size, gasnetc_job.host_size, started_by(),
                 gasnetc_caps.device);
    if (gasnetc_params.freeze) gasnett_freezeForDebuggerNow(&gasnet_frozen, "gasnet_frozen");
    return GASNET_OK;
}

unsigned gasnetc_threads(void)
{
    return GASNETC_RCV_THREAD && GASNETC_THREADED && gasnetc_params.rcv_thread && gasneti_nodes > 1
               ? gasnetc_receive_channels()
               : 0;
}

void *gasnetc_thread(void *number)
{
    return GASNETC_RCV_THREAD && GASNETC_THREADED ? gasnetc_receive_thread(number) : NULL;
}

void gasnetc_start_threads(void)
{
    if (gasnetc_threads()) gasnetc_receive_thread_start();
}

int gasnet_init(int *argc, char ***argv)
{
    const int result = gasnetc_init("gasnet_init", argc, argv);
    if (result == GASNET_OK) {
        gasnetc_start_threads();
        gasnetc_enter_phase(GASNETC_BEFORE_ATTACH);
        bootstrap_meanwhile(gasnetc_poll_in_attach);
    }
    return result;
}

int gasnetc_may_attach(const char *call, const char *init)
{
    if (refused)
        gasneti_fatal("%s is called although %s failed: there is no job; check what %s returns",
                      call, init, init);
    if (gasnetc_phase == GASNETC_BEFORE_INIT)
        return gasneti_error(GASNET_ERR_NOT_INIT, call, "called before %s", init);
    if (attached) return gasneti_error(GASNET_ERR_NOT_INIT, call, "called a second time");
    if (GASNETC_CHECKING) gasnetc_check_client_code(call);
    return GASNET_OK;
}

int gasnetc_attach_segment(uintptr_t segsize, void (*at_last)(void))
{
    const double began = gasneti_clock();
    const uint64_t began_ns = gasneti_trace_begin();
    gasnetc_trace_clock_align();
    gasnetc_startup_begin("attaching the segment", GASNETC_STARTUP_WAITS);
    const int result = gasnetc_segment_attach(segsize);
    gasnetc_startup_step(GASNETC_STARTUP_WAITS, 0, 0);
    if (result != GASNET_OK) {
        gasnetc_startup_end();
        if (began_ns) gasneti_trace_forget();
        return result;
    }
    gasnetc_firehose_open();
    gasneti_ondemand_init();
    gasnete_attach();
    bootstrap_meanwhile(at_last);
    bootstrap_barrier();
    bootstrap_meanwhile(NULL);
    gasnetc_startup_end();
    attached = true;
    gasneti_trace_end(began_ns, .kind = GASNETI_TRACE_phase, .text = "attach", .bytes = segsize,
                      .peer = GASNETI_TRACE_NO_PEER);
    gasneti_info(job, "attached a segment of %zu KB in %.3f s", (size_t)segsize / 1024,
                 gasneti_clock() - began);
    return GASNET_OK;
}

int gasnetc_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                   uintptr_t minheapoffset)
{
    (void)minheapoffset; /* unused: the segment is never next to the heap */
    int result = gasnetc_may_attach("gasnet_attach", "gasnet_init");
    if (result != GASNET_OK) return result;
    if (numentries < 0 || (numentries && !table))
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_attach", "%d handlers at %p", numentries,
                             (void *)table);
    result = gasnetc_register_client(table, numentries);
    if (result != GASNET_OK) return result;
    result = gasnetc_attach_segment(segsize, look_for_end);
    if (result == GASNET_OK)
        gasnetc_enter_phase(GASNETC_RUNNING);
    else
        gasnetc_forget_client(table, numentries);
    return result;
}

int gasnetc_node_info(gasnet_nodeinfo_t *table, int numentries)
{
    if (numentries < 0 || (numentries && !table))
        return gasneti_error(GASNET_ERR_BAD_ARG, "gasnet_getNodeInfo", "%d entries at %p",
                             numentries, (void *)table);
    for (int i = 0; i < numentries && i < (int)gasnetc_job.size; i++) {
        table[i].host = (gasnet_node_t)gasnetc_job.host_of[i];
        gasnetc_shm_info((uint32_t)i, &table[i]);
    }
    return GASNET_OK;
}

char *gasneti_getenv(const char *name)
{
    return gasnett_getenv(name);
}
