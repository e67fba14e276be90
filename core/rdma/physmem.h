/* physmem.h - how much memory each process may pin. */
#ifndef GASNETC_PHYSMEM_H
#define GASNETC_PHYSMEM_H

#include <stdint.h>

/* This process's share of what its host's may pin, or at least `wanted` if that is less.
 * Collective. */
uint64_t gasnetc_physmem_share(uint64_t wanted);

#endif
