/* mpi_trap.h - makes calls of MPI deadly (armed) or possible again. */
#ifndef MPI_TRAP_H
#define MPI_TRAP_H

/* Number of MPI libraries in this process; -1: it cannot be done. */
int mpi_trap(int armed);

#endif
