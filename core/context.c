/* context.c - handler-safe locks and no-interrupt sections of debug builds, and the checks that
 * need to know of them (section 2.8 of the client interface).
 *
 * Production builds have inline locks in gasnet_hsl.h and never come here.
 */
#include "core/context.h"

#include "gasnet.h"

#ifdef GASNET_DEBUG

#include "core/clock.h"
#include "core/report.h"
#include "core/thread.h"

enum { LONG_HOLD_NS = 1000000000 };

static uint64_t now_ns(void)
{
    return (uint64_t)(gasnetc_clock() * 1e9);
}

void gasnetc_check_may_communicate(const char *call)
{
    gasneti_thread_t *self = gasneti_self();
    if (self->handler_depth)
        gasneti_fatal("%s is called inside an Active Message handler, where only Replies are legal",
                      call);
    if (self->locks) gasneti_fatal("%s is called with a handler-safe lock held", call);
    if (self->interrupts_held)
        gasneti_fatal("%s is called between gasnet_hold_interrupts and gasnet_resume_interrupts",
                      call);
}

void *gasnetc_locks_held(void)
{
    return gasneti_self()->locks;
}

void gasnetc_check_no_new_locks(void *locks, const char *event)
{
    if (gasneti_self()->locks != locks)
        gasneti_fatal("a handler %s with a handler-safe lock held", event);
}

/* Ignored inside handlers and under a lock, as the interface says. */
static bool ignored(const gasneti_thread_t *self)
{
    return self->handler_depth || self->locks;
}

void gasnetc_hold_interrupts(void)
{
    gasneti_thread_t *self = gasneti_self();
    if (ignored(self)) return;
    if (self->interrupts_held)
        gasneti_fatal("gasnet_hold_interrupts is called twice; sections do not nest");
    self->interrupts_held = 1;
}

void gasnetc_resume_interrupts(void)
{
    gasneti_thread_t *self = gasneti_self();
    if (ignored(self)) return;
    if (!self->interrupts_held)
        gasneti_fatal("gasnet_resume_interrupts without gasnet_hold_interrupts");
    self->interrupts_held = 0;
}

/* ---- handler-safe locks ---------------------------------------------------------------------- */

#if GASNETI_THREADS
static void mutex_init(gasnet_hsl_t *hsl)
{
    pthread_mutex_init(&hsl->mutex, NULL);
}
static void mutex_lock(gasnet_hsl_t *hsl)
{
    pthread_mutex_lock(&hsl->mutex);
}
static bool mutex_trylock(gasnet_hsl_t *hsl)
{
    return pthread_mutex_trylock(&hsl->mutex) == 0;
}
static void mutex_unlock(gasnet_hsl_t *hsl)
{
    pthread_mutex_unlock(&hsl->mutex);
}
#else
static void mutex_init(gasnet_hsl_t *hsl)
{
    (void)hsl;
}
static void mutex_lock(gasnet_hsl_t *hsl)
{
    (void)hsl;
}
static bool mutex_trylock(gasnet_hsl_t *hsl)
{
    return hsl->owner == NULL;
}
static void mutex_unlock(gasnet_hsl_t *hsl)
{
    (void)hsl;
}
#endif

static void check_live(const gasnet_hsl_t *hsl, const char *call)
{
    if (hsl->live != GASNETI_HSL_LIVE)
        gasneti_fatal("%s of a handler-safe lock at %p that was not initialised, or was destroyed",
                      call, (const void *)hsl);
}

void gasnetc_hsl_init(gasnet_hsl_t *hsl)
{
    *hsl = (gasnet_hsl_t)GASNET_HSL_INITIALIZER;
    mutex_init(hsl);
}

void gasnetc_hsl_destroy(gasnet_hsl_t *hsl)
{
    check_live(hsl, "gasnet_hsl_destroy");
    if (hsl->owner) gasneti_fatal("gasnet_hsl_destroy of a lock that is held");
    hsl->live = 0;
}

/* The lock is ours: puts it on top of the thread's. */
static void took(gasneti_thread_t *self, gasnet_hsl_t *hsl)
{
    hsl->owner = self;
    hsl->below = self->locks;
    hsl->since = now_ns();
    self->locks = hsl;
}

void gasnetc_hsl_lock(gasnet_hsl_t *hsl)
{
    gasneti_thread_t *self = gasneti_self();
    check_live(hsl, "gasnet_hsl_lock");
    if (__atomic_load_n(&hsl->owner, __ATOMIC_RELAXED) == self)
        gasneti_fatal("gasnet_hsl_lock of a lock that this thread holds: they are not recursive");
    mutex_lock(hsl);
    took(self, hsl);
}

int gasnetc_hsl_trylock(gasnet_hsl_t *hsl)
{
    gasneti_thread_t *self = gasneti_self();
    check_live(hsl, "gasnet_hsl_trylock");
    if (!mutex_trylock(hsl)) return GASNET_ERR_NOT_READY;
    took(self, hsl);
    return GASNET_OK;
}

void gasnetc_hsl_unlock(gasnet_hsl_t *hsl)
{
    gasneti_thread_t *self = gasneti_self();
    check_live(hsl, "gasnet_hsl_unlock");
    if (hsl->owner != self)
        gasneti_fatal("gasnet_hsl_unlock of a lock that this thread does not hold");
    if (self->locks != hsl)
        gasneti_fatal("gasnet_hsl_unlock out of order: another lock was taken after this one");
    if (now_ns() - hsl->since > LONG_HOLD_NS)
        gasneti_warn("a handler-safe lock was held for %.1f s; handlers that want it had to wait",
                     (double)(now_ns() - hsl->since) * 1e-9);
    self->locks = hsl->below;
    __atomic_store_n(&hsl->owner, NULL, __ATOMIC_RELAXED);
    mutex_unlock(hsl);
}

#endif
