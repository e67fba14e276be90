/* address.c - where an address leads: which host has this LID or GID.
 *
 * Called when a queue pair is connected and when an address handle is made, never later.
 */
#include "object.h"

#include <string.h>

/* One port on one host: only our own address leads anywhere. */
int shca_host_of(const struct ibv_ah_attr *ah)
{
    union ibv_gid gid;
    shca_query_gid(1, 0, &gid);
    if (ah->is_global && memcmp(&ah->grh.dgid, &gid, sizeof gid) == 0) return SHCA_HERE;
    return ah->dlid == shca_lid() ? SHCA_HERE : SHCA_NOWHERE;
}
