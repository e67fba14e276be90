/* shm.c - the processes of a supernode map each other's segments, and the memory behind them into
 * which they write each other's Active Messages.
 *
 * All of that is one memory file, of the supernode's first process: the memory of wake.h, then the
 * memory for each process's messages, by rank, then each process's segment.  In gasnet_init each
 * process makes a file, and opens the file of the first process in its group; if that fails, it
 * leaves the group.  It maps what precedes the segments, and in gasnet_attach the segments, its own
 * among them.  The file is closed then.
 */
/* The table gasneti_shm_peers is written in this file alone. */
#define GASNETI_SHM_CONST
#include "core/shm/shm.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/job/job.h"
#include "core/log.h"
#include "core/params/params.h"
#include "core/report.h"
#include "core/shm/messages.h"
#include "core/shm/topology.h"
#include "core/shm/wake.h"
#include "core/trace/trace.h"
#include "other/base/hostmem/hostmem.h"

gasneti_shm_peer_t gasneti_shm_peers[GASNET_MAXNODES + 1];

static uint32_t *supernode_of; /* [ranks]; NULL: each rank is a supernode */
static uint32_t shm_count;     /* ranks in this supernode */
static int shared_file = -1;   /* this process's file, then the supernode's until it is mapped */
static char *segments;         /* the supernode's segments, mapped */
static bool *sleeps;           /* [ranks] whether it has a receive thread; during init */
static uint64_t *sizes;        /* [ranks] of the segments, in whole pages; during attach */

uint32_t gasnetc_shm_supernode(uint32_t rank)
{
    return supernode_of ? supernode_of[rank] : rank;
}

static bool is_shm(uint32_t rank)
{
    return gasnetc_shm_supernode(rank) == gasnetc_shm_supernode(gasnetc_job.rank);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) gasneti_fatal("out of memory for %u ranks", gasnetc_job.size);
    return memory;
}

static void close_file(void)
{
    if (shared_file >= 0) close(shared_file);
    shared_file = -1;
}

/* --- init: supernodes --- */

/* True if two processes of the job are on one host, from what this process knows already. */
static bool job_shares_hosts(void)
{
    const uint32_t n = gasnetc_job.size;
    uint8_t *seen = allocate(n, 1);
    bool found = false;
    for (uint32_t r = 0; r < n && !found; r++) found = seen[gasnetc_job.host_of[r]]++ != 0;
    free(seen);
    return found;
}

/* Where this process is (gasnetc_location_t); *mine describes its file, if it shares memory. */
static gasnetc_location_t own_location(hostmem_file_t *mine)
{
    gasnetc_location_t location = {
        .rank = gasnetc_job.rank, .host = gasnetc_job.host, .user = (uint32_t)geteuid()};
    shared_file = hostmem_create("gasnet", 0);
    if (shared_file < 0 && bootstrap_getenv("GASNET_VERBOSEENV"))
        fprintf(stderr, "gasnet: rank %u shares no memory with its host: memfd_create: %s%s\n",
                gasnetc_job.rank, strerror(errno), hostmem_advice(errno));
    location.shares =
        shared_file >= 0 && hostmem_describe(shared_file, mine) && hostmem_space(location.space);
    return location;
}

/* What every process sends to all others. */
typedef struct greeting {
    gasnetc_location_t location;
    hostmem_file_t file;
    uint64_t sleeps; /* 1: it has a receive thread */
} greeting_t;

/* Finds the supernodes, and leaves shared_file open: the file of this supernode, or -1. */
static void find_supernodes(void)
{
    const uint32_t n = gasnetc_job.size, me = gasnetc_job.rank;
    greeting_t mine = {.file = {0}}, *all = allocate(n, sizeof *all);
    gasnetc_location_t *locations = allocate(n, sizeof *locations);
    uint32_t *group = allocate(n, sizeof *group), *scratch = allocate(n, sizeof *scratch);
    uint8_t *alone = allocate(n, 1);
    mine.location = own_location(&mine.file);
    mine.sleeps = gasnetc_params.rcv_thread;
    bootstrap_exchange(&mine, sizeof mine, all);
    sleeps = allocate(n, sizeof *sleeps);
    for (uint32_t r = 0; r < n; r++) {
        locations[r] = all[r].location;
        sleeps[r] = all[r].sleeps != 0;
    }
    gasnetc_supernodes_group(locations, n, (uint32_t)gasnetc_params.supernode_maxsize, group);
    const uint32_t first = group[me];
    const int first_file = first != me ? hostmem_open(&all[first].file) : shared_file;
    const uint8_t i_am_alone = first != me && first_file < 0;
    bootstrap_exchange(&i_am_alone, 1, alone);
    supernode_of = allocate(n, sizeof *supernode_of);
    gasnetc_supernodes_number(group, alone, n, scratch, supernode_of);
    if (first != me) close_file();
    shared_file = first_file;
    free(alone);
    free(scratch);
    free(group);
    free(locations);
    free(all);
}

static void count_near(void)
{
    shm_count = 0;
    for (uint32_t r = 0; r < gasnetc_job.size; r++) shm_count += is_shm(r);
}

static void report(void)
{
    if (gasnetc_job.rank != 0 || !bootstrap_getenv("GASNET_VERBOSEENV")) return;
    uint32_t last = 0;
    for (uint32_t r = 0; r < gasnetc_job.size; r++)
        if (gasnetc_shm_supernode(r) > last) last = gasnetc_shm_supernode(r);
    fprintf(stderr, "gasnet: %u processes in %u supernodes\n", gasnetc_job.size, last + 1);
}

void gasnetc_shm_find(void)
{
    gasneti_shm_peers[0].rank = UINT32_MAX; /* 0 would be that of a member */
    if (GASNET_PSHM && gasnetc_params.supernode_maxsize != 1 && job_shares_hosts())
        find_supernodes();
    count_near();
    report();
    gasneti_info(shm, "shares memory with %u ranks of this host", shm_count ? shm_count - 1 : 0);
}

/* --- mapping parts of the file --- */

static uint64_t pages(uint64_t size)
{
    return (size + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
}

/* A part of the file, and in it what is this process's own. */
typedef struct part {
    const char *what, *remedy;
    uint64_t start, size, mine, mine_size;
} part_t;

/* Fatal: the part cannot be mapped, for the reason in errno. */
static void __attribute__((noreturn, cold)) refused(const part_t *part)
{
    const int error = errno;
    gasneti_fatal_once("cannot map the %s of the %u processes that share memory here, %llu "
                       "KB: %s%s; %s%s",
                       part->what, shm_count, (unsigned long long)part->size / 1024,
                       strerror(error),
                       error == ENOMEM ? " (see ulimit -v)" : hostmem_advice(error), part->remedy,
                       gasnetc_caps.unreachable[0] ? ""
                                                   : ", or do without memory shared within a host "
                                                     "(GASNET_SUPERNODE_MAXSIZE=1)");
}

/* Maps a part of the file, up to whose end every process extends it.  Neither a child of this
 * process nor its core file has what belongs to other processes. */
static char *map_part(const part_t *part)
{
    const uint64_t after = part->mine + part->mine_size;
    if (hostmem_resize(shared_file, part->start + part->size) < 0) refused(part);
    char *memory = mmap(NULL, part->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        shared_file, (off_t)part->start);
    if (memory == MAP_FAILED) refused(part);
    const int advice[] = {MADV_DONTFORK, MADV_DONTDUMP};
    for (int i = 0; i < 2; i++) {
        madvise(memory, part->mine, advice[i]);
        madvise(memory + after, part->size - after, advice[i]);
    }
    return memory;
}

/* --- init: messages --- */

static uint64_t messages_at(uint32_t index)
{
    return pages(gasnetc_wakeup_size(shm_count)) +
           index * pages(gasnetc_shm_messages_size(shm_count));
}

static void number_members(void)
{
    uint32_t number = 0;
    for (uint32_t r = 0; r < gasnetc_job.size; r++) {
        if (!is_shm(r)) continue;
        number++;
        gasneti_shm_peers[r] = (gasneti_shm_peer_t){.number = number, .rank = r};
    }
}

static uint32_t index_of(uint32_t rank)
{
    return gasneti_shm_peers[rank].number - 1;
}

static void open_messages(void)
{
    const uint32_t me = gasnetc_job.rank, mine = index_of(me);
    char *memory = map_part(&(part_t){
        .what = "memory for messages",
        .remedy = gasnetc_caps.unreachable[0] ? "start fewer processes"
                                              : "let fewer share it (GASNET_SUPERNODE_MAXSIZE)",
        .size = messages_at(shm_count),
        .mine = messages_at(mine),
        .mine_size = messages_at(1) - messages_at(0)});
    gasnetc_shm_messages_open(memory + messages_at(mine), mine);
    for (uint32_t r = 0; r < gasnetc_job.size; r++)
        if (is_shm(r) && r != me)
            gasnetc_shm_messages_peer(&gasnetc_peers[r], memory + messages_at(index_of(r)),
                                      index_of(r), sleeps[r]);
    gasnetc_wakeup_open(memory, shm_count == gasnetc_job.host_size, shm_count == gasnetc_job.size);
}

void gasnetc_shm_open(void)
{
    number_members();
    if (shm_count > 1) open_messages();
    free(sleeps);
    sleeps = NULL;
}

/* --- attach: segments --- */

/* The offset among the segments of that of a rank of the supernode; for gasnetc_job.size, the size
 * of all. */
static uint64_t segment_at(uint32_t rank)
{
    uint64_t at = 0;
    for (uint32_t r = 0; r < rank; r++)
        if (is_shm(r)) at += sizes[r];
    return at;
}

void *gasnetc_shm_alloc(size_t size)
{
    const uint32_t me = gasnetc_job.rank;
    if (supernode_of) {
        const uint64_t mine = pages(size);
        sizes = allocate(gasnetc_job.size, sizeof *sizes);
        bootstrap_exchange(&mine, sizeof mine, sizes);
    }
    if (shm_count == 1) return size ? net_alloc(size) : NULL;
    const part_t part = {.what = "segments",
                         .remedy = "ask for smaller segments (GASNET_MAX_SEGSIZE)",
                         .start = messages_at(shm_count),
                         .size = segment_at(gasnetc_job.size),
                         .mine = segment_at(me),
                         .mine_size = sizes[me]};
    if (part.size) segments = map_part(&part);
    return size ? segments + part.mine : NULL;
}

/* Where the segment of a rank of this supernode is mapped. */
static char *mapped(uint32_t rank)
{
    return shm_count == 1 ? (char *)gasnetc_peers[rank].segment.base : segments + segment_at(rank);
}

/* Closes the file: the exchanges of segments and keys came after the mapping, so every process has
 * mapped it. */
void gasnetc_shm_enter(void)
{
    for (uint32_t r = 0; r < gasnetc_job.size; r++) {
        const gasnetc_segment_t *segment = &gasnetc_peers[r].segment;
        if (!is_shm(r) || segment->size == 0) continue;
        gasneti_shm_peers[r].base = segment->base;
        if (!gasneti_trace_on) gasneti_shm_peers[r].inner = segment->size - GASNETI_SHM_INLINE + 1;
        gasneti_shm_peers[r].mapped = (uintptr_t)mapped(r);
    }
    close_file();
    free(sizes);
    sizes = NULL;
}

_Atomic uint64_t *gasnetc_shm_barrier(void)
{
    return gasnetc_wakeup ? gasnetc_wakeup->barrier : NULL;
}
