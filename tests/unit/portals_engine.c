/* portals_engine.c - portals-conduit and the core above it on a libportals that a script drives:
 * which descriptor serves what, when each thing comes back, and that nothing is ever lost (PO-3 to
 * PO-10, PO-12, PO-13).
 *
 * Rank 0 of 3 is the conduit; the test is ranks 1 and 2, whose pids are 101 and 102.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "core/am.h"
#include "core/am_wire.h"
#include "core/buffers.h"
#include "core/exit.h"
#include "core/params.h"
#include "core/poll.h"
#include "core/rdma.h"
#include "core/rdma_internal.h"
#include "portals-conduit/portals.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/ptl_script.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 1 << 20, H_SILENT = 200, H_ANSWER, H_PAYLOAD, H_REPLIED, H_LONG_ANSWER };

static struct {
    unsigned runs, reply_runs, payloads;
    size_t nbytes;
    uint8_t first, last;
    void *buffer;
} saw;
static uint8_t source[SEGMENT];
static gasnetc_counter_t counter;

/* What stubs.c wants of a network under test. */
net_key_t net_script_expose(void *start, size_t size)
{
    (void)size;
    return (net_key_t){.base = (uintptr_t)start, .selector = BITS_RAR};
}
void net_script_forget(void) {}
void net_script_reset(void) {}

static void on_silent(gasnet_token_t token)
{
    (void)token;
    saw.runs++;
}

static void on_answer(gasnet_token_t token)
{
    saw.runs++;
    gasnet_AMReplyShort0(token, H_REPLIED);
}

static void on_long_answer(gasnet_token_t token)
{
    saw.runs++;
    gasnet_AMReplyLong0(token, H_PAYLOAD, unit_segment(0) + 4096, 10000, unit_segment(1) + 64);
}

static void on_payload(gasnet_token_t token, void *buffer, size_t nbytes)
{
    (void)token;
    saw.payloads++;
    saw.buffer = buffer;
    saw.nbytes = nbytes;
    saw.first = *(uint8_t *)buffer;
    saw.last = ((uint8_t *)buffer)[nbytes - 1];
}

static void on_replied(gasnet_token_t token)
{
    (void)token;
    saw.reply_runs++;
}

static unsigned descriptors, entries;

static void begin(void)
{
    static const gasnet_handlerentry_t handlers[] = {
        {H_SILENT, (void (*)(void))on_silent},
        {H_ANSWER, (void (*)(void))on_answer},
        {H_PAYLOAD, (void (*)(void))on_payload},
        {H_REPLIED, (void (*)(void))on_replied},
        {H_LONG_ANSWER, (void (*)(void))on_long_answer}};
    gasnet_handlerentry_t table[5];
    memcpy(table, handlers, sizeof table);
    unit_job_begin(&(unit_job_t){3, 0, 8, 0, SEGMENT, 62});
    for (uint32_t r = 1; r < 3; r++)
        net_expect(&gasnetc_peers[r].net, &(ptl_process_id_t){.nid = 7, .pid = 100 + r});
    gasnetc_register_client(table, 5);
    memset(&saw, 0, sizeof saw);
    counter = (gasnetc_counter_t){0};
    descriptors = ptl_script_descriptors();
    entries = ptl_script_entries();
}

/* All that was taken is there again, but for what is in hand for the next Request. */
static bool nothing_is_lost(void)
{
    gasnetc_tidy_pins();
    unsigned hand = net_portals.in_hand != NULL;
    const gasnetc_loan_t *loan = &gasnetc_peers[1].net.loan;
    bool whole = net_portals.tickets.count + 2 * hand == net_portals.tickets.total &&
                 net_portals.chunks.count == net_portals.chunks.total &&
                 net_portals.answers.count + hand == net_portals.answers.total &&
                 net_portals.temporaries + hand == net_portals.temporaries_most &&
                 net_portals_rest.longs.waiting == 0 && loan->in_use == 0 &&
                 ptl_script_descriptors() == descriptors && ptl_script_entries() == entries;
    if (!whole)
        check_note(
            "tickets %u of %u, chunks %u of %u, answers %u of %u, temporaries %u of %u, "
            "halves %u, credits in use %u, descriptors %u of %u",
            net_portals.tickets.count + 2 * hand, net_portals.tickets.total,
            net_portals.chunks.count, net_portals.chunks.total, net_portals.answers.count + hand,
            net_portals.answers.total, net_portals.temporaries + hand, net_portals.temporaries_most,
            net_portals_rest.longs.waiting, loan->in_use, ptl_script_descriptors(), descriptors);
    return whole;
}

static void end(const char *what)
{
    gasnetc_poll();
    check(nothing_is_lost(), "%s: all tickets, chunks, credits and descriptors are back", what);
    unit_job_end();
    net_close();
    ptl_script_reset();
}

/* ---- puts and gets -----------------------------------------------------------------------------
 */

static bool from_role(const ptl_script_op_t *op, enum net_role role)
{
    return (enum net_role)(uintptr_t)op->from.user_ptr == role;
}

static bool done(void)
{
    return gasnetc_counter_done(&counter);
}

static void puts_and_gets(void)
{
    begin();
    char *there = unit_segment(1), *here = unit_segment(0);
    gasnetc_rdma_put_bulk(1, there + 100, here + 8, 64, &counter);
    ptl_script_op_t *op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_SEGMENT) && op->offset == 8 && op->there == 100 && op->ack &&
              op->entry == 38 && (op->bits & 15) == BITS_RAR,
          "PO-6 a put from the segment leaves from RARSRC, to RAR, and is acknowledged");
    ptl_script_sent(op);
    gasnetc_poll();
    check(!done(), "it is not complete when it is sent");
    ptl_script_acked(op);
    gasnetc_poll();
    check(done(), "it is when it is acknowledged");

    memset(source, 'x', 2048);
    gasnetc_rdma_put(1, there, source, 2048, &counter);
    memset(source, 'y', 2048);
    op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_REQSB) && op->bytes[2047] == 'x',
          "PO-6 a small one from elsewhere bounces through a chunk of ReqSB");
    uint32_t chunks = net_portals.chunks.count;
    ptl_script_sent(op);
    gasnetc_poll();
    check(net_portals.chunks.count == chunks + 1 && !done(), "which is free when it is sent");
    ptl_script_acked(op);
    gasnetc_poll();

    gasnetc_rdma_put_bulk(1, there, source, 2049, &counter);
    op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_TMPMD) && op->from.start == source && op->offset == 0,
          "PO-6 a large one from elsewhere has a temporary descriptor");
    ptl_script_sent(op);
    ptl_script_acked(op);
    gasnetc_poll();
    gasnetc_tidy_pins();
    check(ptl_script_descriptors() == descriptors, "which is unlinked when it is acknowledged");

    char answer[2040];
    check_fill(answer, sizeof answer);
    gasnetc_rdma_get(1, source, there + 5, 2040, &counter);
    op = ptl_script_op(-1);
    check(op->kind == PTL_SCRIPT_GET && from_role(op, NET_ROLE_REQSB) && op->offset % 2048 == 8,
          "PO-13 a small get lands in a chunk, behind the address where it belongs");
    ptl_script_got(op, answer);
    gasnetc_poll();
    check(done() && !memcmp(source, answer, sizeof answer), "and is copied there");
    gasnetc_rdma_get(1, source, there, 2041, &counter);
    op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_TMPMD), "PO-13 one more byte and it has a temporary descriptor");
    ptl_script_got(op, source);
    gasnetc_rdma_get(1, here, there, 100000, &counter);
    op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_SEGMENT), "PO-6 into the segment it goes by RARSRC");
    ptl_script_got(op, source);
    gasnetc_poll();
    check(done(), "all gets are complete");
    end("puts and gets");
}

/* As many as there are tickets; the next finds no room until one has ended. */
static void tickets(void)
{
    gasnetc_params.msg_limit = 5;
    begin();
    net_peer_t *peer = &gasnetc_peers[1].net;
    const net_key_t key = gasnetc_peers[1].segment.keys[0];
    const gasnetc_sent_t sent = {.counter = &counter};
    uint64_t word = 1;
    for (int i = 0; i < 5; i++) {
        counter.issued++;
        check_each(net_put(peer, key.base, &key, &word, NULL, 8, NET_UNORDERED, &sent) ==
                       NET_POSTED,
                   "put %d", i);
    }
    check_each(net_put(peer, key.base, &key, &word, NULL, 8, NET_UNORDERED, &sent) == NET_BUSY,
               "one too many");
    for (int i = 0; i < 5; i++) ptl_script_sent(ptl_script_op(i));
    gasnetc_poll();
    check_each(net_put(peer, key.base, &key, &word, NULL, 8, NET_UNORDERED, &sent) == NET_BUSY,
               "they are in flight until they are acknowledged");
    check_all("PO-5 GASNET_PORTAL_MSG_LIMIT bounds what is in flight");
    for (int i = 0; i < 5; i++) ptl_script_acked(ptl_script_op(i));
    gasnetc_poll();
    end("tickets");
    gasnetc_params.msg_limit = 250;

    gasnetc_params.num_tmpmd = 2;
    begin();
    net_region_t one, two, three;
    check(net_register(source, 5000, false, &one) && net_register(source, 5000, false, &two) &&
              !net_register(source, 5000, false, &three) && errno == EAGAIN,
          "PO-5 GASNET_PORTAL_NUM_TMPMD bounds temporary descriptors, and more have to wait");
    net_deregister(&one);
    check(net_register(source, 5000, false, &three), "until one is gone");
    net_deregister(&two);
    net_deregister(&three);
    end("temporary descriptors");
    gasnetc_params.num_tmpmd = 1024;
}

/* ---- Active Messages ---------------------------------------------------------------------------
 */

static uint8_t cost_of(const ptl_script_op_t *op)
{
    return bits_credits(op->header) & 15;
}

/* A Request from a peer: its place there is 2048 * `chunk`. */
static bool request(uint32_t rank, uint32_t chunk, message_t m, enum bits_kind kind, uint8_t cost)
{
    uint8_t bytes[5000];
    m.request = 1;
    size_t length = compose(&m, bytes), sent = (length + 7) & ~(size_t)7;
    return ptl_script_arrive(
        &(ptl_script_message_t){.from = 100 + rank,
                                .entry = 39,
                                .bits = bits_pack(chunk * 2048, 3, kind, BITS_REQRB),
                                .header = bits_header(rank, cost, (unsigned)(sent - length)),
                                .bytes = bytes,
                                .length = sent});
}

static void payload(uint32_t rank, uint32_t chunk, uint64_t offset, const void *bytes,
                    size_t length, enum bits_selector selector)
{
    if (!ptl_script_arrive(&(ptl_script_message_t){.from = 100 + rank,
                                                   .entry = 38,
                                                   .bits = bits_pack(chunk, 4, BITS_DATA, selector),
                                                   .offset = offset,
                                                   .header = bits_header(rank, 0, 0),
                                                   .bytes = bytes,
                                                   .length = length}))
        check(false, "a payload is taken");
}

/* The Reply of the peer to a Request of ours. */
static void reply_to(const ptl_script_op_t *op, message_t m, enum bits_kind kind, uint8_t more)
{
    uint8_t bytes[5000];
    size_t length = compose(&m, bytes);
    uint32_t rank = op->target.pid - 100;
    if (!ptl_script_arrive(&(ptl_script_message_t){
            .from = op->target.pid,
            .entry = 39,
            .bits = bits_pack(bits_place(op->bits), 5, kind, BITS_REQSB),
            .offset = bits_place(op->bits),
            .header = bits_header(rank, (uint8_t)(cost_of(op) | more << 4), 0),
            .bytes = bytes,
            .length = length}))
        check(false, "a Reply is taken");
}

static void requests(void)
{
    begin();
    const gasnetc_loan_t *loan = &gasnetc_peers[1].net.loan;
    uint32_t chunks = net_portals.chunks.count;
    gasnetc_AMRequestShort(1, H_SILENT, 0, NULL);
    ptl_script_op_t *op = ptl_script_op(-1);
    check(op->entry == 39 && (op->bits & 15) == BITS_REQRB && from_role(op, NET_ROLE_REQSB) &&
              !op->ack && op->length % 8 == 0,
          "PO-7 a Request leaves from a chunk of ReqSB for ReqRB");
    check(cost_of(op) == 1 && loan->in_use == 1, "PO-9 a Short costs one credit");
    ptl_script_sent(op);
    gasnetc_poll();
    check(net_portals.chunks.count == chunks - 1, "PO-7 the chunk waits for the Reply");
    reply_to(op, (message_t){.handler = H_REPLIED}, BITS_AM, 3);
    gasnetc_reap();
    check(saw.reply_runs == 0 && loan->in_use == 0,
          "PO-4 reaping takes the credits of a Reply, and runs no handler");
    gasnetc_poll();
    check(saw.reply_runs == 1 && net_portals.chunks.count == chunks,
          "its handler runs at the next poll, then the chunk is free");
    check(loan->owned == net_portals_rest.each + 3, "PO-10 a Reply can bring credits more");

    gasnetc_AMRequestMedium(1, H_PAYLOAD, source, 1976, 0, NULL);
    op = ptl_script_op(-1);
    check(cost_of(op) == 8 && op->length <= 2048, "PO-9 the largest Medium costs eight");
    reply_to(op, (message_t){.flags = HIDDEN}, BITS_AM, 0);
    ptl_script_sent(op); /* the other way round */
    gasnetc_poll();
    gasnetc_AMRequestLong(1, H_PAYLOAD, source, 1968, unit_segment(1), 0, NULL);
    op = ptl_script_op(-1);
    check(op->entry == 39 && bits_kind(op->bits) == BITS_AM && cost_of(op) == 8,
          "PO-7 a Long that fits is packed");
    ptl_script_sent(op);
    reply_to(op, (message_t){.flags = HIDDEN}, BITS_AM, 0);
    gasnetc_poll();
    end("Requests");
}

static void long_requests(void)
{
    gasnetc_params.packedlong_limit = 0;
    begin();
    ptl_script_forget();
    gasnetc_AMRequestLongAsync(1, H_PAYLOAD, unit_segment(0) + 64, 5000, unit_segment(1) + 4096, 0,
                               NULL);
    ptl_script_op_t *data = ptl_script_op(0), *header = ptl_script_op(1);
    check(ptl_script_ops() == 2 && data->entry == 38 && (data->bits & 15) == BITS_RARAM &&
              data->there == 4096 && !data->ack && from_role(data, NET_ROLE_SEGMENT),
          "PO-7 the payload of another goes to RARAM by itself");
    check(header->entry == 39 && bits_kind(header->bits) == BITS_HEADER &&
              bits_place(header->bits) == bits_place(data->bits),
          "header and payload carry the same number");
    check(cost_of(header) == 2, "PO-9 it costs two credits");
    ptl_script_sent(header);
    ptl_script_sent(data);
    reply_to(header, (message_t){.flags = HIDDEN}, BITS_AM, 0);
    gasnetc_poll();
    gasnetc_AMRequestLongAsync(1, H_PAYLOAD, source, 5000, unit_segment(1), 0, NULL);
    data = ptl_script_op(2);
    check(from_role(data, NET_ROLE_TMPMD) && ptl_script_descriptors() == descriptors + 1,
          "PO-3 from outside the segment by a temporary descriptor");
    ptl_script_sent(data);
    gasnetc_poll();
    check(ptl_script_descriptors() == descriptors, "which is unlinked when the payload is sent");
    ptl_script_sent(ptl_script_op(3));
    reply_to(ptl_script_op(3), (message_t){.flags = HIDDEN}, BITS_AM, 0);
    end("Long Requests");
    gasnetc_params.packedlong_limit = 1968;
}

static void serving(void)
{
    begin();
    ptl_script_forget();
    request(1, 7, (message_t){.handler = H_SILENT}, BITS_AM, 1);
    gasnetc_poll();
    ptl_script_op_t *op = ptl_script_op(-1);
    check(saw.runs == 1 && from_role(op, NET_ROLE_RPLSB) && op->entry == 39 &&
              (op->bits & 15) == BITS_REQSB && op->there == 7 * 2048,
          "PO-7 a Request without a Reply is answered too, where its chunk is");
    check(cost_of(op) == 1, "PO-9 and gets its credit back");
    uint32_t answers = net_portals.answers.count;
    ptl_script_sent(op);
    gasnetc_poll();
    check(net_portals.answers.count == answers + 1 - !!net_portals.in_hand ||
              net_portals.answers.count == answers + 1,
          "the chunk of RplSB is free when the Reply has left");
    request(2, 9, (message_t){.handler = H_ANSWER}, BITS_AM, 1);
    gasnetc_poll();
    op = ptl_script_op(-1);
    check(op->target.pid == 102 && op->there == 9 * 2048 && op->bytes[1] == H_REPLIED,
          "PO-7 the Reply of a handler goes to its sender");
    ptl_script_sent(op);
    message_t medium = {.category = MEDIUM, .handler = H_PAYLOAD, .payload = source, .nbytes = 77};
    source[0] = 1, source[76] = 2;
    request(1, 8, medium, BITS_AM, 1);
    request(1, 9, medium, BITS_AM, 1);
    gasnetc_poll();
    check(saw.payloads == 2 && saw.nbytes == 77 && saw.first == 1 && saw.last == 2 &&
              (uintptr_t)saw.buffer % 8 == 0,
          "a Medium of any length arrives whole, aligned to 8");
    ptl_script_sent(ptl_script_op(-1));
    ptl_script_sent(ptl_script_op(-2));
    end("serving");
}

static void long_arrivals(void)
{
    for (int order = 0; order < 2; order++) {
        begin();
        ptl_script_forget();
        memset(source, 'a' + order, 9000);
        uint64_t dst = (uintptr_t)unit_segment(0) + 512;
        message_t header = {.category = LONG, .handler = H_PAYLOAD, .dst = dst, .nbytes = 9000};
        uint8_t bytes[5000];
        header.request = 1;
        compose(&header, bytes);
        if (order == 0) payload(1, 5 * 2048, 512, source, 9000, BITS_RARAM);
        if (order == 1) request(1, 5, header, BITS_HEADER, 2);
        gasnetc_poll();
        check(saw.payloads == 0 && net_portals_rest.longs.waiting == 1 &&
                  net_portals.answers.count + 1 >= net_portals.answers.total,
              "PO-7 half a Long waits, and keeps nothing that a Reply needs");
        if (order == 0) request(1, 5, header, BITS_HEADER, 2);
        if (order == 1) payload(1, 5 * 2048, 512, source, 9000, BITS_RARAM);
        gasnetc_poll();
        check(saw.payloads == 1 && saw.nbytes == 9000 && saw.first == 'a' + order &&
                  saw.last == 'a' + order && (uintptr_t)saw.buffer == dst,
              "PO-7 %s first: the handler runs when both are there", order ? "header" : "payload");
        ptl_script_sent(ptl_script_op(-1));
        end("a Long Request");

        begin(); /* with segments elsewhere */
        dst = (uintptr_t)unit_segment(0) + 512;
        ptl_script_forget();
        gasnetc_AMRequestShort(1, H_SILENT, 0, NULL);
        ptl_script_op_t *op = ptl_script_op(-1);
        ptl_script_sent(op);
        message_t reply = {.category = LONG, .handler = H_PAYLOAD, .dst = dst, .nbytes = 9000};
        if (order == 0) payload(1, bits_place(op->bits), 512, source, 9000, BITS_RARSRC);
        if (order == 1) reply_to(op, reply, BITS_HEADER, 0);
        gasnetc_poll();
        check(saw.payloads == 0, "PO-7 half a Long Reply waits");
        if (order == 0) reply_to(op, reply, BITS_HEADER, 0);
        if (order == 1) payload(1, bits_place(op->bits), 512, source, 9000, BITS_RARSRC);
        gasnetc_poll();
        check(saw.payloads == 1 && saw.nbytes == 9000 && saw.last == 'a' + order,
              "PO-7 a Long Reply, %s first", order ? "header" : "payload");
        end("a Long Reply");
    }
}

/* ---- receive buffers ---------------------------------------------------------------------------
 */

static void refresh(void)
{
    begin();
    uint32_t chunks = (uint32_t)(net_portals_rest.reqrb_size / PLAN_CHUNK);
    unsigned wanted = 10 * net_portals_rest.buffers * chunks;
    message_t medium = {
        .category = MEDIUM, .handler = H_PAYLOAD, .payload = source, .nbytes = 1900};
    unsigned taken = 0;
    for (unsigned i = 0; i < wanted; i++) {
        medium.nbytes = 1 + check_below(1900);
        taken += request(1, i % 1000, medium, BITS_AM, 8);
        if (check_below(3) == 0) {
            ptl_script_forget();
            ptl_script_hold_unlinks = check_below(2);
            gasnetc_poll();
            for (unsigned op = 0; op < ptl_script_ops(); op++)
                ptl_script_sent(ptl_script_op((int)op));
            ptl_script_forget();
            while (check_below(2) && ptl_script_unlink()) continue;
        }
        if (i % 8 == 0) {
            ptl_script_hold_unlinks = false;
            while (ptl_script_unlink()) continue;
            while (net_portals.in_hand == NULL || saw.payloads < taken) {
                gasnetc_poll();
                for (unsigned op = 0; op < ptl_script_ops(); op++)
                    ptl_script_sent(ptl_script_op((int)op));
                ptl_script_forget();
                if (saw.payloads >= taken) break;
            }
        }
    }
    check(taken == wanted, "PO-8 %u Requests through %u buffers: each found room", taken,
          net_portals_rest.buffers);
    ptl_script_hold_unlinks = false;
    while (ptl_script_unlink()) continue;
    for (int i = 0; i < 100; i++) {
        gasnetc_poll();
        for (unsigned op = 0; op < ptl_script_ops(); op++) ptl_script_sent(ptl_script_op((int)op));
        ptl_script_forget();
    }
    check(saw.payloads == taken, "and ran its handler");
    end("receive buffers");
}

/* Threads that are in handlers: each keeps the first Request of a buffer, `kept` of them so far. */
static unsigned serve_but_first(net_message_t **kept, unsigned count)
{
    net_message_t *messages[8];
    unsigned systems = 0;
    for (int round = 0; round < 100; round++) {
        net_reap();
        unsigned n = net_arrivals(messages, 8, &systems);
        for (unsigned i = 0; i < n; i++) {
            const net_reqrb_t *buffer = ((net_answer_t *)messages[i])->buffer;
            if (count && ((net_answer_t *)kept[count - 1])->buffer == buffer)
                net_release(messages[i], NULL);
            else
                kept[count++] = messages[i];
        }
    }
    return count;
}

/* Who has replied has given its credits back, and not yet the buffer. */
static void threads_in_buffers(void)
{
    if (!GASNETC_THREADED) return;
    net_message_t *kept[16];
    begin();
    message_t medium = {
        .category = MEDIUM, .handler = H_PAYLOAD, .payload = source, .nbytes = 1900};
    uint32_t some = 3 * (uint32_t)(net_portals_rest.reqrb_size / PLAN_CHUNK);
    for (uint32_t i = 0; i < some; i++) request(1, i, medium, BITS_AM, 8);
    unsigned count = serve_but_first(kept, 0);
    check(count == NET_SPARE, "PO-8 threads are in %u receive buffers, as many as are spare",
          count);
    net_release(kept[0], NULL);
    count = serve_but_first(kept, count);
    check(count == NET_SPARE + 1, "PO-8 one of them returns: the next buffer is begun");
    for (unsigned i = 1; i < count; i++) net_release(kept[i], NULL);
    end("threads in buffers");
}

static void overflow(const void *unused)
{
    (void)unused;
    begin();
    message_t medium = {
        .category = MEDIUM, .handler = H_PAYLOAD, .payload = source, .nbytes = 1900};
    for (unsigned i = 0; i < 100000; i++) {
        request(1, i % 1000, medium, BITS_AM, 8);
        gasnetc_reap();
    }
}

static void strangers(const void *which)
{
    begin();
    switch (*(const int *)which) {
    case 0: /* credits that it does not have */
        request(1, 1, (message_t){.handler = H_SILENT}, BITS_AM, 0);
        break;
    case 1: /* another's name */
        ptl_script_arrive(&(ptl_script_message_t){.from = 102,
                                                  .entry = 39,
                                                  .bits = bits_pack(0, 0, BITS_AM, BITS_REQRB),
                                                  .header = bits_header(1, 1, 0)});
        break;
    case 2: /* a Reply to nothing */
        ptl_script_arrive(&(ptl_script_message_t){.from = 101,
                                                  .entry = 39,
                                                  .bits = bits_pack(0, 0, BITS_AM, BITS_REQSB),
                                                  .header = bits_header(1, 1, 0)});
        break;
    case 3: /* the same half twice */
        payload(1, 2048, 0, source, 100, BITS_RARAM);
        payload(1, 2048, 0, source, 100, BITS_RARAM);
        break;
    }
    gasnetc_poll();
}

/* ---- which queue is looked at, and how long ----------------------------------------------------
 */

static void means_first(void)
{
    gasnetc_params.rpl_chunks = 2;
    begin();
    ptl_script_forget();
    for (unsigned i = 0; i < 4; i++) request(1, i, (message_t){.handler = H_SILENT}, BITS_AM, 1);
    gasnetc_poll();
    check(saw.runs == 2, "PO-4 two chunks of RplSB: of four Requests two are served");
    gasnetc_poll();
    check(saw.runs == 2, "PO-4 the queue is not looked at without one");
    ptl_script_sent(ptl_script_op(0));
    gasnetc_poll();
    check(saw.runs == 3, "PO-4 one has left, one more is served");
    ptl_script_sent(ptl_script_op(1));
    gasnetc_poll();
    ptl_script_sent(ptl_script_op(2));
    ptl_script_sent(ptl_script_op(3));
    end("means");
    gasnetc_params.rpl_chunks = 256;

    gasnetc_params.msg_limit = 5;
    begin();
    ptl_script_forget();
    const net_key_t key = gasnetc_peers[1].segment.keys[0];
    const gasnetc_sent_t sent = {.counter = NULL};
    uint64_t word = 1;
    for (int i = 0; i < 4; i++)
        net_put(&gasnetc_peers[1].net, key.base, &key, &word, NULL, 8, NET_UNORDERED, &sent);
    request(1, 1, (message_t){.handler = H_SILENT}, BITS_AM, 1);
    gasnetc_poll();
    check(saw.runs == 0, "PO-4 nor with one ticket left instead of two");
    ptl_script_sent(ptl_script_op(0));
    ptl_script_acked(ptl_script_op(0));
    gasnetc_poll();
    check(saw.runs == 1, "PO-4 but with two");
    for (int i = 1; i < 4; i++) {
        ptl_script_sent(ptl_script_op(i));
        ptl_script_acked(ptl_script_op(i));
    }
    ptl_script_sent(ptl_script_op(4));
    end("tickets for Replies");
    gasnetc_params.msg_limit = 250;
}

static void limits(void)
{
    gasnetc_params.am_limit = 3;
    gasnetc_params.safe_limit = 2;
    gasnetc_params.sys_limit = 4;
    begin();
    ptl_script_forget();
    for (unsigned i = 0; i < 5; i++) request(1, i, (message_t){.handler = H_SILENT}, BITS_AM, 1);
    gasnetc_poll();
    check(saw.runs == 3, "PO-12 GASNET_PORTAL_AM_LIMIT=3: a poll serves three Requests");
    gasnetc_poll();
    for (int i = 0; i < 5; i++) ptl_script_sent(ptl_script_op(i));
    uint32_t before = net_portals.answers.count + !!net_portals.in_hand;
    gasnetc_poll();
    check(net_portals.answers.count + !!net_portals.in_hand == before + 2,
          "PO-12 GASNET_PORTAL_SAFE_LIMIT=2: and takes two events that free something");
    gasnetc_poll();
    gasnetc_poll();
    ptl_script_forget();
    for (unsigned i = 0; i < 5; i++)
        ptl_script_arrive(&(ptl_script_message_t){.from = 101,
                                                  .entry = 39,
                                                  .bits = bits_system(BITS_REVOKE, 0),
                                                  .header = bits_system_header(1, 0)});
    gasnetc_poll();
    check(ptl_script_ops() == 4,
          "PO-12 GASNET_PORTAL_SYS_LIMIT=4: four system messages are answered");
    gasnetc_poll();
    check(ptl_script_ops() == 5, "PO-12 and the fifth by the next poll");
    end("limits");
    gasnetc_params.am_limit = 8;
    gasnetc_params.safe_limit = 12;
    gasnetc_params.sys_limit = 0;
}

static void system_messages(void)
{
    begin();
    ptl_script_forget();
    net_sys(&gasnetc_peers[1].net, 4, 99);
    ptl_script_op_t *op = ptl_script_op(0);
    check(op->length == 0 && op->entry == 39 && (op->bits & 15) == BITS_SYS,
          "PO-4 a system message is nothing but its header");
    check(!net_quiet(), "it is on its way");
    ptl_script_sent(op);
    ptl_script_acked(op);
    gasnetc_poll();
    check(net_quiet(), "until it is acknowledged");
    ptl_script_arrive(&(ptl_script_message_t){.from = 102,
                                              .entry = 39,
                                              .bits = bits_system(BITS_WORDS, 5),
                                              .header = bits_system_header(2, 77)});
    gasnetc_poll();
    check(unit_system_message.from == 2 && unit_system_message.word0 == 5 &&
              unit_system_message.word1 == 77,
          "PO-X one that arrives reaches the exit engine");
    /* Rank 1 asks for credits. */
    ptl_script_forget();
    uint16_t owned = gasnetc_peers[1].net.loan.owned;
    ptl_script_arrive(&(ptl_script_message_t){.from = 101,
                                              .entry = 39,
                                              .bits = bits_system(BITS_REVOKE, 0),
                                              .header = bits_system_header(1, 0)});
    gasnetc_poll();
    op = ptl_script_op(0);
    unsigned back = op->bits >> 32 & 0xffff;
    check(bits_message(op->bits) == BITS_RETURN && back > 0 &&
              gasnetc_peers[1].net.loan.owned == owned - back,
          "PO-10 credits that are asked for go back: %u of %u", back, owned);
    end("system messages");
}

/* A wish for more is granted from the bank; when that is empty, others are asked. */
static void lending(void)
{
    gasnetc_params.cred_per_node = 16;
    gasnetc_params.banked_credits = 0;
    gasnetc_params.amrecv_space = 12 * 2048;
    begin();
    uint32_t bank = net_portals.lending.bank;
    unsigned given = 0, asked = 0;
    for (unsigned i = 0; i < 60; i++) {
        ptl_script_forget();
        request(1, i, (message_t){.handler = H_SILENT}, BITS_AM, 1 | 7 << 4);
        gasnetc_poll();
        for (unsigned n = 0; n < ptl_script_ops(); n++) {
            ptl_script_op_t *op = ptl_script_op((int)n);
            if ((op->bits & 15) == BITS_SYS) {
                asked += bits_message(op->bits) == BITS_REVOKE;
                check_each(op->target.pid == 102, "rank %u is asked", op->target.pid - 100);
                continue;
            }
            given += bits_credits(op->header) >> 4 & 7;
            ptl_script_sent(op);
        }
    }
    check_each(given == bank, "%u credits are given of %u", given, bank);
    check_each(asked == 1, "%u are asked", asked);
    check_all("PO-10 wishes are granted from the bank; then others are asked, once");
    ptl_script_arrive(&(ptl_script_message_t){.from = 102,
                                              .entry = 39,
                                              .bits = bits_system(BITS_RETURN, 5),
                                              .header = bits_system_header(2, 0)});
    gasnetc_poll();
    check(net_portals.lending.bank == 5, "PO-10 what comes back is in the bank");
    end("lending");
    gasnetc_params.cred_per_node = gasnetc_params.banked_credits = -1;
    gasnetc_params.amrecv_space = 0;
}

static void no_credit(void)
{
    begin();
    uint8_t short_am[8] = {1 << 2, H_SILENT};
    const gasnetc_sent_t sent = {.counter = NULL};
    net_peer_t *peer = &gasnetc_peers[1].net;
    ptl_script_forget();
    unsigned n = 0;
    while (net_am(peer, short_am, NULL, 8, true, NULL, &sent) == NET_POSTED && n < 10000) n++;
    check(n == net_portals_rest.each &&
              net_am(peer, short_am, NULL, 8, true, NULL, &sent) == NET_NO_CREDIT,
          "PO-9 after %u Requests there is no credit", n);
    reply_to(ptl_script_op(0), (message_t){.flags = HIDDEN}, BITS_AM, 0);
    gasnetc_poll();
    check(net_am(peer, short_am, NULL, 8, true, NULL, &sent) == NET_POSTED &&
              (bits_credits(ptl_script_op(-1)->header) >> 4 & 7) == 1,
          "PO-10 the next one tells that it had to wait");
    for (unsigned i = 0; i < ptl_script_ops(); i++) {
        ptl_script_sent(ptl_script_op((int)i));
        if (i) reply_to(ptl_script_op((int)i), (message_t){.flags = HIDDEN}, BITS_AM, 0);
        gasnetc_poll();
    }
    for (int i = 0; i < 100; i++) gasnetc_poll();
    end("credits");
}

/* The receive thread's sleep, asked for instead of slept. */
static int patience;

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    (void)fds, (void)count;
    patience = timeout;
    return 0;
}

static int sleeps(void)
{
    net_arm(0);
    gasnetc_poll();
    net_block(0);
    return patience;
}

static void sleeping(void)
{
    gasnetc_params.rcv_thread = true;
    gasnetc_params.safe_limit = 2;
    gasnetc_params.rpl_chunks = 2;
    begin();
    ptl_script_forget();
    check(sleeps() == -1, "IB-C8 where nothing is there the receive thread sleeps");
    for (unsigned i = 0; i < 3; i++) request(1, i, (message_t){.handler = H_SILENT}, BITS_AM, 1);
    check(sleeps() == 1 && saw.runs == 2,
          "IB-C8 a Request that waits for the means to answer it: it looks again soon");
    ptl_script_sent(ptl_script_op(0));
    check(sleeps() == 1 && saw.runs == 3, "IB-C8 which nothing else tells");
    const net_key_t key = gasnetc_peers[1].segment.keys[0];
    const gasnetc_sent_t sent = {.counter = NULL};
    uint64_t word = 1;
    net_put(&gasnetc_peers[1].net, key.base, &key, &word, NULL, 8, NET_UNORDERED, &sent);
    ptl_script_sent(ptl_script_op(1));
    ptl_script_sent(ptl_script_op(3));
    ptl_script_acked(ptl_script_op(3));
    check(sleeps() == 1, "IB-C8 so it does after a poll that stopped at a limit");
    ptl_script_sent(ptl_script_op(2));
    check(sleeps() == 1 && sleeps() == -1, "IB-C8 until all is served");
    end("the receive thread");
    gasnetc_params.rcv_thread = false;
    gasnetc_params.safe_limit = 12;
    gasnetc_params.rpl_chunks = 256;
}

/* What was lost has no event of its own. */
static void broken(void)
{
    begin();
    for (int i = 0; i < 2 * NET_LOOK_EVERY; i++) gasnetc_poll_sends();
    check(!gasnetc_exit_pending, "a node may wait as long as it likes");
    ptl_script_breaks = 1;
    for (int i = 0; i < NET_LOOK_EVERY; i++) gasnetc_poll_sends();
    check(gasnetc_exit_pending == GASNETC_EXIT_FAILURE && strstr(gasneti_failure(), "broke") &&
              strstr(gasneti_failure(), "lost"),
          "but not for messages that a broken connection has lost: %s", gasneti_failure());
    ptl_script_breaks = 0;
    gasnetc_exit_pending = 0;
    end("a broken connection");
}

/* It comes with a ticket of its sender's, who may have more of them. */
static void half_a_reply(void)
{
    begin();
    ptl_script_arrive(&(ptl_script_message_t){.from = 102,
                                              .entry = 39,
                                              .bits = bits_pack(0, 1000, BITS_AM, BITS_REQSB),
                                              .header = bits_header(2, 1, 0),
                                              .fails = true});
    net_reap();
    check(gasnetc_exit_pending == GASNETC_EXIT_FAILURE &&
              strstr(gasneti_failure(), "receiving from rank 2"),
          "a Reply that fails while it arrives: %s", gasneti_failure());
    gasnetc_exit_pending = 0;
    end("half a Reply");
}

int main(int argc, char **argv)
{
    static const int which[] = {0, 1, 2, 3};
    check_begin(argc, argv);
    puts_and_gets();
    tickets();
    requests();
    long_requests();
    serving();
    long_arrivals();
    refresh();
    threads_in_buffers();
    check_fatal("PO-3 what no receive buffer takes falls into the catch-basin: fatal", overflow,
                NULL, "catch-basin", "rank 1", "flow control");
    check_fatal("a Request that costs nothing is malformed", strangers, &which[0], "rank 1",
                "credit byte");
    check_fatal("so is one in another's name", strangers, &which[1], "rank 1", "source");
    check_fatal("a Reply to nothing", strangers, &which[2], "rank 1", "place");
    check_fatal("and half a Long that comes twice", strangers, &which[3], "rank 1", "twice");
    means_first();
    limits();
    system_messages();
    lending();
    no_credit();
    sleeping();
    broken();
    half_a_reply();
    return check_end();
}
