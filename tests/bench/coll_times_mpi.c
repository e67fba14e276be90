/* coll_times_mpi.c - times of collectives of MPI; collectives.sh compiles it. */
#include <mpi.h>

#include "coll_times.h"

static char *src, *dst;

static void broadcast(int root, size_t n)
{
    MPI_Bcast(src, (int)n, MPI_BYTE, root, MPI_COMM_WORLD);
}
static void gather_all(int root, size_t n)
{
    (void)root;
    MPI_Allgather(src, (int)n, MPI_BYTE, dst, (int)n, MPI_BYTE, MPI_COMM_WORLD);
}
static void exchange(int root, size_t n)
{
    (void)root;
    MPI_Alltoall(src, (int)n, MPI_BYTE, dst, (int)n, MPI_BYTE, MPI_COMM_WORLD);
}
static void reduce(int root, size_t n)
{
    MPI_Reduce(src, dst, (int)(n / 8), MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD);
}
static void barrier(int root, size_t n)
{
    (void)root, (void)n;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void reduce_all(int root, size_t n)
{
    (void)root;
    MPI_Allreduce(src, dst, (int)(n / 8), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static const struct collective collectives[] = {
    {"broadcast", broadcast, LARGEST},
    {"reduce", reduce, LARGEST},
    {"reduce_all", reduce_all, LARGEST},
    {"gather_all", gather_all, LARGEST_BLOCK},
    {"exchange", exchange, LARGEST_BLOCK},
    {"barrier", barrier, 0},
    {NULL, NULL, 0},
};
static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    src = calloc((size_t)size, LARGEST);
    dst = calloc((size_t)size, LARGEST);
    if (src && dst) measure(collectives, rank, size);
    MPI_Finalize();
    return !src || !dst;
}
