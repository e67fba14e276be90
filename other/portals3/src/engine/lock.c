/*
 * lock.c - deferred work of the thread that releases the engine's lock: calls handlers, releases
 * the memory of freed descriptors, wakes sleeping threads.
 *
 * Called without any lock.  Handlers are the program's code.  The thread that deposits an event
 * calls them, one call at a time per queue, but never in a call of the program that starts an
 * operation: then the progress thread calls them, or a call that takes events.
 */
#include "other/portals3/src/engine/engine.h"

static void call_handlers(struct ptli_engine *engine)
{
    for (;;) {
        struct ptli_eq *eq;
        ptli_lock(engine);
        eq = engine->staged_eqs;
        if (eq) {
            engine->staged_eqs = eq->next_staged_eq;
            eq->in_staged_eqs = false;
        } else {
            atomic_store_explicit(&engine->any_staged_eq, false, memory_order_relaxed);
        }
        ptli_mutex_unlock(&engine->lock);
        if (!eq) return;
        ptli_eq_call_handler(eq);
    }
}

void ptli_chores(struct ptli_engine *engine, bool handlers)
{
    struct ptli_md *dead;
    bool handlers_due;
    ptli_lock(engine);
    dead = engine->dead;
    engine->dead = NULL;
    handlers_due = engine->staged_eqs != NULL;
    ptli_mutex_unlock(&engine->lock);
    while (dead) {
        struct ptli_md *md = dead;
        dead = md->next_dead;
        ptli_regions_release(engine, md);
        ptli_lock(engine);
        ptli_md_recycle(engine, md);
        ptli_mutex_unlock(&engine->lock);
    }
    if (!handlers_due) return;
    if (handlers)
        call_handlers(engine);
    else if (engine->transport)
        engine->transport->ops->wake(engine->transport);
}

bool ptli_work(struct ptli_engine *engine)
{
    if (!atomic_load_explicit(&engine->any_staged_eq, memory_order_acquire)) return false;
    call_handlers(engine);
    return true;
}

void ptli_wake_sleepers(struct ptli_engine *engine)
{
    if (atomic_load(&engine->sleepers) == 0) return;
    pthread_mutex_lock(&engine->bell_lock);
    pthread_cond_broadcast(&engine->bell);
    pthread_mutex_unlock(&engine->bell_lock);
}
