/* remote.c - the state machine of remote.h.  Pure: tests/unit, tests/fuzz and tests/sim run it. */
#include "other/firehose/remote.h"

void fh_remote_init(fh_remote_t *r, const fh_remote_limits_t *limits, uint32_t capacity,
                    unsigned page_shift, void *memory, fh_peer_t *peers)
{
    *r = (fh_remote_t){.limits = *limits, .peers = peers};
    fh_table_init(&r->table, capacity, page_shift, memory);
}

static fh_region_t *record(const fh_remote_t *r, uint32_t region)
{
    return fh_region(&r->table, region);
}

static uint64_t charge(const fh_remote_t *r, uint32_t region)
{
    return (uint64_t)record(r, region)->charge << r->table.page_shift;
}

/* --- queues --- */

static void remote_append(fh_wants_t *wants, fh_want_t *want)
{
    want->next = NULL;
    if (wants->last)
        wants->last->next = want;
    else
        wants->first = want;
    wants->last = want;
}

static fh_want_t *take_first(fh_wants_t *wants)
{
    fh_want_t *want = wants->first;
    if (!want) return NULL;
    wants->first = want->next;
    if (!wants->first) wants->last = NULL;
    return want;
}

static void serve(fh_remote_t *r, fh_want_t *want, uint32_t region, fh_why_t why)
{
    want->region = region;
    want->why = why;
    remote_append(&r->served, want);
}

fh_want_t *fh_remote_served(fh_remote_t *r)
{
    return take_first(&r->served);
}

static void set_due(fh_remote_t *r, uint32_t peer)
{
    fh_peer_t *p = &r->peers[peer];
    if (p->due || p->in_flight || p->dead) return;
    p->due = true;
    p->next_due = 0;
    if (r->last_due)
        r->peers[r->last_due - 1].next_due = peer + 1;
    else
        r->first_due = peer + 1;
    r->last_due = peer + 1;
}

/* --- regions --- */

/* Counts a use of the region by a transfer, which begins now or when the peer has answered. */
static void remote_use_region(fh_remote_t *r, uint32_t region)
{
    fh_region_t *it = record(r, region);
    if (it->uses++ == 0) fh_add(&r->peers[it->peer].busy, charge(r, region));
}

/* Frees the record of a region that is not in use and on no list. */
static void remote_forget(fh_remote_t *r, uint32_t region)
{
    fh_take(&r->peers[record(r, region)->peer].charged, charge(r, region));
    fh_table_hide(&r->table, region);
    fh_table_free(&r->table, region);
}

/* Hides a held region: no look-up finds it any more, and it is not on the list of regions used
 * last. */
static void hide(fh_remote_t *r, uint32_t region)
{
    const fh_region_t *it = record(r, region);
    fh_table_hide(&r->table, region);
    if (it->listed) fh_list_remove(&r->table, &r->peers[it->peer].unused, region);
}

/* Makes a held region that is not in use leave: a later request returns it to the peer. */
static void remote_leave_region(fh_remote_t *r, uint32_t region)
{
    fh_region_t *it = record(r, region);
    fh_peer_t *p = &r->peers[it->peer];
    hide(r, region);
    it->state = FH_LEAVING;
    fh_list_append(&r->table, &p->leaving_regions, region);
    fh_add(&p->leaving, charge(r, region));
    r->moves++;
}

/* Handles the end of the last use of a region. */
static void rest(fh_remote_t *r, uint32_t region)
{
    const fh_region_t *it = record(r, region);
    fh_peer_t *p = &r->peers[it->peer];
    if (p->dead || it->state == FH_DENIED)
        remote_forget(r, region);
    else if (it->stale)
        remote_leave_region(r, region);
    else
        fh_list_renew(&r->table, &p->unused, region);
}

void fh_remote_last_use(fh_remote_t *r, uint32_t region)
{
    const uint32_t peer = record(r, region)->peer;
    rest(r, region);
    r->peers[peer].blocked = false;
    set_due(r, peer);
}

/* fh_remote_release, but does not mark the peer as due. */
static void end_use(fh_remote_t *r, uint32_t region)
{
    if (--record(r, region)->uses) return;
    fh_take(&r->peers[record(r, region)->peer].busy, charge(r, region));
    rest(r, region);
}

static bool is_unused(const fh_region_t *it)
{
    return it->state == FH_HELD && !it->uses;
}

static bool evict_one(fh_remote_t *r, fh_peer_t *p)
{
    uint32_t region;
    while ((region = fh_list_pop(&r->table, &p->unused)) != FH_NONE) {
        if (!is_unused(record(r, region))) continue;
        remote_leave_region(r, region);
        return true;
    }
    return false;
}

/* --- wants --- */

/* Serves a want at once by a held region that covers it, or later if the region is asked for. */
static void want_hit(fh_remote_t *r, fh_peer_t *p, fh_want_t *want, uint32_t region)
{
    remote_use_region(r, region);
    r->hits++;
    want->region = region;
    if (record(r, region)->state == FH_HELD)
        serve(r, want, region, FH_SERVED);
    else
        remote_append(&p->asked, want);
}

void fh_remote_want(fh_remote_t *r, fh_want_t *want)
{
    fh_peer_t *p = &r->peers[want->peer];
    if (p->dead) {
        serve(r, want, FH_NONE, FH_PEER_DIED);
        return;
    }
    /* While one want waits for room, all later ones wait too: otherwise regions that are used over
     * and over would never be returned. */
    if (!p->blocked) {
        const uint32_t region = fh_table_find(&r->table, want->peer, want->from, want->to);
        if (region) {
            want_hit(r, p, want, region);
            return;
        }
    }
    remote_append(&p->waiting, want);
    if (!p->blocked) set_due(r, want->peer);
}

/* --- a request --- */

typedef struct range {
    fh_remote_t *remote;
    uint64_t start, end;
} range_t;

static void absorb(void *context, uint32_t region)
{
    range_t *range = context;
    const fh_region_t *it = record(range->remote, region);
    const uint64_t start = it->start < range->start ? it->start : range->start;
    const uint64_t end = it->end > range->end ? it->end : range->end;
    if (!is_unused(it) || end - start > range->remote->limits.max_region) return;
    range->start = start;
    range->end = end;
}

static void leave_covered(void *context, uint32_t region)
{
    const range_t *range = context;
    const fh_region_t *it = record(range->remote, region);
    if (is_unused(it) && range->start <= it->start && it->end <= range->end)
        remote_leave_region(range->remote, region);
}

static bool fits_beside_busy(const fh_remote_t *r, const fh_peer_t *p, const range_t *range)
{
    return fh_fits(p->busy, range->end - range->start, r->limits.share);
}

/* The pages of the wanted range, with the unused regions that it overlaps or touches as far as the
 * size of a region allows. */
static range_t widen(fh_remote_t *r, const fh_peer_t *p, const fh_want_t *want)
{
    const uint64_t page = (uint64_t)1 << r->table.page_shift;
    const range_t alone = {r, want->from & ~(page - 1), (want->to + page - 1) & ~(page - 1)};
    range_t range = alone;
    if (want->alone) return alone;
    fh_table_each(&r->table, want->peer, range.start < page ? 0 : range.start - page,
                  range.end + page, absorb, &range);
    return fits_beside_busy(r, p, &range) ? range : alone;
}

static void carry_leaving(fh_remote_t *r, fh_peer_t *p, fh_ask_t *ask)
{
    while (ask->unpins < r->limits.unpins && p->leaving_regions.oldest) {
        const uint32_t region = fh_list_pop(&r->table, &p->leaving_regions);
        ask->unpin[ask->unpins++] = record(r, region)->holds;
        fh_take(&p->leaving, charge(r, region));
        remote_forget(r, region);
    }
}

/* Moves unused firehoses until the share has room for the range.  False: not in this request. */
static bool remote_make_room(fh_remote_t *r, fh_peer_t *p, fh_ask_t *ask, const range_t *range)
{
    const uint64_t size = range->end - range->start;
    if (!fits_beside_busy(r, p, range)) {
        p->blocked = true;
        return false;
    }
    fh_table_each(&r->table, ask->peer, range->start, range->end, leave_covered, (void *)range);
    while (p->charged.bytes - p->leaving.bytes + size > r->limits.share.bytes ||
           p->charged.regions - p->leaving.regions + 1 > r->limits.share.regions)
        if (!evict_one(r, p)) return false;
    carry_leaving(r, p, ask);
    return fh_fits(p->charged, size, r->limits.share);
}

/* Adds the region to the request that is being composed.  False: it has no room there now. */
static bool ask_for(fh_remote_t *r, fh_peer_t *p, fh_ask_t *ask, fh_want_t *want)
{
    const range_t range = widen(r, p, want);
    if (!remote_make_room(r, p, ask, &range)) return false;
    const uint32_t region = fh_table_make(&r->table, want->peer, range.start, range.end);
    if (!region) return false;
    record(r, region)->state = FH_ASKED;
    record(r, region)->charge = (uint32_t)((range.end - range.start) >> r->table.page_shift);
    fh_add(&p->charged, range.end - range.start);
    fh_table_show(&r->table, region);
    fh_list_append(&r->table, &p->asked_regions, region);
    remote_use_region(r, region);
    want->region = region;
    remote_append(&p->asked, want);
    ask->rider[ask->pins] = want->rides && !want->rode ? want : NULL;
    ask->pin[ask->pins++] = region;
    r->misses++;
    return true;
}

/* The first that waits; false: it goes on waiting. */
static bool remote_advance(fh_remote_t *r, fh_peer_t *p, fh_ask_t *ask)
{
    fh_want_t *want = p->waiting.first;
    const uint32_t region = fh_table_find(&r->table, want->peer, want->from, want->to);
    fh_want_t *rest = want->next;
    if (region) {
        want_hit(r, p, want, region);
    } else if (ask->pins == r->limits.pins || !ask_for(r, p, ask, want))
        return false;
    p->waiting.first = rest;
    if (!rest) p->waiting.last = NULL;
    return true;
}

bool fh_remote_next(fh_remote_t *r, fh_ask_t *ask)
{
    while (r->first_due) {
        const uint32_t peer = r->first_due - 1;
        fh_peer_t *p = &r->peers[peer];
        r->first_due = p->next_due;
        if (!r->first_due) r->last_due = 0;
        p->due = false;
        if (p->dead) continue;
        ask->peer = peer;
        ask->pins = ask->unpins = 0;
        p->blocked = false;
        while (p->waiting.first && remote_advance(r, p, ask)) continue;
        carry_leaving(r, p, ask);
        if (!ask->pins && !ask->unpins) continue;
        p->in_flight = true;
        r->requests++;
        return true;
    }
    return false;
}

/* --- the answer --- */

uint32_t fh_remote_answer(fh_remote_t *r, uint32_t peer, uint32_t token, uint64_t start,
                          uint64_t end)
{
    fh_peer_t *p = &r->peers[peer];
    const uint32_t region = p->asked_regions.oldest;
    if (!region) return FH_NONE;
    fh_region_t *it = record(r, region);
    if (token && (start > it->start || end < it->end)) return FH_NONE;
    fh_list_remove(&r->table, &p->asked_regions, region);
    it->state = token ? FH_HELD : FH_DENIED;
    it->holds = token;
    fh_table_hide(&r->table, region);
    if (!token) return region;
    it->start = start;
    it->end = end;
    if (p->doubted)
        it->stale = true;
    else
        fh_table_show(&r->table, region);
    return region;
}

/* The peer could not register.  It is asked again when it has got another region back; true if
 * there is one that it may get. */
static bool try_again(fh_remote_t *r, fh_peer_t *p)
{
    if (p->leaving.regions || evict_one(r, p)) return true;
    p->blocked = p->busy.regions > 0;
    return p->blocked;
}

/* More was asked for than the pages that are wanted. */
static bool is_wider(const fh_region_t *it, const fh_want_t *want, unsigned page_shift)
{
    return it->start >> page_shift < want->from >> page_shift ||
           it->end >> page_shift > ((want->to - 1) >> page_shift) + 1;
}

/* Serves those whose region was registered.  The uses of others end: `again` is to be asked for
 * again, `denied` was refused by itself. */
static void sort_out(fh_remote_t *r, fh_wants_t *asked, fh_wants_t *again, fh_wants_t *denied)
{
    fh_want_t *want;
    while ((want = take_first(asked)) != NULL) {
        const uint32_t region = want->region;
        const fh_region_t *it = record(r, region);
        const bool refused = it->state == FH_DENIED;
        const bool wider = is_wider(it, want, r->table.page_shift);
        if (!refused && want->riding) want->rode = true;
        want->riding = false;
        if (!refused && !it->stale) {
            serve(r, want, region, FH_SERVED);
            continue;
        }
        end_use(r, region);
        remote_append(refused && (!wider || want->alone) ? denied : again, want);
        if (refused && wider) want->alone = true;
    }
}

bool fh_remote_answered(fh_remote_t *r, uint32_t peer)
{
    fh_peer_t *p = &r->peers[peer];
    fh_wants_t again = {NULL, NULL}, denied = {NULL, NULL}, asked = p->asked;
    fh_want_t *want;
    if (!p->in_flight || p->asked_regions.oldest) return false;
    p->asked = (fh_wants_t){NULL, NULL};
    p->in_flight = p->doubted = p->blocked = false;
    sort_out(r, &asked, &again, &denied);
    while ((want = take_first(&denied)) != NULL)
        if (try_again(r, p))
            remote_append(&again, want);
        else
            serve(r, want, FH_NONE, FH_DENIED_BY_PEER);
    if (again.last) {
        again.last->next = p->waiting.first;
        p->waiting.first = again.first;
        if (!p->waiting.last) p->waiting.last = again.last;
    }
    if (!p->blocked && (p->waiting.first || p->leaving.regions)) set_due(r, peer);
    return true;
}

/* --- revoked, dead --- */

static uint32_t made(const fh_remote_t *r)
{
    return r->table.capacity - r->table.unused_records;
}

void fh_remote_revoked(fh_remote_t *r, uint32_t peer, uint32_t token)
{
    fh_peer_t *p = &r->peers[peer];
    r->revocations++;
    for (uint32_t region = 1; region <= made(r); region++) {
        fh_region_t *it = record(r, region);
        if (it->peer != peer || it->holds != token || it->state != FH_HELD) continue;
        hide(r, region);
        it->stale = true;
        if (!it->uses) remote_leave_region(r, region);
        set_due(r, peer);
        return;
    }
    p->doubted = p->in_flight;
}

void fh_remote_died(fh_remote_t *r, uint32_t peer)
{
    fh_peer_t *p = &r->peers[peer];
    fh_want_t *want;
    p->dead = true;
    p->in_flight = p->blocked = false;
    while ((want = take_first(&p->asked)) != NULL) {
        end_use(r, want->region);
        serve(r, want, FH_NONE, FH_PEER_DIED);
    }
    while ((want = take_first(&p->waiting)) != NULL) serve(r, want, FH_NONE, FH_PEER_DIED);
    p->unused = p->leaving_regions = p->asked_regions = (fh_list_t){FH_NONE, FH_NONE};
    for (uint32_t region = 1; region <= made(r); region++) {
        fh_region_t *it = record(r, region);
        if (it->peer != peer || !it->state) continue;
        it->stale = true;
        it->listed = false;
        fh_table_hide(&r->table, region);
        if (!it->uses) remote_forget(r, region);
    }
}
