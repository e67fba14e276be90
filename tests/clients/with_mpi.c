/* with_mpi.c - gasnet.h and <mpi.h>, in either order. */
#ifdef MPI_FIRST
#include <mpi.h>
#endif
#include "gasnet.h"
#ifndef MPI_FIRST
#include <mpi.h>
#endif

int version(void);
int version(void)
{
    return PLATFORM_COMPILER_VERSION_GE(1, 0, 0) + (int)sizeof(PLATFORM_COMPILER_IDSTR);
}
