/*
 * hostile.c - the engine under messages that no honest peer sends, and under a peer that dies with
 * everything under way.
 *
 * The peer is the scripted peer, which sends whatever a test writes.  A seed replays.
 */
#include <portals3_ext.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/src/engine/engine.h"
#include "other/portals3/tests/scripted_peer.h"
#include "tests/unit/check.h"

enum { ROUNDS = 60, MESSAGES = 400, OPERATIONS = 60, ENTRIES = 10, QUEUES = 3 };
enum { ROOM = 20000, GUARD = 64, LONG = 12000, FIRST_KEY = 1000 };

static struct {
    unsigned char before[GUARD], memory[ROOM], after[GUARD];
} places[ENTRIES];
static unsigned char lent[ROOM], mine[ROOM]; /* lent: memory that the peer may name; mine: memory
                                                of own operations */
static ptl_handle_ni_t ni;
static ptl_process_id_t self, peer;
static ptl_handle_eq_t eqs[QUEUES];
static ptl_handle_md_t lent_md, sources[QUEUES], targets[ENTRIES];

#define OK(call) check_each((call) == PTL_OK, "line %d: %s", __LINE__, #call)

static uint64_t some_offset(void)
{
    static const uint64_t edges[] = {0,    1,          ROOM - 1,   ROOM,
                                     8192, UINT64_MAX, 1ull << 63, UINT64_MAX - ROOM};
    return check_below(2) ? edges[check_below(8)] : check_below(ROOM);
}

/* --- an interface with a bit of everything --- */

static void attach(int i)
{
    ptl_md_iovec_t pieces[4];
    unsigned char *memory = places[i].memory;
    ptl_md_t md = {.start = memory,
                   .length = check_below(4) ? ROOM : check_below(ROOM),
                   .threshold = check_below(3) ? PTL_MD_THRESH_INF : (int)check_below(20),
                   .max_size = check_below(ROOM),
                   .options = check_below(1 << 9) | (check_below(2) ? PTL_MD_OP_PUT : 0u),
                   .eq_handle = check_below(4) ? eqs[check_below(QUEUES)] : PTL_EQ_NONE};
    ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_handle_me_t me;
    if (md.options & PTL_MD_IOVEC) {
        for (int j = 0; j < 4; j++)
            pieces[j] = (ptl_md_iovec_t){memory + j * (ROOM / 4), check_below(ROOM / 4)};
        md.start = pieces;
        md.length = 4;
    }
    OK(PtlMEAttach(ni, i % 3, anybody, check_below(4), check_below(2) ? ~0ull : 1, PTL_UNLINK,
                   PTL_INS_AFTER, &me));
    OK(PtlMDAttach(me, md, check_below(2) ? PTL_UNLINK : PTL_RETAIN, &targets[i]));
}

static void open_all(bool thread, bool publish)
{
    mirror_set((struct mirror_ways){check_random(), thread, publish});
    OK(PtlInit(&(int){0}));
    OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
    OK(PtlGetId(ni, &self));
    peer = mirror_id(self);
    memset(places, 0xa5, sizeof places);
    OK(PtlMDBind(ni, (ptl_md_t){lent, ROOM, PTL_MD_THRESH_INF, 0, 0, NULL, PTL_EQ_NONE}, PTL_RETAIN,
                 &lent_md)); /* the first to be registered */
    for (int i = 0; i < QUEUES; i++) {
        OK(PtlEQAlloc(ni, 1 + check_below(100), PTL_EQ_HANDLER_NONE, &eqs[i]));
        OK(PtlMDBind(ni, (ptl_md_t){mine, ROOM, PTL_MD_THRESH_INF, 0, 0, NULL, eqs[i]}, PTL_RETAIN,
                     &sources[i]));
    }
    for (int i = 0; i < ENTRIES; i++) attach(i);
}

static void operate(void)
{
    ptl_handle_md_t md = sources[check_below(QUEUES)];
    ptl_size_t n = check_below(3) ? check_below(64) : check_below(LONG);
    ptl_pt_index_t pt = check_below(4);
    ptl_match_bits_t bits = check_below(4);
    switch (check_below(4)) {
    case 0:
        OK(PtlGetRegion(md, 0, n, peer, pt, 0, bits, check_below(ROOM)));
        break;
    case 1:
        OK(PtlGetPutRegion(md, 0, md, 64, n % 65, peer, pt, 0, bits, check_below(ROOM), 1));
        break;
    default:
        OK(PtlPutRegion(md, 0, n, check_below(2) ? PTL_ACK_REQ : PTL_NOACK_REQ, peer, pt, 0, bits,
                        check_below(ROOM), 2));
    }
}

static void drain(void)
{
    ptl_event_t event;
    for (int i = 0; i < QUEUES; i++)
        for (int result; (result = PtlEQGet(eqs[i], &event)) != PTL_EQ_EMPTY;)
            if (!check_each(result == PTL_OK || result == PTL_EQ_DROPPED, "PtlEQGet: %s",
                            PtlErrorStr((unsigned int)result)))
                return;
}

static ptl_sr_value_t reg(ptl_sr_index_t index)
{
    ptl_sr_value_t value = 0;
    OK(PtlNIStatus(ni, index, &value));
    return value;
}

static bool intact(const unsigned char *guard)
{
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != 0xa5) return false;
    return true;
}

/* The peer ends; then nothing is pending, whatever it sent before, and all can be freed. */
static void close_all(int round)
{
    mirror_break();
    for (int i = 0; i < 2000 && reg(PTL_SR_MSG_CUR) > 0; i++) PtlProgress(ni, 1);
    check_each(reg(PTL_SR_MSG_CUR) == 0, "round %d: %llu operations never end", round,
               (unsigned long long)reg(PTL_SR_MSG_CUR));
    operate(); /* fails, without a word */
    check_each(reg(PTL_SR_MSG_CUR) == 0, "round %d: an operation to the dead", round);
    drain();
    OK(PtlMDUnlink(lent_md));
    for (int i = 0; i < QUEUES; i++) OK(PtlMDUnlink(sources[i]));
    for (int i = 0; i < ENTRIES; i++) {
        int result = PtlMDUnlink(targets[i]); /* may have gone by itself */
        check_each(result == PTL_OK || result == PTL_MD_INVALID, "round %d: PtlMDUnlink: %s", round,
                   PtlErrorStr((unsigned int)result));
        check_each(intact(places[i].before) && intact(places[i].after),
                   "round %d: written outside of an MD", round);
    }
    for (int i = 0; i < QUEUES; i++) OK(PtlEQFree(eqs[i]));
    for (ptl_sr_index_t i = PTL_SR_MES_CUR; i <= PTL_SR_EQS_CUR; i += 4)
        check_each(reg(i) == 0, "round %d: register %u is %d", round, i, (int)reg(i));
    PtlFini();
}

/* --- messages --- */

/* Injects a random message, which the parser accepts or refuses. */
static void inject(void)
{
    unsigned char bytes[PTLI_WIRE_SIZE + 8192];
    struct ptli_header header = {.type = 1 + (uint8_t)check_below(PTLI_DONE),
                                 .source = check_below(20) ? peer : self,
                                 .destination = check_below(20) ? self : peer,
                                 .uid = (ptl_uid_t)check_random(),
                                 .jid = check_below(2),
                                 .pt_index = check_below(10) ? check_below(4) : check_below(100),
                                 .ac_index = check_below(10) ? 0 : check_below(100),
                                 /* of operations under way here, often */
                                 .operation = (uint64_t)check_below(40) << 32 | check_below(64),
                                 .match_bits = check_below(4),
                                 .hdr_data = check_random(),
                                 .length = check_below(3) ? check_below(200) : check_below(8192),
                                 .remote_offset = some_offset()};
    check_fill(bytes, sizeof bytes);
    if (header.type == PTLI_PUT && check_below(2))
        header.flags = PTLI_ANSWER | (check_below(2) ? PTLI_ASKS_ACK : 0);
    if ((header.type == PTLI_PUT || header.type == PTLI_GET) && check_below(3) == 0) {
        uint32_t count = 1 + check_below(5), piece = 1 + check_below(ROOM / 8);
        header.flags = PTLI_LONG | (header.type == PTLI_PUT ? PTLI_ANSWER : 0);
        header.length = (uint64_t)count * piece;
        header.data_length = count * PTLI_REMOTE_SIZE;
        for (uint32_t i = 0; i < count; i++) {
            struct ptli_remote remote = {(uintptr_t)lent + check_below(ROOM - piece), FIRST_KEY,
                                         piece};
            ptli_wire_encode_remote(&remote, bytes + PTLI_WIRE_SIZE + i * PTLI_REMOTE_SIZE);
        }
    } else if (header.type == PTLI_REPLY && check_below(4) == 0) {
        header.flags = PTLI_PLACED;
    } else if (header.type != PTLI_GET && header.type != PTLI_ACK && header.type != PTLI_DONE) {
        header.data_length = (uint32_t)header.length;
        if (header.type == PTLI_GETPUT && check_below(8))
            header.data_length = (uint32_t)(header.length %= 65);
    }
    ptli_wire_encode(&header, bytes);
    for (uint32_t i = check_below(8) ? 0 : 1 + check_below(3); i > 0; i--) {
        uint32_t at = check_below(PTLI_WIRE_SIZE);
        /* A list that names other memory would be the network's to refuse. */
        if (!(header.flags & PTLI_LONG)) bytes[at] ^= (unsigned char)(1u << check_below(8));
    }
    mirror_inject(bytes, PTLI_WIRE_SIZE + header.data_length + (check_below(30) ? 0 : 1));
}

static void messages(bool thread)
{
    ptl_sr_value_t taken = 0, dropped = 0;
    for (int round = 0; round < ROUNDS; round++) {
        open_all(thread, check_below(2));
        for (int i = 0; i < MESSAGES; i++) {
            inject();
            if (check_below(3) == 0) operate();
            for (uint32_t j = check_below(6); j > 0; j--) PtlProgress(ni, 0);
            if (check_below(10) == 0) drain();
        }
        for (int i = 0; i < 200; i++) PtlProgress(ni, 0);
        taken += reg(PTL_SR_RECV_COUNT);
        dropped += reg(PTL_SR_DROP_COUNT);
        close_all(round);
    }
    check_each(taken > 10 * ROUNDS && dropped > 10 * ROUNDS, "only %d accepted and %d dropped",
               (int)taken, (int)dropped);
    check_all("messages of any kind%s: nothing outside of MDs is written, everything ends",
              thread ? ", a thread at work" : "");
}

/* Injects an all-zero message as the first one: no admitted message precedes it that it could
 * equal. */
static void nothing(void)
{
    const unsigned char bytes[PTLI_WIRE_SIZE] = {0};
    open_all(false, false);
    const ptl_sr_value_t before = reg(PTL_SR_DROP_COUNT);
    mirror_inject(bytes, sizeof bytes);
    for (int i = 0; i < 2000 && reg(PTL_SR_DROP_COUNT) == before; i++) PtlProgress(ni, 0);
    check(reg(PTL_SR_DROP_COUNT) == before + 1, "a first message that is all zeros is dropped");
    close_all(0);
}

/* The id of the only operation under way. */
static uint64_t only_operation(void)
{
    const struct ptli_pool *pool = &ptli_engines[PTL_IFACE_DEFAULT].operations;
    for (uint32_t i = 0; i < pool->made; i++) {
        const struct ptli_operation *operation = ptli_pool_at(pool, i);
        if (atomic_load(&operation->slot.handle) != PTL_INVALID_HANDLE)
            return ptli_operation_id(operation);
    }
    return 0;
}

/* Tests an answer that is longer than its get. The get has ended by then, so the peer's own answer
 * is one that no operation waits for. */
static void overlong(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct ptli_header header = {.type = PTLI_REPLY, .length = 9, .data_length = 9};
        unsigned char bytes[PTLI_WIRE_SIZE + 9] = {0};
        ptl_event_t event;
        ptl_handle_eq_t eq;
        ptl_handle_md_t md;
        int failures = 0;
        open_all(false, false);
        OK(PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &eq));
        OK(PtlMDBind(ni, (ptl_md_t){mine, ROOM, PTL_MD_THRESH_INF, 0, 0, NULL, eq}, PTL_RETAIN,
                     &md));
        OK(PtlGetRegion(md, 0, 8, peer, 5, 0, 99, 0));
        header.operation = only_operation();
        header.source = peer;
        header.destination = self;
        ptli_wire_encode(&header, bytes);
        mirror_inject(bytes, sizeof bytes);
        for (int i = 0; i < 2000 && reg(PTL_SR_MSG_CUR) > 0; i++) PtlProgress(ni, 0);
        while (PtlEQGet(eq, &event) == PTL_OK)
            failures += event.type == PTL_EVENT_REPLY_END && event.ni_fail_type != PTL_NI_OK;
        check_each(failures == 1, "round %d: %d failures", round, failures);
        OK(PtlMDUnlink(md));
        OK(PtlEQFree(eq));
        close_all(round);
    }
    check_all("a reply with more than was asked for ends its get, which fails");
}

/* --- death --- */

static void deaths(bool thread)
{
    for (int round = 0; round < ROUNDS; round++) {
        open_all(thread, check_below(2));
        for (int i = 0; i < OPERATIONS; i++) {
            operate();
            for (uint32_t j = check_below(4); j > 0; j--) PtlProgress(ni, 0);
        }
        close_all(round);
    }
    check_all("a peer that dies%s: what is under way ends, and all can be unlinked",
              thread ? ", a thread at work" : "");
}

/* Each operation ends once, well or badly. */
static void endings(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int puts = 0, gets = 0;
        ptl_event_t event;
        ptl_handle_md_t md;
        ptl_handle_eq_t eq;
        open_all(false, false);
        OK(PtlEQAlloc(ni, 1000, PTL_EQ_HANDLER_NONE, &eq));
        OK(PtlMDBind(
            ni, (ptl_md_t){mine, ROOM, PTL_MD_THRESH_INF, 0, PTL_MD_EVENT_START_DISABLE, NULL, eq},
            PTL_RETAIN, &md));
        for (int i = 0; i < OPERATIONS; i++) {
            ptl_size_t n = i % 3 ? 8 : LONG;
            if (i % 2)
                OK(PtlPutRegion(md, 0, n, PTL_ACK_REQ, peer, 0, 0, 99, 0, 0));
            else
                OK(PtlGetRegion(md, 0, n, peer, 0, 0, 99, 0));
            for (uint32_t j = check_below(2); j > 0; j--) PtlProgress(ni, 0);
        }
        mirror_break();
        while (PtlEQGet(eq, &event) == PTL_OK) {
            puts += event.type == PTL_EVENT_SEND_END;
            gets += event.type == PTL_EVENT_REPLY_END;
        }
        /* A get that was answered "dropped" before has ended without a word. */
        check_each(puts == OPERATIONS / 2 && gets <= OPERATIONS / 2, "round %d: %d puts, %d gets",
                   round, puts, gets);
        OK(PtlMDUnlink(md));
        OK(PtlEQFree(eq));
        close_all(round);
    }
    check_all("every put under way when its peer dies has one SEND_END");
}

/* Numbered by their match bits. */
static void put_acked(ptl_handle_md_t md, int number)
{
    OK(PtlPutRegion(md, 0, number % 3 ? 8 : LONG, PTL_ACK_REQ, peer, 5, 0, (ptl_match_bits_t)number,
                    0, 0));
    for (uint32_t i = check_below(4); i > 0; i--) PtlProgress(ni, 0);
}

/* Tests puts that ask for an ACK, and would have got it. Each has an ACK that went well or one
 * event that reports its failure, whether SEND_END is logged or not, before its peer died or
 * after. */
static void acknowledged(unsigned options, bool publish)
{
    int late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
        int acks[OPERATIONS] = {0}, failures[OPERATIONS] = {0}, sent[OPERATIONS] = {0};
        ptl_event_t event;
        ptl_handle_md_t md, target;
        ptl_handle_me_t me;
        ptl_handle_eq_t eq;
        open_all(false, publish);
        OK(PtlMEAttach(ni, 5, anybody, 0, ~0ull, PTL_UNLINK, PTL_INS_AFTER, &me));
        OK(PtlMDAttach(me,
                       (ptl_md_t){lent, ROOM, PTL_MD_THRESH_INF, 0,
                                  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
                                      PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
                                  NULL, PTL_EQ_NONE},
                       PTL_RETAIN, &target));
        OK(PtlEQAlloc(ni, 1000, PTL_EQ_HANDLER_NONE, &eq));
        OK(PtlMDBind(ni,
                     (ptl_md_t){mine, ROOM, PTL_MD_THRESH_INF, 0,
                                PTL_MD_EVENT_START_DISABLE | options, NULL, eq},
                     PTL_RETAIN, &md));
        for (int i = 0; i < OPERATIONS; i++) put_acked(md, i);
        mirror_break();
        while (PtlEQGet(eq, &event) == PTL_OK) {
            bool well = event.ni_fail_type == PTL_NI_OK, ack = event.type == PTL_EVENT_ACK;
            if (well && ack) acks[event.match_bits]++;
            if (well && !ack) sent[event.match_bits]++;
            if (!well) failures[event.match_bits]++;
            late += !well && ack && sent[event.match_bits];
            check_each(well || !ack || event.mlength == 0, "round %d: a failure of %llu bytes",
                       round, (unsigned long long)event.mlength);
        }
        for (int i = 0; i < OPERATIONS; i++)
            check_each(acks[i] + failures[i] == 1, "round %d: put %d: %d ACKs, %d failures", round,
                       i, acks[i], failures[i]);
        OK(PtlMDUnlink(md));
        OK(PtlMDUnlink(target));
        OK(PtlEQFree(eq));
        close_all(round);
    }
    check_each(late > 0 || options, "none failed after it was sent");
    check_all("every put that asks for an ACK%s%s ends once, well or badly",
              options ? " alone" : "", publish ? ", by a published list" : "");
}

/* A thread that sees a PUT_END also sees whether the ACK has left, and can wait for it. */
static void owed(void)
{
    int late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
        struct ptli_header header = {
            .type = PTLI_PUT, .flags = PTLI_ANSWER | PTLI_ASKS_ACK, .pt_index = 5};
        unsigned char bytes[PTLI_WIRE_SIZE];
        ptl_md_t md = {.threshold = PTL_MD_THRESH_INF,
                       .options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE};
        ptl_handle_md_t target;
        ptl_handle_me_t me;
        ptl_event_t event;
        open_all(false, false);
        OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &md.eq_handle));
        OK(PtlMEAttach(ni, 5, anybody, 0, ~0ull, PTL_UNLINK, PTL_INS_AFTER, &me));
        OK(PtlMDAttach(me, md, PTL_RETAIN, &target));
        header.source = peer;
        header.destination = self;
        ptli_wire_encode(&header, bytes);
        mirror_inject(bytes, sizeof bytes);
        while (PtlEQGet(md.eq_handle, &event) != PTL_OK) PtlProgress(ni, 0);
        late += reg(PTL_SR_ANSWERS) > 0;
        check_each(reg(PTL_SR_ANSWERS) == reg(PTL_SR_MSG_CUR), "round %d: %d answers of %d", round,
                   (int)reg(PTL_SR_ANSWERS), (int)reg(PTL_SR_MSG_CUR));
        for (int i = 0; i < 2000 && reg(PTL_SR_ANSWERS); i++) PtlProgress(ni, 0);
        check_each(reg(PTL_SR_ANSWERS) == 0, "round %d: it never leaves", round);
        OK(PtlGetRegion(sources[0], 0, 8, peer, 5, 0, 0, 0));
        check_each(reg(PTL_SR_ANSWERS) == 0, "round %d: a get of its own is an answer", round);
        OK(PtlMDUnlink(target));
        OK(PtlEQFree(md.eq_handle));
        close_all(round);
    }
    check_each(late > 0 && late < ROUNDS, "%d of %d were late", late, (int)ROUNDS);
    check_all("an ACK that has not left is counted, from before the PUT_END is seen");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    for (int thread = 0; thread < 2; thread++) {
        messages(thread);
        deaths(thread);
    }
    nothing();
    overlong();
    endings();
    owed();
    for (int publish = 0; publish < 2; publish++) {
        acknowledged(0, publish);
        acknowledged(PTL_MD_EVENT_END_DISABLE, publish);
    }
    return check_end();
}
