/* offsets.c - rules of offsets, truncation, max_size and thresholds at the target. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/tests/rules.h"

enum { PT = 6, QUIET = PTL_MD_EVENT_START_DISABLE };

static void send(ptl_handle_md_t source, ptl_size_t from, ptl_size_t n, ptl_match_bits_t bits,
                 ptl_size_t offset)
{
    RING_OK(PtlPutRegion(source, from, n, PTL_NOACK_REQ, ring.next, PT, 0, bits, offset, 0));
}

static void taken(ptl_handle_eq_t eq, ptl_event_kind_t kind, ptl_size_t offset, ptl_size_t mlength)
{
    ptl_event_t event = ring_event(eq, kind);
    ring_expect(event.offset == offset && event.mlength == mlength,
                "%llu bytes at %llu instead of %llu at %llu", (unsigned long long)event.mlength,
                (unsigned long long)event.offset, (unsigned long long)mlength,
                (unsigned long long)offset);
}

static void local(void)
{
    char target[100] = {0}, source[100], back[100];
    ptl_handle_eq_t eq = ring_eq(16), eq_back = ring_eq(16);
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | QUIET;
    ptl_handle_md_t md = ring_attach(PT, 1, 0, ring_md(target, 100, options, eq), PTL_RETAIN);
    ptl_handle_md_t from, to;
    for (int i = 0; i < 100; i++) source[i] = (char)(i + 1);
    from = ring_bind(ring_md(source, 100, QUIET, PTL_EQ_NONE));
    to = ring_bind(ring_md(back, 100, QUIET, eq_back));
    ring_barrier();
    send(from, 0, 30, 1, 77); /* a remote offset does not matter here */
    taken(eq, PTL_EVENT_PUT_END, 0, 30);
    ring_expect(memcmp(target, source, 30) == 0, "the first put");
    RING_OK(PtlGetRegion(to, 10, 20, ring.next, PT, 0, 1, 0));
    taken(eq, PTL_EVENT_GET_END, 30, 20);
    taken(eq_back, PTL_EVENT_REPLY_END, 10, 20);
    send(from, 50, 50, 1, 0);
    taken(eq, PTL_EVENT_PUT_END, 50, 50);
    ring_expect(memcmp(target + 50, source + 50, 50) == 0, "the second put");
    send(from, 0, 0, 1, 0);
    taken(eq, PTL_EVENT_PUT_END, 100, 0);
    ring_barrier();
    ring_unlink(md);
    ring_unlink(from);
    ring_unlink(to);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(eq_back));
    ring_done("puts and gets share the local offset");
}

static void remote(void)
{
    char target[100] = {0}, source[100];
    ptl_handle_eq_t eq = ring_eq(16);
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET;
    ptl_handle_md_t md = ring_attach(PT, 1, 0, ring_md(target, 100, options, eq), PTL_RETAIN);
    ptl_handle_md_t cut =
        ring_attach(PT, 2, 0, ring_md(target, 100, options | PTL_MD_TRUNCATE, eq), PTL_RETAIN);
    ptl_handle_md_t from = ring_bind(ring_md(source, 100, QUIET, PTL_EQ_NONE));
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT);
    memset(source, 'x', sizeof source);
    ring_barrier();
    send(from, 0, 10, 1, 90);
    taken(eq, PTL_EVENT_PUT_END, 90, 10);
    send(from, 0, 0, 1, 100);
    taken(eq, PTL_EVENT_PUT_END, 100, 0);
    send(from, 0, 11, 1, 90);
    send(from, 0, 0, 1, 101);
    send(from, 0, 10, 1, UINT64_MAX - 4);
    send(from, 0, 1, 2, 101); /* beyond the end even truncation does not help */
    send(from, 0, 1, 2, UINT64_MAX);
    ring_await_register(PTL_SR_DROP_COUNT, drops + 5);
    send(from, 0, 30, 2, 90);
    taken(eq, PTL_EVENT_PUT_END, 90, 10);
    send(from, 0, 30, 2, 100);
    taken(eq, PTL_EVENT_PUT_END, 100, 0);
    send(from, 0, 30, 2, 70);
    taken(eq, PTL_EVENT_PUT_END, 70, 30);
    ring_expect(target[69] == 0 && target[70] == 'x', "nothing before the offset");
    ring_barrier();
    ring_unlink(md);
    ring_unlink(cut);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    ring_done(
        "remote offsets up to, at and beyond the end; near 2^64; truncation to part and nothing");
}

/* Everything that arrives here is in order and whole: byte i of the stream is i times 7. */
enum { BUFFERS = 3, MAX = 64, ROOM = 1000, ROUNDS = 30, SLOTS = 100 };
struct chain {
    unsigned char memory[BUFFERS][ROOM];
    ptl_handle_me_t end;
    ptl_handle_md_t md[BUFFERS];
    ptl_handle_eq_t eq;
    int unlinked;
    unsigned char next;
};

static void hang(struct chain *chain, intptr_t which)
{
    ptl_handle_me_t me;
    ptl_md_t md =
        ring_md(chain->memory[which], ROOM, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | QUIET, chain->eq);
    md.max_size = MAX;
    md.user_ptr = (void *)which;
    RING_OK(PtlMEInsert(chain->end, ring_anybody, 3, 0, PTL_UNLINK, PTL_INS_BEFORE, &me));
    RING_OK(PtlMDAttach(me, md, PTL_UNLINK, &chain->md[which]));
}

/* Takes the event of a message, and that of a buffer that unlinks by it: the buffer goes to the end
 * of the chain again.
 */
static void receive(struct chain *chain, ptl_size_t length)
{
    ptl_event_t event = ring_event(chain->eq, PTL_EVENT_PUT_END);
    const unsigned char *at = (unsigned char *)event.md.start + event.offset;
    ring_expect(event.mlength == length, "%llu bytes of %llu", (unsigned long long)event.mlength,
                (unsigned long long)length);
    for (ptl_size_t i = 0; i < event.mlength; i++, chain->next = (unsigned char)(chain->next + 7))
        if (!ring_expect(at[i] == chain->next, "byte %llu of a message of %llu",
                         (unsigned long long)i, (unsigned long long)length))
            break;
    if (ROOM - event.offset - event.mlength < MAX) {
        ptl_event_t gone = ring_event(chain->eq, PTL_EVENT_UNLINK);
        ring_expect(gone.md.user_ptr == event.md.user_ptr && gone.md.start == event.md.start &&
                        gone.link == event.link && gone.unlinked,
                    "UNLINK reports another MD or message");
        RING_IS(PtlMDUnlink(event.md_handle), PTL_MD_INVALID);
        chain->unlinked++;
        hang(chain, (intptr_t)event.md.user_ptr);
    }
}

static void max_size(void)
{
    static struct chain chain;
    unsigned char source[SLOTS][MAX], value = 0;
    unsigned int sent = 0;
    ptl_handle_md_t from, end, acks;
    ptl_handle_eq_t eq_acks = ring_eq(8);
    chain.eq = ring_eq(256);
    RING_OK(PtlMEAttach(ring.ni, PT, ring_anybody, 3, 0, PTL_UNLINK, PTL_INS_AFTER, &chain.end));
    RING_OK(PtlMDAttach(chain.end, ring_md(NULL, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, chain.eq),
                        PTL_RETAIN, &end));
    for (int i = 0; i < BUFFERS; i++) hang(&chain, i);
    acks = ring_bind(ring_md(source, sizeof source, QUIET, eq_acks));
    from = ring_bind(ring_md(source, sizeof source, QUIET, PTL_EQ_NONE));
    ring_barrier();
    for (int round = 0; round < ROUNDS; round++) {
        /* Every size, without ack and with.  No process is far ahead of another in a ring. */
        for (ptl_size_t n = 0; n <= MAX; n++) {
            bool ack = (n + (ptl_size_t)round) % 5 == 0;
            unsigned int slot = sent++ % SLOTS;
            for (ptl_size_t i = 0; i < n; i++, value = (unsigned char)(value + 7))
                source[slot][i] = value;
            RING_OK(PtlPutRegion(ack ? acks : from, slot * MAX, n,
                                 ack ? PTL_ACK_REQ : PTL_NOACK_REQ, ring.next, PT, 0, 3, 0, 0));
            if (ack) {
                ring_event(eq_acks, PTL_EVENT_SEND_END);
                ring_event(eq_acks, PTL_EVENT_ACK);
            }
            receive(&chain, n);
        }
    }
    ring_no_event(chain.eq);
    ring_expect(chain.unlinked > ROUNDS, "%d buffers used up", chain.unlinked);
    ring_barrier();
    for (int i = 0; i < BUFFERS; i++) ring_unlink(chain.md[i]);
    ring_unlink(acks);
    ring_unlink(from);
    ring_unlink(end);
    RING_OK(PtlEQFree(chain.eq));
    RING_OK(PtlEQFree(eq_acks));
    ring_done(
        "max_size: a chain of buffers refilled while it is used, no byte lost, each one UNLINK");
}

static void threshold(void)
{
    char target[16], source[16] = {0};
    ptl_handle_eq_t eq = ring_eq(16);
    ptl_md_t twice = ring_md(target, 16, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET, eq);
    ptl_handle_md_t first, second, from;
    ptl_event_t event;
    twice.threshold = 2;
    first = ring_attach(PT, 4, 0, twice, PTL_RETAIN);
    twice.user_ptr = target;
    second = ring_attach(PT, 4, 0, twice, PTL_UNLINK);
    from = ring_bind(ring_md(source, 16, QUIET, PTL_EQ_NONE));
    ring_barrier();
    for (int i = 0; i < 4; i++) {
        send(from, 0, 4, 4, 0);
        event = ring_event(eq, PTL_EVENT_PUT_END);
        ring_expect(event.md.threshold == 1 - i % 2, "a threshold of %d", event.md.threshold);
        ring_expect((event.md.user_ptr != NULL) == (i >= 2), "the wrong MD");
    }
    ring_event(eq, PTL_EVENT_UNLINK);
    ring_no_event(eq);
    ring_barrier();
    RING_IS(PtlMDUnlink(second), PTL_MD_INVALID);
    ring_unlink(first);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    ring_done("a used up threshold passes on to the next ME; only with PTL_UNLINK does the MD go");
}

/* Tests that a truncated put gets the space behind the descriptor's own offset, down to no byte. */
static void local_truncated(void)
{
    char target[100] = {0}, source[100];
    ptl_handle_eq_t eq = ring_eq(16);
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | QUIET;
    ptl_handle_md_t md = ring_attach(PT, 1, 0, ring_md(target, 100, options, eq), PTL_RETAIN);
    ptl_handle_md_t from = ring_bind(ring_md(source, 100, QUIET, PTL_EQ_NONE));
    memset(source, 'x', sizeof source);
    ring_barrier();
    send(from, 0, 60, 1, 0);
    taken(eq, PTL_EVENT_PUT_END, 0, 60);
    send(from, 0, 60, 1, 0);
    taken(eq, PTL_EVENT_PUT_END, 60, 40);
    send(from, 0, 60, 1, 0);
    taken(eq, PTL_EVENT_PUT_END, 100, 0);
    ring_expect(target[99] == 'x', "the last byte");
    ring_barrier();
    ring_unlink(md);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    ring_done("a local offset: truncation to all, part and nothing");
}

/* max_size says when there is too little left, not how long a message may be; and it is of no
 * account where the requester chooses the offset. */
static void max_size_alone(void)
{
    char target[100], source[100] = {0};
    ptl_handle_eq_t eq = ring_eq(16);
    ptl_md_t md = ring_md(target, 100, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | QUIET, eq);
    ptl_handle_md_t here, there, from = ring_bind(ring_md(source, 100, QUIET, PTL_EQ_NONE));
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT);
    md.max_size = 20;
    here = ring_attach(PT, 1, 0, md, PTL_RETAIN);
    md.options |= PTL_MD_MANAGE_REMOTE;
    there = ring_attach(PT, 2, 0, md, PTL_UNLINK);
    ring_barrier();
    send(from, 0, 80, 1, 0); /* more than max_size; 20 are left, which is not less */
    taken(eq, PTL_EVENT_PUT_END, 0, 80);
    send(from, 0, 1, 1, 0); /* 19 are left */
    taken(eq, PTL_EVENT_PUT_END, 80, 1);
    send(from, 0, 1, 1, 0);
    ring_await_register(PTL_SR_DROP_COUNT, drops + 1);
    for (int i = 0; i < 2; i++) {
        send(from, 0, 5, 2, 95);
        taken(eq, PTL_EVENT_PUT_END, 95, 5);
    }
    ring_barrier();
    ring_unlink(here);
    ring_unlink(there);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    ring_done("max_size is no upper limit of a message, and nothing to a remote offset");
}

void rules_offsets(void)
{
    local_truncated();
    max_size_alone();
    local();
    remote();
    max_size();
    threshold();
}
