/* table.c - reads the tables of a port: GIDs by ibv_query_gid_table, else from ibv_query_gid and
 * sysfs; P_Keys by ibv_query_pkey. */
#include "other/connect/roce/table.h"

#include <endian.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An entry as libibverbs 1.11 and later pass it. */
struct verbs_entry {
    uint8_t gid[16];
    uint32_t at, port, type, interface;
};

/* The function that ibv_query_gid_table of <infiniband/verbs.h> calls; older releases of rdma-core
 * lack it and its declaration. */
struct ibv_gid_entry;
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                             size_t most, uint32_t flags, size_t entry_size) __attribute__((weak));

static bool is_empty(const uint8_t gid[16])
{
    static const uint8_t zero[16];
    return !memcmp(gid, zero, sizeof zero);
}

/* The number of entries of all ports, empty ones included. */
static size_t all_entries(struct ibv_context *context)
{
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    size_t all = 0;
    if (ibv_query_device(context, &device)) return 0;
    for (uint8_t i = 1; i <= device.phys_port_cnt; i++)
        if (!ibv_query_port(context, i, &port) && port.gid_tbl_len > 0)
            all += (size_t)port.gid_tbl_len;
    return all;
}

/* Reads the port's GIDs by ibv_query_gid_table.  False: this libibverbs or kernel does not have it.
 */
static bool read_verbs(struct ibv_context *context, uint8_t port, roce_entry_t *table, size_t most,
                       size_t *count)
{
    const size_t room = &_ibv_query_gid_table ? all_entries(context) : 0;
    struct verbs_entry *all = room ? calloc(room, sizeof *all) : NULL;
    if (!all) return false;
    const ssize_t n =
        _ibv_query_gid_table(context, (struct ibv_gid_entry *)(void *)all, room, 0, sizeof *all);
    *count = 0;
    for (ssize_t i = 0; i < n && *count < most; i++) {
        if (all[i].port != port || is_empty(all[i].gid)) continue;
        roce_entry_t *entry = &table[(*count)++];
        *entry = (roce_entry_t){.at = all[i].at, .type = all[i].type};
        memcpy(entry->gid, all[i].gid, sizeof entry->gid);
        char name[IF_NAMESIZE];
        if (all[i].interface && if_indextoname(all[i].interface, name))
            snprintf(entry->interface, sizeof entry->interface, "%s", name);
    }
    free(all);
    return n >= 0;
}

/* Reads the line that a file of sysfs has for an entry; "" if the file does not exist. */
static void read_line(const char *root, const char *device, unsigned port, const char *what,
                      int index, char *line, size_t size)
{
    char path[512];
    line[0] = 0;
    const int length = snprintf(path, sizeof path, "%s/%s/ports/%u/gid_attrs/%s/%d", root, device,
                                port, what, index);
    const int fd = length < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    const ssize_t n = read(fd, line, size - 1);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    close(fd);
}

size_t roce_read_sysfs(struct ibv_context *context, const char *root, uint8_t port,
                       roce_entry_t *table, size_t most)
{
    const char *device = ibv_get_device_name(context->device);
    struct ibv_port_attr attr;
    size_t count = 0;
    if (ibv_query_port(context, port, &attr)) return 0;
    for (int i = 0; i < attr.gid_tbl_len && count < most; i++) {
        union ibv_gid gid;
        char type[32];
        if (ibv_query_gid(context, port, i, &gid) || is_empty(gid.raw)) continue;
        roce_entry_t *entry = &table[count++];
        *entry = (roce_entry_t){.at = (uint32_t)i, .type = ROCE_V1};
        memcpy(entry->gid, gid.raw, sizeof entry->gid);
        if (attr.link_layer != IBV_LINK_LAYER_ETHERNET) {
            entry->type = ROCE_IB;
            continue;
        }
        read_line(root, device, port, "types", i, type, sizeof type);
        if (!strcmp(type, "RoCE v2")) entry->type = ROCE_V2;
        read_line(root, device, port, "ndevs", i, entry->interface, sizeof entry->interface);
    }
    return count;
}

size_t roce_read_table(struct ibv_context *context, uint8_t port, roce_entry_t *table, size_t most)
{
    size_t count;
    if (read_verbs(context, port, table, most, &count)) return count;
    return roce_read_sysfs(context, "/sys/class/infiniband", port, table, most);
}

size_t roce_read_pkeys(struct ibv_context *context, uint8_t port, uint16_t *table, size_t most)
{
    struct ibv_port_attr attr;
    size_t count;
    if (ibv_query_port(context, port, &attr)) return 0;
    for (count = 0; count < attr.pkey_tbl_len && count < most; count++) {
        __be16 key;
        table[count] = ibv_query_pkey(context, port, (int)count, &key) ? 0 : be16toh(key);
    }
    return count;
}
