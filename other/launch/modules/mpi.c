/* mpi.c - the mpi spawner: a module loaded when an MPI launcher started the program.
 *
 * Called through SPAWNER_SYMBOL by bootstrap.c.  MPI is used inside these calls only, on a
 * duplicate communicator, and is finalised only if it was initialised here.
 */
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "other/launch/modules/module.h"
#include "other/launch/spawner_ops.h"

extern const struct spawner_ops SPAWNER_SYMBOL;

static MPI_Comm comm = MPI_COMM_NULL;
static int rank, size;
static bool ours; /* MPI was initialised here */
static bootstrap_meanwhile_fn meanwhile_fn;

static void mpi_check(int error, const char *call)
{
    if (error == MPI_SUCCESS) return;
    fprintf(stderr, "bootstrap: rank %d: %s failed with MPI error %d; ending the job\n", rank, call,
            error);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

/* --- joining --- */

/* Keeps MPI off the library's software verbs device, which it would take for hardware: start-up
 * data go over shared memory and TCP.  The user's own settings stay. */
static void mpi_set_defaults(void)
{
    static const char *const settings[][2] = {
        {"OMPI_MCA_pml", "ob1"},
        {"OMPI_MCA_btl", "self,vader,tcp"},
        {"OMPI_MCA_osc", "^ucx,rdma"},
        {"OMPI_MCA_coll", "^hcoll,ucc"},
        {"OMPI_MCA_btl_base_warn_component_unused", "0"},
        {"OMPI_MCA_mpi_warn_on_fork", "0"},
        {"UCX_TLS", "self,sm,tcp"}, /* MPICH, with either of its network layers */
        {"FI_PROVIDER", "tcp"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i][0], settings[i][1], 0);
}

/* The thread level of that name, or -1 if no level has it. */
static int mpi_level_named(const char *name)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"SINGLE", MPI_THREAD_SINGLE},
                  {"FUNNELED", MPI_THREAD_FUNNELED},
                  {"SERIALIZED", MPI_THREAD_SERIALIZED},
                  {"MULTIPLE", MPI_THREAD_MULTIPLE}};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcasecmp(name, levels[i].name) == 0) return levels[i].level;
    return -1;
}

/* By default any thread may abort, and this module serialises the calls. */
static int mpi_thread_level(void)
{
    const char *want = getenv("GASNET_MPI_THREAD");
    const int level = want ? mpi_level_named(want) : -1;
    return level < 0 ? MPI_THREAD_SERIALIZED : level;
}

static void mpi_report_thread_level(int provided)
{
    const char *want = getenv("GASNET_MPI_THREAD");
    if (!want || !*want) return;
    if (mpi_level_named(want) < 0)
        fprintf(stderr,
                "bootstrap: warning: GASNET_MPI_THREAD=%s is no thread level: SINGLE, FUNNELED, "
                "SERIALIZED or MULTIPLE; SERIALIZED is used\n",
                want);
    else if (provided < mpi_thread_level())
        fprintf(stderr, "bootstrap: warning: this MPI provides less than GASNET_MPI_THREAD=%s\n",
                want);
}

/* Hides the software device while MPI initialises, unless the user chose MPI's transports. */
static bool mpi_start(int *argc, char ***argv, int *provided)
{
    static const char hidden[] = SPAWNER_PRIVATE_PREFIX "HIDDEN_DEVICE";
    bool free_choice = !getenv("UCX_TLS") && !getenv("FI_PROVIDER") && !getenv("OMPI_MCA_pml") &&
                       !getenv("OMPI_MCA_btl");
    if (free_choice) setenv(hidden, "1", 1);
    mpi_set_defaults();
    int error = MPI_Init_thread(argc, argv, mpi_thread_level(), provided);
    unsetenv(hidden);
    return error == MPI_SUCCESS;
}

/* An MPI that did not start this process takes each process for a job of its own. */
static bool mpi_launcher_agrees(char *why, size_t why_size)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (!text || atoi(text) == size) continue;
        snprintf(why, why_size,
                 "spawner mpi: the launcher started %s processes (%s), but the MPI of this module "
                 "knows of %d: use the launcher of the MPI that the library was built with",
                 text, names[i], size);
        return false;
    }
    return true;
}

/* Ranks that can share memory are on one host, numbered by the lowest rank. */
static bool mpi_map_hosts(struct bootstrap_job *job)
{
    MPI_Comm local;
    int lowest = rank, local_size;
    mpi_check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local),
              "MPI_Comm_split_type");
    MPI_Comm_size(local, &local_size);
    mpi_check(MPI_Bcast(&lowest, 1, MPI_INT, 0, local), "MPI_Bcast");
    MPI_Comm_free(&local);

    int *first = malloc((size_t)size * sizeof *first);
    uint32_t *host_of = malloc((size_t)size * sizeof *host_of), next = 0;
    if (!first || !host_of) return false;
    mpi_check(MPI_Allgather(&lowest, 1, MPI_INT, first, 1, MPI_INT, comm), "MPI_Allgather");
    for (int r = 0; r < size; r++) host_of[r] = first[r] == r ? next++ : host_of[first[r]];
    free(first);
    *job = (struct bootstrap_job){.rank = (uint32_t)rank,
                                  .size = (uint32_t)size,
                                  .host = host_of[rank],
                                  .host_size = (uint32_t)local_size,
                                  .host_of = host_of};
    return true;
}

static enum bootstrap_status mpi_init(int *argc, char ***argv, struct bootstrap_job *job,
                                      struct spawner_console *console, char *why, size_t why_size)
{
    int up = 0, provided;
    MPI_Initialized(&up);
    if (!up) {
        if (!mpi_start(argc, argv, &provided)) {
            snprintf(why, why_size, "spawner mpi: MPI_Init_thread failed");
            return BOOTSTRAP_FAILED;
        }
        ours = true;
    } else {
        MPI_Query_thread(&provided);
    }
    if (MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS) {
        snprintf(why, why_size, "spawner mpi: MPI_Comm_dup failed");
        return BOOTSTRAP_FAILED;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0) mpi_report_thread_level(provided);
    if (!mpi_launcher_agrees(why, why_size)) {
        if (ours) MPI_Finalize();
        return BOOTSTRAP_FAILED;
    }
    if (!mpi_map_hosts(job)) {
        snprintf(why, why_size, "spawner mpi: rank %d: out of memory", rank);
        return BOOTSTRAP_FAILED;
    }
    module_answer_start((uint32_t)rank, (uint32_t)size);
    module_watch_start(); /* Open MPI reports only inside a call */
    return BOOTSTRAP_OK;
}

/* --- collective calls --- */

/* MPI counts in int; a type of one block's size allows blocks of any length. */
static MPI_Datatype mpi_block_type(size_t len)
{
    MPI_Datatype type;
    if (len > INT_MAX) mpi_check(MPI_ERR_COUNT, "a block of more than 2 GiB");
    mpi_check(MPI_Type_contiguous((int)len, MPI_BYTE, &type), "MPI_Type_contiguous");
    mpi_check(MPI_Type_commit(&type), "MPI_Type_commit");
    return type;
}

/* MPI makes progress inside its calls only. */
static void mpi_await(MPI_Request *request)
{
    int done = 0;
    while (meanwhile_fn) {
        meanwhile_fn();
        mpi_check(MPI_Test(request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done) return;
        sched_yield();
    }
    mpi_check(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait");
}

static void mpi_barrier(void)
{
    MPI_Request request;
    mpi_check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
    mpi_await(&request);
}

static void mpi_exchange(const void *mine, size_t len, void *all)
{
    if (!len) {
        mpi_barrier();
        return;
    }
    MPI_Request request;
    MPI_Datatype type = mpi_block_type(len);
    mpi_check(MPI_Iallgather(mine, 1, type, all, 1, type, comm, &request), "MPI_Iallgather");
    mpi_await(&request);
    MPI_Type_free(&type);
}

static void mpi_alltoall(const void *mine, size_t len, void *all)
{
    if (!len) {
        mpi_barrier();
        return;
    }
    MPI_Request request;
    MPI_Datatype type = mpi_block_type(len);
    mpi_check(MPI_Ialltoall(mine, 1, type, all, 1, type, comm, &request), "MPI_Ialltoall");
    mpi_await(&request);
    MPI_Type_free(&type);
}

static void mpi_broadcast(void *data, size_t len, uint32_t root)
{
    if (len > INT_MAX) mpi_check(MPI_ERR_COUNT, "a broadcast of more than 2 GiB");
    MPI_Request request;
    mpi_check(MPI_Ibcast(data, (int)len, MPI_BYTE, (int)root, comm, &request), "MPI_Ibcast");
    mpi_await(&request);
}

static void mpi_meanwhile(bootstrap_meanwhile_fn meanwhile)
{
    meanwhile_fn = meanwhile;
}

/* --- leaving --- */

static void mpi_fini(int exitcode)
{
    int done = 0;
    MPI_Finalized(&done);
    if (done) return;
    MPI_Comm_free(&comm);
    if (ours) MPI_Finalize();
}

static void mpi_end(int exitcode)
{
    int done = 0;
    MPI_Finalized(&done);
    if (!done) MPI_Abort(MPI_COMM_WORLD, exitcode);
    _exit(exitcode);
}

static void mpi_abort(int exitcode) __attribute__((noreturn));
static void mpi_abort(int exitcode)
{
    module_watch_abort(mpi_end, exitcode & 0xff);
}

__attribute__((visibility("default"))) const struct spawner_ops SPAWNER_SYMBOL = {
    .abi = SPAWNER_ABI,
    .name = "mpi",
    .init = mpi_init,
    .barrier = mpi_barrier,
    .exchange = mpi_exchange,
    .alltoall = mpi_alltoall,
    .broadcast = mpi_broadcast,
    .meanwhile = mpi_meanwhile,
    .watch = module_watch_arm,
    .answer = module_answer,
    .fini = mpi_fini,
    .abort = mpi_abort,
};
