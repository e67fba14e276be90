/* noted.c - rules of puts and gets without events, which end with a note: they are complete when
 * PtlPoll returns it, each once and no other, and hold their MD until then.
 *
 * Where there is no fast path (PTL_FASTPATH=0, PTL_IFACE_SELF, a ring of one) every one is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "other/portals3/tests/rules.h"

enum {
    PT = 16,
    ROOM = 8192,
    SHORT = 8,
    LONG = 4000,
    COUNT = 200,
    TRIES = 2000,
    PATIENCE = 1000000
};

static char target[ROOM], bytes[ROOM];
static ptl_handle_eq_t mine;
static ptl_handle_md_t local;
static ptl_path_t path;
static uint64_t seen;

static int put_noted(const void *from, ptl_size_t length, ptl_handle_md_t md,
                     ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_note_t *note)
{
    note->md = md;
    return PtlPutNoted(path, from, length, match_bits, remote_offset, note);
}

static int get_noted(void *to, ptl_size_t length, ptl_handle_md_t md, ptl_match_bits_t match_bits,
                     ptl_size_t remote_offset, ptl_note_t *note)
{
    note->md = md;
    return PtlGetNoted(path, to, length, match_bits, remote_offset, note);
}

/* By the way that always works, which also makes the peer's list known. */
static void put_told(void)
{
    RING_OK(PtlPutRegion(local, 0, SHORT, PTL_ACK_REQ, ring.next, PT, 0, 0, 0, 0));
    ring_event(mine, PTL_EVENT_ACK);
}

/* Waits for `count` notes, in the order in which the operations were started. */
static void await(ptl_note_t *first, int count)
{
    ptl_note_t *note;
    int n = 0;
    for (int tries = 0; tries < PATIENCE && n < count; tries++) {
        PtlPoll(ring.ni, &seen, &note);
        for (; note; note = note->next, n++)
            if (!ring_expect(n < count && note == &first[n] && note->fail == PTL_NI_OK,
                             "note %d is another, or says %u", n, note->fail))
                return;
        if (n < count) PtlProgress(ring.ni, 1);
    }
    ring_expect(n == count, "%d notes of %d", n, count);
}

static void transfers(void)
{
    static ptl_note_t notes[COUNT];
    char word[SHORT];
    for (int i = 0; i < COUNT; i++) { /* the source changes at once */
        memset(word, i + 1, sizeof word);
        RING_OK(PtlPutBytesNoted(path, word, sizeof word, 0, (ptl_size_t)(SHORT * i), &notes[i]));
        if (i % 50 == 49) await(&notes[i - 49], 50);
    }
    memset(bytes, 'l', LONG);
    RING_OK(put_noted(bytes, LONG, local, 0, ROOM - LONG, &notes[0]));
    await(notes, 1);
    memset(bytes, 0, ROOM);
    RING_OK(get_noted(bytes, ROOM / 2, local, 0, 0, &notes[0]));
    RING_OK(get_noted(bytes + ROOM / 2, ROOM / 2, local, 0, ROOM / 2, &notes[1]));
    await(notes, 2);
    for (int i = 0; i < SHORT * COUNT; i++)
        if (!ring_expect(bytes[i] == (char)(i / SHORT + 1), "byte %d of a short put", i)) return;
    for (int i = ROOM - LONG; i < ROOM; i++)
        if (!ring_expect(bytes[i] == 'l', "byte %d of a long one", i)) return;
}

/* Memory with a threshold takes messages, which leave from send buffers, here between operations
 * with notes: some polls find completions of both. */
static void amid_messages(void)
{
    enum { ROUNDS = 300, PUTS = 3 };
    static ptl_note_t notes[PUTS];
    int total = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int puts = 0;
        while (puts < 1 + round % PUTS &&
               PtlPutBytesNoted(path, bytes, SHORT, 0, 0, &notes[puts]) == PTL_OK)
            puts++;
        RING_OK(PtlPutRegion(local, 0, LONG, PTL_NOACK_REQ, ring.next, PT + 1, 0, 0, 0, 0));
        await(notes, puts);
        total += puts;
    }
    ring_expect(total > ROUNDS, "only %d puts went between the messages", total);
}

static void refused(void)
{
    ptl_note_t note;
    RING_IS(PtlPutBytesNoted(path, bytes, LONG, 0, 0, &note), PTL_NO_SPACE);
    RING_IS(PtlPutBytesNoted(path, bytes, 0, 0, 0, &note), PTL_NO_SPACE);
    RING_IS(PtlPutBytesNoted(path, bytes, SHORT, 0, ROOM - SHORT + 1, &note), PTL_NO_SPACE);
    RING_IS(PtlPutBytesNoted(path, bytes, SHORT, 5, 0, &note), PTL_NO_SPACE);
    RING_IS(put_noted(bytes, LONG, PTL_INVALID_HANDLE, 0, 0, &note), PTL_NO_SPACE);
    RING_IS(put_noted(bytes + ROOM - 8, LONG, local, 0, 0, &note), PTL_NO_SPACE);
    RING_IS(put_noted(target, LONG, local, 0, 0, &note), PTL_NO_SPACE);
    RING_IS(put_noted(bytes, SHORT, local, 0, ROOM - SHORT + 1, &note), PTL_NO_SPACE);
    RING_IS(put_noted(bytes, SHORT, local, 5, 0, &note), PTL_NO_SPACE);
    RING_IS(get_noted(bytes, SHORT, PTL_INVALID_HANDLE, 0, 0, &note), PTL_NO_SPACE);
    RING_IS(get_noted(bytes, 0, local, 0, 0, &note), PTL_NO_SPACE);
    RING_IS(get_noted(bytes + 1, ROOM, local, 0, 0, &note), PTL_NO_SPACE);
    await(NULL, 0);
}

/* Tests that the note of an operation is there before its MD may be unlinked; PtlPoll returns it
 * when no thread makes progress. */
static void unlinked(void)
{
    static char memory[LONG];
    ptl_note_t note;
    ptl_handle_md_t md = ring_bind(ring_md(memory, LONG, PTL_MD_EVENT_START_DISABLE, mine));
    RING_OK(get_noted(memory, LONG, md, 0, 0, &note));
    ring_unlink(md);
    for (int i = 0; i < SHORT; i++)
        if (!ring_expect(memory[i] == bytes[0], "the MD is gone, and the get is not complete"))
            break;
    await(&note, 1);
}

/* Nothing but events of queues is news. */
static void news(void)
{
    ptl_note_t *ended;
    const ptl_event_t *event;
    ptl_size_t count;
    while (PtlPoll(ring.ni, &seen, &ended) != PTL_EQ_EMPTY) {
    }
    RING_OK(PtlPutRegion(local, 0, SHORT, PTL_ACK_REQ, ring.next, PT, 0, 0, 0, 0));
    int result = PTL_EQ_EMPTY;
    for (int tries = 0; tries < PATIENCE && result == PTL_EQ_EMPTY; tries++) {
        result = PtlPoll(ring.ni, &seen, &ended);
        if (result == PTL_EQ_EMPTY) PtlProgress(ring.ni, 1);
    }
    ring_expect(result == PTL_OK, "an ACK is no news");
    RING_OK(PtlEQNext(mine, &event, &count));
    ring_expect(event->type == PTL_EVENT_ACK && count == 1, "%d events, the first is %d",
                (int)count, event->type);
    PtlEQDone(mine, 1);
    RING_IS(PtlEQNext(mine, &event, &count), PTL_EQ_EMPTY);
    RING_IS(PtlPoll(ring.ni, &seen, &ended), PTL_EQ_EMPTY);
}

void rules_noted(void)
{
    const char *fast = getenv("PTL_FASTPATH");
    const bool may = ring.size > 1 && !(fast && fast[0] == '0');
    ptl_note_t note;
    mine = ring_eq(64);
    ptl_handle_md_t md =
        ring_attach(PT, 0, 0,
                    ring_md(target, ROOM,
                            PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
                                PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
                            PTL_EQ_NONE),
                    PTL_RETAIN);
    static char taken[ROOM];
    ptl_md_t counted = ring_md(taken, ROOM,
                               PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE |
                                   PTL_MD_EVENT_END_DISABLE,
                               PTL_EQ_NONE);
    counted.threshold = 1000000;
    ptl_handle_md_t other = ring_attach(PT + 1, 0, 0, counted, PTL_RETAIN);
    local = ring_bind(
        ring_md(bytes, ROOM, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, mine));
    seen = 0;
    ring_barrier();
    RING_IS(PtlPathOpen(ring.ni, ring.next, PT, &path), may ? PTL_OK : PTL_NO_SPACE);
    bool goes = false;
    for (int tries = 0; tries < (may ? TRIES : 10) && !goes; tries++) {
        put_told();
        goes = put_noted(bytes, SHORT, local, 0, 0, &note) == PTL_OK;
    }
    ring_expect(goes == may, "%s goes without events", goes ? "a put" : "no put");
    if (goes) {
        await(&note, 1);
        transfers();
        amid_messages();
        refused();
        unlinked();
    }
    news();
    ring_no_event(mine);
    ring_barrier();
    ring_unlink(md);
    ring_unlink(other);
    ring_unlink(local);
    RING_OK(PtlEQFree(mine));
    ring_done("puts and gets without events end with a note, or are refused");
}
