/* segment_unpinned.c - SEGMENT_LARGE and SEGMENT_EVERYTHING: attach registers nothing.
 *
 * In LARGE a segment is one range of memory per rank, which may be larger than what may be
 * registered.  In EVERYTHING a segment is all of the address space of the process.  The
 * registration cache registers the parts that peers use (remote.h).
 */
#include <sys/mman.h>

#include "core/rdma/published.h"
#include "core/rdma/segment.h"
#include "gasnet.h"

#ifdef GASNET_SEGMENT_EVERYTHING
enum { EVERYTHING = 1 };
#else
enum { EVERYTHING = 0 };
#endif

void gasnetc_segment_limits(void)
{
    const char *bound;
    const uint64_t asked = gasnetc_segment_asked(&bound);
    gasnetc_segment_agree(EVERYTHING ? UINTPTR_MAX : gasnetc_segment_pages(asked), bound);
}

/* Maps the segment: pages are allocated when they are touched, and swap space is not reserved. */
static void *map_segment(uintptr_t size)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) gasnetc_segment_not_allocated(size);
    return base;
}

int gasnetc_segment_attach(uintptr_t size)
{
    if (EVERYTHING) {
        gasnetc_segment_exchange(0, UINTPTR_MAX);
        return GASNET_OK;
    }
    const int error = gasnetc_segment_check(size);
    if (error != GASNET_OK) return error;
    void *base = size ? map_segment(size) : NULL;
    if (gasnet_client_attach_hook) gasnet_client_attach_hook(base, size);
    gasnetc_segment_exchange((uintptr_t)base, size);
    return GASNET_OK;
}

void gasnetc_segment_close(void) {}

/* The registration cache registers what peers use of it. */
bool gasnetc_created_pin(gasnetc_created_t *created, char *why, size_t why_size)
{
    (void)created, (void)why, (void)why_size;
    return true;
}

void gasnetc_created_unpin(gasnetc_created_t *created)
{
    (void)created;
}
