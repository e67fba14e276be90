/* net_script.c - the scripted network: see net_script.h for what it does, core/network.h for what
 * it stands in for.
 */
#include "tests/unit/net_script.h"

#include <errno.h>

#include "tests/unit/script_record.h"

enum {
    PAGE = 4096,
    IDLE_TURNS = 200000, /* reaps in a row without any event: a thread waits for ever */
};

typedef struct registration {
    char *start;
    size_t size;
    bool live, mine, exposed;
} registration_t;

typedef struct transfer {
    net_script_event_t *event;
    bool ready;
} transfer_t;

net_script_t net_script;

static script_record_t events;        /* net_script_event_t */
static script_record_t registrations; /* registration_t, by id - 1 */
static script_record_t transfers;     /* transfer_t, in flight */
static script_record_t arrivals;      /* net_message_t, not yet handed over */
static net_peer_t strangers[64];      /* for arrivals before the core has peers */
static unsigned idle;

#define broken(...) script_broken("the contract of core/network.h is", __VA_ARGS__)

/* --- the record --- */

static net_script_event_t *event_at(unsigned i)
{
    return events.entry[i];
}

static net_script_event_t *record(enum net_script_kind kind, uint32_t rank)
{
    const net_script_event_t event = {.kind = kind, .rank = rank, .number = events.count};
    idle = 0;
    return script_append(&events, script_copy(&event, sizeof event));
}

unsigned net_script_count(enum net_script_kind kind)
{
    unsigned found = 0;
    for (unsigned i = events.first; i < events.count; i++) found += event_at(i)->kind == kind;
    return found;
}

const net_script_event_t *net_script_get_event(enum net_script_kind kind, int n)
{
    if (n < 0) n += (int)net_script_count(kind);
    for (unsigned i = events.first; n >= 0 && i < events.count; i++)
        if (event_at(i)->kind == kind && n-- == 0) return event_at(i);
    broken("(the test) looks at an event that did not happen");
}

void net_script_note(uint64_t tag)
{
    record(NET_SCRIPT_NOTE, 0)->tag = tag;
}

void net_script_forget(void)
{
    events.first = events.count;
}

void net_script_reset(void)
{
    for (net_message_t *m; (m = script_take(&arrivals)); free(m)) free(m->data);
    for (unsigned i = 0; i < events.count; i++) free(event_at(i)->bytes);
    script_clear(&transfers);
    script_clear(&events);
    idle = 0;
    unsigned regions = net_script.regions;
    net_script = (net_script_t){.regions = regions,
                                .caps = {.device = "a script",
                                         .inline_max = 72,
                                         .transfer_max = (size_t)1 << 30,
                                         .copy_put_max = 4096,
                                         .copy_get_max = 4096,
                                         .am_max = 4096,
                                         .region_max = SIZE_MAX,
                                         .ordered = true}};
}

/* --- start-up and memory --- */

void net_open(uint32_t peers, struct net_caps *caps)
{
    (void)peers;
    *caps = net_script.caps;
}

size_t net_address_size(void)
{
    return 1;
}

void net_address(net_peer_t *peer, void *address)
{
    (void)peer;
    memset(address, 0, 1);
}

void net_connect(net_peer_t *peer, const void *address)
{
    (void)peer;
    (void)address;
}

void net_close(void) {}

void *net_alloc(size_t size)
{
    void *memory = aligned_alloc(PAGE, (size + PAGE - 1) & ~(size_t)(PAGE - 1));
    if (memory) memset(memory, 0, size);
    return memory;
}

void net_free(void *memory)
{
    free(memory);
}

static uint32_t add_registration(void *start, size_t size, bool mine, bool exposed)
{
    const registration_t made = {start, size, true, mine, exposed};
    script_append(&registrations, script_copy(&made, sizeof made));
    return registrations.count;
}

static registration_t *registration(uint32_t id)
{
    return id && id <= registrations.count ? registrations.entry[id - 1] : NULL;
}

bool net_register(void *start, size_t size, enum net_access access, net_region_t *region)
{
    const bool remote = access == NET_REMOTE || access == NET_SEGMENT;
    *region = (net_region_t){0};
    if (size == 0 || size > net_script.caps.region_max) broken("net_register of %zu bytes", size);
    if (net_script.refuse) {
        errno = net_script.refuse;
        return false;
    }
    region->id = add_registration(start, size, true, remote);
    net_script.regions++;
    net_script_event_t *event = record(NET_SCRIPT_REGISTER, 0);
    event->local = start;
    event->length = size;
    event->region = region->id;
    event->remote_use = remote;
    return true;
}

void net_deregister(net_region_t *region)
{
    uint32_t id = region->id;
    registration_t *made = registration(id);
    *region = (net_region_t){0};
    if (!id) return;
    if (!made || !made->live || !made->mine)
        broken("net_deregister of region %u, which is none", id);
    made->live = false;
    net_script.regions--;
    record(NET_SCRIPT_DEREGISTER, 0)->region = id;
}

net_key_t net_key(const net_region_t *region)
{
    if (!region->id || !registration(region->id)->exposed)
        broken("net_key of region %u, which is not for peers", region->id);
    return (net_key_t){region->id};
}

net_key_t net_script_expose(void *start, size_t size)
{
    return (net_key_t){add_registration(start, size, false, true)};
}

void net_explain_register(int error, size_t size, char *text, size_t text_size)
{
    snprintf(text, text_size, "the script refused %zu bytes (%s); change the script", size,
             strerror(error));
}

/* --- posting --- */

static bool inside(const registration_t *r, const char *start, size_t length)
{
    return r && r->live && start >= r->start && length <= r->size &&
           (size_t)(start - r->start) <= r->size - length;
}

static void check_local(const char *call, const void *start, const net_region_t *local,
                        size_t length)
{
    if (!local && length > net_script.caps.inline_max)
        broken("%s captures %zu bytes of at most %zu", call, length, net_script.caps.inline_max);
    const registration_t *region = local ? registration(local->id) : NULL;
    if (local && (!inside(region, start, length) || !region->mine))
        broken("%s: %zu bytes at %p do not lie in local region %u", call, length, start, local->id);
}

static void check_remote(const char *call, uint64_t start, const net_key_t *key, size_t length)
{
    const registration_t *region = registration(key->id);
    if (!inside(region, (const char *)(uintptr_t)start, length) || !region->exposed)
        broken("%s: %zu bytes at %#llx do not lie in remote region %u", call, length,
               (unsigned long long)start, key->id);
    if (length == 0 || length > net_script.caps.transfer_max)
        broken("%s of %zu bytes", call, length);
}

static enum net_result answer(void)
{
    if (!net_script.connecting && !net_script.busy) return NET_POSTED;
    net_script.busy_answers++;
    idle = 0;
    if (!net_script.connecting) {
        net_script.busy--;
        return NET_BUSY;
    }
    net_script.connecting--;
    return NET_CONNECTING;
}

static enum net_result refuse_am(void)
{
    net_script.refused_ams--;
    net_script.busy_answers++;
    idle = 0;
    return net_script.refused_as;
}

static void launch(net_script_event_t *event, const gasnetc_sent_t *sent)
{
    const transfer_t transfer = {event, !net_script.hold};
    event->sent = *sent;
    script_append(&transfers, script_copy(&transfer, sizeof transfer));
}

bool net_script_ready(void)
{
    return !net_script.unready;
}

enum net_result net_script_put(net_peer_t *peer, uint64_t dst, const net_key_t *key,
                               const void *src, const net_region_t *local, size_t length,
                               enum net_order order, const gasnetc_sent_t *sent)
{
    check_remote("net_put", dst, key, length);
    check_local("net_put", src, local, length);
    enum net_result result = answer();
    if (result != NET_POSTED) return result;
    net_script_event_t *event = record(NET_SCRIPT_PUT, peer->rank);
    event->order = order;
    event->local = src;
    event->remote = dst;
    event->length = length;
    event->key = key->id;
    event->region = local ? local->id : 0;
    if (!local) event->bytes = script_copy(src, length);
    launch(event, sent);
    return NET_POSTED;
}

enum net_result net_script_get(net_peer_t *peer, void *dst, const net_region_t *local, uint64_t src,
                               const net_key_t *key, size_t length, const gasnetc_sent_t *sent)
{
    check_remote("net_get", src, key, length);
    if (!local) broken("net_get without a local region");
    check_local("net_get", dst, local, length);
    enum net_result result = answer();
    if (result != NET_POSTED) return result;
    net_script_event_t *event = record(NET_SCRIPT_GET, peer->rank);
    event->local = dst;
    event->remote = src;
    event->length = length;
    event->key = key->id;
    event->region = local->id;
    launch(event, sent);
    return NET_POSTED;
}

static void change_buffers(uint32_t rank, int by)
{
    int now = net_script.buffers[rank] += by;
    if (now < net_script.fewest[rank]) net_script.fewest[rank] = now;
    if (now > net_script.most_posted[rank]) net_script.most_posted[rank] = now;
}

enum net_result net_script_am(net_peer_t *peer, void *data, const net_region_t *local,
                              size_t length, bool wants_reply, const gasnetc_sent_t *sent)
{
    if (length == 0 || length > net_script.caps.am_max) broken("net_am of %zu bytes", length);
    check_local("net_am", data, local, length);
    enum net_result result = net_script.refused_ams ? refuse_am() : answer();
    if (result != NET_POSTED) return result;
    net_script_event_t *event = record(NET_SCRIPT_AM, peer->rank);
    event->local = data;
    event->length = length;
    event->region = local ? local->id : 0;
    event->wants_reply = wants_reply;
    event->bytes = script_copy(data, length);
    /* Writes to the bytes behind the message that the contract allows a network to change. */
    size_t padded = (length + 7) & ~(size_t)7;
    memset((char *)data + length, 0x5a, padded - length);
    if (padded + NET_AM_TAIL <= net_script.caps.am_max)
        memset((char *)data + padded, 0x5a, NET_AM_TAIL);
    change_buffers(peer->rank, wants_reply);
    launch(event, sent);
    return NET_POSTED;
}

enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    uint64_t words[2] = {word0, word1};
    enum net_result result = answer();
    if (result != NET_POSTED) return result;
    net_script_event_t *event = record(NET_SCRIPT_SYS, peer->rank);
    event->length = sizeof words;
    event->bytes = script_copy(words, sizeof words);
    return NET_POSTED;
}

/* --- reaping --- */

static transfer_t *transfer_at(unsigned i)
{
    return transfers.entry[i];
}

unsigned net_script_in_flight(void)
{
    return script_left(&transfers);
}

bool net_quiet(void)
{
    return !script_left(&transfers);
}

void net_script_complete(unsigned n)
{
    for (unsigned i = transfers.first; i < transfers.count && n; i++, n--)
        transfer_at(i)->ready = true;
}

/* The bytes travel now; what a zero-copy put sends is what its source holds at this moment. */
static void travel(const net_script_event_t *event)
{
    void *there = (void *)(uintptr_t)event->remote;
    if (event->kind == NET_SCRIPT_PUT && !event->region) {
        memcpy(there, event->bytes, event->length);
        return;
    }
    if (!inside(registration(event->region), event->local, event->length))
        broken("local region %u is given back while in use", event->region);
    if (event->kind == NET_SCRIPT_PUT) memcpy(there, event->local, event->length);
    if (event->kind == NET_SCRIPT_GET)
        memcpy((void *)(uintptr_t)event->local, there, event->length);
    if (event->kind == NET_SCRIPT_AM && memcmp(event->bytes, event->local, event->length))
        broken("an AM's buffer changed before it was sent");
}

unsigned net_script_reap(void)
{
    unsigned found = 0;
    net_script.reaps++;
    if (net_script.on_reap) net_script.on_reap();
    while (script_left(&transfers) && transfer_at(transfers.first)->ready) {
        transfer_t *transfer = script_take(&transfers);
        net_script_event_t *event = transfer->event;
        free(transfer);
        if (event->region || event->kind == NET_SCRIPT_PUT) travel(event);
        event->complete = true;
        gasnetc_sent_t sent = event->sent;
        gasnetc_sent(&sent);
        found++;
    }
    if (found)
        idle = 0;
    else if (++idle == IDLE_TURNS)
        broken("a thread waits for ever for an event that will not come");
    return found;
}

static void arrive(uint32_t rank, const void *bytes, size_t length, bool system)
{
    extern net_peer_t *net_script_peer(uint32_t rank) __attribute__((weak));
    strangers[rank].rank = rank;
    const net_message_t message = {.peer =
                                       net_script_peer ? net_script_peer(rank) : &strangers[rank],
                                   .data = script_copy(bytes, length),
                                   .length = (uint32_t)length,
                                   .system = system};
    script_append(&arrivals, script_copy(&message, sizeof message));
}

void net_script_arrive(uint32_t rank, const void *bytes, size_t length)
{
    arrive(rank, bytes, length, false);
}

void net_script_arrive_system(uint32_t rank, const void *bytes, size_t length)
{
    arrive(rank, bytes, length, true);
}

unsigned net_script_waiting(void)
{
    return script_left(&arrivals);
}

unsigned net_script_arrivals(net_message_t **messages, unsigned budget, unsigned *systems)
{
    unsigned n = 0;
    net_script.polls++;
    if (net_script.on_arrivals) net_script.on_arrivals();
    while (script_left(&arrivals) && n < budget) {
        net_message_t *message = messages[n++] = script_take(&arrivals);
        *systems += message->system;
        net_script_event_t *event = record(NET_SCRIPT_ARRIVAL, message->peer->rank);
        event->length = message->length;
        if (!message->system) change_buffers(event->rank, -1);
    }
    return n;
}

/* --- counters --- */

void net_peer_counts(const net_peer_t *peer, struct net_peer_counts *counts)
{
    *counts = (struct net_peer_counts){.by_ring = NET_SCRIPT_BY_RING, .rings = NET_SCRIPT_RINGS};
    for (unsigned i = events.first; i < events.count; i++) {
        const net_script_event_t *event = event_at(i);
        const bool put = event->kind == NET_SCRIPT_PUT, get = event->kind == NET_SCRIPT_GET;
        if (event->rank != peer->rank) continue;
        counts->puts += put;
        counts->gets += get;
        if (put) counts->put_bytes += event->length;
        if (get) counts->get_bytes += event->length;
        counts->puts_not_inlined += put && event->region;
    }
    for (unsigned i = transfers.first; i < transfers.count; i++)
        counts->in_flight += transfer_at(i)->event->rank == peer->rank;
}

void net_counts(struct net_counts *counts)
{
    *counts = (struct net_counts){.registrations = registrations.count,
                                  .spares_out = NET_SCRIPT_SPARES_OUT,
                                  .shared = NET_SCRIPT_SHARED,
                                  .connections = NET_SCRIPT_CONNECTIONS};
}

/* --- receive space --- */

static void discard(net_message_t *message, int fill)
{
    memset(message->data, fill, message->length);
    free(message->data);
    free(message);
}

net_message_t *net_script_refill(net_message_t *message, net_spare_t *spare)
{
    record(NET_SCRIPT_REFILL, message->peer->rank);
    change_buffers(message->peer->rank, 1);
    if (!spare->in_hand) net_script.pool_turns++;
    spare->in_hand = false;
    if (!net_script.no_spare) return message;
    net_message_t *moved = script_copy(message, sizeof *message);
    moved->data = script_copy(message->data, message->length);
    discard(message, 0xdd);
    return moved;
}

static void release(net_message_t *message)
{
    record(NET_SCRIPT_RELEASE, message->peer->rank)->local = message->data;
    discard(message, 0xee);
}

void net_script_release(net_message_t *message, net_spare_t *spare)
{
    if (message->system) broken("net_release of a system message");
    if (spare->in_hand) net_script.pool_turns++;
    spare->in_hand = true;
    release(message);
}

void net_release_system(net_message_t *message)
{
    if (!message->system) broken("net_release_system of an Active Message");
    release(message);
}

void net_script_spare_back(net_spare_t *spare)
{
    if (spare->in_hand) net_script.pool_turns++;
    spare->in_hand = false;
}
