/* thread.c - starts a thread of this library.
 *
 * The thread blocks all signals and has a small stack: ulimit -v may be low.
 */
#include "other/base/quiet_thread.h"
#include "other/softhca/src/segment/segment.h"

enum { STACK = 512 << 10 };

/* 0 or an errno value. */
int shca_thread(void *(*run)(void *))
{
    return gasneti_quiet_thread(NULL, STACK, run, NULL);
}
