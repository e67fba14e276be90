/* doze.h - when a waiting thread sleeps: the state machine of one thread (pure).
 *
 * The thread calls gasnetc_doze_next after it has polled for a while, yielded its processor, and
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
#ifndef GASNETC_DOZE_H
#define GASNETC_DOZE_H

#include <stdbool.h>
#include <stdint.h>

enum gasnetc_doze_act {
    GASNETC_DOZE_GO_ON,
    GASNETC_DOZE_ARM,   /* from now on a wake-up ends the next sleep */
    GASNETC_DOZE_SLEEP, /* for at most doze->us; not armed any more */
};

/* Calls before the first sleep; the least `longest` with which a thread sleeps. */
enum { GASNETC_DOZE_PATIENCE = 8, GASNETC_DOZE_LEAST_US = 200 };

/* The state of one thread; zeroed: the thread does not wait. */
typedef struct gasnetc_doze {
    uint32_t fruitless; /* calls of gasnetc_doze_next in a row, up to a sleep */
    uint32_t us;        /* length of the sleep that the thread is armed for, or of the last one */
    bool brief;         /* that sleep is the first of this wait */
    bool armed;
} gasnetc_doze_t;

/* The thread has found an event, or waits no more. */
static inline void gasnetc_doze_found(gasnetc_doze_t *doze)
{
    *doze = (gasnetc_doze_t){.fruitless = 0};
}

/* The thread has found nothing, but processes that it waits for have made progress: the count of
 * calls before a sleep starts again.  False, with nothing changed, if the thread has armed: it must
 * poll before it yields. */
static inline bool gasnetc_doze_others_got_on(gasnetc_doze_t *doze)
{
    if (doze->armed) return false;
    doze->fruitless = 0;
    return true;
}

/* The thread did not sleep, and is still armed. */
static inline void gasnetc_doze_not_yet(gasnetc_doze_t *doze)
{
    doze->armed = true;
}

/* The thread has found nothing; `first` and `longest` are in us. */
static inline enum gasnetc_doze_act gasnetc_doze_next(gasnetc_doze_t *doze, uint32_t first,
                                                      uint32_t longest)
{
    if (doze->fruitless < GASNETC_DOZE_PATIENCE) {
        doze->fruitless++;
        return GASNETC_DOZE_GO_ON;
    }
    if (!doze->armed && longest < GASNETC_DOZE_LEAST_US) return GASNETC_DOZE_GO_ON;
    doze->armed = !doze->armed;
    if (!doze->armed) return GASNETC_DOZE_SLEEP;
    doze->brief = doze->us == 0;
    doze->us = doze->brief ? first : 2 * doze->us;
    if (doze->us > longest) doze->us = longest;
    return GASNETC_DOZE_ARM;
}

#endif
