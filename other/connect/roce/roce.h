/* roce.h - which GIDs and P_Keys of a port are used: classes, choice, and words for messages.
 *
 * Pure; used by core/ib, libportals and tests.  table.h reads the GIDs of a device.
 *
 * The GID table of an Ethernet port (RoCE) has one entry for each address of each network interface
 * over the port, and for each version of RoCE.  Two ports communicate by GIDs of the same class.
 * So each process offers its peers the first GID of each class, and both ends use the first class
 * that they have in common.  InfiniBand ports have one class.
 */
#ifndef OTHER_ROCE_H
#define OTHER_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of a table entry, with the numbers of libibverbs. */
enum roce_type { ROCE_IB, ROCE_V1, ROCE_V2 };

typedef struct roce_entry {
    uint8_t gid[16];
    uint32_t at;        /* index of the entry in the port's GID table */
    uint32_t type;      /* enum roce_type */
    char interface[16]; /* the network interface; "" if not known */
} roce_entry_t;

/* In order of preference. InfiniBand's GIDs are of the last: old kernels do not distinguish them
 * from those of RoCE v1. */
enum roce_class { ROCE_V2_IPV4, ROCE_V2_IPV6, ROCE_V2_LOCAL, ROCE_V1_OR_IB, ROCE_CLASSES };

/* Sent to peers: the GIDs by which a port can be reached, and the P_Key of its packets. */
typedef struct roce_offer {
    uint8_t ethernet; /* the port is one of Ethernet */
    uint8_t classes;  /* 1 << class, of those that `gid` has */
    uint16_t pkey;    /* 0: not known */
    uint8_t gid[ROCE_CLASSES][16];
} roce_offer_t;

/* A port's own GIDs: those that it offers, and where they are in its table. */
typedef struct roce_port {
    roce_offer_t offer;
    uint8_t at[ROCE_CLASSES];
    char interface[ROCE_CLASSES][16];
} roce_port_t;

enum { ROCE_AUTO = -1, ROCE_MOST_INDEX = 255, ROCE_MOST_PKEYS = 256 };

/* Chooses a port's GIDs among the `count` entries of its table, which may be in any order; entries
 * that are zero count as absent.  `wanted` is the index of the only one to use, or ROCE_AUTO: of
 * InfiniBand index 0, of Ethernet the first of each class.  False if that leaves none. */
bool roce_choose(const roce_entry_t *table, size_t count, bool ethernet, int wanted,
                 roce_port_t *port);

/* The class by which two ports communicate, or -1. */
int roce_common(const roce_offer_t *mine, const roce_offer_t *theirs);

/* Whether a port takes packets with the other's P_Key: both are of one partition, and one at least
 * is a full member (bit 15).  True where a P_Key is not known. */
bool roce_one_partition(const roce_offer_t *mine, const roce_offer_t *theirs);

/* --- words; each returns `text` --- */

enum { ROCE_GID_TEXT = 48, ROCE_TEXT = 512 };

/* fe80::1 or ::ffff:10.0.0.1. */
char *roce_gid_text(const uint8_t gid[16], char text[ROCE_GID_TEXT]);

/* Of an own GID: "GID 3 ::ffff:10.0.0.1 (RoCE v2, eth0)". */
char *roce_own_text(const roce_port_t *port, int kind, char *text, size_t size);

/* Of a peer's: "GID ::ffff:10.0.0.2 (RoCE v2)". */
char *roce_peer_text(const roce_offer_t *offer, int kind, char *text, size_t size);

/* All GIDs of an offer: "::ffff:10.0.0.2 (RoCE v2), fe80::2 (RoCE v1)"; "none". */
char *roce_offer_text(const roce_offer_t *offer, char *text, size_t size);

/* The table: "0 fe80::1 (RoCE v1, eth0), 1 ...", as much of it as there is room for; "empty". */
char *roce_table_text(const roce_entry_t *table, size_t count, bool ethernet, char *text,
                      size_t size);

/* The reason why a port cannot be used, and advice; start-up, libportals and gasnetrun --doctor
 * print these words. */
typedef struct roce_fault {
    const char *text, *remedy;
} roce_fault_t;

/* NULL: the port can be used.  `addressed`: by what roce_choose said, or by its LID. */
const roce_fault_t *roce_port_fault(bool active, bool ethernet, bool addressed);

/* The P_Key at index `wanted` of a port's table. 0 if the index has no key (one whose lower 15 bits
 * are 0); then `text` gets the indices that have one: "0 0xffff, 3 0x8001"; "none". */
uint16_t roce_pkey(const uint16_t *table, size_t count, uint32_t wanted, char *text, size_t size);

/* The reason why roce_one_partition is false: "its P_Key is 0x8002, the one here 0x8001". */
char *roce_partition_text(const roce_offer_t *mine, const roce_offer_t *theirs, char *text,
                          size_t size);

/* Advice when the class's address of a peer cannot be reached: "check that `ping -I eth0 10.0.0.2`
 * succeeds on this host". */
char *roce_ping_text(const roce_port_t *port, const roce_offer_t *peer, int kind, char *text,
                     size_t size);

#endif
