/* portals_transfers.c - puts, gets and Requests that portals-conduit starts: which descriptor
 * serves what, when each thing comes back, what bounds it, and that nothing is ever lost (PO-3 to
 * PO-10, PO-13).
 */
#include <errno.h>

#include "tests/unit/portals_job.h"

static void puts_and_gets(void)
{
    job_begin();
    char *there = unit_segment(1), *here = unit_segment(0);
    gasnetc_rdma_put_bulk(1, there + 100, here + 8, 64, &counter);
    ptl_script_op_t *op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_SEGMENT) && op->offset == 8 && op->there == 100 && op->ack &&
              op->entry == 38 && (op->bits & 15) == BITS_RAR,
          "PO-6 a put from the segment leaves from PutSrc, to RAR, and is acknowledged");
    ptl_script_sent(op);
    gasnetc_poll();
    check(!counter_done(), "it is not complete when it is sent");
    ptl_script_acked(op);
    gasnetc_poll();
    check(counter_done(), "it is when it is acknowledged");

    memset(source, 'x', 2048);
    gasnetc_rdma_put(1, there, source, 2048, &counter);
    memset(source, 'y', 2048);
    op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_REQSB) && op->bytes[2047] == 'x',
          "PO-6 a small one from elsewhere bounces through a chunk of PutSB");
    uint32_t chunks = net_portals.chunks.count;
    ptl_script_sent(op);
    ptl_script_acked(op);
    gasnetc_poll();
    check(net_portals.chunks.count == chunks + 1 && counter_done(),
          "which is free when it is acknowledged");

    gasnetc_rdma_put_bulk(1, there, source, 2049, &counter);
    op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_TMPMD) && op->from.start == source && op->offset == 0,
          "PO-6 a large one from elsewhere has a temporary descriptor");
    ptl_script_sent(op);
    ptl_script_acked(op);
    gasnetc_poll();
    gasnetc_retire_regions();
    check(ptl_script_descriptors() == descriptors, "which is unlinked when it is acknowledged");

    char answer[2040];
    check_fill(answer, sizeof answer);
    gasnetc_rdma_get(1, source, there + 5, 2040, &counter);
    op = ptl_script_op(-1);
    check(op->kind == PTL_SCRIPT_GET && from_role(op, NET_ROLE_REQSB) && op->offset % 2048 == 8,
          "PO-13 a small get lands in a chunk, behind the address where it belongs");
    ptl_script_got(op, answer);
    gasnetc_poll();
    check(counter_done() && !memcmp(source, answer, sizeof answer), "and is copied there");
    static const uint32_t lengths[] = {1, 7, 8, 9, 63, NET_TICKET_DATA};
    uint32_t tickets = net_portals.tickets.count;
    chunks = net_portals.chunks.count;
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memset(source, 0, NET_TICKET_DATA + 1);
        gasnetc_rdma_get(1, source, there, lengths[i], &counter);
        op = ptl_script_op(-1);
        check_each(from_role(op, NET_ROLE_TICKETS) && net_portals.chunks.count == chunks,
                   "a get of %u lands elsewhere", lengths[i]);
        ptl_script_got(op, answer);
        gasnetc_poll();
        check_each(counter_done() && !memcmp(source, answer, lengths[i]) && !source[lengths[i]] &&
                       net_portals.tickets.count == tickets && net_portals.chunks.count == chunks,
                   "%u bytes", lengths[i]);
    }
    check_all("PO-13 a short get lands beside its ticket, and is copied when the reply is there");
    gasnetc_rdma_get(1, source, there, 2041, &counter);
    op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_TMPMD), "PO-13 one more byte and it has a temporary descriptor");
    ptl_script_got(op, source);
    gasnetc_rdma_get(1, here, there, 100000, &counter);
    op = ptl_script_op(-1);
    check(from_role(op, NET_ROLE_SEGMENT), "PO-6 into the segment it goes by RARSRC");
    ptl_script_got(op, source);
    gasnetc_poll();
    check(counter_done(), "all gets are complete");
    job_end("puts and gets");
}

/* As many as there are tickets; the next finds no room until one has ended. */
static void tickets(void)
{
    gasnetc_params.msg_limit = 5;
    job_begin();
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
    job_end("tickets");
    gasnetc_params.msg_limit = 250;

    gasnetc_params.num_tmpmd = 2;
    job_begin();
    net_region_t one, two, three;
    check(net_register(source, 5000, NET_LOCAL, &one) &&
              net_register(source, 5000, NET_LOCAL, &two) &&
              !net_register(source, 5000, NET_LOCAL, &three) && errno == EAGAIN,
          "PO-5 GASNET_PORTAL_NUM_TMPMD bounds temporary descriptors, and more have to wait");
    net_deregister(&one);
    check(net_register(source, 5000, NET_LOCAL, &three), "until one is gone");
    net_deregister(&two);
    net_deregister(&three);
    job_end("temporary descriptors");
    gasnetc_params.num_tmpmd = 1024;
}

/* The registration of memory that peers reach. */
static void regions(void)
{
    net_region_t region;
    job_begin();
    const unsigned entries = ptl_script_entries();
    ptl_script_no_space = true;
    check(!net_register(source, 5000, NET_REMOTE, &region) && errno == ENOMEM,
          "memory for which libportals has no descriptor is not registered");
    ptl_script_no_space = false;
    check(ptl_script_entries() == entries && ptl_script_descriptors() == descriptors,
          "of the attempt nothing is left, and nothing else is unlinked");
    check(net_register(source, 5000, NET_REMOTE, &region) && ptl_script_entries() == entries + 1 &&
              ptl_script_descriptors() == descriptors + 1,
          "the next attempt makes one entry and one descriptor");
    net_deregister(&region);
    check(ptl_script_entries() == entries && ptl_script_descriptors() == descriptors,
          "which end with it");
    job_end("regions");
}

static void requests(void)
{
    job_begin();
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
    ptl_script_sent(op); /* the Reply came before this event */
    gasnetc_poll();
    gasnetc_AMRequestLong(1, H_PAYLOAD, source, 1968, unit_segment(1), 0, NULL);
    op = ptl_script_op(-1);
    check(op->entry == 39 && bits_kind(op->bits) == BITS_AM && cost_of(op) == 8,
          "PO-7 a Long that fits is packed");
    ptl_script_sent(op);
    reply_to(op, (message_t){.flags = HIDDEN}, BITS_AM, 0);
    gasnetc_poll();
    job_end("Requests");
}

/* Tests messages whose bytes libportals copies: no operation waits for an event. */
static void copied_at_once(void)
{
    job_begin();
    gasnetc_AMRequestShort(1, H_SILENT, 0, NULL); /* the first Request to a peer has events */
    ptl_script_sent(ptl_script_op(-1));
    reply_to(ptl_script_op(-1), (message_t){.flags = HIDDEN}, BITS_AM, 0);
    gasnetc_poll();
    ptl_script_bytes = true;
    const uint32_t tickets = net_portals.tickets.count, chunks = net_portals.chunks.count;
    memset(source, 0xff, 80);
    for (uint32_t nbytes = 80; nbytes > 72; nbytes--) {
        gasnetc_AMRequestMedium(1, H_PAYLOAD, source, nbytes, 0, NULL);
        const ptl_script_op_t *op = ptl_script_op(-1);
        uint32_t clean = 8 + nbytes;
        while (clean < op->length && !op->bytes[clean]) clean++;
        check_each(op->entry == 39 && (op->bits & 15) == BITS_REQRB && op->length == 88 &&
                       clean == 88 && op->bytes[7 + nbytes] == 0xff,
                   "%u bytes, and zeros up to a multiple of 8", nbytes);
        check_each(net_portals.tickets.count + (net_portals.in_hand ? 2 : 0) == tickets &&
                       net_portals.chunks.count == chunks - 1,
                   "the ticket is back, the chunk waits for the Reply");
        reply_to(op, (message_t){.handler = H_REPLIED}, BITS_AM, 0);
        gasnetc_poll();
    }
    check_all("PO-7 Requests that are copied at once");
    request(1, 7, (message_t){.handler = H_ANSWER}, BITS_AM, 1);
    gasnetc_poll();
    const ptl_script_op_t *op = ptl_script_op(-1);
    check(saw.reply_runs == 8 && op->there == 7 * 2048 && (op->bits & 15) == BITS_REQSB &&
              op->bytes[1] == H_REPLIED && cost_of(op) == 1,
          "and a Reply, with the credit");
    job_end("messages that are copied at once");
}

/* Once a peer's table entry is known, nothing has an event. */
static void without_events(void)
{
    job_begin();
    char *there = unit_segment(1), *here = unit_segment(0);
    const uint32_t tickets = net_portals.tickets.count, chunks = net_portals.chunks.count;
    ptl_script_notes = true;
    gasnetc_rdma_put_bulk(1, there + 100, here + 8, 64, &counter);
    ptl_script_op_t *op = ptl_script_op(-1);
    check(!op->note && op->ack, "the first put to a peer has events");
    ptl_script_sent(op);
    ptl_script_acked(op);
    gasnetc_poll();

    gasnetc_rdma_put(1, there + 100, source, PTL_SCRIPT_COPIED, &counter);
    op = ptl_script_op(-1);
    check(op->note && op->target.pid == 101 && op->entry == 38 && op->there == 100 &&
              (op->bits & 15) == BITS_RAR && net_portals.chunks.count == chunks,
          "PO-6 a short one that is copied at once has a note, and needs no chunk");
    gasnetc_poll();
    check(!counter_done() && net_portals.tickets.count == tickets - 1,
          "PO-5 it holds a ticket, and is not complete");
    ptl_script_ended(op, PTL_NI_OK);
    gasnetc_poll();
    check(counter_done() && net_portals.tickets.count == tickets, "until the note is there");

    memset(source, 'x', 2048);
    gasnetc_rdma_put(1, there, source, 2048, &counter);
    memset(source, 'y', 2048);
    op = ptl_script_op(-1);
    check(op->note && from_role(op, NET_ROLE_REQSB) && op->bytes[2047] == 'x' &&
              net_portals.chunks.count == chunks - 1,
          "PO-6 a longer one bounces through a chunk");
    ptl_script_ended(op, PTL_NI_OK);
    gasnetc_poll();
    check(counter_done() && net_portals.chunks.count == chunks, "which is free with the note");

    gasnetc_rdma_put_bulk(1, there, here + 512, 4096, &counter);
    op = ptl_script_op(-1);
    check(op->note && from_role(op, NET_ROLE_SEGMENT) && op->offset == 512,
          "PO-6 one from the segment leaves from PutSrc");
    ptl_script_ended(op, PTL_NI_OK);
    gasnetc_poll();

    char answer[100];
    check_fill(answer, sizeof answer);
    memset(source, 0, sizeof answer);
    gasnetc_rdma_get(1, source, there + 5, NET_TICKET_DATA, &counter);
    gasnetc_rdma_get(1, source + NET_TICKET_DATA, there + 5, 8, &counter);
    for (int i = -2; i < 0; i++) {
        op = ptl_script_op(i);
        check_each(op->note && from_role(op, NET_ROLE_TICKETS) && op->length == (i == -2 ? 64 : 8),
                   "get %d", i);
        memcpy((char *)op->from.start + op->offset, answer, op->length);
    }
    check_each(net_portals.tickets.count == tickets - 2 && net_portals.chunks.count == chunks,
               "tickets %u, chunks %u", net_portals.tickets.count, net_portals.chunks.count);
    ptl_script_ended(ptl_script_op(-1), PTL_NI_OK);
    gasnetc_poll();
    check_each(!counter_done() && !source[0] && !memcmp(source + NET_TICKET_DATA, answer, 8),
               "the second one");
    ptl_script_ended(ptl_script_op(-2), PTL_NI_OK);
    gasnetc_poll();
    check_each(counter_done() && !memcmp(source, answer, NET_TICKET_DATA), "the first one");
    check_all("PO-13 short gets land beside their tickets, each by itself");
    gasnetc_rdma_get(1, source, there + 5, 100, &counter);
    op = ptl_script_op(-1);
    check(op->kind == PTL_SCRIPT_GET && op->note && from_role(op, NET_ROLE_REQSB) &&
              op->offset % 2048 == 8,
          "PO-13 a small get lands in a chunk");
    memcpy((char *)op->from.start + op->offset, answer, sizeof answer);
    ptl_script_ended(op, PTL_NI_OK);
    gasnetc_poll();
    check(counter_done() && !memcmp(source, answer, sizeof answer) &&
              net_portals.chunks.count == chunks,
          "and is copied, when the note is there, to where it belongs");
    gasnetc_rdma_get(1, here, there, 100000, &counter);
    op = ptl_script_op(-1);
    check(op->note && from_role(op, NET_ROLE_SEGMENT), "PO-6 into the segment it goes by RARSRC");
    ptl_script_ended(op, PTL_NI_OK);
    gasnetc_poll();
    check(counter_done(), "all are complete");
    job_end("operations without events");

    job_begin();
    there = unit_segment(1), here = unit_segment(0);
    ptl_script_notes = true;
    gasnetc_rdma_put_bulk(1, there, here, 64, &counter);
    ptl_script_acked(ptl_script_op(-1));
    gasnetc_poll();
    gasnetc_rdma_get(1, here, there, 64, &counter);
    ptl_script_ended(ptl_script_op(-1), PTL_NI_FAIL);
    gasnetc_poll_sends();
    check(gasnetc_exit_pending && strstr(gasneti_failure(), "a get from"),
          "one that fails ends the job: %s", gasneti_failure());
    gasnetc_exit_pending = 0;
    job_drop();
}

static void long_requests(void)
{
    gasnetc_params.packedlong_limit = 0;
    job_begin();
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
    job_end("Long Requests");
    gasnetc_params.packedlong_limit = 1968;
}

/* Memory that no device can access, but this process can: here, what libportals refuses. */
static void unpinnable(void)
{
    enum { PUTS = 6, GETS = 6, BYTES = 10400 };
    job_begin();
    char *there = unit_segment(1);
    const uint32_t chunks = net_portals.chunks.count;
    ptl_script_unpinnable = source;
    check_fill(source, BYTES);
    ptl_script_forget();
    gasnetc_rdma_put_bulk(1, there, source, BYTES, &counter);
    check_each(ptl_script_ops() == PUTS, "%u puts", ptl_script_ops());
    for (int i = 0; i < PUTS; i++) {
        ptl_script_op_t *op = ptl_script_op(i);
        check_each(from_role(op, NET_ROLE_REQSB) && op->there == (ptl_size_t)i * 2048 &&
                       !memcmp(op->bytes, source + (size_t)i * 2048, op->length),
                   "put %d", i);
        ptl_script_sent(op);
        ptl_script_acked(op);
    }
    gasnetc_poll();
    check_each(counter_done() && net_portals.chunks.count == chunks, "chunks are left");
    check_all("PO-16 a put from memory that cannot be registered goes through chunks");

    static char answer[BYTES];
    check_fill(answer, BYTES);
    ptl_script_forget();
    gasnetc_rdma_get(1, source, there, BYTES, &counter);
    check_each(ptl_script_ops() == GETS, "%u gets", ptl_script_ops());
    for (int i = 0; i < GETS; i++) {
        ptl_script_op_t *op = ptl_script_op(i);
        check_each(from_role(op, NET_ROLE_REQSB) && op->there == (ptl_size_t)i * 2040, "get %d", i);
        ptl_script_got(op, answer + (size_t)i * 2040);
    }
    gasnetc_poll();
    check_each(counter_done() && !memcmp(source, answer, BYTES), "the bytes");
    check_each(net_portals.chunks.count == chunks, "chunks are left");
    check_all("PO-16 and so does a get to it");

    gasnetc_params.packedlong_limit = 0;
    ptl_script_forget();
    gasnetc_AMRequestLongAsync(1, H_PAYLOAD, source, 5000, there, 0, NULL);
    ptl_script_op_t *data = ptl_script_op(0);
    check(from_role(data, NET_ROLE_TMPMD) && data->from.start != source &&
              !memcmp(data->bytes, answer, 5000),
          "PO-16 the payload of a Long is copied for its descriptor");
    ptl_script_sent(data);
    ptl_script_sent(ptl_script_op(1));
    reply_to(ptl_script_op(1), (message_t){.flags = HIDDEN}, BITS_AM, 0);
    gasnetc_poll();
    ptl_script_unpinnable = NULL;
    job_end("memory that cannot be registered");
    gasnetc_params.packedlong_limit = 1968;
}

static void no_credit(void)
{
    job_begin();
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
    job_end("credits");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    puts_and_gets();
    tickets();
    regions();
    requests();
    copied_at_once();
    without_events();
    long_requests();
    unpinnable();
    no_credit();
    return check_end();
}
