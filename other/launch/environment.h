/* environment.h - two environments become one.  Pure. */
#ifndef SPAWNER_ENVIRONMENT_H
#define SPAWNER_ENVIRONMENT_H

#include <stddef.h>

/* Returns the `given` settings NAME=value and those of `own` whose names are not among them, with
 * NULL behind; for the caller to free, but the strings are not copied.  NULL: out of memory. */
const char **environment_merge(const char *const *given, size_t givens, const char *const *own,
                               size_t owns);

#endif
