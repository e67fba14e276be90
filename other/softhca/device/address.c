/* address.c - LIDs, GUIDs and GIDs: their assignment and resolution.
 *
 * With a list of hosts they follow from the list and the host's place in it, so that every process
 * of the fabric can compute all of them; else from the host's name and boot id, so that all
 * processes of the host agree. Addresses are resolved when a queue pair is connected and when an
 * address handle is created, not on the data path.
 */
#include "other/softhca/device/device.h"
#include "other/softhca/interpose/edge.h"
#include "other/softhca/objects/object.h"
#include "other/softhca/tcp/fabric.h"

#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static uint64_t address_hash(uint64_t h, const char *s, size_t n)
{
    while (n-- > 0) h = (h ^ (unsigned char)*s++) * 0x100000001b3ull;
    return h;
}

static uint64_t address_host_hash(void)
{
    static _Atomic uint64_t known;
    if (known) return known;
    char text[256] = "";
    gethostname(text, sizeof text - 1);
    uint64_t h = address_hash(0xcbf29ce484222325ull, text, strlen(text));
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, text, sizeof text);
        if (n > 0) h = address_hash(h, text, n);
        close(fd);
    }
    return known = h | 1;
}

/* 48 bits: with a list, 32 bits of its hash and 16 with the number of the host. */
static uint64_t address_host_bits(uint32_t host)
{
    const struct shca_fabric *f = shca_fabric();
    return f->names.n == 0 ? address_host_hash() >> 16 : (f->hash >> 32) << 16 | host;
}

/* A locally administered identifier. Bits 58 to 61: index of a GID; bits 52 to 55: device; bits 48
 * to 51: port, 0 for the device itself. */
static uint64_t address_guid(uint32_t host, uint32_t device, uint32_t port, uint32_t index)
{
    return htobe64(address_host_bits(host) | (uint64_t)device << 52 | (uint64_t)port << 48 |
                   0x0200000000000000ull | (uint64_t)index << 58);
}

uint64_t shca_guid(uint32_t device)
{
    return address_guid(shca_fabric()->self, device, 0, 0);
}

static void address_gid(uint32_t host, uint32_t port, uint32_t index, union ibv_gid *gid)
{
    gid->global.subnet_prefix = htobe64(0xfe80000000000000ull);
    gid->global.interface_id =
        address_guid(host, shm_port_device(port), shm_port_number(port), index);
}

void shca_gid(uint32_t port, uint32_t index, union ibv_gid *gid)
{
    address_gid(shca_fabric()->self, port, index, gid);
}

/* Each port has 2^LMC LIDs, of the largest LMC; ports are consecutive from the first LID of the
 * host. */
static uint32_t address_lids_per_port(const struct shca_inventory *all)
{
    uint64_t lmc = 0;
    for (uint32_t d = 0; d < all->devices; d++)
        for (uint32_t p = 0; p < all->ports; p++)
            if (all->device[d].port[p].lmc > lmc) lmc = all->device[d].port[p].lmc;
    return 1u << lmc;
}

/* Each host has a block of LIDs of a power of two, so that a LID identifies its host. */
static uint32_t address_lid_block(void)
{
    const struct shca_inventory *all = shca_inventory();
    uint32_t block = 1;
    while (block < all->devices * all->ports * address_lids_per_port(all)) block *= 2;
    return block;
}

enum { UNICAST_LIDS = 0xc000 };

bool shca_lids_suffice(void)
{
    uint32_t hosts = shca_fabric()->names.n;
    if (hosts < UNICAST_LIDS / address_lid_block()) return true;
    shca_say("%u hosts with %u LIDs each are more than the %d LIDs there are", hosts,
             address_lid_block(), UNICAST_LIDS - 1);
    return false;
}

static uint32_t address_first_lid(uint32_t host)
{
    uint32_t block = address_lid_block();
    if (shca_fabric()->names.n > 0) return block * (1 + host);
    return block * (1 + address_host_hash() % (UNICAST_LIDS / block - 1));
}

static uint32_t address_lid(uint32_t host, uint32_t port)
{
    const struct shca_inventory *all = shca_inventory();
    uint32_t ordinal = shm_port_device(port) * all->ports + shm_port_number(port) - 1;
    return address_first_lid(host) + ordinal * address_lids_per_port(all);
}

/* The first LID of a port of this host. */
uint16_t shca_lid(uint32_t port)
{
    return address_lid(shca_fabric()->self, port);
}

static bool address_gid_leads_to(const union ibv_gid *gid, uint32_t host, uint32_t port)
{
    union ibv_gid its;
    for (uint32_t i = 0; i < shca_port_model(port)->gids; i++) {
        address_gid(host, port, i, &its);
        if (!memcmp(gid, &its, sizeof its)) return true;
    }
    return false;
}

static bool address_leads_to(const struct ibv_ah_attr *ah, uint32_t host, uint32_t port)
{
    uint32_t lid = address_lid(host, port);
    if (ah->is_global && address_gid_leads_to(&ah->grh.dgid, host, port)) return true;
    return ah->dlid >= lid && ah->dlid < lid + (1u << shca_port_model(port)->lmc);
}

static bool address_find_port(const struct ibv_ah_attr *ah, uint32_t host, uint32_t *port)
{
    const struct shca_inventory *all = shca_inventory();
    for (uint32_t d = 0; d < all->devices; d++)
        for (uint32_t n = 1; n <= all->ports; n++) {
            *port = shm_port(d, n);
            if (address_leads_to(ah, host, *port)) return true;
        }
    return false;
}

/* This host is searched first; else the GID or the LID names the host. */
struct shca_place shca_place_of(const struct ibv_ah_attr *ah)
{
    const struct shca_fabric *f = shca_fabric();
    uint32_t port, by_gid = be64toh(ah->grh.dgid.global.interface_id) & 0xffff;
    uint32_t by_lid = ah->dlid / address_lid_block() - 1, found = f->names.n;
    if (address_find_port(ah, f->self, &port)) return (struct shca_place){SHCA_HERE, port};
    if (ah->is_global && by_gid < f->names.n && address_find_port(ah, by_gid, &port))
        found = by_gid;
    else if (by_lid < f->names.n && address_find_port(ah, by_lid, &port))
        found = by_lid;
    if (found == f->names.n) return (struct shca_place){SHCA_NOWHERE, 0};
    return (struct shca_place){1 + (int)found, port};
}

/* The path fields that the receiver of a message to this address sees. */
struct shm_route shca_route(uint32_t from_port, const struct ibv_ah_attr *ah)
{
    uint32_t mask = (1u << shca_port_model(from_port)->lmc) - 1;
    return (struct shm_route){.slid = shca_lid(from_port) + (ah->src_path_bits & mask),
                              .sl = ah->sl,
                              .dlid_path_bits = ah->dlid & mask};
}
