/* alloc.c - what softhca.h exports for memory that peers can map, and for a thread that sleeps.
 *
 * Where programs do not see the device, the memory is ordinary.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "other/softhca/include/softhca.h"
#include "other/softhca/src/interpose/interpose.h"
#include "other/softhca/src/segment/segment.h"
#include "other/softhca/src/verbs/verbs.h"

SHCA_EXPORT void *softhca_alloc(size_t bytes)
{
    if (shca_enabled() && shca_start() == 0) return shca_arena_alloc(bytes);
    /* softhca_free() needs the size: it is kept in a page in front. */
    char *p = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)p = bytes + 4096;
    return p + 4096;
}

SHCA_EXPORT uint32_t *softhca_sleeper(void (*wake)(uint32_t number))
{
    if (!shca_enabled() || shca_start() != 0) return NULL;
    shca.wake = wake;
    return (uint32_t *)&shca.h->sleeper;
}

SHCA_EXPORT void softhca_free(void *block)
{
    if (!block || shca_arena_free(block)) return;
    char *p = (char *)block - 4096;
    munmap(p, *(size_t *)p);
}
