/* environment.h - how the libraries read the environment of their process.
 *
 * A variable may name a file to write, code to load or a program to run. So a program that runs
 * with more rights than the user that started it (set-user-ID, set-group-ID, file capabilities)
 * ignores the user's variables: each has its default. Programs of the project, which are never
 * installed with such rights, use getenv.
 */
#ifndef OTHER_TOOLS_ENVIRONMENT_H
#define OTHER_TOOLS_ENVIRONMENT_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>

/* True if the process has rights that the user that started it may lack. Async-signal-safe. */
static inline bool gasneti_has_more_rights(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Value of the variable as getenv returns it; NULL in a process with more rights than its user. */
static inline char *gasneti_variable(const char *name)
{
    return gasneti_has_more_rights() ? NULL : getenv(name);
}

/* The entries "NAME=VALUE", with a NULL at the end; none in a process with more
 * rights than its user. */
static inline char **gasneti_variables(void)
{
    static char *none[1];
    extern char **environ;
    return gasneti_has_more_rights() || !environ ? none : environ;
}

#endif
