/* order.c - rules of what comes before what: matching in the order of issue, what registers count,
 * many threads at once, lists changed while peers write. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "other/portals3/tests/rules.h"

enum { PT = 14, QUIET = PTL_MD_EVENT_START_DISABLE };

/* Short and long, puts, gets and swaps between two processes are matched as they were issued. */
static void matching(void)
{
    enum { OPERATIONS = 60, LONG = 60000 };
    static char target[LONG], memory[LONG];
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    ptl_handle_eq_t eq = ring_eq(256), mine = ring_eq(256);
    ptl_handle_md_t md = ring_attach(PT, 0, ~0ull, ring_md(target, LONG, options, eq), PTL_RETAIN);
    ptl_handle_md_t local = ring_bind(ring_md(memory, LONG, QUIET, mine));
    int starts = 0, ends = 0;
    ring_barrier();
    for (ptl_match_bits_t i = 0; i < OPERATIONS; i++) {
        ptl_size_t n = i % 4 == 0 ? LONG : 8;
        if (i % 3 == 0)
            RING_OK(PtlGetRegion(local, 0, n, ring.next, PT, 0, i, 0));
        else if (i % 7 == 0)
            RING_OK(PtlGetPutRegion(local, 0, local, 0, 8, ring.next, PT, 0, i, 0, 0));
        else
            RING_OK(PtlPutRegion(local, 0, n, PTL_NOACK_REQ, ring.next, PT, 0, i, 0, 0));
    }
    while (ends < OPERATIONS) {
        ptl_event_t event;
        if (PtlEQWait(eq, &event) != PTL_OK) break;
        if (event.type == PTL_EVENT_PUT_START || event.type == PTL_EVENT_GET_START ||
            event.type == PTL_EVENT_GETPUT_START) {
            ring_expect(event.match_bits == (ptl_match_bits_t)starts, "operation %d matched as %d",
                        (int)event.match_bits, starts);
            starts++;
        } else {
            ring_expect((int)event.match_bits < starts, "an END before its START");
            ends++;
        }
    }
    ring_barrier();
    ring_unlink(md);
    ring_unlink(local);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(mine));
    ring_done("operations to one target are matched in the order of issue, short and long alike");
}

/* Operations and bytes, sent, received and dropped. */
static void registers(void)
{
    char target[64], bytes[64] = {0};
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE;
    ptl_handle_eq_t eq = ring_eq(8), mine = ring_eq(8);
    ptl_handle_md_t md =
        ring_attach(PT, 1, 0, ring_md(target, 64, options | QUIET, eq), PTL_RETAIN);
    ptl_handle_md_t local = ring_bind(ring_md(bytes, 64, QUIET, mine));
    ptl_sr_value_t was[6];
    for (ptl_sr_index_t i = PTL_SR_DROP_COUNT; i <= PTL_SR_SEND_LENGTH; i++)
        was[i] = ring_register(i);
    ring_barrier();
    RING_OK(PtlPut(local, PTL_ACK_REQ, ring.next, PT, 0, 1, 10, 0)); /* 54 of 64 are taken */
    ring_event(mine, PTL_EVENT_SEND_END);
    ring_event(mine, PTL_EVENT_ACK);
    RING_OK(PtlGetRegion(local, 0, 7, ring.next, PT, 0, 1, 0));
    ring_event(mine, PTL_EVENT_REPLY_END);
    RING_OK(PtlPutRegion(local, 0, 5, PTL_NOACK_REQ, ring.next, PT, 0, 2, 0, 0)); /* no match */
    ring_event(eq, PTL_EVENT_PUT_END);
    ring_event(eq, PTL_EVENT_GET_END);
    ring_await_register(PTL_SR_DROP_COUNT, was[PTL_SR_DROP_COUNT] + 1);
    ring_await_register(PTL_SR_DROP_LENGTH, was[PTL_SR_DROP_LENGTH] + 5);
    ring_await_register(PTL_SR_SEND_COUNT, was[PTL_SR_SEND_COUNT] + 3);
    ring_await_register(PTL_SR_SEND_LENGTH, was[PTL_SR_SEND_LENGTH] + 64 + 5);
    ring_await_register(PTL_SR_RECV_COUNT, was[PTL_SR_RECV_COUNT] + 4); /* put, get, ACK, reply */
    ring_await_register(PTL_SR_RECV_LENGTH, was[PTL_SR_RECV_LENGTH] + 54 + 7 + 7);
    ring_barrier();
    ring_unlink(md);
    ring_unlink(local);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(mine));
    ring_done("registers count operations and bytes sent, received and dropped");
}

/* --- threads --- */

enum { THREADS = 8, EACH = 100, CELL = 6000 };

static struct worker {
    pthread_t thread;
    int which;
    ptl_handle_eq_t shared;
    char memory[CELL];
} workers[THREADS];
static _Atomic int shared_events;

/* Takes events of the shared queue, of any operation. */
static void share(ptl_handle_eq_t shared)
{
    ptl_event_t event;
    while (shared_events < THREADS * EACH) {
        int result = PtlEQGet(shared, &event);
        if (result == PTL_OK) {
            shared_events++;
            ring_expect(event.type == PTL_EVENT_ACK && event.ni_fail_type == PTL_NI_OK,
                        "%s in the shared queue", PtlEventKindStr(event.type));
            return;
        }
        ring_expect(result == PTL_EQ_EMPTY, "%s", PtlErrorStr((unsigned int)result));
        PtlProgress(ring.ni, 1);
    }
}

/* Writes this thread's own cell at the next process and reads it back, with events in its own
 * queue; after each time an ACK comes into the queue that all threads share. */
static void *work(void *argument)
{
    struct worker *me = argument;
    ptl_size_t cell = (ptl_size_t)me->which * CELL;
    unsigned int mute = QUIET | PTL_MD_EVENT_END_DISABLE;
    ptl_handle_md_t note = ring_bind(ring_md(NULL, 0, mute, me->shared));
    for (int i = 0; i < EACH; i++) {
        ptl_size_t n = i % 5 ? 16 : CELL;
        ptl_handle_eq_t own = ring_eq(4);
        ptl_handle_md_t put = ring_bind(ring_md(me->memory, CELL, mute, own));
        ptl_handle_md_t get = ring_bind(ring_md(me->memory, CELL, QUIET, own));
        memset(me->memory, me->which + i, n);
        RING_OK(PtlPutRegion(put, 0, n, PTL_ACK_REQ, ring.next, PT, 0, 3, cell, 0));
        ring_event(own, PTL_EVENT_ACK);
        RING_OK(PtlPut(note, PTL_ACK_REQ, ring.next, PT, 0, 3, 0, 0));
        memset(me->memory, 0, n);
        RING_OK(PtlGetRegion(get, 0, n, ring.next, PT, 0, 3, cell));
        ring_event(own, PTL_EVENT_REPLY_END);
        ring_expect(me->memory[0] == (char)(me->which + i) &&
                        me->memory[n - 1] == (char)(me->which + i),
                    "thread %d reads something else than it wrote", me->which);
        share(me->shared);
        RING_OK(PtlMDUnlink(put));
        RING_OK(PtlMDUnlink(get));
        RING_OK(PtlEQFree(own));
    }
    while (shared_events < THREADS * EACH) PtlProgress(ring.ni, 1);
    ring_unlink(note);
    return NULL;
}

static void threads(void)
{
    static char target[THREADS * CELL];
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET;
    ptl_handle_md_t md =
        ring_attach(PT, 3, 0, ring_md(target, sizeof target, options, PTL_EQ_NONE), PTL_RETAIN);
    ptl_handle_eq_t shared = ring_eq(2 * THREADS * EACH);
    shared_events = 0;
    ring_barrier();
    for (int i = 0; i < THREADS; i++) {
        workers[i].which = i;
        workers[i].shared = shared;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
    ring_expect(shared_events == THREADS * EACH, "%d ACKs", shared_events);
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(shared));
    ring_done("%d threads put, get and poll on a queue of all and on their own", THREADS);
}

/* --- lists changed under load --- */

static struct load {
    pthread_t thread;
    _Atomic bool enough;
    ptl_handle_md_t local;
    ptl_handle_eq_t eq;
    uint64_t word;
    int sent;
} load;

/* The next process is written to, one word after the other, until it has had enough. */
static void *write_on(void *argument)
{
    while (!load.enough) {
        ptl_event_t event;
        load.word++;
        RING_OK(PtlPut(load.local, PTL_ACK_REQ, ring.next, PT, 0, 4, 0, 0));
        ring_event(load.eq, PTL_EVENT_SEND_END);
        event = ring_event(load.eq, PTL_EVENT_ACK);
        ring_expect(event.mlength == 8, "%d bytes were taken", (int)event.mlength);
        load.sent++;
    }
    return NULL;
}

/* Looks while others write: the thread sanitizer is not to be asked about that. */
__attribute__((no_sanitize("thread"))) static uint64_t peek(const volatile uint64_t *word)
{
    return *word;
}

static uint64_t await_change(const volatile uint64_t *word, uint64_t from)
{
    time_t end = time(NULL) + 60;
    while (peek(word) == from && time(NULL) < end) PtlProgress(ring.ni, 1);
    ring_expect(peek(word) != from, "nothing is written any more");
    return peek(word);
}

static void stays(const volatile uint64_t *word, uint64_t value, const char *when)
{
    ring_expect(peek(word) == value, "%s: it is written to all the same", when);
}

/* Tests that a change of the list holds from the return of the call on, though peers may have a
 * copy of it.
 */
static void revoking(void)
{
    static uint64_t words[3];
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | QUIET | PTL_MD_EVENT_END_DISABLE;
    ptl_md_t first = ring_md(&words[0], 8, options, PTL_EQ_NONE), ahead = first, moved = first;
    ptl_handle_md_t md = PTL_INVALID_HANDLE, over;
    ptl_handle_me_t me = PTL_INVALID_HANDLE, before;
    ahead.start = &words[1];
    moved.start = &words[2];
    memset(words, 0, sizeof words);
    RING_OK(PtlMEAttach(ring.ni, PT, ring_anybody, 4, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
    RING_OK(PtlMDAttach(me, first, PTL_RETAIN, &md));
    load.enough = false;
    load.sent = 0;
    load.eq = ring_eq(8);
    load.local = ring_bind(ring_md(&load.word, 8, QUIET, load.eq));
    ring_barrier();
    pthread_create(&load.thread, NULL, write_on, NULL);
    for (int round = 0; round < 12; round++) {
        uint64_t seen = await_change(&words[0], peek(&words[0])), other;
        int result = PTL_MD_NO_UPDATE;
        for (int i = 0; i < 30; i++) seen = await_change(&words[0], seen); /* to be published */
        RING_OK(PtlMEInsert(me, ring_anybody, 4, 0, PTL_UNLINK, PTL_INS_BEFORE, &before));
        RING_OK(PtlMDAttach(before, ahead, PTL_RETAIN, &over));
        /* A put that had matched before may still arrive; the next comes after it. */
        other = await_change(&words[1], peek(&words[1]));
        seen = peek(&words[0]);
        other = await_change(&words[1], other);
        stays(&words[0], seen, "another MD ahead of it");
        ring_unlink(over);
        other = peek(&words[1]);
        seen = await_change(&words[0], seen);
        stays(&words[1], other, "unlinked");
        while (result == PTL_MD_NO_UPDATE)
            result = PtlMDUpdate(md, NULL, round % 2 ? &first : &moved, PTL_EQ_NONE);
        RING_OK(result);
        if (round % 2) continue;
        seen = peek(&words[0]);
        await_change(&words[2], peek(&words[2]));
        stays(&words[0], seen, "updated");
        do result = PtlMDUpdate(md, NULL, &first, PTL_EQ_NONE);
        while (result == PTL_MD_NO_UPDATE);
        RING_OK(result);
    }
    ring_barrier();
    load.enough = true;
    pthread_join(load.thread, NULL);
    ring_barrier();
    ring_unlink(load.local);
    RING_OK(PtlEQFree(load.eq));
    RING_OK(PtlMEUnlink(me));
    ring_done(
        "an MD put ahead, unlinked or updated under load: nothing is written to the old place");
}

/* Each is a put of bytes if that is possible, and a put of a part of an MD if not: only the
 * initiator's events differ. */
static void bytes_between(void)
{
    enum { MESSAGES = 300, LONGEST = 200 };
    static char target[MESSAGES * LONGEST], memory[LONGEST];
    unsigned int mute = QUIET | PTL_MD_EVENT_END_DISABLE;
    const char *fast = getenv("PTL_FASTPATH");
    const bool may = ring.size > 1 && !(fast && fast[0] == '0');
    ptl_handle_eq_t eq = ring_eq(MESSAGES + 8), mine = ring_eq(8);
    ptl_handle_md_t md = ring_attach(
        PT, 5, 0, ring_md(target, sizeof target, PTL_MD_OP_PUT | QUIET, eq), PTL_RETAIN);
    ptl_handle_md_t local = ring_bind(ring_md(memory, LONGEST, mute, mine));
    ptl_path_t path;
    int as_bytes = 0;
    ptl_size_t sum = 0;
    ring_barrier();
    RING_IS(PtlPathOpen(ring.ni, ring.next, PT, &path), may ? PTL_OK : PTL_NO_SPACE);
    RING_OK(PtlPutRegion(local, 0, 0, PTL_ACK_REQ, ring.next, PT, 0, 5, 0, 0));
    ring_event(mine, PTL_EVENT_ACK); /* connects the two processes */
    ring_event(eq, PTL_EVENT_PUT_END);
    for (int i = 0; i < MESSAGES; i++) {
        ptl_size_t n = (ptl_size_t)i % (LONGEST + 1);
        memset(memory, i, LONGEST);
        int result = PtlPutBytes(path, memory, n, 5, 7, (ptl_hdr_data_t)i);
        as_bytes += result == PTL_OK;
        if (result == PTL_OK) continue;
        ring_expect(result == PTL_NO_SPACE, "PtlPutBytes: %s", PtlErrorStr((unsigned int)result));
        RING_OK(PtlPutRegion(local, 0, n, PTL_ACK_REQ, ring.next, PT, 0, 5, 7, (ptl_hdr_data_t)i));
        ring_event(mine, PTL_EVENT_ACK); /* the memory may be changed */
    }
    ptl_size_t counts[2] = {0};
    for (int tries = 0; tries < 10000 && counts[0] < MESSAGES; tries++) {
        RING_OK(PtlEQCount((const ptl_handle_eq_t[]){eq, mine}, 2, counts));
        if (counts[0] < MESSAGES) PtlProgress(ring.ni, 1);
    }
    ring_expect(counts[0] == MESSAGES && counts[1] == 0, "%d and %d events", (int)counts[0],
                (int)counts[1]);
    /* Taken one, two ... seven at a time. */
    const ptl_event_t *events = NULL;
    ptl_size_t batch = 0, read = 0;
    for (int i = 0; i < MESSAGES; i++) {
        ptl_size_t n = (ptl_size_t)i % (LONGEST + 1), most = 1 + (ptl_size_t)i % 7;
        if (read == batch) {
            PtlEQDone(eq, read);
            RING_OK(PtlEQNext(eq, &events, &batch));
            if (batch > most) batch = most;
            read = 0;
        }
        const ptl_event_t event = events[read++];
        ring_expect(event.type == PTL_EVENT_PUT_END && event.hdr_data == (ptl_hdr_data_t)i &&
                        event.match_bits == 5 && event.mlength == n && event.rlength == n &&
                        event.offset == sum && event.initiator.pid == ring.previous.pid &&
                        event.pt_index == PT,
                    "message %d: the event of another", i);
        for (ptl_size_t at = 0; at < n; at++)
            if (!ring_expect(target[sum + at] == (char)i, "message %d: other bytes", i)) break;
        sum += n;
    }
    PtlEQDone(eq, read);
    ring_no_event(eq);
    ring_expect(may ? as_bytes > 0 && as_bytes < MESSAGES : as_bytes == 0,
                "%d of %d were puts of bytes", as_bytes, MESSAGES);
    ring_no_event(mine);
    ring_barrier();
    ring_unlink(md);
    ring_unlink(local);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(mine));
    ring_done("puts of bytes and of MDs are matched in the order of issue, and look alike");
}

void rules_order(void)
{
    matching();
    bytes_between();
    registers();
    threads();
    revoking();
}
