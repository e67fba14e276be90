/* mpi_load.c - finds and loads the mpi spawner's module, when an MPI launcher started us.
 *
 * Called by bootstrap_init.  Programs link without MPI; only those that mpirun starts load it.
 */
#define _GNU_SOURCE
#include "other/spawner/spawner_ops.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *spawner_mpi_sign(void)
{
    static const char *const signs[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK",  "PMI_RANK", "PMI_ID",
                                        "MPI_LOCALNRANKS",      "MPIRUN_RANK"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (getenv(signs[i])) return signs[i];
    /* An MPI program that has MPI up already, however that came about. */
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int flag = 0;
    return initialized && initialized(&flag) == 0 && flag ? "MPI_Initialized" : NULL;
}

/* Global, so that the plug-ins which an MPI loads by itself find its symbols. */
static void *load(const char *dir, const char *below, char *why, size_t why_size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s/%s", dir, below, SPAWNER_MPI_MODULE);
    if (access(path, F_OK) != 0) return NULL;
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!module) snprintf(why, why_size, "its module does not load: %s", dlerror());
    return module;
}

/* Beside the library (or the program, when linked statically) that holds this very function. */
static void *load_beside_us(char *why, size_t why_size)
{
    Dl_info info;
    char dir[4096];
    if (!dladdr((void *)spawner_mpi_load, &info) || !info.dli_fname) return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    size_t len = slash ? (size_t)(slash - info.dli_fname) : 0;
    if (!slash || len >= sizeof dir) return NULL;
    memcpy(dir, info.dli_fname, len);
    dir[len] = 0;
    void *module = load(dir, "", why, why_size);
    return module ? module : load(dir, "/gasnet", why, why_size);
}

const struct spawner_ops *spawner_mpi_load(char *why, size_t why_size)
{
    why[0] = 0;
    void *module = load(SPAWNER_MODULE_DIR, "", why, why_size);
    if (!module) module = load_beside_us(why, why_size);
    if (!module) module = load(SPAWNER_BUILD_DIR, "", why, why_size);
    if (!module && !why[0])
        snprintf(why, why_size, "the library was %s (no %s in %s): %s",
                 MPIRUN_BUILT ? "moved without its module" : "built without MPI",
                 SPAWNER_MPI_MODULE, SPAWNER_MODULE_DIR,
                 MPIRUN_BUILT ? "install it again"
                              : "start the program with gasnetrun_ibv "
                                "-spawner=ssh, or build the library where there is an MPI");
    const struct spawner_ops *ops = module ? dlsym(module, SPAWNER_MPI_SYMBOL) : NULL;
    if (module && (!ops || ops->abi != SPAWNER_ABI)) {
        snprintf(why, why_size,
                 "the module %s is of another version: install library and module "
                 "together",
                 SPAWNER_MPI_MODULE);
        return NULL;
    }
    return ops;
}
