/* softhca_hosts.h - tells the software device which hosts a job spans. */
#ifndef SOFTHCA_HOSTS_FOR_JOB_H
#define SOFTHCA_HOSTS_FOR_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct ssh_place;

/* For a job on `count` > 1 hosts: sets SOFTHCA_HOSTS and, if it is not set, a SOFTHCA_SECRET that
 * lasts as long as the job.  Leaves a SOFTHCA_HOSTS of the user's alone.  False: has said why. */
bool softhca_hosts_export(const struct ssh_place *hosts, uint32_t count);

#endif
