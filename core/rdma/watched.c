/* watched.c - reports the memory that the program unmaps to the registration cache; see firehose.h.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "core/job/job.h"
#include "core/params/params.h"
#include "core/rdma/firehose.h"
#include "other/base/memory-events/memory_events.h"
#include "other/base/uncancelled.h"

#include "gasnet_tools.h"

static void unmapped(uintptr_t addr, size_t len)
{
    gasnetc_firehose_invalidate((void *)addr, len);
}

static bool say_unless(bool watched)
{
    static atomic_bool said;
    if (watched || gasnetc_job.rank != 0) return watched;
    if (!gasnetc_params.firehose_verbose && gasnett_verboseenv() <= 0) return false;
    if (!atomic_exchange(&said, true))
        fprintf(stderr,
                "gasnet: memory outside the segment is registered for each transfer and not kept "
                "registered, as it might be unmapped unseen: %s\n",
                memory_events_why());
    return false;
}

/* GASNET_FIREHOSE_KEEP; each instead of interpose where that is not possible. */
static enum gasnetc_keep keep;
bool gasnetc_watch_at_use;

bool gasnetc_watch_begin(void)
{
    keep = (enum gasnetc_keep)gasnetc_params.firehose_keep;
    gasnetc_watch_at_use = keep == GASNETC_KEEP_WATCH;
    if (keep == GASNETC_KEEP_INTERPOSE && !say_unless(memory_events_interpose(unmapped)))
        keep = GASNETC_KEEP_EACH;
    return keep != GASNETC_KEEP_EACH;
}

void gasnetc_watch_end(void)
{
    if (keep <= GASNETC_KEEP_INTERPOSE) memory_events_end(unmapped);
    gasnetc_watch_at_use = false;
}

/* Begins the watch at the first call: it reads the code of the process, which takes a while, and
 * which a rank does not need whose transfers stay in the segment. */
static bool is_watched(void)
{
    GASNETI_UNCANCELLED;
    static atomic_bool begun; /* other threads wait in memory_events_begin meanwhile */
    if (atomic_load(&begun)) return memory_events_watched();
    const bool watched = memory_events_begin(unmapped);
    atomic_store(&begun, true);
    return watched;
}

bool gasnetc_watched(const void *start, size_t nbytes)
{
    switch (keep) {
    case GASNETC_KEEP_WATCH:
        return say_unless(is_watched());
    case GASNETC_KEEP_INTERPOSE:
        return memory_events_covers((uintptr_t)start, nbytes);
    default:
        return keep == GASNETC_KEEP_TRUST;
    }
}
