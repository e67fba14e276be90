/* printed.h - whether what a program printed on its standard output was written.
 *
 * For programs, at their end: the C library reports a full file system only to programs that ask.
 */
#ifndef GASNETI_PRINTED_H
#define GASNETI_PRINTED_H

#include <errno.h>
#include <stdio.h>

/* Flushes stdout; returns 0, or an errno value if something printed there is lost. */
static inline int gasneti_printed(void)
{
    const int before = ferror(stdout);
    if (fflush(stdout) != 0) return errno;
    return before ? EIO : 0;
}

#endif
