/* params_init.c - parameters from the environment of a job: older names, inequality between ranks,
 * errors and warnings, each reported once and by one rank (IB-P, IB-R, IB-C1).
 *
 * Each case runs in a process of its own, whose environment it may spoil; the other ranks'
 * contributions to the collective calls are this rank's, altered by the test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/params/params.h"
#include "core/report.h"
#include "tests/unit/check.h"
#include "tests/unit/stubs.h"

enum { RANKS = 4 };

static const struct setting {
    uint32_t rank; /* seen from */
    const char *name[2], *value[2];
    const char *differs; /* a row whose value on rank `on` is one more */
    uint32_t on;
    bool bad_elsewhere; /* rank `on` found its environment bad */
} * the;

static void alter(const void *mine, size_t len, char *all)
{
    (void)mine;
    if (len == 1) {
        all[the->on] |= the->bad_elsewhere;
        return;
    }
    if (len == 8) { /* the digest */
        all[the->on * 8] ^= the->differs != NULL;
        return;
    }
    for (size_t i = 0; the->differs && i < gasnetc_param_count; i++)
        if (!strcmp(gasnetc_param_table[i].name, the->differs)) {
            uint64_t value;
            memcpy(&value, all + the->on * len + i * 8, 8);
            value++;
            memcpy(all + the->on * len + i * 8, &value, 8);
        }
}

static void run(const void *arg)
{
    the = arg;
    gasnetc_job.size = RANKS;
    gasnetc_job.rank = the->rank;
    gasneti_report_init(the->rank, RANKS, NULL);
    unit_exchange = alter;
    for (int i = 0; i < 2; i++)
        if (the->name[i]) setenv(the->name[i], the->value[i], 1);
    gasnetc_params_init(&gasnetc_job);
    fprintf(stderr, "depth %lld credits %lld\n", (long long)gasnetc_params.depth_pp,
            (long long)gasnetc_params.credits_pp);
}

/* Goes on, and says what it must, and nothing if that is NULL. */
static void goes_on(const char *name, struct setting s, const char *values, const char *warning)
{
    int status;
    const char *text = check_stderr(run, &s, &status);
    bool warned = strstr(text, "WARNING") != NULL;
    bool right = WIFEXITED(status) && WEXITSTATUS(status) == 0 && strstr(text, values) &&
                 (warning ? warned && strstr(text, warning) : !warned);
    if (!check(right, "%s", name)) check_note("it wrote: %s", text);
}

/* Says nothing and waits for the job's end, which the stub of the barrier brings. */
static void waits(const char *name, struct setting s)
{
    int status;
    const char *text = check_stderr(run, &s, &status);
    if (!check(WIFEXITED(status) && WEXITSTATUS(status) == 9 && !*text, "%s", name))
        check_note("it wrote: %s", text);
}

static void values(void)
{
    goes_on("7.1 defaults", (struct setting){0}, "depth 64 credits 32", NULL);
    goes_on("7.1 a value that is given",
            (struct setting){.name = {"GASNET_NETWORKDEPTH_PP"}, .value = {"17"}},
            "depth 17 credits 32", NULL);
    goes_on(
        "IB-R1 IB-R3 older names",
        (struct setting){.name = {"GASNET_OP_OUST_PP", "GASNET_AM_OUST_PP"}, .value = {"19", "5"}},
        "depth 19 credits 5", NULL);
    goes_on("IB-R1 the newer name wins",
            (struct setting){.name = {"GASNET_OP_OUST_PP", "GASNET_NETWORKDEPTH_PP"},
                             .value = {"19", "21"}},
            "depth 21", NULL);
    goes_on("7.1 an empty value is none",
            (struct setting){.name = {"GASNET_NETWORKDEPTH_PP"}, .value = {""}}, "depth 64", NULL);
}

static void errors(void)
{
    struct setting bad = {.name = {"GASNET_NETWORKDEPTH_PP"}, .value = {"lots"}},
                   old = {.name = {"GASNET_OP_OUST_PP"}, .value = {"1"}};
    check_fatal("7.1 a bad value ends the job and is named", run, &bad, "rank 0 of 4",
                "GASNET_NETWORKDEPTH_PP=lots", "not a whole number");
    check_fatal("IB-R1 by the name it was given", run, &old, "too small", "2 to 16384",
                "GASNET_OP_OUST_PP");
    struct setting word = {.name = {"GASNET_BARRIER"}, .value = {"RDMADISSE"}};
    check_fatal("7.1 a word that is none of the parameter's is named, with those that are", run,
                &word, "GASNET_BARRIER=RDMADISSE: not one of DISSEM=RDMADISSEM=IBDISSEM|AMDISSEM");
    bad.bad_elsewhere = true;
    bad.rank = 2;
    waits("7.1 only the first rank with a bad value reports it", bad);
    bad.rank = 0, bad.on = 2;
    check_fatal("7.1 which may be this one", run, &bad, "GASNET_NETWORKDEPTH_PP=lots");
}

static void inequality(void)
{
    struct setting s = {.differs = "GASNET_AM_CREDITS_PP", .on = 3};
    check_fatal("IB-P a value that differs ends the job: variable, two ranks, their values", run,
                &s, "GASNET_AM_CREDITS_PP", "32 on rank 0", "33 on rank 3", "equal everywhere");
    s.rank = 1;
    waits("IB-P one rank says so", s);
    s = (struct setting){
        .name = {"GASNET_PHYSMEM_MAX"}, .value = {"64M"}, .differs = "GASNET_PHYSMEM_MAX", .on = 1};
    check_fatal("IB-P bytes of memory that differ", run, &s, "GASNET_PHYSMEM_MAX is 67108864 on",
                "67108865 on rank 1");
    s.value[0] = "1/2";
    check_fatal("IB-P a part of the memory that differs", run, &s,
                "GASNET_PHYSMEM_MAX differs between", "rank 1");
    s = (struct setting){.differs = "GASNET_BARRIER", .on = 1};
    check_fatal("IB-P a word that differs", run, &s, "GASNET_BARRIER", "rank 0", "rank 1");
}

static void warnings(void)
{
    goes_on("params.h: a name that is almost right",
            (struct setting){.name = {"GASNET_NETWORKDEPTH"}, .value = {"9"}}, "depth 64",
            "did you mean GASNET_NETWORKDEPTH_PP?");
    goes_on("params.h: a name that is nothing like it may be the client's own",
            (struct setting){.name = {"GASNET_FLUX_CAPACITOR"}, .value = {"9"}}, "depth 64", NULL);
    goes_on("params.h: it is named where details are asked for",
            (struct setting){.name = {"GASNET_FLUX_CAPACITOR", "GASNET_VERBOSEENV"},
                             .value = {"9", "1"}},
            "depth 64", "GASNET_FLUX_CAPACITOR is not a variable");
    goes_on("params.h: only rank 0 warns",
            (struct setting){.rank = 1, .name = {"GASNET_NETWORKDEPTH"}, .value = {"9"}},
            "depth 64", NULL);
    goes_on(
        "params.h: GASNET_QUIET silences warnings",
        (struct setting){.name = {"GASNET_FLUX_CAPACITOR", "GASNET_QUIET"}, .value = {"9", "1"}},
        "depth 64", NULL);
    goes_on("7.3 variables that nothing acts upon are named, in one line",
            (struct setting){.name = {"GASNET_PORTAL_ACCEL", "GASNET_TRACEFLUSH"},
                             .value = {"trace.%", "GPB"}},
            "depth 64", "GASNET_PORTAL_ACCEL, GASNET_TRACEFLUSH have no effect in this release");
    goes_on("params.h: a variable of other releases is no mistake",
            (struct setting){.name = {"GASNET_PHYSMEM_PROBE"}, .value = {"0"}}, "depth 64", NULL);
    goes_on("params.h: it is noted where details are asked for",
            (struct setting){.name = {"GASNET_PHYSMEM_PROBE", "GASNET_VERBOSEENV"},
                             .value = {"0", "1"}},
            "GASNET_PHYSMEM_PROBE is a variable of other releases", NULL);
    goes_on("IB-C1 GASNET_HCA_ID is obsolete",
            (struct setting){.name = {"GASNET_HCA_ID"}, .value = {"mlx5_0"}}, "depth 64",
            "GASNET_HCA_ID is obsolete and has no effect; use GASNET_IBV_PORTS");
    goes_on("IB-C1 GASNET_PORT_NUM is obsolete",
            (struct setting){.name = {"GASNET_PORT_NUM"}, .value = {"1"}}, "depth 64",
            "GASNET_PORT_NUM is obsolete");
    struct setting both = {.name = {"GASNET_HCA_ID", "GASNET_PORT_NUM"}, .value = {"", ""}};
    goes_on("IB-C1 an empty value of either is none", both, "depth 64", NULL);
    both.value[0] = "mlx5_0";
    int status;
    const char *text = check_stderr(run, &both, &status), *first = strstr(text, "WARNING");
    check(first && !strstr(first + 1, "WARNING"), "IB-C1 one warning for one obsolete variable");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    values();
    errors();
    inequality();
    warnings();
    return check_end();
}
