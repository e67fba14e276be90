/* hostfile.h - reads a host list from a file, or from whatever its name stands for. */
#ifndef HOSTFILE_H
#define HOSTFILE_H

#include <stddef.h>

enum {
    HOSTFILE_MOST = 16 << 20, /* bytes: a million hosts */
    HOSTFILE_WAIT = 5000,     /* ms for the first byte of a pipe, and between two */
};

/* Returns the text, for the caller to free; NULL: `why` says what is wrong.  Regular files and
 * pipes are read, since a shell's <(command) is a pipe. */
char *hostfile_read(const char *path, char *why, size_t why_size);

#endif
