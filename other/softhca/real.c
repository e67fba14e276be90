/* real.c - the libibverbs below us, and how this library speaks to the user.
 *
 * Everything that is not the software device's business goes to the real library, found by name
 * behind us in the search order. No lock is held while forwarding: the real library calls its own
 * exported functions, and those calls come back through the interposer.
 */
#include "object.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *shca_real(const char *name)
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

void shca_say(const char *format, ...)
{
    char text[512];
    int n = snprintf(text, sizeof text, "softhca: ");
    va_list args;
    va_start(args, format);
    n += vsnprintf(text + n, sizeof text - n - 1, format, args);
    va_end(args);
    if (n > (int)sizeof text - 2) n = sizeof text - 2;
    text[n++] = '\n';
    if (write(STDERR_FILENO, text, n) < 0) return; /* one write: lines of processes do not mix */
}
