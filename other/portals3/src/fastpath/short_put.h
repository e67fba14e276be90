/* short_put.h - the target of short puts: puts without an answer, of so few data that to copy them
 * costs less than to release the engine's lock and to acquire it again.
 *
 * A transport takes the short puts of one round in a run.  A run holds the engine's lock, and the
 * lock of the queue that it writes events to; the events become visible, and sleeping threads wake,
 * when it ends or writes to another queue.  So the locks, the news and the look for sleepers are
 * paid for once.  In a run the transport acquires no lock.
 */
#ifndef PTLI_SHORT_PUT_H
#define PTLI_SHORT_PUT_H

#include "other/portals3/src/engine/engine.h"

struct ptli_short_run {
    struct ptli_engine *engine;
    struct ptli_eq *eq; /* the queue of the run, whose lock is held; NULL: no queue yet */
    uint64_t posted;    /* events of this queue so far, those of the run included */
};

void ptli_short_begin(struct ptli_short_run *run, struct ptli_engine *engine);

/* Before the first message of a peer in the run, and when another peer's have come between: what
 * was admitted may not be any more.  */
static inline void ptli_short_from(const struct ptli_short_run *run, struct ptli_peer *peer)
{
    if (peer->admitted_by != run->engine->access_state) peer->admitted_to = NULL;
}

/* Takes one message of the peer, of `size` bytes.  True: it is a short put, which is done with.
 * False: nothing was done; it is another message, or one that the engine refuses.  */
bool ptli_short_take(struct ptli_short_run *run, struct ptli_peer *peer, const unsigned char *bytes,
                     size_t size);

void ptli_short_end(struct ptli_short_run *run);

#endif
