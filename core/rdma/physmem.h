/* physmem.h - how much memory each process may register. */
#ifndef GASNETC_PHYSMEM_H
#define GASNETC_PHYSMEM_H

#include <stdint.h>

/* Bytes of this process's segment that can be registered, from limits alone: no memory is touched.
 * *bound names the limit. */
uint64_t gasnetc_physmem_share(const char **bound);

#endif
