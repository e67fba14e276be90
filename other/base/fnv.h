/* fnv.h - the FNV-1a hash of bytes, for what processes compare; not against attackers. */
#ifndef GASNETI_FNV_H
#define GASNETI_FNV_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t GASNETI_FNV_START = UINT64_C(0xcbf29ce484222325);

/* The hash of what `hash` is of, followed by these bytes. */
static inline uint64_t gasneti_fnv(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
