/* trace_clock.c - asks rank 0 for its time; see trace_clock.h.
 *
 * Processes of one host have the same clock, but a trace does not know how long ago that of rank 0
 * began, and asking is as good for them.
 */
#include "core/am/trace_clock.h"

#include <stdatomic.h>

#include "core/am/am.h"
#include "core/job/progress.h"
#include "core/trace/trace.h"
#include "other/base/clock.h"

enum { ASK = 2, TOLD = 3 }; /* handlers, below the indices of the Extended API */

static _Atomic int64_t told; /* by rank 0: the age of its trace, in ns */
static atomic_uint answers;

static void ask_handler(gasnet_token_t token)
{
    const int64_t age = (int64_t)gasneti_clock_ns() - gasneti_trace_zero();
    const gasnet_handlerarg_t words[] = {(gasnet_handlerarg_t)(age >> 32),
                                         (gasnet_handlerarg_t)(uint32_t)age};
    gasnetc_AMReplyShort(token, TOLD, 2, words);
}

static void told_handler(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    (void)token;
    atomic_store(&told, (int64_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low));
    atomic_fetch_add(&answers, 1);
}

void gasnetc_trace_clock_init(void)
{
    static const gasnetc_internal_t table[] = {GASNETC_INTERNAL_REQUEST(ASK, SHORT, 0, ask_handler),
                                               GASNETC_INTERNAL_REPLY(TOLD, SHORT, 2, told_handler),
                                               {0}};
    gasnetc_register_internal(table);
}

void gasnetc_trace_clock_align(void)
{
    enum { ROUNDS = 32 };
    int64_t shortest = INT64_MAX, zero = gasneti_trace_zero();
    if (!gasneti_trace_on) return;
    for (unsigned round = 0; gasnetc_job.rank && round < ROUNDS; round++) {
        const int64_t asked = (int64_t)gasneti_clock_ns();
        gasnetc_AMRequestShort(0, ASK, 0, NULL);
        gasneti_wait_until(atomic_load(&answers) > round);
        const int64_t now = (int64_t)gasneti_clock_ns();
        if (now - asked >= shortest) continue;
        shortest = now - asked;
        zero = asked + shortest / 2 - atomic_load(&told);
    }
    gasneti_trace_align(zero);
}
