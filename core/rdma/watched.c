/* watched.c - the registration cache is told of memory that the program gives back; see watched.h.
 */
#include "core/rdma/watched.h"

#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>

#include "core/job/job.h"
#include "core/params/params.h"
#include "core/rdma/firehose.h"
#include "gasnet_tools.h"
#include "other/memory-events/memory_events.h"

static void given_back(uintptr_t addr, size_t len)
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
                "registered, as it might be given back unseen: %s\n",
                memory_events_why());
    return false;
}

/* What GASNET_FIREHOSE_KEEP says. */
static enum keep { WATCHED, NEVER, ALWAYS } keep;

static void read_setting(void)
{
    const char *word = gasnetc_params.firehose_keep;
    keep = WATCHED;
    if (word && !strcasecmp(word, "NEVER")) keep = NEVER;
    if (word && !strcasecmp(word, "ALWAYS")) keep = ALWAYS;
}

bool gasnetc_watch_begin(void)
{
    read_setting();
    if (keep != WATCHED) return keep == ALWAYS;
    return say_unless(memory_events_begin(given_back));
}

void gasnetc_watch_end(void)
{
    if (keep == WATCHED) memory_events_end(given_back);
}

bool gasnetc_watched(void)
{
    if (keep != WATCHED) return keep == ALWAYS;
    return say_unless(memory_events_watched());
}
