/* checks.c - checks of the arguments of every transfer and barrier, in debug builds.
 *
 * Called by the inline functions of gasnet_extended.h, which are empty in production builds.
 */
#include "extended-ref/handles.h"

#ifdef GASNET_DEBUG

#include "core/report.h"
#include "extended-ref/internal_am.h"

void gasnete_check_remote(const char *call, gasnet_node_t node, const void *start, size_t nbytes)
{
    gasnete_check_transfer(call, node);
    if (nbytes) gasnete_check_segment(node, start, nbytes, call);
}

/* The private bit of GASNET_BARRIERFLAG_UNNAMED alone is not a valid flag.  */
void gasnete_check_barrier(const char *call, int flags)
{
    const int bits[] = {GASNET_BARRIERFLAG_UNNAMED, GASNET_BARRIERFLAG_ANONYMOUS,
                        GASNET_BARRIERFLAG_MISMATCH, GASNET_BARRIERFLAG_IMAGES};
    int unknown = flags;
    gasnetc_check_may_communicate(call);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if ((unknown & bits[i]) == bits[i]) unknown &= ~bits[i];
    if (unknown)
        gasneti_fatal(
            "%s is given the flags 0x%x, of which 0x%x is unknown: they are 0 or a sum of "
            "GASNET_BARRIERFLAG_ values",
            call, (unsigned)flags, (unsigned)unknown);
}

#endif
