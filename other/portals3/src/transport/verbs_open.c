/* verbs_open.c - the transport over libibverbs: its table of functions, opening and closing. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "other/base/clock.h"
#include "other/portals3/src/transport/verbs.h"

static const double FAREWELL = 1.0; /* seconds to wait for the GOODBYE of silent peers */

static int open_start(struct ptli_transport *transport)
{
    return ptli_verbs_progress_start(ptli_verbs(transport));
}

static void free_all(struct ptli_verbs *v)
{
    if (v->socket >= 0) close(v->socket);
    if (v->local_socket >= 0) close(v->local_socket);
    ptli_verbs_conns_free(v);
    ptli_verbs_buffers_free(v);
    ptli_verbs_nodes_free(v);
    ptli_verbs_regions_free(v);
    if (v->receives_mr) ibv_dereg_mr(v->receives_mr);
    ptli_verbs_device_close(v);
    ptli_fast_close(&v->posting);
    free(v->receives);
    free(v->batch);
    free(v->nids);
    free(v->pids);
    if (v->wake_fd >= 0) close(v->wake_fd);
    free(v);
}

/* Sends what is queued, then exchanges GOODBYE with all peers. */
static void close_transport(struct ptli_transport *transport)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    ptli_verbs_progress_stop(v);
    ptli_mutex_lock(&v->driving);
    v->closing = true;
    double until = gasneti_clock() + FAREWELL;
    while (!ptli_verbs_farewell(v) && gasneti_clock() < until) {
        const struct timespec moment = {.tv_nsec = 50000};
        if (!ptli_verbs_round(v)) nanosleep(&moment, NULL);
    }
    ptli_mutex_unlock(&v->driving);
    free_all(v);
}

static unsigned long open_distance(struct ptli_transport *transport, ptl_process_id_t id)
{
    if (id.nid != transport->id.nid) return 2;
    return id.pid == transport->id.pid ? 0 : 1;
}

static int open_status(struct ptli_transport *transport, ptl_sr_index_t index,
                       ptl_sr_value_t *value)
{
    struct ptli_verbs *v = ptli_verbs(transport);
    switch (index) {
    case PTL_SR_TRANSPORT:
        *value = v->sends + v->posting.counts.messages;
        return PTL_OK;
    case PTL_SR_TRANSPORT + 1:
        *value = v->connects;
        return PTL_OK;
    case PTL_SR_BREAKS:
        *value = atomic_load(&v->breaks);
        return PTL_OK;
    case PTL_SR_TRANSPORT + 3:
        *value = atomic_load(&v->lent);
        return PTL_OK;
    case PTL_SR_TRANSPORT + 4:
        *value = v->ranges.count;
        return PTL_OK;
    default:
        return PTL_SR_INDEX_INVALID;
    }
}

static const struct ptli_launch *open_launch(struct ptli_transport *transport)
{
    return &ptli_verbs(transport)->launch;
}

static const struct ptli_transport_ops verbs_ops = {
    .name = "verbs",
    .describe = ptli_verbs_describe,
    .start = open_start,
    .close = close_transport,
    .find = ptli_verbs_find,
    .distance = open_distance,
    .enroll = ptli_verbs_enroll,
    .expel = ptli_verbs_expel,
    .send = ptli_verbs_send,
    .transfer = ptli_verbs_transfer,
    .progress = ptli_verbs_progress,
    .wake = ptli_verbs_wake,
    .published_hold = ptli_verbs_published_hold,
    .published_release = ptli_verbs_published_release,
    .revoke = ptli_verbs_revoke,
    .status = open_status,
    .launch = open_launch,
};

/* Seconds for a peer to answer a handshake: it may be stopped, or one of many processes.  Four
 * times as long as a connection retries, as in the other conduits of GASNet. */
static double patience(const struct ptli_verbs_settings *settings)
{
    enum { LEAST = 5 };
    const double timeout = 4.096e-6 * (double)(UINT64_C(1) << settings->qp_timeout);
    const double bound = 4 * timeout * (PTLI_RETRIES + 1);
    return bound > LEAST ? bound : LEAST;
}

static int open_steps(struct ptli_verbs *v, const struct ptli_launch *given, ptl_pid_t wanted)
{
    ptli_verbs_read_settings(&v->settings);
    if (!ptli_verbs_read_launch(v, given)) return PTL_NO_SPACE;
    v->times =
        (handshake_times_t){.first = 0.02, .longest = 0.5, .give_up = patience(&v->settings)};
    if (getrandom(&v->life, sizeof v->life, 0) != sizeof v->life || !v->life) return PTL_FAIL;
    v->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (v->wake_fd < 0) return PTL_NO_SPACE;
    int code = ptli_verbs_name(v, wanted);
    if (code == PTL_OK && !ptli_verbs_read_key(v, given)) code = PTL_FAIL;
    if (code == PTL_OK) code = ptli_verbs_device_open(v);
    if (code == PTL_OK) code = ptli_verbs_receives_open(v);
    if (code == PTL_OK) code = ptli_verbs_buffers_open(v);
    if (code == PTL_OK && !ptli_fast_open(&v->posting)) code = PTL_NO_SPACE;
    return code;
}

int ptli_verbs_open(struct ptli_engine *engine, const struct ptli_launch *given, ptl_pid_t wanted,
                    struct ptli_transport **out)
{
    struct ptli_verbs *v = calloc(1, sizeof *v);
    if (!v) return PTL_NO_SPACE;
    v->socket = v->local_socket = v->wake_fd = -1;
    v->face.ops = &verbs_ops;
    v->face.engine = engine;
    v->face.uid = geteuid();
    int code = open_steps(v, given, wanted);
    if (code != PTL_OK) {
        free_all(v);
        return code;
    }
    v->face.jid = v->launch.jid != PTL_JID_NONE ? v->launch.jid : PTL_JID_NONE;
    v->face.eager_limit = v->settings.eager;
    v->face.threaded = v->settings.mode != PTLI_CALLS;
    v->face.quick = v->settings.fast;
    v->posting.most = v->max_message;
    *out = &v->face;
    return PTL_OK;
}
