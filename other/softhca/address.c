/* address.c - LIDs, GUIDs and GIDs: how they are made, and where they lead.
 *
 * They come from the host's name and boot id, so that all processes of a host agree on them and
 * hosts differ. Where an address leads is asked when a queue pair is connected and when an address
 * handle is made, never later.
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

/* The locally administered bit is set: no vendor's GUID. The device is in bits 52 to 55; in bits 48
 * to 51 is the port, 0 for the device itself; the index of a port's GID is in bits 58 to 61. */
static uint64_t guid(uint32_t device, uint32_t port, uint32_t index)
{
    return htobe64(host_hash() >> 16 | (uint64_t)device << 52 | (uint64_t)port << 48 |
                   0x0200000000000000ull | (uint64_t)index << 58);
}

uint64_t shca_guid(uint32_t device)
{
    return guid(device, 0, 0);
}

void shca_gid(uint32_t port, uint32_t index, union ibv_gid *gid)
{
    gid->global.subnet_prefix = htobe64(0xfe80000000000000ull);
    gid->global.interface_id = guid(shm_port_device(port), shm_port_number(port), index);
}

/* A port owns as many LIDs as the largest LMC of all wants; ports lie side by side, from a first
 * LID that is this host's own. */
static uint32_t lids_per_port(const struct shca_inventory *all)
{
    uint64_t lmc = 0;
    for (uint32_t d = 0; d < all->devices; d++)
        for (uint32_t p = 0; p < all->ports; p++)
            if (all->device[d].port[p].lmc > lmc) lmc = all->device[d].port[p].lmc;
    return 1u << lmc;
}

static uint32_t first_lid(void)
{
    static _Atomic uint32_t known;
    if (known) return known;
    const struct shca_inventory *all = shca_inventory();
    uint32_t block = 1, unicast = 0xc000;
    while (block < all->devices * all->ports * lids_per_port(all)) block *= 2;
    return known = block * (1 + host_hash() % (unicast / block - 1));
}

/* The one place where LIDs are made. */
uint16_t shca_lid(uint32_t port)
{
    const struct shca_inventory *all = shca_inventory();
    uint32_t ordinal = shm_port_device(port) * all->ports + shm_port_number(port) - 1;
    return first_lid() + ordinal * lids_per_port(all);
}

static bool gid_leads_to(const union ibv_gid *gid, uint32_t port)
{
    union ibv_gid its;
    for (uint32_t i = 0; i < shca_port_model(port)->gids; i++) {
        shca_gid(port, i, &its);
        if (!memcmp(gid, &its, sizeof its)) return true;
    }
    return false;
}

static bool leads_to(const struct ibv_ah_attr *ah, uint32_t port)
{
    uint32_t lid = shca_lid(port);
    if (ah->is_global && gid_leads_to(&ah->grh.dgid, port)) return true;
    return ah->dlid >= lid && ah->dlid < lid + (1u << shca_port_model(port)->lmc);
}

struct shca_place shca_place_of(const struct ibv_ah_attr *ah)
{
    const struct shca_inventory *all = shca_inventory();
    for (uint32_t d = 0; d < all->devices; d++)
        for (uint32_t n = 1; n <= all->ports; n++)
            if (leads_to(ah, shm_port(d, n))) return (struct shca_place){SHCA_HERE, shm_port(d, n)};
    return (struct shca_place){SHCA_NOWHERE, 0};
}

/* What the receiver of a message along this address is told of its way. */
struct shm_route shca_route(uint32_t from_port, const struct ibv_ah_attr *ah)
{
    uint32_t mask = (1u << shca_port_model(from_port)->lmc) - 1;
    return (struct shm_route){.slid = shca_lid(from_port) + (ah->src_path_bits & mask),
                              .sl = ah->sl,
                              .dlid_path_bits = ah->dlid & mask};
}
