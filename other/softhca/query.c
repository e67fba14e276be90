/* query.c - what the device says about itself.
 *
 * All processes of a host show one HCA with one port: the GUID, LID and GID come from the host
 * name and the boot id, so that they agree between processes and differ between hosts.
 */
#include "object.h"

#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static uint64_t hash(uint64_t h, const char *s, size_t n)
{
    while (n-- > 0) h = (h ^ (unsigned char)*s++) * 0x100000001b3ull;
    return h;
}

static uint64_t host_hash(void)
{
    static _Atomic uint64_t known;
    if (known) return known;
    char text[256] = "";
    gethostname(text, sizeof text - 1);
    uint64_t h = hash(0xcbf29ce484222325ull, text, strlen(text));
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, text, sizeof text);
        if (n > 0) h = hash(h, text, n);
        close(fd);
    }
    return known = h | 1;
}

/* The locally administered bit is set: no vendor's GUID. */
uint64_t shca_guid(void)
{
    return htobe64((host_hash() >> 16) | 0x0200000000000000ull);
}

uint16_t shca_lid(void)
{
    static _Atomic uint16_t known;
    if (!known) known = 1 + host_hash() % 0xbfff; /* unicast LIDs */
    return known;
}

int shca_query_gid(uint32_t port, int index, union ibv_gid *gid)
{
    if (port != 1 || index != 0) return -1;
    gid->global.subnet_prefix = htobe64(0xfe80000000000000ull);
    gid->global.interface_id = shca_guid();
    return 0;
}

int shca_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
    *a = (struct ibv_device_attr){
        .fw_ver = "1.0.0",
        .node_guid = shca_guid(),
        .sys_image_guid = shca_guid(),
        .max_mr_size = 1ull << 46,
        .page_size_cap = ~4095ull,
        .vendor_part_id = 1,
        .max_qp = SHCA_QPS,
        .max_qp_wr = SHCA_MAX_WR,
        .device_cap_flags = IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN,
        .max_sge = SHCA_MAX_SGE,
        .max_sge_rd = SHCA_MAX_SGE,
        .max_cq = SHCA_CQS,
        .max_cqe = SHCA_MAX_CQE,
        .max_mr = SHCA_MRS,
        .max_pd = 1 << 20,
        .max_qp_rd_atom = 128,
        .max_res_rd_atom = 128 * SHCA_QPS,
        .max_qp_init_rd_atom = 128,
        .atomic_cap = IBV_ATOMIC_HCA,
        .max_pkeys = 1,
        .local_ca_ack_delay = 0,
        .phys_port_cnt = 1,
    };
    return 0;
}

int shca_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
                         struct ibv_device_attr_ex *a, size_t size)
{
    if (size < sizeof a->orig_attr) return EINVAL;
    memset(a, 0, size);
    if (size >= offsetof(struct ibv_device_attr_ex, phys_port_cnt_ex) + sizeof a->phys_port_cnt_ex)
        a->phys_port_cnt_ex = 1;
    return shca_query_device(c, &a->orig_attr);
}

int shca_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
    if (port != 1) return EINVAL;
    struct ibv_port_attr a = {
        .state = IBV_PORT_ACTIVE,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = IBV_MTU_4096,
        .gid_tbl_len = 1,
        .max_msg_sz = 1u << 30,
        .pkey_tbl_len = 1,
        .lid = shca_lid(),
        .sm_lid = shca_lid(),
        .max_vl_num = 1,
        .active_width = 2,  /* 4X */
        .active_speed = 64, /* HDR */
        .phys_state = 5,    /* LinkUp */
        .link_layer = IBV_LINK_LAYER_INFINIBAND,
    };
    memset(attr, 0, size);
    memcpy(attr, &a, size < sizeof a ? size : sizeof a);
    return 0;
}
