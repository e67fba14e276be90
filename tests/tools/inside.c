/* inside.c - functions of the tools for libraries: hooks, decoding of arguments, strict parsing.
 *
 * Linked with libtools.la itself, since these names are hidden in the installed libraries.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "other/base/memory_limits.h"
#include "other/base/tools.h"
#include "tests/unit/check.h"

static int rank = -1, verbose = -1;

static char *job_getenv(const char *name)
{
    static char value[] = "of the job";
    return strcmp(name, "TOOLS_JOB") ? NULL : value;
}

static int my_rank(void)
{
    return rank;
}

static int my_verbose(void)
{
    return verbose;
}

static void test_getenv_hook(void)
{
    gasneti_getenv_hook = job_getenv;
    gasnett_setenv("TOOLS_JOB", "of the process");
    gasnett_setenv("TOOLS_OWN", "own");
    check(!strcmp(gasnett_getenv("TOOLS_JOB"), "of the job"), "the job's value wins");
    check(!strcmp(gasnett_getenv("TOOLS_OWN"), "own"),
          "names unknown to the job are the process's");
    gasneti_getenv_hook = NULL;
}

static void test_arguments(void)
{
    char a0[] = "prog", a1[] = "a%020b", a2[] = "x%000y%000", a3[] = "", a4[] = "100%";
    char *args[] = {a0, a1, a2, a3, a4, NULL}, **argv = args;
    static const char *const want[] = {"prog", "a b", "x", "y", "", "", "100%"};
    static char **volatile decoded; /* keeps what is never freed in reach of leak checkers */
    int argc = 5, good;

    gasneti_decode_args(&argc, &argv);
    decoded = argv;
    good = argc == 7 && decoded[argc] == NULL;
    for (int i = 0; good && i < argc; i++) good &= !strcmp(argv[i], want[i]);
    check(good, "arguments are decoded, and split at encoded zero bytes");

    argc = 5;
    argv = args;
    gasnett_setenv("GASNET_DISABLE_ARGDECODE", "yes");
    gasneti_decode_args(&argc, &argv);
    check(argc == 5 && argv == args, "GASNET_DISABLE_ARGDECODE");
    gasneti_decode_args(NULL, NULL);
}

static void test_strict(void)
{
    static const char *const bad_ints[] = {"abc", "12x", "1.5", "0x", "--1", "1 2", "K"};
    static const char *const bad_sizes[] = {"abc", "12x", "1.5.5", "K", "1KBB", "MB", "."};
    static const char *const bad_doubles[] = {"", "x", "1/0", "1/", "1/2/3", "0.5s"};
    int64_t value;
    double real;
    int good = 1;

    for (int i = 0; i < 7; i++) good &= !gasneti_parse_int(bad_ints[i], 0, &value);
    check(good, "text that is no integer");
    good = 1;
    for (int i = 0; i < 7; i++)
        good &= !gasneti_parse_int(bad_sizes[i], 1, &value) && errno == EINVAL;
    check(good, "text that is no memory size");
    good = 1;
    for (int i = 0; i < 6; i++) good &= !gasneti_parse_double(bad_doubles[i], &real);
    check(good, "text that is no number");
    check(!gasneti_parse_int("99999999999999999999", 0, &value) && errno == ERANGE &&
              value == INT64_MAX,
          "an integer that does not fit");
    check(gasneti_parse_int(" 1.5 GiB ", 1, &value) && value == 3LL << 29, "a size with spaces");
}

static void test_signal_names(void)
{
    check(gasneti_signal_from_name("SIGSEGV") == SIGSEGV &&
              gasneti_signal_from_name("SEGV") == SIGSEGV &&
              gasneti_signal_from_name("segv") == SIGSEGV && gasneti_signal_from_name("11") == 11 &&
              gasneti_signal_from_name("nosuch") == 0 && gasneti_signal_from_name("0") == 0 &&
              gasneti_signal_from_name("") == 0,
          "signals by name and number");
}

/* Reports of before the answer is known come out later, or never. */
static void test_kept_reports(void)
{
    FILE *out = tmpfile();
    char text[512];
    size_t len;
    int saved = dup(STDERR_FILENO);

    gasneti_verboseenv_hook = my_verbose;
    gasneti_rank_hook = my_rank;
    dup2(fileno(out), STDERR_FILENO);
    gasnett_getenv_withdefault("TOOLS_EARLY", "x");
    gasneti_verboseenv_flush();
    check(lseek(fileno(out), 0, SEEK_END) == 0, "reports are kept back while nothing is known");
    verbose = 1;
    gasneti_verboseenv_flush();
    gasneti_verboseenv_flush();
    gasnett_getenv_withdefault("TOOLS_LATE", "y");
    verbose = 0;
    gasnett_getenv_withdefault("TOOLS_NEVER", "z");
    dup2(saved, STDERR_FILENO);
    rewind(out);
    len = fread(text, 1, sizeof text - 1, out);
    text[len] = '\0';
    check(strstr(text, "TOOLS_EARLY = x") && strstr(text, "TOOLS_LATE = y") &&
              strstr(text, "TOOLS_EARLY") < strstr(text, "TOOLS_LATE") &&
              !strstr(text, "TOOLS_NEVER"),
          "and printed in order once it is");
    fclose(out);
}

static void test_memory(void)
{
    void *p = gasnett_mmap(4 * GASNETT_PAGESIZE), *q = gasnett_malloc_aligned(4096, 100);
    memset(p, 1, 4 * GASNETT_PAGESIZE);
    memset(q, 1, 100);
    check((uintptr_t)p % GASNETT_PAGESIZE == 0 && (uintptr_t)q % 4096 == 0, "aligned memory");
    gasnett_free_aligned(q);
    gasnett_free_aligned(NULL);
}

static void make_file(const char *folder, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

static void test_control_groups(void)
{
    char root[] = "/tmp/tools-cgroup-XXXXXX", path[400], self[400];
    if (!mkdtemp(root)) abort();
    static const char *const folders[] = {"a", "a/b", "a/b/c", "memory", "memory/d"};
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        if (mkdir(path, 0700)) abort();
    }
    snprintf(self, sizeof self, "%s/self", root);
    make_file(root, "self", "0::/a/b/c\n");
    check(gasneti_cgroup_memory(root, self) == UINT64_MAX, "a control group without a limit");
    make_file(root, "a/b/c/memory.max", "max\n");
    make_file(root, "a/memory.max", "300000000\n");
    make_file(root, "memory.max", "400000000\n");
    check(gasneti_cgroup_memory(root, self) == 300000000, "the limit of a group around it");
    make_file(root, "a/b/c/memory.max", "200000000\n");
    check(gasneti_cgroup_memory(root, self) == 200000000, "its own, which is less");
    make_file(root, "self", "0::/not/mounted/here\n");
    check(gasneti_cgroup_memory(root, self) == 400000000,
          "a group that is not seen here: the limit at the top");
    make_file(root, "self", "5:cpu:/d\n3:memory:/d\n0::/\n");
    make_file(root, "memory/d/memory.limit_in_bytes", "100000000\n");
    check(gasneti_cgroup_memory(root, self) == 100000000, "the limit of a version 1 group");
    check(gasneti_cgroup_memory(root, "/nonexistent") == UINT64_MAX, "no control groups");
    check(gasneti_memory() > 0 && gasneti_memory() <= gasnett_getPhysMemSz(1),
          "no more memory than there is");
    snprintf(path, sizeof path, "rm -rf '%s'", root);
    if (system(path)) abort();
}

static void test_address_space(void)
{
    struct rlimit before, limit;
    char text[200] = "left from before";
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = RLIM_INFINITY;
    const bool free = !setrlimit(RLIMIT_AS, &limit);
    check(!free || (!gasneti_address_space_explain(text, sizeof text) && !*text),
          "no limit on address space: nothing to explain");
    limit.rlim_cur = (rlim_t)1 << 45;
    const bool set = !setrlimit(RLIMIT_AS, &limit);
    check(!set || (gasneti_address_space_explain(text, sizeof text) &&
                   strstr(text, " 34359738368 KB (ulimit -v); raise it")),
          "a limit on address space is named, with its remedy");
    setrlimit(RLIMIT_AS, &before);
}

int main(void)
{
    test_control_groups();
    test_address_space();
    test_getenv_hook();
    test_arguments();
    test_strict();
    test_signal_names();
    test_kept_reports();
    test_memory();
    return check_end();
}
