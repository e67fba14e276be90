/* table.c - records of regions, their chains and lists; see table.h. */
#include "other/firehose/table.h"

/* Slots of the hash table: a power of two, twice the chunks that the regions touch, on average. */
static unsigned slot_bits(uint32_t capacity)
{
    unsigned bits = 4;
    while (bits < 31 && (1u << bits) < 2u * capacity) bits++;
    return bits;
}

size_t fh_table_bytes(uint32_t capacity)
{
    return ((size_t)capacity + 1) * sizeof(fh_region_t) +
           ((size_t)1 << slot_bits(capacity)) * sizeof(uint32_t);
}

void fh_table_init(fh_table_t *t, uint32_t capacity, unsigned page_shift, void *memory)
{
    *t = (fh_table_t){.regions = memory,
                      .page_shift = (uint8_t)page_shift,
                      .slot_shift = (uint8_t)(64 - slot_bits(capacity)),
                      .unused_records = capacity,
                      .capacity = capacity};
    t->heads = (uint32_t *)(t->regions + capacity + 1);
}

/* Records that were never used are taken in order, so that their memory is touched when needed. */
uint32_t fh_table_make(fh_table_t *t, uint32_t peer, uint64_t start, uint64_t end)
{
    uint32_t region = t->free;
    if (region)
        t->free = t->regions[region].newer;
    else if (t->unused_records)
        region = t->capacity - --t->unused_records;
    else
        return FH_NONE;
    t->regions[region] = (fh_region_t){.start = start, .end = end, .peer = peer};
    return region;
}

void fh_table_free(fh_table_t *t, uint32_t region)
{
    t->regions[region] = (fh_region_t){.newer = t->free};
    t->free = region;
}

static unsigned chunk_shift(const fh_table_t *t, unsigned size_class)
{
    return t->page_shift + 2 + 2 * size_class;
}

static uint32_t *chain_head(const fh_table_t *t, uint32_t peer, unsigned size_class, uint64_t chunk)
{
    const uint64_t key = chunk ^ ((uint64_t)size_class << 38) ^ ((uint64_t)peer << 44);
    return &t->heads[(key * 0x9e3779b97f4a7c15u) >> t->slot_shift];
}

uint32_t fh_table_find(const fh_table_t *t, uint32_t peer, uint64_t from, uint64_t to)
{
    for (uint32_t classes = t->classes; classes; classes &= classes - 1) {
        const unsigned k = (unsigned)__builtin_ctz(classes);
        uint32_t link = *chain_head(t, peer, k, from >> chunk_shift(t, k));
        while (link) {
            const fh_region_t *r = &t->regions[link >> 1];
            if (r->start <= from && to <= r->end && r->peer == peer) return link >> 1;
            link = r->next[link & 1];
        }
    }
    return FH_NONE;
}

static unsigned size_class(const fh_table_t *t, uint64_t size)
{
    unsigned k = 0;
    while (k < FH_CLASSES - 1 && size > (uint64_t)1 << chunk_shift(t, k)) k++;
    return k;
}

/* The chains in which a region is; the second is NULL if it touches one chunk. */
static void heads_of(const fh_table_t *t, const fh_region_t *r, uint32_t *head[2])
{
    const unsigned shift = chunk_shift(t, r->size_class);
    const uint64_t first = r->start >> shift, last = (r->end - 1) >> shift;
    head[0] = chain_head(t, r->peer, r->size_class, first);
    head[1] = last == first ? NULL : chain_head(t, r->peer, r->size_class, last);
}

void fh_table_show(fh_table_t *t, uint32_t region)
{
    fh_region_t *r = fh_region(t, region);
    uint32_t *head[2];
    r->size_class = (uint8_t)size_class(t, r->end - r->start);
    r->found = true;
    heads_of(t, r, head);
    for (unsigned side = 0; side < 2 && head[side]; side++) {
        r->next[side] = *head[side];
        *head[side] = 2 * region + side;
    }
    t->in_class[r->size_class]++;
    t->classes |= 1u << r->size_class;
}

void fh_table_hide(fh_table_t *t, uint32_t region)
{
    fh_region_t *r = fh_region(t, region);
    uint32_t *head[2];
    if (!r->found) return;
    r->found = false;
    heads_of(t, r, head);
    for (unsigned side = 0; side < 2 && head[side]; side++) {
        uint32_t *link = head[side];
        while (*link != 2 * region + side) link = &t->regions[*link >> 1].next[*link & 1];
        *link = r->next[side];
    }
    if (--t->in_class[r->size_class] == 0) t->classes &= ~(1u << r->size_class);
}

/* --- all regions in a range --- */

static bool meets(const fh_region_t *r, uint32_t peer, uint64_t from, uint64_t to)
{
    return r->found && r->peer == peer && r->start < to && from < r->end;
}

/* The next link is read first: `visit` may take the region out of the chain, but its links stay. */
static void visit_chain(const fh_table_t *t, uint32_t link, uint32_t peer, uint64_t from,
                        uint64_t to, fh_visit_t *visit, void *context)
{
    while (link) {
        const uint32_t region = link >> 1, next = t->regions[region].next[link & 1];
        if (meets(&t->regions[region], peer, from, to)) visit(context, region);
        link = next;
    }
}

void fh_table_each(const fh_table_t *t, uint32_t peer, uint64_t from, uint64_t to,
                   fh_visit_t *visit, void *context)
{
    const uint32_t made = t->capacity - t->unused_records;
    for (uint32_t classes = t->classes; classes; classes &= classes - 1) {
        const unsigned k = (unsigned)__builtin_ctz(classes);
        const uint64_t first = from >> chunk_shift(t, k), last = (to - 1) >> chunk_shift(t, k);
        if (last - first >= made) { /* testing each record costs less */
            for (uint32_t region = 1; region <= made; region++)
                if (meets(&t->regions[region], peer, from, to)) visit(context, region);
            return;
        }
        for (uint64_t chunk = first; chunk <= last; chunk++)
            visit_chain(t, *chain_head(t, peer, k, chunk), peer, from, to, visit, context);
    }
}

typedef struct first {
    const fh_table_t *table;
    uint64_t from;
    uint32_t best;
    uint64_t at; /* the first byte of the range that it covers */
} first_t;

static void visit_first(void *context, uint32_t region)
{
    first_t *f = context;
    const fh_region_t *r = fh_region(f->table, region);
    const uint64_t at = r->start > f->from ? r->start : f->from;
    /* Of several, the one that reaches furthest. */
    if (f->best && (at > f->at || (at == f->at && r->end <= fh_region(f->table, f->best)->end)))
        return;
    f->best = region;
    f->at = at;
}

uint32_t fh_table_first(const fh_table_t *t, uint32_t peer, uint64_t from, uint64_t to)
{
    first_t f = {.table = t, .from = from};
    fh_table_each(t, peer, from, to, visit_first, &f);
    return f.best;
}

/* --- lists --- */

void fh_list_append(fh_table_t *t, fh_list_t *list, uint32_t region)
{
    fh_region_t *r = fh_region(t, region);
    r->older = list->newest;
    r->newer = FH_NONE;
    r->listed = true;
    if (list->newest)
        fh_region(t, list->newest)->newer = region;
    else
        list->oldest = region;
    list->newest = region;
}

void fh_list_prepend(fh_table_t *t, fh_list_t *list, uint32_t region)
{
    fh_region_t *r = fh_region(t, region);
    r->newer = list->oldest;
    r->older = FH_NONE;
    r->listed = true;
    if (list->oldest)
        fh_region(t, list->oldest)->older = region;
    else
        list->newest = region;
    list->oldest = region;
}

void fh_list_remove(fh_table_t *t, fh_list_t *list, uint32_t region)
{
    fh_region_t *r = fh_region(t, region);
    if (r->older)
        fh_region(t, r->older)->newer = r->newer;
    else
        list->oldest = r->newer;
    if (r->newer)
        fh_region(t, r->newer)->older = r->older;
    else
        list->newest = r->older;
    r->listed = false;
}

uint32_t fh_list_pop(fh_table_t *t, fh_list_t *list)
{
    const uint32_t region = list->oldest;
    if (region) fh_list_remove(t, list, region);
    return region;
}
