/* connect_guard.c - see connect_guard.h. */
#include "other/portals3/src/transport/connect_guard.h"

enum ptli_verdict ptli_guard_judge(const ptli_guard_t *guard, uint64_t self,
                                   const ptli_connect_payload_t *message)
{
    if (message->your_life != self) return PTLI_STALE;
    return guard && message->number <= guard->heard ? PTLI_REPEATED : PTLI_NEW;
}

void ptli_guard_accept(ptli_guard_t *guard, const ptli_connect_payload_t *message)
{
    guard->life = message->life;
    guard->heard = message->number;
}

bool ptli_guard_challenged(ptli_guard_t *guard, uint64_t self, uint64_t named, uint64_t number,
                           uint64_t life)
{
    if (named != self || !guard->sent || number != guard->sent || guard->life == life) return false;
    guard->life = life;
    return true;
}
