/* job.c - one process of a test job, which uses bootstrap.h alone: `job <what> [arguments]`.
 *
 * run.sh starts it and checks exit status and output. A check that fails prints file and line and
 * ends the job with status 99.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other/launch/bootstrap.h"

extern char **environ;

static struct bootstrap_job job;

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(int good, const char *text, int line)
{
    if (good) return;
    fprintf(stderr, "job.c:%d: rank %" PRIu32 ": failed: %s\n", line, job.rank, text);
    bootstrap_abort(99);
}

static void leave(int code) __attribute__((noreturn));
static void leave(int code)
{
    fflush(NULL);
    bootstrap_fini(code);
    _exit(code & 0xff);
}

/* Every byte of a block depends on its origin, its destination and its offset. */
static uint8_t pattern(uint32_t from, uint32_t to, size_t i)
{
    return (uint8_t)(from * 31 + to * 7 + i * 3 + (i >> 8));
}

/* --- collective calls --- */

static void try_exchange(size_t len)
{
    uint8_t *mine = malloc(len + 1), *all = malloc(len * job.size + 1);
    for (size_t i = 0; i < len; i++) mine[i] = pattern(job.rank, 0, i);
    bootstrap_exchange(mine, len, all);
    for (uint32_t r = 0; r < job.size; r++)
        for (size_t i = 0; i < len; i++) CHECK(all[r * len + i] == pattern(r, 0, i));
    free(mine);
    free(all);
}

static void try_alltoall(size_t len)
{
    uint8_t *mine = malloc(len * job.size + 1), *all = malloc(len * job.size + 1);
    for (uint32_t r = 0; r < job.size; r++)
        for (size_t i = 0; i < len; i++) mine[r * len + i] = pattern(job.rank, r, i);
    bootstrap_alltoall(mine, len, all);
    for (uint32_t r = 0; r < job.size; r++)
        for (size_t i = 0; i < len; i++) CHECK(all[r * len + i] == pattern(r, job.rank, i));
    free(mine);
    free(all);
}

static void try_broadcast(size_t len, uint32_t root)
{
    uint8_t *data = malloc(len + 1);
    for (size_t i = 0; i < len; i++) data[i] = job.rank == root ? pattern(root, 1, i) : 0;
    bootstrap_broadcast(data, len, root);
    for (size_t i = 0; i < len; i++) CHECK(data[i] == pattern(root, 1, i));
    free(data);
}

static void collectives(void)
{
    static const size_t lengths[] = {0, 1, 12, 4096, 40000, 300000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        try_exchange(lengths[i]);
        try_alltoall(lengths[i]);
        for (uint32_t root = 0; root < job.size; root++) try_broadcast(lengths[i], root);
        bootstrap_barrier();
    }
    for (int i = 0; i < 100; i++) bootstrap_barrier();
}

/* Dense host numbers in order of first rank, the same everywhere. */
static void hosts(void)
{
    uint32_t next = 0, here = 0;
    for (uint32_t r = 0; r < job.size; r++) {
        CHECK(job.host_of[r] <= next);
        next += job.host_of[r] == next;
        here += job.host_of[r] == job.host;
    }
    CHECK(here == job.host_size && job.host_of[job.rank] == job.host);
    uint32_t *all = malloc((size_t)job.size * job.size * sizeof *all);
    bootstrap_exchange(job.host_of, job.size * sizeof *all, all);
    for (uint32_t r = 0; r < job.size; r++)
        CHECK(memcmp(all + (size_t)r * job.size, job.host_of, job.size * sizeof *all) == 0);
    free(all);
    if (job.rank != 0) return;
    printf("hosts");
    for (uint32_t r = 0; r < job.size; r++) printf(" %" PRIu32, job.host_of[r]);
    printf("\n");
}

/* --- arguments, environment, input --- */

/* Whether all ranks hold the same bytes. */
static int same_everywhere(const void *bytes, size_t len)
{
    size_t *lens = malloc(job.size * sizeof *lens), most = 0;
    bootstrap_exchange(&len, sizeof len, lens);
    for (uint32_t r = 0; r < job.size; r++) most = lens[r] > most ? lens[r] : most;
    char *mine = calloc(1, most + 1), *all = malloc((most + 1) * job.size);
    memcpy(mine, bytes, len);
    bootstrap_exchange(mine, most + 1, all);
    int same = 1;
    for (uint32_t r = 0; r < job.size; r++)
        same = same && lens[r] == len && memcmp(all + r * (most + 1), mine, most + 1) == 0;
    free(lens);
    free(mine);
    free(all);
    return same;
}

static void show(char **words)
{
    for (; *words; words++) {
        CHECK(same_everywhere(*words, strlen(*words) + 1));
        if (job.rank == 0) printf("[%s]\n", *words);
    }
    CHECK(same_everywhere("end", 4));
}

static void show_environment(char **names)
{
    for (; *names; names++) {
        const char *value = bootstrap_getenv(*names);
        CHECK(same_everywhere(value ? value : "(unset)", strlen(value ? value : "(unset)") + 1));
        if (job.rank == 0) printf("[%s]\n", value ? value : "(unset)");
    }
    for (char **e = environ; *e; e++) CHECK(strncmp(*e, "GASNET_SPAWN_", 13) != 0);
    const char *const *all = bootstrap_environ();
    CHECK(all != NULL);
    for (; *all; all++) CHECK(strncmp(*all, "GASNET_SPAWN_", 13) != 0);
    CHECK(bootstrap_getenv("GASNET_SPAWN_CONTROL") == NULL);
}

static void show_input(void)
{
    char bytes[4096];
    ssize_t got;
    size_t total = 0;
    while ((got = read(0, bytes, sizeof bytes)) > 0) {
        total += (size_t)got;
        if (job.rank == 0) CHECK(write(1, bytes, (size_t)got) == got);
    }
    CHECK(got == 0 && (job.rank == 0 || total == 0));
}

/* Descriptors that a child of this program would inherit: no socket of the spawner may be among
 * them. */
static void inherited(void)
{
    struct dirent *entry;
    DIR *dir = opendir("/proc/self/fd");
    while ((entry = readdir(dir))) {
        struct stat st;
        int fd = atoi(entry->d_name);
        if (fd > 2 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
            CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
    closedir(dir);
}

/* --- ends --- */

static void on_death(int code)
{
    char line[] = "told 000\n";
    line[5] = (char)('0' + code / 100 % 10);
    line[6] = (char)('0' + code / 10 % 10);
    line[7] = (char)('0' + code % 10);
    if (write(1, line, sizeof line - 1) < 0) _exit(1);
    _exit(code);
}

static void stuck_on_death(int code)
{
    for (;;) pause();
}

/* Rank 0 exits at once in an orderly way; the others exit after rank 0's process has ended. */
static void early(void)
{
    pid_t mine = getpid(), *all = malloc(job.size * sizeof *all);
    bootstrap_exchange(&mine, sizeof mine, all);
    if (job.rank == 0) leave(0);
    for (;;) { /* a zombie still answers kill(); its state is in stat */
        char path[64], state = 'Z', text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)all[0]);
        FILE *file = fopen(path, "r");
        if (!file) break;
        if (fgets(text, sizeof text, file) && strrchr(text, ')')) state = strrchr(text, ')')[2];
        fclose(file);
        if (state == 'Z' || state == 'X') break;
        usleep(1000);
    }
    leave(0);
}

static void *volatile nowhere;

/* A child traces this process, and lets go of it three seconds after it was killed.  Until then the
 * launcher sees that the connection is closed, but not that the process has ended: as if the kernel
 * took as long to free its memory. */
static void end_slowly(void)
{
    enum { SECONDS = 3, DESCRIPTORS = 256 };
    const pid_t traced = getpid();
    int ready[2];
    char byte;
    CHECK(pipe(ready) == 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    const pid_t tracer = fork();
    if (tracer == 0) {
        setsid();
        if (ptrace(PTRACE_SEIZE, traced, 0, 0) == 0 && write(ready[1], "", 1) != 1) _exit(1);
        for (int fd = 0; fd < DESCRIPTORS; fd++) close(fd);
        siginfo_t end;
        waitid(P_PID, (id_t)traced, &end, WEXITED | WNOWAIT);
        sleep(SECONDS);
        _exit(0);
    }
    close(ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1);
}

/* Ends this rank, in one of many ways. */
static void go(const char *how, int number)
{
    if (strcmp(how, "abort") == 0) bootstrap_abort(number);
    if (strcmp(how, "_exit") == 0) _exit(number);
    if (strcmp(how, "exit") == 0) exit(number);
    if (strcmp(how, "slowly") == 0) end_slowly();
    if (strcmp(how, "kill") == 0 || strcmp(how, "slowly") == 0) kill(getpid(), number);
    if (strcmp(how, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    CHECK(!"still alive");
}

/* The others wait for its end, in one of many ways, after a preparation that precedes the end. */
static void prepare(const char *how)
{
    static const int stop[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    if (strcmp(how, "deaf") == 0)
        for (size_t i = 0; i < sizeof stop / sizeof *stop; i++) signal(stop[i], SIG_IGN);
    if (strcmp(how, "watch") == 0) bootstrap_watch(on_death);
    if (strcmp(how, "stuck") == 0) bootstrap_watch(stuck_on_death);
    bootstrap_barrier();
}

static void wait_for_end(const char *how)
{
    if (strcmp(how, "barrier") == 0) bootstrap_barrier();
    if (strcmp(how, "stopped") == 0) raise(SIGSTOP);
    for (;;) pause();
}

/* die <rank> <how> <number> <what the others do> */
static void die(char **argv)
{
    prepare(argv[3]);
    if (job.rank == (uint32_t)atoi(argv[0])) go(argv[1], atoi(argv[2]));
    wait_for_end(argv[3]);
}

/* --- signals --- */

static unsigned long long blocked_at_start;

/* The signals that a thread of this process blocks. */
static unsigned long long blocked(const char *thread)
{
    char path[64], line[128];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "SigBlk: %llx", &mask);
    if (status) fclose(status);
    return mask;
}

static unsigned long long blocked_here(void)
{
    char thread[16];
    snprintf(thread, sizeof thread, "%d", (int)getpid());
    return blocked(thread);
}

/* The spawner has left the program's thread as it was, and its own threads take no signal. */
static void signals(void)
{
    const unsigned long long bits = 1ull << (SIGINT - 1) | 1ull << (SIGTERM - 1);
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads && blocked_here() == blocked_at_start);
    for (struct dirent *entry; (entry = readdir(threads));)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != getpid())
            CHECK((blocked(entry->d_name) & bits) == bits);
    closedir(threads);
}

/* Prints lines of 64 bytes, which may stay unread. */
static void chatter(uint32_t lines)
{
    for (uint32_t i = 0; i < lines; i++)
        printf("<rank %5" PRIu32 " line %8" PRIu32 " %36s>\n", job.rank, i, "");
    fflush(stdout);
}

static void handler(int signo)
{
    leave(30 + signo);
}

static void run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "collectives") == 0) collectives();
    if (strcmp(what, "hosts") == 0) hosts();
    if (strcmp(what, "spawner") == 0 && job.rank == 0) printf("spawner %s\n", job.spawner);
    if (strcmp(what, "args") == 0) show(argv + 1);
    if (strcmp(what, "env") == 0) show_environment(argv + 2);
    if (strcmp(what, "stdin") == 0) show_input();
    if (strcmp(what, "inherited") == 0) inherited();
    if (strcmp(what, "codes") == 0) leave((int)job.rank + 2 < argc ? atoi(argv[2 + job.rank]) : 0);
    if (strcmp(what, "early") == 0) early();
    if (strcmp(what, "signals") == 0) signals();
    if (strcmp(what, "die") == 0) die(argv + 2);
    if (strcmp(what, "hang") == 0 || strcmp(what, "handle") == 0) {
        if (strcmp(what, "handle") == 0) signal(SIGTERM, handler);
        prepare(argc > 2 ? argv[2] : "pause");
        if (job.rank == 0) CHECK(write(1, "ready\n", 6) == 6);
        wait_for_end(argc > 2 ? argv[2] : "pause");
    }
    if (strcmp(what, "chatter") == 0) chatter(argc > 2 ? (uint32_t)atoi(argv[2]) : 1);
    if (strcmp(what, "mismatch") == 0) {
        if (job.rank == 0) bootstrap_exchange(&job.rank, sizeof job.rank, malloc(job.size * 4));
        bootstrap_barrier();
    }
    if (strcmp(what, "long-lines") == 0) /* in the pieces that stdio makes of them */
        for (int i = 0; i < 100; i++) {
            putchar('<');
            for (uint32_t c = 0; c < 6000 + job.rank; c++) putchar('0' + (int)job.rank);
            puts(">");
        }
    if (strcmp(what, "lines") == 0) /* each written at once: must arrive whole */
        for (int i = 0; i < 200; i++) {
            char line[128];
            int len = snprintf(line, sizeof line, "<rank %" PRIu32 " line %d of the test>\n",
                               job.rank, i);
            CHECK(write(1, line, (size_t)len) == len);
        }
}

int main(int argc, char **argv)
{
    char why[600];
    blocked_at_start = blocked_here();
    if (argc > 1 && strcmp(argv[1], "fail-early") == 0) return 5;
    if (argc > 1 && strcmp(argv[1], "help") == 0) return 0;
    bootstrap_launcher = "gasnetrun_ibv";
    enum bootstrap_status status = bootstrap_init(&argc, &argv, &job, why, sizeof why);
    if (status != BOOTSTRAP_OK) {
        fprintf(stderr, "%s\n", why);
        return status == BOOTSTRAP_NOT_SPAWNED ? 77 : 78;
    }
    run(argc, argv);
    leave(0);
}
