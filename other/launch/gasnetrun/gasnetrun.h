/* gasnetrun.h - what the launcher's main file calls: it finds the program to run, and hands over to
 * another launcher, or to the program that examines hosts.
 */
#ifndef GASNETRUN_H
#define GASNETRUN_H

#include <stdbool.h>
#include <stddef.h>

#include "other/launch/gasnetrun/options.h"

/* program.c.  The path of the program `word`: that file if the word has a slash or the file is
 * executable in the current directory, else found in PATH.  To be freed.  NULL: `why` is one line.
 */
char *program_find(const char *word, char *why, size_t why_size);

/* program.c.  The first of `words` that is an executable file which contains `ident`, or NULL. */
const char *program_with_ident(char *const *words, const char *ident);

/* doctor.c: executes the program that examines the hosts on which jobs would run; returns, with the
 * exit status, only on failure. */
int doctor_exec(const struct options *options);

/* 1: jobs of this conduit run on one machine, and no other launcher starts them. */
#ifndef GASNETRUN_HERE_ALONE
#define GASNETRUN_HERE_ALONE 0
#endif

/* Whether a module of the mpi spawner, and the module of pmix, were built; defined by the build. */
#ifndef MPIRUN_BUILT
#define MPIRUN_BUILT 0
#endif
#ifndef PMIX_BUILT
#define PMIX_BUILT 0
#endif

/* mpirun.c: starts the job by a launcher of MPI or PMIx: builds its command line and executes it.
 * `spawner` is mpi or pmix.  Returns, with the exit status, only on failure or in a dry run. */
int mpirun_exec(const struct options *options, const char *spawner, const char *path);

#endif
