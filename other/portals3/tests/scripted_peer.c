/* scripted_peer.c - the peer in the mirror; see scripted_peer.h.
 *
 * Messages are copied when they are "sent", arrive in order, and are reported as sent before or
 * after they have arrived.  Transfers are memory copies at some time between, through keys that are
 * checked. */
#include "other/portals3/tests/scripted_peer.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "other/portals3/src/fastpath/short_put.h"
#include "tests/unit/script_record.h"

enum { EAGER = 8192, REGIONS = 1 << 14 };

struct wire {
    size_t size;
    unsigned char bytes[];
};

struct region {
    struct ptli_region public;
    char *base;
    uint64_t length;
    bool live;
};

static struct mirror_ways ways = {.seed = 1};

static struct mirror {
    struct ptli_transport public;
    struct ptli_peer peer;
    pthread_mutex_t lock; /* queues */
    pthread_mutex_t progress;
    pthread_t thread;
    _Atomic bool stop, broken, any;
    uint64_t random;
    script_record_t sending;         /* ptli_message, not on the wire yet */
    struct ptli_message *unreported; /* on it, not reported as sent */
    script_record_t wire;            /* struct wire */
    script_record_t transfers;       /* ptli_transfer */
    struct region regions[REGIONS];
    uint32_t next_region;
    struct ptli_published_hold *held[64];
    _Atomic int holders[64];
} mirror;

void mirror_set(struct mirror_ways wanted)
{
    ways = wanted;
}

ptl_process_id_t mirror_id(ptl_process_id_t self)
{
    self.pid ^= 1;
    return self;
}

/* With the lock. */
static uint32_t below(uint32_t bound)
{
    mirror.random = mirror.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(mirror.random >> 33) % bound;
}

static void *need(void *memory)
{
    if (!memory) abort();
    return memory;
}

/* --- down --- */

static unsigned char *add_to_wire(size_t size)
{
    struct wire *wire = need(malloc(sizeof *wire + size));
    wire->size = size;
    script_append(&mirror.wire, wire);
    return wire->bytes;
}

static void put_on_wire(const struct ptli_message *message)
{
    struct ptli_header header = message->header;
    unsigned char *bytes = add_to_wire(PTLI_WIRE_SIZE + header.data_length);
    if (header.data_length != message->data.length || header.data_length > EAGER) abort();
    header.source = mirror.peer.id;
    header.destination = mirror.public.id;
    ptli_wire_encode(&header, bytes);
    ptli_span_read(&message->data, bytes + PTLI_WIRE_SIZE);
}

static enum ptli_sent send_message(struct ptli_transport *transport, struct ptli_peer *peer,
                                   struct ptli_message *message)
{
    enum ptli_sent sent = PTLI_QUEUED;
    pthread_mutex_lock(&mirror.lock);
    if (mirror.broken) {
        sent = PTLI_REFUSED;
    } else if (!script_left(&mirror.sending) && below(2)) {
        put_on_wire(message);
        sent = PTLI_SENT;
    } else {
        script_append(&mirror.sending, message);
    }
    mirror.any = true;
    pthread_mutex_unlock(&mirror.lock);
    return sent;
}

static enum ptli_sent transfer(struct ptli_transport *transport, struct ptli_peer *peer,
                               struct ptli_transfer *transfer)
{
    enum ptli_sent sent = PTLI_QUEUED;
    pthread_mutex_lock(&mirror.lock);
    if (mirror.broken)
        sent = PTLI_REFUSED;
    else
        script_append(&mirror.transfers, transfer);
    mirror.any = true;
    pthread_mutex_unlock(&mirror.lock);
    if (sent == PTLI_REFUSED && transfer->hold)
        transport->ops->published_release(transport, transfer->hold);
    return sent;
}

static int enroll(struct ptli_transport *transport, void *base, uint64_t length,
                  struct ptli_region **out)
{
    struct region *region;
    pthread_mutex_lock(&mirror.lock);
    do region = &mirror.regions[mirror.next_region++ % REGIONS];
    while (region->live);
    *region = (struct region){{(uint32_t)(region - mirror.regions) + 1000, 0}, base, length, true};
    pthread_mutex_unlock(&mirror.lock);
    *out = &region->public;
    return PTL_OK;
}

static void expel(struct ptli_transport *transport, struct ptli_region *region)
{
    pthread_mutex_lock(&mirror.lock);
    ((struct region *)region)->live = false;
    pthread_mutex_unlock(&mirror.lock);
}

static struct ptli_peer *find(struct ptli_transport *transport, ptl_process_id_t id)
{
    return id.nid == mirror.peer.id.nid && id.pid == mirror.peer.id.pid ? &mirror.peer : NULL;
}

static unsigned long distance(struct ptli_transport *transport, ptl_process_id_t id)
{
    return id.pid != transport->id.pid;
}

/* --- the mirrored peer --- */

/* Memory that the "peer" reaches by key must be registered, every byte of it. */
static char *reach(const struct ptli_remote *remote, uint64_t length)
{
    const struct region *region = &mirror.regions[(remote->key - 1000) % REGIONS];
    char *base = (char *)(uintptr_t)remote->address;
    if (!region->live || base < region->base || base + length > region->base + region->length) {
        fprintf(stderr, "mirror: %llu bytes that are not registered\n", (unsigned long long)length);
        abort();
    }
    return base;
}

static void carry_out(struct ptli_transfer *transfer)
{
    struct ptli_stretch stretch;
    ptli_cursor_start(&transfer->here, &transfer->local);
    ptli_remote_start(&transfer->there, transfer->remote, transfer->remote_count);
    for (;;) {
        struct ptli_remote remote = ptli_remote_peek(&transfer->there);
        uint64_t most = remote.length;
        if (most > 1 && below(2)) most = 1 + below((uint32_t)most);
        stretch = ptli_cursor_next(&transfer->here, most);
        if (stretch.length == 0) return;
        if (transfer->write)
            memmove(reach(&remote, stretch.length), stretch.base, stretch.length);
        else
            memmove(stretch.base, reach(&remote, stretch.length), stretch.length);
        ptli_remote_skip(&transfer->there, (uint32_t)stretch.length);
    }
}

/* Each step does one thing, if there is one of its kind; with the lock, which it lets go to call
 * up. */
static bool report_sent(void)
{
    struct ptli_message *message = mirror.unreported;
    if (!message) return false;
    mirror.unreported = message->next;
    pthread_mutex_unlock(&mirror.lock);
    ptli_message_sent(mirror.public.engine, message, PTLI_OK);
    pthread_mutex_lock(&mirror.lock);
    return true;
}

static bool send_one(void)
{
    struct ptli_message *message = script_take(&mirror.sending);
    if (!message) return false;
    put_on_wire(message);
    message->next = mirror.unreported;
    mirror.unreported = message;
    return true;
}

/* As the transport over verbs does.  */
static void offer(const struct wire *wire)
{
    struct ptli_header header;
    struct ptli_short_run run;
    const char *wrong;
    ptli_short_begin(&run, mirror.public.engine);
    ptli_short_from(&run, &mirror.peer);
    const bool taken = ptli_short_take(&run, &mirror.peer, wire->bytes, wire->size);
    ptli_short_end(&run);
    if (taken) return;
    wrong = ptli_wire_parse(wire->bytes, wire->size, EAGER, &header);
    if (wrong)
        ptli_malformed(mirror.public.engine, &mirror.peer, wrong);
    else if (header.type < PTLI_TYPE_TRANSPORT)
        ptli_arrived(mirror.public.engine, &mirror.peer, &header, wire->bytes + PTLI_WIRE_SIZE);
}

static bool arrive(void)
{
    struct wire *wire = script_take(&mirror.wire);
    if (!wire) return false;
    pthread_mutex_unlock(&mirror.lock);
    offer(wire);
    free(wire);
    pthread_mutex_lock(&mirror.lock);
    return true;
}

static bool transfer_one(void)
{
    struct ptli_transfer *transfer = script_take(&mirror.transfers);
    if (!transfer) return false;
    carry_out(transfer);
    if (transfer->then) script_append(&mirror.sending, transfer->then);
    pthread_mutex_unlock(&mirror.lock);
    if (transfer->hold) mirror.public.ops->published_release(&mirror.public, transfer->hold);
    ptli_transferred(mirror.public.engine, transfer, PTLI_OK);
    pthread_mutex_lock(&mirror.lock);
    return true;
}

static bool step(void)
{
    static bool (*const steps[])(void) = {report_sent, send_one, arrive, transfer_one};
    uint32_t first = below(4);
    for (uint32_t i = 0; i < 4; i++)
        if (steps[(first + i) % 4]()) return true;
    return false;
}

static bool round_of(struct ptli_transport *transport)
{
    bool done = false;
    if (pthread_mutex_trylock(&mirror.progress) != 0) return false;
    pthread_mutex_lock(&mirror.lock);
    for (uint32_t i = below(4); i > 0 && !mirror.broken && step(); i--) done = true;
    if (mirror.unreported || script_left(&mirror.sending) || script_left(&mirror.wire) ||
        script_left(&mirror.transfers))
        done = true;
    pthread_mutex_unlock(&mirror.lock);
    done |= ptli_work(transport->engine);
    pthread_mutex_unlock(&mirror.progress);
    return done;
}

static bool progress(struct ptli_transport *transport, ptl_time_t timeout)
{
    static const struct timespec pause = {.tv_nsec = 100000};
    bool done = round_of(transport);
    if (!done && timeout > 0) nanosleep(&pause, NULL);
    return done;
}

static void *run(void *argument)
{
    while (!mirror.stop) progress(&mirror.public, 1);
    return NULL;
}

static int start(struct ptli_transport *transport)
{
    sigset_t all, before;
    if (!ways.thread) return PTL_OK;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_create(&mirror.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return PTL_OK;
}

static void close_mirror(struct ptli_transport *transport)
{
    mirror.stop = true;
    if (ways.thread) pthread_join(mirror.thread, NULL);
    script_clear(&mirror.wire);
    for (int i = 0; i < 64; i++) free(mirror.held[i]);
}

static void wake(struct ptli_transport *transport) {}

void mirror_break(void)
{
    struct ptli_transfer *transfer;
    struct ptli_message *message;
    pthread_mutex_lock(&mirror.progress);
    mirror.broken = true;
    pthread_mutex_lock(&mirror.lock);
    pthread_mutex_unlock(&mirror.lock);
    while ((message = script_take(&mirror.sending)))
        ptli_message_sent(mirror.public.engine, message, PTLI_FAILED);
    while ((message = mirror.unreported)) {
        mirror.unreported = message->next;
        ptli_message_sent(mirror.public.engine, message, PTLI_FAILED);
    }
    while ((transfer = script_take(&mirror.transfers))) {
        if (transfer->then) ptli_message_sent(mirror.public.engine, transfer->then, PTLI_FAILED);
        if (transfer->hold) mirror.public.ops->published_release(&mirror.public, transfer->hold);
        ptli_transferred(mirror.public.engine, transfer, PTLI_FAILED);
    }
    ptli_peer_failed(mirror.public.engine, &mirror.peer);
    pthread_mutex_unlock(&mirror.progress);
}

void mirror_inject(const void *bytes, size_t size)
{
    pthread_mutex_lock(&mirror.lock);
    memcpy(add_to_wire(size), bytes, size);
    pthread_mutex_unlock(&mirror.lock);
}

/* --- published lists --- */

static struct ptli_published_hold *published_hold(struct ptli_transport *transport,
                                                  struct ptli_peer *peer, ptl_pt_index_t pt)
{
    unsigned char bytes[PTLI_PUBLISHED_BYTES];
    struct ptli_published_hold *hold = NULL;
    size_t size;
    if (!ways.publish || pt >= 64 || mirror.broken) return NULL;
    mirror.holders[pt]++; /* noted before the list is made */
    size = ptli_publish(transport->engine, peer, pt, bytes);
    pthread_mutex_lock(&mirror.lock);
    /* While a thread uses it, or own messages are in flight, no other thread gets it. */
    if (size > 0 && !mirror.held[pt] && !script_left(&mirror.wire) &&
        !script_left(&mirror.sending)) {
        hold = need(calloc(1, sizeof *hold));
        if (ptli_published_parse(bytes, size, &hold->published)) abort();
        mirror.held[pt] = hold;
    } else {
        mirror.holders[pt]--;
    }
    pthread_mutex_unlock(&mirror.lock);
    return hold;
}

static void published_release(struct ptli_transport *transport, struct ptli_published_hold *hold)
{
    uint32_t pt = hold->published.pt_index;
    pthread_mutex_lock(&mirror.lock);
    mirror.held[pt] = NULL;
    mirror.holders[pt]--;
    pthread_mutex_unlock(&mirror.lock);
    free(hold);
}

static bool revoke_list(struct ptli_transport *transport, ptl_pt_index_t pt, ptl_time_t timeout)
{
    static const struct timespec pause = {.tv_nsec = 100000};
    while (mirror.holders[pt] > 0)
        if (!progress(transport, 0)) nanosleep(&pause, NULL);
    return true;
}

static int status(struct ptli_transport *transport, ptl_sr_index_t reg, ptl_sr_value_t *value)
{
    return PTL_SR_INDEX_INVALID;
}

static const struct ptli_launch *launch(struct ptli_transport *transport)
{
    return NULL;
}

int ptli_verbs_open(struct ptli_engine *engine, const struct ptli_launch *given, ptl_pid_t wanted,
                    struct ptli_transport **out)
{
    static const struct ptli_transport_ops ops = {
        .name = "mirror",
        .start = start,
        .close = close_mirror,
        .find = find,
        .distance = distance,
        .enroll = enroll,
        .expel = expel,
        .send = send_message,
        .transfer = transfer,
        .progress = progress,
        .wake = wake,
        .published_hold = published_hold,
        .published_release = published_release,
        .revoke = revoke_list,
        .status = status,
        .launch = launch,
    };
    memset((void *)&mirror, 0, sizeof mirror);
    pthread_mutex_init(&mirror.lock, NULL);
    pthread_mutex_init(&mirror.progress, NULL);
    mirror.random = ways.seed;
    mirror.public = (struct ptli_transport){.ops = &ops,
                                            .engine = engine,
                                            .id = {0x0a000001, 1000},
                                            .uid = geteuid(),
                                            .eager_limit = EAGER,
                                            .threaded = ways.thread};
    mirror.peer = (struct ptli_peer){.id = mirror_id(mirror.public.id), .uid = mirror.public.uid};
    *out = &mirror.public;
    return PTL_OK;
}
