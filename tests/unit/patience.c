/* patience.c - the time that processes are given where processors are few (other/base/patience.h),
 * and how ranks are listed for people (ranges.h).
 */
#include "other/base/patience.h"

#include <math.h>
#include <string.h>

#include "other/base/ranges.h"
#include "tests/unit/check.h"

/* Seconds until a patience of `seconds` is over, looked at every 20 ms. */
static double lasts(double seconds, double part, double running, double processors)
{
    const struct gasneti_processors all = {processors, processors};
    const double crowding = gasneti_crowding(&all, running, running);
    struct gasneti_patience p;
    double now = 1000;
    gasneti_patience_begin(&p, now);
    while (gasneti_patience_part(&p, seconds) < part)
        gasneti_patience_tick(&p, now += 0.02, crowding);
    return now - 1000;
}

static bool about(double seconds, double expected)
{
    bool good = fabs(seconds - expected) < 0.05;
    if (!good) check_note("%g s instead of %g", seconds, expected);
    return good;
}

static void patience(void)
{
    check(about(lasts(1.16, 1, 1, 2), 1.16) && about(lasts(1.16, 0.5, 1, 2), 0.58),
          "IB-X8 with processors to spare the time is the clock's");
    check(about(lasts(1.16, 1, 17, 2), 1.16) && about(lasts(1.16, 0.5, 17, 2), 0.58),
          "IB-X8 and so it is with 16 processes that compute on two");
    check(about(lasts(2.28, 1, 128, 2), 4) && about(lasts(2.28, 0.5, 128, 2), 2),
          "IB-X8 with 128 each can run for a sixteenth of a second");
    check(about(lasts(1, 1, 0, 2), 1), "IB-X8 without a known load the clock alone counts");
    struct gasneti_patience p;
    gasneti_patience_begin(&p, 0);
    gasneti_patience_tick(&p, 100, 1);
    gasneti_patience_tick(&p, 200, 1);
    check(gasneti_patience_part(&p, 1) < 1,
          "IB-X8 a machine that stands still, twice, does not end it");
    gasneti_patience_begin(&p, 0);
    for (double now = 0; now < 0.4; now += 0.02) gasneti_patience_tick(&p, now, 1);
    gasneti_patience_tick(&p, 2, 1);
    check(gasneti_patience_part(&p, 1) < 0.6,
          "IB-X8 a caller that slept through the second half has not waited it: an order that it "
          "sends after the first half is not over at once");
    const struct gasneti_processors here = gasneti_processors();
    check(here.usable >= 0.01 && here.all >= here.usable && gasneti_running() >= 0,
          "this machine reports its load");
}

static bool crowded(double all, double usable, double running, double own, double expected)
{
    const struct gasneti_processors processors = {all, usable};
    double got = gasneti_crowding(&processors, running, own);
    if (fabs(got - expected) > 1e-9) check_note("%g instead of %g", got, expected);
    return fabs(got - expected) <= 1e-9;
}

static void crowding(void)
{
    check(crowded(2, 2, 0, 4, 1) && crowded(128, 128, 100, 4, 1), "IB-X8 alone, or nearly so");
    check(crowded(2, 2, 129, 128, 64.5), "IB-X8 what others run counts where all is shared");
    check(crowded(128, 2, 100, 4, 2),
          "IB-X8 in a container what runs on the other processors of the machine does not");
    check(crowded(2, 1, 129, 128, 128), "IB-X8 bound to one processor the job has it to share");
    check(crowded(128, 2, 1, 4, 1), "IB-X8 processes that sleep take nothing");
}

static bool listed(const void *of, uint32_t number)
{
    return ((const char *)of)[number] == 'x';
}

static bool lists(const char *of, size_t size, const char *expected, uint32_t count)
{
    char text[64];
    uint32_t got = gasneti_ranges(text, size, (uint32_t)strlen(of), listed, of);
    bool good = got == count && strcmp(text, expected) == 0;
    if (!good) check_note("\"%s\": %u, \"%s\"", of, got, text);
    return good;
}

static void ranges(void)
{
    check(lists("...x...xxxxxx..x", 64, "3, 7-12 and 15", 8), "ranges in words");
    check(lists("", 64, "", 0) && lists("...", 64, "", 0), "of nothing");
    check(lists("x", 64, "0", 1) && lists("xxx", 64, "0-2", 3) && lists("x.x", 64, "0 and 2", 2),
          "of one, and of two");
    check(lists("x.x.x.x.x.x.x", 16, "0, 2, 4, 6, ...", 7), "where they do not all fit");
    check(lists("x.x.x", 8, "0, ...", 3) && lists("x", 2, "0", 1) && lists("x.x", 4, "...", 2),
          "however little room there is");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    patience();
    crowding();
    ranges();
    return check_end();
}
