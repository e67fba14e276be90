/* ticks.c - a program of the tools alone: time goes on. */
#include <gasnet_tools.h>

int main(void)
{
    const gasnett_tick_t begin = gasnett_ticks_now();
    gasnett_nsleep(1000);
    return gasnett_ticks_now() == begin;
}
