/* mpirun.h - starts the job by an MPI launcher: builds its command line and becomes it. */
#ifndef MPIRUN_H
#define MPIRUN_H

#include "other/contrib/gasnetrun/options.h"

/* Whether the mpi spawner's module was built; set by the build. */
#ifndef MPIRUN_BUILT
#define MPIRUN_BUILT 0
#endif

/* Returns only on failure or in a dry run; the exit status. */
int mpirun_exec(const struct options *options, const char *path);

#endif
