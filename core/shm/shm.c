/* shm.c - the processes of a supernode map each other's segments, and the memory behind them into
 * which they write each other's Active Messages.
 *
 * All of that is one memory file, of the supernode's first process: the memory of wake.h, then
 * each process's part, by rank.  In gasnet_init each process makes a file, and opens the file of
 * the first process in its group; if that fails, it leaves the group.  In gasnet_attach each
 * process maps the whole file, which contains its own segment.  The file is closed then, so that
 * the kernel frees it however the job ends.
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
#include "core/params/params.h"
#include "core/shm/messages.h"
#include "core/shm/topology.h"
#include "core/shm/wake.h"
#include "core/report.h"
#include "other/base/hostmem/hostmem.h"

gasneti_shm_peer_t gasneti_shm_peers[GASNET_MAXNODES + 1];

static uint32_t *supernode_of; /* [ranks]; NULL: each rank is a supernode */
static uint32_t shm_count;     /* ranks in this supernode */
static int shared_file = -1;   /* this process's file, then the supernode's until it is mapped */
static char *shared;           /* the supernode's file, mapped */

/* The part of the file of one process: its segment, whole pages, followed by the memory for its
 * messages. */
typedef struct part {
    uint64_t segment;
    uint64_t sleeps; /* 1: the process has a receive thread */
} part_t;
static part_t *parts; /* [ranks], during attach */

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
    if (!memory) gasneti_fatal("out of memory for %u nodes", gasnetc_job.size);
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
    bootstrap_exchange(&mine, sizeof mine, all);
    for (uint32_t r = 0; r < n; r++) locations[r] = all[r].location;
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
    if (gasnetc_params.supernode_maxsize != 1 && job_shares_hosts()) find_supernodes();
    count_near();
    report();
}

/* --- attach: segments --- */

/* Fatal: the memory of the supernode cannot be mapped, for the reason in errno. */
static void __attribute__((noreturn, cold)) refused(uint64_t size)
{
    const int error = errno;
    gasneti_fatal_once("cannot map the segments of the %u processes that share memory here, %llu "
                       "KB: %s%s; ask for smaller segments (GASNET_MAX_SEGSIZE), or do without "
                       "memory shared within a host (GASNET_SUPERNODE_MAXSIZE=1)",
                       shm_count, (unsigned long long)size / 1024, strerror(error),
                       error == ENOMEM ? " (see ulimit -v)" : hostmem_advice(error));
}

static uint64_t pages(uint64_t size)
{
    return (size + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
}

/* The offset in the file of the part of a rank of the supernode; for gasnetc_job.size, the size of
 * the file. */
static uint64_t part_at(uint32_t rank)
{
    const uint64_t messages = pages(gasnetc_shm_messages_size(shm_count));
    uint64_t at = pages(gasnetc_wakeup_size(shm_count));
    for (uint32_t r = 0; r < rank; r++)
        if (is_shm(r)) at += parts[r].segment + messages;
    return at;
}

/* Maps the file, to whose full length every process extends it.  Neither a child of this process
 * nor its core file has the parts of other processes. */
static void map_file(void)
{
    const uint32_t me = gasnetc_job.rank;
    const uint64_t size = part_at(gasnetc_job.size), mine = part_at(me), next = part_at(me + 1);
    if (hostmem_resize(shared_file, size) < 0) refused(size);
    shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, shared_file, 0);
    if (shared == MAP_FAILED) refused(size);
    const int advice[] = {MADV_DONTFORK, MADV_DONTDUMP};
    for (int i = 0; i < 2; i++) {
        madvise(shared, mine, advice[i]);
        madvise(shared + next, size - next, advice[i]);
    }
}

void *gasnetc_shm_alloc(size_t size)
{
    if (supernode_of) {
        const part_t mine = {pages(size), gasnetc_params.rcv_thread};
        parts = allocate(gasnetc_job.size, sizeof *parts);
        bootstrap_exchange(&mine, sizeof mine, parts);
    }
    if (shm_count == 1) return size ? net_alloc(size) : NULL;
    map_file();
    return size ? shared + part_at(gasnetc_job.rank) : NULL;
}

/* Enters a rank of this supernode, whose segment is mapped at `here`, in the table. */
static void enter(uint32_t rank, uint32_t number, void *here)
{
    const gasnetc_segment_t *segment = &gasnetc_peers[rank].segment;
    gasneti_shm_peers[rank] = (gasneti_shm_peer_t){
        .base = segment->base,
        .inner = segment->size ? segment->size - GASNETI_SHM_INLINE + 1 : 0,
        .mapped = segment->size ? (uintptr_t)here : 0,
        .number = number,
        .rank = rank,
    };
}

/* Enters all parts of the file, and the memory for messages behind their segments. */
static void enter_all(void)
{
    const uint32_t me = gasnetc_job.rank;
    uint32_t number = 0, my_index = 0;
    for (uint32_t r = 0; r < me; r++) my_index += is_shm(r);
    gasnetc_shm_messages_open(shared + part_at(me) + parts[me].segment, my_index);
    for (uint32_t r = 0; r < gasnetc_job.size; r++) {
        if (!is_shm(r)) continue;
        char *here = shared + part_at(r);
        if (r != me)
            gasnetc_shm_messages_peer(&gasnetc_peers[r], here + parts[r].segment, number,
                                      parts[r].sleeps);
        enter(r, ++number, here);
    }
    gasnetc_wakeup_open(shared, shm_count == gasnetc_job.host_size, shm_count == gasnetc_job.size);
}

/* Closes the file: the exchanges of segments and keys came after the mapping, so every process has
 * mapped it. */
void gasnetc_shm_enter(void)
{
    const uint32_t me = gasnetc_job.rank;
    if (shm_count == 1)
        enter(me, 1, (void *)gasnetc_peers[me].segment.base);
    else
        enter_all();
    close_file();
    free(parts);
    parts = NULL;
}

_Atomic uint64_t *gasnetc_shm_barrier(void)
{
    return gasnetc_wakeup ? gasnetc_wakeup->barrier : NULL;
}
