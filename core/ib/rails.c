/* rails.c - finding and opening a port, and the life of the network as a whole.
 *
 * Called at start-up and at the end.  One rail for now: the first active port that
 * the filter admits.
 */
#include "core/ib/rail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/ib/ports.h"
#include "core/params.h"
#include "core/report.h"

struct net_ib net_ib;
struct net_ib_rail net_ib_rail;

/* What was looked at, for the message when nothing fits. */
typedef struct survey {
    char text[512];
    size_t used;
    struct net_ib_port_name ports[32];
    size_t count;
    bool filtered; /* an active port was passed over at the user's wish */
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

/* Why no port was taken, and what to do about it. */
static void survey_tell(const survey_t *survey, char *error, size_t size)
{
    const char *filter = gasnetc_params.ports;
    char absent[256];
    if (!survey->filtered) {
        snprintf(error, size,
                 "no usable InfiniBand port (%s). Check ibv_devinfo; SOFTHCA=on runs the job on "
                 "the software device",
                 survey->used ? survey->text : "no verbs device at all");
        return;
    }
    net_ib_ports_unmatched(filter, survey->ports, survey->count, absent, sizeof absent);
    snprintf(error, size, "%s=%s leaves no usable InfiniBand port (%s%s%s). Correct it or unset it",
             HCA_PORTS_VARIABLE, filter, survey->text, *absent ? "; nothing here matches " : "",
             absent);
}

/* Takes the first fitting port of an open device into net_ib_rail. */
static bool take_port(hca_t hca, const char *name, survey_t *survey)
{
    hca_limits_t limits;
    if (!hca_query(hca, &limits)) return false;
    bool tried_active = false;
    for (unsigned number = 1; number <= limits.ports; number++) {
        hca_port_t port;
        enum net_ib_port_rule rule = net_ib_ports_rule(gasnetc_params.ports, name, number);
        if (!hca_query_port(hca, (uint8_t)number, &port))
            survey_note(survey, name, number, "cannot be queried");
        else if (!port.active)
            survey_note(survey, name, number, "is not active");
        else if (rule == NET_IB_PORT_NO || (rule == NET_IB_PORT_FIRST_ACTIVE && tried_active)) {
            survey_note(survey, name, number, "is active, but not in it");
            survey->filtered = true;
        } else {
            net_ib_rail = (struct net_ib_rail){
                .hca = hca, .port_number = (uint8_t)number, .port = port, .limits = limits};
            snprintf(net_ib_rail.name, sizeof net_ib_rail.name, "%s", name);
            return true;
        }
        tried_active = tried_active || port.active;
    }
    return false;
}

/* Opens the first fitting port, or says in `error` why there is none. */
static void open_port(char *error, size_t size)
{
    int count = 0;
    hca_list_t list = hca_list(&count);
    survey_t survey = {.used = 0};
    for (int i = 0; list && i < count && !net_ib_rail.hca; i++) {
        hca_t hca = hca_open(list, i);
        if (!hca)
            survey_add(&survey, "%s cannot be opened: %s", hca_list_name(list, i), strerror(errno));
        else if (!take_port(hca, hca_list_name(list, i), &survey))
            hca_close(hca);
    }
    if (list) hca_list_free(list);
    if (!net_ib_rail.hca) survey_tell(&survey, error, size);
}

void net_ib_rail_open(void)
{
    char why[160], error[1024] = "";
    if (net_ib_ports_check(gasnetc_params.ports, why, sizeof why))
        open_port(error, sizeof error);
    else
        snprintf(error, sizeof error, HCA_PORTS_VARIABLE "=%s: %s", gasnetc_params.ports, why);
    gasneti_fatal_if_any(error);
    net_ib_rail.pd = hca_pd_create(net_ib_rail.hca);
    if (!net_ib_rail.pd)
        gasneti_fatal("%s: cannot allocate a protection domain: %s", net_ib_rail.name,
                      strerror(errno));
}

void net_ib_rail_close(void)
{
    if (net_ib_rail.pd) hca_pd_destroy(net_ib_rail.pd);
    if (net_ib_rail.hca) hca_close(net_ib_rail.hca);
    net_ib_rail = (struct net_ib_rail){.hca = NULL};
}

static hca_cq_t make_cq(uint32_t depth, const char *what)
{
    hca_cq_t cq = hca_cq_create(net_ib_rail.hca, depth);
    if (!cq)
        gasneti_fatal("%s: cannot create the %s completion queue of %u entries: %s; lower "
                      "GASNET_NETWORKDEPTH_PP or GASNET_AM_CREDITS_PP",
                      net_ib_rail.name, what, depth, strerror(errno));
    return cq;
}

/* Send slots beyond the ordinary depth, so that a system message always finds one. */
enum { SYS_SLOTS = 4, SYS_RECVS = 3, THREAD_MARGIN = 256 };

/* Requests in flight to one peer (IB-R3): no more than the send depth, nor than a receive queue
 * that holds as many Replies again. */
static uint32_t credits_per_peer(void)
{
    uint32_t credits = (uint32_t)gasnetc_params.credits_pp;
    uint32_t most = (net_ib_rail.limits.max_qp_wr - SYS_RECVS) / 2;
    if (credits > net_ib.depth) credits = net_ib.depth;
    return credits < most ? credits : most;
}

/* All depths, from the parameters and what the device can do (IB-R1 to R4). */
static void set_depths(uint32_t peers, uint32_t *per_peer, uint32_t *shared)
{
    const hca_limits_t *limits = &net_ib_rail.limits;
    int64_t depth = gasnetc_params.depth_pp;
    if (depth + SYS_SLOTS > limits->max_qp_wr) depth = (int64_t)limits->max_qp_wr - SYS_SLOTS;
    net_ib.depth = (uint32_t)depth;
    uint64_t all = (uint64_t)depth * peers, total = all;
    if (gasnetc_params.depth_total && (uint64_t)gasnetc_params.depth_total < total)
        total = (uint64_t)gasnetc_params.depth_total;
    uint64_t set_aside = (uint64_t)SYS_SLOTS * peers + THREAD_MARGIN;
    if (limits->max_cqe <= set_aside)
        gasneti_fatal("%s: completion queues of %u entries are too small for %u peers",
                      net_ib_rail.name, limits->max_cqe, peers);
    if (total > limits->max_cqe - set_aside) total = limits->max_cqe - set_aside;
    net_ib.total_depth = (uint32_t)total;
    net_ib.total_limited = total < all;
    uint32_t credits = credits_per_peer();
    uint64_t replies = (uint64_t)credits * peers;
    if (gasnetc_params.credits_total && (uint64_t)gasnetc_params.credits_total < replies)
        replies = (uint64_t)gasnetc_params.credits_total;
    *per_peer = credits + SYS_RECVS;
    *shared = (uint32_t)replies + (uint32_t)gasnetc_params.am_spares;
}

void net_open(uint32_t peers, struct net_caps *caps)
{
    net_ib_rail_open();
    const char *kind =
        hca_is_soft(net_ib_rail.hca) ? "software verbs device, no RDMA hardware" : "RDMA hardware";
    uint32_t per_peer, shared;
    set_depths(peers, &per_peer, &shared);
    int64_t wanted = gasnetc_params.inline_limit;
    net_ib.inline_max = wanted < 0 ? UINT32_MAX : (uint32_t)wanted;
    net_ib.buffer_size = 4096;
    *caps = (struct net_caps){.inline_max = net_ib.inline_max,
                              .transfer_max = (size_t)1 << 30,
                              .am_max = net_ib.buffer_size,
                              .region_max = SIZE_MAX,
                              .descriptors = hca_descriptors(net_ib_rail.hca) * peers,
                              .pays_for_pinning = !hca_is_soft(net_ib_rail.hca),
                              .ordered = true,
                              .credits = credits_per_peer()};
    if (net_ib_rail.limits.max_mr_size) {
        /* The largest power of two that the device takes. */
        caps->region_max = (size_t)1 << (63 - __builtin_clzll(net_ib_rail.limits.max_mr_size));
    }
    snprintf(caps->device, sizeof caps->device, "%s port %u (%s, firmware %s)", net_ib_rail.name,
             net_ib_rail.port_number, kind, net_ib_rail.limits.firmware);
    if (peers == 0) return;
    net_ib.send_cq = make_cq(net_ib.total_depth + SYS_SLOTS * peers + THREAD_MARGIN, "send");
    net_ib.recv_cq = make_cq(per_peer * peers + shared, "receive");
    net_ib_receive_init(peers, per_peer, shared);
    net_ib_connect_init(peers, net_ib.depth + SYS_SLOTS, per_peer + credits_per_peer(), per_peer);
    caps->inline_max = net_ib.inline_max;
}

void net_close(void)
{
    net_ib_connect_fini();
    if (net_ib.send_cq) hca_cq_destroy(net_ib.send_cq);
    if (net_ib.recv_cq) hca_cq_destroy(net_ib.recv_cq);
    net_ib.send_cq = net_ib.recv_cq = NULL;
    net_ib_receive_fini();
    net_ib_rail_close();
}
