/* firehose.c - fuzzes what arrives from peers as messages of other/firehose, and the order of
 * calls.
 *
 * The first byte chooses: 0 the rest is one message; otherwise steps of 4 bytes on one node that
 * talks to itself as two.
 */
#include "other/firehose/include/firehose.h"

#include <stdbool.h>

#include "tests/fuzz/fuzz.h"

enum { PAGE = 4096, REGION = 4 * PAGE, REGIONS = 3, PAGES = 32, MOST = 16, KEY = 4 };

#define HEADER(kind, tokens, pins, extra) "FH\1" kind tokens "\0" pins "\0" extra "\0\0\0"
#define ADDRESS                           "\0\0\x10\0\0\0\0\0"

const fuzz_seed_t fuzz_seeds[] = {
    FUZZ_SEED("\0" HEADER("\1", "\0", "\1", "\0") ADDRESS "\4\0\0\0\0\0\0\0"),
    FUZZ_SEED("\0" HEADER("\1", "\1", "\1", "\3") "\1\0\0\0" ADDRESS "\1\0\0\0\3\0\0\0abc"),
    FUZZ_SEED("\0" HEADER("\2", "\0", "\1", "\4") ADDRESS "\1\0\0\0\1\0\0\0key."),
    FUZZ_SEED("\0" HEADER("\3", "\2", "\0", "\0") "\1\0\0\0\2\0\0\0"),
    FUZZ_SEED("\1\0\0\3\0\1\2\3\0\2\4\1\0\3\0\1\1\4\3\0\0\5\0\0\0\6\1\2\4\0\x10\4\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds, fuzz_longest = 300;

static size_t registered, limit;
static unsigned regions;
static bool lose;

static firehose_outcome_t pin(void *context, uintptr_t addr, size_t len, void *key)
{
    (void)context;
    (void)addr;
    if (registered + len > limit) return FIREHOSE_REFUSED;
    registered += len;
    regions++;
    memcpy(key, "key", KEY);
    fuzz_require(len <= REGION && registered <= 2 * REGIONS * REGION && regions <= 2 * REGIONS,
                 "the pools have room");
    return FIREHOSE_PINNED;
}

static void unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    (void)context;
    (void)addr;
    registered -= len;
    regions--;
    fuzz_require(!memcmp(key, "key", KEY), "a region keeps its key");
}

static firehose_t *fh;

/* Sends a message to peer 1, which this node receives as from peer 1: this node is both. */
static int send(void *context, uint32_t peer, const void *bytes, size_t size)
{
    (void)context;
    if (lose) return 1;
    const char *wrong = firehose_receive(fh, peer, bytes, size);
    fuzz_require(!wrong, "a node understands itself");
    return 1;
}

static void data(void *context, uint32_t peer, uintptr_t addr, const void *bytes, size_t size)
{
    (void)context;
    (void)peer;
    (void)addr;
    fuzz_touch(bytes, size);
}

static void progress(void *context)
{
    (void)context;
    fuzz_require(0, "a use that has room does not wait");
}

static void begin(void)
{
    const firehose_config_t config = {
        .sizes = {(uint64_t)REGIONS * REGION, REGIONS, (uint64_t)REGIONS * REGION, REGIONS, REGION},
        .page = PAGE,
        .nodes = 2,
        .key_size = KEY,
        .max_message = 512,
        .max_data = 16,
        .callbacks = {.pin = pin,
                      .unpin = unpin,
                      .send_request = send,
                      .send_reply = send,
                      .data = data,
                      .progress = progress}};
    registered = 0;
    regions = 0;
    limit = SIZE_MAX;
    lose = false;
    fh = firehose_init(&config, NULL);
    if (!fh) abort();
}

static void poll_all(void)
{
    while (firehose_poll(fh)) continue;
}

static firehose_request_t held[MOST];
static unsigned count;

static void keep(const firehose_request_t *q)
{
    held[count++] = *q;
}

static void completion(void *context, const firehose_request_t *q, firehose_result_t result)
{
    const uintptr_t *asked = context;
    fuzz_require(!q == (result > FIREHOSE_OK_DATA_RODE), "a request or a reason");
    if (!q) return;
    fuzz_require(q->addr <= *asked && *asked < q->addr + q->len, "what was asked for");
    if (count < MOST)
        keep(q);
    else
        firehose_release(fh, q, 1);
}

static void message(const uint8_t *bytes, size_t size)
{
    static const uintptr_t asked = 1 << 20;
    const firehose_remote_args_t args = {.completion = completion, .context = (void *)&asked};
    begin();
    lose = true;
    firehose_remote_pin(fh, 1, asked, PAGE, &args, NULL);
    poll_all();
    const char *wrong = firehose_receive(fh, 1, bytes, size);
    fuzz_require(!wrong || *wrong, "a refusal says why");
    poll_all();
    while (count) firehose_release(fh, &held[--count], 1);
    firehose_peer_died(fh, 1);
    poll_all();
    firehose_fini(fh, 1);
}

/* Executes a step. Local memory is released before the next is pinned, so that the pool always has
 * room. */
static void step(const uint8_t *s)
{
    static uintptr_t asked[256];
    static unsigned next;
    firehose_request_t q;
    const uintptr_t addr = (1 << 20) + (uintptr_t)(s[1] % PAGES) * PAGE + s[3];
    const size_t len = 1 + (size_t)(s[2] % 3) * PAGE;
    uintptr_t *place = &asked[next++ % 256];
    const firehose_remote_args_t args = {
        .return_if_pinned = s[3] & 1, .completion = completion, .context = place};
    *place = addr;
    switch (s[0] % 8) {
    case 0:
    case 1:
        if (firehose_local_pin(fh, addr, len, &q)) return;
        fuzz_require(q.addr <= addr && addr + len <= q.addr + q.len, "the range is pinned");
        firehose_release(fh, &q, 1);
        break;
    case 2:
    case 3:
        if (firehose_remote_pin(fh, 1, addr, len, &args, &q) == 1)
            completion(place, &q, FIREHOSE_OK);
        break;
    case 4:
        poll_all();
        break;
    case 5:
        if (count) firehose_release(fh, &held[--count], 1);
        break;
    case 6:
        firehose_invalidate(fh, addr, len);
        if (firehose_try_local_pin(fh, addr, 1, &q)) fuzz_require(0, "given back, not found");
        break;
    default:
        limit = s[1] & 1 ? SIZE_MAX : (size_t)(s[2] % (2 * REGIONS)) * REGION;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) return 0;
    uint8_t *copy = fuzz_copy(bytes + 1, size - 1);
    count = 0;
    if (bytes[0] == 0)
        message(copy, size - 1);
    else {
        begin();
        for (size_t i = 0; i + 4 <= size - 1 && i < 4 * 256; i += 4) step(copy + i);
        poll_all();
        while (count) {
            firehose_release(fh, &held[--count], 1);
            poll_all();
        }
        fuzz_require(firehose_stale(fh) == 0, "nothing stale is left");
        firehose_fini(fh, 1);
        fuzz_require(registered == 0, "all is deregistered in the end");
    }
    free(copy);
    return 0;
}
