/* say.c - this library's messages to the user. */
#include "other/softhca/src/settings/say.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "other/softhca/include/softhca.h"

enum { LINE = 512 };

/* Formats one line without its end, and leaves room for that; returns the length. */
static int say_compose(char text[LINE], const char *format, va_list args)
{
    int n = snprintf(text, LINE, "softhca: ");
    n += vsnprintf(text + n, LINE - n - 1, format, args);
    return n > LINE - 2 ? LINE - 2 : n;
}

static void say_write_line(char text[LINE], int n)
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
    int n = say_compose(text, format, args);
    va_end(args);
    say_write_line(text, n);
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
    int n = say_compose(text, format, args);
    va_end(args);
    pthread_mutex_lock(&trouble.lock);
    bool kept = trouble.kept;
    if (!trouble.line[0]) memcpy(trouble.line, text, n + 1);
    pthread_mutex_unlock(&trouble.lock);
    if (!kept) say_write_line(text, n);
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
