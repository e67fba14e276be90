/* futex.h - sleep on a word of memory until another thread has changed it and wakes the sleeper.
 *
 * A sleep may end early: the caller reads the word again.  The word for many sleepers
 * (other/base/hostmem/sleepers.h) is for many that sleep on one word.
 */
#ifndef GASNETI_FUTEX_H
#define GASNETI_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The threads that share a word: of this process alone, or of all processes that map it, which
 * costs the kernel more. */
enum gasneti_futex { GASNETI_FUTEX_PRIVATE = FUTEX_PRIVATE_FLAG, GASNETI_FUTEX_SHARED = 0 };

/* Sleeps if the word is `value`: until a wake-up, a signal, or the end of the time (NULL: no
 * limit). */
static inline void gasneti_futex_sleep(_Atomic uint32_t *word, enum gasneti_futex of,
                                       uint32_t value, const struct timespec *time)
{
    syscall(SYS_futex, word, FUTEX_WAIT | (int)of, value, time, NULL, 0);
}

/* Wakes up to `most` of the threads that sleep. */
static inline void gasneti_futex_wake(_Atomic uint32_t *word, enum gasneti_futex of, int most)
{
    syscall(SYS_futex, word, FUTEX_WAKE | (int)of, most, NULL, NULL, 0);
}

#endif
