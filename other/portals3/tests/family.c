/* family.c - see family.h. */
#include "other/portals3/tests/family.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HANG = 240 };

struct family *family;
int family_rank, family_size;
ptl_handle_ni_t family_ni;
uint64_t family_seed;

void family_fail(const char *format, ...)
{
    va_list list;
    char text[300];
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    printf("# process %d: %s\n", family_rank, text);
    fflush(stdout);
    atomic_store(&family->failed, 1);
    _exit(1);
}

static void *shared(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int family_run(int size, void (*body)(void), const int *expected)
{
    int bad = 0;
    uint64_t seed = family_seed;
    family_size = size;
    if (!family && !(family = shared(sizeof *family))) return 1;
    *family = (struct family){0};
    fflush(stdout);
    for (family_rank = 0; family_rank < size; family_rank++) {
        pid_t pid = fork();
        family->pid[family_rank] = pid ? pid : getpid();
        if (pid) continue;
        alarm(HANG);
        family_seed = seed + (uint64_t)family_rank * 1000003;
        body();
        fflush(stdout);
        _exit(0);
    }
    for (int left = size; left > 0; left--) {
        int status, rank = 0;
        pid_t pid = wait(&status);
        while (rank < size && family->pid[rank] != pid) rank++;
        if (rank < size && status == (expected ? expected[rank] : 0)) continue;
        printf("# process %d ended with wait status %#x\n", rank, (unsigned)status);
        atomic_store(&family->failed, 1);
        bad++;
    }
    return bad;
}

void family_open(ptl_pid_t pid)
{
    int most;
    must(PtlInit(&most));
    must(PtlNIInit(PTL_IFACE_DEFAULT, pid, NULL, NULL, &family_ni));
    must(PtlGetId(family_ni, &family->id[family_rank]));
}

void family_close(void)
{
    must(PtlNIFini(family_ni));
    PtlFini();
}

void family_nap(void)
{
    const struct timespec moment = {.tv_nsec = 100000};
    if (atomic_load(&family->failed)) _exit(1);
    nanosleep(&moment, NULL);
}

void family_barrier(void (*meanwhile)(void))
{
    static int round;
    atomic_fetch_add(&family->arrived, 1);
    for (round++; atomic_load(&family->arrived) < round * family_size;) {
        if (meanwhile) meanwhile();
        family_nap();
    }
}

void family_await(int flag, uint32_t value)
{
    while (atomic_load(&family->flag[flag]) < value) family_nap();
}

/* The state of a thread as /proc shows it, and how often it has been switched to in all. */
static char look_at(pid_t pid, const char *task, unsigned long *switches)
{
    char path[300], line[200], state = 'R';
    unsigned long n;
    snprintf(path, sizeof path, "/proc/%d/task/%s/status", pid, task);
    FILE *file = fopen(path, "r");
    if (!file) return 'X'; /* the thread has ended */
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", &state);
        if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
            *switches += n;
    }
    fclose(file);
    return state;
}

bool family_all(int rank, char state, unsigned long *switches)
{
    char path[40];
    bool all = true;
    snprintf(path, sizeof path, "/proc/%d/task", family->pid[rank]);
    DIR *tasks = opendir(path);
    if (!tasks) family_fail("cannot read %s", path);
    *switches = 0;
    for (struct dirent *task; (task = readdir(tasks));)
        if (task->d_name[0] != '.')
            all &= look_at(family->pid[rank], task->d_name, switches) == state;
    closedir(tasks);
    return all;
}

void family_stop(int rank)
{
    unsigned long ignored;
    kill(family->pid[rank], SIGSTOP);
    while (!family_all(rank, 'T', &ignored)) family_nap();
}

void family_await_end(int rank)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, family->pid[rank], 0),
                         .events = POLLIN};
    if (end.fd < 0) return; /* the parent has read its status */
    while (poll(&end, 1, -1) != 1)
        ;
    close(end.fd);
}

void family_settle_seed(const char *given)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!given) given = getenv("TEST_SEED");
    family_seed = given ? strtoull(given, NULL, 0)
                        : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    printf("# TEST_SEED=%ju\n", (uintmax_t)family_seed);
}

uint32_t family_below(uint32_t bound)
{
    uint64_t z = family_seed += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ (z >> 31)) % bound);
}

void *family_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) family_fail("no memory");
    return p;
}

ptl_handle_md_t family_attach(ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_md_t md,
                              ptl_unlink_t unlink)
{
    ptl_process_id_t any = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_handle_me_t me;
    ptl_handle_md_t handle;
    must(PtlMEAttach(family_ni, pt, any, bits, ~(ptl_match_bits_t)15, PTL_UNLINK, PTL_INS_AFTER,
                     &me));
    must(PtlMDAttach(me, md, unlink, &handle));
    return handle;
}
