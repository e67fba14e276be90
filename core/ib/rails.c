/* rails.c - finds and opens the ports, and opens and closes the network as a whole (net_open,
 * net_close).
 *
 * Called at start-up and at the end.  Without a filter the first active port of each device is
 * used, up to NET_IB_HCAS devices; GASNET_NUM_QPS, if not 0, bounds the ports (IB-C9).  With a
 * connection manager (GASNET_CONNECT) one port is used.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/ib/amrdma_choice.h"
#include "core/ib/connect.h"
#include "core/ib/meeting.h"
#include "core/ib/ports.h"
#include "core/ib/rail.h"
#include "core/ib/software_device.h"
#include "core/ib/srq.h"
#include "core/job/rank.h"
#include "core/log.h"
#include "core/params/params.h"
#include "core/report.h"
#include "other/base/min.h"

struct net_ib net_ib;
struct net_ib_rails net_ib_rails;
hca_sleeper_t net_ib_sleeper[HCA_SLEEPER_SPANS ? 1 : NET_IB_HCAS];

/* The ports that were examined, for the message when none is usable. */
typedef struct survey {
    char text[512];
    size_t used;
    struct net_ib_port_name ports[32];
    size_t count;
    bool filtered;                  /* the user's filter excluded an active port */
    bool denied;                    /* this user may not open a device */
    bool iwarp;                     /* a device needs a connection manager */
    char no_index[ROCE_TEXT + 160]; /* a port that lacks the index which the user chose */
} survey_t;

static void survey_add(survey_t *survey, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void survey_add(survey_t *survey, const char *format, ...)
{
    char note[160];
    va_list list;
    va_start(list, format);
    vsnprintf(note, sizeof note, format, list);
    va_end(list);
    int n = snprintf(survey->text + survey->used, sizeof survey->text - survey->used, "%s%s",
                     survey->used ? "; " : "", note);
    if (n > 0 && survey->used + (size_t)n < sizeof survey->text) survey->used += (size_t)n;
}

static void survey_note(survey_t *survey, const char *device, unsigned port, const char *state)
{
    survey_add(survey, "%s port %u %s", device, port, state);
    if (survey->count == sizeof survey->ports / sizeof *survey->ports) return;
    struct net_ib_port_name *name = &survey->ports[survey->count++];
    name->port = port;
    snprintf(name->device, sizeof name->device, "%s", device);
}

/* Notes a device that cannot be opened. */
static void survey_closed(survey_t *survey, const char *device, int error)
{
    const bool denied = error == EACCES || error == EPERM;
    survey->denied = survey->denied || denied;
    survey_add(survey, "%s cannot be opened: %s", device,
               denied ? "this user has no permission" : strerror(error));
}

/* Writes why no port is usable, and what to do about it. */
static void survey_explain(const survey_t *survey, char *error, size_t size)
{
    const char *filter = gasnetc_params.ports;
    char absent[256];
    if (*survey->no_index) {
        snprintf(error, size, "%s. Set it to one of these, or unset it", survey->no_index);
        return;
    }
    if (!survey->filtered) {
        snprintf(error, size, "no usable InfiniBand port (%s). %s%s",
                 survey->used ? survey->text : "no verbs device" HCA_UNLISTED,
                 survey->denied ? "Ask for the group that may read and write the files in "
                                  "/dev/infiniband, and check ibv_devinfo"
                                : "Check ibv_devinfo",
                 net_ib_software_advice());
        return;
    }
    net_ib_ports_unmatched(filter, survey->ports, survey->count, absent, sizeof absent);
    snprintf(error, size,
             "%s=%s leaves no usable InfiniBand port (%s%s%s%s). Correct it or unset it",
             NET_PORTS_VARIABLE, filter, survey->text, *absent ? "; nothing here matches " : "",
             absent, *absent ? HCA_UNLISTED : "");
}

/* True if one network can reach this port and those taken before. */
static bool same_kind(const char *name, const hca_port_t *port)
{
    const struct net_ib_rails *r = &net_ib_rails;
    return (r->hcas == 0 || net_ib_is_software(name) == net_ib_is_software(r->hca[0].name)) &&
           (r->rails == 0 || port->ethernet == r->rail[0].port.ethernet);
}

/* Adds a port of a device that a connection manager connects. */
static void take_managed_port(hca_t hca, const char *name, unsigned number, const hca_port_t *port,
                              survey_t *survey)
{
    struct net_ib_rails *r = &net_ib_rails;
    if (!r->manager->has_address(hca, (uint8_t)number)) {
        survey_note(survey, name, number, "has no IP address, which the connection manager needs");
        return;
    }
    survey_note(survey, name, number, "is active");
    r->rail[r->rails++] =
        (struct net_ib_rail){.hca = r->hcas, .number = (uint8_t)number, .port = *port};
}

/* Notes that a port lacks the GID or the P_Key which the user chose. */
static void survey_no_index(survey_t *survey, const char *device, unsigned port,
                            const char *variable, int64_t index, const char *what, const char *has)
{
    char text[40];
    snprintf(text, sizeof text, "has no such %s", what);
    survey_note(survey, device, port, text);
    if (*survey->no_index) return;
    snprintf(survey->no_index, sizeof survey->no_index,
             "%s=%d: %.64s port %u %s; those that it has: %s", variable, (int)index, device, port,
             text, has);
}

/* The P_Key that is to be used; 0 if the port has none at that index. */
static uint16_t find_pkey(hca_t hca, const char *name, unsigned number, survey_t *survey)
{
    uint16_t table[ROCE_MOST_PKEYS];
    char text[ROCE_TEXT];
    const size_t count = hca_query_pkeys(hca, (uint8_t)number, table, ROCE_MOST_PKEYS);
    const int64_t wanted = gasnetc_params.pkey_index;
    const uint16_t pkey = roce_pkey(table, count, (uint32_t)wanted, text, sizeof text);
    if (!pkey) survey_no_index(survey, name, number, NET_PKEY_VARIABLE, wanted, "P_Key", text);
    return pkey;
}

/* Adds a port, unless it has no GID that can be used and needs one, or lacks the P_Key. */
static void take_port(hca_t hca, const char *name, unsigned number, const hca_port_t *port,
                      survey_t *survey)
{
    struct net_ib_rails *r = &net_ib_rails;
    struct net_ib_rail rail = {.hca = r->hcas, .number = (uint8_t)number, .port = *port};
    static roce_entry_t table[256];
    const size_t count = hca_query_gids(hca, (uint8_t)number, table, 256);
    const int wanted = (int)gasnetc_params.gid_index;
    char text[ROCE_TEXT];
    const uint16_t pkey = find_pkey(hca, name, number, survey);
    if (!pkey) return;
    if (roce_choose(table, count, port->ethernet, wanted, &rail.gids) ||
        (!port->ethernet && port->lid)) { /* InfiniBand: by LID, whatever index was chosen */
        rail.gids.offer.pkey = pkey;
        survey_note(survey, name, number, "is active");
        r->rail[r->rails++] = rail;
        return;
    }
    if (wanted == ROCE_AUTO)
        survey_note(survey, name, number, roce_port_fault(true, port->ethernet, false)->text);
    else
        survey_no_index(survey, name, number, NET_GID_VARIABLE, wanted, "GID",
                        roce_table_text(table, count, port->ethernet, text, sizeof text));
}

/* Adds the usable ports of an open device, up to `most` in all; false when it has no usable port.
 */
static bool take_ports(hca_t hca, const char *name, uint32_t most, survey_t *survey)
{
    struct net_ib_rails *r = &net_ib_rails;
    hca_limits_t limits;
    if (!hca_query(hca, &limits)) {
        survey_add(survey, "%s cannot be queried", name);
        return false;
    }
    survey->iwarp = survey->iwarp || limits.iwarp;
    if (limits.iwarp && !r->manager)
        limits.unusable = NET_IB_RDMACM ? "is iWARP, which needs a connection manager"
                                        : "is iWARP, which needs a connection manager, "
                                          "and " HCA_UNMANAGED;
    if (limits.unusable) {
        survey_note(survey, name, 1, limits.unusable);
        return false;
    }
    bool tried_active = false;
    const uint32_t before = r->rails;
    for (unsigned number = 1; number <= limits.ports && r->rails < most; number++) {
        hca_port_t port;
        enum net_ib_port_rule rule = net_ib_ports_rule(gasnetc_params.ports, name, number);
        if (!hca_query_port(hca, (uint8_t)number, &port))
            survey_note(survey, name, number, "cannot be queried");
        else if (!port.active)
            survey_note(survey, name, number, roce_port_fault(false, port.ethernet, false)->text);
        else if (rule == NET_IB_PORT_NO || (rule == NET_IB_PORT_FIRST_ACTIVE && tried_active)) {
            survey_note(survey, name, number, "is active, but not in it");
            survey->filtered = true;
        } else if (!same_kind(name, &port)) {
            survey_note(survey, name, number, "is of another kind");
        } else if (r->manager) {
            take_managed_port(hca, name, number, &port, survey);
        } else {
            take_port(hca, name, number, &port, survey);
        }
        tried_active = tried_active || port.active;
    }
    if (r->rails == before) return false;
    r->hca[r->hcas].hca = hca;
    r->hca[r->hcas].limits = limits;
    snprintf(r->hca[r->hcas].name, sizeof r->hca[r->hcas].name, "%s", name);
    r->hcas++;
    return true;
}

/* Opens the usable ports, up to the limits. */
static void find_ports(survey_t *survey)
{
    const struct net_ib_manager *manager = net_ib_rails.manager;
    const uint32_t most = manager ? 1 : net_ib_ports_most(gasnetc_params.num_qps, NET_IB_RAILS);
    for (int i = 0; net_ib_rails.hcas < NET_IB_HCAS && net_ib_rails.rails < most; i++) {
        char name[64];
        hca_t hca = manager ? manager->device(i, name) : hca_open(i, name);
        if (!*name) break;
        if (!hca)
            survey_closed(survey, name, errno);
        else if (!take_ports(hca, name, most, survey) && !manager)
            hca_close(hca);
    }
}

/* Opens the usable ports of devices that the connection manager connects; false with the reason if
 * no manager is available. */
static bool find_managed_ports(survey_t *survey, char *error, size_t size)
{
    const struct net_ib_manager *manager = HCA_MANAGER;
    char why[200] = HCA_UNMANAGED;
    if (manager && manager->open(why, sizeof why)) {
        net_ib_rails.manager = manager;
        find_ports(survey);
        return true;
    }
    snprintf(error, size, "no connection manager: %s; %s", why,
             survey->iwarp ? "iWARP devices cannot be used without one"
                           : "set GASNET_CONNECT=verbs, or unset it");
    return false;
}

/* The words of GASNET_CONNECT. */
enum { CONNECT_AUTO, CONNECT_VERBS, CONNECT_RDMACM };

/* Writes in `error` why there are no usable ports. */
static void open_ports(char *error, size_t size)
{
    const int64_t way = gasnetc_params.connect;
    survey_t survey = {.used = 0};
    net_ib_software_open();
    if (way != CONNECT_RDMACM) find_ports(&survey);
    if (net_ib_rails.rails) return;
    if (way == CONNECT_RDMACM || (way == CONNECT_AUTO && survey.iwarp && NET_IB_RDMACM)) {
        survey = (survey_t){.iwarp = survey.iwarp};
        if (!find_managed_ports(&survey, error, size)) return;
    }
    if (!net_ib_rails.rails) survey_explain(&survey, error, size);
}

#define LEAST(field)                                                                               \
    if (one->field < all->field) all->field = one->field

/* Sets net_ib_rails.limits, the minimum of all devices' limits. */
static void find_limits(void)
{
    hca_limits_t *all = &net_ib_rails.limits;
    *all = net_ib_rails.hca[0].limits;
    for (uint32_t i = 1; i < net_ib_rails.hcas; i++) {
        const hca_limits_t *one = &net_ib_rails.hca[i].limits;
        LEAST(max_cqe);
        LEAST(max_qp_wr);
        LEAST(max_rd_atom);
        LEAST(max_init_rd_atom);
        LEAST(max_srq_wr);
        LEAST(max_mr);
        LEAST(max_mr_size);
        LEAST(max_sge);
        LEAST(max_sge_rd);
        LEAST(atomics);
    }
}

/* Writes the names of the ports; with `gids`, each Ethernet port with its preferred GID, or with
 * its IP address for the connection manager. */
static void name_ports(char *text, size_t size, bool gids)
{
    size_t used = 0;
    for (uint32_t i = 0; i < net_ib_rails.rails && used < size; i++) {
        const struct net_ib_rail *rail = &net_ib_rails.rail[i];
        char gid[128];
        const struct net_ib_manager *manager = net_ib_rails.manager;
        const bool shown = gids && (rail->port.ethernet || manager);
        const int kind = roce_common(&rail->gids.offer, &rail->gids.offer);
        if (shown && manager)
            snprintf(gid, sizeof gid, "%s", manager->address());
        else if (shown)
            roce_own_text(&rail->gids, kind, gid, sizeof gid);
        used += (size_t)snprintf(text + used, size - used, "%s%s port %u%s%s", i ? " + " : "",
                                 net_ib_rails.hca[rail->hca].name, rail->number,
                                 shown ? " at " : "", shown ? gid : "");
    }
}

/* Fatal for firmware with the fault of IB-B4; warns of firmware with slow inline sends. */
static void check_firmware(const struct net_ib_hca *hca)
{
    if (hca->limits.polls_alone && !NET_IB_POLL_LOCK)
        gasneti_fatal("%s: with its firmware %s, which is below 3.0, threads cannot poll at once; "
                      "update the firmware, or configure this library with "
                      "--enable-" NET_CONDUIT "-poll-lock",
                      hca->name, hca->limits.firmware);
    if (hca->limits.slow_inline && gasnetc_params.inline_limit != 0)
        gasneti_warn("%s: inline sends are slow with its firmware %s, which is below 3.0; update "
                     "the firmware, or set GASNET_INLINESEND_LIMIT=0",
                     hca->name, hca->limits.firmware);
}

/* Warns of settings that have no effect, because the connection manager uses IP addresses. */
static void warn_of_indices(void)
{
    if (gasnetc_params.gid_index != ROCE_AUTO)
        gasneti_warn(NET_GID_VARIABLE
                     " has no effect: the RDMA connection manager chooses the GID");
    if (gasnetc_params.pkey_index != 0)
        gasneti_warn(NET_PKEY_VARIABLE
                     " has no effect: the RDMA connection manager chooses the P_Key");
}

void net_ib_rails_open(void)
{
    char why[160], error[1024] = "";
    if (net_ib_ports_check(gasnetc_params.ports, why, sizeof why))
        open_ports(error, sizeof error);
    else
        snprintf(error, sizeof error, NET_PORTS_VARIABLE "=%s: %s", gasnetc_params.ports, why);
    gasneti_fatal_if_any(error);
    if (net_ib_rails.manager && gasnetc_job.rank == 0) warn_of_indices();
    for (uint32_t i = 0; i < net_ib_rails.hcas; i++) {
        struct net_ib_hca *hca = &net_ib_rails.hca[i];
        check_firmware(hca);
        hca->pd = hca_pd_create(hca->hca);
        if (!hca->pd)
            gasneti_fatal("%s: cannot allocate a protection domain: %s", hca->name,
                          strerror(errno));
    }
    net_ib.hcas = net_ib_rails.hcas;
    net_ib.wordy = net_ib_rails.hca[0].limits.iwarp;
    net_ib.indirect = net_ib.hcas > 1 || net_ib.wordy;
    /* IB-C2: one queue pair per port, or as many as the user asks for, spread over the ports. */
    net_ib_rails.qps =
        gasnetc_params.num_qps ? (uint32_t)gasnetc_params.num_qps : net_ib_rails.rails;
    if (NET_IB_HCAS == 1 || net_ib_rails.manager) net_ib_rails.qps = 1;
    find_limits();
    name_ports(net_ib_rails.text, sizeof net_ib_rails.text, false);
}

void net_ib_rails_close(void)
{
    for (uint32_t i = 0; i < net_ib_rails.hcas; i++) {
        if (net_ib_rails.hca[i].pd) hca_destroy(net_ib_rails.hca[i].pd);
        if (!net_ib_rails.manager) hca_close(net_ib_rails.hca[i].hca);
    }
    if (net_ib_rails.manager) net_ib_rails.manager->close();
    net_ib_rails = (struct net_ib_rails){.hcas = 0};
}

/* `bounds`: the parameters that determine the depth. */
static hca_cq_t make_cq(const struct net_ib_hca *hca, uint32_t depth, hca_sleeper_t *sleeper,
                        const char *what, const char *bounds)
{
    hca_cq_t cq = hca_cq_create(hca->hca, depth, sleeper);
    if (!cq)
        gasneti_fatal("%s: cannot create the %s completion queue of %u entries: %s; lower %s%s%s",
                      hca->name, what, depth, strerror(errno), bounds,
                      sleeper ? ", or unset GASNET_RCV_THREAD" : "", net_ib_memlock_advice(errno));
    return cq;
}

static void make_cqs(uint32_t sends, uint32_t receives)
{
    const char *const send_bounds = "GASNET_NETWORKDEPTH_PP or GASNET_NETWORKDEPTH_TOTAL";
    const char *const receive_bounds =
        net_ib.shared ? "GASNET_RBUF_COUNT" : "GASNET_AM_CREDITS_PP or GASNET_AM_CREDITS_TOTAL";
    for (uint32_t i = 0; i < net_ib.hcas; i++) {
        const struct net_ib_hca *hca = &net_ib_rails.hca[i];
        net_ib.send_cq[i] = make_cq(hca, sends, NULL, "send", send_bounds);
        net_ib.recv_cq[i] =
            make_cq(hca, receives,
                    gasnetc_params.rcv_thread ? &net_ib_sleeper[HCA_SLEEPER_SPANS ? 0 : i] : NULL,
                    "receive", receive_bounds);
    }
}

enum { THREAD_MARGIN = 256 };

/* Requests in flight to one peer (IB-R3): no more than the send depth, nor than a receive queue
 * that holds as many Replies again. */
static uint32_t credits_per_peer(void)
{
    uint32_t credits = (uint32_t)gasnetc_params.credits_pp;
    uint32_t most = (net_ib_rails.limits.max_qp_wr - NET_IB_SYS_RECVS) / 2;
    if (credits > net_ib.depth) credits = net_ib.depth;
    return credits < most ? credits : most;
}

/* IB-R1: the depth of one queue pair; a peer's depth is shared by its queue pairs. */
static uint32_t depth_per_qp(void)
{
    int64_t depth = (gasnetc_params.depth_pp + net_ib_rails.qps - 1) / net_ib_rails.qps;
    int64_t most = (int64_t)net_ib_rails.limits.max_qp_wr - NET_IB_SYS_SLOTS;
    return (uint32_t)(depth < most ? depth : most);
}

/* IB-R2: the depth of the whole process; also that of each device's completion queue. */
static void set_total(uint32_t qps)
{
    uint64_t all = (uint64_t)net_ib.depth * qps, total = all;
    if (gasnetc_params.depth_total && (uint64_t)gasnetc_params.depth_total < total)
        total = (uint64_t)gasnetc_params.depth_total;
    uint64_t set_aside = (uint64_t)NET_IB_SYS_SLOTS * qps + THREAD_MARGIN;
    if (net_ib_rails.limits.max_cqe <= set_aside)
        gasneti_fatal("%s: completion queues of %u entries are too small for %u queue pairs; run "
                      "fewer processes, or lower GASNET_NUM_QPS",
                      net_ib_rails.text, net_ib_rails.limits.max_cqe, qps);
    if (total > net_ib_rails.limits.max_cqe - set_aside)
        total = net_ib_rails.limits.max_cqe - set_aside;
    net_ib.total_depth = (uint32_t)total;
    net_ib.total_limited = total < all;
}

/* `use`: GASNET_USE_SRQ. */
static net_ib_recv_plan_t plan_receives(int64_t use, uint32_t peers)
{
    const gasnetc_params_t *p = &gasnetc_params;
    const hca_limits_t *limits = &net_ib_rails.limits;
    const uint32_t credits = credits_per_peer();
    const uint64_t pinnable = net_ib_memlock() / 4 / net_ib.buffer_size;
    net_ib_recv_plan_t plan = net_ib_recv_plan(
        use, peers,
        p->rbuf_count == NET_IB_RBUF_DEFAULT
            ? (uint32_t)gasneti_min(net_ib_rbuf_default(peers), pinnable)
            : (uint32_t)p->rbuf_count,
        limits->max_srq_wr < limits->max_cqe ? limits->max_srq_wr : limits->max_cqe,
        (uint32_t)p->am_spares + NET_IB_SHARED_IN_HAND, net_ib.hcas, credits,
        net_ib_credits_total((uint64_t)p->credits_total, (uint64_t)p->depth_total, peers, credits));
    if (plan.sharing != NET_IB_CANNOT_SHARE) return plan;
    if (limits->max_srq_wr)
        gasneti_fatal(
            "GASNET_USE_SRQ=1: a shared receive queue of %s holds %u buffers, too few for "
            "%u peers; unset it, or use another device (" NET_PORTS_VARIABLE ")",
            net_ib_rails.text, limits->max_srq_wr, peers);
    gasneti_fatal("GASNET_USE_SRQ=1: %s has no shared receive queues; unset it, or use another "
                  "device (" NET_PORTS_VARIABLE ")",
                  net_ib_rails.text);
}

/* IB-R3: warns of credits that the user asks for and does not get. */
static void report_credits(uint32_t credits)
{
    const int64_t asked = gasnetc_params.credits_pp;
    if (credits >= asked || gasnetc_job.rank != 0 || !gasnetc_param_given("GASNET_AM_CREDITS_PP"))
        return;
    gasneti_warn("GASNET_AM_CREDITS_PP=%lld is lowered to %u: %s", (long long)asked, credits,
                 gasnetc_params.depth_pp <= credits
                     ? "no more Requests than operations (GASNET_NETWORKDEPTH_PP) are in flight"
                 : net_ib_rails.qps > 1 && credits == net_ib.depth
                     ? "a peer's queue pairs share GASNET_NETWORKDEPTH_PP, and Requests use one"
                     : "so many the queues of the device hold");
}

/* Bytes that are copied at about the cost of finding a registration (`make bench`). */
enum { NET_IB_COPY_MAX = 4096 };

static void fill_caps(uint32_t peers, struct net_caps *caps)
{
    const struct net_ib_hca *first = &net_ib_rails.hca[0];
    bool soft = net_ib_is_software(first->name);
    *caps = (struct net_caps){.inline_max = net_ib.inline_max,
                              .transfer_max = net_ib_transfer_max(),
                              .copy_put_max = NET_IB_COPY_MAX,
                              .copy_get_max = NET_IB_COPY_MAX,
                              .am_max = net_ib.buffer_size,
                              .region_max = SIZE_MAX,
                              .regions = net_ib_rails.limits.max_mr,
                              .descriptors = (soft ? NET_IB_SOFTWARE_DESCRIPTORS : 0) * peers,
                              .ordered = true};
    if (net_ib_rails.limits.max_mr_size) {
        /* The largest power of two that every device can register. */
        caps->region_max = (size_t)1 << (63 - __builtin_clzll(net_ib_rails.limits.max_mr_size));
    }
    char ports[160];
    name_ports(ports, sizeof ports, true);
    snprintf(caps->device, sizeof caps->device, "%.130s (%s, firmware %.60s)", ports,
             soft ? "software verbs device, no RDMA hardware"
             : hca_is_emulated(first->name, first->limits.vendor)
                 ? "software device of the kernel, no RDMA hardware"
                 : "RDMA hardware",
             first->limits.firmware);
    gasneti_info(network, "uses %s", caps->device);
}

void net_open(uint32_t peers, struct net_caps *caps)
{
    const int64_t inlined = gasnetc_params.inline_limit;
    net_ib_rails_open();
    net_ib.inline_max = inlined < 0 ? UINT32_MAX : (uint32_t)inlined;
    net_ib.buffer_size = 4096;
    net_ib.depth = depth_per_qp();
    fill_caps(peers, caps);
    net_ib_set_pinnable(0, 0, caps);
    if (peers == 0) return;
    net_ib_check_limits();
    caps->atomics = net_ib_atomics_open();
    net_ib_recv_plan_t plan = plan_receives(gasnetc_params.use_srq, peers);
    const int refused = plan.sharing == NET_IB_SHARE ? net_ib_shared_open(&plan) : 0;
    if (refused) plan = plan_receives(0, peers);
    const uint32_t qps = peers * net_ib_rails.qps + net_ib.atomics, /* one to this rank itself */
        prepost = plan.credits + NET_IB_SYS_RECVS + net_ib.wordy;
    report_credits(plan.credits);
    caps->credits = plan.credits;
    caps->replies = plan.replies;
    struct net_ib_depths depths = {.send = net_ib.depth + NET_IB_SYS_SLOTS};
    uint32_t buffers = plan.buffers;
    if (plan.sharing != NET_IB_SHARE) {
        const uint32_t spares = (uint32_t)gasnetc_params.am_spares;
        buffers = peers * prepost + plan.replies + spares;
        if (gasnetc_params.rcv_thread) buffers += net_ib_sleepers() + 1; /* net_spare_own */
        net_ib_recv_hand_over(net_ib_recv_make(spares));
        depths.am_recv = prepost + plan.credits;
        depths.am_prepost = prepost;
        depths.replies = plan.credits;
        depths.replies_in_all = plan.replies;
    }
    if (inlined < 0) net_ib.inline_max = net_ib_inline_wanted(qps, &depths);
    set_total(qps);
    const uint32_t sends = net_ib.total_depth + NET_IB_SYS_SLOTS * qps + THREAD_MARGIN;
    make_cqs(sends, buffers);
    net_ib_connect_init(peers, &depths);
    caps->inline_max = net_ib.inline_max;
    net_ib_lists_caps(caps);
    net_ib_rings_init(peers, amrdma_max_rings((uint32_t)gasnetc_params.amrdma_max_peers, peers,
                                              plan.credits, plan.replies));
    net_ib_set_pinnable((uint64_t)buffers * net_ib.buffer_size + net_ib_rings_bytes() +
                            net_ib_queue_bytes(qps, &depths, sends, buffers),
                        plan.sharing == NET_IB_SHARE ? 0 : peers, caps);
    net_ib_note_plain_ways(refused, caps);
    net_ib_on_demand_open(peers + 1, caps->early, sizeof caps->early);
    net_ib_events_open();
}

void net_close(void)
{
    net_ib_on_demand_close();
    net_ib_events_close();
    net_ib_connect_fini();
    for (uint32_t i = 0; i < net_ib_sleepers(); i++) hca_sleeper_close(&net_ib_sleeper[i]);
    for (uint32_t i = 0; i < net_ib.hcas; i++) {
        if (net_ib.send_cq[i]) hca_destroy(net_ib.send_cq[i]);
        if (net_ib.recv_cq[i]) hca_destroy(net_ib.recv_cq[i]);
        net_ib.send_cq[i] = net_ib.recv_cq[i] = NULL;
    }
    net_ib_shared_close();
    net_ib_receive_fini();
    net_ib_rings_fini();
    net_ib_rails_close();
}
