/* role.h - the role of an EVD's consumer, which one thread at a time has: only it polls the
 * completion queue, arms it and takes events off the ring.
 *
 * The first thread that enters owns the role, and enters and leaves by plain stores. A second one
 * ends this: it takes the ownership away, makes every thread execute a barrier and waits until the
 * owner is outside; from then on there is a lock (other/base/spin.h). A borrower (role_borrow) also
 * takes the ownership away, and later returns it.
 */
#ifndef DAPL_ROLE_H
#define DAPL_ROLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "other/base/spin.h"

enum { ROLE_FREE = 0, ROLE_SHARED = 1, ROLE_BORROWED = 2 }; /* other values of `owner`: a thread */

typedef struct role {
    _Atomic uintptr_t owner;
    _Atomic uint32_t inside; /* the owner is inside */
    gasneti_spin_t lock;     /* used once owner is ROLE_SHARED */
} role_t;

/* Initialises a role. `shared`: with the lock from the start. */
void role_init(role_t *role, bool shared);
void role_enter_slowly(role_t *role);
/* Borrows the role; role_return needs the result. */
uintptr_t role_borrow(role_t *role);
void role_return(role_t *role, uintptr_t before);

/* Enters the role if the calling thread owns it; to be left by role_leave_own. */
static inline __attribute__((always_inline)) bool role_enter_own(role_t *role)
{
    uintptr_t self = (uintptr_t)__builtin_thread_pointer();
    if (atomic_load_explicit(&role->owner, memory_order_relaxed) != self) return false;
    atomic_store_explicit(&role->inside, 1, memory_order_relaxed);
    /* The barrier of a thread that takes the ownership away is executed between this store and this
     * load, in whichever order. */
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
    /* A role becomes shared only when the owner is outside, and stays shared. */
    if (atomic_load_explicit(&role->owner, memory_order_relaxed) == ROLE_SHARED)
        gasneti_spin_unlock(&role->lock);
    else
        role_leave_own(role);
}

#endif
