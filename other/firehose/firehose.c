/* firehose.c - an instance of the cache: its memory, and the calls for memory of this process.
 *
 * remote_calls.c has those for memory of peers; work.c does what the state machines say.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/firehose/engine.h"
#include "other/firehose/hit.h"

/* --- begin and end --- */

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

static fh_amount_t share_of(const firehose_config_t *config)
{
    const uint32_t peers = config->nodes > 1 ? config->nodes - 1 : 1;
    return (fh_amount_t){config->sizes.m / peers / config->page * config->page,
                         config->sizes.r / peers};
}

/* The number of regions that a message has room for: in a request each region takes a pin and two
 * tokens of returned firehoses, in a reply a pin and a key. */
static uint32_t pins_of(const firehose_config_t *config)
{
    const size_t back = 2 * FH_TOKEN;
    const size_t each = FH_PIN + (config->key_size > back ? config->key_size : back);
    if (config->max_message < fh_message_size(FH_UNPINS, 0, 0) ||
        config->max_message < fh_message_size(2, 1, config->key_size))
        return 0;
    const size_t pins = (config->max_message - FH_HEADER) / each;
    return pins < FH_PINS ? (uint32_t)pins : FH_PINS;
}

static bool is_possible(const firehose_config_t *config)
{
    const firehose_sizes_t *s = &config->sizes;
    const fh_amount_t share = share_of(config);
    if (!is_power_of_two(config->page) || !s->max_region || s->max_region % config->page ||
        s->maxvictim_m < s->max_region || !s->maxvictim_r || s->r + s->maxvictim_r > UINT32_MAX / 4)
        return false;
    return config->nodes <= 1 || (share.bytes >= s->max_region && share.regions && pins_of(config));
}

static void init_machines(firehose_t *fh, uint32_t local_regions, void *local, void *remote,
                          void *peers, void *holds)
{
    const firehose_config_t *config = &fh->config;
    const firehose_sizes_t *s = &config->sizes;
    const unsigned page_shift = (unsigned)__builtin_ctzll(config->page);
    const bool alone = config->nodes <= 1;
    const fh_local_limits_t limits = {
        .held = {alone ? 0 : s->m, alone ? 0 : s->r},
        .used = {s->maxvictim_m, s->maxvictim_r},
        .max_region = s->max_region,
    };
    fh_local_init(&fh->local, &limits, local_regions, page_shift, local);
    if (alone) return;
    fh_target_init(&fh->target, &fh->local, holds);
    const uint32_t pins = pins_of(config);
    const fh_remote_limits_t remote_limits = {
        .share = share_of(config), .max_region = s->max_region, .pins = pins, .unpins = 2 * pins};
    fh_remote_init(&fh->remote, &remote_limits, (uint32_t)s->r, page_shift, remote, peers);
}

static void add_prepinned(firehose_t *fh)
{
    const firehose_config_t *config = &fh->config;
    for (uint32_t i = 0; i < config->prepinned_count; i++) {
        const firehose_prepinned_t *it = &config->prepinned[i];
        const uint32_t region = fh_local_permanent(&fh->local, it->addr, it->addr + it->len);
        memcpy(fh_local_key(fh, region), it->key, config->key_size);
    }
}

static void fill_info(const firehose_t *fh, firehose_info_t *info)
{
    const firehose_config_t *config = &fh->config;
    const bool alone = config->nodes <= 1;
    /* The ends may lie in two pages more than it has. */
    const uint64_t most =
        config->sizes.max_region > config->page ? config->sizes.max_region - config->page : 1;
    *info = (firehose_info_t){
        .max_local = most,
        .max_remote = alone ? 0 : most,
        .local_regions = fh->local.most.regions,
        .remote_regions_per_peer = alone ? 0 : share_of(config).regions,
        .remote_bytes_per_peer = alone ? 0 : share_of(config).bytes,
    };
}

firehose_t *firehose_init(const firehose_config_t *config, firehose_info_t *info)
{
    if (!is_possible(config)) {
        errno = EINVAL;
        return NULL;
    }
    const bool alone = config->nodes <= 1;
    const uint32_t held = alone ? 0 : (uint32_t)config->sizes.r;
    const uint32_t local_regions =
        held + (uint32_t)config->sizes.maxvictim_r + config->prepinned_count + FH_LOCAL_SPARE;
    firehose_t *fh = calloc(1, sizeof *fh);
    void *local = calloc(1, fh_table_bytes(local_regions));
    void *remote = calloc(1, fh_table_bytes(held)), *holds = calloc(held + 1, sizeof(fh_hold_t));
    void *peers = calloc(config->nodes, sizeof(fh_peer_t));
    uint8_t *local_keys = calloc(local_regions + 1, config->key_size + !config->key_size);
    uint8_t *remote_keys = calloc(held + 1, config->key_size + !config->key_size);
    if (!fh || !local || !remote || !holds || !peers || !local_keys || !remote_keys) {
        free(fh), free(local), free(remote), free(holds), free(peers);
        free(local_keys), free(remote_keys);
        errno = ENOMEM;
        return NULL;
    }
    fh->config = *config;
    fh->local_keys = local_keys;
    fh->remote_keys = remote_keys;
    fh->memory[0] = local, fh->memory[1] = remote, fh->memory[2] = holds, fh->memory[3] = peers;
    init_machines(fh, local_regions, local, remote, peers, holds);
    add_prepinned(fh);
    if (info) fill_info(fh, info);
    return fh;
}

static void free_letters(fh_letter_t *letter)
{
    while (letter) {
        fh_letter_t *next = letter->next;
        free(letter);
        letter = next;
    }
}

/* Regions that peers hold are deregistered as well: their processes end too. */
static void unpin_all(firehose_t *fh)
{
    const firehose_callbacks_t *call = &fh->config.callbacks;
    const fh_table_t *t = &fh->local.table;
    for (uint32_t region = 1; region <= t->capacity - t->unused_records; region++) {
        const fh_region_t *r = fh_region(t, region);
        if (r->permanent || (r->state != FH_REGISTERED && r->state != FH_DOOMED)) continue;
        call->unpin(call->context, (uintptr_t)r->start, (size_t)(r->end - r->start),
                    fh_local_key(fh, region));
    }
}

void firehose_fini(firehose_t *fh, int unpin)
{
    if (unpin) unpin_all(fh);
    for (fh_owed_t *owed = fh->target.first, *next; owed; owed = next) {
        next = owed->next;
        free(owed);
    }
    free_letters(fh->spare);
    free_letters(fh->replies.first);
    free_letters(fh->requests.first);
    for (unsigned i = 0; i < sizeof fh->memory / sizeof *fh->memory; i++) free(fh->memory[i]);
    free(fh->local_keys);
    free(fh->remote_keys);
    free(fh);
}

/* --- memory of this process --- */

static bool is_right(const firehose_t *fh, uintptr_t addr, size_t len)
{
    const uint64_t below = fh->config.page - 1;
    return len > 0 && addr + len > addr &&
           ((addr + len + below) & ~below) - (addr & ~below) <= fh->config.sizes.max_region;
}

static int failed(firehose_t *fh, uint32_t region)
{
    const fh_region_t *r = fh_region(&fh->local.table, region);
    const int code = r->bad ? EFAULT : ENOMEM;
    snprintf(fh->error, sizeof fh->error,
             code == EFAULT
                 ? "the %llu bytes at %#llx cannot be registered: no such memory"
                 : "the system refuses to register the %llu bytes at %#llx, while %llu bytes in "
                   "%llu regions are registered, all of them in use",
             (unsigned long long)(r->end - r->start), (unsigned long long)r->start,
             (unsigned long long)fh->local.present.bytes,
             (unsigned long long)fh->local.present.regions);
    fh_local_release(&fh->local, region);
    return code;
}

/* Makes progress once, without the lock. */
static void wait_a_little(firehose_t *fh)
{
    const firehose_callbacks_t *call = &fh->config.callbacks;
    if (fh_work(fh)) return;
    fh_unlock(fh);
    call->progress(call->context);
    fh_lock(fh);
}

/* FH_NONE and errno: it cannot be registered. */
static uint32_t pin_local(firehose_t *fh, fh_span_t span)
{
    uint64_t ticket = 0;
    uint32_t region;
    while (fh_local_use(&fh->local, span, &ticket, &region) == FH_FULL) wait_a_little(fh);
    const fh_region_t *r = fh_region(&fh->local.table, region);
    while (r->state != FH_REGISTERED && r->state != FH_FAILED) wait_a_little(fh);
    if (r->state == FH_REGISTERED) return region;
    errno = failed(fh, region);
    return FH_NONE;
}

int firehose_local_pin(firehose_t *fh, uintptr_t addr, size_t len, firehose_request_t *request)
{
    if (!is_right(fh, addr, len)) {
        errno = EINVAL;
        return -1;
    }
    fh_lock(fh);
    fh_span_t span = {addr, addr + len, false};
    uint32_t region = pin_local(fh, span);
    span.alone = true;
    if (!region) region = pin_local(fh, span);
    const int code = errno;
    if (region) fh_fill_local(fh, region, request);
    fh_unlock(fh);
    if (region) return 0;
    errno = code;
    return -1;
}

static int answer(const firehose_t *fh, uint32_t region, firehose_request_t *request)
{
    if (region) fh_fill_local(fh, region, request);
    return region != FH_NONE;
}

int firehose_try_local_pin(firehose_t *fh, uintptr_t addr, size_t len, firehose_request_t *request)
{
    fh_lock(fh);
    const int pinned = answer(fh, fh_local_try(&fh->local, addr, addr + len), request);
    fh_unlock(fh);
    return pinned;
}

int firehose_partial_local_pin(firehose_t *fh, uintptr_t addr, size_t len,
                               firehose_request_t *request)
{
    fh_lock(fh);
    uint32_t region = fh_table_first(&fh->local.table, 0, addr, addr + len);
    if (region) {
        const fh_region_t *r = fh_region(&fh->local.table, region);
        region = fh_local_try(&fh->local, r->start, r->end);
    }
    const int pinned = answer(fh, region, request);
    fh_unlock(fh);
    return pinned;
}

bool firehose_hit_last(firehose_t *fh, uint32_t region)
{
    fh_local_release(&fh->local, region);
    return fh->local.to_deregister.oldest != FH_NONE;
}

/* --- unmapped memory, counters --- */

size_t firehose_invalidate(firehose_t *fh, uintptr_t addr, size_t len)
{
    fh_lock(fh);
    if (len && fh_local_invalidate(&fh->local, addr, addr + len)) fh_target_revoke(&fh->target);
    const size_t left = fh->local.stale;
    fh_unlock(fh);
    return left;
}

size_t firehose_stale(firehose_t *fh)
{
    fh_lock(fh);
    const size_t left = fh->local.stale;
    fh_unlock(fh);
    return left;
}

void firehose_get_counters(firehose_t *fh, firehose_counters_t *counters)
{
    fh_lock(fh);
    firehose_read_counters(fh, counters);
    fh_unlock(fh);
}

const char *firehose_error(firehose_t *fh)
{
    return fh->error;
}
