/* fork.c - fork(): the child may open the device anew, and inherited objects fail.
 *
 * The child has none of this library's threads and may not change what its parent shares with
 * peers. It discards that state and starts as if it had never opened the device. Inherited objects
 * fail with EIO, and destroying them does nothing; so do objects of a device that was removed.
 * vfork(), posix_spawn(), system() and exec need nothing: all descriptors are close-on-exec.
 */
#include "other/softhca/src/faults/inject.h"
#include "other/softhca/src/interpose/interpose.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/objects/xrc.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/tcp/tcp.h"
#include "other/softhca/src/verbs/verbs.h"

/* Locks what another thread may be changing at the fork and the child needs consistent: the start
 * of the device, and the tables of descriptors. None of these locks is held for long. */
static void fork_prepare(void)
{
    shca_start_lock();
    shca_tcp_lock();
    pthread_mutex_lock(&shca.peer_lock);
    shca_rpc_server_lock();
}

static void fork_in_parent(void)
{
    shca_rpc_server_unlock();
    pthread_mutex_unlock(&shca.peer_lock);
    shca_tcp_unlock();
    shca_start_unlock();
}

/* The child has one thread, so it takes no lock; locks that another thread may have held are
 * initialised anew. */
static void fork_in_child(void)
{
    shca_device_select_in_child();
    shca_trouble_in_child();
    shca_contexts_in_child();
    shca_worker_in_child();
    for (int i = 0; i < SHCA_QPS; i++)
        if (shca.qp[i]) shca_qp_ex_in_child(shca.qp[i]);
    for (int i = 0; i < SHCA_CQS; i++)
        if (shca.cq[i]) shca_cq_ex_in_child(shca.cq[i]);
    shca_tcp_in_child();
    shca_rpc_server_in_child();
    shca_peers_in_child();
    shca_mr_in_child();
    shca_ports_in_child();
    shca_xrc_in_child();
    shca_inject_in_child();
    shca_start_unlock(); /* locked by fork_prepare() */
    shca_segment_in_child();
}

void shca_watch_forks(void)
{
    pthread_atfork(fork_prepare, fork_in_parent, fork_in_child);
}
