/* rules.c - all rooms, one after the other; and that nothing is left. */
#include "other/portals3/tests/rules.h"

#include <stdio.h>

static const struct {
    const char *name;
    void (*run)(void);
} rooms[] = {
    {"lists", rules_lists},         {"offsets", rules_offsets},     {"unlinking", rules_unlinking},
    {"events", rules_events},       {"queues", rules_queues},       {"updates", rules_updates},
    {"transfers", rules_transfers}, {"codes", rules_codes},         {"pending", rules_pending},
    {"order", rules_order},         {"published", rules_published}, {"noted", rules_noted}};

void rules_all(void)
{
    for (unsigned int i = 0; i < sizeof rooms / sizeof *rooms; i++)
        if (ring_wanted(rooms[i].name)) rooms[i].run();
    /* Nothing is left of anything: objects of all four kinds. */
    for (ptl_sr_index_t reg = PTL_SR_MSG_CUR; reg <= PTL_SR_EQS_CUR; reg += 4) {
        for (int i = 0; i < 20000 && ring_register(reg) > 0; i++) PtlProgress(ring.ni, 1);
        ring_expect(ring_register(reg) == 0, "register %u is %llu at the end", reg,
                    (unsigned long long)ring_register(reg));
    }
    ring_expect(ring_register(PTL_SR_PTLS_CUR) == 0, "table entries are in use at the end");
    if (ring.rank == 0)
        printf("# %llu puts and %llu gets of %llu operations by the fast path\n",
               (unsigned long long)ring_register(PTL_SR_FAST_PUTS),
               (unsigned long long)ring_register(PTL_SR_FAST_GETS),
               (unsigned long long)ring_register(PTL_SR_SEND_COUNT));
    ring_done("the registers are back at zero after everything");
}
