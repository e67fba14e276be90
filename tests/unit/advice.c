/* advice.c - every status and every event of the verbs has words of its own and a remedy.
 */
#include "core/ib/advice.h"

#include <string.h>

#include "ibv-conduit/ibv_shim.h"
#include "tests/unit/check.h"

/* The numbers of core/ib/verbs_types.h are the verbs' own; vapi-conduit's shim says so itself. */
_Static_assert((int)HCA_REMOTE == (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                   IBV_ACCESS_REMOTE_READ) &&
                   (int)HCA_LOCAL == IBV_ACCESS_LOCAL_WRITE,
               "the same numbers");
_Static_assert((int)HCA_WRITE == IBV_WR_RDMA_WRITE && (int)HCA_SEND == IBV_WR_SEND &&
                   (int)HCA_SEND_IMM == IBV_WR_SEND_WITH_IMM && (int)HCA_READ == IBV_WR_RDMA_READ,
               "the same numbers");

enum { STATUSES = IBV_WC_TM_RNDV_INCOMPLETE + 1, EVENTS = IBV_EVENT_WQ_FATAL + 1 };

static void test_statuses(void)
{
    bool met[HCA_CAUSES] = {false};
    for (int i = IBV_WC_SUCCESS + 1; i < STATUSES; i++) {
        hca_wc_t wc = {.status = (enum ibv_wc_status)i};
        const hca_failure_t failure = hca_wc_failure(&wc);
        const enum hca_cause cause = failure.cause;
        met[cause] = true;
        check_each(cause != HCA_CAUSE_UNKNOWN, "status %d is not sorted", i);
        check_each(strlen(failure.text) > 4 && !strstr(failure.text, "unknown"),
                   "status %d has the words \"%s\"", i, failure.text);
    }
    check_all("every work-completion status has words and a cause");
    for (int i = 0; i < HCA_CAUSES; i++) {
        const char *advice = net_ib_cause_advice((enum hca_cause)i);
        check_each(met[i] || i == HCA_CAUSE_UNKNOWN, "cause %d is of no status", i);
        check_each(advice && strlen(advice) > 30 && !strchr(advice, '\n'), "cause %d: no remedy",
                   i);
        for (int k = 0; advice && k < i; k++)
            check_each(strcmp(advice, net_ib_cause_advice((enum hca_cause)k)) != 0,
                       "causes %d and %d have the same remedy", i, k);
    }
    check_all("every cause is one of some status, and has a remedy of its own in one line");
    hca_wc_t newer = {.status = (enum ibv_wc_status)STATUSES};
    check(hca_wc_failure(&newer).cause == HCA_CAUSE_UNKNOWN && hca_wc_failure(&newer).text &&
              net_ib_cause_advice((enum hca_cause)77) == net_ib_cause_advice(HCA_CAUSE_UNKNOWN),
          "a status newer than this library has words as well");
}

static void test_events(void)
{
    bool met[HCA_EVENTS] = {false};
    for (int i = 0; i < EVENTS; i++) {
        enum hca_event_kind kind = hca_event_kind((enum ibv_event_type)i);
        const char *text = ibv_event_type_str((enum ibv_event_type)i);
        met[kind] = true;
        check_each(kind != HCA_EVENT_UNKNOWN, "event %d is not sorted", i);
        check_each(text && strlen(text) > 4 && !strstr(text, "unknown"), "event %d: \"%s\"", i,
                   text);
        check_each(kind == HCA_EVENT_INFO || kind == HCA_EVENT_PORT_ACTIVE ||
                       net_ib_event_advice(kind),
                   "event %d: no remedy", i);
    }
    check_all("every event has words, and a remedy if something is wrong");
    for (int i = 0; i < HCA_EVENTS; i++)
        check_each(met[i] || i == HCA_EVENT_UNKNOWN, "kind %d is of no event", i);
    check_all("every kind is one of some event");
    check(hca_event_kind((enum ibv_event_type)EVENTS) == HCA_EVENT_UNKNOWN &&
              net_ib_event_advice(HCA_EVENT_UNKNOWN),
          "an event newer than this library has words as well");
    check(!net_ib_event_advice(HCA_EVENT_INFO) && !net_ib_event_advice(HCA_EVENT_PORT_ACTIVE),
          "what is no trouble is not taken for some");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    test_statuses();
    test_events();
    return check_end();
}
