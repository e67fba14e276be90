/* mapped.h - whether this process can access a range of its memory, and whether the kernel would
 * pin the range for a device.
 *
 * For registrations: the pages are touched, as by one.  Called where a registration was refused,
 * and where libraries without a device decide what a device would do.
 */
#ifndef OTHER_MAPPED_H
#define OTHER_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

enum gasneti_mapped {
    GASNETI_UNMAPPED,   /* a part is not mapped, or not for this access */
    GASNETI_UNPINNABLE, /* can be accessed, but no device: secret memory (memfd_secret), and kernel
                           or device memory that a driver has mapped */
    GASNETI_MAPPED      /* can be accessed; a file system may still refuse to pin it */
};

/* `write`: the range is read and written; else only read. */
enum gasneti_mapped gasneti_mapped(const void *start, size_t size, bool write);

#endif
