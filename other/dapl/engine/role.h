/* role.h - the role of an EVD's consumer, which one thread at a time has: only it polls the
 * completion queue, arms it and takes events off the ring.
 *
 * The first thread that enters owns the role, and enters and leaves by plain stores. A second one
 * ends this: it takes the ownership away, makes every thread execute a barrier and waits until the
 * owner is outside; from then on there is a lock of one word. A borrower (role_borrow) does the
 * same, and gives the ownership back.
 */
#ifndef DAPL_ROLE_H
#define DAPL_ROLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ROLE_FREE = 0, ROLE_SHARED = 1, ROLE_BORROWED = 2 }; /* other values of `owner`: a thread */

typedef struct role {
    _Atomic uintptr_t owner;
    _Atomic uint32_t inside; /* the owner is */
    _Atomic uint32_t lock;   /* once it is shared */
} role_t;

/* `shared`: with the lock from the start. */
void role_init(role_t *role, bool shared);
void role_enter_slowly(role_t *role);
/* Returns what role_return wants. */
uintptr_t role_borrow(role_t *role);
void role_return(role_t *role, uintptr_t before);

/* If the calling thread owns the role: enters it, to be left by role_leave_own. */
static inline __attribute__((always_inline)) bool role_enter_own(role_t *role)
{
    uintptr_t self = (uintptr_t)__builtin_thread_pointer();
    if (atomic_load_explicit(&role->owner, memory_order_relaxed) != self) return false;
    atomic_store_explicit(&role->inside, 1, memory_order_relaxed);
    /* The barrier of a thread that takes the ownership away lies between the two, in whichever
     * order. */
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&role->owner, memory_order_acquire) == self) return true;
    atomic_store_explicit(&role->inside, 0, memory_order_release);
    return false;
}

static inline void role_leave_own(role_t *role)
{
    atomic_store_explicit(&role->inside, 0, memory_order_release);
}

static inline void role_enter(role_t *role)
{
    if (!role_enter_own(role)) role_enter_slowly(role);
}

static inline void role_leave(role_t *role)
{
    /* It becomes shared only when the owner is outside, and stays so. */
    if (atomic_load_explicit(&role->owner, memory_order_relaxed) == ROLE_SHARED)
        atomic_store_explicit(&role->lock, 0, memory_order_release);
    else
        role_leave_own(role);
}

#endif
