/* table.h - a pool of records of memory regions, and the look-up of the one that covers a range.
 *
 * Used by local.c, whose regions are memory of this process, and by remote.c, whose regions are
 * memory of peers.  Pure.  Regions may overlap.  A look-up costs the same for ten regions and for
 * ten thousand: it makes one probe of a hash table for each class of sizes that is in use.
 */
#ifndef FIREHOSE_TABLE_H
#define FIREHOSE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The content of a pool, or its limit. */
typedef struct fh_amount {
    uint64_t bytes;
    uint64_t regions;
} fh_amount_t;

static inline void fh_add(fh_amount_t *to, uint64_t bytes)
{
    to->bytes += bytes;
    to->regions++;
}

static inline void fh_take(fh_amount_t *from, uint64_t bytes)
{
    from->bytes -= bytes;
    from->regions--;
}

/* True if one more region, of `bytes`, does not exceed `limit`. */
static inline bool fh_fits(fh_amount_t present, uint64_t bytes, fh_amount_t limit)
{
    return present.bytes + bytes <= limit.bytes && present.regions + 1 <= limit.regions;
}

enum { FH_NONE = 0 }; /* no region: numbers of regions begin at 1 */

typedef struct fh_region {
    uint64_t start, end;   /* addresses, multiples of the page size */
    uint32_t peer;         /* the peer whose memory it is; 0 in local.c */
    uint32_t uses;         /* by transfers of this process */
    uint32_t holds;        /* local.c: by firehoses of peers; remote.c: the peer's token */
    uint32_t charge;       /* remote.c: bytes of the peer's pool that it occupies, in pages */
    uint32_t next[2];      /* in the chains of the first and of the last chunk that it touches */
    uint32_t older, newer; /* in the one list that it is on */
    uint8_t state;         /* of local.c, of remote.c */
    uint8_t size_class;
    bool found;  /* by look-ups */
    bool listed; /* on a list */
    bool stale;  /* the memory was unmapped: the region ends when it is no longer in use */
    bool permanent;
    bool bad; /* local.c: the memory does not exist */
} fh_region_t;

/* Zeroed: empty.  The owner knows which list a region is on. */
typedef struct fh_list {
    uint32_t oldest, newest;
} fh_list_t;

/* Class k holds the regions of more than 4^k and at most 4^(k+1) pages; class 0 those of one page
 * too.  A chunk of a class is an aligned range of 4^(k+1) pages, so that a region touches at most
 * two. */
enum { FH_CLASSES = 24 };

typedef struct fh_table {
    fh_region_t *regions; /* capacity + 1 of them */
    uint32_t *heads;      /* chains: twice the number of a region, plus the side */
    uint32_t classes;     /* a bit for each that is not empty */
    uint8_t page_shift, slot_shift;
    uint32_t free; /* a chain by `newer` */
    uint32_t unused_records;
    uint32_t capacity;
    uint32_t in_class[FH_CLASSES];
} fh_table_t;

/* Bytes of memory for as many regions, and the table in that memory, which must be zeroed and
 * aligned for uint64_t. */
size_t fh_table_bytes(uint32_t capacity);
void fh_table_init(fh_table_t *t, uint32_t capacity, unsigned page_shift, void *memory);

/* A record, not yet found by look-ups; FH_NONE if all are in use. */
uint32_t fh_table_make(fh_table_t *t, uint32_t peer, uint64_t start, uint64_t end);
/* Frees a record, which look-ups must not find and no list must hold any more. */
void fh_table_free(fh_table_t *t, uint32_t region);

/* Makes look-ups find a region from now on, or not find it. */
void fh_table_show(fh_table_t *t, uint32_t region);
void fh_table_hide(fh_table_t *t, uint32_t region);

/* Calls `visit` for each found region of the peer that shares a byte with [from, to), some of them
 * twice.  `visit` may hide the region, and list it. */
typedef void fh_visit_t(void *context, uint32_t region);
void fh_table_each(const fh_table_t *t, uint32_t peer, uint64_t from, uint64_t to,
                   fh_visit_t *visit, void *context);

/* The found region that covers the first byte of [from, to) that any region covers. */
uint32_t fh_table_first(const fh_table_t *t, uint32_t peer, uint64_t from, uint64_t to);

void fh_list_append(fh_table_t *t, fh_list_t *list, uint32_t region);
void fh_list_prepend(fh_table_t *t, fh_list_t *list, uint32_t region);
void fh_list_remove(fh_table_t *t, fh_list_t *list, uint32_t region);
/* FH_NONE if the list is empty. */
uint32_t fh_list_pop(fh_table_t *t, fh_list_t *list);

/* A region was released: it is now the one used last.  The list is in the order of releases, except
 * for regions that are in use, which the owner passes over. */
static inline void fh_list_renew(fh_table_t *t, fh_list_t *list, uint32_t region)
{
    if (list->newest == region) return;
    if (t->regions[region].listed) fh_list_remove(t, list, region);
    fh_list_append(t, list, region);
}

static inline fh_region_t *fh_region(const fh_table_t *t, uint32_t region)
{
    return &t->regions[region];
}

static inline uint64_t fh_size(const fh_table_t *t, uint32_t region)
{
    return t->regions[region].end - t->regions[region].start;
}

/* A found region that covers [from, to), which is not empty, or FH_NONE. */
uint32_t fh_table_find(const fh_table_t *t, uint32_t peer, uint64_t from, uint64_t to);

/* fh_table_find, which looks first at `likely`, a found region of the peer, or FH_NONE. */
static inline uint32_t fh_table_find_near(const fh_table_t *t, uint32_t likely, uint32_t peer,
                                          uint64_t from, uint64_t to)
{
    const fh_region_t *r = &t->regions[likely];
    if (r->start <= from && to <= r->end) return likely;
    return fh_table_find(t, peer, from, to);
}

#endif
