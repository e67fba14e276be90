/* portals_queues.c - which event queue portals-conduit looks at, how long, and what it does when it
 * finds nothing: limits of a poll, system messages, credits lent and asked back, the receive
 * thread's sleep, failures without an event (PO-4, PO-10, PO-12, PO-X, IB-C8).
 */
#include <poll.h>

#include "tests/unit/portals_job.h"

static void means_first(void)
{
    gasnetc_params.rpl_chunks = 2;
    job_begin();
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
    job_end("means");
    gasnetc_params.rpl_chunks = 256;

    gasnetc_params.msg_limit = 5;
    job_begin();
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
    job_end("tickets for Replies");
    gasnetc_params.msg_limit = 250;
}

/* A message about credits from a peer. */
static void credits_message(uint32_t rank, enum bits_message message, uint32_t word)
{
    ptl_script_arrive(&(ptl_script_message_t){.from = 100 + rank,
                                              .entry = 39,
                                              .bits = bits_system(message, word),
                                              .header = bits_system_header(rank, 0)});
}

static void order(void)
{
    job_begin();
    ptl_script_forget();
    const net_key_t key = gasnetc_peers[1].segment.keys[0];
    const gasnetc_sent_t sent = {.counter = NULL};
    uint64_t word = 1;
    net_put(&gasnetc_peers[1].net, key.base, &key, &word, NULL, 8, NET_UNORDERED, &sent);
    ptl_script_sent(ptl_script_op(0));
    ptl_script_acked(ptl_script_op(0));
    request(1, 1, (message_t){.handler = H_SILENT}, BITS_AM, 1);
    for (int i = 0; i < 20; i++) credits_message(2, BITS_REVOKE, 0);
    ptl_script_looks.count = 0;
    gasnetc_poll();
    const ptl_handle_eq_t *queue = ptl_script_looks.queue;
    check(ptl_script_looks.count >= 3 && queue[0] == net_portals.sys_eq &&
              queue[1] == net_portals.safe_eq && queue[2] == net_portals.am_eq,
          "PO-4 a poll looks at SYS first, then at SAFE, then at AM");
    unsigned answers = 0, replies = 0;
    for (unsigned i = 1; i < ptl_script_ops(); i++) {
        ptl_script_op_t *op = ptl_script_op((int)i);
        bool system = (op->bits & 15) == BITS_SYS;
        answers += system;
        replies += !system;
        if (!system) ptl_script_sent(op);
    }
    check(answers == 20 && replies == 1, "PO-4 PO-12 and empties SYS, however much is in it");
    job_end("the order of the queues");
}

static void limits(void)
{
    gasnetc_params.am_limit = 3;
    gasnetc_params.safe_limit = 2;
    gasnetc_params.sys_limit = 4;
    job_begin();
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
    for (unsigned i = 0; i < 5; i++) credits_message(1, BITS_REVOKE, 0);
    gasnetc_poll();
    check(ptl_script_ops() == 4,
          "PO-12 GASNET_PORTAL_SYS_LIMIT=4: four system messages are answered");
    gasnetc_poll();
    check(ptl_script_ops() == 5, "PO-12 and the fifth by the next poll");
    job_end("limits");
    gasnetc_params.am_limit = 8;
    gasnetc_params.safe_limit = 12;
    gasnetc_params.sys_limit = 0;
}

static void system_messages(void)
{
    job_begin();
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
    credits_message(1, BITS_REVOKE, 0);
    gasnetc_poll();
    op = ptl_script_op(0);
    unsigned back = op->bits >> 32 & 0xffff;
    check(bits_message(op->bits) == BITS_RETURN && back > 0 &&
              gasnetc_peers[1].net.loan.owned == owned - back,
          "PO-10 credits that are asked for go back: %u of %u", back, owned);
    job_end("system messages");
}

/* The messages about credits report the epochs that have ended at their sender. */
static void epochs(void)
{
    job_begin();
    ptl_script_forget();
    gasnetc_loan_t *loan = &gasnetc_peers[1].net.loan;
    loan->stalls = 4;
    net_portals.lending.epoch = 3;
    credits_message(1, BITS_REVOKE, 0);
    gasnetc_poll();
    ptl_script_op_t *op = ptl_script_op(0);
    check(bits_message(op->bits) == BITS_RETURN && op->bits >> 32 == 3 << 16,
          "PO-10 a RETURN without credits reports 3 epochs");
    net_portals.lending.epoch = 5;
    credits_message(1, BITS_REVOKE, 2);
    gasnetc_poll();
    op = ptl_script_op(1);
    check(op->bits >> 48 == 2 && (op->bits >> 32 & 0xffff) > 0,
          "PO-10 a REVOKE that reports 2 epochs: stalls are forgotten, and 2 more are reported");

    ptl_script_forget();
    loan->stalls = 4;
    net_portals.lending.epoch = 9;
    net_portals.lending.bank_short = true;
    net_portals_scavenge();
    op = ptl_script_op(0);
    for (unsigned i = 0; i < ptl_script_ops(); i++)
        if (ptl_script_op((int)i)->target.pid == 101) op = ptl_script_op((int)i);
    check(bits_message(op->bits) == BITS_REVOKE && op->bits >> 32 == 4,
          "PO-10 a REVOKE reports 4 epochs");
    credits_message(1, BITS_RETURN, 2 << 16 | 1);
    gasnetc_poll();
    check(loan->stalls == 0, "PO-10 a RETURN that reports 2 epochs: stalls are forgotten");
    job_end("epochs");
}

/* A request for more is granted from the bank; when that is empty, others are asked. */
static void lending(void)
{
    gasnetc_params.cred_per_node = 16;
    gasnetc_params.banked_credits = 0;
    gasnetc_params.amrecv_space = 12 * 2048;
    job_begin();
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
    check_all("PO-10 requests are granted from the bank; then others are asked, once");
    credits_message(2, BITS_RETURN, 5);
    gasnetc_poll();
    check(net_portals.lending.bank == 5, "PO-10 what comes back is in the bank");
    job_end("lending");
    gasnetc_params.cred_per_node = gasnetc_params.banked_credits = -1;
    gasnetc_params.amrecv_space = 0;
}

/* The receive thread's sleep, asked for instead of slept. */
static int patience;

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    (void)fds;
    patience = count == 1 ? timeout : -2;
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
    job_begin();
    ptl_script_forget();
    check(sleeps() == -1, "IB-C8 where nothing is there the receive thread sleeps");
    for (unsigned i = 0; i < 3; i++) request(1, i, (message_t){.handler = H_SILENT}, BITS_AM, 1);
    check(sleeps() == 1 && saw.runs == 2,
          "IB-C8 a Request that waits for the means to answer it: it looks again soon");
    ptl_script_sent(ptl_script_op(0));
    check(sleeps() == -1 && saw.runs == 3, "IB-C8 until it is served");
    const net_key_t key = gasnetc_peers[1].segment.keys[0];
    const gasnetc_sent_t sent = {.counter = NULL};
    uint64_t word = 1;
    for (int op = 3; op < 5; op++) {
        net_put(&gasnetc_peers[1].net, key.base, &key, &word, NULL, 8, NET_UNORDERED, &sent);
        ptl_script_sent(ptl_script_op(op));
        ptl_script_acked(ptl_script_op(op));
    }
    ptl_script_sent(ptl_script_op(1));
    check(sleeps() == 1, "IB-C8 so it does after a poll that stopped at a limit");
    ptl_script_sent(ptl_script_op(2));
    check(sleeps() == -1, "IB-C8 until all is served");
    job_end("the receive thread");
    gasnetc_params.rcv_thread = false;
    gasnetc_params.safe_limit = 12;
    gasnetc_params.rpl_chunks = 256;
}

/* Tests broken connections: a lost message has no event of its own. */
static void broken(void)
{
    job_begin();
    for (int i = 0; i < 2 * NET_CHECK_EVERY; i++) gasnetc_poll_sends();
    check(!gasnetc_exit_pending, "a node may wait as long as it likes");
    ptl_script_breaks = 1;
    for (int i = 0; i < NET_CHECK_EVERY; i++) gasnetc_poll_sends();
    check(gasnetc_exit_pending == GASNETC_EXIT_FAILURE && strstr(gasneti_failure(), "broke") &&
              strstr(gasneti_failure(), "lost"),
          "but not for messages that a broken connection has lost: %s", gasneti_failure());
    ptl_script_breaks = 0;
    gasnetc_exit_pending = 0;
    job_end("a broken connection");
}

/* Receives half of a Reply, with a ticket of its sender, which may have more of them. */
static void half_a_reply(void)
{
    job_begin();
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
    job_end("half a Reply");
}

/* A failure was reported by name, and ends the job. */
static void told(const char *what, const char *name)
{
    check(gasnetc_exit_pending == GASNETC_EXIT_FAILURE && strstr(gasneti_failure(), what), "%s: %s",
          name, gasneti_failure());
    gasnetc_exit_pending = 0;
}

/* A rank that ends waits only for its own messages, and for none that can no longer be
 * acknowledged. */
static void lost_words(void)
{
    job_begin();
    ptl_script_forget();
    net_sys(&gasnetc_peers[1].net, 4, 99);
    net_sys(&gasnetc_peers[2].net, 4, 99);
    ptl_script_failed(ptl_script_op(0));
    gasnetc_poll_sends();
    check(!net_quiet(), "PO-X of two words one has failed");
    ptl_script_failed(ptl_script_op(1));
    gasnetc_poll_sends();
    check(net_quiet(), "PO-X no rank waits for messages that failed");
    ptl_script_refuses = true;
    net_sys(&gasnetc_peers[1].net, 4, 99);
    check(net_quiet(), "PO-X nor for one that never left");
    told("a system message to rank 1", "PO-X and the failure is reported");
    ptl_script_answers = 1;
    check(!net_quiet(), "PO-X no rank leaves while a peer waits for its answer");
    ptl_script_answers = 0;
    check(net_quiet(), "PO-X but when it has left");
    job_end("lost words");
}

/* Nothing frees the record of a put that failed: the job ends. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:failed_puts\n";
}

/* A put from any call, after any earlier event, is reported as failed. */
static void failed_puts(void)
{
    static const char *const from[] = {"PutSrc", "PutSB", "a temporary descriptor",
                                       "a temporary descriptor, after it was sent"};
    for (int i = 0; i < 4; i++) {
        job_begin();
        char *there = unit_segment(1), *here = unit_segment(0);
        ptl_script_forget();
        if (i == 0) gasnetc_rdma_put_bulk(1, there, here, 64, &counter);
        if (i == 1) gasnetc_rdma_put(1, there, source, 64, &counter);
        if (i >= 2) gasnetc_rdma_put_bulk(1, there, source, 5000, &counter);
        if (i == 3) ptl_script_sent(ptl_script_op(0));
        net_reap();
        check_each(!gasnetc_exit_pending, "nothing has failed yet");
        ptl_script_failed(ptl_script_op(0));
        net_reap();
        check_each(!counter_done(), "a put that failed is not complete");
        told("a put to rank 1", from[i]);
        job_drop();
    }
    check_all("no put that failed counts as complete");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    order();
    means_first();
    limits();
    system_messages();
    epochs();
    lending();
    sleeping();
    broken();
    half_a_reply();
    lost_words();
    failed_puts();
    return check_end();
}
