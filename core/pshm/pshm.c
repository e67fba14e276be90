/* pshm.c - the processes of a supernode map each other's segments, and the memory behind them into
 * which the network writes messages.
 *
 * gasnet_init: each process makes a memory file and looks at that of the next in its group; if it
 * cannot, both leave the group.  gasnet_attach: the segment is memory of the network if other
 * processes can map that, as with the software device, else it is the file.  All files are open
 * only until the segments are mapped, so that the kernel frees them however the job ends.
 */
/* The table is written here alone. */
#define GASNETI_NEAR_CONST
#include "core/pshm/pshm.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/job/job.h"
#include "core/params/params.h"
#include "core/pshm/common.h"
#include "core/pshm/supernodes.h"
#include "core/report.h"
#include "other/hostmem/hostmem.h"

gasneti_near_t gasneti_near[GASNET_MAXNODES + 1];

/* A process's segment, for the others of its supernode.  Behind it the file has `more` bytes for
 * messages. */
typedef struct source {
    hostmem_file_t file;
    uint64_t at, more;
    hostmem_file_t common; /* of the first process of a supernode: the memory of common.h */
} source_t;

static int own_file = -1;      /* until the segment is mapped, by this node and by others */
static uint32_t *supernode_of; /* [nodes]; NULL: each node is one */
static uint32_t near_count;    /* nodes in this supernode */
static int common_file = -1;   /* in the first process of the supernode, until all have mapped it */
static size_t more;            /* of this process's segment */

uint32_t gasnetc_pshm_supernode(uint32_t rank)
{
    return supernode_of ? supernode_of[rank] : rank;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) gasneti_fatal("out of memory for %u nodes", gasnetc_job.size);
    return memory;
}

/* --- init: supernodes --- */

/* Known without a word of the peers: two processes of the job are on one host. */
static bool job_has_neighbours(void)
{
    const uint32_t n = gasnetc_job.size;
    uint8_t *seen = allocate(n, 1);
    bool found = false;
    for (uint32_t r = 0; r < n && !found; r++) found = seen[gasnetc_job.host_of[r]]++ != 0;
    free(seen);
    return found;
}

/* This process's place; *file describes own_file, if it shares memory. */
static gasnetc_place_t own_place(hostmem_file_t *file)
{
    gasnetc_place_t place = {
        .rank = gasnetc_job.rank, .host = gasnetc_job.host, .user = (uint32_t)geteuid()};
    own_file = hostmem_create("gasnet", 0);
    if (own_file < 0 && bootstrap_getenv("GASNET_VERBOSEENV"))
        fprintf(stderr, "gasnet: rank %u shares no memory with its host: memfd_create: %s%s\n",
                gasnetc_job.rank, strerror(errno), hostmem_advice(errno));
    place.shares = own_file >= 0 && hostmem_describe(own_file, file) && hostmem_space(place.space);
    return place;
}

/* What every process tells of itself. */
typedef struct greeting {
    gasnetc_place_t place;
    hostmem_file_t file;
} greeting_t;

static void find_supernodes(void)
{
    const uint32_t n = gasnetc_job.size;
    greeting_t mine = {.file = {0}}, *all = allocate(n, sizeof *all);
    gasnetc_place_t *places = allocate(n, sizeof *places);
    uint32_t *group = allocate(n, sizeof *group);
    uint8_t *lost = allocate(n, 1), *alone = allocate(n, 1);
    mine.place = own_place(&mine.file);
    bootstrap_exchange(&mine, sizeof mine, all);
    for (uint32_t r = 0; r < n; r++) places[r] = all[r].place;
    gasnetc_supernodes_group(places, n, (uint32_t)gasnetc_params.supernode_maxsize, group);
    const uint32_t next = gasnetc_supernodes_next(group, n, gasnetc_job.rank);
    const uint8_t i_am_lost = next != gasnetc_job.rank && !hostmem_reaches(&all[next].file);
    bootstrap_exchange(&i_am_lost, 1, lost);
    gasnetc_supernodes_alone(group, lost, n, alone);
    supernode_of = allocate(n, sizeof *supernode_of);
    uint32_t *scratch = allocate(n, sizeof *scratch);
    gasnetc_supernodes_number(group, alone, n, scratch, supernode_of);
    free(scratch);
    free(alone);
    free(lost);
    free(group);
    free(places);
    free(all);
}

static void count_near(void)
{
    near_count = 0;
    for (uint32_t r = 0; r < gasnetc_job.size; r++)
        near_count += gasnetc_pshm_supernode(r) == gasnetc_pshm_supernode(gasnetc_job.rank);
}

static void report(void)
{
    if (gasnetc_job.rank != 0 || !bootstrap_getenv("GASNET_VERBOSEENV")) return;
    uint32_t last = 0;
    for (uint32_t r = 0; r < gasnetc_job.size; r++)
        if (gasnetc_pshm_supernode(r) > last) last = gasnetc_pshm_supernode(r);
    fprintf(stderr, "gasnet: %u processes in %u supernodes\n", gasnetc_job.size, last + 1);
}

void gasnetc_pshm_find(void)
{
    if (gasnetc_params.supernode_maxsize != 1 && job_has_neighbours()) find_supernodes();
    count_near();
    report();
}

/* --- attach: segments --- */

enum { REASON = 500 };

/* Writes why a segment of this node or of another cannot be had, from errno. */
static void explain(char *reason, const char *what, uint64_t size)
{
    const int error = errno;
    snprintf(reason, REASON,
             "cannot %s, %llu KB: %s%s; ask for a smaller segment (GASNET_MAX_SEGSIZE), or do "
             "without memory shared within a host (GASNET_SUPERNODE_MAXSIZE=1)",
             what, (unsigned long long)size / 1024, strerror(error),
             error == ENOMEM ? " (see ulimit -v)" : hostmem_advice(error));
}

static void *map(int fd, uint64_t at, size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)at);
}

void *gasnetc_pshm_alloc(size_t size)
{
    uint64_t at;
    char reason[REASON];
    more = near_count == 1 ? 0 : net_near_size();
    more = (more + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    size += more;
    void *memory = net_alloc(size);
    if (near_count == 1 || (memory && net_file(memory, &at) >= 0)) return memory;
    if (memory) net_free(memory);
    memory = hostmem_resize(own_file, size) < 0 ? MAP_FAILED : map(own_file, 0, size);
    if (memory != MAP_FAILED) return memory;
    explain(reason, "make the segment", size);
    gasneti_fatal_once("%s", reason);
}

static uint32_t first_near(void)
{
    uint32_t r = 0;
    while (gasnetc_pshm_supernode(r) != gasnetc_pshm_supernode(gasnetc_job.rank)) r++;
    return r;
}

static source_t own_source(void)
{
    const gasnetc_segment_t *segment = &gasnetc_peers[gasnetc_job.rank].segment;
    source_t source = {.more = more};
    int fd = segment->size ? net_file((void *)segment->base, &source.at) : -1;
    if (fd < 0) {
        fd = own_file;
        source.at = 0;
    }
    if (fd >= 0) hostmem_describe(fd, &source.file);
    if (near_count > 1 && first_near() == gasnetc_job.rank) {
        common_file = hostmem_create("gasnet", gasnetc_common_size(near_count));
        if (common_file >= 0) hostmem_describe(common_file, &source.common);
    }
    return source;
}

/* MAP_FAILED, with errno set, on failure. */
static void *map_peer(const hostmem_file_t *file, uint64_t at, size_t size)
{
    int fd = hostmem_open(file);
    if (fd < 0) return MAP_FAILED;
    void *memory = map(fd, at, size);
    const int error = errno;
    close(fd);
    errno = error;
    if (memory == MAP_FAILED) return memory;
    /* Neither a child of this process nor its core file has the peer's memory. */
    madvise(memory, size, MADV_DONTFORK);
    madvise(memory, size, MADV_DONTDUMP);
    return memory;
}

/* Maps the segment of a node of this supernode; false, with the reason, on failure. */
static bool enter(uint32_t rank, uint32_t place, const source_t *source, char *reason)
{
    const gasnetc_segment_t *segment = &gasnetc_peers[rank].segment;
    uintptr_t here = segment->base;
    if (segment->size && rank != gasnetc_job.rank) {
        char *memory = map_peer(&source->file, source->at, segment->size + source->more);
        if (memory == MAP_FAILED) {
            char what[200];
            snprintf(what, sizeof what, "map the segment of %s", gasneti_rank_name(rank));
            explain(reason, what, segment->size);
            return false;
        }
        here = (uintptr_t)memory;
        if (more && source->more) net_near_peer(&gasnetc_peers[rank].net, memory + segment->size);
    }
    gasneti_near[rank] = (gasneti_near_t){
        .base = segment->base,
        .inner = segment->size ? segment->size - GASNETI_NEAR_INLINE + 1 : 0,
        .here = here,
        .place = place,
    };
    return true;
}

static bool enter_all(const source_t *sources, char *reason)
{
    const uint32_t mine = gasnetc_pshm_supernode(gasnetc_job.rank);
    uint32_t entered = 0;
    for (uint32_t r = 0; r < gasnetc_job.size; r++)
        if (gasnetc_pshm_supernode(r) == mine &&
            !enter(r, ++entered, sources ? &sources[r] : NULL, reason))
            return false;
    return true;
}

static bool enter_common(const source_t *sources, char *reason)
{
    if (near_count == 1) return true;
    const size_t size = gasnetc_common_size(near_count);
    void *memory = map_peer(&sources[first_near()].common, 0, size);
    if (memory == MAP_FAILED) {
        explain(reason, "map the memory that the host's processes have in common", size);
        return false;
    }
    gasnetc_common_open(memory, near_count == gasnetc_job.host_size);
    return true;
}

void gasnetc_pshm_map(void)
{
    char reason[REASON] = "";
    if (!supernode_of) {
        enter_all(NULL, reason);
        return;
    }
    const source_t source = own_source();
    source_t *all = allocate(gasnetc_job.size, sizeof *all);
    bootstrap_exchange(&source, sizeof source, all);
    const gasnetc_segment_t *mine = &gasnetc_peers[gasnetc_job.rank].segment;
    if (more) net_near_open((char *)mine->base + mine->size, gasnetc_common_wake);
    if (enter_all(all, reason)) enter_common(all, reason);
    free(all);
    gasneti_fatal_if_any(reason);
    /* All have mapped them. */
    if (own_file >= 0) close(own_file);
    if (common_file >= 0) close(common_file);
    own_file = common_file = -1;
}

_Atomic uint64_t *gasnetc_pshm_barrier(void)
{
    return gasnetc_common ? gasnetc_common->barrier : NULL;
}
