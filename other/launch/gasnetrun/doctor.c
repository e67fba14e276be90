/* doctor.c - --doctor: finds the program that examines the hosts, and executes it with the hosts of
 * the list.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "other/launch/gasnetrun/gasnetrun.h"
#include "other/launch/launcher_log.h"
#include "other/launch/ssh/ssh_placement.h"

enum { RANKS = 65535 }; /* enough for a placement that has every host of the list */

/* In the build tree the program is beside this one; the installed tree may have been moved. */
static bool find_program(const char *self, char *path, size_t size)
{
    const char *const places[] = {"%.*s/" GASNETRUN_DOCTOR, "%.*s/../lib/gasnet/" GASNETRUN_DOCTOR,
                                  GASNETRUN_LIBDIR "/" GASNETRUN_DOCTOR "%.*s"};
    const char *slash = strrchr(self, '/');
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bool absolute = places[i][0] == '/';
        snprintf(path, size, places[i], absolute ? 0 : (int)(slash - self), self);
        if (access(path, X_OK) == 0) return true;
    }
    launcher_log("cannot find %s, which is installed in %s; install this package again",
                 GASNETRUN_DOCTOR, GASNETRUN_LIBDIR);
    return false;
}

/* The hosts of the list, each once; none if the environment has no list. */
static size_t list_hosts(const struct ssh_placement *placement, char **hosts)
{
    size_t count = 0;
    for (uint32_t i = 0; i < placement->count; i++) {
        const struct ssh_placed_slot *slot = &placement->slots[i];
        if (placement->host_of[slot->block.first] ==
            count) /* dense numbers in the order of the list */
            hosts[count++] = (char *)(uintptr_t)slot->host;
    }
    return count == 1 && !placement->slots[0].remote ? 0 : count;
}

int doctor_exec(const struct options *options)
{
    static char report[] = "--report";
    char self[PATH_MAX] = "", program[PATH_MAX + 64];
    struct ssh_request request = {.ranks = RANKS, .hosts = options->hosts};
    struct ssh_placement placement;
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !strchr(self, '/')) {
        launcher_log("cannot find the path of this program: %s; is /proc mounted?",
                     strerror(errno));
        return 1;
    }
    if (!find_program(self, program, sizeof program) || !ssh_placement_make(&placement, &request))
        return 1;
    char **argv = calloc(placement.count + 4, sizeof *argv);
    if (argv) {
        argv[0] = program;
        argv[1] = report;
        argv[2] = self;
        argv[3 + list_hosts(&placement, argv + 3)] = NULL;
        execv(program, argv);
    }
    launcher_log("cannot execute %s: %s", program, strerror(errno));
    free(argv);
    ssh_placement_free(&placement);
    return 1;
}
