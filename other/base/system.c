/* system.c - properties of the host: processors, memory, name, limits, pages.
 *
 * Called by the core at start-up and by clients.
 */
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

void gasnett_sched_yield(void)
{
    (void)sched_yield();
}

int gasnett_nsleep(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    return nanosleep(&time, NULL);
}

/* --- The program, and the release of this library --- */

static char exe_name[PATH_MAX];

static void ask_exe_name(void)
{
    const ssize_t length = readlink("/proc/self/exe", exe_name, sizeof exe_name - 1);
    exe_name[length > 0 ? length : 0] = '\0';
}

const char *gasnett_exe_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_exe_name);
    return exe_name;
}

const char *gasnett_release_version_str(void)
{
    return GASNETI_RELEASE_TEXT;
}

uint64_t gasnett_release_version(void)
{
    return GASNET_RELEASE_VERSION_MAJOR * 10000u + GASNET_RELEASE_VERSION_MINOR * 100u +
           GASNET_RELEASE_VERSION_PATCH;
}

/* --- Processors --- */

/* The affinity mask of this process, read once, before gasnett_set_affinity narrows it. */
static cpu_set_t *given_cpus;
static size_t given_size;
static int given_count;
static pthread_once_t given_once = PTHREAD_ONCE_INIT;

static void ask_given_cpus(void)
{
    /* The mask must have room for all processors that the kernel is configured for, a number that
     * it does not report. */
    for (int n = CPU_SETSIZE; n <= 1 << 18; n *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        size_t size = CPU_ALLOC_SIZE((size_t)n);
        if (!set) break;
        if (!sched_getaffinity(0, size, set)) {
            given_cpus = set;
            given_size = size;
            given_count = CPU_COUNT_S(size, set);
            return;
        }
        CPU_FREE(set);
        if (errno != EINVAL) break;
    }
    given_count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (given_count < 0) given_count = 0;
}

int gasnett_cpu_count(void)
{
    (void)pthread_once(&given_once, ask_given_cpus);
    return given_count;
}

void gasnett_set_affinity(int rank)
{
    int count = gasnett_cpu_count(), wanted, cpu;
    cpu_set_t *one;

    if (!given_cpus || count <= 0 || rank < 0) return;
    one = CPU_ALLOC(given_size * 8);
    if (!one) return;
    wanted = rank % count;
    for (cpu = 0; !CPU_ISSET_S((size_t)cpu, given_size, given_cpus) || wanted-- > 0;) cpu++;
    CPU_ZERO_S(given_size, one);
    CPU_SET_S((size_t)cpu, given_size, one);
    (void)sched_setaffinity(0, given_size, one); /* an optimization: failure is harmless */
    CPU_FREE(one);
}

/* --- Memory --- */

uint64_t gasnett_getPhysMemSz(int fatal_on_failure)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) return (uint64_t)pages * (uint64_t)size;
    if (fatal_on_failure) gasnett_fatalerror("cannot tell this host's memory size");
    return 0;
}

void *gasnett_mmap(uintptr_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        gasnett_fatalerror("mmap of %lu bytes: %s", (unsigned long)size, strerror(errno));
    return p;
}

void *gasnett_malloc_aligned(size_t alignment, size_t size)
{
    void *p = NULL;
    int failed;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    failed = posix_memalign(&p, alignment, size ? size : 1);
    if (failed)
        gasnett_fatalerror("%lu bytes aligned to %lu: %s", (unsigned long)size,
                           (unsigned long)alignment, strerror(failed));
    return p;
}

void gasnett_free_aligned(void *p)
{
    free(p);
}

/* --- Name --- */

static char hostname[256];
static pthread_once_t hostname_once = PTHREAD_ONCE_INIT;

static void ask_hostname(void)
{
    if (gethostname(hostname, sizeof hostname - 1) || !*hostname) strcpy(hostname, "unknown-host");
}

const char *gasnett_gethostname(void)
{
    (void)pthread_once(&hostname_once, ask_hostname);
    return hostname;
}

/* --- Limits --- */

int gasnett_maximize_rlimit(int resource, const char *name)
{
    char key[64];
    struct rlimit limit;

    (void)snprintf(key, sizeof key, "GASNET_MAXIMIZE_%s", name);
    if (!gasnett_getenv_yesno_withdefault(key, 1)) return 0;
    if (getrlimit((__rlimit_resource_t)resource, &limit)) return 0;
    if (limit.rlim_cur == limit.rlim_max) return 1;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

/* Not the limits of core size and open files: a higher limit of these may do harm. */
int gasnett_maximize_rlimits(void)
{
    static const struct {
        int resource;
        const char *name;
    } limits[] = {
        {RLIMIT_CPU, "RLIMIT_CPU"},     {RLIMIT_FSIZE, "RLIMIT_FSIZE"},
        {RLIMIT_DATA, "RLIMIT_DATA"},   {RLIMIT_STACK, "RLIMIT_STACK"},
        {RLIMIT_RSS, "RLIMIT_RSS"},     {RLIMIT_AS, "RLIMIT_AS"},
        {RLIMIT_NPROC, "RLIMIT_NPROC"}, {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"},
    };
    int done = 1;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        done &= gasnett_maximize_rlimit(limits[i].resource, limits[i].name);
    return done;
}

/* --- Build --- */

const char *gasnett_performance_warning_str(void)
{
    return ""
#if GASNET_DEBUG
           "        debugging\n"
#endif
#if GASNET_TRACE
           "        tracing\n"
#endif
#if GASNET_STATS
           "        statistical collection\n"
#endif
#if GASNET_DEBUGMALLOC
           "        debugging malloc\n"
#endif
#if !defined(__OPTIMIZE__)
           "        no compiler optimisation\n"
#endif
        ;
}
