/* peer_map.c - mappings of a segment, the own or a peer's.
 *
 * The tables and the heap of rings are one mapping, blocks of the arena another. Both grow with
 * use: a larger mapping replaces the old one, which stays until the peer is released, because
 * another thread may hold pointers into it. The descriptor is opened for each mapping and closed
 * again.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "other/base/hostmem/hostmem.h"
#include "other/softhca/src/segment/peer.h"
#include "other/softhca/src/settings/say.h"

struct shca_window {
    void *base;
    size_t len;
    struct shca_window *next;
};

enum { LEAST = 4 << 20 };

static uint64_t peer_map_with_room(uint64_t need)
{
    uint64_t len = LEAST;
    while (len < need) len *= 2;
    return len;
}

/* p->rpc held, for a peer.  Where permitted without the peer's help. */
int shca_peer_map_open(struct shca_peer *p)
{
    if (p->self) return p->memfd;
    int fd = hostmem_open(&(hostmem_file_t){p->pid, p->memfd, p->dev, p->ino});
    return fd >= 0 ? fd : shca_rpc_memory(p);
}

static void peer_map_close(const struct shca_peer *p, int fd)
{
    if (!p->self) close(fd);
}

static void *peer_map_pages(struct shca_peer *p, int fd, uint64_t start, uint64_t len)
{
    struct shca_window *w = malloc(sizeof *w);
    void *base = w && fd >= 0 ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                                     fd, (off_t)start)
                              : MAP_FAILED;
    if (base == MAP_FAILED) {
        free(w);
        return NULL;
    }
    *w = (struct shca_window){base, len, p->windows};
    p->windows = w;
    return base;
}

/* Maps the tables and the heap up to END bytes from the start of the segment. */
bool shca_peer_map_tables(struct shca_peer *p, int fd, uint64_t end)
{
    uint64_t len = shm_heap_start() + peer_map_with_room(end - shm_heap_start());
    if (len > shm_arena_start()) len = shm_arena_start();
    if (end > len) return false;
    void *base = peer_map_pages(p, fd, 0, len);
    if (!base) return false;
    atomic_store(&p->h, (struct shm_header *)base);
    atomic_store(&p->len, len); /* after the base: readers load them in the opposite order */
    return true;
}

/* The slow path of shca_peer_at(). */
bool shca_peer_map_more_tables(struct shca_peer *p, uint64_t end)
{
    shca_lock(&p->rpc);
    bool seen = end <= p->len;
    if (!seen && end <= shm_arena_start()) {
        int fd = shca_peer_map_open(p);
        seen = shca_peer_map_tables(p, fd, end);
        if (fd >= 0) peer_map_close(p, fd);
    }
    shca_unlock(&p->rpc);
    if (!seen && !p->self && !atomic_exchange(&p->unmappable, true))
        shca_say_of_peer("cannot map the rings of process %d (see ulimit -v)", (int)p->pid);
    return seen;
}

/* Maps the arena up to END. */
bool shca_peer_map_arena(struct shca_peer *p, int fd, uint64_t end)
{
    uint64_t len = peer_map_with_room(end - shm_arena_start());
    char *base = peer_map_pages(p, fd, shm_arena_start(), len);
    if (!base) return false;
    atomic_store(&p->arena, base);
    atomic_store(&p->arena_len, len); /* as above */
    return true;
}

static bool peer_map_more_arena(struct shca_peer *p, uint64_t end)
{
    int fd = shca_peer_map_open(p);
    bool seen = shca_peer_map_arena(p, fd, end);
    if (fd >= 0) peer_map_close(p, fd);
    return seen;
}

/* The slow path of shca_peer_map(). */
void *shca_peer_map_more(struct shca_peer *p, uint64_t offset, uint64_t len)
{
    uint64_t in = offset - shm_arena_start();
    shca_lock(&p->rpc);
    bool seen = in + len <= p->arena_len || peer_map_more_arena(p, offset + len);
    shca_unlock(&p->rpc);
    return seen ? p->arena + in : NULL;
}

void shca_peer_map_drop(struct shca_peer *p)
{
    for (struct shca_window *w = p->windows, *next; w; w = next) {
        next = w->next;
        munmap(w->base, w->len);
        free(w);
    }
    p->windows = NULL;
    p->h = NULL;
    p->arena = NULL;
    p->len = p->arena_len = 0;
}
