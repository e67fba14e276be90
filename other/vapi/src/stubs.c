/* stubs.c - libmosal, libmpga and libmtl_common, for existing link lines.
 *
 * Programs use only these two functions of them, to reopen the driver after a fork.
 */
#include "public.h"

int mosal_ioctl_open(void)
{
    return 0;
}

int mosal_ioctl_close(void)
{
    return 0;
}
