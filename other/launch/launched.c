/* launched.c - the spawners of a program that a launcher starts. */
#include <stdlib.h>

#include "other/launch/spawner_ops.h"

static const struct spawner_ops *ssh_load(char *why, size_t why_size)
{
    return &spawner_ssh;
}

/* In order of preference.  pmix starts faster than mpi and leaves no MPI in the process; a program
 * that uses MPI itself must be started and ended by MPI. */
size_t spawner_list_candidates(struct spawner_candidate *list)
{
    const struct spawner_candidate pmix = {"pmix", spawner_pmix_sign(),
                                           "PMIX_NAMESPACE, PMIX_RANK, PMIX_SERVER_URI*",
                                           spawner_pmix_load};
    const struct spawner_candidate mpi = {"mpi", spawner_mpi_sign(),
                                          "OMPI_COMM_WORLD_SIZE, PMI_RANK, PMIX_NAMESPACE",
                                          spawner_mpi_load};
    const bool mpi_first = spawner_prefers_mpi();
    list[0] = (struct spawner_candidate){"ssh", getenv(SPAWNER_CONTROL), SPAWNER_CONTROL, ssh_load};
    list[1] = mpi_first ? mpi : pmix;
    list[2] = mpi_first ? pmix : mpi;
    return 3;
}
