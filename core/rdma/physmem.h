/* physmem.h - how much memory each process may register. */
#ifndef GASNETC_PHYSMEM_H
#define GASNETC_PHYSMEM_H

#include <stdint.h>

/* This process's share of the bytes that the processes of its host may register.  A share of more
 * than `wanted` may be reported as less, but not less than `wanted`.  Collective. */
uint64_t gasnetc_physmem_share(uint64_t wanted);

#endif
