/* role.c - the role of an EVD's consumer, where a second thread wants it: see role.h. */
#include "other/dapl/src/engine/role.h"

#include "other/base/completion-queues/os.h"

void role_init(role_t *role, bool shared)
{
    atomic_init(&role->owner, shared || !dapl_os_barrier_ready() ? ROLE_SHARED : ROLE_FREE);
    atomic_init(&role->inside, 0);
    role->lock = (gasneti_spin_t){0};
}

/* Changes the owner from `owner` to `to`; the former owner is outside when this returns true. */
static bool role_take_away(role_t *role, uintptr_t owner, uintptr_t to)
{
    if (!atomic_compare_exchange_strong(&role->owner, &owner, to)) return false;
    if (owner == ROLE_FREE || owner == (uintptr_t)__builtin_thread_pointer()) return true;
    dapl_os_barrier();
    for (unsigned round = 0; atomic_load_explicit(&role->inside, memory_order_acquire); round++)
        dapl_os_yield(round / 4);
    return true;
}

void role_enter_slowly(role_t *role)
{
    uintptr_t self = (uintptr_t)__builtin_thread_pointer();
    for (unsigned round = 0;; round++) {
        uintptr_t owner = atomic_load_explicit(&role->owner, memory_order_acquire);
        if (owner == ROLE_SHARED) {
            gasneti_spin_lock(&role->lock);
            return;
        }
        if (owner == ROLE_BORROWED) {
            dapl_os_yield(round);
        } else if (owner == ROLE_FREE) {
            atomic_compare_exchange_strong(&role->owner, &owner, self);
        } else if (owner == self) {
            role_enter(role); /* this thread's ownership was borrowed, and has just been returned */
            return;
        } else if (role_take_away(role, owner, ROLE_BORROWED)) {
            gasneti_spin_lock(&role->lock); /* free: no thread used it before */
            atomic_store_explicit(&role->owner, ROLE_SHARED, memory_order_release);
            return;
        }
    }
}

uintptr_t role_borrow(role_t *role)
{
    for (unsigned round = 0;; round++) {
        uintptr_t owner = atomic_load_explicit(&role->owner, memory_order_acquire);
        if (owner == ROLE_SHARED) {
            gasneti_spin_lock(&role->lock);
            return ROLE_SHARED;
        }
        if (owner == ROLE_BORROWED)
            dapl_os_yield(round);
        else if (role_take_away(role, owner, ROLE_BORROWED))
            return owner;
    }
}

void role_return(role_t *role, uintptr_t before)
{
    if (before == ROLE_SHARED)
        role_leave(role);
    else
        atomic_store_explicit(&role->owner, before, memory_order_release);
}
