/*
 * messages.c - messages with tags over Portals, as message passing libraries of its day made them:
 * receives posted as match entries, unexpected messages in blocks behind them, and for what is too
 * long for those the header alone, the rest by a get.
 *
 * Every process sends every other a random stream.  Messages that fit the same receives are taken
 * in the order sent, whatever was posted or came first; that, and every byte, is checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "other/portals3/tests/ring.h"

enum { PT_RECEIVE = 4, PT_READ = 5, TAGS = 6, STREAM = 60, MOST = 16, LONGEST = 20000 };
enum { BLOCKS = 3, BLOCK = 1 << 15, SHORT = 1024, PATIENCE = 60 };
/* The match bits of a message: 16 bits source, 32 bits tag. */
#define BITS(source, tag) ((ptl_match_bits_t)(source) << 32 | (ptl_match_bits_t)(tag))
#define ANY_SOURCE        (0xffffull << 32)
#define ANY_TAG           0xffffffffull

struct send {
    unsigned char *bytes;
    ptl_size_t length;
    bool done;
};

struct receive {
    ptl_match_bits_t bits, ignore;
    unsigned char *bytes;
    bool done;
    ptl_match_bits_t got;
    ptl_size_t length;
};

/* A message that came before its receive; in a block, or left at its sender. */
struct unexpected {
    struct unexpected *next;
    ptl_process_id_t from;
    ptl_match_bits_t bits;
    ptl_hdr_data_t id;
    ptl_size_t length;
    ptl_seq_t link;
    struct block *block; /* NULL: only the header came */
    unsigned char *bytes;
    bool whole;
};

static struct block {
    unsigned char memory[BLOCK];
    unsigned int waiting; /* messages in it that were not received yet */
    bool full;
} blocks[BLOCKS];

static ptl_handle_eq_t eq_unexpected, eq_receive, eq_send;
static ptl_handle_me_t mark, rest; /* end of the posted receives; what takes headers only */
static struct unexpected *first, **last = &first;
static struct send sends[MOST * STREAM];
static struct receive receives[MOST * STREAM];
static int sent, posted, received, from_block, by_get, at_once;
static unsigned long long seed;

/* --- the messages, all of which every process knows --- */

struct message {
    unsigned int tag;
    ptl_size_t length;
};

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = seed ^ (a * 1000003 + b) * 6364136223846793005u ^ c * 1442695040888963407u;
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

static struct message stream(int from, int to, int i)
{
    uint64_t random = mix((uint64_t)from, (uint64_t)to, (uint64_t)i);
    struct message message = {(unsigned int)(random % TAGS), random >> 8 & 1023};
    if (random >> 40 & 1) message.length = (random >> 8) % LONGEST;
    return message;
}

static unsigned char content(int from, int to, int i, ptl_size_t at)
{
    return (unsigned char)(from * 31 + to * 7 + i * 13 + (int)at * 5 + (int)(at / 256));
}

/* --- sending --- */

/* All of it goes out at once, and stays where it can be read until it has been taken. */
static void send_to(int to, int i)
{
    struct message message = stream(ring.rank, to, i);
    struct send *send = &sends[sent];
    ptl_handle_me_t me;
    ptl_handle_md_t handle;
    ptl_md_t md;
    send->length = message.length;
    send->bytes = malloc(message.length + 1);
    for (ptl_size_t at = 0; at < message.length; at++)
        send->bytes[at] = content(ring.rank, to, i, at);
    md = ring_md(send->bytes, message.length,
                 PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq_send);
    md.user_ptr = send;
    RING_OK(PtlMEAttach(ring.ni, PT_READ, ring_id(to), (ptl_match_bits_t)sent, 0, PTL_UNLINK,
                        PTL_INS_AFTER, &me));
    RING_OK(PtlMDAttach(me, md, PTL_RETAIN, &handle));
    RING_OK(PtlPut(handle, PTL_ACK_REQ, ring_id(to), PT_RECEIVE, 0, BITS(ring.rank, message.tag), 0,
                   (ptl_hdr_data_t)sent));
    sent++;
}

static void sending(void)
{
    ptl_event_t event;
    while (PtlEQGet(eq_send, &event) == PTL_OK) {
        struct send *send = event.md.user_ptr;
        ring_expect(event.ni_fail_type == PTL_NI_OK, "a send has failed");
        if (event.type == PTL_EVENT_SEND_END) continue;
        if (event.type == PTL_EVENT_ACK && event.mlength < event.rlength) continue; /* to be read */
        ring_expect(!send->done, "taken twice");
        send->done = true;
        RING_OK(PtlMDUnlink(event.md_handle));
        free(send->bytes);
        send->bytes = NULL;
    }
}

/* --- the unexpected --- */

static void hang(struct block *block)
{
    ptl_md_t md = ring_md(block->memory, BLOCK, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, eq_unexpected);
    ptl_handle_me_t me;
    md.max_size = SHORT;
    md.user_ptr = block;
    block->full = false;
    RING_OK(PtlMEInsert(rest, ring_anybody, 0, ~0ull, PTL_UNLINK, PTL_INS_BEFORE, &me));
    RING_OK(PtlMDAttach(me, md, PTL_UNLINK, NULL));
}

static void note(const ptl_event_t *event)
{
    struct unexpected *entry = calloc(1, sizeof *entry);
    entry->from = event->initiator;
    entry->bits = event->match_bits;
    entry->id = event->hdr_data;
    entry->length = event->rlength;
    entry->link = event->link;
    entry->block = event->md.user_ptr;
    entry->bytes = (unsigned char *)event->md.start + event->offset;
    if (entry->block) entry->block->waiting++;
    *last = entry;
    last = &entry->next;
}

/* STARTs come in the order of matching; ENDs when the bytes are there. */
static void unexpected(void)
{
    ptl_event_t event;
    while (PtlEQGet(eq_unexpected, &event) == PTL_OK) {
        struct unexpected *entry = first;
        if (event.type == PTL_EVENT_PUT_START) note(&event);
        if (event.type == PTL_EVENT_PUT_END) {
            while (entry && (entry->whole || entry->link != event.link)) entry = entry->next;
            if (ring_expect(entry != NULL, "an END without START")) entry->whole = true;
        }
        if (event.type == PTL_EVENT_UNLINK) {
            struct block *block = event.md.user_ptr;
            block->full = true;
            if (block->waiting == 0) hang(block);
        }
    }
}

static bool fits(const struct receive *receive, ptl_match_bits_t bits)
{
    return ((receive->bits ^ bits) & ~receive->ignore) == 0;
}

/* Takes the oldest that fits, if any does. */
static bool take(struct receive *receive)
{
    struct unexpected **at = &first, *entry;
    while (*at && !fits(receive, (*at)->bits)) at = &(*at)->next;
    if (!(entry = *at)) return false;
    for (time_t end = time(NULL) + PATIENCE; !entry->whole && time(NULL) < end;) {
        unexpected();
        PtlProgress(ring.ni, 1);
    }
    ring_expect(entry->whole, "a message that does not end");
    receive->got = entry->bits;
    receive->length = entry->length;
    if (entry->block || entry->length == 0) {
        if (entry->block) memcpy(receive->bytes, entry->bytes, entry->length);
        receive->done = true;
        received++;
        from_block++;
    } else {
        ptl_md_t md =
            ring_md(receive->bytes, entry->length, PTL_MD_EVENT_START_DISABLE, eq_receive);
        ptl_handle_md_t handle;
        md.user_ptr = receive;
        md.threshold = 1;
        RING_OK(PtlMDBind(ring.ni, md, PTL_UNLINK, &handle));
        RING_OK(PtlGet(handle, entry->from, PT_READ, 0, entry->id, 0));
        by_get++;
    }
    if (entry->block && --entry->block->waiting == 0 && entry->block->full) hang(entry->block);
    *at = entry->next;
    if (last == &entry->next) last = at;
    free(entry);
    return true;
}

/* --- receiving --- */

/* Asleep behind those posted before it, then woken if nothing unexpected has come meanwhile. */
static void post(struct receive *receive)
{
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE;
    ptl_md_t md = ring_md(receive->bytes, LONGEST, options, eq_receive);
    ptl_handle_me_t me;
    ptl_handle_md_t handle;
    int result;
    unexpected();
    if (take(receive)) return;
    md.user_ptr = receive;
    md.threshold = 0;
    RING_OK(PtlMEInsert(mark, ring_anybody, receive->bits, receive->ignore, PTL_UNLINK,
                        PTL_INS_BEFORE, &me));
    RING_OK(PtlMDAttach(me, md, PTL_UNLINK, &handle));
    md.threshold = 1;
    while ((result = PtlMDUpdate(handle, NULL, &md, eq_unexpected)) == PTL_MD_NO_UPDATE) {
        unexpected();
        if (take(receive)) {
            RING_OK(PtlMEUnlink(me));
            return;
        }
        PtlProgress(ring.ni, 0);
    }
    RING_OK(result);
}

static void receiving(void)
{
    ptl_event_t event;
    while (PtlEQGet(eq_receive, &event) == PTL_OK) {
        struct receive *receive = event.md.user_ptr;
        ring_expect(event.ni_fail_type == PTL_NI_OK, "a receive has failed");
        if (event.type == PTL_EVENT_UNLINK) continue;
        if (event.type == PTL_EVENT_PUT_END) {
            receive->got = event.match_bits;
            receive->length = event.mlength;
            at_once++;
        }
        ring_expect(!receive->done, "received twice");
        receive->done = true;
        received++;
    }
}

/* --- the job --- */

/* The bits that a receive ignores. Tags 0 and 1 are received from a given process, 2 and 3 from
 * any; higher tags by receives that ignore the lowest bits of the tag, so that no receive takes
 * what another needs. */
static ptl_match_bits_t ignored(unsigned int tag)
{
    return tag < 2 ? 0 : tag < 4 ? ANY_SOURCE : 3;
}

static int plan_receives(void)
{
    int n = 0;
    for (int from = 0; from < ring.size; from++)
        for (int i = 0; i < STREAM; i++) {
            unsigned int tag = stream(from, ring.rank, i).tag;
            receives[n++] = (struct receive){.bits = BITS(from, tag), .ignore = ignored(tag)};
        }
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(mix(99, (uint64_t)ring.rank, (uint64_t)i) % (uint64_t)(i + 1));
        struct receive swap = receives[i];
        receives[i] = receives[j];
        receives[j] = swap;
    }
    return n;
}

/* In the order of posting, those that fit the same receives come as they were sent. */
static void judge(int n)
{
    static int next[MOST][TAGS];
    memset(next, 0, sizeof next);
    for (int r = 0; r < n; r++) {
        struct receive *receive = &receives[r];
        int from = (int)(receive->got >> 32), i;
        unsigned int tag = (unsigned int)receive->got & 0xff, any = tag < 4 ? tag : 4;
        if (!ring_expect(receive->done && fits(receive, receive->got), "receive %d", r)) continue;
        i = next[from][any];
        while (i < STREAM &&
               (stream(from, ring.rank, i).tag < 4 ? stream(from, ring.rank, i).tag : 4) != any)
            i++;
        next[from][any] = i + 1;
        ring_expect(i < STREAM && stream(from, ring.rank, i).tag == tag &&
                        stream(from, ring.rank, i).length == receive->length,
                    "receive %d: tag %u, %llu bytes from %d, out of order", r, tag,
                    (unsigned long long)receive->length, from);
        for (ptl_size_t at = 0; at < receive->length; at++)
            if (!ring_expect(receive->bytes[at] == content(from, ring.rank, i, at),
                             "byte %llu of %d from %d", (unsigned long long)at, i, from))
                break;
        free(receive->bytes);
    }
}

static void open_all(void)
{
    eq_unexpected = ring_eq(8192);
    eq_receive = ring_eq(8192);
    eq_send = ring_eq(8192);
    RING_OK(PtlMEAttach(ring.ni, PT_RECEIVE, ring_anybody, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &mark));
    RING_OK(
        PtlMEAttach(ring.ni, PT_RECEIVE, ring_anybody, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &rest));
    RING_OK(PtlMDAttach(rest, ring_md(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, eq_unexpected),
                        PTL_RETAIN, NULL));
    for (int i = 0; i < BLOCKS; i++) hang(&blocks[i]);
}

static void close_all(void)
{
    RING_OK(PtlMEUnlink(mark));
    RING_OK(PtlMEUnlink(rest));
    unexpected(); /* UNLINKs stand behind what was waited for */
    receiving();
    ring_expect(first == NULL, "unexpected messages are left");
    ring_no_event(eq_unexpected);
    ring_no_event(eq_receive);
    ring_no_event(eq_send);
}

static bool all_sent(void)
{
    for (int i = 0; i < sent; i++)
        if (!sends[i].done) return false;
    return true;
}

static void body(void)
{
    int n = plan_receives(), to_send = ring.size * STREAM;
    time_t end = time(NULL) + 2 * PATIENCE;
    open_all();
    ring_barrier();
    for (uint64_t step = 0; (received < n || sent < to_send || !all_sent()) && time(NULL) < end;
         step++) {
        uint64_t random = mix(7, (uint64_t)ring.rank, step);
        if (sent < to_send && random & 3) send_to((ring.rank + sent) % ring.size, sent / ring.size);
        if (posted < n && random >> 2 & 3) {
            receives[posted].bytes = malloc(LONGEST);
            post(&receives[posted++]);
        }
        unexpected();
        receiving();
        sending();
    }
    ring_expect(received == n && all_sent(), "%d of %d received, %d sent", received, n, sent);
    if (received == n) judge(n);
    ring_barrier();
    close_all();
    if (ring.rank == 0)
        printf("# TEST_SEED=%llu: process 0 received %d as posted, %d from blocks, %d by get\n",
               seed, at_once, from_block, by_get);
    ring_done("posted and unexpected, short and long: every message is received, in order");
}

int main(int argc, char **argv)
{
    const char *given = getenv("TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : (unsigned long long)time(NULL);
    return ring_main(argc, argv, body);
}
