/* memory_limits.h - how much memory this process may use and pin, read from the system; no memory
 * is touched.
 *
 * Called at start-up, and for messages after a registration was refused.
 */
#ifndef OTHER_MEMORY_LIMITS_H
#define OTHER_MEMORY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RLIMIT_MEMLOCK in bytes (ulimit -l); UINT64_MAX: unlimited. */
uint64_t gasneti_memlock_limit(void);

/* RLIMIT_MEMLOCK in bytes, but UINT64_MAX for a process with CAP_IPC_LOCK (not that of a user
 * namespace), which the kernel does not limit. */
uint64_t gasneti_memlock(void);

/* Writes RLIMIT_MEMLOCK as a clause that ends with the remedy; false, and "", if it does not limit
 * this process. For a registration that was refused for lack of memory. */
bool gasneti_memlock_explain(char *text, size_t size);

/* Writes the limit on address space (ulimit -v) as a clause that ends with the remedy; false, and
 * "", if there is no limit. For memory that the system refused. */
bool gasneti_address_space_explain(char *text, size_t size);

/* Bytes of memory that the processes of this host have together: physical memory, or the smallest
 * limit of this process's control groups if that is less. */
uint64_t gasneti_memory(void);

/* The smallest limit of this process's control groups; UINT64_MAX: no limit. `mount` is the folder
 * where control groups are mounted, and `self` the file that names those of the process. */
uint64_t gasneti_cgroup_memory(const char *mount, const char *self);

#endif
