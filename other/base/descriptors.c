/* descriptors.c - raises the limit of open files; see descriptors.h.
 *
 * The soft limit is often 1024 because select() cannot handle higher descriptors, so it is not
 * raised beyond the number needed.
 */
#include "other/base/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

/* The limit below which `more` numbers are free, counted from 0 past the open descriptors. */
static rlim_t limit_for(unsigned more)
{
    rlim_t limit = 0;
    for (unsigned unused = 0; unused < more; limit++)
        if (fcntl((int)limit, F_GETFD) < 0) unused++;
    return limit;
}

bool gasneti_descriptors_reserve(unsigned more, struct gasneti_descriptors *found)
{
    struct rlimit limit;
    rlim_t needed = limit_for(more);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
    *found = (struct gasneti_descriptors){.needed = needed, .hard = limit.rlim_max};
    if (needed <= limit.rlim_cur) return true;
    if (needed > limit.rlim_max) return false;
    limit.rlim_cur = needed;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}
