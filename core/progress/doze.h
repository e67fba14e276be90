/* doze.h - when a waiting thread sleeps: the state machine of one thread (pure).
 *
 * The thread calls gasnetc_doze_next after it has polled for a while, yielded its processor, and
 * found nothing.  At first it only continues, because the processes that it waits for may have
 * lacked a processor.  This count starts again when others have got on.  Then the thread arms,
 * polls for a while again, and sleeps.
 *
 * Each sleep has a limit, because a program may wait for memory that a neighbour writes, which
 * wakes nobody.  The limit is `first`, and doubles with each sleep, up to `longest`, which the
 * caller may change with each call: what wakes nobody is found at most twice as late.  The thread
 * goes on yielding while `longest` is so short that the sleep would end much later, as sleeps do by
 * the kernel's timer slack of 50 us.  The first sleep is armed without the expensive barrier of
 * bell.h: where processes follow each other closely, as in a barrier, it ends early.
 */
#ifndef GASNETC_DOZE_H
#define GASNETC_DOZE_H

#include <stdbool.h>
#include <stdint.h>

enum gasnetc_doze_act {
    GASNETC_DOZE_GO_ON,
    GASNETC_DOZE_ARM,   /* from now on whatever rings ends the next sleep */
    GASNETC_DOZE_SLEEP, /* at most doze->us; not armed any more */
};

/* Calls before the first sleep; the least `longest` with which a thread sleeps. */
enum { GASNETC_DOZE_PATIENCE = 8, GASNETC_DOZE_LEAST_US = 200 };

/* Zeroed: the thread waits for nothing. */
typedef struct gasnetc_doze {
    uint32_t fruitless; /* calls of gasnetc_doze_next in a row, up to a sleep */
    uint32_t us;        /* of the sleep that it is armed for, or of the last one */
    bool brief;         /* that is the first one */
    bool armed;
} gasnetc_doze_t;

/* The thread has found something, or waits no more. */
static inline void gasnetc_doze_found(gasnetc_doze_t *doze)
{
    *doze = (gasnetc_doze_t){.fruitless = 0};
}

/* The thread has found nothing, but those it waits for have got on.  What is armed stays so, and
 * the next sleep is not shorter.  False if the thread has armed: it must poll before it yields. */
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
