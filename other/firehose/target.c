/* target.c - the state machine of target.h.  Pure: tests/unit, tests/fuzz and tests/sim run it. */
#include "other/firehose/target.h"

void fh_target_init(fh_target_t *t, fh_local_t *local, fh_hold_t *holds)
{
    const uint32_t capacity = (uint32_t)local->limits.held.regions;
    *t = (fh_target_t){
        .local = local, .holds = holds, .capacity = capacity, .unused_records = capacity};
}

static uint64_t size_of(const fh_target_t *t, const fh_hold_t *hold)
{
    return (uint64_t)hold->pages << t->local->table.page_shift;
}

static uint32_t target_make(fh_target_t *t)
{
    const uint32_t token = t->free;
    if (token) {
        t->free = t->holds[token].next;
        return token;
    }
    return t->unused_records ? t->capacity - --t->unused_records : 0;
}

/* Ends a peer's hold. The record of a hold that is to be revoked stays in the chain until
 * fh_target_next_revoked. */
static void drop(fh_target_t *t, uint32_t token)
{
    fh_hold_t *hold = &t->holds[token];
    fh_local_unhold(t->local, hold->region, size_of(t, hold));
    hold->live = false;
    if (hold->revoked) t->stale--;
    if (hold->revoked && !hold->told) return; /* fh_target_next_revoked frees it */
    hold->next = t->free;
    t->free = token;
}

/* --- requests --- */

static const char *check(const fh_target_t *t, const fh_owed_t *owed)
{
    const uint64_t below = ((uint64_t)1 << t->local->table.page_shift) - 1;
    for (const fh_owed_t *other = t->first; other; other = other->next)
        if (other->peer == owed->peer) return "a second request, before the answer to the first";
    for (uint32_t i = 0; i < owed->unpins; i++) {
        const uint32_t token = owed->unpin[i];
        if (!token || token > t->capacity || !t->holds[token].live ||
            t->holds[token].peer != owed->peer)
            return "a firehose is given back that the peer does not hold";
    }
    for (uint32_t i = 0; i < owed->pins; i++) {
        const fh_range_t *pin = &owed->pin[i];
        if (pin->start >= pin->end || ((pin->start | pin->end) & below) ||
            pin->end - pin->start > t->local->limits.max_region)
            return "an impossible region is asked for";
    }
    return NULL;
}

/* Takes returned firehoses back. A token that is twice in a request is detected, as it is not live
 * the second time. */
static const char *take_back(fh_target_t *t, const fh_owed_t *owed)
{
    for (uint32_t i = 0; i < owed->unpins; i++) {
        if (!t->holds[owed->unpin[i]].live) return "a firehose is given back twice";
        drop(t, owed->unpin[i]);
    }
    return NULL;
}

const char *fh_target_receive(fh_target_t *t, fh_owed_t *owed)
{
    const char *wrong = check(t, owed);
    if (!wrong) wrong = take_back(t, owed);
    if (wrong) return wrong;
    owed->next = NULL;
    owed->settled = 0;
    for (uint32_t i = 0; i < owed->pins; i++) owed->token[i] = 0;
    if (t->last)
        t->last->next = owed;
    else
        t->first = owed;
    t->last = owed;
    return NULL;
}

enum begun { BEGUN, LATER, NEVER };

/* Holds the next region of a request.  NEVER: the peers ask for more than their shares. */
static enum begun target_begin(fh_target_t *t, fh_owed_t *owed)
{
    const fh_range_t *pin = &owed->pin[owed->settled];
    const uint64_t size = pin->end - pin->start;
    const fh_local_t *l = t->local;
    uint32_t region;
    if (l->promised + size > l->limits.held.bytes) return NEVER;
    const uint32_t token = target_make(t);
    if (!token) return t->revoked_first ? LATER : NEVER;
    if (fh_local_hold(t->local, pin->start, pin->end, &region) == FH_FULL) {
        t->holds[token] = (fh_hold_t){.next = t->free};
        t->free = token;
        return LATER;
    }
    t->holds[token] = (fh_hold_t){.pages = (uint32_t)(size >> l->table.page_shift),
                                  .peer = owed->peer,
                                  .region = region,
                                  .live = true};
    owed->token[owed->settled] = token;
    return BEGUN;
}

/* Completes the next region of a request; false: the region is not registered yet. */
static bool settle(fh_target_t *t, fh_owed_t *owed)
{
    const enum begun begun = owed->token[owed->settled] ? BEGUN : target_begin(t, owed);
    if (begun == LATER) return false;
    if (begun == NEVER) {
        owed->settled++;
        return true;
    }
    const uint32_t token = owed->token[owed->settled];
    const uint8_t state = fh_region(&t->local->table, t->holds[token].region)->state;
    if (state != FH_REGISTERED && state != FH_FAILED) return false;
    if (state == FH_FAILED) {
        drop(t, token);
        owed->token[owed->settled] = 0;
    }
    owed->settled++;
    return true;
}

fh_owed_t *fh_target_next(fh_target_t *t)
{
    fh_owed_t *owed = t->first;
    if (!owed) return NULL;
    while (owed->settled < owed->pins)
        if (!settle(t, owed)) return NULL;
    t->first = owed->next;
    if (!t->first) t->last = NULL;
    return owed;
}

uint32_t fh_target_region(const fh_target_t *t, uint32_t token)
{
    return t->holds[token].live ? t->holds[token].region : FH_NONE;
}

/* --- unmapped memory --- */

void fh_target_revoke(fh_target_t *t)
{
    const uint32_t made = t->capacity - t->unused_records;
    for (uint32_t token = 1; token <= made; token++) {
        fh_hold_t *hold = &t->holds[token];
        if (!hold->live || hold->revoked || !fh_region(&t->local->table, hold->region)->stale)
            continue;
        hold->revoked = true;
        hold->next = 0;
        t->stale++;
        if (t->revoked_last)
            t->holds[t->revoked_last].next = token;
        else
            t->revoked_first = token;
        t->revoked_last = token;
    }
}

uint32_t fh_target_next_revoked(fh_target_t *t, uint32_t *peer, uint32_t *tokens)
{
    uint32_t count = 0;
    while (t->revoked_first && count < FH_UNPINS) {
        const uint32_t token = t->revoked_first;
        fh_hold_t *hold = &t->holds[token];
        if (hold->live && count && hold->peer != *peer) break;
        t->revoked_first = hold->next;
        if (!t->revoked_first) t->revoked_last = 0;
        if (hold->live) {
            *peer = hold->peer;
            tokens[count++] = token;
            hold->told = true;
        } else {
            hold->next = t->free;
            t->free = token;
        }
    }
    return count;
}

fh_owed_t *fh_target_died(fh_target_t *t, uint32_t peer)
{
    fh_owed_t *gone = NULL, **link = &t->first;
    t->last = NULL;
    while (*link) {
        fh_owed_t *owed = *link;
        if (owed->peer == peer) {
            *link = owed->next;
            owed->next = gone;
            gone = owed;
        } else {
            t->last = owed;
            link = &owed->next;
        }
    }
    const uint32_t made = t->capacity - t->unused_records;
    for (uint32_t token = 1; token <= made; token++)
        if (t->holds[token].live && t->holds[token].peer == peer) drop(t, token);
    return gone;
}
