/* stubs.c - libmosal, libmpga and libmtl_common: link lines of old name them.
 *
 * All that any program used of them at run time are these two, by which it opened the driver anew
 * after a fork.
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
