/* table.h - reads the tables of a device's port over libibverbs: GIDs, with types and interfaces,
 * and P_Keys. Used by ibv-conduit's shim, libvapi and libportals.
 */
#ifndef OTHER_ROCE_TABLE_H
#define OTHER_ROCE_TABLE_H

#include <infiniband/verbs.h>

#include "other/connect/roce/roce.h"

enum { ROCE_MOST_ENTRIES = 256 };

/* Reads the entries that are not empty, in the order of the table; returns how many, at most
 * `most`.  The types come from the verbs, else from sysfs; where neither has them, as in kernels
 * before 4.5, all entries are of RoCE v1 or InfiniBand. */
size_t roce_read_table(struct ibv_context *context, uint8_t port, roce_entry_t *table, size_t most);

/* Reads the entries that are not empty from ibv_query_gid and from the files of sysfs below `root`,
 * which is /sys/class/infiniband. */
size_t roce_read_sysfs(struct ibv_context *context, const char *root, uint8_t port,
                       roce_entry_t *table, size_t most);

/* Reads the P_Key table, in which 0 is no key; returns its length, at most `most`. */
size_t roce_read_pkeys(struct ibv_context *context, uint8_t port, uint16_t *table, size_t most);

#endif
