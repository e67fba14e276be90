/* tsc.c - prints the frequency of this machine's time stamp counter in kHz, which guests are told:
 * on a busy machine their kernel measures another one, down to a thirtieth of it, and their clock
 * is as much too fast. */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(void)
{
    const struct timespec wait = {.tv_nsec = 200000000};
    const double began = milliseconds();
    const unsigned long long from = __rdtsc();
    nanosleep(&wait, NULL);
    const unsigned long long to = __rdtsc();
    printf("%.0f\n", (double)(to - from) / (milliseconds() - began));
    return 0;
}
