/* address.c - LIDs, GUIDs and GIDs: their assignment and resolution.
 *
 * With a list of hosts, addresses follow from the list and the host's index in it, so that every
 * process of the fabric can compute all of them. Without one, they follow from the host's name and
 * boot id, so that all processes of the host agree. Addresses are resolved when a queue pair is
 * connected and when an address handle is created, not on the data path.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "other/base/fnv.h"
#include "other/softhca/src/device/device.h"
#include "other/softhca/src/settings/fabric.h"
#include "other/softhca/src/settings/say.h"

/* Reads the boot id: 0 or an errno value. *LENGTH is 0 where the host has no boot id. */
static int address_read_boot_id(char *text, size_t room, size_t *length)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC), error;
    ssize_t n;
    *length = 0;
    if (fd < 0) return errno == ENOENT || errno == EACCES || errno == EPERM ? 0 : errno;
    while ((n = read(fd, text + *length, room - *length)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) *length += (size_t)n;
    error = n < 0 ? errno : 0;
    close(fd);
    return error;
}

/* A process that computed another hash would seem to be on another host: 0 or an errno value. */
static int address_find_host_hash(uint64_t *hash)
{
    static _Atomic uint64_t known;
    char name[256] = "", id[256];
    size_t length;
    if ((*hash = known)) return 0;
    if (gethostname(name, sizeof name - 1) < 0) return errno;
    int error = address_read_boot_id(id, sizeof id, &length);
    *hash = gasneti_fnv(gasneti_fnv(GASNETI_FNV_START, name, strlen(name)), id, length) | 1;
    if (!error) known = *hash;
    return error;
}

static uint64_t address_host_hash(void)
{
    uint64_t hash = 0;
    address_find_host_hash(&hash);
    return hash;
}

int shca_host_is_known(void)
{
    uint64_t hash;
    int error = address_find_host_hash(&hash);
    if (error) shca_say("cannot read the name and the boot id of this host: %s", strerror(error));
    return error;
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

static bool address_is_ethernet(uint32_t port)
{
    return shca_port_model(port)->link == IBV_LINK_LAYER_ETHERNET;
}

/* The last 16 bits are those of the host in each. */
static void address_gid(uint32_t host, uint32_t port, uint32_t index, union ibv_gid *gid)
{
    const struct shca_gid_model *m = &shca_port_model(port)->gid[index];
    const uint32_t device = shm_port_device(port), number = shm_port_number(port);
    *gid = (union ibv_gid){.raw = {0}};
    switch (m->family) {
    case SHCA_GID_LOCAL: /* fe80:: */
        gid->global.subnet_prefix = htobe64(0xfe80000000000000ull);
        gid->global.interface_id = address_guid(host, device, number, m->ordinal);
        break;
    case SHCA_GID_IPV6: /* 2001:db8:: is for examples */
        gid->global.subnet_prefix = htobe64(0x20010db800000000ull);
        gid->global.interface_id = address_guid(host, device, number, m->ordinal);
        break;
    case SHCA_GID_IPV4: /* ::ffff:10.0.0.0, for private networks */
        gid->global.interface_id =
            htobe64(0xffff0a000000ull + ((uint64_t)m->ordinal << 24) + (device << 20) +
                    (number << 16) + (address_host_bits(host) & 0xffff));
        break;
    default:
        break;
    }
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

/* The first LID of a port of this host; 0 on Ethernet. */
uint16_t shca_lid(uint32_t port)
{
    return address_is_ethernet(port) ? 0 : address_lid(shca_fabric()->self, port);
}

/* The entry of a port's table that has this GID, and this type unless it is ANY_TYPE. */
enum { ANY_TYPE = -1 };
static const struct shca_gid_model *address_find_gid(const union ibv_gid *gid, int type,
                                                     uint32_t host, uint32_t port)
{
    union ibv_gid its;
    const struct shca_port_model *m = shca_port_model(port);
    for (uint32_t i = 0; i < m->gids; i++) {
        if (m->gid[i].family == SHCA_GID_NONE) continue;
        if (type != ANY_TYPE && m->gid[i].type != type) continue;
        address_gid(host, port, i, &its);
        if (!memcmp(gid, &its, sizeof its)) return &m->gid[i];
    }
    return NULL;
}

/* Packets of Ethernet have the type of the sender's GID, and are lost where the port has no GID of
 * that type. */
static bool address_leads_to(uint32_t from, const struct ibv_ah_attr *ah, int any_type,
                             uint32_t host, uint32_t port)
{
    const struct shca_port_model *its = shca_port_model(port), *mine = shca_port_model(from);
    if (its->link != mine->link) return false;
    if (address_is_ethernet(port))
        return address_find_gid(
            &ah->grh.dgid, any_type ? ANY_TYPE : mine->gid[ah->grh.sgid_index].type, host, port);
    uint32_t lid = address_lid(host, port);
    if (ah->is_global && address_find_gid(&ah->grh.dgid, ANY_TYPE, host, port)) return true;
    return ah->dlid >= lid && ah->dlid < lid + (1u << its->lmc);
}

static bool address_find_port(uint32_t from, const struct ibv_ah_attr *ah, bool any_type,
                              uint32_t host, uint32_t *port)
{
    const struct shca_inventory *all = shca_inventory();
    for (uint32_t d = 0; d < all->devices; d++)
        for (uint32_t n = 1; n <= all->ports; n++) {
            *port = shm_port(d, n);
            if (address_leads_to(from, ah, any_type, host, *port)) return true;
        }
    return false;
}

/* The port that has the address: of this host, or of the host that the GID or the LID names. */
static struct shca_destination address_find(uint32_t from, const struct ibv_ah_attr *ah,
                                            bool any_type)
{
    const struct shca_fabric *f = shca_fabric();
    uint32_t port, by_gid = be64toh(ah->grh.dgid.global.interface_id) & 0xffff;
    uint32_t by_lid = ah->dlid / address_lid_block() - 1, found = f->names.n;
    if (address_find_port(from, ah, any_type, f->self, &port))
        return (struct shca_destination){SHCA_HERE, port};
    if (ah->is_global && by_gid < f->names.n &&
        address_find_port(from, ah, any_type, by_gid, &port))
        found = by_gid;
    else if (by_lid < f->names.n && address_find_port(from, ah, any_type, by_lid, &port))
        found = by_lid;
    if (found == f->names.n) return (struct shca_destination){SHCA_NOWHERE, 0};
    return (struct shca_destination){1 + (int)found, port};
}

struct shca_destination shca_destination_of(uint32_t from_port, const struct ibv_ah_attr *ah)
{
    return address_find(from_port, ah, false);
}

static enum shca_family address_family(const union ibv_gid *gid)
{
    if (gid->global.subnet_prefix == 0 && be64toh(gid->global.interface_id) >> 32 == 0xffff)
        return SHCA_GID_IPV4;
    return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80 ? SHCA_GID_LOCAL : SHCA_GID_IPV6;
}

/* Resolves an address of RoCE as the kernel does: a link-local address of version 1 has the peer's
 * Ethernet address in it, and for any other the peer's host must answer. */
static int address_resolve(uint32_t from, const struct ibv_ah_attr *ah)
{
    const struct shca_gid_model *mine = &shca_port_model(from)->gid[ah->grh.sgid_index], *its;
    const union ibv_gid *to = &ah->grh.dgid;
    const enum shca_family family = address_family(to);
    if (to->raw[0] == 0xff) return 0; /* a multicast group */
    if (mine->type == IBV_GID_TYPE_ROCE_V1 && family == SHCA_GID_LOCAL) return 0;
    if ((mine->family == SHCA_GID_IPV4) != (family == SHCA_GID_IPV4)) return EINVAL;
    if (mine->unreachable) return ENETUNREACH;
    const struct shca_destination destination = address_find(from, ah, true);
    if (destination.host == SHCA_NOWHERE) return EHOSTUNREACH;
    const struct shca_fabric *f = shca_fabric();
    const uint32_t host = destination.host == SHCA_HERE ? f->self : (uint32_t)destination.host - 1;
    its = address_find_gid(to, ANY_TYPE, host, destination.port);
    return !its || its->unreachable ? EHOSTUNREACH : 0;
}

int shca_address_error(uint32_t from_port, const struct ibv_ah_attr *ah)
{
    const struct shca_port_model *m = shca_port_model(from_port);
    if (ah->is_global && ah->grh.sgid_index >= m->gids) return EINVAL;
    if (!address_is_ethernet(from_port)) return 0;
    if (!ah->is_global || m->gid[ah->grh.sgid_index].family == SHCA_GID_NONE) return EINVAL;
    return address_resolve(from_port, ah);
}

/* The path fields that the receiver of a message to this address sees. */
struct shm_route shca_route(uint32_t from_port, const struct ibv_ah_attr *ah)
{
    uint32_t mask = (1u << shca_port_model(from_port)->lmc) - 1;
    return (struct shm_route){.slid = shca_lid(from_port) + (ah->src_path_bits & mask),
                              .sl = ah->sl,
                              .dlid_path_bits = ah->dlid & mask};
}
