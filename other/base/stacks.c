/* stacks.c - see stacks.h. */
#define _GNU_SOURCE
#include "other/base/stacks.h"

#include <dirent.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FRAMES = 48, MOST_THREADS = 16 };

typedef struct answer {
    int thread, count;
    void *frames[MOST_FRAMES];
} answer_t;

_Atomic uint32_t gasneti_stacks_question;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the rest; held for moments */
static answer_t answers[MOST_THREADS];
static unsigned answered;
static bool open;

/* --- in a thread that waits --- */

void gasneti_stacks_answer(void)
{
    static __thread uint32_t seen;
    const uint32_t question = atomic_load(&gasneti_stacks_question);
    answer_t mine = {.thread = (int)syscall(SYS_gettid)};
    if (question == seen) return;
    seen = question;
    mine.count = backtrace(mine.frames, MOST_FRAMES);
    pthread_mutex_lock(&lock);
    if (open && question == gasneti_stacks_question && answered < MOST_THREADS)
        answers[answered++] = mine;
    pthread_mutex_unlock(&lock);
}

/* --- in the thread that asks --- */

static unsigned answers_now(void)
{
    pthread_mutex_lock(&lock);
    const unsigned now = answered;
    pthread_mutex_unlock(&lock);
    return now;
}

/* Waits until no more answers come: on a busy host a thread that waits gets a processor late. */
static void await(bool some_wait)
{
    enum { TURNS = 40, MORE = 4 };
    const struct timespec turn = {.tv_nsec = 10000000};
    unsigned last = 0, quiet = 0;
    for (int i = 0; i < TURNS && quiet < MORE; i++) {
        nanosleep(&turn, NULL);
        const unsigned now = answers_now();
        quiet = now == last && (now || !some_wait) ? quiet + 1 : 0;
        last = now;
    }
}

static void ask(bool some_wait)
{
    pthread_mutex_lock(&lock);
    answered = 0;
    open = true;
    if (++gasneti_stacks_question == 0) ++gasneti_stacks_question;
    pthread_mutex_unlock(&lock);
    await(some_wait);
    pthread_mutex_lock(&lock);
    open = false;
    pthread_mutex_unlock(&lock);
}

static bool has_answered(int thread)
{
    for (unsigned i = 0; i < answered; i++)
        if (answers[i].thread == thread) return true;
    return false;
}

/* Reads a line of /proc/self/task/THREAD/WHAT that begins so; false: there is none. */
static bool read_line(int thread, const char *what, const char *begin, char *line, int size)
{
    char name[64];
    bool found = false;
    snprintf(name, sizeof name, "/proc/self/task/%d/%s", thread, what);
    FILE *file = fopen(name, "re");
    while (file && !found && fgets(line, size, file))
        found = strncmp(line, begin, strlen(begin)) == 0;
    if (file) fclose(file);
    return found;
}

static bool is_of_a_library(int thread)
{
    char line[256];
    unsigned long long blocked = 0;
    if (!read_line(thread, "status", "SigBlk:", line, sizeof line)) return true;
    sscanf(line, "SigBlk: %llx", &blocked);
    return blocked >> (SIGINT - 1) & 1 && blocked >> (SIGURG - 1) & 1;
}

/* What the kernel tells of the thread, in words. */
static void describe(int thread, char *text, size_t size)
{
    static const struct {
        long number;
        const char *name;
    } calls[] = {
        {SYS_futex, "futex"},
        {SYS_nanosleep, "nanosleep"},
        {SYS_read, "read"},
        {SYS_write, "write"},
        {SYS_ppoll, "ppoll"},
        {SYS_epoll_pwait, "epoll_pwait"},
        {SYS_recvfrom, "recvfrom"},
        {SYS_recvmsg, "recvmsg"},
        {SYS_sendmsg, "sendmsg"},
        {SYS_accept4, "accept4"},
        {SYS_wait4, "wait4"},
        {SYS_connect, "connect"},
        {SYS_pselect6, "pselect6"},
        {SYS_flock, "flock"},
        {SYS_fsync, "fsync"},
        {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
        {SYS_sched_yield, "sched_yield"},
        {SYS_clock_nanosleep, "clock_nanosleep"},
#ifdef SYS_poll
        {SYS_poll, "poll"},
        {SYS_select, "select"},
        {SYS_epoll_wait, "epoll_wait"},
        {SYS_pause, "pause"},
#endif
    };
    char line[256];
    long number;
    if (!read_line(thread, "syscall", "", line, sizeof line)) {
        snprintf(text, size, "no call of the library");
    } else if (sscanf(line, "%ld", &number) != 1 || number < 0) {
        snprintf(text, size, "its own code, running");
    } else {
        snprintf(text, size, "system call %ld", number);
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            if (calls[i].number == number) snprintf(text, size, "system call %s", calls[i].name);
    }
}

void gasneti_stacks(unsigned most, bool some_wait, gasneti_stack_fn each, void *context)
{
    enum { OWN = 1 }; /* gasneti_stacks_answer comes first */
    const int self = (int)syscall(SYS_gettid);
    const struct dirent *one;
    ask(some_wait);
    for (unsigned i = 0; i < answered && most; i++, most--)
        each(context, answers[i].thread, answers[i].frames + OWN, answers[i].count - OWN, NULL);
    DIR *threads = opendir("/proc/self/task");
    while (threads && most && (one = readdir(threads))) {
        const int thread = atoi(one->d_name);
        char text[64];
        if (thread <= 0 || thread == self || has_answered(thread) || is_of_a_library(thread))
            continue;
        describe(thread, text, sizeof text);
        each(context, thread, NULL, 0, text);
        most--;
    }
    if (threads) closedir(threads);
}
