/* device_limits.c - limits that the devices report, and what follows from them: see rail.h.
 *
 * Called at start-up by net_open.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/ib/rail.h"
#include "core/ib/system_messages.h"
#include "core/params/params.h"
#include "core/report.h"

void net_ib_check_limits(void)
{
    enum { LEAST_WR = NET_IB_SYS_SLOTS + 2 };
    const hca_limits_t *limits = &net_ib_rails.limits;
    if (limits->max_rd_atom == 0 || limits->max_init_rd_atom == 0)
        gasneti_fatal("%s has no RDMA reads, which gets need: a queue pair serves %u at once and "
                      "starts %u; use another device (" NET_PORTS_VARIABLE ")",
                      net_ib_rails.text, limits->max_rd_atom, limits->max_init_rd_atom);
    if (limits->max_qp_wr < LEAST_WR)
        gasneti_fatal("%s has queue pairs of %u work requests, and %d are needed; use another "
                      "device (" NET_PORTS_VARIABLE ")",
                      net_ib_rails.text, limits->max_qp_wr, LEAST_WR);
    if (limits->max_mr_size && limits->max_mr_size < 2 * (uint64_t)net_ib.buffer_size)
        gasneti_fatal("%s registers at most %llu bytes at once, too few for the send buffers; use "
                      "another device (" NET_PORTS_VARIABLE ")",
                      net_ib_rails.text, (unsigned long long)limits->max_mr_size);
}

/* Appends to the list caps->plain; text beyond its room is cut off. */
static __attribute__((format(printf, 2, 3))) void note(struct net_caps *caps, const char *format,
                                                       ...)
{
    const size_t used = strlen(caps->plain);
    va_list list;
    va_start(list, format);
    vsnprintf(caps->plain + used, sizeof caps->plain - used, format, list);
    va_end(list);
}

/* True if the settings ask for rings that are written by RDMA, and no device can have them. */
static bool lacks_rings(void)
{
    const gasnetc_params_t *p = &gasnetc_params;
    const uint64_t largest = net_ib_rails.limits.max_mr_size;
    if (!p->amrdma_max_peers || !p->amrdma_limit || !p->amrdma_cycle || p->rcv_thread) return false;
    return net_ib.wordy || (largest && largest < gasnetc_ring_bytes(&net_ib.rings));
}

void net_ib_note_plain_ways(int refused, struct net_caps *caps)
{
    const hca_limits_t *limits = &net_ib_rails.limits;
    caps->plain[0] = 0;
    if (net_ib_rails.manager) note(caps, ", connected by the RDMA connection manager");
    if (net_ib.inline_max == 0 && gasnetc_params.inline_limit != 0) note(caps, ", no inline sends");
    if (limits->max_srq_wr == 0) note(caps, ", no shared receive queues");
    if (refused) note(caps, ", a shared receive queue was refused (%s)", strerror(refused));
    if (caps->put_list_max == 0)
        note(caps, ", one piece of local memory in a put or get");
    else if (caps->get_list_max == 0)
        note(caps, ", one piece of local memory in a get");
    if (lacks_rings()) note(caps, ", no Active Messages by RDMA");
    if (net_ib.depth < gasnetc_params.depth_pp / net_ib_rails.qps)
        note(caps, ", %u operations of a queue pair at once", net_ib.depth);
    if (limits->max_rd_atom == 1 || limits->max_init_rd_atom == 1)
        note(caps, ", one RDMA read at once");
    if (caps->transfer_max < (size_t)1 << 30)
        note(caps, ", messages of %zu KB", caps->transfer_max / 1024);
    if (caps->region_max < (size_t)1 << 30)
        note(caps, ", regions of %zu KB", caps->region_max / 1024);
}

size_t net_ib_transfer_max(void)
{
    size_t least = (size_t)1 << 30;
    for (uint32_t i = 0; i < net_ib_rails.rails; i++) {
        const struct net_ib_rail *rail = &net_ib_rails.rail[i];
        if (rail->port.max_message < least) least = rail->port.max_message;
        if (rail->port.max_message < net_ib.buffer_size)
            gasneti_fatal("%s port %u takes messages of %u bytes at most, and Active Messages "
                          "have up to %u; use another port (" NET_PORTS_VARIABLE ")",
                          net_ib_rails.hca[rail->hca].name, rail->number, rail->port.max_message,
                          net_ib.buffer_size);
    }
    return least;
}
