/* inventory.h - the devices and ports and their attributes, as set by SOFTHCA_DEVICES.
 *
 *     SOFTHCA_DEVICES = [COUNT] {; [SCOPE:] NAME=VALUE {, NAME=VALUE}}
 *     COUNT = devices, or devices x ports        SCOPE = softhcaN, or softhcaN/PORT, or none: all
 *
 * Names are those of the fields of ibv_device_attr, ibv_port_attr and ibv_qp_cap, and a few
 * others; inventory.c has the table. A later clause overrules an earlier one. Pure.
 */
#ifndef SOFTHCA_INVENTORY_H
#define SOFTHCA_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "other/softhca/src/settings/span.h"

enum { SHCA_DEVICES = 16, SHCA_PORTS = 8, SHCA_PKEYS = 16, SHCA_GIDS = 16, SHCA_FW_VER = 64 };

/* Objects of which a device has a limited number. */
enum shca_kind {
    SHCA_PD,
    SHCA_MR,
    SHCA_CQ,
    SHCA_QP,
    SHCA_SRQ,
    SHCA_KINDS,
    /* not limited, but an injected fault may refuse them */
    SHCA_AH = SHCA_KINDS,
    SHCA_RTR,
    SHCA_RTS,
    SHCA_PEER_MAP
};

/* An entry of a GID table (gid_list.c). */
enum shca_family { SHCA_GID_LOCAL, SHCA_GID_IPV6, SHCA_GID_IPV4, SHCA_GID_NONE };
struct shca_gid_model {
    uint8_t type;     /* enum ibv_gid_type */
    uint8_t family;   /* enum shca_family */
    uint8_t ordinal;  /* among the entries of this type and family */
    bool unreachable; /* no host answers for the address, nor may it be used as a source */
};

struct shca_port_model {
    uint64_t state, active_mtu, lmc, width, speed, link, max_msg_sz;
    uint64_t gids; /* 0 while parsing: not set */
    bool gids_listed;
    struct shca_gid_model gid[SHCA_GIDS];
    uint32_t pkeys;
    uint16_t pkey[SHCA_PKEYS];
};

struct shca_device_model {
    uint64_t max_qp, max_cq, max_mr, max_pd, max_cqe, max_qp_wr, max_sge, max_sge_rd, max_mr_size;
    uint64_t max_srq, max_srq_wr, max_srq_sge;
    uint64_t max_inline_data, max_qp_rd_atom, max_qp_init_rd_atom;
    uint64_t vendor_id, vendor_part_id, hw_ver, transport, atomic_cap;
    char fw_ver[SHCA_FW_VER];
    struct shca_port_model port[SHCA_PORTS];
};

struct shca_inventory {
    uint32_t devices, ports; /* ports of each device */
    struct shca_device_model device[SHCA_DEVICES];
};

/* TEXT may be NULL: one device with one port. False: *INVENTORY is not valid and WHY holds one
 * line. */
bool shca_inventory_parse(const char *text, struct shca_inventory *inventory, char *why,
                          size_t room);
bool shca_inventory_check(const char *text, char *why, size_t room);
/* gid_list.c: parses a list of GIDs such as v1-local+v2-ipv4; false if VALUE is not such a list. */
bool shca_gid_list_parse(struct shca_span value, struct shca_port_model *m);
/* Writes the words that a list of GIDs may have, separated by commas. */
void shca_gid_list_words(char *list, size_t room);
/* Completes the GIDs of a port, once all its attributes are known; false if they are not of its
 * link layer. */
bool shca_gid_list_finish(struct shca_port_model *m);

/* Prints the names with their values and defaults. */
void shca_inventory_print(FILE *to);

#endif
