/* program.c - finds the program; see gasnetrun.h.
 *
 * Called by main before any process is started, so that a wrong name is reported once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "other/launch/gasnetrun/gasnetrun.h"

/* 0, or the errno value that says why the file cannot be executed. */
static int program_is_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return errno;
    if (S_ISDIR(st.st_mode)) return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static char *program_in_directory(const char *dir, size_t len, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s/%s", len ? (int)len : 1, len ? dir : ".", name) < 0) return NULL;
    return path;
}

char *program_find(const char *word, char *why, size_t why_size)
{
    if (strchr(word, '/')) {
        int error = program_is_executable(word);
        if (!error) return strdup(word);
        snprintf(why, why_size, "program %s: %s%s", word, strerror(error),
                 error == EACCES ? " (not executable? see chmod +x)" : "");
        return NULL;
    }
    int here = *word ? program_is_executable(word) : ENOENT;
    if (!here) return program_in_directory(".", 1, word);
    const char *path = getenv("PATH");
    for (const char *dir = path ? path : "/usr/bin:/bin"; *word; dir++) {
        size_t len = strcspn(dir, ":");
        char *candidate = program_in_directory(dir, len, word);
        if (candidate && !program_is_executable(candidate)) return candidate;
        free(candidate);
        dir += len;
        if (!*dir) break;
    }
    snprintf(why, why_size, "program \"%s\": %s", word,
             here == EACCES ? "not executable (see chmod +x)"
                            : "not found in the current directory nor along PATH");
    return NULL;
}

static bool program_file_has(const char *path, const char *ident)
{
    struct stat st;
    bool found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            found = memmem(bytes, (size_t)st.st_size, ident, strlen(ident)) != NULL;
            munmap(bytes, (size_t)st.st_size);
        }
    }
    close(fd);
    return found;
}

const char *program_with_ident(char *const *words, const char *ident)
{
    char why[16];
    for (; *words; words++) {
        char *path = **words ? program_find(*words, why, sizeof why) : NULL;
        bool found = path && program_file_has(path, ident);
        free(path);
        if (found) return *words;
    }
    return NULL;
}
