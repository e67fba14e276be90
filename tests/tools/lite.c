/* lite.c - GASNETT_LITE_MODE: timers and fences, linked with the tools of either thread mode.
 *
 * Exit status 0 when time passes.
 */
#define GASNETT_LITE_MODE 1
#include "gasnet_tools.h"

int main(void)
{
    gasnett_tick_t begin = gasnett_ticks_now();
    gasnett_local_mb();
    gasnett_weak_mb();
    while (gasnett_ticks_to_us(gasnett_ticks_now() - begin) == 0) gasnett_compiler_fence();
    puts(GASNETT_CONFIG_STRING);
    return 0;
}
