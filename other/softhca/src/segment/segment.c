/* segment.c - this process's memfd: header and tables, the heap of rings, the arena.
 *
 * The file is sparse and has no name; it exists while a process maps it. The tables and the heap
 * are mapped at start, arena blocks one by one as the program allocates them. Freed memory is
 * punched out, so it is zero when it is allocated again.
 */
#include "other/softhca/src/segment/segment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/base/hostmem/hostmem.h"
#include "other/softhca/src/segment/process.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"

/* Page ranges that are in use, in private memory. Lists are short: one extent per queue or user
 * block. */
struct segment_extent {
    uint64_t start, len;
    void *where; /* where a block of the arena is mapped */
    struct segment_extent *next;
};
struct segment_extents {
    uint64_t start, end;
    struct segment_extent *used; /* by start */
};

#define INITIAL_SELF                                                                               \
    {                                                                                              \
        .self = true, .attached = true, .sock = -1, .memfd = -1                                    \
    }
struct shca_process shca = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .peer_lock = PTHREAD_MUTEX_INITIALIZER,
    .channel_lock = PTHREAD_MUTEX_INITIALIZER,
    .me = INITIAL_SELF,
};

static pthread_mutex_t extent_lock = PTHREAD_MUTEX_INITIALIZER;
static struct segment_extents heap, arena;
static struct segment_extent *inherited; /* blocks of the parent, in a forked child */

static const uint64_t page = 4096;

/* The first free range that is large enough. */
static struct segment_extent *segment_take_extent(struct segment_extents *x, uint64_t len)
{
    len = (len + page - 1) & ~(page - 1);
    uint64_t at = x->start;
    struct segment_extent **next = &x->used;
    while (*next && (*next)->start - at < len) {
        at = (*next)->start + (*next)->len;
        next = &(*next)->next;
    }
    if (len == 0 || x->end - at < len) return NULL;
    struct segment_extent *e = malloc(sizeof *e);
    if (!e) return NULL;
    *e = (struct segment_extent){.start = at, .len = len, .next = *next};
    *next = e;
    return e;
}

/* Removes the extent at START and returns it for the caller to free(); NULL when unknown. */
static struct segment_extent *segment_give_extent(struct segment_extents *x, uint64_t start)
{
    for (struct segment_extent **next = &x->used; *next; next = &(*next)->next) {
        struct segment_extent *e = *next;
        if (e->start == start) {
            *next = e->next;
            return e;
        }
    }
    return NULL;
}

static uint64_t segment_file_size(void)
{
    uint64_t size = shm_arena_start() + SHCA_ARENA_SIZE;
    struct rlimit limit; /* growing past it raises SIGXFSZ */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < size)
        size = limit.rlim_cur & ~4095ull;
    return size;
}

static int segment_make(void)
{
    uint64_t size = segment_file_size();
    if (size < shm_arena_start()) {
        shca_say("the file size limit (ulimit -f) is %llu bytes; the device needs %llu",
                 (unsigned long long)size, (unsigned long long)shm_arena_start());
        return EFBIG;
    }
    int fd = hostmem_create("softhca", size);
    if (fd < 0) {
        int e = errno;
        shca_say("cannot make shared memory with memfd_create: %m%s", hostmem_advice(e));
        return e;
    }
    if (!shca_peer_map_tables(&shca.me, fd, shm_heap_start())) {
        int e = errno;
        shca_say("cannot map %llu bytes of address space: %m (see ulimit -v)",
                 (unsigned long long)shm_heap_start());
        close(fd);
        return e;
    }
    heap = (struct segment_extents){.start = shm_heap_start(), .end = shm_arena_start()};
    arena = (struct segment_extents){.start = shm_arena_start(), .end = size};
    hostmem_file_t file;
    if (hostmem_describe(fd, &file)) shca.me.dev = file.device, shca.me.ino = file.inode;
    shca.me.memfd = fd;
    shca.me.h->heap_end = shm_heap_start();
    return 0;
}

static void segment_drop(void)
{
    shca_peer_map_drop(&shca.me);
    close(shca.me.memfd);
    shca.me.memfd = -1;
}

static uint64_t segment_make_nonce(void)
{
    uint64_t nonce;
    if (getrandom(&nonce, sizeof nonce, 0) == sizeof nonce) return nonce | 1; /* 0 means no nonce */
    return (((uint64_t)getpid() << 40) ^ gasneti_clock_ns()) | 1;
}

int shca_segment_start(int (*claim)(uint32_t slot), int *listener)
{
    int e = segment_make();
    if (e) return e;
    *listener = shca_claim_slot(&shca.slot, claim);
    if (*listener < 0) {
        e = errno;
        segment_drop();
        return e;
    }
    struct shm_header *h = shca.me.h;
    h->layout = SHCA_LAYOUT;
    h->slot = shca.me.slot = shca.slot;
    h->number = shca_process_number();
    h->nonce = segment_make_nonce();
    h->since = time(NULL);
    h->magic = SHCA_MAGIC;
    shca.me.pid = getpid();
    shca.h = h;
    return 0;
}

/* Maps the heap as far as E reaches; peers extend their mappings when they need to. */
static uint64_t segment_map_heap(struct segment_extent *e)
{
    uint64_t end = e->start + e->len;
    if (!shca_peer_at(&shca.me, e->start, e->len)) {
        shca_say("no address space for rings of %llu bytes (see ulimit -v)",
                 (unsigned long long)(end - shm_heap_start()));
        free(segment_give_extent(&heap, e->start));
        return 0;
    }
    shca.h = shca.me.h;
    if (end > shca.h->heap_end) shca.h->heap_end = end;
    return e->start;
}

uint64_t shca_heap_alloc(size_t bytes)
{
    pthread_mutex_lock(&extent_lock);
    struct segment_extent *e = segment_take_extent(&heap, bytes);
    uint64_t start = e ? segment_map_heap(e) : 0;
    pthread_mutex_unlock(&extent_lock);
    return start;
}

int shca_no_room(uint32_t entries)
{
    shca_say("no room for a receive queue of %u entries (all rings of a process share %llu MiB)",
             entries, SHCA_HEAP_SIZE >> 20);
    return ENOMEM;
}

void shca_heap_free(uint64_t offset)
{
    pthread_mutex_lock(&extent_lock);
    struct segment_extent *e = segment_give_extent(&heap, offset);
    if (e) {
        /* Clears it where holes cannot be punched: rings rely on zeros. */
        if (madvise(shm_at(shca.h, e->start), e->len, MADV_REMOVE) < 0)
            memset(shm_at(shca.h, e->start), 0, e->len);
        free(e);
    }
    pthread_mutex_unlock(&extent_lock);
}

void *shca_arena_alloc(size_t bytes)
{
    pthread_mutex_lock(&extent_lock);
    void *where = NULL;
    struct segment_extent *e = segment_take_extent(&arena, bytes ? bytes : 1);
    if (e) {
        where = mmap(NULL, e->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     shca.me.memfd, e->start);
        if (where == MAP_FAILED) {
            where = NULL;
            free(segment_give_extent(&arena, e->start));
        } else {
            e->where = where;
            uint64_t end = e->start + e->len;
            if (end > shca.me.h->arena_end) shca.me.h->arena_end = end;
        }
    }
    pthread_mutex_unlock(&extent_lock);
    if (!where) errno = ENOMEM;
    return where;
}

/* Removes the extent mapped at WHERE from a list. */
static struct segment_extent *segment_take_mapped(struct segment_extent **next, const void *where)
{
    while (*next && (*next)->where != where) next = &(*next)->next;
    struct segment_extent *e = *next;
    if (e) *next = e->next;
    return e;
}

bool shca_arena_free(void *block)
{
    pthread_mutex_lock(&extent_lock);
    struct segment_extent *e = segment_take_mapped(&arena.used, block);
    if (e)
        madvise(block, e->len, MADV_REMOVE);
    else
        e = segment_take_mapped(&inherited, block);
    if (e) munmap(block, e->len);
    pthread_mutex_unlock(&extent_lock);
    free(e);
    return e != NULL;
}

void shca_segment_lock(void)
{
    pthread_mutex_lock(&extent_lock);
}

void shca_segment_unlock(void)
{
    pthread_mutex_unlock(&extent_lock);
}

/* A forked child keeps private copies of its softhca_alloc() blocks, and nothing else. */
void shca_segment_in_child(void)
{
    /* Locked by fork_prepare(); other locks may have been held by another thread and are
     * initialised anew. */
    pthread_mutex_unlock(&shca.peer_lock);
    for (struct segment_extent *e = heap.used, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    while (arena.used) {
        struct segment_extent *e = arena.used;
        mmap(e->where, e->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
             shca.me.memfd, e->start);
        arena.used = e->next;
        e->next = inherited;
        inherited = e;
    }
    heap = arena = (struct segment_extents){0};
    if (shca.me.h) segment_drop();
    memset(&shca, 0, sizeof shca);
    shca.me = (struct shca_peer)INITIAL_SELF;
    pthread_mutex_init(&shca.lock, NULL);
    pthread_mutex_init(&shca.peer_lock, NULL);
    pthread_mutex_init(&shca.channel_lock, NULL);
}

uint64_t shca_map_offset(const void *addr, size_t len)
{
    uint64_t found = SHCA_NOT_MAPPED;
    pthread_mutex_lock(&extent_lock);
    for (struct segment_extent *e = arena.used; e && found == SHCA_NOT_MAPPED; e = e->next) {
        uint64_t in = (uintptr_t)addr - (uintptr_t)e->where;
        if (in < e->len && len <= e->len - in) found = e->start + in;
    }
    pthread_mutex_unlock(&extent_lock);
    return found;
}
