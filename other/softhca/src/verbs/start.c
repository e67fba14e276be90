/* start.c - starts the device in this process, when a program opens it first. */
#include <string.h>
#include <sys/prctl.h>

#include "other/softhca/src/device/device.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/settings/fabric.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/tcp/tcp.h"
#include "other/softhca/src/verbs/verbs.h"

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static int failed; /* why the threads could not be started: for good, since some of them run */

static int start_process(void)
{
    if (!shca_fabric_good() || !shca_lids_suffice()) return EINVAL;
    int listener, e = shca_host_is_known();
    if (!e) e = shca_segment_start(shca_fabric()->names.n > 0 ? shca_tcp_listen : NULL, &listener);
    if (e) return e;
    e = shca_rpc_server_start(listener);
    if (!e) e = shca_worker_start();
    if (!e) e = shca_remote_process_start();
    if (e) {
        shca_say("cannot start a thread: %s (see ulimit -u)", strerror(e));
        return failed = e; /* threads that have started use the segment */
    }
    /* Yama allows process_vm_* between siblings only so. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    return 0;
}

int shca_start(void)
{
    pthread_mutex_lock(&start_lock);
    int e = failed ? failed : shca.h ? 0 : start_process();
    pthread_mutex_unlock(&start_lock);
    return e;
}

void shca_start_lock(void)
{
    pthread_mutex_lock(&start_lock);
    shca_segment_lock();
}

void shca_start_unlock(void)
{
    shca_segment_unlock();
    pthread_mutex_unlock(&start_lock);
}
