/* verbs_device.c - chooses and opens the device, and creates what all queue pairs share; the path
 * from its port to a peer's.
 *
 * Called by verbs_open.c, and by verbs_connection.c for paths and for room in the completion queue.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "other/base/verbs_fork.h"
#include "other/connect/roce/table.h"
#include "other/portals3/src/transport/verbs.h"

enum { MOST_RD_ATOM = 16, FIRST_CQ = 2048, LEAST_RECEIVES = 16 };

/* The port lacks the GID or the P_Key which the user chose. */
static void no_index(struct ptli_verbs *v, const char *variable, int wanted, const char *what,
                     const char *has)
{
    snprintf(v->no_index, sizeof v->no_index,
             "%s=%d: %s port %u has no such %s; those that it has: %s", variable, wanted,
             ibv_get_device_name(v->context->device), v->port, what, has);
}

/* The P_Key that is to be used; 0 if the port has none there. */
static uint16_t find_pkey(struct ptli_verbs *v)
{
    uint16_t table[ROCE_MOST_PKEYS];
    char text[ROCE_TEXT];
    const size_t count = roce_read_pkeys(v->context, v->port, table, ROCE_MOST_PKEYS);
    const uint16_t pkey = roce_pkey(table, count, v->settings.pkey_index, text, sizeof text);
    if (!pkey) no_index(v, "PTL_PKEY_INDEX", v->settings.pkey_index, "P_Key", text);
    return pkey;
}

/* Whether the port has a GID that can be used, or needs none. */
static bool take_gids(struct ptli_verbs *v, const struct ibv_port_attr *port)
{
    roce_entry_t table[ROCE_MOST_ENTRIES];
    const bool ethernet = port->link_layer == IBV_LINK_LAYER_ETHERNET;
    const int wanted = v->settings.gid_index;
    const size_t count = roce_read_table(v->context, v->port, table, ROCE_MOST_ENTRIES);
    if (roce_choose(table, count, ethernet, wanted, &v->gids) || (!ethernet && port->lid))
        return true; /* InfiniBand: by LID, whatever index was chosen */
    if (wanted < 0) return false;
    char text[ROCE_TEXT];
    no_index(v, "PTL_GID_INDEX", wanted, "GID",
             roce_table_text(table, count, ethernet, text, sizeof text));
    return false;
}

/* Whether the port may be used; records its attributes. */
static bool take_port(struct ptli_verbs *v, uint8_t number)
{
    struct ibv_port_attr port;
    if (ibv_query_port(v->context, number, &port) || port.state != IBV_PORT_ACTIVE) return false;
    v->port = number;
    v->lid = port.lid;
    v->mtu = (uint8_t)port.active_mtu;
    v->max_message = port.max_msg_sz < PTLI_REMOTE_MAX ? port.max_msg_sz : PTLI_REMOTE_MAX;
    const uint16_t pkey = find_pkey(v);
    if (!pkey || !take_gids(v, &port)) return false;
    v->gids.offer.pkey = pkey;
    return true;
}

static void at_most(uint32_t *value, uint64_t most)
{
    if (*value > most) *value = (uint32_t)most;
}

/* Receive buffers are posted to one queue, complete on one queue, and are in one region. */
static void fit_receives(struct ptli_verbs *v, const struct ibv_device_attr *attr)
{
    at_most(&v->settings.receives, (uint64_t)attr->max_srq_wr);
    at_most(&v->settings.receives, attr->max_cqe > PTLI_SLOTS ? attr->max_cqe - PTLI_SLOTS : 0);
    if (attr->max_mr_size) at_most(&v->settings.receives, attr->max_mr_size / ptli_receive_size(v));
}

/* True if the device has what every process needs; else says what it lacks. */
static bool suffices(const struct ptli_verbs *v)
{
    const char *name = ibv_get_device_name(v->context->device);
    const uint32_t head = PTLI_WIRE_SIZE;
    if (v->max_message < head + v->settings.eager)
        ptli_verbs_say(v,
                       "%s port %u takes messages of %u bytes at most: lower PTL_EAGER to %u, "
                       "in all processes",
                       name, v->port, v->max_message,
                       v->max_message > head ? v->max_message - head : 0);
    else if (v->settings.receives < LEAST_RECEIVES)
        ptli_verbs_say(v,
                       "%s has room for %u receive buffers of %u bytes, and %d are needed: its "
                       "queues or regions are too small; use another device (PTL_DEVICE)",
                       name, v->settings.receives, ptli_receive_size(v), LEAST_RECEIVES);
    else if (v->max_qp_wr < PTLI_SLOTS)
        ptli_verbs_say(v, "%s has queue pairs of %u work requests, and %d are needed", name,
                       v->max_qp_wr, PTLI_SLOTS);
    else if (v->rd_atom == 0)
        ptli_verbs_say(v, "%s has no RDMA reads, which are needed", name);
    else
        return true;
    return false;
}

/* `wanted` is "device" or "device:port", or empty.  *denied: this user may not open it. */
static bool take_device(struct ptli_verbs *v, struct ibv_device *device, const char *wanted,
                        bool *denied)
{
    size_t name = strcspn(wanted, ":");
    const char *own = ibv_get_device_name(device);
    if (name && (strlen(own) != name || memcmp(own, wanted, name))) return false;
    int port = wanted[name] ? atoi(wanted + name + 1) : 0;
    if (device->transport_type == IBV_TRANSPORT_IWARP)
        return false; /* needs another way to connect */
    v->context = ibv_open_device(device);
    if (!v->context) *denied = *denied || errno == EACCES || errno == EPERM;
    if (!v->context) return false;
    struct ibv_device_attr attr;
    if (!ibv_query_device(v->context, &attr) && attr.max_srq > 0) {
        int atom = attr.max_qp_rd_atom < attr.max_qp_init_rd_atom ? attr.max_qp_rd_atom
                                                                  : attr.max_qp_init_rd_atom;
        v->rd_atom = (uint8_t)(atom < MOST_RD_ATOM ? atom : MOST_RD_ATOM);
        v->max_sge = v->max_sge_rd = PTLI_MOST_SGE;
        at_most(&v->max_sge, (uint64_t)attr.max_sge);
        at_most(&v->max_sge_rd, (uint64_t)(attr.max_sge_rd > 0 ? attr.max_sge_rd : 1));
        at_most(&v->max_sge_rd, v->max_sge);
        const uint32_t wanted_receives = v->settings.receives;
        fit_receives(v, &attr);
        v->max_cqe = (uint32_t)attr.max_cqe;
        v->max_qp_wr = (uint32_t)attr.max_qp_wr;
        for (uint8_t i = 1; i <= attr.phys_port_cnt; i++)
            if ((!port || port == i) && take_port(v, i)) return true;
        v->settings.receives = wanted_receives;
    }
    ibv_close_device(v->context);
    v->context = NULL;
    return false;
}

static bool choose(struct ptli_verbs *v)
{
    int count = 0;
    bool soft = false, denied = false;
    const char *iwarp = "";
    gasneti_verbs_fork_safe();
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; list && i < count && !v->context; i++) {
        soft = soft || !strncmp(ibv_get_device_name(list[i]), "softhca", strlen("softhca"));
        if (list[i]->transport_type == IBV_TRANSPORT_IWARP)
            iwarp = " (iWARP is passed over: it needs a connection manager)";
        take_device(v, list[i], v->settings.device, &denied);
    }
    if (list) ibv_free_device_list(list);
    if (v->context) return true;
    if (*v->no_index)
        ptli_verbs_say(v, "%s", v->no_index);
    else if (denied)
        ptli_verbs_say(v, "no permission to open a verbs device: ask for the group that may read "
                          "and write the files in /dev/infiniband");
    else if (v->settings.device[0])
        ptli_verbs_say(v, "PTL_DEVICE=%s: there is no such device or port, or it is not active%s",
                       v->settings.device, iwarp);
    else
        ptli_verbs_say(v, "no verbs device with an active port and shared receive queues%s; %s",
                       iwarp,
                       soft ? "the software device is here: check the SOFTHCA_ variables"
                            : "softhca-run provides one in software");
    return false;
}

/* NULL, or what could not be created. */
static const char *device_make(struct ptli_verbs *v)
{
    v->cq_size = v->settings.receives + FIRST_CQ;
    at_most(&v->cq_size, v->max_cqe);
    v->cq_used = v->settings.receives;
    if (!(v->pd = ibv_alloc_pd(v->context))) return "a protection domain";
    if (!(v->channel = ibv_create_comp_channel(v->context))) return "a completion channel";
    if (!(v->cq = ibv_create_cq(v->context, (int)v->cq_size, NULL, v->channel, 0)))
        return "a completion queue";
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = v->settings.receives, .max_sge = 1}};
    if (!(v->srq = ibv_create_srq(v->pd, &attr))) return "a shared receive queue";
    return NULL;
}

int ptli_verbs_device_open(struct ptli_verbs *v)
{
    if (!choose(v)) return PTL_IFACE_INVALID;
    if (!suffices(v)) return PTL_NO_SPACE;
    ptli_verbs_events_open(v);
    const char *missing = device_make(v);
    if (!missing) return PTL_OK;
    ptli_verbs_say(v, "cannot make %s on %s: %s", missing, ibv_get_device_name(v->context->device),
                   strerror(errno));
    return PTL_NO_SPACE;
}

void ptli_verbs_device_close(struct ptli_verbs *v)
{
    if (v->srq) ibv_destroy_srq(v->srq);
    if (v->cq) ibv_destroy_cq(v->cq);
    if (v->channel) ibv_destroy_comp_channel(v->channel);
    if (v->pd) ibv_dealloc_pd(v->pd);
    if (v->context) ibv_close_device(v->context);
}

void ptli_verbs_describe(struct ptli_transport *transport, char *text, size_t size)
{
    const struct ptli_verbs *v = ptli_verbs(transport);
    char gid[128] = "";
    const bool ethernet = v->gids.offer.ethernet;
    const int kind = roce_common(&v->gids.offer, &v->gids.offer);
    if (ethernet) roce_own_text(&v->gids, kind, gid, sizeof gid);
    snprintf(text, size, "%s port %u%s%s", ibv_get_device_name(v->context->device), v->port,
             ethernet ? " at " : "", gid);
}

/* --- paths from the port --- */

bool ptli_verbs_route(const struct ptli_verbs *v, const ptli_connect_payload_t *theirs,
                      struct ibv_ah_attr *path)
{
    const roce_port_t *mine = &v->gids;
    *path = (struct ibv_ah_attr){.dlid = theirs->lid, .port_num = v->port};
    if (!roce_one_partition(&mine->offer, &theirs->gids)) return false;
    path->is_global = mine->offer.ethernet || theirs->gids.ethernet || !theirs->lid;
    if (!path->is_global) return true;
    const int kind = roce_common(&mine->offer, &theirs->gids);
    if (kind < 0) return false;
    path->grh = (struct ibv_global_route){
        .sgid_index = mine->at[kind], .traffic_class = v->settings.traffic_class, .hop_limit = 64};
    memcpy(path->grh.dgid.raw, theirs->gids.gid[kind], sizeof path->grh.dgid.raw);
    return true;
}

void ptli_verbs_explain(const struct ptli_verbs *v, const ptli_connect_payload_t *theirs, int error,
                        char *why, size_t size)
{
    static const char table[] = "PTL_GID_INDEX chooses another GID (ibv_devinfo -v lists them)";
    const bool ethernet = v->gids.offer.ethernet;
    const int kind = roce_common(&v->gids.offer, &theirs->gids);
    char mine[200], its[200], ping[160];
    if (!roce_one_partition(&v->gids.offer, &theirs->gids))
        snprintf(why, size,
                 "its port and this one are in different partitions: %s; PTL_PKEY_INDEX chooses "
                 "another P_Key",
                 roce_partition_text(&v->gids.offer, &theirs->gids, mine, sizeof mine));
    else if (error == EPROTONOSUPPORT && ethernet != (theirs->gids.ethernet != 0))
        snprintf(why, size,
                 "its port is one of %s, and this one is not; PTL_DEVICE selects another device",
                 ethernet ? "InfiniBand" : "Ethernet");
    else if (kind < 0 && (ethernet || !theirs->lid))
        snprintf(why, size,
                 "no GID of its port is of the type and network of one here: there %s; here %s; %s",
                 roce_offer_text(&theirs->gids, its, sizeof its),
                 roce_offer_text(&v->gids.offer, mine, sizeof mine), table);
    else if (ethernet)
        snprintf(why, size, "its queue pair %u at %s, from %s, is refused: %s; %s; %s",
                 theirs->qp_number, roce_peer_text(&theirs->gids, kind, its, sizeof its),
                 roce_own_text(&v->gids, kind, mine, sizeof mine), strerror(error),
                 roce_ping_text(&v->gids, &theirs->gids, kind, ping, sizeof ping), table);
    else
        snprintf(why, size,
                 "its queue pair %u at LID %u is refused: %s; raise ulimit -v and ulimit -l, or "
                 "see whether both ports are on one fabric (ibv_devinfo)",
                 theirs->qp_number, theirs->lid, strerror(error));
}

/* --- room --- */

/* The completion queue must hold the completions of all connections. */
bool ptli_verbs_room_for_conn(struct ptli_verbs *v)
{
    uint32_t need = v->cq_used + PTLI_SLOTS;
    if (need > v->cq_size) {
        uint32_t size = 2 * v->cq_size;
        at_most(&size, v->max_cqe);
        if (size < need || ibv_resize_cq(v->cq, (int)size)) return false;
        v->cq_size = size;
    }
    v->cq_used = need;
    return true;
}
