/* library.c - finds libsofthca, and checks what the loader will do with it.
 *
 * Called by main before exec. Paths are relative to the file of this program, so that a build tree,
 * an installed tree and a moved one each find their own library.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "other/softhca/src/run/run.h"

static const char name[] = "libsofthca.so";

/* The relative path from BINDIR to LIBDIR, as configured: "../lib/x86_64-linux-gnu". */
static void library_path_to_libdir(char *relative, size_t size)
{
    static const char from[] = SOFTHCA_BINDIR, to[] = SOFTHCA_LIBDIR;
    size_t common = 0, n = 0;
    for (size_t i = 0; from[i] == to[i] && from[i]; i++)
        if (from[i] == '/') common = i + 1;
    for (const char *p = from + common; p && n < size; p = strchr(p + 1, '/'))
        n += snprintf(relative + n, size - n, "../");
    if (n < size) snprintf(relative + n, size - n, "%s", to + common);
}

static bool library_is_there(char *path, size_t size, const char *dir, const char *relative)
{
    char candidate[PATH_MAX + 256], real[PATH_MAX];
    snprintf(candidate, sizeof candidate, "%s/%s/%s", dir, relative, name);
    if (!realpath(candidate, real) || strlen(real) >= size) return false;
    strcpy(path, real);
    return true;
}

bool library_find(char *path, size_t size)
{
    char dir[PATH_MAX], relative[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    if (n < 0) {
        run_say("cannot find %s: /proc is not mounted", name);
        return false;
    }
    dir[n] = 0;
    char *slash = strrchr(dir, '/');
    if (slash) *slash = 0;
    library_path_to_libdir(relative, sizeof relative);
    /* .libs and .: the build tree */
    const char *candidates[] = {".libs", ".", relative, "../lib", "../lib64"};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (library_is_there(path, size, dir, candidates[i])) return true;
    run_say("cannot find %s: not in %s/%s (was it built with --disable-shared?)", name, dir,
            relative);
    return false;
}

bool library_preload(const char *path)
{
    if (strpbrk(path, " :")) {
        run_say("cannot preload %s: the loader takes LD_PRELOAD apart at blanks and colons", path);
        return false;
    }
    const char *others = getenv("LD_PRELOAD");
    char all[32768];
    int n = snprintf(all, sizeof all, "%s%s%s", path, others && *others ? ":" : "",
                     others ? others : "");
    if (n < (int)sizeof all && setenv("LD_PRELOAD", all, 1) == 0) return true;
    run_say("LD_PRELOAD is too long");
    return false;
}

bool program_find(const char *program, char *path, size_t size)
{
    struct stat st;
    const char *dirs = strchr(program, '/') ? "" : getenv("PATH");
    if (!dirs) dirs = "/bin:/usr/bin";
    for (;; dirs++) {
        size_t n = strcspn(dirs, ":");
        const char *slash = n ? "/" : "";
        if (snprintf(path, size, "%.*s%s%s", (int)n, dirs, slash, program) < (int)size &&
            stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
            return true;
        dirs += n;
        if (!*dirs) return false;
    }
}

/* An ELF file without an interpreter is not loaded by ld.so, so LD_PRELOAD has no effect. */
static bool library_is_static(int fd)
{
    Elf64_Ehdr e;
    if (pread(fd, &e, sizeof e, 0) != sizeof e || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
        e.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (int i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr p;
        if (pread(fd, &p, sizeof p, (off_t)(e.e_phoff + (size_t)i * e.e_phentsize)) != sizeof p)
            return false;
        if (p.p_type == PT_INTERP) return false;
    }
    return true;
}

void program_warn(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
                                (st.st_mode & S_ISGID && st.st_gid != getgid())))
        run_say("%s is a set-user-ID or set-group-ID program: the loader will not preload anything "
                "into it",
                path);
    else if (library_is_static(fd))
        run_say("%s is linked statically: the loader cannot preload anything into it (link it with "
                "libsofthca.a)",
                path);
    close(fd);
}
