/* bounds.c - the message about a remote range outside the segment of its rank. */
#include "core/rdma/bounds.h"

#include "core/report.h"

void gasnetc_out_of_segment(const gasnetc_peer_t *peer, uintptr_t start, size_t nbytes,
                            const char *what)
{
    gasnetc_require_attached(what);
    gasneti_fatal("%s of %zu bytes at %#lx is outside the segment of %s, which is [%#lx, %#lx)",
                  what, nbytes, (unsigned long)start, gasneti_rank_name(peer->net.rank),
                  (unsigned long)peer->segment.base,
                  (unsigned long)(peer->segment.base + peer->segment.size));
}
