/* patience.c - see patience.h. */
#define _GNU_SOURCE
#include "other/base/patience.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "other/base/uncancelled.h"

void gasneti_patience_begin(struct gasneti_patience *p, double now)
{
    *p = (struct gasneti_patience){.began = now, .last = now};
}

static double at_most(double seconds, double most)
{
    return seconds < most ? seconds : most;
}

/* A long time between two calls means that the caller itself did not run.  It counts as a short
 * one: the caller has heard no answers meanwhile, and the crowding is known only of the end. */
void gasneti_patience_tick(struct gasneti_patience *p, double now, double crowding)
{
    p->waited += at_most(now - p->last, 0.1);
    p->share += at_most(now - p->last, 0.02) / crowding;
    p->last = now;
}

double gasneti_crowding(const struct gasneti_processors *processors, double running, double own)
{
    double machine = running / processors->all,
           usable = (own < running ? own : running) / processors->usable,
           most = machine > usable ? machine : usable;
    return most > 1 ? most : 1;
}

double gasneti_patience_part(const struct gasneti_patience *p, double seconds)
{
    const double by_share = p->share / GASNETI_PATIENCE_SHARE;
    const double by_time = seconds > 0 ? p->waited / seconds : by_share;
    return by_time < by_share ? by_time : by_share;
}

/* Reads the start of a file as text; returns its length, 0 if it cannot be read. */
static ssize_t read_start(const char *name, char *text, size_t size)
{
    GASNETI_UNCANCELLED;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, size - 1);
    close(fd);
    if (length < 0) length = 0;
    text[length] = 0;
    return length;
}

/* The whole number at *at, 0 if *at has no digit; *at moves past it and the character after it. */
static double number(const char **at)
{
    double value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) value = value * 10 + (**at - '0');
    if (**at) ++*at;
    return value;
}

/* The processors that a control group allows; cpu.max reads "quota period" or "max period". */
static double quota(void)
{
    char text[64];
    const char *at = text;
    if (!read_start("/sys/fs/cgroup/cpu.max", text, sizeof text)) return 0;
    double most = number(&at), period = number(&at);
    return period > 0 ? most / period : 0;
}

struct gasneti_processors gasneti_processors(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    double count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1,
           most = quota();
    return (struct gasneti_processors){.all = all > count ? all : count,
                                       .usable = most > 0 && most < count ? most : count};
}

/* /proc/loadavg reads "0.20 0.18 0.12 3/80 11206": the 3. */
double gasneti_running(void)
{
    char text[128];
    const char *at = text;
    if (!read_start("/proc/loadavg", text, sizeof text)) return 0;
    for (int spaces = 0; *at && spaces < 3; at++) spaces += *at == ' ';
    return number(&at);
}
