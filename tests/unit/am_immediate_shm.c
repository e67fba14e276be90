/* am_immediate_shm.c - immediate messages to a shared-memory peer: core/am/am_send.c writes into
 * rings that the test plays the peer of.
 */
#define GASNETI_SHM_CONST
#include <string.h>

#include "core/am/am.h"
#include "core/am/am_wire.h"
#include "core/params/params.h"
#include "core/shm/messages.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { SEGMENT = 256 << 10, SLOTS = 8 };

gasneti_shm_peer_t gasneti_shm_peers[GASNET_MAXNODES + 1];
gasnetc_ring_form_t gasnetc_shm_form;
static unsigned wakes;

void gasnetc_wakeup_rank(uint32_t rank)
{
    wakes += rank == 1;
}

void gasnetc_shm_wake_sleeper(_Atomic uint32_t *asleep)
{
    (void)asleep;
}

void gasnetc_shm_no_reply_slot(const gasnetc_peer_t *peer, size_t length)
{
    (void)peer, (void)length;
    abort();
}

bool gasnetc_shm_may_request(gasnetc_peer_t *peer)
{
    (void)peer;
    return false;
}

static gasnetc_shm_peer_t shm;
static amrdma_released_t released[GASNETC_SHM_RINGS];
static char *slots[GASNETC_SHM_RINGS];

static void begin(void)
{
    unit_job_begin(&(unit_job_t){2, 0, 8, 4, SEGMENT, 40});
    gasnetc_shm_form = gasnetc_ring_form(SLOTS, GASNETC_SHM_LIMIT);
    memset(&shm, 0, sizeof shm);
    memset(released, 0, sizeof released);
    for (int kind = 0; kind < GASNETC_SHM_RINGS; kind++) {
        slots[kind] = calloc(1, gasnetc_ring_bytes(&gasnetc_shm_form));
        shm.out[kind].released = &released[kind];
        shm.out[kind].slots = slots[kind];
        atomic_init(&shm.out[kind].out.slots, SLOTS);
    }
    shm.window = SLOTS;
    gasnetc_peers[1].shm = &shm;
    const uintptr_t base = (uintptr_t)unit_segment(1);
    gasneti_shm_peers[1] =
        (gasneti_shm_peer_t){.base = base, .mapped = base, .number = 1, .rank = 1};
    gasnetc_params.packedlong_limit = 4016;
    check_fill(unit_segment(0), SEGMENT);
    wakes = 0;
}

static void end(void)
{
    for (int kind = 0; kind < GASNETC_SHM_RINGS; kind++) free(slots[kind]);
    gasneti_shm_peers[1] = (gasneti_shm_peer_t){0};
    unit_job_end();
}

static const gasnetc_sending_t immediate = {GASNETC_LONG, NULL, true};

static gasnetc_outgoing_t outgoing(uint8_t category, size_t nbytes)
{
    return (gasnetc_outgoing_t){.category = category,
                                .handler = 130,
                                .src = unit_segment(0),
                                .nbytes = nbytes,
                                .dst = unit_segment(1) + 8};
}

static void refused(const char *name, uint8_t category, size_t nbytes)
{
    static const char zero[SEGMENT];
    begin();
    const gasnetc_outgoing_t filler = outgoing(GASNETC_AM_SHORT, 0);
    const gasnetc_outgoing_t am = outgoing(category, nbytes);
    for (int i = 0; i < SLOTS; i++)
        check_each(gasnetc_am_request(1, &filler, immediate), "Request %d is refused", i);
    const gasnetc_shm_out_t before = shm.out[GASNETC_SHM_REQUESTS];
    const gasnetc_peer_counts_t counts = *gasnetc_peers[1].counts;
    check_each(!gasnetc_am_request(1, &am, immediate), "%s: not refused", name);
    check_each(!memcmp(unit_segment(1), zero, SEGMENT), "%s: a refused one is written", name);
    check_each(!memcmp(&before.out, &shm.out[GASNETC_SHM_REQUESTS].out, sizeof before.out) &&
                   wakes == SLOTS,
               "%s: a refused one changes the ring", name);
    check_each(gasnetc_peers[1].counts->am_bytes == counts.am_bytes &&
                   gasnetc_peers[1].counts->requests_long == counts.requests_long,
               "%s: a refused one is counted", name);
    /* The peer releases the first one. */
    atomic_store(&released[GASNETC_SHM_REQUESTS].number[1], 1);
    shm.flow.released = 1;
    check_each(gasnetc_am_request(1, &am, immediate), "%s is refused without a reason", name);
    const uint32_t number = (uint32_t)shm.out[GASNETC_SHM_REQUESTS].out.sent;
    const uint64_t trailer =
        *(uint64_t *)(void *)gasnetc_shm_trailer(&shm.out[GASNETC_SHM_REQUESTS], number);
    const size_t length =
        gasnetc_am_prefix(category, 0) + (category == GASNETC_AM_MEDIUM ? nbytes : 0);
    check_each(number == SLOTS + 1 && amrdma_trailer_number(trailer) == number &&
                   amrdma_trailer_length(trailer) == length,
               "%s: the message", name);
    if (category == GASNETC_AM_LONG)
        check_each(!memcmp(unit_segment(1) + 8, unit_segment(0), nbytes), "%s: the payload", name);
    check_each(gasnetc_peers[1].counts->am_bytes == counts.am_bytes + nbytes, "%s: bytes", name);
    check_each(!gasnetc_am_request(1, &filler, immediate), "one too many");
    check_each(net_script_count(NET_SCRIPT_AM) + net_script_count(NET_SCRIPT_PUT) == 0 &&
                   net_script.polls + net_script.reaps == 0,
               "%s uses the network", name);
    end();
    check_all("an immediate %s that finds no slot in the ring is refused, and nothing is written",
              name);
}

int main(int argc, char **argv)
{
    net_script_reset();
    check_begin(argc, argv);
    refused("Short", GASNETC_AM_SHORT, 0);
    refused("Medium", GASNETC_AM_MEDIUM, 3000);
    refused("empty Long", GASNETC_AM_LONG, 0);
    refused("Long", GASNETC_AM_LONG, 3000);
    refused("large Long", GASNETC_AM_LONG, 100000);
    return check_end();
}
