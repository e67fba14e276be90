/* published.c - the table of the segments that ranks have published with endpoints but the first.
 *
 * Written by gex_EP_PublishBoundSegment and gex_Segment_Destroy, read where transfers miss the
 * attached segment.  A rank has a row when it has published something.
 */
#include "core/rdma/published.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/rdma/firehose.h"
#include "core/rdma/segment.h"
#include "core/report.h"
#include "gasnet.h"

static gasneti_lock_t lock;             /* of all that follows */
static gasnetc_published_t **published; /* [ranks] of [GASNET_MAXEPS]; NULL: nothing */
static uint64_t latest;

/* What precedes the keys in an announcement. */
typedef struct head {
    uint64_t base, size, keys;
    uint32_t endpoint, pin_shift;
} head_t;

/* --- memory of this rank --- */

static size_t whole_pages(uintptr_t size)
{
    return (size + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
}

void *gasnetc_created_alloc(uintptr_t size)
{
    void *base = mmap(NULL, whole_pages(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

void gasnetc_created_free(void *base, uintptr_t size)
{
    munmap(base, whole_pages(size));
}

void gasnetc_created_forget(const gasnetc_created_t *created)
{
    gasnetc_firehose_invalidate((void *)created->base, created->size);
}

/* --- announcements --- */

static void write_keys(const gasnetc_created_t *created, char *to)
{
    for (size_t i = 0; i < created->count; i++) {
        const net_key_t key = net_key(&created->regions[i]);
        memcpy(to + i * sizeof key, &key, sizeof key);
    }
}

size_t gasnetc_announce(unsigned endpoint, const gasnetc_created_t *created, void *to)
{
    const head_t head = {created->base, created->size, created->count, endpoint,
                         created->pin_shift};
    if (to) {
        memcpy(to, &head, sizeof head);
        write_keys(created, (char *)to + sizeof head);
    }
    return sizeof head + created->count * sizeof(net_key_t);
}

/* The entry of an endpoint; lock held.  NULL without `make`: the rank has no row. */
static gasnetc_published_t *entry_of(uint32_t rank, unsigned endpoint, bool make)
{
    static const char what[] = "published segments";
    if (!published && !make) return NULL;
    if (!published) published = gasneti_calloc(gasnetc_job.size, sizeof *published, what);
    if (!published[rank] && make)
        published[rank] = gasneti_calloc(GASNET_MAXEPS, sizeof **published, what);
    return published[rank] ? &published[rank][endpoint] : NULL;
}

/* Peers' windows have copies of keys. */
static void close_window(uint32_t rank)
{
    gasnetc_peer_t *peer = &gasnetc_peers[rank];
    gasneti_lock(&peer->lock);
    peer->window.size = 0;
    gasneti_unlock(&peer->lock);
}

void gasnetc_withdrawn(uint32_t rank, unsigned endpoint)
{
    gasneti_lock(&lock);
    gasnetc_published_t *entry = entry_of(rank, endpoint, false);
    gasnetc_published_t old = {.pin_shift = 0};
    if (entry) {
        old = *entry;
        *entry = (gasnetc_published_t){.pin_shift = 0};
    }
    gasneti_unlock(&lock);
    if (old.segment.size) close_window(rank);
    free((void *)(uintptr_t)old.segment.keys);
}

/* True if `most` bytes have the keys of all memory, or there are none as they are not needed. */
static bool head_is_sound(const head_t *head, size_t most)
{
    if (head->endpoint == 0 || head->endpoint >= GASNET_MAXEPS || head->pin_shift > 63 ||
        head->size == 0 || head->base + head->size < head->base)
        return false;
    return head->keys == 0 || (head->keys == ((head->size - 1) >> head->pin_shift) + 1 &&
                               head->keys <= (most - sizeof *head) / sizeof(net_key_t));
}

/* An endpoint has one segment in its life: what is known of it is right. */
size_t gasnetc_announced(uint32_t rank, const void *announcement, size_t most)
{
    head_t head = {.size = 0};
    if (most >= sizeof head) memcpy(&head, announcement, sizeof head);
    if (!head_is_sound(&head, most))
        gasneti_malformed(rank, (uint32_t)most, "announcement of a segment");
    const size_t bytes = head.keys * sizeof(net_key_t);
    net_key_t *keys = bytes ? gasneti_calloc(1, bytes, "the keys of a segment") : NULL;
    if (bytes) memcpy(keys, (const char *)announcement + sizeof head, bytes);
    gasneti_lock(&lock);
    gasnetc_published_t *entry = entry_of(rank, head.endpoint, true);
    const bool known = entry->segment.size != 0;
    if (!known)
        *entry = (gasnetc_published_t){
            {.base = head.base, .size = head.size, .keys = keys}, head.pin_shift, ++latest};
    gasneti_unlock(&lock);
    if (known) free(keys);
    return sizeof head + bytes;
}

/* --- queries --- */

gasnetc_published_t gasnetc_published_by(uint32_t rank, unsigned endpoint)
{
    gasnetc_published_t found = {.pin_shift = 0};
    gasneti_lock(&lock);
    const gasnetc_published_t *entry = entry_of(rank, endpoint, false);
    if (entry) found = *entry;
    gasneti_unlock(&lock);
    return found;
}

gasnetc_published_t gasnetc_published_at(uint32_t rank, uintptr_t start, size_t nbytes)
{
    gasnetc_published_t found = {.pin_shift = 0};
    gasneti_lock(&lock);
    const gasnetc_published_t *row = entry_of(rank, 0, false);
    for (unsigned i = 1; row && i < GASNET_MAXEPS; i++)
        if (row[i].when > found.when &&
            gasnetc_within(row[i].segment.base, row[i].segment.size, start, nbytes))
            found = row[i];
    gasneti_unlock(&lock);
    return found;
}

bool gasnetc_is_published(uint32_t rank, uintptr_t start, size_t nbytes)
{
    return gasnetc_published_at(rank, start, nbytes).segment.size != 0;
}
