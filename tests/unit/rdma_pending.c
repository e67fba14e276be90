/* rdma_pending.c - puts and gets in SEGMENT_LARGE on the scripted network: a remote range that has
 * a key is posted at once, one that is pending when the peer has answered.
 *
 * Rank 0 of 2 is the engine.  Rank 1 is a cache of its own, whose messages the test delivers.
 */
#include <stdlib.h>
#include <string.h>

#include "core/am/lent.h"
#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/rdma/rdma.h"
#include "core/rdma/rdma_internal.h"
#include "core/rdma/remote.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 256 << 10, BLOCK = 16384, PAGE = 4096, LETTERS = 64 };

static char *mine, *theirs;
static gasnetc_counter_t counter;

/* --- rank 1 --- */

typedef struct letter {
    size_t size;
    uint8_t bytes[GASNETC_MAX_MEDIUM];
} letter_t;

static firehose_t *peer;
static letter_t letters[LETTERS]; /* from rank 0, not delivered yet */
static unsigned waiting, requests;
static bool read_only, denied;

bool gasnetc_send_firehose_message(uint32_t node, const void *bytes, size_t size)
{
    check_each(node == 1 && waiting < LETTERS, "a message to rank %u", node);
    letters[waiting].size = size;
    memcpy(letters[waiting++].bytes, bytes, size);
    requests++;
    return true;
}

void gasnetc_register_firehose_handler(void) {}

static int peer_send(void *context, uint32_t to, const void *bytes, size_t size)
{
    (void)context, (void)to;
    const char *wrong = gasnetc_firehose_message(1, bytes, size);
    check_each(!wrong, "rank 0 received: %s", wrong);
    return 1;
}

static firehose_outcome_t peer_pin(void *context, uintptr_t addr, size_t len, void *key)
{
    (void)context;
    if (denied) return FIREHOSE_INVALID;
    *(gasnetc_cache_key_t *)key =
        (gasnetc_cache_key_t){.key = net_script_expose((void *)addr, len), .read_only = read_only};
    return FIREHOSE_PINNED;
}

static void peer_unpin(void *context, uintptr_t addr, size_t len, void *key)
{
    (void)context, (void)addr, (void)len, (void)key;
}

/* The destination, then the bytes. */
static void peer_data(void *context, uint32_t from, uintptr_t addr, const void *data, size_t size)
{
    (void)context, (void)from, (void)addr;
    uint64_t to;
    memcpy(&to, data, sizeof to);
    memcpy((void *)(uintptr_t)to, (const char *)data + sizeof to, size - sizeof to);
}

/* Rank 1 takes all messages and answers them. */
static void answer(void)
{
    for (unsigned i = 0; i < waiting; i++) {
        const char *wrong = firehose_receive(peer, 0, letters[i].bytes, letters[i].size);
        check_each(!wrong, "rank 1 received: %s", wrong);
    }
    waiting = 0;
    while (firehose_poll(peer)) continue;
}

/* --- rank 0 --- */

static void begin(size_t ride)
{
    net_script_reset();
    unit_job_begin(&(unit_job_t){2, 0, 8, 1, SEGMENT, 40});
    gasnetc_job.host_size = 1;
    gasnetc_local_segment.size = 0; /* not registered */
    mine = unit_segment(0);
    theirs = unit_segment(1);
    check_fill(mine, SEGMENT);
    check_fill(theirs, SEGMENT);
    gasnetc_params.use_firehose = true;
    gasnetc_params.firehose_keep = GASNETC_KEEP_TRUST;
    gasnetc_params.firehose_max_region = BLOCK;
    gasnetc_params.firehose_m = gasnetc_params.firehose_maxvictim_m = 64 * BLOCK;
    gasnetc_params.firehose_r = gasnetc_params.firehose_maxvictim_r = 64;
    gasnetc_params.bounce_limit = 65536;
    gasnetc_params.putinmove_limit = (int64_t)ride;
    waiting = requests = 0;
    read_only = denied = false;
    counter = (gasnetc_counter_t){0};
    gasnetc_firehose_open();
    firehose_config_t config = {.sizes = {.m = 64 * BLOCK,
                                          .maxvictim_m = 64 * BLOCK,
                                          .r = 64,
                                          .maxvictim_r = 64,
                                          .max_region = BLOCK},
                                .page = PAGE,
                                .nodes = 2,
                                .key_size = sizeof(gasnetc_cache_key_t),
                                .callbacks = {.pin = peer_pin,
                                              .unpin = peer_unpin,
                                              .data = peer_data,
                                              .send_request = peer_send,
                                              .send_reply = peer_send}};
    gasnetc_remote_configure(&config);
    config.callbacks.data = peer_data;
    config.callbacks.send_request = config.callbacks.send_reply = peer_send;
    peer = firehose_init(&config, NULL);
    if (!peer) abort();
}

static unsigned posts(void)
{
    return net_script_count(NET_SCRIPT_PUT) + net_script_count(NET_SCRIPT_GET);
}

/* Answers and polls until all operations are complete. */
static void finish(void)
{
    net_script.hold = false;
    net_script_complete(UINT32_MAX);
    for (int i = 0; i < 100 && !gasnetc_counter_done(&counter); i++) {
        answer();
        gasnetc_poll();
    }
    check_each(gasnetc_counter_done(&counter), "issued %u, reaped %u, acked %u", counter.issued,
               counter.reaped, counter.acked);
}

/* No region at either end is in use, and no bounce buffer. */
static void end(void)
{
    finish();
    for (int i = 0; i < 4; i++) gasnetc_poll_sends();
    gasnetc_lease_take_back(GASNETC_LOCAL);
    gasnetc_lease_take_back(GASNETC_REMOTE);
    const fh_table_t *tables[] = {&gasnetc_cache.instance->local.table,
                                  &gasnetc_cache.instance->remote.table};
    for (unsigned t = 0; t < 2; t++)
        for (uint32_t r = 1; r <= tables[t]->capacity; r++)
            check_each(fh_region(tables[t], r)->uses == 0, "region %u of end %u is in use", r, t);
    check_each(unit_free_bbufs() == UNIT_BBUFS, "%u bbufs are free", unit_free_bbufs());
    gasnetc_firehose_close();
    firehose_fini(peer, 0);
    unit_job_end();
}

/* Makes keys for the first blocks of the peer's segment. */
static void pin_blocks(unsigned blocks)
{
    for (unsigned i = 0; i < blocks; i++) {
        const uintptr_t start = ((uintptr_t)theirs + i * BLOCK + BLOCK - 1) / BLOCK * BLOCK;
        gasnetc_rdma_get(1, mine, (void *)start, BLOCK, &counter);
    }
    finish();
    net_script_forget();
    requests = 0;
}

/* An address in the peer's segment at the start of a block. */
static char *block(unsigned i)
{
    return (char *)(((uintptr_t)theirs + BLOCK - 1) / BLOCK * BLOCK) + i * BLOCK;
}

/* --- */

enum form { PUT, PUT_BULK, GET };

static void transfer(enum form form, void *local, void *remote, size_t nbytes)
{
    if (form == PUT) gasnetc_rdma_put(1, remote, local, nbytes, &counter);
    if (form == PUT_BULK) gasnetc_rdma_put_bulk(1, remote, local, nbytes, &counter);
    if (form == GET) gasnetc_rdma_get(1, local, remote, nbytes, &counter);
}

static void pending_then_key(enum form form, size_t nbytes)
{
    static const char *const forms[] = {"put", "put_bulk", "get"};
    static char wanted[SEGMENT];
    begin(0);
    for (int round = 0; round < 4; round++) {
        memcpy(wanted, form == GET ? block(0) : mine + 9, nbytes);
        const unsigned issued = counter.issued, before = posts();
        requests = 0;
        transfer(form, mine + 9, block(0), nbytes);
        if (round == 0) {
            check_each(posts() == before && requests == 1, "pending: %u posts, %u requests",
                       posts(), requests);
            check_each(counter.issued > issued && !gasnetc_counter_done(&counter),
                       "pending: the counter");
            if (form == PUT) memset(mine + 9, 0, nbytes);
            gasnetc_poll();
            check_each(posts() == before, "posted without an answer");
            answer();
            gasnetc_poll();
        } else {
            check_each(requests == 0, "a range with a key is requested again");
        }
        check_each(posts() > before, "a range with a key is not posted at once");
        finish();
        check_each(!memcmp(wanted, form == GET ? mine + 9 : block(0), nbytes), "wrong bytes");
        check_fill(mine, SEGMENT);
    }
    end();
    check_all("a %s of %zu bytes is posted when its range has a key", forms[form], nbytes);
}

static void in_part(void)
{
    begin(0);
    pin_blocks(1);
    net_script.hold = true;
    gasnetc_rdma_put_bulk(1, block(0) + 100, mine, 3 * BLOCK, &counter);
    check_each(posts() > 0 && requests > 0, "%u posts, %u requests", posts(), requests);
    for (unsigned i = 0; i < posts(); i++)
        check_each(net_script_get_event(NET_SCRIPT_PUT, (int)i)->remote < (uintptr_t)block(1),
                   "a piece without a key is posted");
    finish();
    check_each(!memcmp(mine, block(0) + 100, 3 * BLOCK), "wrong bytes");
    end();
    check_all("of a put whose range has a key in part, only that part is posted at once");
}

static void rides(void)
{
    begin(3072);
    gasnetc_rdma_put(1, block(1) + 5, mine, 3000, &counter);
    finish();
    check(posts() == 0 && requests == 1 && !memcmp(mine, block(1) + 5, 3000),
          "IB-P6 the bytes of a short put go with the request");
    end();
}

static bool under_lease(const net_script_event_t *event)
{
    return event->sent.remote_pin >= REMOTE_LEASES;
}

static void leases(void)
{
    begin(0);
    pin_blocks(1);
    for (int i = 0; i < 4; i++) transfer(PUT, mine, block(0), 8);
    check_each(under_lease(net_script_get_event(NET_SCRIPT_PUT, -1)), "no lease of the peer's");
    for (int i = 0; i < 4; i++) {
        transfer(PUT_BULK, mine, block(0), 6000);
        gasnetc_poll();
        transfer(GET, mine, block(0), 6000);
        gasnetc_poll();
    }
    const net_script_event_t *put = net_script_get_event(NET_SCRIPT_PUT, -1),
                             *get = net_script_get_event(NET_SCRIPT_GET, -1);
    check_each(under_lease(put) && gasnetc_held_tag(put->sent.held) == GASNETC_HELD_LEASE &&
                   under_lease(get) && gasnetc_held_tag(get->sent.held) == GASNETC_HELD_LEASE,
               "no leases of both ends");
    const unsigned before = posts();
    for (enum form form = PUT; form <= GET; form++)
        for (unsigned size = 0; size < 3; size++) {
            net_script.busy = 1 + size;
            transfer(form, mine, block(0), size == 0 ? 8 : 6000 * size);
        }
    check_each(posts() >= before + 9, "%u posts", posts() - before);
    finish();
    for (unsigned end = 0; end < GASNETC_ENDS; end++)
        for (unsigned i = 0; i < GASNETC_LEASES; i++)
            check_each(gasnetc_leases[end][i].issued == gasnetc_leases[end][i].ended,
                       "lease %u of end %u: %lu transfers, %lu ended", i, end,
                       (unsigned long)gasnetc_leases[end][i].issued,
                       (unsigned long)gasnetc_leases[end][i].ended);
    end();
    check_all("what a transfer holds at either end is returned if the network is busy");
}

static void payload(void)
{
    begin(0);
    net_script.on_reap = answer;
    gasnetc_put_payload(&gasnetc_peers[1], block(2), mine, 6000, true, NET_BEFORE_AM, &counter,
                        false);
    net_script.on_reap = NULL;
    check(posts() == 2 && net_script_get_event(NET_SCRIPT_PUT, 1)->complete &&
              !memcmp(mine, block(2), 6000),
          "pending payload of a Long is complete on return");
    net_script_forget();
    gasnetc_put_payload(&gasnetc_peers[1], block(2), mine, 6000, true, NET_BEFORE_AM, &counter,
                        false);
    check(posts() == 2 && !net_script_get_event(NET_SCRIPT_PUT, 0)->complete &&
              net_script_get_event(NET_SCRIPT_PUT, 0)->order == NET_BEFORE_AM,
          "payload whose range has a key is posted before the header, and not waited for");
    end();
}

static void complete_one(void)
{
    net_script_complete(1);
}

/* The last part ends the use of the peer's region, and waits until the others are complete. */
static void in_parts(enum form form)
{
    const enum net_script_kind kind = form == GET ? NET_SCRIPT_GET : NET_SCRIPT_PUT;
    begin(0);
    pin_blocks(1);
    net_script.refuse = EFAULT;
    net_script.hold = true;
    net_script.on_reap = complete_one;
    transfer(form, mine + 4 * BLOCK, block(0) + 1, 10000);
    net_script.refuse = 0;
    net_script.on_reap = NULL;
    check_each(posts() == 3, "%u posts", posts());
    for (int i = 0; i < 3; i++)
        check_each(net_script_get_event(kind, i)->complete == (i < 2), "part %d", i);
    finish();
    check_each(!memcmp(mine + 4 * BLOCK, block(0) + 1, 10000), "wrong bytes");
    end();
    check_all("memory that no device can access is copied in parts, %s",
              form == GET ? "got" : "put");
}

static void put_there(const void *nbytes)
{
    transfer(PUT_BULK, mine, block(0), *(const size_t *)nbytes);
    finish();
}

static void put_now_and_again(const void *nbytes)
{
    pin_blocks(1);
    transfer(PUT_BULK, mine, block(0), *(const size_t *)nbytes);
}

static void put_after_gets(const void *nbytes)
{
    for (int i = 0; i < 4; i++) {
        transfer(GET, mine, block(0), *(const size_t *)nbytes);
        finish();
    }
    if (gasnetc_peers[1].lease[GASNETC_REMOTE])
        transfer(PUT_BULK, mine, block(0), *(const size_t *)nbytes);
}

static void refusals(void)
{
    static const size_t sizes[] = {8, 6000};
    for (unsigned i = 0; i < 2; i++) {
        begin(0);
        read_only = true;
        check_fatal("a put to a pending range that may only be read is fatal", put_there, &sizes[i],
                    "of rank 1", "may only be read");
        check_fatal("and one to such a range with a key", put_now_and_again, &sizes[i], "of rank 1",
                    "may only be read");
        check_fatal("and one to a region that is leased", put_after_gets, &sizes[i], "of rank 1",
                    "may only be read");
        transfer(GET, mine, block(0), sizes[i]);
        end();
    }
    begin(0);
    denied = true;
    check_fatal("a put to memory that the peer cannot register is fatal", put_there, &sizes[0],
                "a put of 8 bytes", "refuses to register");
    denied = false;
    end();
}

/* Transfers of any kind, length and place, some answered late, on a network that is busy at times:
 * each arrives whole. */
static void any_order(void)
{
    static char wanted[SEGMENT];
    begin(check_below(2) ? 0 : 3072);
    for (int step = 0; step < 40; step++) {
        const enum form form = (enum form)check_below(3);
        const size_t nbytes = 1 + check_below(check_below(2) ? 5000 : 60000);
        char *local = mine + check_below((uint32_t)(SEGMENT - nbytes + 1)),
             *remote = theirs + check_below((uint32_t)(SEGMENT - nbytes + 1));
        char *target = form == GET ? mine : theirs, *to = form == GET ? local : remote;
        memcpy(wanted, target, SEGMENT);
        memcpy(wanted + (to - target), form == GET ? remote : local, nbytes);
        net_script.busy = check_below(4) ? 0 : check_below(4);
        net_script.on_reap = answer; /* a put may wait for its completion */
        transfer(form, local, remote, nbytes);
        net_script.on_reap = NULL;
        if (form == PUT) memset(local, 0x77, nbytes);
        finish();
        check_each(!memcmp(wanted, target, SEGMENT), "form %d, %zu bytes", (int)form, nbytes);
        net_script_forget();
    }
    end();
}

/* Memory has been unmapped, and a Request is sent from a buffer of the library. */
static void lent_request(void)
{
    gasnetc_lent_t lent;
    begin(0);
    for (int reply = 1; reply >= 0; reply--) {
        gasnetc_token_t token = {.peer = &gasnetc_peers[1]};
        atomic_fetch_add(&gasnetc_unmapped_reported, 1);
        gasnetc_lend(&lent, &gasnetc_peers[1], reply ? &token : NULL, 0, false);
        gasnetc_take_back(&lent);
        const bool settled = gasnetc_unmapped_reported == gasnetc_unmapped_settled;
        check(settled == !reply, "a buffer is lent for a %s %s memory that was unmapped",
              reply ? "Reply" : "Request",
              reply ? "without regard to" : "when no peer accesses any more");
    }
    end();
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {1, 72, 73, 4096, 4097, 12000};
    check_begin(argc, argv);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (enum form form = PUT; form <= GET; form++) pending_then_key(form, lengths[i]);
    in_part();
    rides();
    leases();
    payload();
    in_parts(PUT_BULK);
    in_parts(GET);
    refusals();
    lent_request();
    for (int round = 0; round < 20; round++) any_order();
    check_all("transfers of any kind, length and place arrive whole");
    return check_end();
}
