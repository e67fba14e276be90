/* memory_limits.c - limits of memory; see memory_limits.h. */
#include "other/base/memory_limits.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    return limit.rlim_cur;
}

uint64_t gasneti_memlock_limit(void)
{
    return limit_of(RLIMIT_MEMLOCK);
}

/* True in the first user namespace: the kernel asks for the capability there, and the root of a
 * container's own namespace does not have it. */
static bool in_first_namespace(void)
{
    unsigned long inside, outside, count;
    FILE *file = fopen("/proc/self/uid_map", "re");
    if (!file) return true; /* a kernel without user namespaces */
    bool first = fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 &&
                 outside == 0 && count == UINT32_MAX;
    fclose(file);
    return first;
}

static bool may_lock_any(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{.effective = 0}};
    return syscall(SYS_capget, &head, data) == 0 && data[0].effective >> CAP_IPC_LOCK & 1 &&
           in_first_namespace();
}

uint64_t gasneti_memlock(void)
{
    return may_lock_any() ? UINT64_MAX : gasneti_memlock_limit();
}

bool gasneti_memlock_explain(char *text, size_t size)
{
    const uint64_t limit = gasneti_memlock();
    text[0] = 0;
    if (limit == UINT64_MAX) return false;
    snprintf(text, size,
             "the limit on locked memory is %" PRIu64
             " KB for all that a process registers (ulimit -l); raise it to unlimited in "
             "/etc/security/limits.conf or the batch system",
             limit / 1024);
    return true;
}

bool gasneti_address_space_explain(char *text, size_t size)
{
    const uint64_t limit = limit_of(RLIMIT_AS);
    text[0] = 0;
    if (limit == UINT64_MAX) return false;
    snprintf(text, size,
             "the limit on the address space of a process is %" PRIu64
             " KB (ulimit -v); raise it to unlimited",
             limit / 1024);
    return true;
}

/* --- control groups --- */

/* The number in a file; UINT64_MAX for another text, such as "max", or without the file. */
static uint64_t number_in(const char *path)
{
    uint64_t number = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file) return number;
    if (fscanf(file, "%" SCNu64, &number) != 1) number = UINT64_MAX;
    fclose(file);
    return number;
}

/* The least limit of `group` and of the groups around it, each in the file `name`. */
static uint64_t least_of_group(const char *mount, const char *group, const char *name)
{
    char path[4096];
    uint64_t least = UINT64_MAX;
    for (size_t length = strlen(group);; length--) {
        if (length && group[length] && group[length] != '/') continue;
        int n = snprintf(path, sizeof path, "%s%.*s/%s", mount, (int)length, group, name);
        uint64_t limit = n > 0 && (size_t)n < sizeof path ? number_in(path) : UINT64_MAX;
        if (limit < least) least = limit;
        if (length == 0) return least;
    }
}

/* The smallest limit of the groups in a line of /proc/self/cgroup: number:controllers:group. A
 * version 2 line names no controller.
 */
static uint64_t least_of_line(const char *mount, char *line)
{
    char of_version_1[4096];
    char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
    if (!group) return UINT64_MAX;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    if (!names[1]) return least_of_group(mount, group, "memory.max");
    if (strcmp(names + 1, "memory") != 0) return UINT64_MAX;
    snprintf(of_version_1, sizeof of_version_1, "%s/memory", mount);
    return least_of_group(of_version_1, group, "memory.limit_in_bytes");
}

uint64_t gasneti_cgroup_memory(const char *mount, const char *self)
{
    char line[4096];
    uint64_t least = UINT64_MAX;
    FILE *file = fopen(self, "re");
    if (!file) return least;
    while (fgets(line, sizeof line, file)) {
        uint64_t limit = least_of_line(mount, line);
        if (limit < least) least = limit;
    }
    fclose(file);
    return least;
}

uint64_t gasneti_memory(void)
{
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t group = gasneti_cgroup_memory("/sys/fs/cgroup", "/proc/self/cgroup");
    return group < physical ? group : physical;
}
