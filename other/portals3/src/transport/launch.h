/* launch.h - rank, job and map of ranks from the environment that a launcher set.  Pure except for
 * getenv and one line on stderr.
 *
 * PTL_MY_RID is the rank; PTL_NIDMAP and PTL_PIDMAP list the processes, separated by colons;
 * PTL_MY_JID is the job.  A nid is a number or an IPv4 address.
 */
#ifndef PTLI_LAUNCH_H
#define PTLI_LAUNCH_H

#include "other/portals3/src/transport/transport.h"

/* Parses a colon-separated list of numbers or dotted addresses into allocated memory.  Returns
 * their number, or -1 with *values NULL if `text` is no such list or memory is out.  */
int ptli_launch_list(const char *text, uint32_t **values);

/* Fills `launch` from the variables that are set; the caller frees the arrays.  */
void ptli_launch_environment(ptl_nid_t **nids, ptl_pid_t **pids, struct ptli_launch *launch);

#endif
