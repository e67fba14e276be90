/* firehose.c - other/firehose between up to 5,000 nodes: all put to all, over more memory than may
 * be registered; messages are delayed and reordered, networks are busy, systems refuse to register,
 * programs unmap memory, nodes stall and die.
 *
 * Runs the whole library. Never allowed: a transfer by a registration that is gone, more registered
 * memory than the pools allow, a look-up that finds unmapped memory. Required: every transfer comes
 * to its end. The number of registrations is compared with the misses of LRU on the same trace.
 */
#include "other/firehose/include/firehose.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

enum { PAGE = 4096, BASE = 1 << 20, MANY = 5000, MOST_DEAD = 3, MESSAGE = 600, DATA = 64 };

/* A registration as the system has it; its key is its number and its generation. */
typedef struct registration {
    uintptr_t addr;
    size_t len;
    uint32_t generation;
    bool live;
} registration_t;

typedef struct put {
    struct put *next;
    uint32_t node, peer;
    uintptr_t from, to;
    size_t len;
    firehose_request_t remote, local;
    bool delivered; /* the put's data rode on the request */
} put_t;

typedef struct node {
    firehose_t *fh;
    uint32_t id;
    registration_t *registrations; /* the first `used` are set */
    uint32_t used;
    uint64_t bytes, regions, made; /* registered; ever */
    bool locked;
    uint32_t begun, ended, in_flight;
    put_t *ready, *last_ready;     /* remote ends are pinned */
    uint32_t dead_known;           /* bits */
    uint32_t giving, giving_pages; /* memory that is being unmapped: first page, and number of
                                      pages */
    uint64_t *stamps;              /* of LRU, by regions; 0: not in its cache */
    uint64_t lru_present, lru_misses, accesses;
} node_t;

static struct world {
    uint32_t nodes, peers; /* how many each node puts to */
    uint32_t pages;        /* of each node's memory */
    uint32_t region;       /* pages of one region at most */
    uint32_t puts, window; /* of each node, in all and at a time */
    bool grid;             /* puts are to whole regions */
    unsigned busy;         /* percent of messages that the network does not take at once */
    uint64_t refuse;       /* registrations beyond so many bytes; 0: never */
    unsigned rides;        /* percent of puts with data that may ride */
    bool receivers_only;   /* node 0 alone puts */
    firehose_sizes_t sizes;
    uint32_t dead[MOST_DEAD], dead_count;
    uint64_t served, failed, rode;
} w;
static node_t *nodes;
static sim_link_t link;

static uintptr_t address(uint32_t page)
{
    return BASE + (uintptr_t)page * PAGE;
}

/* --- the misses of LRU with the same memory --- */

static void lru(node_t *n, uintptr_t addr)
{
    if (!w.grid) return;
    const uint32_t count = w.pages / w.region, i = (uint32_t)((addr - BASE) / PAGE / w.region);
    n->accesses++;
    if (!n->stamps[i]) {
        n->lru_misses++;
        if (n->lru_present == w.sizes.r + w.sizes.maxvictim_r) {
            uint32_t oldest = i;
            for (uint32_t k = 0; k < count; k++)
                if (n->stamps[k] && (oldest == i || n->stamps[k] < n->stamps[oldest])) oldest = k;
            n->stamps[oldest] = 0;
        } else
            n->lru_present++;
    }
    n->stamps[i] = n->accesses;
}

/* --- the system and the network --- */

static void lock(void *context)
{
    node_t *n = context;
    sim_check(!n->locked, n->id, "acquires its lock twice");
    n->locked = true;
}

static void unlock(void *context)
{
    node_t *n = context;
    sim_check(n->locked, n->id, "releases a lock that it has not");
    n->locked = false;
}

static firehose_outcome_t pin(void *context, uintptr_t addr, size_t len, void *key)
{
    node_t *n = context;
    sim_check(!n->locked && addr % PAGE == 0 && len % PAGE == 0 && len, n->id, "pins wrongly");
    if (addr < BASE || addr + len > address(w.pages)) return FIREHOSE_INVALID;
    if (w.refuse && n->bytes + len > w.refuse) return FIREHOSE_REFUSED;
    const uint64_t most = w.sizes.r + w.sizes.maxvictim_r;
    n->bytes += len;
    n->regions++;
    n->made++;
    sim_check(n->bytes <= w.sizes.m + w.sizes.maxvictim_m && n->regions <= most, n->id,
              "%ju bytes in %ju regions are registered", (uintmax_t)n->bytes,
              (uintmax_t)n->regions);
    uint32_t i = 0;
    while (i < n->used && n->registrations[i].live) i++;
    registration_t *r = &n->registrations[i];
    if (i == n->used) n->registrations[n->used++].generation = 0;
    *r = (registration_t){addr, len, r->generation + 1, true};
    memcpy(key, (uint32_t[]){i, r->generation}, 8);
    sim_note(n->id, "registers pages %zu to %zu as %u", (size_t)(addr - BASE) / PAGE,
             (size_t)(addr + len - BASE) / PAGE, i);
    return FIREHOSE_PINNED;
}

static registration_t *find(node_t *n, const void *key)
{
    uint32_t word[2];
    memcpy(word, key, sizeof word);
    registration_t *r = &n->registrations[word[0]];
    return r->live && r->generation == word[1] ? r : NULL;
}

static void unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    node_t *n = context;
    registration_t *r = find(n, key);
    sim_check(!n->locked && r && r->addr == addr && r->len == len, n->id,
              "deregisters what is not registered");
    sim_note(n->id, "deregisters pages %zu to %zu", (size_t)(addr - BASE) / PAGE,
             (size_t)(addr + len - BASE) / PAGE);
    r->live = false;
    n->bytes -= len;
    n->regions--;
}

static bool knows_dead(const node_t *n, uint32_t peer)
{
    for (uint32_t i = 0; i < w.dead_count; i++)
        if (w.dead[i] == peer && (n->dead_known & (1u << i))) return true;
    return false;
}

/* The script goes on; a node whose script has ended serves its peers here. */
static void go_on(node_t *n)
{
    if (sim_ended(n->id))
        while (firehose_poll(n->fh)) continue;
    else
        sim_wake(n->id);
}

static void arrive(const sim_message_t *m)
{
    node_t *n = &nodes[m->to];
    if (knows_dead(n, m->from)) return;
    sim_concerns(m->from);
    const char *wrong = firehose_receive(n->fh, m->from, m->data, m->number);
    sim_check(!wrong, m->to, "receives of node %u: %s", m->from, wrong);
    go_on(n);
}

static void retry(const sim_message_t *m)
{
    go_on(&nodes[m->to]);
}

static int send(void *context, uint32_t peer, const void *bytes, size_t size)
{
    node_t *n = context;
    sim_check(!n->locked && size <= MESSAGE && peer < w.nodes && peer != n->id, n->id,
              "sends %zu bytes to node %u", size, peer);
    if (sim_chance(w.busy)) {
        sim_after(1 + sim_below(20), retry, &(sim_message_t){.to = n->id});
        return 0;
    }
    void *copy = sim_alloc(size);
    memcpy(copy, bytes, size);
    sim_note(n->id, "sends %zu bytes of kind %u to %u", size, ((const uint8_t *)bytes)[3], peer);
    sim_send(&link, arrive,
             &(sim_message_t){.from = n->id, .to = peer, .number = (uint32_t)size, .data = copy});
    return 1;
}

/* Data is the put that it belongs to. */
static void receive_data(void *context, uint32_t peer, uintptr_t addr, const void *data,
                         size_t size)
{
    node_t *n = context;
    put_t *p;
    memcpy(&p, data, sizeof p);
    sim_check(size == DATA && addr <= p->to && p->node == peer && p->peer == n->id && !p->delivered,
              n->id, "gets wrong data of node %u, or twice", peer);
    p->delivered = true;
}

static size_t make_data(void *context, void *buffer)
{
    put_t *p = context;
    memset(buffer, 0, DATA);
    memcpy(buffer, &p, sizeof p);
    return DATA;
}

static void progress(void *context)
{
    node_t *n = context;
    sim_check(!n->locked, n->id, "waits with its lock");
    sim_wait();
}

/* --- puts --- */

static void check_live(node_t *n, const firehose_request_t *q, uintptr_t addr, size_t len)
{
    const registration_t *r = find(n, q->key);
    sim_check(r && r->addr <= addr && addr + len <= r->addr + r->len, n->id,
              "is reached by a registration that is gone");
}

/* The device moves the data. */
static void transfer(const sim_message_t *m)
{
    put_t *p = m->data;
    node_t *n = &nodes[p->node];
    sim_concerns(p->peer);
    check_live(n, &p->local, p->from, p->len);
    if (sim_alive(p->peer)) check_live(&nodes[p->peer], &p->remote, p->to, p->len);
    firehose_release(n->fh, (firehose_request_t[]){p->remote, p->local}, 2);
    n->in_flight--;
    n->ended++;
    w.served++;
    go_on(n);
}

static void pinned(void *context, const firehose_request_t *request, firehose_result_t result)
{
    put_t *p = context;
    node_t *n = &nodes[p->node];
    sim_check(!n->locked && (!request) == (result > FIREHOSE_OK_DATA_RODE), p->node, "half pinned");
    sim_check(!request || p->delivered == (result == FIREHOSE_OK_DATA_RODE), p->node,
              "is told wrongly whether its data rode to node %u", p->peer);
    if (!request || result == FIREHOSE_OK_DATA_RODE) {
        sim_check(request || result == FIREHOSE_DEAD ? request || knows_dead(n, p->peer)
                                                     : w.refuse > 0,
                  p->node, "is denied memory of node %u", p->peer);
        if (request) firehose_release(n->fh, request, 1);
        w.failed += !request;
        w.rode += request != NULL;
        n->in_flight--;
        n->ended++;
        return;
    }
    sim_check(request->addr <= p->to && p->to + p->len <= request->addr + request->len, p->node,
              "has not what it asked node %u for", p->peer);
    p->remote = *request;
    p->next = NULL;
    if (n->last_ready)
        n->last_ready->next = p;
    else
        n->ready = p;
    n->last_ready = p;
}

static void begin_put(node_t *n)
{
    put_t *p = sim_alloc(sizeof *p);
    const uint32_t step = 1 + sim_below(w.peers), pages = w.pages - w.region + 1;
    *p = (put_t){.node = n->id, .peer = (n->id + step) % w.nodes};
    if (w.grid) {
        p->len = (size_t)w.region * PAGE;
        p->to = address(sim_below(w.pages / w.region) * w.region);
        p->from = address(sim_below(w.pages / w.region) * w.region);
    } else {
        p->len = 1 + sim_below(w.region * PAGE);
        p->to = address(sim_below(pages)) + sim_below((uint32_t)(w.region * PAGE - p->len + 1));
        p->from = address(sim_below(pages)) + sim_below((uint32_t)(w.region * PAGE - p->len + 1));
    }
    n->begun++;
    n->in_flight++;
    lru(&nodes[p->peer], p->to);
    const firehose_remote_args_t args = {.return_if_pinned = sim_chance(50),
                                         .completion = pinned,
                                         .data = sim_chance(w.rides) ? make_data : NULL,
                                         .context = p};
    firehose_request_t request;
    const int now = firehose_remote_pin(n->fh, p->peer, p->to, p->len, &args, &request);
    sim_check(now >= 0, n->id, "cannot ask node %u", p->peer);
    if (now) pinned(p, &request, FIREHOSE_OK);
}

/* Remote end first, then the local one. */
static void pin_local_end(node_t *n)
{
    put_t *p = n->ready;
    n->ready = p->next;
    if (!n->ready) n->last_ready = NULL;
    lru(n, p->from);
    if (firehose_local_pin(n->fh, p->from, p->len, &p->local)) {
        sim_check(w.refuse, n->id, "%s", firehose_error(n->fh));
        firehose_release(n->fh, &p->remote, 1);
        n->in_flight--;
        n->ended++;
        w.failed++;
        return;
    }
    sim_after(sim_delay(&link), transfer, &(sim_message_t){.to = n->id, .data = p});
}

static void script(uint32_t id)
{
    node_t *n = &nodes[id];
    while (n->ended < w.puts) {
        if (n->ready)
            pin_local_end(n);
        else if (n->begun < w.puts && n->in_flight < w.window)
            begin_put(n);
        else if (!firehose_poll(n->fh))
            sim_wait();
    }
    while (firehose_poll(n->fh)) continue;
}

/* --- trouble --- */

static void die(const sim_message_t *m)
{
    sim_note(m->to, "dies");
    sim_kill(m->to);
}

static void hear_of_death(const sim_message_t *m)
{
    sim_note(m->to, "hears that node %u is dead", w.dead[m->number]);
    nodes[m->to].dead_known |= 1u << m->number;
    firehose_peer_died(nodes[m->to].fh, w.dead[m->number]);
    go_on(&nodes[m->to]);
}

static void kill_some(uint32_t within)
{
    w.dead_count = sim_below(MOST_DEAD + 1);
    if (w.dead_count >= w.nodes) w.dead_count = w.nodes - 1;
    for (uint32_t i = 0; i < w.dead_count; i++) {
        const uint32_t when = sim_below(within);
        w.dead[i] = (i + sim_below(2) * 5) % w.nodes;
        sim_after(when, die, &(sim_message_t){.to = w.dead[i], .device = 1});
        for (uint32_t k = 0; k < w.nodes; k++)
            if (k != w.dead[i])
                sim_after(when + 1 + sim_below(5000), hear_of_death,
                          &(sim_message_t){.to = k, .number = i});
    }
}

/* The program takes the memory back when nothing of it is registered any more. */
static void wait_until_given(const sim_message_t *m)
{
    node_t *n = &nodes[m->to];
    if (firehose_stale(n->fh)) {
        sim_after(5000, wait_until_given, m);
        go_on(n);
        return;
    }
    n->giving_pages = 0;
}

static void give_back(const sim_message_t *m)
{
    node_t *n = &nodes[m->to];
    if (n->giving_pages) return;
    n->giving = sim_below(w.pages);
    n->giving_pages = 1 + sim_below(w.pages - n->giving);
    sim_note(n->id, "gives back pages %u to %u", n->giving, n->giving + n->giving_pages);
    const uintptr_t from = address(n->giving), to = address(n->giving + n->giving_pages);
    if (!firehose_invalidate(n->fh, from, to - from)) {
        for (uint32_t i = 0; i < n->used; i++) {
            const registration_t *r = &n->registrations[i];
            sim_check(!r->live || r->addr >= to || from >= r->addr + r->len, n->id,
                      "has memory registered that was given back");
        }
    }
    firehose_request_t q;
    if (firehose_try_local_pin(n->fh, from, 1, &q))
        sim_check(false, n->id, "finds memory that was given back");
    wait_until_given(m);
}

/* --- schedules --- */

static void make_nodes(void)
{
    const uint64_t regions = w.sizes.r + w.sizes.maxvictim_r;
    nodes = sim_alloc(w.nodes * sizeof *nodes);
    memset(nodes, 0, w.nodes * sizeof *nodes);
    for (uint32_t i = 0; i < w.nodes; i++) {
        node_t *n = &nodes[i];
        n->id = i;
        n->registrations = sim_alloc(regions * sizeof *n->registrations);
        if (w.grid) n->stamps = memset(sim_alloc(w.pages * 8), 0, w.pages * 8);
        const firehose_config_t config = {
            .sizes = w.sizes,
            .page = PAGE,
            .nodes = w.nodes,
            .key_size = 8,
            .max_message = MESSAGE,
            .max_data = DATA,
            .callbacks = {n, pin, unpin, send, send, receive_data, progress, lock, unlock}};
        n->fh = firehose_init(&config, NULL);
        sim_check(n->fh, i, "does not begin");
    }
}

static void begin_scripts(void)
{
    for (uint32_t i = 0; i < w.nodes; i++) {
        if (w.receivers_only && i) nodes[i].ended = w.puts;
        sim_script(i, script, NULL, NULL);
    }
}

/* Any pools: each peer has room for `share` regions, each node uses up to `victims`. */
static void begin(uint32_t count, uint32_t share, uint32_t victims)
{
    sim_nodes(count);
    w = (struct world){.nodes = count,
                       .peers = count - 1,
                       .region = 1 + sim_below(6),
                       .puts = 1 + sim_below(count > 100 ? 4 : 40),
                       .window = 1 + sim_below(8),
                       .busy = sim_chance(50) ? 0 : sim_below(60),
                       .rides = sim_chance(50) ? 0 : 50};
    const uint64_t size = (uint64_t)w.region * PAGE, held = (uint64_t)share * (count - 1);
    w.sizes = (firehose_sizes_t){held * size, held, victims * size, victims, size};
    w.pages = w.region * (share + 1 + sim_below(20));
    link = sim_any_link();
    link.lose = link.repeat = 0;
}

static void look(void)
{
    uint64_t made = 0, accesses = 0, misses = 0;
    for (uint32_t i = 0; i < w.nodes; i++) {
        const node_t *n = &nodes[i];
        if (!sim_alive(i)) continue;
        for (uint32_t k = 0; k < w.dead_count; k++) sim_concerns(w.dead[k]);
        sim_check(sim_ended(i) && n->ended == w.puts, i, "waits for ever: %u of %u puts, %u begun",
                  n->ended, w.puts, n->begun);
        sim_check(firehose_stale(n->fh) == 0, i, "keeps memory that was given back");
    }
    for (uint32_t i = 0; i < w.nodes; i++) {
        made += nodes[i].made;
        accesses += nodes[i].accesses;
        misses += nodes[i].lru_misses;
        firehose_fini(nodes[i].fh, 1);
        sim_check(nodes[i].bytes == 0 || !sim_alive(i), i, "ends with memory registered");
    }
    sim_count("puts", w.served);
    sim_count("puts whose data rode", w.rode);
    sim_count("puts to the dead, or refused", w.failed);
    sim_count("registrations", made);
    if (!w.grid) return;
    sim_count("uses of regions, by either end", accesses);
    sim_count("misses of LRU on the same traces", misses);
}

static uint32_t any_nodes(void)
{
    return 2 + sim_below(sim_chance(90) ? 6 : 60);
}

static void all_to_all(void)
{
    begin(any_nodes(), 1 + sim_below(6), 1 + sim_below(8));
    make_nodes();
    begin_scripts();
    for (uint32_t i = 0; i < w.nodes; i++)
        if (sim_chance(10)) sim_stall(i, sim_below(10000));
    sim_run();
    look();
}

static void deaths(void)
{
    begin(any_nodes(), 1 + sim_below(4), 1 + sim_below(6));
    make_nodes();
    begin_scripts();
    kill_some(1 + sim_below(20000));
    sim_run();
    look();
}

static void refusals(void)
{
    begin(any_nodes(), 1 + sim_below(4), 1 + sim_below(6));
    w.refuse = (1 + sim_below((uint32_t)(w.sizes.r + w.sizes.maxvictim_r))) * w.sizes.max_region;
    make_nodes();
    begin_scripts();
    sim_run();
    look();
}

static void unmapped(void)
{
    begin(any_nodes(), 1 + sim_below(4), 1 + sim_below(6));
    make_nodes();
    begin_scripts();
    for (uint32_t i = 0; i < w.nodes; i++)
        for (uint32_t k = sim_below(4); k > 0; k--)
            sim_after(sim_below(20000), give_back, &(sim_message_t){.to = i});
    if (sim_chance(20)) kill_some(20000);
    sim_run();
    look();
}

static void many(void)
{
    begin(MANY - sim_below(100), 1, 1 + sim_below(3));
    w.peers = 5;
    make_nodes();
    begin_scripts();
    if (sim_chance(30)) sim_stall(sim_below(w.nodes), sim_below(10000));
    if (sim_chance(30)) kill_some(3000);
    sim_run();
    look();
}

/* Uniformly over four times the memory that may be registered, one put at a time: whatever one node
 * keeps of another's memory, it is as much as LRU keeps. */
static void four_times(void)
{
    begin(2, 1 + sim_below(12), 1 + sim_below(12));
    w.grid = w.receivers_only = true;
    w.rides = 0;
    w.window = 1;
    w.puts = 300;
    w.pages = (uint32_t)(4 * (w.sizes.r + w.sizes.maxvictim_r)) * w.region;
    make_nodes();
    begin_scripts();
    sim_run();
    sim_check(nodes[1].made <= nodes[1].lru_misses, 1, "registers %ju times, LRU misses %ju",
              (uintmax_t)nodes[1].made, (uintmax_t)nodes[1].lru_misses);
    look();
}

static void four_times_all(void)
{
    begin(2 + sim_below(6), 1 + sim_below(12), 1 + sim_below(12));
    w.grid = true;
    w.rides = 0;
    w.puts = 200;
    w.pages = (uint32_t)(4 * (w.sizes.r + w.sizes.maxvictim_r)) * w.region;
    make_nodes();
    begin_scripts();
    sim_run();
    look();
}

int main(int argc, char **argv)
{
    /* Of the tables of 5,000 nodes few pages are used: calloc is to map them and not to clear them.
     */
    mallopt(M_MMAP_THRESHOLD, 16 << 10);
    const sim_scene_t scenes[] = {
        {"all put to all: every transfer ends, by registrations that exist, within the pools",
         all_to_all, 1000},
        {"nodes die: what waits for them ends, and their firehoses are free again", deaths, 700},
        {"systems refuse to register: pools shrink, and transfers go on or fail", refusals, 700},
        {"programs give memory back: no registration of it is found, or left", unmapped, 400},
        {"5,000 nodes", many, 3},
        {"4 times the memory that may be registered, one to one: never more registrations than "
         "misses of LRU",
         four_times, 100},
        {"4 times the memory that may be registered, all to all", four_times_all, 50},
    };
    return sim_main(argc, argv, scenes, sizeof scenes / sizeof *scenes);
}
