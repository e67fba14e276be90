/* portals_arrivals.c - receiving in portals-conduit: Requests, both halves of Longs, the buffers
 * they fill, and messages that no peer should send (PO-3, PO-7 to PO-9).
 */
#include "tests/unit/portals_job.h"

static void serving(void)
{
    job_begin();
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
    job_end("serving");
}

static void long_arrivals(void)
{
    for (int order = 0; order < 2; order++) {
        job_begin();
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
        job_end("a Long Request");

        job_begin(); /* with segments elsewhere */
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
        job_end("a Long Reply");
    }
}

static void refresh(void)
{
    job_begin();
    uint32_t chunks = (uint32_t)(net_portals_rest.reqrb_size / RECEIVE_CHUNK);
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
    job_end("receive buffers");
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

/* A rank that has replied has returned its credits, and not yet the buffer. */
static void threads_in_buffers(void)
{
    if (!GASNETC_THREADED) return;
    net_message_t *kept[16];
    job_begin();
    message_t medium = {
        .category = MEDIUM, .handler = H_PAYLOAD, .payload = source, .nbytes = 1900};
    uint32_t some = 3 * (uint32_t)(net_portals_rest.reqrb_size / RECEIVE_CHUNK);
    for (uint32_t i = 0; i < some; i++) request(1, i, medium, BITS_AM, 8);
    unsigned count = serve_but_first(kept, 0);
    check(count == NET_SPARE, "PO-8 threads are in %u receive buffers, as many as are spare",
          count);
    net_release(kept[0], NULL);
    count = serve_but_first(kept, count);
    check(count == NET_SPARE + 1, "PO-8 one of them returns: the next buffer is begun");
    for (unsigned i = 1; i < count; i++) net_release(kept[i], NULL);
    job_end("threads in buffers");
}

static void overflow(const void *unused)
{
    (void)unused;
    job_begin();
    message_t medium = {
        .category = MEDIUM, .handler = H_PAYLOAD, .payload = source, .nbytes = 1900};
    for (unsigned i = 0; i < 100000; i++) {
        request(1, i % 1000, medium, BITS_AM, 8);
        gasnetc_reap();
    }
}

static void as_rank_1(ptl_pid_t from, enum bits_selector selector)
{
    ptl_script_arrive(&(ptl_script_message_t){.from = from,
                                              .entry = 39,
                                              .bits = bits_pack(0, 0, BITS_AM, selector),
                                              .header = bits_header(1, 1, 0)});
}

static void strangers(const void *which)
{
    job_begin();
    switch (*(const int *)which) {
    case 0: /* credits that it does not have */
        request(1, 1, (message_t){.handler = H_SILENT}, BITS_AM, 0);
        break;
    case 1: /* another's name */
        as_rank_1(102, BITS_REQRB);
        break;
    case 2: /* a Reply to nothing */
        as_rank_1(101, BITS_REQSB);
        break;
    case 3: /* the payload of a Long twice */
        payload(1, 2048, 0, source, 100, BITS_RARAM);
        payload(1, 2048, 0, source, 100, BITS_RARAM);
        break;
    case 4: /* the payload of a Long Reply, and then a Reply without one */
        gasnetc_AMRequestShort(1, H_SILENT, 0, NULL);
        payload(1, bits_place(ptl_script_op(-1)->bits), 0, source, 100, BITS_RARSRC);
        gasnetc_poll();
        reply_to(ptl_script_op(-1), (message_t){.handler = H_REPLIED}, BITS_AM, 0);
        break;
    }
    gasnetc_poll();
}

int main(int argc, char **argv)
{
    static const int which[] = {0, 1, 2, 3, 4};
    check_begin(argc, argv);
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
    check_fatal("and a Reply whose payload belongs to none", strangers, &which[4], "rank 1",
                "payload");
    return check_end();
}
