/* waits.c - what this process waits for, in lines for gasnetrun --why and --top.
 *
 * Runs in the thread that answers, while the program's threads run or are stuck: takes no lock that
 * one of them may hold for long, and changes nothing.  other/launch/why.c reads the lines:
 *
 *   # top RANK out BYTES in BYTES ...   what the process has used
 *   # why RANK polls                    a thread has polled just now
 *   # why RANK idle MS                  for so long no poll of a thread that polls found anything
 *   # why RANK handlers COUNT           threads inside a handler
 *   # why RANK stall KIND PEER MS       a thread waits for a resource of that peer, or of none (-)
 *   # why RANK lock WAITER HOLDER       thread ids: one waits for a mutex that the other holds
 *   # why RANK stack THREAD NAME<NAME...    functions that the thread is in, the innermost first
 *   # why RANK team TEAM MEMBERS        ranks "0-3,5"; no line: all ranks    (the Extended API)
 *   # why RANK barrier TEAM inside|outside PARITY [AWAITED]       (the Extended API)
 *   # why RANK collectives TEAM BEGUN OPEN                        (the Extended API)
 */
#define _GNU_SOURCE /* process_vm_readv */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/job/rank.h"
#include "core/job/thread.h"
#include "core/stats/stats.h"
#include "other/base/clock.h"
#include "other/base/stacks.h"
#include "other/base/symbols.h"

/* --- polls that find nothing --- */

/* Copies a record that its thread may write meanwhile. */
__attribute__((no_sanitize("thread"))) static gasneti_idle_t
read_idle(const gasneti_thread_t *thread)
{
    return thread->idle;
}

/* Counts the records; each step of a thread that polls and finds nothing changes the sum. */
static uint64_t sum_idle(void)
{
    uint64_t sum = 0;
    for (const gasneti_thread_t *thread = gasneti_all_threads(); thread; thread = thread->made_next)
        sum += read_idle(thread).rounds;
    return sum;
}

/* The least time for which a thread that polls has found nothing.  A record stays when its thread
 * polls no more, or has found something: only if one has changed meanwhile is it of now. */
static void write_idle(FILE *out)
{
    enum { TURNS = 50 };
    const struct timespec turn = {.tv_nsec = 5000000};
    const uint64_t before = sum_idle();
    uint64_t since = 0;
    int i = 0;
    while (i < TURNS && sum_idle() == before) nanosleep(&turn, NULL), i++;
    if (i == TURNS) return;
    for (const gasneti_thread_t *thread = gasneti_all_threads(); thread;
         thread = thread->made_next) {
        const gasneti_idle_t idle = read_idle(thread);
        if (idle.rounds && idle.since_ms > since) since = idle.since_ms;
    }
    if (since)
        fprintf(out, "# why %" PRIu32 " idle %" PRIu64 "\n", gasnetc_job.rank,
                gasneti_clock_coarse_ms() - since);
}

/* --- stalls --- */

/* Copies a record that its thread may write meanwhile: a mixture of two waits is reported at worst.
 */
__attribute__((no_sanitize("thread"))) static gasneti_stalled_t
read_stalled(const gasneti_thread_t *thread)
{
    return thread->stalled;
}

/* Whether the thread has taken a step at `ms` or later. */
static bool has_stalled_since(const gasneti_thread_t *thread, uint64_t ms)
{
    const gasneti_stalled_t stalled = read_stalled(thread);
    return stalled.why != GASNETI_STALL_NONE && stalled.last_ms >= ms;
}

/* Whether a thread has stalled of late, and has taken no step at `ms` or later. */
static bool step_is_due(uint64_t ms)
{
    enum { OF_LATE_MS = 1000 };
    for (const gasneti_thread_t *thread = gasneti_all_threads(); thread; thread = thread->made_next)
        if (has_stalled_since(thread, ms - OF_LATE_MS) && !has_stalled_since(thread, ms))
            return true;
    return false;
}

static void write_stall(FILE *out, const gasneti_stalled_t *stalled)
{
    static const char *const names[] = {
        [GASNETI_STALL_CREDIT] = "credit",
        [GASNETI_STALL_SLOT] = "slot",
        [GASNETI_STALL_REPLY_BUFFER] = "reply-buffer",
        [GASNETI_STALL_BOUNCE_BUFFER] = "bounce-buffer",
        [GASNETI_STALL_CONNECTION] = "connection",
    };
    if (stalled->why > GASNETI_STALL_CONNECTION) return;
    fprintf(out, "# why %" PRIu32 " stall %s ", gasnetc_job.rank, names[stalled->why]);
    if (stalled->peer == GASNETI_STALL_OF_NO_PEER)
        fputs("-", out);
    else
        fprintf(out, "%" PRIu32, stalled->peer);
    fprintf(out, " %" PRIu64 "\n", stalled->last_ms - stalled->since_ms);
}

/* Reports the threads that take further steps: a record stays when its wait is over. */
static void write_stalls(FILE *out)
{
    enum { TURNS = 50 };
    const struct timespec turn = {.tv_nsec = 5000000};
    const uint64_t asked = gasneti_clock_coarse_ms() + 1;
    for (int i = 0; i < TURNS && step_is_due(asked); i++) nanosleep(&turn, NULL);
    for (const gasneti_thread_t *thread = gasneti_all_threads(); thread;
         thread = thread->made_next) {
        const gasneti_stalled_t stalled = read_stalled(thread);
        if (has_stalled_since(thread, asked)) write_stall(out, &stalled);
    }
}

/* --- locks --- */

enum { CONTENDED = 2 }; /* the value of a mutex with which a thread sleeps on it */

/* The thread that holds the mutex at `address`, as the C library of GNU lays it out; 0: unknown, or
 * there is no mutex.  The memory may be unmapped meanwhile, so the kernel copies it. */
static int mutex_holder(uintptr_t address)
{
    struct {
        int32_t state;
        uint32_t count;
        int32_t owner;
    } mutex;
    const struct iovec into = {&mutex, sizeof mutex}, from = {(void *)address, sizeof mutex};
    if (process_vm_readv(getpid(), &into, 1, &from, 1, 0) != (ssize_t)sizeof mutex) return 0;
    return mutex.state == CONTENDED ? mutex.owner : 0;
}

static bool is_thread(int id)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/self/task/%d", id);
    return id > 0 && access(name, F_OK) == 0;
}

/* The thread that holds the lock for which a thread sleeps in the kernel; 0: it does not. */
static int holder_for(const char *thread)
{
    char name[300];
    long number;
    unsigned long address, operation, value;
    int holder = 0;
    snprintf(name, sizeof name, "/proc/self/task/%s/syscall", thread);
    FILE *file = fopen(name, "re");
    if (!file) return 0;
    if (fscanf(file, "%ld 0x%lx 0x%lx 0x%lx", &number, &address, &operation, &value) == 4 &&
        number == SYS_futex && value == CONTENDED)
        holder = mutex_holder(address);
    fclose(file);
    return is_thread(holder) ? holder : 0;
}

static void write_locks(FILE *out)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *one;
    while (threads && (one = readdir(threads))) {
        const int holder = one->d_name[0] == '.' ? 0 : holder_for(one->d_name);
        if (holder)
            fprintf(out, "# why %" PRIu32 " lock %s %d\n", gasnetc_job.rank, one->d_name, holder);
    }
    if (threads) closedir(threads);
}

/* --- stacks --- */

/* Frames are the addresses behind calls. */
static void write_stack(void *to, int thread, void *const *frames, int count, const char *kernel)
{
    FILE *out = to;
    fprintf(out, "# why %" PRIu32 " stack %d %s", gasnetc_job.rank, thread, kernel ? kernel : "");
    for (int i = 0; i < count; i++) {
        char name[256];
        gasneti_symbol_name((uintptr_t)frames[i] - 1, name, sizeof name);
        if (i && strcmp(name, "start_thread") == 0) break;
        fprintf(out, "%s%s", i ? "<" : "", name);
        if (strcmp(name, "main") == 0) break;
    }
    fputs("\n", out);
}

/* --- all --- */

static void write_state(FILE *out, bool polls)
{
    const uint32_t handlers = gasneti_threads_in_handlers();
    if (polls) fprintf(out, "# why %" PRIu32 " polls\n", gasnetc_job.rank);
    if (handlers)
        fprintf(out, "# why %" PRIu32 " handlers %" PRIu32 "\n", gasnetc_job.rank, handlers);
    if (polls) write_idle(out);
    write_stalls(out);
}

/* Bytes of this process that are in memory. */
static uint64_t memory_used(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void gasnetc_write_top(FILE *out, bool polls)
{
    gasnetc_tally_t tally;
    struct timespec cpu = {0};
    const uint64_t *v = tally.value;
    gasnetc_tally_process(&tally);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    fprintf(out,
            "# top %" PRIu32 " out %" PRIu64 " in %" PRIu64 " operations %" PRIu64
            " stalls %" PRIu64 " cpu %" PRIu64 " memory %" PRIu64 "\n",
            gasnetc_job.rank, v[GASNETC_COUNT_put_bytes] + v[GASNETC_COUNT_am_bytes],
            v[GASNETC_COUNT_get_bytes] + v[GASNETC_COUNT_got_am_bytes],
            v[GASNETC_COUNT_puts] + v[GASNETC_COUNT_gets] + v[GASNETC_COUNT_requests_short] +
                v[GASNETC_COUNT_requests_medium] + v[GASNETC_COUNT_requests_long] +
                v[GASNETC_COUNT_replies_short] + v[GASNETC_COUNT_replies_medium] +
                v[GASNETC_COUNT_replies_long],
            v[GASNETC_COUNT_stalls_credits] + v[GASNETC_COUNT_stalls_slots] +
                v[GASNETC_COUNT_stalls_replies] + v[GASNETC_COUNT_stalls_bounce],
            (uint64_t)cpu.tv_sec * 1000 + (uint64_t)cpu.tv_nsec / 1000000, memory_used());
    write_state(out, polls);
}

void gasnetc_write_waits(FILE *out, bool polls)
{
    enum { THREADS = 8 };
    write_state(out, polls);
    write_locks(out);
    gasnete_write_waits(out);
    gasneti_stacks(THREADS, polls, write_stack, out);
}
