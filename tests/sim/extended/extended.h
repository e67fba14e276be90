/* extended.h - the real Extended API for each node of a simulated job (job.h): collectives, teams,
 * barriers, puts and gets.
 *
 * The variables of all files of extended-ref are exchanged when another node goes on: the linker
 * puts them into one section (own.ld), so that none can be forgotten and the library need not know.
 * Their memory belongs to the schedule.
 */
#ifndef SIM_EXTENDED_H
#define SIM_EXTENDED_H

#include "gasnet_coll.h"
#include "tests/sim/job.h"

/* After sim_job_begin: every node is as if its process had just begun. */
void sim_extended_begin(void);

/* The first call of each script. */
void sim_extended_attach(void);

#endif
