/* ssh_placement.h - placement of the ranks: the host list of the environment, divided into slots.
 *
 * Called once by the launcher.  A slot is a block of ranks on one host, started directly (this
 * machine) or by a control process through a remote shell.
 */
#ifndef SSH_PLACEMENT_H
#define SSH_PLACEMENT_H

#include "other/launch/hosts.h"
#include "other/launch/ssh/ssh_launch.h"

struct ssh_placed_slot {
    const char *host;
    struct hosts_block block;
    bool remote;
};

struct ssh_placement {
    struct shell_words names;   /* owns the host names */
    struct shell_words options; /* of the remote shell */
    struct ssh_placed_slot *slots;
    uint32_t count;
    uint32_t *host_of;         /* [ranks] dense host numbers */
    const char **host_name_of; /* [ranks] */
    uint32_t degree;           /* remote shells that one process starts; 0: any number */
    uint32_t patience;         /* seconds for a control process to appear */
};

/* Returns false with a message. */
bool ssh_placement_make(struct ssh_placement *placement, const struct ssh_request *request);
void ssh_placement_free(struct ssh_placement *placement);

#endif
