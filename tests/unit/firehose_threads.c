/* firehose_threads.c - threads of two nodes that pin, poll and give memory back at once:
 * other/firehose under its lock, with callbacks that run without it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "other/firehose/include/firehose.h"
#include "tests/unit/check.h"

enum {
    PAGE = 4096,
    REGION = 4 * PAGE,
    REGIONS = 4,
    PAGES = 64,
    THREADS = 3,
    PUTS = 300,
    MOST = 16
};
static const uintptr_t base = 1 << 20;

typedef struct letter {
    struct letter *next;
    uint32_t from;
    size_t size;
    uint8_t bytes[];
} letter_t;

static struct node {
    firehose_t *fh;
    pthread_mutex_t lock, system; /* of the library; of what is below */
    struct {
        uintptr_t addr;
        size_t len;
    } pins[MOST];
    letter_t *inbox, **last;
    unsigned made;
} node[2];
static atomic_uint wrong, running, naps; /* naps: progress without a letter */

static void lock(void *context)
{
    pthread_mutex_lock(&((struct node *)context)->lock);
}

static void unlock(void *context)
{
    pthread_mutex_unlock(&((struct node *)context)->lock);
}

static firehose_outcome_t pin(void *context, uintptr_t addr, size_t len, void *key)
{
    struct node *n = context;
    unsigned i = 0;
    pthread_mutex_lock(&n->system);
    while (i < MOST - 1 && n->pins[i].len) i++;
    wrong += n->pins[i].len != 0;
    n->pins[i].addr = addr;
    n->pins[i].len = len;
    n->made++;
    pthread_mutex_unlock(&n->system);
    memcpy(key, &i, sizeof i);
    return FIREHOSE_PINNED;
}

static void unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    struct node *n = context;
    unsigned i;
    memcpy(&i, key, sizeof i);
    pthread_mutex_lock(&n->system);
    wrong += n->pins[i].addr != addr || n->pins[i].len != len;
    n->pins[i].len = 0;
    pthread_mutex_unlock(&n->system);
}

/* Checks the registration as a device would. */
static void transfer(struct node *n, const firehose_request_t *q, uintptr_t addr, size_t len)
{
    unsigned i;
    memcpy(&i, q->key, sizeof i);
    pthread_mutex_lock(&n->system);
    wrong += n->pins[i].addr > addr || n->pins[i].addr + n->pins[i].len < addr + len;
    pthread_mutex_unlock(&n->system);
}

static int send(void *context, uint32_t peer, const void *bytes, size_t size)
{
    struct node *to = &node[peer];
    letter_t *letter = malloc(sizeof *letter + size);
    if (!letter) abort();
    *letter = (letter_t){.from = (uint32_t)((struct node *)context - node), .size = size};
    memcpy(letter->bytes, bytes, size);
    pthread_mutex_lock(&to->system);
    *to->last = letter;
    to->last = &letter->next;
    pthread_mutex_unlock(&to->system);
    return 1;
}

static void progress(void *context)
{
    struct node *n = context;
    pthread_mutex_lock(&n->system);
    letter_t *letter = n->inbox;
    if (letter && !(n->inbox = letter->next)) n->last = &n->inbox;
    pthread_mutex_unlock(&n->system);
    if (letter) wrong += firehose_receive(n->fh, letter->from, letter->bytes, letter->size) != NULL;
    if (!letter) {
        naps++;
        sched_yield();
    }
    free(letter);
    firehose_poll(n->fh);
}

typedef struct put {
    firehose_request_t q;
    atomic_bool pinned;
} put_t;

static void completion(void *context, const firehose_request_t *q, firehose_result_t result)
{
    put_t *p = context;
    wrong += result != FIREHOSE_OK;
    if (q) p->q = *q;
    atomic_store(&p->pinned, true);
}

static void one_put(struct node *n, uint32_t peer, uint64_t random)
{
    const uintptr_t to = base + random % PAGES * PAGE, from = base + (random >> 8) % PAGES * PAGE;
    const size_t len = 1 + (random >> 16) % (REGION - PAGE);
    put_t p = {.pinned = false};
    firehose_request_t local;
    const firehose_remote_args_t args = {
        .return_if_pinned = 1, .completion = completion, .context = &p};
    if (!firehose_remote_pin(n->fh, peer, to, len, &args, &p.q))
        while (!atomic_load(&p.pinned)) progress(n);
    wrong += firehose_local_pin(n->fh, from, len, &local) != 0;
    transfer(n, &local, from, len);
    transfer(&node[peer], &p.q, to, len);
    firehose_release(n->fh, (firehose_request_t[]){p.q, local}, 2);
    if ((random >> 40) % 16 == 0) firehose_invalidate(n->fh, from, len);
}

static void *puts_of(void *context)
{
    struct node *n = &node[(uintptr_t)context % 2];
    uint64_t random = check_seed() + (uintptr_t)context;
    for (unsigned i = 0; i < PUTS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        one_put(n, (uint32_t)(n == node), random >> 13);
    }
    running--;
    while (running) progress(n);
    return NULL;
}

/* More than may be registered at once: the thread waits until the main one releases some. */
enum { MANY = 4 * REGIONS };
static firehose_request_t taken[MANY];
static atomic_uint takes;

static void *take_many(void *unused)
{
    for (unsigned i = 0; i < MANY; i++, takes++)
        wrong += firehose_local_pin(node[0].fh, base + i * REGION, REGION, &taken[i]) != 0;
    return unused;
}

static void wait_for_release(void)
{
    pthread_t thread;
    unsigned released = 0, seen = naps;
    if (pthread_create(&thread, NULL, take_many, NULL)) abort();
    while (takes < MANY) {
        if (naps != seen && released < takes) {
            seen = naps;
            firehose_release(node[0].fh, (firehose_request_t[]){taken[released++]}, 1);
        }
        sched_yield();
    }
    pthread_join(thread, NULL);
    check(released > 0 && wrong == 0, "a thread that waits for room lets another release some");
    while (released < MANY)
        firehose_release(node[0].fh, (firehose_request_t[]){taken[released++]}, 1);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    pthread_t thread[2 * THREADS];
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t bytes = (uint64_t)REGIONS * REGION;
        const firehose_config_t config = {
            .sizes = {bytes, REGIONS, bytes, REGIONS, REGION},
            .page = PAGE,
            .nodes = 2,
            .key_size = sizeof(unsigned),
            .max_message = 512,
            .callbacks = {&node[i], pin, unpin, send, send, NULL, progress, lock, unlock}};
        pthread_mutex_init(&node[i].lock, NULL);
        pthread_mutex_init(&node[i].system, NULL);
        node[i].last = &node[i].inbox;
        node[i].fh = firehose_init(&config, NULL);
        if (!node[i].fh) abort();
    }
    running = 2 * THREADS;
    for (uintptr_t i = 0; i < 2 * THREADS; i++)
        if (pthread_create(&thread[i], NULL, puts_of, (void *)i)) abort();
    for (unsigned i = 0; i < 2 * THREADS; i++) pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < 8; i++) progress(&node[i % 2]);
    firehose_counters_t counters;
    firehose_get_counters(node[0].fh, &counters);
    check(wrong == 0, "every transfer of %u threads has both ends registered", 2 * THREADS);
    check(counters.registrations == node[0].made && counters.bytes <= 2 * REGIONS * REGION,
          "registrations are counted, and within the pools");
    wait_for_release();
    for (unsigned i = 0; i < 2; i++) {
        while (node[i].inbox) progress(&node[i]);
        firehose_fini(node[i].fh, 1);
        for (unsigned k = 0; k < MOST; k++) check_each(!node[i].pins[k].len, "node %u, %u", i, k);
    }
    check_all("all is deregistered in the end");
    return check_end();
}
