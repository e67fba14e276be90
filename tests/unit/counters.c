/* counters.c - the counters, and the figures derived from them, on the scripted network.
 */
#include <string.h>

#include "core/am/am.h"
#include "core/job/progress.h"
#include "core/params/params.h"
#include "core/rdma/rdma.h"
#include "core/stats/stats.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 64 << 10, CREDITS = 3, H_QUIET = 130, H_ANSWER };

static gasnetc_tally_t peer, process;

static uint64_t of_peer(enum gasnetc_counter_id id)
{
    return peer.value[id];
}
static uint64_t of_process(enum gasnetc_counter_id id)
{
    return process.value[id];
}
#define PEER(name)    of_peer(GASNETC_COUNT_##name)
#define PROCESS(name) of_process(GASNETC_COUNT_##name)

static void look(void)
{
    gasnetc_tally_peer(1, &peer);
    gasnetc_tally_process(&process);
}

static void on_quiet(gasnet_token_t token)
{
    (void)token;
}
static void on_answer(gasnet_token_t token, void *bytes, size_t nbytes)
{
    (void)bytes;
    (void)nbytes;
    gasnet_AMReplyShort0(token, H_QUIET);
}

static void begin(void)
{
    gasnet_handlerentry_t table[] = {{H_QUIET, (void (*)(void))on_quiet},
                                     {H_ANSWER, (void (*)(void))on_answer}};
    net_script_reset();
    unit_job_begin(&(unit_job_t){3, 0, CREDITS, 2, SEGMENT, 40});
    gasnetc_register_client(table, 2);
}

static void give_credit_back(void)
{
    arrive(1, (message_t){.category = SHORT, .handler = H_QUIET, .credits = 1});
}

static void test_messages(void)
{
    static char bytes[5000];
    char text[300];
    begin();
    gasnet_AMRequestShort0(1, H_QUIET);
    gasnet_AMRequestMedium0(1, H_ANSWER, bytes, 40);
    give_credit_back();
    gasnet_AMPoll();
    gasnet_AMRequestLong0(1, H_ANSWER, bytes, 1000, unit_segment(1));
    look();
    check(PEER(requests_short) == 1 && PEER(requests_medium) == 1 && PEER(requests_long) == 1,
          "Requests are counted by category");
    check(PEER(am_bytes) == 1040 && PEER(am_bounced) == 1 && PROCESS(longs_packed) == 1,
          "their payload, the one that is not inline, the packed Long");
    check(PEER(got_replies_short) == 1 && PEER(credits_now) == 1 && PEER(credits_lowest) == 1 &&
              PEER(credits) == CREDITS,
          "a Reply that arrives, and the credits");
    gasnetc_counts_summary(text, sizeof text);
    check(strstr(text, "; rank 1: ") && strstr(text, ", 2 of 3 credits out") &&
              !strstr(text, "rank 2"),
          "a summary names the peers that something is expected of, and no others: %s", text);
    check(PEER(stalls_credits) == 0 && PEER(stalls_slots) == 0 && PROCESS(stalls_bounce) == 0,
          "nothing had to wait");
    arrive(1, (message_t){.category = SHORT, .request = true, .handler = H_QUIET});
    arrive(1, (message_t){.category = MEDIUM,
                          .request = true,
                          .handler = H_ANSWER,
                          .payload = bytes,
                          .nbytes = 9});
    gasnet_AMPoll();
    look();
    check(PEER(got_requests) == 2 && PEER(banked) == 1 && PEER(replies_short) == 1,
          "Requests that arrive are those replied to and those banked");
    check(PROCESS(got_requests_short) == 1 && PROCESS(got_requests_medium) == 1 &&
              PROCESS(got_am_bytes) == 9,
          "and are told apart for the process");
    check(PEER(puts) == 0 && PEER(gets) == 0, "messages are not taken for puts");
    gasnet_AMRequestShort0(0, H_QUIET);
    look();
    check(PROCESS(loopback) == 1 && PEER(requests_short) == 1, "loopback is counted apart");
    unit_job_end();
}

static void test_replies(void)
{
    static const char bytes[9];
    begin();
    for (unsigned i = 0; i < 6; i++) {
        gasnet_AMRequestShort0(1, H_QUIET);
        arrive(1, (message_t){.category = i < 1   ? SHORT
                                          : i < 3 ? MEDIUM
                                                  : LONG,
                              .handler = H_QUIET,
                              .credits = 1,
                              .dst = (uintptr_t)unit_segment(0),
                              .payload = i == 1 || i == 2 ? bytes : NULL,
                              .nbytes = i ? sizeof bytes : 0});
        gasnet_AMPoll();
    }
    look();
    check(PEER(got_replies_short) == 1 && PEER(got_replies_medium) == 2 &&
              PEER(got_replies_long) == 3 && PEER(got_hidden) == 0,
          "Replies that arrive are counted by category");
    unit_job_end();
}

static void end_a_wait(void)
{
    if (net_script.polls % 3 == 0) give_credit_back();
}

static void test_stalls(void)
{
    begin();
    for (int i = 0; i < CREDITS; i++) gasnet_AMRequestShort0(1, H_QUIET);
    net_script.on_arrivals = end_a_wait;
    gasnet_AMRequestShort0(1, H_QUIET);
    net_script.on_arrivals = NULL;
    look();
    check(PEER(stalls_credits) > 0 && PEER(credits_lowest) == 0, "a wait for credit is counted");
    unit_job_end();
    begin();
    net_script.busy = 2;
    gasnet_AMRequestShort0(1, H_QUIET);
    look();
    check(PEER(stalls_slots) == 2 && PEER(stalls_credits) == 0, "a full send queue is counted");
    check(PROCESS(stalls_slots) == 2 && PROCESS(credits_lowest) == 2,
          "over all peers times add up, and of credits it is the least");
    unit_job_end();
}

static void test_transfers(void)
{
    static char outside[SEGMENT];
    gasnetc_counter_t counter = {0};
    char text[200] = "of before";
    begin();
    gasnetc_counts_summary(text, sizeof text);
    check(!*text, "a process without traffic has no summary");
    gasnetc_params.bounce_limit = 8192;
    gasnetc_rdma_put(1, unit_segment(1), outside, 8, &counter);
    gasnetc_rdma_put(1, unit_segment(1), outside, 5000, &counter);
    gasnetc_rdma_put_bulk(1, unit_segment(1), unit_segment(0), 9000, &counter);
    gasnetc_rdma_put_bulk(1, unit_segment(1), outside, 10000, &counter);
    gasnetc_rdma_get(1, outside, unit_segment(1), 100, &counter);
    gasnetc_rdma_get(1, unit_segment(0), unit_segment(1), 200, &counter);
    gasnetc_wait(&counter);
    look();
    check(PEER(puts) == 5 && PEER(put_bytes) == 8 + 5000 + 9000 + 10000, "puts and their bytes");
    check(PEER(puts_inline) == 1 && PROCESS(puts_bounced) == 2 && PROCESS(puts_zero_copy) == 2,
          "puts inline, bounced and straight from the source");
    check(PEER(gets) == 2 && PEER(get_bytes) == 300 && PROCESS(gets_bounced) == 1,
          "gets, their bytes, the bounced one");
    check(PROCESS(transient_registrations) == 1, "a registration for one transfer");
    check(PROCESS(bounce_buffers) == UNIT_BBUFS && PROCESS(bounce_most) >= 1,
          "how many bounce buffers were in use");
    check(PROCESS(registrations) > 0 && PROCESS(spares_out) == NET_SCRIPT_SPARES_OUT &&
              PROCESS(shared_buffers) == NET_SCRIPT_SHARED &&
              PROCESS(connections) == NET_SCRIPT_CONNECTIONS,
          "what the network counts");
    check(PEER(am_by_ring) == NET_SCRIPT_BY_RING && PEER(rings) == NET_SCRIPT_RINGS,
          "and what it counts of a peer");
    gasnetc_counts_summary(text, sizeof text);
    check(!strncmp(text, "5 puts, 2 gets, 0 Requests sent", 31), "a summary of the traffic");
    gasnetc_tally_peer(2, &peer);
    check(PEER(puts) == 0 && PEER(requests_short) == 0, "a peer never spoken to has nothing");
    unit_job_end();
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    test_messages();
    test_replies();
    test_stalls();
    test_transfers();
    return check_end();
}
