/* mpirun.h - starts the job by a launcher of MPI or PMIx: builds its command line and executes it.
 */
#ifndef MPIRUN_H
#define MPIRUN_H

#include "other/launch/gasnetrun/options.h"

/* Whether a module of the mpi spawner, and the module of pmix, were built; defined by the build. */
#ifndef MPIRUN_BUILT
#define MPIRUN_BUILT 0
#endif
#ifndef PMIX_BUILT
#define PMIX_BUILT 0
#endif

/* `spawner` is mpi or pmix.  Returns, with the exit status, only on failure or in a dry run. */
int mpirun_exec(const struct options *options, const char *spawner, const char *path);

#endif
