/* devices.c - examines the verbs devices of this host: the kernel's files, then what libibverbs
 * lists, with ports.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "other/connect/roce/table.h"
#include "other/launch/doctor/doctor.h"

static const char *const kernel_devices = "/sys/class/infiniband";
static const char *const device_files = "/dev/infiniband";

/* The number of entries of a folder whose names begin with `prefix`. */
static unsigned devices_entries(const char *folder, const char *prefix)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix));
    if (dir) closedir(dir);
    return count;
}

unsigned doctor_kernel_devices(void)
{
    return devices_entries(kernel_devices, "");
}

static void examine_file(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", device_files, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    else
        doctor_problem("%s: %s; the file must be readable and writable for all users (mode 0666, "
                       "set by the udev rules of rdma-core)",
                       path, strerror(errno));
}

static void examine_files(void)
{
    unsigned devices = doctor_kernel_devices(), files = devices_entries(device_files, "uverbs");
    if (!devices) {
        doctor_note(
            "the kernel has no RDMA device: no hardware, or its driver is not loaded (lspci, "
            "modprobe)");
        return;
    }
    if (!files)
        doctor_problem("the kernel has %u RDMA devices but there is no %s/uverbs*; modprobe "
                       "ib_uverbs",
                       devices, device_files);
    DIR *dir = opendir(device_files);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (!strncmp(entry->d_name, "uverbs", 6)) examine_file(entry->d_name);
    if (dir) closedir(dir);
}

/* A device of the kernel without hardware below it has no bus device: rxe, siw. */
static const char *kind_of(struct ibv_device *device)
{
    char path[512];
    const char *name = ibv_get_device_name(device);
    if (!strncmp(name, "softhca", 7)) return "software device of this library";
    snprintf(path, sizeof path, "%s/%s/device", kernel_devices, name);
    return access(path, F_OK) ? "software device of the kernel" : "hardware";
}

static const char *link_of(const struct ibv_port_attr *port)
{
    return port->link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

/* A port that jobs use, with the address that they prefer. */
static void report_port(const char *name, uint8_t number, const struct ibv_port_attr *port,
                        const roce_port_t *gids)
{
    char address[128];
    if (port->link_layer == IBV_LINK_LAYER_ETHERNET)
        roce_own_text(gids, roce_common(&gids->offer, &gids->offer), address, sizeof address);
    else
        snprintf(address, sizeof address, "LID %u", port->lid);
    doctor_good("%s port %u: active, %s, %s, MTU %d", name, number, link_of(port), address,
                128 << port->active_mtu);
}

static void examine_port(struct ibv_context *device, const char *name, uint8_t number)
{
    struct ibv_port_attr port;
    if (ibv_query_port(device, number, &port)) {
        doctor_problem("%s port %u cannot be queried: %s; look at the system log", name, number,
                       strerror(errno));
        return;
    }
    const bool ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
    const bool active = port.state == IBV_PORT_ACTIVE;
    roce_entry_t table[ROCE_MOST_ENTRIES];
    roce_port_t gids;
    const size_t count = roce_read_table(device, number, table, ROCE_MOST_ENTRIES);
    const bool chosen = roce_choose(table, count, ethernet, ROCE_AUTO, &gids);
    const roce_fault_t *fault =
        roce_port_fault(active, ethernet, chosen || (!ethernet && port.lid));
    if (fault && active)
        doctor_problem("%s port %u (%s) %s; %s", name, number, link_of(&port), fault->text,
                       fault->remedy);
    else if (fault)
        doctor_note("%s port %u (%s) %s (%s) and not used; %s", name, number, link_of(&port),
                    fault->text, ibv_port_state_str(port.state), fault->remedy);
    else
        report_port(name, number, &port, &gids);
    char text[ROCE_TEXT];
    if (ethernet)
        doctor_good("%s port %u: its GIDs: %s", name, number,
                    roce_table_text(table, count, true, text, sizeof text));
}

static bool examine_device(struct ibv_device *device)
{
    const char *name = ibv_get_device_name(device);
    struct ibv_device_attr limits;
    struct ibv_context *open = ibv_open_device(device);
    if (!open || ibv_query_device(open, &limits)) {
        doctor_problem("%s cannot be %s: %s", name, open ? "queried" : "opened", strerror(errno));
        if (open) ibv_close_device(open);
        return false;
    }
    doctor_good("%s: %s, firmware %s, %d queue pairs", name, kind_of(device), limits.fw_ver,
                limits.max_qp);
    bool usable = device->transport_type == IBV_TRANSPORT_IB;
    if (!usable)
        doctor_note("%s is no InfiniBand or RoCE device (iWARP?): this library does not use it",
                    name);
    for (unsigned number = 1; usable && number <= limits.phys_port_cnt; number++)
        examine_port(open, name, (uint8_t)number);
    ibv_close_device(open);
    return usable;
}

void doctor_devices(void)
{
    int count = 0;
    unsigned usable = 0;
    examine_files();
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; list && i < count; i++) usable += examine_device(list[i]);
    if (list) ibv_free_device_list(list);
    if (!usable)
        doctor_problem("there is no device that a job could use; load the driver of the device, or "
                       "set SOFTHCA=on for the software device");
}
