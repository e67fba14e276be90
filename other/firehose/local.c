/* local.c - the state machine of local.h.  Pure: tests/unit, tests/fuzz and tests/sim run it. */
#include "other/firehose/local.h"

/* Registrations without a refusal after which a pool that was refused more grows by one region. */
enum { CALM = 256 };

void fh_local_init(fh_local_t *l, const fh_local_limits_t *limits, uint32_t capacity,
                   unsigned page_shift, void *memory)
{
    *l = (fh_local_t){.limits = *limits};
    l->most = (fh_amount_t){.bytes = limits->held.bytes + limits->used.bytes,
                            .regions = limits->held.regions + limits->used.regions};
    l->soft = l->most;
    fh_table_init(&l->table, capacity, page_shift, memory);
}

static fh_region_t *record(const fh_local_t *l, uint32_t region)
{
    return fh_region(&l->table, region);
}

uint32_t fh_local_permanent(fh_local_t *l, uint64_t start, uint64_t end)
{
    const uint32_t region = fh_table_make(&l->table, 0, start, end);
    if (!region) return FH_NONE;
    record(l, region)->state = FH_REGISTERED;
    record(l, region)->permanent = true;
    record(l, region)->uses = 1;
    fh_table_show(&l->table, region);
    return region;
}

/* --- regions come and go --- */

static bool is_pending(const fh_region_t *r)
{
    return r->state == FH_NEEDED || r->state == FH_REGISTERING;
}

static bool is_unused(const fh_region_t *r)
{
    return r->state == FH_REGISTERED && !r->uses && !r->holds;
}

static void local_forget(fh_local_t *l, uint32_t region)
{
    if (record(l, region)->stale) l->stale--;
    fh_table_hide(&l->table, region);
    fh_table_free(&l->table, region);
}

/* No look-up finds it any more, nor the list of those used last. */
static void hide(fh_local_t *l, uint32_t region)
{
    const fh_region_t *r = record(l, region);
    fh_table_hide(&l->table, region);
    if (r->listed && r->state == FH_REGISTERED) fh_list_remove(&l->table, &l->unused, region);
}

/* Of an unused region. */
static void doom(fh_local_t *l, uint32_t region)
{
    fh_region_t *r = record(l, region);
    hide(l, region);
    r->state = FH_DOOMED;
    fh_list_append(&l->table, &l->to_deregister, region);
    fh_add(&l->leaving, r->end - r->start);
}

/* Regions in use are on the list of unused ones if they were used since; fh_list_renew puts them
 * back when they are released. */
static bool evict_one(fh_local_t *l)
{
    uint32_t region;
    while ((region = fh_list_pop(&l->table, &l->unused)) != FH_NONE) {
        if (!is_unused(record(l, region))) continue;
        doom(l, region);
        l->evictions++;
        return true;
    }
    return false;
}

static void local_make_room(fh_local_t *l)
{
    while (l->present.bytes - l->leaving.bytes + l->needed.bytes > l->soft.bytes ||
           l->present.regions - l->leaving.regions + l->needed.regions > l->soft.regions)
        if (!evict_one(l)) return;
}

void fh_local_evict_all(fh_local_t *l)
{
    while (evict_one(l)) continue;
}

/* Handles the end of the last use and hold of a region. */
static void rest(fh_local_t *l, uint32_t region)
{
    fh_region_t *r = record(l, region);
    if (r->state == FH_FAILED)
        local_forget(l, region);
    else if (r->state == FH_REGISTERED && !r->found)
        doom(l, region);
    else if (r->state == FH_REGISTERED)
        fh_list_renew(&l->table, &l->unused, region);
}

/* --- a region that is to be registered --- */

typedef struct range {
    fh_local_t *local;
    uint64_t start, end, most;
} range_t;

/* Extends the range by an unused region that it overlaps or touches, as far as its size allows. */
static void absorb(void *context, uint32_t region)
{
    range_t *range = context;
    const fh_region_t *r = record(range->local, region);
    const uint64_t start = r->start < range->start ? r->start : range->start;
    const uint64_t end = r->end > range->end ? r->end : range->end;
    if (!is_unused(r) || end - start > range->most) return;
    range->start = start;
    range->end = end;
}

static void doom_covered(void *context, uint32_t region)
{
    const range_t *range = context;
    const fh_region_t *r = record(range->local, region);
    if (is_unused(r) && range->start <= r->start && r->end <= range->end)
        doom(range->local, region);
}

/* FH_NONE: all records are in use. */
static uint32_t need(fh_local_t *l, const range_t *range)
{
    const uint32_t region = fh_table_make(&l->table, 0, range->start, range->end);
    if (!region) return FH_NONE;
    fh_table_each(&l->table, 0, range->start, range->end, doom_covered, (void *)range);
    record(l, region)->state = FH_NEEDED;
    fh_table_show(&l->table, region);
    fh_list_append(&l->table, &l->to_register, region);
    fh_add(&l->needed, range->end - range->start);
    local_make_room(l);
    l->misses++;
    return region;
}

static range_t whole_pages(fh_local_t *l, uint64_t from, uint64_t to)
{
    const uint64_t below = ((uint64_t)1 << l->table.page_shift) - 1;
    return (range_t){l, from & ~below, (to + below) & ~below, l->limits.max_region};
}

static uint32_t use_new(fh_local_t *l, const fh_span_t *span)
{
    range_t range = whole_pages(l, span->from, span->to);
    const range_t alone = range;
    const uint64_t page = (uint64_t)1 << l->table.page_shift;
    if (!span->alone)
        fh_table_each(&l->table, 0, range.start < page ? 0 : range.start - page, range.end + page,
                      absorb, &range);
    if (!fh_fits(l->used, range.end - range.start, l->limits.used)) range = alone;
    if (!fh_fits(l->used, range.end - range.start, l->limits.used)) return FH_NONE;
    return need(l, &range);
}

/* FH_NONE: no room. */
static uint32_t local_use(fh_local_t *l, const fh_span_t *span)
{
    uint32_t region = fh_table_find(&l->table, 0, span->from, span->to);
    const bool hit = region != FH_NONE;
    if (!hit)
        region = use_new(l, span);
    else if (!record(l, region)->uses &&
             !fh_fits(l->used, fh_size(&l->table, region), l->limits.used))
        return FH_NONE;
    if (!region) return FH_NONE;
    fh_region_t *r = record(l, region);
    if (hit) l->hits++;
    if (r->uses++ == 0) {
        fh_add(&l->used, r->end - r->start);
        l->pending_uses += is_pending(r);
    }
    return region;
}

fh_answer_t fh_local_use(fh_local_t *l, fh_span_t span, uint64_t *ticket, uint32_t *region)
{
    const bool waits = l->turn != l->tickets && *ticket != l->turn + 1;
    *region = waits ? FH_NONE : local_use(l, &span);
    if (!*region) {
        if (!*ticket) *ticket = ++l->tickets;
        return FH_FULL;
    }
    if (*ticket) l->turn++;
    *ticket = 0;
    return record(l, *region)->state == FH_REGISTERED ? FH_READY : FH_PENDING;
}

void fh_local_last_use(fh_local_t *l, uint32_t region)
{
    fh_region_t *r = record(l, region);
    fh_take(&l->used, r->end - r->start);
    if (!r->holds) rest(l, region);
}

/* --- peers --- */

/* The pool of held regions has room for each firehose as large as it was asked for.  What firehoses
 * of several peers share is left for regions that are larger than asked for. */
static bool may_be_held(const fh_local_t *l, uint32_t region, uint64_t asked)
{
    return record(l, region)->holds ||
           l->held.bytes + fh_size(&l->table, region) <= l->promised + asked;
}

fh_answer_t fh_local_hold(fh_local_t *l, uint64_t start, uint64_t end, uint32_t *region)
{
    const uint64_t asked = end - start;
    *region = fh_table_find(&l->table, 0, start, end);
    if (*region && record(l, *region)->permanent) *region = FH_NONE;
    if (*region && may_be_held(l, *region, asked))
        l->hits++;
    else
        *region = need(l, &(range_t){.local = l, .start = start, .end = end});
    if (!*region) return FH_FULL;
    fh_region_t *r = record(l, *region);
    if (r->holds++ == 0) fh_add(&l->held, r->end - r->start);
    l->promised += asked;
    return r->state == FH_REGISTERED ? FH_READY : FH_PENDING;
}

void fh_local_unhold(fh_local_t *l, uint32_t region, uint64_t asked)
{
    fh_region_t *r = record(l, region);
    l->promised -= asked;
    if (--r->holds) return;
    fh_take(&l->held, r->end - r->start);
    if (!r->uses) rest(l, region);
}

/* --- unmapped memory --- */

typedef struct invalid {
    fh_local_t *local;
    uint32_t held;
} invalid_t;

static void invalidate(void *context, uint32_t region)
{
    invalid_t *invalid = context;
    fh_local_t *l = invalid->local;
    fh_region_t *r = record(l, region);
    if (r->permanent || r->stale) return;
    r->stale = true;
    l->stale++;
    if (r->holds) invalid->held++;
    if (is_unused(r))
        doom(l, region);
    else
        hide(l, region);
}

/* Regions that are on their way out: no look-up finds them. */
static void mark_leaving(fh_local_t *l, uint64_t from, uint64_t to)
{
    const uint32_t made = l->table.capacity - l->table.unused_records;
    for (uint32_t region = 1; region <= made; region++) {
        fh_region_t *r = record(l, region);
        if ((r->state != FH_DOOMED && r->state != FH_DEREGISTERING) || r->stale) continue;
        r->stale = r->start < to && from < r->end;
        l->stale += r->stale;
    }
}

uint32_t fh_local_invalidate(fh_local_t *l, uint64_t from, uint64_t to)
{
    if (l->leaving.regions) mark_leaving(l, from, to);
    invalid_t invalid = {.local = l};
    fh_table_each(&l->table, 0, from, to, invalidate, &invalid);
    return invalid.held;
}

/* --- the engine's tasks --- */

/* The system has refused to register the first of the list, and all that could be evicted has been.
 * Regions in use can be evicted later; what peers hold may never be. */
static bool is_hopeless(const fh_local_t *l)
{
    return l->leaving.regions == 0 && l->registering == 0 && l->used.regions <= l->pending_uses;
}

static void local_fail(fh_local_t *l, uint32_t region)
{
    fh_region_t *r = record(l, region);
    fh_table_hide(&l->table, region);
    if (r->uses) l->pending_uses--;
    r->state = FH_FAILED;
    if (!r->uses && !r->holds) local_forget(l, region);
}

fh_task_t fh_local_next(fh_local_t *l, uint32_t *region)
{
    if (l->refused && !l->leaving.regions) evict_one(l);
    if ((*region = fh_list_pop(&l->table, &l->to_deregister)) != FH_NONE) {
        record(l, *region)->state = FH_DEREGISTERING;
        return FH_DEREGISTER;
    }
    *region = l->to_register.oldest;
    if (!*region) return FH_NOTHING;
    const uint64_t size = fh_size(&l->table, *region);
    if (l->refused ? !is_hopeless(l) : !fh_fits(l->present, size, l->most)) return FH_NOTHING;
    fh_list_remove(&l->table, &l->to_register, *region);
    fh_take(&l->needed, size);
    if (l->refused) {
        l->refused = false;
        local_fail(l, *region);
        return FH_GAVE_UP;
    }
    record(l, *region)->state = FH_REGISTERING;
    l->registering++;
    fh_add(&l->present, size);
    return FH_REGISTER;
}

static void local_refused(fh_local_t *l, uint32_t region)
{
    fh_region_t *r = record(l, region);
    l->refusals++;
    l->calm = 0;
    l->refused = true;
    l->soft = l->present;
    r->state = FH_NEEDED;
    fh_list_prepend(&l->table, &l->to_register, region);
    fh_add(&l->needed, r->end - r->start);
    local_make_room(l);
}

static void deregistered(fh_local_t *l, uint32_t region)
{
    const uint64_t size = fh_size(&l->table, region);
    fh_take(&l->present, size);
    fh_take(&l->leaving, size);
    l->refused = false;
    local_forget(l, region);
}

/* The system gives more than it did; and once in a while it is asked for more. */
static void grow(fh_local_t *l)
{
    const bool more = ++l->calm % CALM == 0;
    if (l->present.bytes > l->soft.bytes) l->soft.bytes = l->present.bytes;
    if (l->present.regions > l->soft.regions) l->soft.regions = l->present.regions;
    if (more && fh_fits(l->soft, l->limits.max_region, l->most))
        fh_add(&l->soft, l->limits.max_region);
}

static void registered(fh_local_t *l, uint32_t region)
{
    fh_region_t *r = record(l, region);
    r->state = FH_REGISTERED;
    if (r->uses) l->pending_uses--;
    grow(l);
    if (l->present.bytes > l->peak.bytes) l->peak.bytes = l->present.bytes;
    if (l->present.regions > l->peak.regions) l->peak.regions = l->present.regions;
    if (!r->uses && !r->holds) rest(l, region);
}

void fh_local_done(fh_local_t *l, uint32_t region, fh_outcome_t outcome)
{
    if (record(l, region)->state == FH_DEREGISTERING) {
        deregistered(l, region);
        return;
    }
    l->registering--;
    if (outcome == FH_DONE) {
        registered(l, region);
        return;
    }
    fh_take(&l->present, fh_size(&l->table, region));
    record(l, region)->bad = outcome == FH_BAD;
    if (outcome == FH_REFUSED)
        local_refused(l, region);
    else
        local_fail(l, region);
}
