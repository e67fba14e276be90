/* completion.h - what is to happen when something sent has completed.
 *
 * A counter has one owner, the thread that starts operations on it, and counts upwards on both
 * sides, so that no side ever needs an atomic read-modify-write for a put or a get: `issued` is
 * written by the owner alone, `reaped` by whoever holds the poll lock.  Operations that complete
 * by an Active Message count in `acked`, which handlers of any thread may bump.
 */
#ifndef GASNETC_COMPLETION_H
#define GASNETC_COMPLETION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gasnetc_counter {
    uint32_t issued;
    _Atomic uint32_t reaped;
    _Atomic uint32_t acked;
} gasnetc_counter_t;

/* True when all that was issued has completed; its effects are then visible to the caller. */
static inline bool gasnetc_counter_done(gasnetc_counter_t *counter)
{
    return atomic_load_explicit(&counter->reaped, memory_order_acquire) +
               atomic_load_explicit(&counter->acked, memory_order_acquire) ==
           counter->issued;
}

/* By a handler: one operation of this counter is complete. */
static inline void gasnetc_counter_ack(gasnetc_counter_t *counter)
{
    atomic_fetch_add_explicit(&counter->acked, 1, memory_order_release);
}

/* A resource that an operation in flight holds: a bounce buffer, or a transient registration. */
typedef struct gasnetc_held gasnetc_held_t;

/* What the core attaches to each transfer it posts.  Passed by value, kept by the network until
 * the transfer is complete, then given to gasnetc_sent. */
typedef struct gasnetc_sent {
    gasnetc_counter_t *counter; /* NULL: nobody waits */
    gasnetc_held_t *held;       /* NULL: nothing to free */
    void *copy_to;              /* a bounced get: where the bytes in `held` belong */
    uint32_t copy_length;       /* and how many they are; else 0 */
} gasnetc_sent_t;

/* A get whose destination lies in the first page, as NULL does, where no client has memory: ends
 * the job at the end of this poll, when the poll lock is free. */
enum { GASNETC_FIRST_PAGE = 4096 };
void gasnetc_copy_nowhere(const void *to, size_t nbytes) __attribute__((cold));

/* Frees `held`, after copying a bounced get to its place. */
void gasnetc_release_held(const gasnetc_sent_t *sent);

/* Called by the network, poll lock held, once for each transfer that is complete.  *sent holds
 * nothing afterwards. */
static inline void gasnetc_sent(gasnetc_sent_t *sent)
{
    if (sent->held) {
        gasnetc_release_held(sent);
        sent->held = NULL;
    }
    gasnetc_counter_t *counter = sent->counter;
    if (counter) {
        uint32_t reaped = atomic_load_explicit(&counter->reaped, memory_order_relaxed);
        atomic_store_explicit(&counter->reaped, reaped + 1, memory_order_release);
    }
}

#endif
