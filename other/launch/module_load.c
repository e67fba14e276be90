/* module_load.c - finds and loads the modules of the mpi and pmix spawners.
 *
 * Called by bootstrap_init.  Programs are linked without MPI and PMIx and load a module only if
 * such a launcher started them.  There is a module for each MPI; the module of another MPI would
 * make each process a job of its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "other/base/environment.h"
#include "other/launch/spawner_ops.h"

/* --- signs --- */

static const char *module_first_set(const char *const *names)
{
    for (; *names; names++)
        if (gasneti_variable(*names)) return *names;
    return NULL;
}

/* Whether the program is linked with an MPI, initialised or not. */
static bool program_has_mpi(void)
{
    return dlsym(RTLD_DEFAULT, "MPI_Initialized") != NULL;
}

bool spawner_mpi_is_up(void)
{
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int flag = 0;
    return initialized && initialized(&flag) == 0 && flag;
}

/* Without a server's address PMIx would search for a server, which takes long. */
const char *spawner_pmix_sign(void)
{
    if (!gasneti_variable("PMIX_NAMESPACE") || !gasneti_variable("PMIX_RANK")) return NULL;
    for (char **e = gasneti_variables(); *e; e++)
        if (strncmp(*e, "PMIX_SERVER_URI", strlen("PMIX_SERVER_URI")) == 0) return *e;
    return NULL;
}

const char *spawner_mpi_sign(void)
{
    static const char *const signs[] = {"OMPI_COMM_WORLD_SIZE", "PMI_RANK",    "PMI_ID",
                                        "MPI_LOCALNRANKS",      "MPIRUN_RANK", NULL};
    const char *sign = module_first_set(signs);
    if (!sign) sign = spawner_pmix_sign();
    /* Without a sign in the environment, a program whose MPI is initialised. */
    return sign ? sign : spawner_mpi_is_up() ? "MPI_Initialized" : NULL;
}

bool spawner_prefers_mpi(void)
{
    return program_has_mpi();
}

/* --- loading --- */

struct search {
    const char *name; /* of the module: gasnet-spawner-<name>.so */
    bool found;
    char *why;
    size_t why_size;
};

/* The object that holds this function: the library, or a statically linked program. */
static const char *module_host(void)
{
    Dl_info info;
    return dladdr((void *)spawner_mpi_load, &info) && info.dli_fname ? info.dli_fname : "";
}

/* True if only users who can change this process's code anyway can have changed the file or folder:
 * root, this user, the owner of the library, and their groups. */
static bool module_is_trusted(const char *path)
{
    struct stat file, host;
    if (stat(path, &file) != 0 || file.st_mode & S_IWOTH) return false;
    return file.st_uid == 0 || file.st_uid == geteuid() ||
           (stat(module_host(), &host) == 0 && file.st_uid == host.st_uid);
}

/* RTLD_GLOBAL: plug-ins that an MPI loads later must find its symbols. */
static void *module_open(struct search *search, const char *dir, const char *below)
{
    char folder[4096], path[4200];
    snprintf(folder, sizeof folder, "%s%s", dir, below);
    snprintf(path, sizeof path, "%s/gasnet-spawner-%s.so", folder, search->name);
    if (access(path, F_OK) != 0) return NULL;
    search->found = true;
    if (!module_is_trusted(folder) || !module_is_trusted(path)) {
        snprintf(search->why, search->why_size,
                 "its module %s is not loaded: other users own it or its folder, or may write "
                 "there",
                 path);
        return NULL;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!module) snprintf(search->why, search->why_size, "its module does not load: %s", dlerror());
    return module;
}

/* Looks in the folder of the library, or of a statically linked program. */
static void *module_load_nearby(struct search *search)
{
    const char *host = module_host(), *slash = strrchr(host, '/');
    char dir[4096];
    size_t len = slash ? (size_t)(slash - host) : 0;
    if (!slash || len >= sizeof dir) return NULL;
    memcpy(dir, host, len);
    dir[len] = 0;
    void *module = module_open(search, dir, "");
    return module ? module : module_open(search, dir, "/gasnet");
}

static const struct spawner_ops *module_find_ops(struct search *search)
{
    void *module = module_open(search, SPAWNER_MODULE_DIR, "");
    if (!module) module = module_load_nearby(search);
    if (!module) return NULL;
    const struct spawner_ops *ops = dlsym(module, SPAWNER_SYMBOL_NAME);
    if (ops && ops->abi == SPAWNER_ABI) return ops;
    snprintf(search->why, search->why_size,
             "the module gasnet-spawner-%s.so is of another version: install library and module "
             "together",
             search->name);
    return NULL;
}

/* Names the package to install and the option to configure with, for a module that was not built.
 */
static const char *module_remedy(const char *name)
{
    static const char *const remedies[][2] = {
        {"pmix", "install PMIx (Debian: libpmix-dev) and configure it without --without-pmix"},
        {"mpi-openmpi", "install Open MPI (Debian: libopenmpi-dev) and configure it "
                        "--with-mpi-cc=mpicc.openmpi"},
        {"mpi-mpich", "install MPICH (Debian: libmpich-dev) and configure it "
                      "--with-mpi-cc=mpicc.mpich"},
    };
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (strcmp(name, remedies[i][0]) == 0) return remedies[i][1];
    return "configure it --with-mpi-cc=CC, the compiler driver of that MPI";
}

static void module_report_absent(const struct search *search, bool built)
{
    if (built)
        snprintf(search->why, search->why_size,
                 "the library was moved without its module (no gasnet-spawner-%s.so in %s): "
                 "install it again",
                 search->name, SPAWNER_MODULE_DIR);
    else
        snprintf(search->why, search->why_size,
                 "the library was built without it (no gasnet-spawner-%s.so in %s): %s, and build "
                 "the library again%s%s%s",
                 search->name, SPAWNER_MODULE_DIR, module_remedy(search->name),
                 program_has_mpi() ? "" : ", or start the program with ",
                 program_has_mpi() ? "" : bootstrap_launcher,
                 program_has_mpi() ? "" : " -spawner=ssh"); /* without mpirun, MPI is alone */
}

const struct spawner_ops *spawner_pmix_load(char *why, size_t why_size)
{
    struct search search = {.name = "pmix", .why = why, .why_size = why_size};
    const struct spawner_ops *ops = module_find_ops(&search);
    if (!search.found) module_report_absent(&search, PMIX_BUILT);
    return ops;
}

/* The module for the program's MPI, else for the MPI whose launcher left its sign; NULL: any
 * module will do. */
static const char *wanted_mpi(void)
{
    int (*version)(char *, int *) =
        (int (*)(char *, int *))dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    if (version) {
        char text[8192] = ""; /* at least MPI_MAX_LIBRARY_VERSION_STRING of every supported MPI */
        int len = 0;
        version(text, &len);
        if (strstr(text, "Open MPI")) return "mpi-openmpi";
        return strstr(text, "MPICH") || strstr(text, "Intel") || strstr(text, "MVAPICH")
                   ? "mpi-mpich"
                   : "mpi-other";
    }
    if (gasneti_variable("OMPI_COMM_WORLD_SIZE")) return "mpi-openmpi";
    if (gasneti_variable("PMI_FD")) return "mpi-mpich"; /* hydra */
    return gasneti_variable("PMI_RANK") || !spawner_pmix_sign() ? NULL : "mpi-openmpi";
}

const struct spawner_ops *spawner_mpi_load(char *why, size_t why_size)
{
    static const char *const all[] = {"mpi-mpich", "mpi-openmpi", "mpi-other"};
    const char *wanted = wanted_mpi();
    struct search search = {.why = why, .why_size = why_size};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        search.name = all[i];
        if (wanted && strcmp(wanted, all[i]) != 0) continue;
        const struct spawner_ops *ops = module_find_ops(&search);
        if (ops || search.found) return ops;
    }
    search.name = wanted ? wanted : "mpi-*";
    module_report_absent(&search, strstr(SPAWNER_MPIS, search.name + strlen("mpi-")) != NULL);
    return NULL;
}
