/* progress.c - gasnete_progress: what a poll does for the Extended API.  Sends no message itself.
 */
#include "extended-ref/progress.h"

#include <stddef.h>

atomic_bool gasnete_progress_due;
void (*_Atomic gasnete_coll_progress_hook)(bool client);

void gasnete_progress(bool client)
{
    /* Cleared before any state is read: work recorded later sets it again.  The exchange acquires
     * the work that threads recorded before they set it.  */
    atomic_exchange(&gasnete_progress_due, false);
    void (*coll)(bool) = atomic_load_explicit(&gasnete_coll_progress_hook, memory_order_acquire);
    if (coll != NULL) coll(client);
    gasnete_barrier_progress();
}
