/*
 * loopback_transport.c - the transport of PTL_IFACE_SELF: an identity and nothing else.
 *
 * The engine completes a process's operations with itself without a transport; no other process can
 * be addressed.
 */
#include <stdlib.h>
#include <unistd.h>

#include "other/portals3/src/transport/transport.h"

enum { SELF_NODE = 0x7f000001, SELF_EAGER = 16384 };

static int loopback_start(struct ptli_transport *transport)
{
    return PTL_OK;
}

static void close_self(struct ptli_transport *transport)
{
    free(transport);
}

static struct ptli_peer *loopback_find(struct ptli_transport *transport, ptl_process_id_t id)
{
    return NULL;
}

static unsigned long loopback_distance(struct ptli_transport *transport, ptl_process_id_t id)
{
    return id.nid != transport->id.nid ? 2 : id.pid != transport->id.pid;
}

static int loopback_enroll(struct ptli_transport *transport, void *base, uint64_t length,
                           struct ptli_region **region)
{
    static struct ptli_region none;
    *region = &none;
    return PTL_OK;
}

static void expel(struct ptli_transport *transport, struct ptli_region *region) {}

static enum ptli_sent send_none(struct ptli_transport *transport, struct ptli_peer *peer,
                                struct ptli_message *message)
{
    return PTLI_REFUSED;
}

static enum ptli_sent transfer_none(struct ptli_transport *transport, struct ptli_peer *peer,
                                    struct ptli_transfer *transfer)
{
    return PTLI_REFUSED;
}

static bool loopback_progress(struct ptli_transport *transport, ptl_time_t timeout)
{
    return ptli_work(transport->engine);
}

static void loopback_wake(struct ptli_transport *transport) {}

static struct ptli_published_hold *hold_none(struct ptli_transport *transport,
                                             struct ptli_peer *peer, ptl_pt_index_t pt)
{
    return NULL;
}

static void release_none(struct ptli_transport *transport, struct ptli_published_hold *hold) {}

static bool revoke_none(struct ptli_transport *transport, ptl_pt_index_t pt, ptl_time_t timeout)
{
    return true;
}

static int loopback_status(struct ptli_transport *transport, ptl_sr_index_t reg,
                           ptl_sr_value_t *value)
{
    return PTL_SR_INDEX_INVALID;
}

static const struct ptli_launch *loopback_launch(struct ptli_transport *transport)
{
    return NULL;
}

int ptli_loopback_open(struct ptli_engine *engine, const struct ptli_launch *given,
                       ptl_pid_t wanted, struct ptli_transport **out)
{
    static const struct ptli_transport_ops ops = {
        .name = "self",
        .start = loopback_start,
        .close = close_self,
        .find = loopback_find,
        .distance = loopback_distance,
        .enroll = loopback_enroll,
        .expel = expel,
        .send = send_none,
        .transfer = transfer_none,
        .progress = loopback_progress,
        .wake = loopback_wake,
        .published_hold = hold_none,
        .published_release = release_none,
        .revoke = revoke_none,
        .status = loopback_status,
        .launch = loopback_launch,
    };
    struct ptli_transport *transport = calloc(1, sizeof *transport);
    if (!transport) return PTL_NO_SPACE;
    transport->ops = &ops;
    transport->engine = engine;
    transport->id.nid = SELF_NODE;
    transport->id.pid = wanted == PTL_PID_ANY ? (ptl_pid_t)getpid() : wanted;
    transport->uid = geteuid();
    transport->jid = given->jid;
    transport->eager_limit = SELF_EAGER;
    transport->threaded = true; /* the thread that deposits an event wakes those that wait */
    *out = transport;
    return PTL_OK;
}
