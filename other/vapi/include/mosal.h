/* mosal.h - Mellanox's operating system layer: what VAPI programs use of it is the base types. */
#ifndef H_MOSAL_H
#define H_MOSAL_H

#include "mtl_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Programs that fork closed and opened the driver anew with these (they look the names up in
 * libmosal at run time).  There is nothing to open: both return 0. */
int mosal_ioctl_open(void);
int mosal_ioctl_close(void);

#ifdef __cplusplus
}
#endif

#endif
