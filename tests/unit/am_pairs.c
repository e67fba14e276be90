/* am_pairs.c - Longs on a network that pairs header and payload: core/am/am_send.c with net_long,
 * which this file plays.
 */
#include <string.h>

#include "core/am/am.h"
#include "core/job/thread.h"
#include "core/params/params.h"
#include "tests/unit/am_compose.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 256 << 10, NBYTES = 20000 };

static enum net_result result; /* of the next net_long */
static unsigned sends, refusals;
static gasnetc_sent_t in_flight;
static bool in_segment, form_good;

enum net_result net_script_long(net_peer_t *peer, void *header, size_t length,
                                const net_payload_t *payload, const gasnetc_sent_t *sent)
{
    uint8_t bytes[5000];
    const size_t wanted = compose(&(message_t){.category = LONG,
                                               .request = 1,
                                               .numargs = 3,
                                               .handler = 130,
                                               .nbytes = NBYTES,
                                               .dst = (uintptr_t)unit_segment(1)},
                                  bytes);
    form_good = peer->rank == 1 && length == wanted && !memcmp(bytes, header, length) &&
                payload->dst == (uintptr_t)unit_segment(1) && payload->length == NBYTES &&
                (payload->local != NULL) == in_segment;
    if (result != NET_POSTED) {
        refusals++;
        const enum net_result now = result;
        result = NET_POSTED;
        return now;
    }
    in_flight = *sent;
    sends++;
    return NET_POSTED;
}

static void reap(void)
{
    if (sends) gasnetc_sent(&in_flight);
    sends = 0;
}

static const int32_t arguments[] = {100, 101, 102};
static char outside[NBYTES];

static bool send(gasnetc_sending_t how)
{
    const gasnetc_outgoing_t am = {.category = GASNETC_AM_LONG,
                                   .handler = 130,
                                   .numargs = 3,
                                   .args = arguments,
                                   .src = in_segment ? unit_segment(0) : outside,
                                   .nbytes = NBYTES,
                                   .dst = unit_segment(1)};
    return gasnetc_am_request(1, &am, how);
}

static void refused(enum net_result why, enum gasnetc_form form)
{
    gasnetc_counter_t counter = {0};
    gasnetc_counter_t *counted = form == GASNETC_LONG_EVENT ? &counter : NULL;
    const gasnetc_counts_t *counts = &gasneti_self()->counts;
    const uint64_t longs = counts->longs_unpacked;
    result = why;
    refusals = 0;
    check_each(!send((gasnetc_sending_t){form, counted, true}), "not refused");
    check_each(refusals == 1 && sends == 0 && net_script.reaps == 0, "a refused one waits");
    check_each(gasnetc_counter_done(&counter) && counts->longs_unpacked == longs, "counted");
    net_script.on_reap = reap;
    check_each(send((gasnetc_sending_t){form, counted, true}) && form_good, "refused, or wrong");
    check_each(counts->longs_unpacked == longs + 1, "not counted");
    if (form == GASNETC_LONG) check_each(sends == 0, "the source is not free");
    if (form == GASNETC_LONG_EVENT) {
        check_each(!gasnetc_counter_done(&counter), "the event is early");
        reap();
        check_each(gasnetc_counter_done(&counter), "the event is late");
    }
    reap();
    net_script.on_reap = NULL;
    net_script.reaps = 0;
}

int main(int argc, char **argv)
{
    static const enum net_result whys[] = {NET_BUSY, NET_NO_CREDIT, NET_CONNECTING};
    net_script_reset();
    check_begin(argc, argv);
    unit_job_begin(&(unit_job_t){2, 0, 8, 4, SEGMENT, 40});
    gasnetc_params.packedlong_limit = 4016;
    for (int where = 0; where < 2; where++) {
        in_segment = where;
        for (int i = 0; i < 3; i++) {
            refused(whys[i], GASNETC_LONG);
            refused(whys[i], GASNETC_LONG_ASYNC);
            refused(whys[i], GASNETC_LONG_EVENT);
        }
    }
    check_all("a paired Long: refused, or its event complete when the source may be written");
    unit_job_end();
    return check_end();
}
