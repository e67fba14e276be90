/* attributes.c - dat_ia_query: what an interface adapter and this provider can do.  */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/* Streams in the order of evd_stream_merging_supported.  */
enum { SOFTWARE, CR, DTO, CONNECTION, RMR_BIND, ASYNC, STREAMS };

/* Asynchronous events share no EVD with a completion queue.  */
static bool merge(int a, int b)
{
    bool queue = a == DTO || a == RMR_BIND || b == DTO || b == RMR_BIND;
    return !queue || (a != ASYNC && b != ASYNC);
}

static DAT_COUNT at_least_zero(int count)
{
    return count > 0 ? count : 0;
}
static int attributes_least(int a, int b)
{
    return a < b ? a : b;
}

/* "1.18.0"; a device may have more than two numbers, or words.  */
static void firmware_version(const struct udapl_ia *ia, DAT_IA_ATTR *attr)
{
    char *end;
    attr->firmware_version_major = (DAT_UINT32)strtoul(ia->device.fw_ver, &end, 10);
    attr->firmware_version_minor = *end == '.' ? (DAT_UINT32)strtoul(end + 1, NULL, 10) : 0;
}

static void object_limits(const struct ibv_device_attr *device, DAT_IA_ATTR *attr)
{
    attr->max_eps = at_least_zero(device->max_qp);
    attr->max_evds = at_least_zero(device->max_cq);
    attr->max_evd_qlen = at_least_zero(device->max_cqe);
    attr->max_lmrs = at_least_zero(device->max_mr);
    attr->max_pzs = at_least_zero(device->max_pd);
    attr->max_rmrs = at_least_zero(device->max_mw);
    attr->max_lmr_block_size =
        device->max_mr_size > UINT_MAX ? UINT_MAX : (DAT_SEG_LENGTH)device->max_mr_size;
    attr->max_lmr_virtual_address = UINT64_MAX;
    attr->max_rmr_target_address = UINT64_MAX;
}

static void transfer_limits(const struct udapl_ia *ia, DAT_IA_ATTR *attr)
{
    const struct ibv_device_attr *device = &ia->device;
    attr->max_dto_per_ep = at_least_zero(device->max_qp_wr);
    attr->max_rdma_read_per_ep_in = at_least_zero(device->max_qp_rd_atom);
    attr->max_rdma_read_per_ep_out = at_least_zero(device->max_qp_init_rd_atom);
    attr->max_rdma_read_in = at_least_zero(device->max_res_rd_atom);
    attr->max_rdma_read_out = at_least_zero(device->max_res_rd_atom);
    attr->max_rdma_read_per_ep_in_guaranteed = DAT_FALSE;
    attr->max_rdma_read_per_ep_out_guaranteed = DAT_FALSE;
    int segments = attributes_least(at_least_zero(device->max_sge), UDAPL_MOST_SEGMENTS);
    attr->max_iov_segments_per_dto = segments;
    attr->max_iov_segments_per_rdma_write = segments;
    attr->max_iov_segments_per_rdma_read =
        device->max_sge_rd > 0 ? attributes_least(device->max_sge_rd, segments) : segments;
    attr->max_message_size = ia->max_message;
    attr->max_rdma_size = ia->max_message;
}

void udapl_ia_attributes(const struct udapl_ia *ia, DAT_IA_ATTR *attr)
{
    memset(attr, 0, sizeof *attr);
    snprintf(attr->adapter_name, sizeof attr->adapter_name, "%s",
             ibv_get_device_name(ia->verbs->device));
    snprintf(attr->vendor_name, sizeof attr->vendor_name, "0x%06x", ia->device.vendor_id);
    attr->hardware_version_major = ia->device.hw_ver;
    firmware_version(ia, attr);
    attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address;
    object_limits(&ia->device, attr);
    transfer_limits(ia, attr);
    attr->extension_supported = DAT_EXTENSION_NONE;
}

/* Fills the member that says which streams merge, though it is declared const. */
static void fill_merging(DAT_PROVIDER_ATTR *attr)
{
    DAT_BOOLEAN merging[STREAMS][STREAMS];
    for (int a = 0; a < STREAMS; a++)
        for (int b = 0; b < STREAMS; b++) merging[a][b] = merge(a, b) ? DAT_TRUE : DAT_FALSE;
    memcpy((void *)(uintptr_t)attr->evd_stream_merging_supported, merging, sizeof merging);
}

void udapl_provider_attributes(DAT_PROVIDER_ATTR *attr)
{
    memset(attr, 0, sizeof *attr);
    snprintf(attr->provider_name, sizeof attr->provider_name, "dapl-events");
    attr->provider_version_major = 1;
    attr->dapl_version_major = 2;
    attr->lmr_mem_types_supported =
        DAT_MEM_TYPE_LMR; /* virtual memory is 0, and always supported */
    attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
    attr->dat_qos_supported = DAT_QOS_BEST_EFFORT;
    attr->completion_flags_supported = UDAPL_RECV_FLAGS | UDAPL_REQUEST_FLAGS;
    attr->is_thread_safe = DAT_FALSE;
    attr->max_private_data_size = 0;
    attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
    attr->pz_support = DAT_PZ_UNIQUE;
    attr->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
    fill_merging(attr);
    attr->srq_supported = DAT_FALSE;
    attr->ep_recv_info_supported = 0;
    attr->lmr_sync_req = DAT_FALSE;
    attr->dto_async_return_guaranteed = DAT_TRUE;
    attr->rdma_write_for_rdma_read_req = DAT_FALSE;
    attr->rdma_read_lmr_rmr_context_exposure = DAT_FALSE;
    attr->rmr_scope_supported = DAT_RMR_SCOPE_PZ;
    attr->is_signal_safe = DAT_FALSE;
    attr->ha_supported = DAT_FALSE;
    attr->ha_loadbalancing = DAT_HA_LB_NONE;
}
