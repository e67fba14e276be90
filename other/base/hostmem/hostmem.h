/* hostmem.h - memory that processes of one host share: files that have no name.
 *
 * A file exists while a process maps it or has it open, so nothing is left behind however the
 * processes end.  Other processes open it by /proc, where the kernel lets only those of the same
 * user in.  Used by the core for segments and by the software verbs device.
 */
#ifndef OTHER_HOSTMEM_H
#define OTHER_HOSTMEM_H

#include <stdbool.h>
#include <stdint.h>

/* A file of a process, as other processes find it. */
typedef struct hostmem_file {
    int32_t pid, fd; /* fd: descriptor of the file in the process pid */
    uint64_t device, inode;
} hostmem_file_t;

/* A sparse file of `size` zero bytes, closed by exec; `name` appears in /proc/PID/maps.  -1 with
 * errno set on failure; EFBIG: the limit of file sizes is smaller, and nothing was tried. */
int hostmem_create(const char *name, uint64_t size);

/* Sets the size of a file from hostmem_create: 0, or -1 with errno as that sets it. */
int hostmem_resize(int fd, uint64_t size);

/* " (CAUSE AND REMEDY)" for an errno value of the calls above; "" if there is nothing to add. */
const char *hostmem_advice(int error);

/* Describes a file of this process; false if that fails. */
bool hostmem_describe(int fd, hostmem_file_t *file);

/* Opens the file of another process for reading and writing.  -1 if this process cannot see it, or
 * may not open it, or the descriptor is another file's by now. */
int hostmem_open(const hostmem_file_t *file);

/* Identifies the processes among which process ids are the same: only those find each other's
 * files.  False if there is no /proc. */
bool hostmem_space(uint64_t space[2]);

#endif
