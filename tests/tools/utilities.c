/* utilities.c - the tools that are functions: timers, numbers, environment, bytes, system, signals.
 *
 * Needs no network and no threads.  What a process prints when it dies or reports is tested by
 * messages.c and run.sh.
 */
#include <signal.h>

#include "tests/unit/check.h"

#include "gasnet_tools.h"

GASNETT_IDENT(test_tools_ident, "$TestToolsIdent: " GASNETT_CONFIG_STRING " $");

/* --- Timers --- */

static void test_timers(void)
{
    gasnett_tick_t begin = gasnett_ticks_now(), before = begin, now = begin;
    uint64_t wall = gasnett_gettimeofday_us(), ticks_us, wall_us;
    int good = 1;

    for (int i = 0; i < 100000; i++) {
        now = gasnett_ticks_now();
        good &= now >= before && now > GASNETT_TICK_MIN && now < GASNETT_TICK_MAX;
        before = now;
    }
    check(good, "ticks never go back and stay between the extremes");

    good = 1;
    for (uint64_t t = 1; t < UINT64_C(1) << 55; t = t * 3 + 1) {
        int64_t us = (int64_t)gasnett_ticks_to_us(t),
                ns_us = (int64_t)(gasnett_ticks_to_ns(t) / 1000);
        good &= us - ns_us <= 1 && ns_us - us <= 1;
    }
    check(good, "nanoseconds and microseconds agree");

    /* The wall clock may be stepped by others; the comparison is of lengths, and tried again. */
    good = 0;
    for (int attempt = 0; attempt < 5 && !good; attempt++) {
        begin = gasnett_ticks_now();
        wall = gasnett_gettimeofday_us();
        while (gasnett_gettimeofday_us() - wall < 20000) gasnett_sched_yield();
        wall_us = gasnett_gettimeofday_us() - wall;
        ticks_us = gasnett_ticks_to_us(gasnett_ticks_now() - begin);
        good = ticks_us + 10000 >= wall_us && wall_us + 10000 >= ticks_us;
    }
    check(good, "ticks run as fast as the wall clock");
    check(gasnett_tick_granularityus() > 0 && gasnett_tick_overheadus() > 0,
          "granularity and overhead are positive");
    check(gasnett_tick_overheadus() <= 2 * gasnett_tick_granularityus() + 1,
          "overhead is no more than about twice the granularity");
}

/* --- Numbers --- */

static void test_round_trip(void)
{
    char text[64];
    int good = 1;
    for (int is_mem = 0; is_mem <= 1; is_mem++) {
        for (int bit = -1; bit <= 61; bit++) {
            int64_t value = bit < 0 ? 0 : (int64_t)1 << bit;
            int64_t back = gasnett_parse_int(
                gasnett_format_number(value, text, sizeof text, is_mem), (uint64_t)is_mem);
            if (back != value) {
                check_note("2^%d became \"%s\"", bit, text);
                good = 0;
            }
        }
    }
    check(good, "powers of two are read as they were written");
    check(!strcmp(gasnett_format_number(10 << 10, text, sizeof text, 1), "10 KB"), "10 KB");
    check(!strcmp(gasnett_format_number((9 << 10) + 1, text, sizeof text, 1), "9217 B"), "9217 B");
    check(!strcmp(gasnett_format_number(-(3 << 20), text, sizeof text, 1), "-3 MB"), "-3 MB");
    check(!strcmp(gasnett_format_number((int64_t)1 << 50, text, sizeof text, 0), "0x4000000000000"),
          "hexadecimal from 2^50 on");
}

static void test_parse(void)
{
    static const struct {
        const char *text;
        uint64_t unit;
        int64_t value;
    } cases[] = {
        {"0", 0, 0},
        {"", 0, 0},
        {"42", 0, 42},
        {"-42", 0, -42},
        {"+7", 0, 7},
        {"  12 ", 0, 12},
        {"0x10", 0, 16},
        {"-0x10", 0, -16},
        {"0XfF", 0, 255},
        {"", 1024, 0},
        {"5", 1, 5},
        {"5", 1024, 5120},
        {"5B", 1024, 5},
        {"5 b", 1024, 5},
        {"5K", 1, 5120},
        {"5 kb", 1, 5120},
        {"5KiB", 1, 5120},
        {"2M", 1, 2 << 20},
        {"2 MB", 1 << 10, 2 << 20},
        {"1.5GB", 1, 3LL << 29},
        {".5 k", 1, 512},
        {"1.5", 1 << 20, 3 << 19},
        {"3T", 1, 3LL << 40},
        {"-2K", 1, -2048},
        {"0x10K", 1, 16384},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = gasnett_parse_int(cases[i].text, cases[i].unit);
        char name[64];
        snprintf(name, sizeof name, "parse \"%s\" in units of %d", cases[i].text,
                 (int)cases[i].unit);
        check(value == cases[i].value, name);
        if (value != cases[i].value) check_note("was read as %lld", (long long)value);
    }
}

/* --- Environment --- */

static void test_environment(void)
{
    static const char *const yes[] = {"y", "Y", "yes", "YES", "Yes", "1"};
    static const char *const no[] = {"n", "N", "no", "NO", "nO", "0"};
    static const char dflt[] = "fallback";
    char *value;
    int good = 1;

    check(gasnett_getenv(NULL) == NULL, "no name, no value");
    gasnett_unsetenv("TOOLS_X");
    check(gasnett_getenv("TOOLS_X") == NULL, "unset is NULL");
    check(gasnett_getenv_withdefault("TOOLS_X", dflt) == dflt, "the very default is returned");
    check(gasnett_getenv_withdefault("TOOLS_X", NULL) == NULL, "a default may be NULL");
    gasnett_setenv("TOOLS_X", "v");
    check(!strcmp(gasnett_getenv("TOOLS_X"), "v"), "what was set is seen");
    check(!strcmp(gasnett_getenv_withdefault("TOOLS_X", dflt), "v"), "and beats a default");

    for (int i = 0; i < 6; i++) {
        gasnett_setenv("TOOLS_X", yes[i]);
        good &= gasnett_getenv_yesno_withdefault("TOOLS_X", 0) == 1;
        gasnett_setenv("TOOLS_X", no[i]);
        good &= gasnett_getenv_yesno_withdefault("TOOLS_X", 1) == 0;
    }
    gasnett_unsetenv("TOOLS_X");
    good &= gasnett_getenv_yesno_withdefault("TOOLS_X", 1) == 1;
    check(good, "yes and no in every spelling");

    gasnett_setenv("TOOLS_X", "64K");
    check(gasnett_getenv_int_withdefault("TOOLS_X", 1, 1) == 65536, "a memory size");
    gasnett_setenv("TOOLS_X", "-0x20");
    check(gasnett_getenv_int_withdefault("TOOLS_X", 1, 0) == -32, "a negative hexadecimal number");
    gasnett_setenv("TOOLS_X", "1/4");
    check(gasnett_getenv_dbl_withdefault("TOOLS_X", 1) == 0.25, "a fraction");
    gasnett_setenv("TOOLS_X", " 2.5e1 ");
    check(gasnett_getenv_dbl_withdefault("TOOLS_X", 1) == 25, "a floating-point number");

    gasnett_setenv("TOOLS_X", "a%020b%03B%0zz%1%");
    value = gasnett_getenv("TOOLS_X");
    check(!strcmp(value, "a b;%0zz%1%"), "%%0XX is decoded, other percent signs stay");
    check(gasnett_getenv("TOOLS_X") == value, "and the result stays valid");
    gasnett_setenv("GASNET_DISABLE_ENVDECODE", "");
    check(!strcmp(gasnett_getenv("TOOLS_X"), "a%020b%03B%0zz%1%"), "GASNET_DISABLE_ENVDECODE");
    gasnett_unsetenv("GASNET_DISABLE_ENVDECODE");
    check(gasnett_verboseenv() == 0, "nothing is reported unasked");
}

/* --- Bytes --- */

enum { LONGEST = 4096, SLACK = 16 };
static unsigned char source[LONGEST + 2 * SLACK], target[LONGEST + 2 * SLACK];

static size_t count_by_hand(const unsigned char *p, size_t n)
{
    size_t zeros = 0;
    while (n-- > 0) zeros += *p++ == 0;
    return zeros;
}

/* Counts, and copies without touching a byte outside. */
static int check_count(size_t from, size_t to, size_t n)
{
    size_t want = count_by_hand(source + from, n);
    int good = gasnett_count0s(source + from, n) == want;
    memset(target, 0xaa, sizeof target);
    good &= gasnett_count0s_copy(target + to, source + from, n) == want;
    good &= !memcmp(target + to, source + from, n);
    for (size_t i = 0; i < to; i++) good &= target[i] == 0xaa;
    for (size_t i = to + n; i < to + n + SLACK; i++) good &= target[i] == 0xaa;
    return good;
}

static void test_count0s(void)
{
    uint64_t seed = 12345, word;
    int good = 1;
    for (size_t i = 0; i < sizeof source; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        source[i] = (seed >> 60) & 1 ? (unsigned char)(seed >> 40) : 0;
    }
    for (size_t from = 0; from < 8; from++)
        for (size_t to = 0; to < 8; to++)
            for (size_t n = 0; n < 16; n++) good &= check_count(from, to, n);
    check(good, "count0s: every alignment, lengths 0 to 15");
    memset(source, 0, sizeof source);
    good = 1;
    for (size_t n = 0; n <= LONGEST; n += 61) good &= check_count(n % 8, n % 5, n);
    good &= check_count(0, 0, LONGEST);
    memset(source, 0x80, sizeof source);
    for (size_t n = 0; n <= LONGEST; n += 61) good &= check_count(n % 8, n % 5, n);
    good &= check_count(0, 0, LONGEST);
    check(good, "count0s: nothing but zeros, and none, up to 4096 bytes");

    good = 1;
    for (int i = 0; i < 200000; i++) {
        unsigned char bytes[8];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        word = seed;
        memcpy(bytes, &word, 8);
        for (int b = 0; b < 8; b++)
            if ((seed >> (5 * b)) & 1) bytes[b] = (seed >> (5 * b + 1)) & 1 ? 0 : (seed >> 60) & 1;
        memcpy(&word, bytes, 8);
        good &= gasnett_count0s_uint64_t(word) == (int)count_by_hand(bytes, 8);
        good &= gasnett_count0s_uintptr_t((uintptr_t)word) ==
                (int)count_by_hand(bytes, sizeof(uintptr_t));
        good &= gasnett_count0s_uint32_t((uint32_t)word) ==
                (int)count_by_hand((unsigned char *)&(uint32_t){(uint32_t)word}, 4);
    }
    check(good, "count0s of words");
}

static void test_checksum(void)
{
    unsigned char data[64];
    uint64_t sum, changed;
    int good = 1;
    for (int i = 0; i < 64; i++) data[i] = (unsigned char)i;
    sum = gasnett_checksum(data, 64);
    for (int i = 0; i < 64; i++) {
        data[i] ^= 1;
        changed = gasnett_checksum(data, 64);
        data[i] ^= 1;
        good &= changed != sum;
    }
    for (int i = 0; i + 1 < 64; i++) {
        unsigned char t = data[i];
        data[i] = data[i + 1], data[i + 1] = t;
        good &= gasnett_checksum(data, 64) != sum;
        t = data[i], data[i] = data[i + 1], data[i + 1] = t;
    }
    good &= gasnett_checksum(data, 64) == sum;
    check(good, "the checksum knows every byte and its place");
}

/* --- System and signals --- */

static void ignore_signal(int sig)
{
    (void)sig;
}

static void test_system(void)
{
    uint64_t mem = gasnett_getPhysMemSz(0);
    char *loc = gasnett_current_loc;
    int one = 1, cpus = gasnett_cpu_count();

    check(cpus >= 1 && cpus < 1 << 18, "processors are counted");
    gasnett_set_affinity(0);
    gasnett_set_affinity(cpus + 3);
    check(gasnett_cpu_count() == cpus, "binding does not change the count");
    check(mem >= 1 << 20 && mem <= UINT64_C(1) << 50, "memory size is plausible");
    check(*gasnett_gethostname() != '\0', "the host has a name");
    check(gasnett_isLittleEndian() == *(char *)&one, "byte order");
    check(strstr(loc, "test_system") && strstr(loc, "utilities.c:"), "a source location");
    free(loc);
    check(!strcmp(gasnett_signame_fromval(SIGINT), "SIGINT") && !gasnett_signame_fromval(12345),
          "signal names");
    check(gasnett_reghandler(SIGUSR1, ignore_signal) == SIG_DFL &&
              gasnett_reghandler(SIGUSR1, SIG_IGN) == ignore_signal &&
              gasnett_reghandler(SIGUSR1, SIG_DFL) == SIG_IGN,
          "handlers are returned when replaced");
    gasnett_setenv("GASNET_MAXIMIZE_RLIMIT_TEST", "no");
    check(gasnett_maximize_rlimit(0, "RLIMIT_TEST") == 0, "a limit can be exempted");
    gasnett_flush_streams();
    gasnett_spinloop_hint();
    gasnett_sched_yield();
    const uint64_t wall = gasnett_gettimeofday_us();
    check(gasnett_nsleep(2000000) == 0 && gasnett_gettimeofday_us() - wall >= 1900, "a sleep");
    char release[40];
    snprintf(release, sizeof release, "%d.%d.%d", GASNET_RELEASE_VERSION_MAJOR,
             GASNET_RELEASE_VERSION_MINOR, GASNET_RELEASE_VERSION_PATCH);
    check(!strcmp(gasnett_release_version_str(), release) && gasnett_release_version() >= 20200000,
          "the release");
    check(strstr(gasnett_exe_name(), "utilities") != NULL, "the name of the program");
}

static void test_constants(void)
{
    check((1 << GASNETT_PAGESHIFT) == GASNETT_PAGESIZE && GASNETT_PAGESIZE == sysconf(_SC_PAGESIZE),
          "page size");
    check((GASNETT_CACHE_LINE_BYTES & (GASNETT_CACHE_LINE_BYTES - 1)) == 0, "cache line");
    check(strlen(GASNETT_SYSTEM_TUPLE "" GASNETT_CONFIGURE_ARGS) > 0, "configuration texts");
    check(!strncmp(GASNETT_CONFIG_STRING, "RELEASE=" GASNETI_RELEASE_TEXT ",SPEC=1.20,PTR=", 30),
          "configuration string");
    check(GASNETT_CONFIGURE_MISMATCH == 0, "the compiler is the one that was configured");
    check(strstr(GASNETT_CONFIG_STRING, "," _STRINGIFY(GASNETT_THREAD_MODEL) ",") != NULL,
          "thread model");
#if GASNET_DEBUG
    check(strstr(gasnett_performance_warning_str(), "debug") != NULL,
          "debug builds are named slow");
#else
    check(strstr(gasnett_performance_warning_str(), "debug") == NULL, "production is not debug");
#endif
}

/* Comma expressions, uninitialised variables, non-literal formats. */
static int traced(int x)
{
    return x + 1;
}
#define traced GASNETT_TRACE_SETSOURCELINE(__FILE__, __LINE__), traced

static void stats_callback(void (*print)(const char *fmt, ...))
{
    print("%d", 1);
}

static void test_trace(void)
{
    const char *file, *fmt = "%s";
    unsigned int line;
    int x = (traced(1));
    GASNETT_TRACE_GETSOURCELINE(&file, &line);
    GASNETT_TRACE_SETSOURCELINE(file, line);
    GASNETT_TRACE_FREEZESOURCELINE();
    GASNETT_TRACE_UNFREEZESOURCELINE();
    if (GASNETT_TRACE_ENABLED) x = 0;
    GASNETT_TRACE_PRINTF(fmt, "x");
    GASNETT_TRACE_PRINTF_FORCE("%d %s", 1, "x");
    GASNETT_TRACE_SETMASK("");
    GASNETT_TRACE_SET_TRACELOCAL(GASNETT_TRACE_GET_TRACELOCAL());
    GASNETT_STATS_SETMASK(GASNETT_STATS_GETMASK());
    if (GASNETT_STATS_INIT(stats_callback)) x++;
    check(x == 2 && !strcmp(GASNETT_TRACE_GETMASK(), ""), "tracing hooks");
}

int main(void)
{
    test_timers();
    test_round_trip();
    test_parse();
    test_environment();
    test_count0s();
    test_checksum();
    test_system();
    test_constants();
    test_trace();
    return check_end();
}
