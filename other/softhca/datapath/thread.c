/* thread.c - starting a thread of our own.
 *
 * It takes no signal of the program's, and little address space for its stack: ulimit -v may be
 * small.
 */
#include "other/softhca/datapath/datapath.h"
#include "other/softhca/objects/object.h"

#include "other/tools/quiet_thread.h"

enum { STACK = 512 << 10 };

/* 0 or an errno value. */
int shca_thread(void *(*run)(void *))
{
    return gasneti_quiet_thread(NULL, STACK, run, NULL);
}
