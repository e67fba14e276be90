/* say.c - the real libibverbs, and this library's messages to the user.
 *
 * Real functions are found by name after this library in the search order. No lock is held during a
 * forwarded call: the real library calls its own exported functions, and those calls come back to
 * interpose.c.
 */
#include "other/softhca/src/interpose/edge.h"
#include "other/softhca/src/objects/qp.h"
#include "other/softhca/include/softhca.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *shca_real_verbs(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (f) return f;
    /* libibverbs may not be behind this library, for instance when it is preloaded and the program
     * uses dlopen(). */
    static void *_Atomic library;
    if (!library) library = dlopen("libibverbs.so.1", RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}

int shca_unsupported(void)
{
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

enum { LINE = 512 };

/* Formats one line without its end, and leaves room for that; returns the length. */
static int real_verbs_compose(char text[LINE], const char *format, va_list args)
{
    int n = snprintf(text, LINE, "softhca: ");
    n += vsnprintf(text + n, LINE - n - 1, format, args);
    return n > LINE - 2 ? LINE - 2 : n;
}

static void real_verbs_write_line(char text[LINE], int n)
{
    text[n++] = '\n';
    /* A single write, so that lines of processes do not mix. */
    if (write(STDERR_FILENO, text, n) < 0) return;
}

void shca_say(const char *format, ...)
{
    char text[LINE];
    va_list args;
    va_start(args, format);
    int n = real_verbs_compose(text, format, args);
    va_end(args);
    real_verbs_write_line(text, n);
}

/* The first message about a peer, the cause of later failures. */
static struct {
    pthread_mutex_t lock;
    bool kept; /* the program reads it by softhca_trouble() */
    char line[LINE];
} trouble = {.lock = PTHREAD_MUTEX_INITIALIZER};

void shca_say_of_peer(const char *format, ...)
{
    char text[LINE];
    va_list args;
    va_start(args, format);
    int n = real_verbs_compose(text, format, args);
    va_end(args);
    pthread_mutex_lock(&trouble.lock);
    bool kept = trouble.kept;
    if (!trouble.line[0]) memcpy(trouble.line, text, n + 1);
    pthread_mutex_unlock(&trouble.lock);
    if (!kept) real_verbs_write_line(text, n);
}

SHCA_EXPORT size_t softhca_trouble(char *line, size_t size)
{
    pthread_mutex_lock(&trouble.lock);
    trouble.kept = true;
    size_t n = strlen(trouble.line);
    snprintf(line, size, "%s", trouble.line);
    pthread_mutex_unlock(&trouble.lock);
    return n;
}

void shca_trouble_in_child(void)
{
    pthread_mutex_init(&trouble.lock, NULL);
}
