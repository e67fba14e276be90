/* hostfile.c - reads a file of hosts; see hostfile.h.
 *
 * Called by the launcher before it starts anything, when signals still end it.  Must not wait for
 * ever, nor read without end.
 */
#define _GNU_SOURCE
#include "other/launch/hostfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int hostfile_open(const char *path, char *why, size_t why_size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        snprintf(why, why_size, "%s", strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        snprintf(why, why_size, "%s", strerror(EISDIR));
    } else if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) {
        snprintf(why, why_size, "it is a device or a socket; a file or a pipe is needed");
    } else {
        return fd;
    }
    if (fd >= 0) close(fd);
    return -1;
}

/* Returns the number of bytes read, 0 at the end, -1 with `why`.  The end of a pipe that no process
 * has opened for writing yet is not its end. */
static ssize_t hostfile_read_some(int fd, char *to, size_t size, char *why, size_t why_size)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    for (;;) {
        int events = poll(&ready, 1, HOSTFILE_WAIT); /* at once for a regular file */
        if (events == 0) {
            snprintf(why, why_size,
                     "it is a pipe, and no process has written to it for %d s; is one to?",
                     HOSTFILE_WAIT / 1000);
            return -1;
        }
        ssize_t got = events < 0 ? -1 : read(fd, to, size);
        if (got >= 0) return got;
        if (errno == EINTR || errno == EAGAIN) continue;
        snprintf(why, why_size, "%s", strerror(errno));
        return -1;
    }
}

static unsigned hostfile_line_of(const char *text, const char *at)
{
    unsigned line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

/* Returns NULL with `why`, or the bytes with a null behind them. */
static char *hostfile_read_all(int fd, size_t *len, char *why, size_t why_size)
{
    size_t cap = 0;
    char *text = NULL;
    *len = 0;
    for (;;) {
        if (*len + 1 >= cap) {
            cap = cap ? 2 * cap : 65536;
            char *grown = realloc(text, cap);
            if (!grown) {
                snprintf(why, why_size, "out of memory");
                break;
            }
            text = grown;
        }
        ssize_t got = hostfile_read_some(fd, text + *len, cap - *len - 1, why, why_size);
        if (got < 0) break;
        *len += (size_t)got;
        text[*len] = 0;
        if (got == 0) return text;
        if (*len > HOSTFILE_MOST) {
            snprintf(why, why_size, "it has more than %d MiB; is it a list of hosts?",
                     HOSTFILE_MOST >> 20);
            break;
        }
    }
    free(text);
    return NULL;
}

char *hostfile_read(const char *path, char *why, size_t why_size)
{
    size_t len;
    int fd = hostfile_open(path, why, why_size);
    if (fd < 0) return NULL;
    char *text = hostfile_read_all(fd, &len, why, why_size);
    close(fd);
    const char *null = text ? memchr(text, 0, len) : NULL;
    if (!null) return text;
    snprintf(why, why_size, "line %u has a null byte; is it a text file?",
             hostfile_line_of(text, null));
    free(text);
    return NULL;
}
