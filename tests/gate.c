/* gate.c - see gate.h. */
#include "tests/gate.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;

/* --- the gate --- */

static int shut;
static bool inside, opened;

void gate_shut(int number)
{
    pthread_mutex_lock(&gate_lock);
    shut = number;
    inside = opened = false;
    pthread_mutex_unlock(&gate_lock);
}

void gate_pass(int number)
{
    pthread_mutex_lock(&gate_lock);
    if (shut == number) {
        shut = 0;
        inside = true;
        pthread_cond_broadcast(&gate_changed);
        while (!opened) pthread_cond_wait(&gate_changed, &gate_lock);
    }
    pthread_mutex_unlock(&gate_lock);
}

void gate_await_inside(void)
{
    pthread_mutex_lock(&gate_lock);
    while (!inside) pthread_cond_wait(&gate_changed, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

void gate_open(void)
{
    pthread_mutex_lock(&gate_lock);
    opened = true;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

/* --- threads --- */

static void *gate_run(void *argument)
{
    struct gate_worker *w = argument;
    pthread_mutex_lock(&gate_lock);
    w->id = gettid();
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
    getrusage(RUSAGE_THREAD, &w->before);
    w->code = w->call(w->argument);
    getrusage(RUSAGE_THREAD, &w->after);
    pthread_mutex_lock(&gate_lock);
    w->ended = true;
    pthread_mutex_unlock(&gate_lock);
    return NULL;
}

void gate_begin(struct gate_worker *w, void *argument, gate_call *call)
{
    *w = (struct gate_worker){.argument = argument, .call = call};
    pthread_create(&w->thread, NULL, gate_run, w);
    pthread_mutex_lock(&gate_lock);
    while (!w->id) pthread_cond_wait(&gate_changed, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

int gate_end(struct gate_worker *w)
{
    pthread_join(w->thread, NULL);
    return w->code;
}

static bool has_ended(struct gate_worker *w)
{
    pthread_mutex_lock(&gate_lock);
    bool ended = w->ended;
    pthread_mutex_unlock(&gate_lock);
    return ended;
}

/* The state that /proc shows of a thread, and how often it has given up its processor. */
static char look_at(pid_t id, unsigned long *times)
{
    char path[60], line[200], state = 'X';
    unsigned long more;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)id);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", &state);
        if (sscanf(line, "voluntary_ctxt_switches: %lu", &more) == 1) *times += more;
    }
    if (file) fclose(file);
    return state;
}

bool gate_sleeps(struct gate_worker *w)
{
    unsigned long before = 0;
    for (int looks = 0, still = 0; looks < 20000 && !has_ended(w); looks++) {
        unsigned long times = 0;
        bool same = look_at(w->id, &times) == 'S' && times == before;
        still = same ? still + 1 : 0;
        if (still == 20) return true;
        before = times;
        usleep(1000);
    }
    return false;
}

bool gate_others_sleep(void)
{
    unsigned long before = 0;
    for (int looks = 0, still = 0; looks < 20000; looks++) {
        unsigned long times = 0;
        bool all = true;
        DIR *tasks = opendir("/proc/self/task");
        for (struct dirent *task; (task = readdir(tasks));)
            if (task->d_name[0] != '.' && atoi(task->d_name) != gettid())
                all &= look_at(atoi(task->d_name), &times) == 'S';
        closedir(tasks);
        still = all && times == before ? still + 1 : 0;
        if (still == 20) return true;
        before = times;
        usleep(1000);
    }
    return false;
}
