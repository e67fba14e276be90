/* real_verbs.c - the libibverbs below us, and how this library speaks to the user.
 *
 * Everything that is not the software device's business goes to the real library, found by name
 * behind us in the search order. No lock is held while forwarding: the real library calls its own
 * exported functions, and those calls come back through the interposer.
 */
#include "other/softhca/interpose/edge.h"
#include "other/softhca/objects/object.h"
#include "other/softhca/softhca.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *shca_real_verbs(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (f) return f;
    /* A program may have us without libibverbs behind us, for instance preloaded and dlopened. */
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

/* A whole line without its end, and room for that; the length. */
static int real_verbs_compose(char text[LINE], const char *format, va_list args)
{
    int n = snprintf(text, LINE, "softhca: ");
    n += vsnprintf(text + n, LINE - n - 1, format, args);
    return n > LINE - 2 ? LINE - 2 : n;
}

static void real_verbs_write_line(char text[LINE], int n)
{
    text[n++] = '\n';
    if (write(STDERR_FILENO, text, n) < 0) return; /* one write: lines of processes do not mix */
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

/* The first of these is the cause of what follows. */
static struct {
    pthread_mutex_t lock;
    bool kept; /* the program asks for it */
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
