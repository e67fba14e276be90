/* context.c - handler-safe locks and no-interrupt sections of debug builds, and the checks that
 * depend on them (section 2.8 of the client interface).
 *
 * In other builds the locks are inline in gasnet_hsl.h, and this file is empty.
 */
#include "core/am/context.h"

#include "gasnet.h"

#ifdef GASNET_DEBUG

#include <stdatomic.h>

#include "core/am/am.h"
#include "core/job/thread.h"
#include "core/report.h"
#include "other/base/clock.h"

enum { LONG_HOLD_NS = 1000000000 };

static uint64_t now_ns(void)
{
    return (uint64_t)(gasneti_clock() * 1e9);
}

/* --- the context of a call --- */

void gasneti_check_phase(const char *call, int attached)
{
    if (gasnetc_phase == GASNETC_BEFORE_INIT)
        gasneti_fatal("%s is called before gasnet_init: call gasnet_init and gasnet_attach first, "
                      "and check what they return",
                      call);
    if (attached && gasnetc_phase == GASNETC_BEFORE_ATTACH)
        gasneti_fatal("%s is called before gasnet_attach, and is legal only after it", call);
}

/* The context of the calling thread in words; NULL in plain client code. */
static const char *place(void)
{
    const gasneti_thread_t *self = gasneti_self();
    return gasneti_handler_depth() ? "inside an Active Message handler"
           : self->locks           ? "with a handler-safe lock held"
           : self->interrupts_held ? "between gasnet_hold_interrupts and gasnet_resume_interrupts"
           : self->prepared        ? "while a payload is prepared"
                                   : NULL;
}

/* True at the first call for each name, which is a literal: compared by address. */
static bool is_new(const char *call)
{
    static const char *_Atomic reported[8];
    for (unsigned i = 0; i < sizeof reported / sizeof *reported; i++) {
        const char *other = NULL;
        if (atomic_compare_exchange_strong(&reported[i], &other, call)) return true;
        if (other == call) return false;
    }
    return false;
}

/* Warns of a call in a context where the interface does not allow it, but which is harmless in this
 * implementation. */
void gasneti_check_query(const char *call, int phase)
{
    if (phase > 0) gasneti_check_phase(call, phase > 1);
    if (gasnetc_phase == GASNETC_BEFORE_INIT) return;
    const char *where = place();
    if (where && is_new(call))
        gasneti_warn("%s is called %s, where the interface does not allow it and another "
                     "implementation may fail: call it earlier and keep the result",
                     call, where);
}

void gasneti_check_client_code(const char *call)
{
    gasnetc_check_may_communicate(call);
}

void gasnetc_note_prepared(const char *call)
{
    gasneti_self()->prepared = call;
}

/* Fatal while a payload is prepared. */
static void check_not_prepared(const char *call)
{
    const char *prepared = gasneti_self()->prepared;
    if (prepared)
        gasneti_fatal("%s is called between %s and its Commit or Cancel, where communication is "
                      "not legal",
                      call, prepared);
}

void gasnetc_check_may_communicate(const char *call)
{
    gasneti_check_phase(call, true);
    gasnetc_check_client_code(call);
}

void gasnetc_check_client_code(const char *call)
{
    gasneti_thread_t *self = gasneti_self();
    if (gasneti_handler_depth())
        gasneti_fatal("%s is called inside an Active Message handler, where only Replies are legal",
                      call);
    if (self->locks) gasneti_fatal("%s is called with a handler-safe lock held", call);
    if (self->interrupts_held)
        gasneti_fatal("%s is called between gasnet_hold_interrupts and gasnet_resume_interrupts",
                      call);
    check_not_prepared(call);
}

static bool classic_refused;

void gasnetc_refuse_classic(void)
{
    classic_refused = true;
}

void gasneti_check_classic(const char *call)
{
    if (classic_refused)
        gasneti_fatal("%s is a call of GASNet-1, and gex_Client_Init was called without "
                      "GEX_FLAG_USES_GASNET1",
                      call);
}

/* --- handlers and their tokens --- */

void gasnetc_handler_begins(gasnetc_token_t *token)
{
    gasneti_thread_t *self = gasneti_self();
    token->locks = self->locks;
    token->outer = self->token;
    self->token = token;
}

static void check_no_new_locks(const gasnetc_token_t *token, const char *event)
{
    if (gasneti_self()->locks != token->locks)
        gasneti_fatal("a handler %s with a handler-safe lock held", event);
}

void gasnetc_handler_ends(const gasnetc_token_t *token)
{
    check_no_new_locks(token, "returns");
    gasneti_self()->token = token->outer;
}

void gasnetc_check_reply(const gasnetc_token_t *token)
{
    check_no_new_locks(token, "replies");
    check_not_prepared("an Active Message Reply");
}

void gasnetc_check_in_handler(const char *call, const gasnetc_token_t *token)
{
    /* The library itself has messages before attach, and so handlers. */
    gasneti_check_phase(call, !gasneti_self()->token);
    if (!gasneti_self()->token)
        gasneti_fatal("%s is called outside a handler, with the token %p: a token is valid until "
                      "its handler returns, and only in the thread that runs the handler",
                      call, (const void *)token);
}

void gasnetc_check_token(const char *call, const gasnetc_token_t *token)
{
    gasnetc_check_in_handler(call, token);
    const void *valid = gasneti_self()->token;
    if (token != valid)
        gasneti_fatal("%s is given the token %p, but that of the running handler is %p", call,
                      (const void *)token, valid);
}

/* --- no-interrupt sections --- */

/* True where the interface ignores no-interrupt sections: inside handlers, and with a handler-safe
 * lock held. */
static bool ignored(const gasneti_thread_t *self)
{
    return gasneti_handler_depth() || self->locks;
}

void gasnetc_hold_interrupts(void)
{
    gasneti_check_phase("gasnet_hold_interrupts", false);
    gasneti_thread_t *self = gasneti_self();
    if (ignored(self)) return;
    if (self->interrupts_held)
        gasneti_fatal("gasnet_hold_interrupts is called twice; sections do not nest");
    self->interrupts_held = 1;
    self->interrupts_since = now_ns();
}

void gasnetc_resume_interrupts(void)
{
    gasneti_check_phase("gasnet_resume_interrupts", false);
    gasneti_thread_t *self = gasneti_self();
    if (ignored(self)) return;
    if (!self->interrupts_held)
        gasneti_fatal("gasnet_resume_interrupts without gasnet_hold_interrupts");
    self->interrupts_held = 0;
    uint64_t held = now_ns() - self->interrupts_since;
    if (held > LONG_HOLD_NS)
        gasneti_warn("interrupts were held for %.1f s, in which this thread ran no handler: "
                     "resume them earlier",
                     (double)held * 1e-9);
}

/* --- handler-safe locks --- */

#if GASNETI_HSL_LOCKS
static void mutex_init(gasnet_hsl_t *hsl)
{
    pthread_mutex_init(&hsl->lock.lock, NULL);
}
static void mutex_lock(gasnet_hsl_t *hsl)
{
    pthread_mutex_lock(&hsl->lock.lock);
    gasneti_holder_take(&hsl->lock.holder);
}
static bool mutex_trylock(gasnet_hsl_t *hsl)
{
    if (pthread_mutex_trylock(&hsl->lock.lock)) return false;
    gasneti_holder_take(&hsl->lock.holder);
    return true;
}
static void mutex_unlock(gasnet_hsl_t *hsl)
{
    gasneti_holder_drop(&hsl->lock.holder);
    pthread_mutex_unlock(&hsl->lock.lock);
}
static bool is_held(const gasnet_hsl_t *hsl)
{
    return hsl->lock.holder.held;
}
static bool is_mine(gasnet_hsl_t *hsl)
{
    return gasneti_holder_is_me(&hsl->lock.holder);
}
#else
static void mutex_init(gasnet_hsl_t *hsl)
{
    hsl->lock.held = 0;
}
static void mutex_lock(gasnet_hsl_t *hsl)
{
    hsl->lock.held = 1;
}
static bool mutex_trylock(gasnet_hsl_t *hsl)
{
    if (hsl->lock.held) return false;
    hsl->lock.held = 1;
    return true;
}
static void mutex_unlock(gasnet_hsl_t *hsl)
{
    hsl->lock.held = 0;
}
static bool is_held(const gasnet_hsl_t *hsl)
{
    return hsl->lock.held;
}
static bool is_mine(gasnet_hsl_t *hsl)
{
    return hsl->lock.held;
}
#endif

static void check_live(const gasnet_hsl_t *hsl, const char *call)
{
    gasneti_check_phase(call, false);
    if (hsl->live != GASNETI_HSL_LIVE && hsl->live != GASNETI_HSL_STATIC)
        gasneti_fatal("%s of a handler-safe lock at %p that was not initialised, or was destroyed",
                      call, (const void *)hsl);
}

/* Memory of a lock that was freed without being destroyed looks like an initialised lock; so only a
 * lock that is static or held is a fatal error. */
static void check_not_live(const gasnet_hsl_t *hsl)
{
    if (hsl->live == GASNETI_HSL_STATIC)
        gasneti_fatal("gasnet_hsl_init of a handler-safe lock at %p that GASNET_HSL_INITIALIZER "
                      "has initialised: a lock is initialised once, in one of the two ways",
                      (const void *)hsl);
    if (hsl->live == GASNETI_HSL_LIVE && is_held(hsl))
        gasneti_fatal("gasnet_hsl_init of a handler-safe lock at %p that is held",
                      (const void *)hsl);
    if (hsl->live == GASNETI_HSL_LIVE)
        gasneti_warn("gasnet_hsl_init of a handler-safe lock at %p that is initialised already, "
                     "or whose memory was freed without gasnet_hsl_destroy",
                     (const void *)hsl);
}

void gasnetc_hsl_init(gasnet_hsl_t *hsl)
{
    gasneti_check_phase("gasnet_hsl_init", false);
    check_not_live(hsl);
    *hsl = (gasnet_hsl_t)GASNET_HSL_INITIALIZER;
    hsl->live = GASNETI_HSL_LIVE;
    mutex_init(hsl);
}

void gasnetc_hsl_destroy(gasnet_hsl_t *hsl)
{
    check_live(hsl, "gasnet_hsl_destroy");
    if (is_held(hsl)) gasneti_fatal("gasnet_hsl_destroy of a lock that is held");
    hsl->live = 0;
}

/* The thread has acquired the lock: pushes it on the thread's list. */
static void took(gasneti_thread_t *self, gasnet_hsl_t *hsl)
{
    hsl->below = self->locks;
    hsl->since = now_ns();
    self->locks = hsl;
}

void gasnetc_hsl_lock(gasnet_hsl_t *hsl)
{
    gasneti_thread_t *self = gasneti_self();
    check_live(hsl, "gasnet_hsl_lock");
    if (is_mine(hsl))
        gasneti_fatal("gasnet_hsl_lock of a lock that this thread holds: they are not recursive");
    mutex_lock(hsl);
    took(self, hsl);
}

int gasnetc_hsl_trylock(gasnet_hsl_t *hsl)
{
    gasneti_thread_t *self = gasneti_self();
    check_live(hsl, "gasnet_hsl_trylock");
    if (is_mine(hsl))
        gasneti_fatal("gasnet_hsl_trylock of a lock that this thread holds: they are not "
                      "recursive");
    if (!mutex_trylock(hsl)) return GASNET_ERR_NOT_READY;
    took(self, hsl);
    return GASNET_OK;
}

void gasnetc_hsl_unlock(gasnet_hsl_t *hsl)
{
    gasneti_thread_t *self = gasneti_self();
    check_live(hsl, "gasnet_hsl_unlock");
    if (!is_mine(hsl)) gasneti_fatal("gasnet_hsl_unlock of a lock that this thread does not hold");
    if (self->locks != hsl)
        gasneti_fatal("gasnet_hsl_unlock out of order: another lock was taken after this one");
    if (now_ns() - hsl->since > LONG_HOLD_NS)
        gasneti_warn("a handler-safe lock was held for %.1f s; handlers that need it had to wait",
                     (double)(now_ns() - hsl->since) * 1e-9);
    self->locks = hsl->below;
    mutex_unlock(hsl);
}

#endif
