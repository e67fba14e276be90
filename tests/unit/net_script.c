/* net_script.c - the scripted network: see net_script.h for what it does, core/network.h for what
 * it stands in for.
 */
#include "tests/unit/net_script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    struct transfer *next;
    unsigned event;
    bool ready;
} transfer_t;

typedef struct arrival {
    struct arrival *next;
    net_message_t message;
} arrival_t;

net_script_t net_script;

static net_script_event_t *events;
static unsigned count, capacity, forgotten;
static registration_t *registrations; /* by id - 1 */
static uint32_t made;
static transfer_t *transfers, **last_transfer = &transfers;
static arrival_t *arrivals, **last_arrival = &arrivals;
static net_peer_t strangers[64]; /* for arrivals before the core has peers */
static unsigned idle;

void net_script_broken(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("not ok - the contract of core/network.h is broken: ");
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
    _exit(3);
}

/* --- the record --- */

static net_script_event_t *record(enum net_script_kind kind, uint32_t rank)
{
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 64;
        events = realloc(events, capacity * sizeof *events);
        if (!events) abort();
    }
    idle = 0;
    events[count] = (net_script_event_t){.kind = kind, .rank = rank};
    return &events[count++];
}

static uint8_t *copy_of(const void *bytes, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);
    if (!copy) abort();
    if (length) memcpy(copy, bytes, length);
    return copy;
}

unsigned net_script_count(enum net_script_kind kind)
{
    unsigned found = 0;
    for (unsigned i = forgotten; i < count; i++) found += events[i].kind == kind;
    return found;
}

const net_script_event_t *net_script_get_event(enum net_script_kind kind, int n)
{
    if (n < 0) n += (int)net_script_count(kind);
    for (unsigned i = forgotten; n >= 0 && i < count; i++)
        if (events[i].kind == kind && n-- == 0) return &events[i];
    printf("Bail out! the test looks at a network event that did not happen\n");
    fflush(stdout);
    _exit(3);
}

unsigned net_script_order(const net_script_event_t *event)
{
    return (unsigned)(event - events);
}

void net_script_note(uint64_t tag)
{
    record(NET_SCRIPT_NOTE, 0)->tag = tag;
}

void net_script_forget(void)
{
    forgotten = count;
}

void net_script_reset(void)
{
    while (transfers) {
        transfer_t *next = transfers->next;
        free(transfers);
        transfers = next;
    }
    while (arrivals) {
        arrival_t *next = arrivals->next;
        free(arrivals->message.data);
        free(arrivals);
        arrivals = next;
    }
    for (unsigned i = 0; i < count; i++) free(events[i].bytes);
    last_transfer = &transfers;
    last_arrival = &arrivals;
    count = forgotten = idle = 0;
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
    registrations = realloc(registrations, (made + 1) * sizeof *registrations);
    if (!registrations) abort();
    registrations[made++] = (registration_t){start, size, true, mine, exposed};
    return made;
}

bool net_register(void *start, size_t size, enum net_access access, net_region_t *region)
{
    const bool remote = access == NET_REMOTE || access == NET_SEGMENT;
    *region = (net_region_t){0};
    if (size == 0 || size > net_script.caps.region_max)
        net_script_broken("net_register of %zu bytes", size);
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
    *region = (net_region_t){0};
    if (!id) return;
    if (id > made || !registrations[id - 1].live || !registrations[id - 1].mine)
        net_script_broken("net_deregister of region %u, which is none", id);
    registrations[id - 1].live = false;
    net_script.regions--;
    record(NET_SCRIPT_DEREGISTER, 0)->region = id;
}

net_key_t net_key(const net_region_t *region)
{
    if (!region->id || !registrations[region->id - 1].exposed)
        net_script_broken("net_key of region %u, which is not for peers", region->id);
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

static bool inside(uint32_t id, const char *start, size_t length)
{
    const registration_t *r = &registrations[id - 1];
    return r->live && start >= r->start && length <= r->size &&
           (size_t)(start - r->start) <= r->size - length;
}

static void check_local(const char *call, const void *start, const net_region_t *local,
                        size_t length)
{
    if (!local && length > net_script.caps.inline_max)
        net_script_broken("%s captures %zu bytes of at most %zu", call, length,
                          net_script.caps.inline_max);
    if (local && (!local->id || local->id > made || !registrations[local->id - 1].mine ||
                  !inside(local->id, start, length)))
        net_script_broken("%s: %zu bytes at %p do not lie in local region %u", call, length, start,
                          local->id);
}

static void check_remote(const char *call, uint64_t start, const net_key_t *key, size_t length)
{
    if (!key->id || key->id > made || !registrations[key->id - 1].exposed ||
        !inside(key->id, (const char *)(uintptr_t)start, length))
        net_script_broken("%s: %zu bytes at %#llx do not lie in remote region %u", call, length,
                          (unsigned long long)start, key->id);
    if (length == 0 || length > net_script.caps.transfer_max)
        net_script_broken("%s of %zu bytes", call, length);
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

static void launch(const gasnetc_sent_t *sent)
{
    transfer_t *transfer = calloc(1, sizeof *transfer);
    if (!transfer) abort();
    events[count - 1].sent = *sent;
    transfer->event = count - 1;
    transfer->ready = !net_script.hold;
    *last_transfer = transfer;
    last_transfer = &transfer->next;
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
    if (!local) event->bytes = copy_of(src, length);
    launch(sent);
    return NET_POSTED;
}

enum net_result net_script_get(net_peer_t *peer, void *dst, const net_region_t *local, uint64_t src,
                               const net_key_t *key, size_t length, const gasnetc_sent_t *sent)
{
    check_remote("net_get", src, key, length);
    if (!local) net_script_broken("net_get without a local region");
    check_local("net_get", dst, local, length);
    enum net_result result = answer();
    if (result != NET_POSTED) return result;
    net_script_event_t *event = record(NET_SCRIPT_GET, peer->rank);
    event->local = dst;
    event->remote = src;
    event->length = length;
    event->key = key->id;
    event->region = local->id;
    launch(sent);
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
    if (length == 0 || length > net_script.caps.am_max)
        net_script_broken("net_am of %zu bytes", length);
    check_local("net_am", data, local, length);
    enum net_result result = net_script.refused_ams ? refuse_am() : answer();
    if (result != NET_POSTED) return result;
    net_script_event_t *event = record(NET_SCRIPT_AM, peer->rank);
    event->local = data;
    event->length = length;
    event->region = local ? local->id : 0;
    event->wants_reply = wants_reply;
    event->bytes = copy_of(data, length);
    /* Writes to the bytes behind the message that the contract allows a network to change. */
    size_t padded = (length + 7) & ~(size_t)7;
    memset((char *)data + length, 0x5a, padded - length);
    if (padded + NET_AM_TAIL <= net_script.caps.am_max)
        memset((char *)data + padded, 0x5a, NET_AM_TAIL);
    change_buffers(peer->rank, wants_reply);
    launch(sent);
    return NET_POSTED;
}

enum net_result net_sys(net_peer_t *peer, uint64_t word0, uint64_t word1)
{
    uint64_t words[2] = {word0, word1};
    enum net_result result = answer();
    if (result != NET_POSTED) return result;
    net_script_event_t *event = record(NET_SCRIPT_SYS, peer->rank);
    event->length = sizeof words;
    event->bytes = copy_of(words, sizeof words);
    return NET_POSTED;
}

/* --- reaping --- */

unsigned net_script_in_flight(void)
{
    unsigned n = 0;
    for (const transfer_t *t = transfers; t; t = t->next) n++;
    return n;
}

bool net_quiet(void)
{
    return !transfers;
}

void net_script_complete(unsigned n)
{
    for (transfer_t *t = transfers; t && n; t = t->next, n--) t->ready = true;
}

/* The bytes travel now; what a zero-copy put sends is what its source holds at this moment. */
static void travel(const net_script_event_t *event)
{
    void *there = (void *)(uintptr_t)event->remote;
    if (event->kind == NET_SCRIPT_PUT && !event->region) {
        memcpy(there, event->bytes, event->length);
        return;
    }
    if (!inside(event->region, event->local, event->length))
        net_script_broken("local region %u is given back while in use", event->region);
    if (event->kind == NET_SCRIPT_PUT) memcpy(there, event->local, event->length);
    if (event->kind == NET_SCRIPT_GET)
        memcpy((void *)(uintptr_t)event->local, there, event->length);
    if (event->kind == NET_SCRIPT_AM && memcmp(event->bytes, event->local, event->length))
        net_script_broken("an AM's buffer changed before it was sent");
}

unsigned net_script_reap(void)
{
    unsigned found = 0;
    net_script.reaps++;
    if (net_script.on_reap) net_script.on_reap();
    while (transfers && transfers->ready) {
        transfer_t *transfer = transfers;
        transfers = transfer->next;
        if (!transfers) last_transfer = &transfers;
        net_script_event_t *event = &events[transfer->event];
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
        net_script_broken("a thread waits for ever for an event that will not come");
    return found;
}

static void arrive(uint32_t rank, const void *bytes, size_t length, bool system)
{
    extern net_peer_t *net_script_peer(uint32_t rank) __attribute__((weak));
    arrival_t *arrival = calloc(1, sizeof *arrival);
    if (!arrival) abort();
    strangers[rank].rank = rank;
    arrival->message =
        (net_message_t){.peer = net_script_peer ? net_script_peer(rank) : &strangers[rank],
                        .data = copy_of(bytes, length),
                        .length = (uint32_t)length,
                        .system = system};
    *last_arrival = arrival;
    last_arrival = &arrival->next;
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
    unsigned n = 0;
    for (const arrival_t *a = arrivals; a; a = a->next) n++;
    return n;
}

unsigned net_script_arrivals(net_message_t **messages, unsigned budget, unsigned *systems)
{
    unsigned n = 0;
    net_script.polls++;
    if (net_script.on_arrivals) net_script.on_arrivals();
    while (arrivals && n < budget) {
        arrival_t *arrival = arrivals;
        arrivals = arrival->next;
        if (!arrivals) last_arrival = &arrivals;
        messages[n++] = &arrival->message;
        *systems += arrival->message.system;
        net_script_event_t *event = record(NET_SCRIPT_ARRIVAL, arrival->message.peer->rank);
        event->length = arrival->message.length;
        if (!arrival->message.system) change_buffers(event->rank, -1);
    }
    return n;
}

/* --- counters --- */

void net_peer_counts(const net_peer_t *peer, struct net_peer_counts *counts)
{
    *counts = (struct net_peer_counts){.by_ring = NET_SCRIPT_BY_RING, .rings = NET_SCRIPT_RINGS};
    for (unsigned i = forgotten; i < count; i++) {
        enum net_script_kind kind = events[i].kind;
        if (events[i].rank != peer->rank) continue;
        counts->puts += kind == NET_SCRIPT_PUT;
        if (kind == NET_SCRIPT_PUT) counts->put_bytes += events[i].length;
        if (kind == NET_SCRIPT_GET) counts->get_bytes += events[i].length;
        counts->gets += kind == NET_SCRIPT_GET;
        counts->puts_not_inlined += kind == NET_SCRIPT_PUT && events[i].region;
    }
    for (const transfer_t *t = transfers; t; t = t->next)
        counts->in_flight += events[t->event].rank == peer->rank;
}

void net_counts(struct net_counts *counts)
{
    *counts = (struct net_counts){.registrations = made,
                                  .spares_out = NET_SCRIPT_SPARES_OUT,
                                  .shared = NET_SCRIPT_SHARED,
                                  .connections = NET_SCRIPT_CONNECTIONS};
}

/* --- receive space --- */

static arrival_t *arrival_of(net_message_t *message)
{
    return (arrival_t *)(void *)((char *)message - offsetof(arrival_t, message));
}

net_message_t *net_script_refill(net_message_t *message, net_spare_t *spare)
{
    record(NET_SCRIPT_REFILL, message->peer->rank);
    change_buffers(message->peer->rank, 1);
    if (!spare->in_hand) net_script.pool_turns++;
    spare->in_hand = false;
    if (!net_script.no_spare) return message;
    arrival_t *moved = calloc(1, sizeof *moved);
    if (!moved) abort();
    moved->message = *message;
    moved->message.data = copy_of(message->data, message->length);
    memset(message->data, 0xdd, message->length);
    free(message->data);
    free(arrival_of(message));
    return &moved->message;
}

static void release(net_message_t *message)
{
    record(NET_SCRIPT_RELEASE, message->peer->rank)->local = message->data;
    memset(message->data, 0xee, message->length);
    free(message->data);
    free(arrival_of(message));
}

void net_script_release(net_message_t *message, net_spare_t *spare)
{
    if (message->system) net_script_broken("net_release of a system message");
    if (spare->in_hand) net_script.pool_turns++;
    spare->in_hand = true;
    release(message);
}

void net_release_system(net_message_t *message)
{
    if (!message->system) net_script_broken("net_release_system of an Active Message");
    release(message);
}

void net_script_spare_back(net_spare_t *spare)
{
    if (spare->in_hand) net_script.pool_turns++;
    spare->in_hand = false;
}
