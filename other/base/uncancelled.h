/* uncancelled.h - pthread_cancel does not take effect in the rest of a block.
 *
 * A thread that is cancelled in a call of the system leaves at once: locks stay held, messages half
 * sent. So functions of the slow paths that make such calls begin with GASNETI_UNCANCELLED; the
 * thread ends at the next cancellation point of the program's own.
 *
 * Inline, because the libraries that need it share no other code.
 */
#ifndef GASNETI_UNCANCELLED_H
#define GASNETI_UNCANCELLED_H

#include <pthread.h>
#include <stddef.h>

static inline int gasneti_uncancelled(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void gasneti_cancelled_as(const int *before)
{
    if (*before == PTHREAD_CANCEL_ENABLE) pthread_setcancelstate(*before, NULL);
}

/* A declaration, at most one in a block. */
#define GASNETI_UNCANCELLED                                                                        \
    __attribute__((cleanup(gasneti_cancelled_as), unused)) const int gasneti_cancel_state =        \
        gasneti_uncancelled()

#endif
