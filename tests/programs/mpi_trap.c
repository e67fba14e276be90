/* mpi_trap.c - proves that the library keeps its hands off MPI between attach and exit (IB-S3).
 *
 * Called by test.c when TEST_MPI_TRAP is set (run-conduit.sh does so for the spawner mpi).  The
 * code of the MPI library is made unexecutable, so that any call into it ends the process at once.
 */
#define _GNU_SOURCE
#include "mpi_trap.h"

#include <dirent.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 256 };

struct trap {
    int protection;
    int libraries;
};

static pid_t others[THREADS]; /* threads that were there when the trap was armed first */
static struct sigaction before;

static void note_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != gettid() && count < THREADS)
            others[count++] = atoi(entry->d_name);
    if (dir) closedir(dir);
}

/* Any other fault, and any other thread, comes again under the handler that was there before. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
    for (int i = 0; i < THREADS && others[i]; i++)
        if (others[i] == gettid() && info->si_code == SEGV_ACCERR) {
            mpi_trap(0);
            return;
        }
    sigaction(SIGSEGV, &before, NULL);
}

static int visit(struct dl_phdr_info *object, size_t size, void *ctx)
{
    struct trap *trap = ctx;
    const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : "";
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (strncmp(name, "libmpi.so", 9) != 0 && strncmp(name, "libmpich.so", 11) != 0) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uintptr_t from = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
        uintptr_t to = object->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (mprotect((void *)from, to - from, trap->protection) != 0) return -1;
    }
    trap->libraries++;
    return 0;
}

int mpi_trap(int armed)
{
    static int installed;
    if (armed && !installed++) {
        struct sigaction now = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
        note_threads();
        sigaction(SIGSEGV, &now, &before);
    }
    struct trap trap = {armed ? PROT_READ : PROT_READ | PROT_EXEC, 0};
    return dl_iterate_phdr(visit, &trap) == 0 ? trap.libraries : -1;
}
