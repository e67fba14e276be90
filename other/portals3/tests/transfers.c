/* transfers.c - data: iovecs, sizes, truncation, all to all, swaps, access control,
 * injected failures. */
#include <stdlib.h>
#include <string.h>

#include "other/portals3/tests/rules.h"

enum { PT = 20, QUIET = PTL_MD_EVENT_START_DISABLE };

static unsigned char pattern(int rank, ptl_size_t i)
{
    return (unsigned char)(i * 31 + i / 251 + (ptl_size_t)rank * 7);
}

/* `count` pieces of uneven lengths with gaps between them, over one allocation.  Most lengths of a
 * large unit are thousands of bytes: forty pieces are sent by RDMA, several in one work request. */
struct scattered {
    unsigned char *memory;
    ptl_md_iovec_t *pieces;
    ptl_size_t count, length, span;
};

static struct scattered scatter(ptl_size_t count, ptl_size_t unit)
{
    struct scattered made = {.count = count, .span = count * (unit + 8)};
    made.memory = calloc(1, made.span);
    made.pieces = calloc(count, sizeof *made.pieces);
    for (ptl_size_t i = 0; i < count; i++) {
        made.pieces[i] =
            (ptl_md_iovec_t){made.memory + i * (unit + 8), i % 7 == 3 ? 0 : 1 + i * 1237 % unit};
        made.length += made.pieces[i].iov_len;
    }
    return made;
}

static unsigned char *at(const struct scattered *where, ptl_size_t i)
{
    ptl_size_t piece = 0;
    while (i >= where->pieces[piece].iov_len) i -= where->pieces[piece++].iov_len;
    return (unsigned char *)where->pieces[piece].iov_base + i;
}

static ptl_size_t sum(const struct scattered *where)
{
    ptl_size_t all = 0;
    for (ptl_size_t i = 0; i < where->span; i++) all += where->memory[i];
    return all;
}

static void release(struct scattered *where)
{
    free(where->memory);
    free(where->pieces);
}

static void iovecs(ptl_size_t count, ptl_size_t unit)
{
    struct scattered target = scatter(count, unit), source = scatter(count / 2 + 1, 2 * unit);
    unsigned int options =
        PTL_MD_IOVEC | PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET;
    ptl_handle_eq_t eq = ring_eq(16), eq_target = ring_eq(16);
    ptl_size_t n = (target.length < source.length ? target.length : source.length) - 5, before;
    ptl_handle_md_t md =
        ring_attach(PT, 1, 0, ring_md(target.pieces, target.count, options, eq_target), PTL_RETAIN);
    ptl_handle_md_t from =
        ring_bind(ring_md(source.pieces, source.count, PTL_MD_IOVEC | QUIET, eq));
    bool right = true;
    for (ptl_size_t i = 0; i < source.length; i++) *at(&source, i) = pattern(ring.rank, i);
    before = sum(&source);
    ring_barrier();
    RING_OK(PtlPutRegion(from, 2, n, PTL_ACK_REQ, ring.next, PT, 0, 1, 3, 0));
    ring_event(eq, PTL_EVENT_SEND_END);
    ring_event(eq, PTL_EVENT_ACK);
    ring_event(eq_target, PTL_EVENT_PUT_END);
    for (ptl_size_t i = 0; i < n; i++)
        right =
            right && *at(&target, 3 + i) == pattern((ring.rank + ring.size - 1) % ring.size, 2 + i);
    ring_expect(right, "the data of the put");
    ring_barrier();
    memset(source.memory, 0, source.span);
    RING_OK(PtlGetRegion(from, 2, n, ring.next, PT, 0, 1, 3));
    ring_event(eq, PTL_EVENT_REPLY_END);
    ring_event(eq_target, PTL_EVENT_GET_END);
    for (ptl_size_t i = 0; i < n; i++)
        right = right && *at(&source, 2 + i) == pattern(ring.rank, 2 + i);
    ring_expect(right, "the data of the get");
    ring_expect(sum(&source) <= before, "the gaps are as they were");
    ring_barrier();
    ring_unlink(md);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(eq_target));
    ring_done("iovecs of %llu pieces, %llu bytes", (unsigned long long)count,
              (unsigned long long)target.length);
    release(&target);
    release(&source);
}

static void truncated(void)
{
    enum { LONG = 200000 };
    char *target = calloc(1, LONG), *source = malloc(LONG);
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE;
    ptl_handle_eq_t eq = ring_eq(16), eq_target = ring_eq(16);
    ptl_handle_md_t md =
        ring_attach(PT, 1, 0, ring_md(target, LONG, options | QUIET, eq_target), PTL_RETAIN);
    ptl_handle_md_t from = ring_bind(ring_md(source, LONG, QUIET, eq));
    static const ptl_size_t left[] = {0, 1, 100, 100000, LONG};
    ptl_event_t event;
    ring_barrier();
    for (unsigned int i = 0; i < sizeof left / sizeof *left; i++) {
        memset(source, 'a' + (int)i, LONG);
        RING_OK(PtlPut(from, PTL_ACK_REQ, ring.next, PT, 0, 1, LONG - left[i], 0));
        ring_event(eq, PTL_EVENT_SEND_END);
        event = ring_event(eq, PTL_EVENT_ACK);
        ring_expect(event.mlength == left[i] && event.rlength == LONG, "an ACK of %llu",
                    (unsigned long long)event.mlength);
        event = ring_event(eq_target, PTL_EVENT_PUT_END);
        ring_expect(event.mlength == left[i] && event.rlength == LONG, "a put of %llu",
                    (unsigned long long)event.mlength);
        ring_expect(left[i] == 0 || (target[LONG - left[i]] == 'a' + (int)i &&
                                     target[LONG - 1] == 'a' + (int)i),
                    "the data");
        ring_barrier();
        memset(source, '.', LONG);
        RING_OK(PtlGet(from, ring.next, PT, 0, 1, LONG - left[i]));
        event = ring_event(eq, PTL_EVENT_REPLY_END);
        ring_expect(event.mlength == left[i] && event.rlength == LONG, "a reply of %llu",
                    (unsigned long long)event.mlength);
        ring_expect((left[i] == 0 || source[left[i] - 1] == 'a' + (int)i) &&
                        (left[i] == LONG || source[left[i]] == '.'),
                    "the data of the reply");
        ring_event(eq_target, PTL_EVENT_GET_END);
        ring_barrier();
    }
    ring_unlink(md);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(eq_target));
    free(target);
    free(source);
    ring_done("long operations are truncated to what is left: 0, 1, 100, half, all");
}

/* Each process writes a cell of each other, many times, then reads it back; none waits in between.
 */
static void crowd(void)
{
    enum { TIMES = 60 };
    static const ptl_size_t sizes[] = {8, 1000, 5000, 40000};
    const ptl_size_t cell = sizes[3];
    unsigned char *target = calloc((size_t)ring.size, cell), *source = malloc(cell),
                  *back = calloc((size_t)ring.size, cell);
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET;
    ptl_handle_eq_t eq = ring_eq(2 * TIMES * 16 + 16), eq_back = ring_eq(64);
    ptl_handle_md_t md = ring_attach(PT, 1, 0,
                                     ring_md(target, cell * (ptl_size_t)ring.size,
                                             options | PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE),
                                     PTL_RETAIN);
    ptl_handle_md_t from = ring_bind(ring_md(source, cell, QUIET, eq));
    ptl_handle_md_t to = ring_bind(ring_md(back, cell * (ptl_size_t)ring.size, QUIET, eq_back));
    int sends = 0, acks = 0;
    for (ptl_size_t i = 0; i < cell; i++) source[i] = pattern(ring.rank, i);
    ring_barrier();
    for (int i = 0; i < TIMES; i++)
        for (int peer = 0; peer < ring.size; peer++)
            RING_OK(PtlPutRegion(from, 0, i == TIMES - 1 ? cell : sizes[i % 4], PTL_ACK_REQ,
                                 ring_id(peer), PT, 0, 1, (ptl_size_t)ring.rank * cell, 0));
    while (acks < TIMES * ring.size || sends < TIMES * ring.size) {
        ptl_event_t event;
        int which;
        if (PtlEQPoll(&eq, 1, 60000, &event, &which) != PTL_OK) {
            ring_expect(false, "%d sends and %d acks of %d", sends, acks, TIMES * ring.size);
            break;
        }
        ring_expect(event.ni_fail_type == PTL_NI_OK, "a failure");
        sends += event.type == PTL_EVENT_SEND_END;
        acks += event.type == PTL_EVENT_ACK;
        ring_expect(acks <= sends, "an ACK before its SEND_END");
    }
    for (int peer = 0; peer < ring.size; peer++)
        RING_OK(PtlGetRegion(to, (ptl_size_t)peer * cell, cell, ring_id(peer), PT, 0, 1,
                             (ptl_size_t)ring.rank * cell));
    for (int peer = 0; peer < ring.size; peer++) ring_event(eq_back, PTL_EVENT_REPLY_END);
    for (int peer = 0; peer < ring.size; peer++)
        ring_expect(memcmp(back + (ptl_size_t)peer * cell, source, cell) == 0,
                    "what came back from %d", peer);
    ring_barrier();
    ring_unlink(md);
    ring_unlink(from);
    ring_unlink(to);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(eq_back));
    free(target);
    free(source);
    free(back);
    ring_done("all processes put to and get from all");
}

/* A word at process 0 goes round: the process that swaps 0 for its own has the lock, and counts
 * without further care. */
static void lock(void)
{
    enum { TIMES = 25 };
    static uint64_t words[2]; /* the lock; the count */
    uint64_t mine, had, count;
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | QUIET;
    ptl_handle_eq_t eq = ring_eq(16);
    ptl_handle_md_t md = ring_attach(
        PT, 2, 0, ring_md(words, sizeof words, options | PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE),
        PTL_RETAIN);
    ptl_handle_md_t put = ring_bind(ring_md(&mine, 8, QUIET, PTL_EQ_NONE));
    ptl_handle_md_t get = ring_bind(ring_md(&had, 8, QUIET, eq));
    ptl_handle_md_t counter = ring_bind(ring_md(&count, 8, QUIET, eq));
    ring_barrier();
    for (int i = 0; i < TIMES; i++) {
        do {
            mine = 1;
            RING_OK(PtlGetPut(get, put, ring_id(0), PT, 0, 2, 0, 0));
            ring_event(eq, PTL_EVENT_REPLY_END);
        } while (had != 0);
        RING_OK(PtlGet(counter, ring_id(0), PT, 0, 2, 8));
        ring_event(eq, PTL_EVENT_REPLY_END);
        count++;
        RING_OK(PtlPut(counter, PTL_ACK_REQ, ring_id(0), PT, 0, 2, 8, 0));
        ring_event(eq, PTL_EVENT_SEND_END);
        ring_event(eq, PTL_EVENT_ACK);
        mine = 0;
        RING_OK(PtlGetPut(get, put, ring_id(0), PT, 0, 2, 0, 0));
        ring_event(eq, PTL_EVENT_REPLY_END);
        ring_expect(had == 1, "the lock was %d", (int)had);
    }
    ring_barrier();
    if (ring.rank == 0)
        ring_expect(words[1] == (uint64_t)(TIMES * ring.size), "the count is %d", (int)words[1]);
    ring_barrier();
    words[0] = words[1] = 0;
    ring_unlink(md);
    ring_unlink(put);
    ring_unlink(get);
    ring_unlink(counter);
    RING_OK(PtlEQFree(eq));
    ring_done("getputs make a lock");
}

static void access(void)
{
    ptl_process_id_t stranger = ring.previous;
    ptl_handle_eq_t eq = ring_eq(16);
    ptl_handle_md_t md = ring_attach(
        PT, 3, 0, ring_md(NULL, 0, PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE | QUIET, eq), PTL_RETAIN);
    ptl_handle_md_t from = ring_bind(ring_md(NULL, 0, 0, PTL_EQ_NONE));
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT);
    ptl_uid_t uid;
    ptl_jid_t jid;
    stranger.pid ^= 0x5555;
    PtlGetUid(ring.ni, &uid);
    RING_OK(PtlACEntry(ring.ni, 1, stranger, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
    RING_OK(PtlACEntry(ring.ni, 2, ring_anybody, uid + 1, PTL_JID_ANY, PTL_PT_INDEX_ANY));
    RING_OK(PtlACEntry(ring.ni, 3, ring_anybody, PTL_UID_ANY, PTL_JID_ANY, PT + 1));
    PtlGetJid(ring.ni, &jid);
    RING_OK(PtlACEntry(ring.ni, 4, ring.previous, uid, jid, PT));
    RING_OK(PtlACEntry(ring.ni, 6, ring_anybody, PTL_UID_ANY, jid + 1, PTL_PT_INDEX_ANY));
    ring_barrier();
    for (ptl_ac_index_t ac = 0; ac < 7; ac++)
        RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, ac, 3, 0, ac));
    RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 77, 3, 0, 0)); /* the access control entry
                                                                         does not exist */
    RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, 77, 0, 3, 0, 0));
    for (ptl_ac_index_t ac = 0; ac < 6; ac++)
        if (ac == 0 || ac > 3) {
            ptl_event_t event = ring_event(eq, PTL_EVENT_PUT_END);
            ring_expect(event.hdr_data == ac, "admitted by %d", (int)event.hdr_data);
        }
    ring_await_register(PTL_SR_DROP_COUNT, drops + 6);
    ring_no_event(eq);
    ring_barrier();
    /* A request that was admitted once, and is repeated, is not admitted by another entry. */
    for (int round = 0; round < 4; round++) {
        const bool admits = round % 2 == 0;
        RING_OK(PtlACEntry(ring.ni, 5, admits ? ring_anybody : stranger, PTL_UID_ANY, PTL_JID_ANY,
                           PTL_PT_INDEX_ANY));
        ring_barrier();
        for (int i = 0; i < 2; i++) RING_OK(PtlPut(from, PTL_NOACK_REQ, ring.next, PT, 5, 3, 0, 0));
        for (int i = 0; i < 2 && admits; i++) ring_event(eq, PTL_EVENT_PUT_END);
        ring_await_register(PTL_SR_DROP_COUNT, drops + 6 + 2 * (ptl_sr_value_t)((round + 1) / 2));
        ring_no_event(eq);
        ring_barrier();
    }
    for (ptl_ac_index_t ac = 0; ac < 7; ac++)
        RING_OK(PtlACEntry(ring.ni, ac, ring_anybody, uid, PTL_JID_ANY, PTL_PT_INDEX_ANY));
    ring_unlink(md);
    ring_unlink(from);
    RING_OK(PtlEQFree(eq));
    ring_done("access entries: by process, user, job and table entry; indexes beyond the end");
}

static void failures(void)
{
    ptl_sr_value_t drops = ring_register(PTL_SR_DROP_COUNT);
    ptl_handle_eq_t eq = ring_eq(16);
    ptl_handle_md_t md = ring_bind(ring_md(NULL, 0, 0, eq));
    ptl_event_t event;
    if (ring.next.pid == ring.self.pid) {
        ring_unlink(md);
        RING_OK(PtlEQFree(eq));
        return; /* nothing fails between oneself */
    }
    ring_barrier();
    RING_OK(PtlFailNid(ring.ni, ring.next.nid, 2));
    RING_OK(PtlPut(md, PTL_ACK_REQ, ring.next, PT, 0, 4, 0, 0));
    ring_event(eq, PTL_EVENT_SEND_START);
    event = ring_event(eq, PTL_EVENT_SEND_END);
    ring_expect(event.ni_fail_type == PTL_NI_FAIL, "no failure");
    RING_OK(PtlGet(md, ring.next, PT, 0, 4, 0));
    event = ring_event(eq, PTL_EVENT_REPLY_END);
    ring_expect(event.ni_fail_type == PTL_NI_FAIL && event.mlength == 0, "no failure");
    RING_OK(PtlPut(md, PTL_ACK_REQ, ring.next, PT, 0, 4, 0, 0));
    ring_event(eq, PTL_EVENT_SEND_START);
    event = ring_event(eq, PTL_EVENT_SEND_END);
    ring_expect(event.ni_fail_type == PTL_NI_OK, "a failure too many");
    ring_await_register(PTL_SR_DROP_COUNT, drops + 1); /* no entry matches it */
    ring_barrier();
    ring_unlink(md);
    RING_OK(PtlEQFree(eq));
    ring_done("injected failures end operations with a failure and nothing else");
}

void rules_transfers(void)
{
    iovecs(3, 50);
    iovecs(300, 40);
    iovecs(40, 5000);
    truncated();
    crowd();
    lock();
    access();
    failures();
}
