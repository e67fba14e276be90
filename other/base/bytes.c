/* bytes.c - checksum and count of zero bytes, for clients that verify data.
 *
 * Any alignment, any length.
 */
#include "config.h"

#include "fnv.h"
#include "tools.h"

/* Depends on the order of the bytes. */
uint64_t gasnett_checksum(const void *p, int nbytes)
{
    const uint64_t sum = gasneti_fnv(GASNETI_FNV_START, p, nbytes > 0 ? (size_t)nbytes : 0);
    return sum ^ sum >> 29;
}

/* Plain loops, which the compiler vectorizes. */
size_t gasnett_count0s(const void *src, size_t n)
{
    const unsigned char *byte = src;
    size_t zeros = 0;
    for (size_t i = 0; i < n; i++) zeros += byte[i] == 0;
    return zeros;
}

size_t gasnett_count0s_copy(void *restrict dst, const void *restrict src, size_t n)
{
    const unsigned char *from = src;
    unsigned char *to = dst;
    size_t zeros = 0;
    for (size_t i = 0; i < n; i++) zeros += (to[i] = from[i]) == 0;
    return zeros;
}
