/* backoff.h - how a waiting thread backs off: when it yields, and when it sleeps; the state machine
 * of one thread (pure).
 *
 * The thread calls gasnetc_backoff_next after it has polled for a while, yielded its processor, and
 * found nothing.  The first calls only let it continue, because the processes that it waits for may
 * have lacked a processor.  The count of these calls starts again when other processes have made
 * progress.  Then the thread arms (announces that it is to be woken), polls for a while again, and
 * sleeps.
 *
 * Each sleep has a limit, because a program may wait for memory that a shared-memory peer writes,
 * which wakes nobody.  The limit is `first`, and doubles with each sleep, up to `longest`, which
 * the caller may change with each call: an event that wakes nobody is found at most twice as late.
 * The thread only yields while `longest` is so short that the kernel's timer slack of 50 us would
 * make the sleep much longer.  The first sleep is armed without the expensive barrier of
 * sleepers.h: where processes follow each other closely, as in a barrier, such a sleep ends early.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum gasnetc_backoff_act {
    GASNETC_BACKOFF_GO_ON,
    GASNETC_BACKOFF_ARM,   /* from now on a wake-up ends the next sleep */
    GASNETC_BACKOFF_SLEEP, /* for at most backoff->us; not armed any more */
};

/* Calls before the first sleep; the least `longest` with which a thread sleeps. */
enum { GASNETC_BACKOFF_PATIENCE = 8, GASNETC_BACKOFF_LEAST_US = 200 };

/* The state of one thread; zeroed: the thread does not wait. */
typedef struct gasnetc_backoff {
    uint32_t fruitless; /* calls of gasnetc_backoff_next in a row, up to a sleep */
    uint32_t us;        /* length of the sleep that the thread is armed for, or of the last one */
    bool brief;         /* that sleep is the first of this wait */
    bool armed;
} gasnetc_backoff_t;

/* The thread has found an event, or waits no more. */
static inline void gasnetc_backoff_found(gasnetc_backoff_t *backoff)
{
    *backoff = (gasnetc_backoff_t){.fruitless = 0};
}

/* The thread has found nothing, but processes that it waits for have made progress: the count of
 * calls before a sleep starts again.  False, with nothing changed, if the thread has armed: it must
 * poll before it yields. */
static inline bool gasnetc_backoff_others_got_on(gasnetc_backoff_t *backoff)
{
    if (backoff->armed) return false;
    backoff->fruitless = 0;
    return true;
}

/* The thread did not sleep, and is still armed. */
static inline void gasnetc_backoff_not_yet(gasnetc_backoff_t *backoff)
{
    backoff->armed = true;
}

/* The thread has found nothing; `first` and `longest` are in us. */
static inline enum gasnetc_backoff_act gasnetc_backoff_next(gasnetc_backoff_t *backoff,
                                                            uint32_t first, uint32_t longest)
{
    if (backoff->fruitless < GASNETC_BACKOFF_PATIENCE) {
        backoff->fruitless++;
        return GASNETC_BACKOFF_GO_ON;
    }
    if (!backoff->armed && longest < GASNETC_BACKOFF_LEAST_US) return GASNETC_BACKOFF_GO_ON;
    backoff->armed = !backoff->armed;
    if (!backoff->armed) return GASNETC_BACKOFF_SLEEP;
    backoff->brief = backoff->us == 0;
    backoff->us = backoff->brief ? first : 2 * backoff->us;
    if (backoff->us > longest) backoff->us = longest;
    return GASNETC_BACKOFF_ARM;
}
