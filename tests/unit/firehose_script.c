/* firehose_script.c - see firehose_script.h. */
#include "tests/unit/firehose_script.h"

#include <string.h>

#include "tests/unit/check.h"

enum { LETTERS = 64 };
static const uintptr_t base = 1 << 20;

typedef struct letter {
    uint32_t from, to;
    size_t size;
    uint8_t bytes[1024];
} letter_t;

struct node node[NODES];
unsigned sent;
static letter_t letters[LETTERS];

/* --- callbacks --- */

static void lock(void *context)
{
    struct node *n = context;
    check_each(!n->locked, "the lock is acquired twice");
    n->locked = true;
}

static void unlock(void *context)
{
    ((struct node *)context)->locked = false;
}

static firehose_outcome_t pin(void *context, uintptr_t addr, size_t len, void *key)
{
    struct node *n = context;
    unsigned i = 0;
    check_each(!n->locked && addr % PAGE == 0 && len % PAGE == 0, "pages are registered, unlocked");
    if (addr < base || (addr < n->border && n->border < addr + len)) return FIREHOSE_INVALID;
    if (n->bytes + len > n->limit) return FIREHOSE_REFUSED;
    while (n->pins[i].len) i++;
    n->pins[i].addr = addr;
    n->pins[i].len = len;
    n->bytes += len;
    n->made++;
    memcpy(key, &i, sizeof i);
    return FIREHOSE_PINNED;
}

static void unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    struct node *n = context;
    unsigned i;
    memcpy(&i, key, sizeof i);
    check_each(!n->locked && n->pins[i].addr == addr && n->pins[i].len == len,
               "what is deregistered was registered");
    n->pins[i].len = 0;
    n->bytes -= len;
    n->dropped++;
}

static int send(void *context, uint32_t peer, const void *bytes, size_t size)
{
    struct node *n = context;
    check_each(!n->locked && sent < LETTERS && size <= sizeof letters->bytes, "sent unlocked");
    if (n->busy) return 0;
    letters[sent] = (letter_t){.from = (uint32_t)(n - node), .to = peer, .size = size};
    memcpy(letters[sent++].bytes, bytes, size);
    return 1;
}

static void data(void *context, uint32_t peer, uintptr_t addr, const void *bytes, size_t size)
{
    struct node *n = context;
    (void)peer;
    (void)addr;
    memcpy(n->data, bytes, size);
}

static void progress(void *context)
{
    struct node *n = context;
    n->progress++;
    if (n->holds && n->progress > 2) {
        n->holds = false;
        firehose_release(n->fh, &n->held, 1);
    }
}

/* --- the network --- */

void deliver(unsigned i)
{
    const letter_t letter = letters[i];
    memmove(&letters[i], &letters[i + 1], (--sent - i) * sizeof *letters);
    const char *wrong =
        firehose_receive(node[letter.to].fh, letter.from, letter.bytes, letter.size);
    check_each(!wrong, "received: %s", wrong);
}

void settle(void)
{
    bool any = true;
    while (any) {
        any = false;
        for (unsigned i = 0; i < NODES; i++)
            if (node[i].fh) any |= firehose_poll(node[i].fh) != 0;
        while (sent) {
            deliver(0);
            any = true;
        }
    }
}

/* --- the life of the nodes --- */

firehose_info_t script_begin_with(unsigned nodes, unsigned held, unsigned used, size_t max_data)
{
    firehose_info_t info = {0};
    memset(node, 0, sizeof node);
    sent = 0;
    static const int key = MOST - 1;
    const firehose_prepinned_t segment = {base + 1000 * PAGE, 100 * PAGE, &key};
    for (unsigned i = 0; i < nodes; i++) {
        node[i].limit = SIZE_MAX / 2;
        const firehose_config_t config = {
            .sizes = {(uint64_t)held * REGION, held, (uint64_t)used * REGION, used, REGION},
            .page = PAGE,
            .nodes = nodes,
            .key_size = sizeof key,
            .max_message = sizeof letters->bytes,
            .max_data = max_data,
            .prepinned = &segment,
            .prepinned_count = 1,
            .callbacks = {&node[i], pin, unpin, send, send, data, progress, lock, unlock}};
        node[i].fh = firehose_init(&config, &info);
    }
    return info;
}

firehose_info_t script_begin(unsigned nodes, unsigned held, unsigned used)
{
    return script_begin_with(nodes, held, used, sizeof node->data);
}

void script_end(const char *what)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (!node[i].fh) continue;
        firehose_fini(node[i].fh, 1);
        check_each(node[i].bytes == 0, "node %u deregisters all in the end", i);
    }
    check_all("%s: the lock is kept, and all is deregistered in the end", what);
}

uintptr_t page(unsigned n)
{
    return base + (uintptr_t)n * PAGE;
}

/* --- memory of node 0 --- */

firehose_request_t local(unsigned first, unsigned pages)
{
    firehose_request_t q = {0};
    if (firehose_local_pin(node->fh, page(first), (size_t)pages * PAGE, &q)) q.len = 0;
    return q;
}

void use(unsigned first, unsigned pages)
{
    const firehose_request_t q = local(first, pages);
    firehose_release(node->fh, &q, 1);
}

bool is_cached(unsigned first, unsigned pages)
{
    firehose_request_t q;
    if (!firehose_try_local_pin(node->fh, page(first), (size_t)pages * PAGE, &q)) return false;
    firehose_release(node->fh, &q, 1);
    return true;
}
