/* launch.h - a rank's place in its job, from the environment that a launcher made.  Pure but for
 * getenv and one line on stderr.
 *
 * PTL_MY_RID is the rank, PTL_NIDMAP and PTL_PIDMAP list the processes between colons, PTL_MY_JID
 * is the job.  A nid is a number or an IPv4 address.  tests/unit/portals_parts.c.
 */
#ifndef PTLI_LAUNCH_H
#define PTLI_LAUNCH_H

#include "other/portals3/transport/transport.h"

/* Reads a list of numbers, or dotted addresses, between colons into allocated memory.  Their
 * number; -1: `text` is no such list, or no memory, and *values is NULL. */
int ptli_launch_list(const char *text, uint32_t **values);

/* Fills `launch` from the environment, as far as that tells; the arrays are the caller's to free.
 */
void ptli_launch_environment(ptl_nid_t **nids, ptl_pid_t **pids, struct ptli_launch *launch);

#endif
