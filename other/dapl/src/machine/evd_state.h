/* evd_state.h - the states of an event dispatcher, and when a wait on it is satisfied.  Pure.
 *
 * The state is one word, which threads change by compare-and-swap or a bit at a time; these
 * functions say which changes are allowed. evd_wait.c and evd.c apply them.
 */
#ifndef DAPL_EVD_STATE_H
#define DAPL_EVD_STATE_H

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    EVD_WAITER = 1, /* a thread is in dapl_evd_wait and owns the EVD */
    EVD_SLEEPING =
        2, /* the waiter sleeps or is about to: a producer removes this bit and writes to `wake` */
    EVD_DISABLED = 4, /* events do not trigger the CNO */
    EVD_UNWAITABLE = 8,
    EVD_DEAD = 16 /* being freed, or its interface is shut */
};

/* The result of a wait on an EVD in this state; DAT_SUCCESS: it may begin. */
static inline DAT_RETURN evd_may_wait(uint32_t state)
{
    if (state & EVD_DEAD) return (DAT_RETURN)DAT_CLASS_ERROR | DAT_ABORT;
    if (state & EVD_UNWAITABLE)
        return (DAT_RETURN)DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EVD_UNWAITABLE;
    if (state & EVD_WAITER)
        return (DAT_RETURN)DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EVD_WAITER;
    return DAT_SUCCESS;
}

/* The error that ends a wait that has begun, before its events and its timeout are looked at;
 * DAT_SUCCESS: it goes on. */
static inline DAT_RETURN evd_must_leave(uint32_t state)
{
    return evd_may_wait(state & ~(uint32_t)EVD_WAITER);
}

/* Whether an arrival in this state triggers the CNO, if there is one. */
static inline bool evd_notifies(uint32_t state)
{
    return !(state & (EVD_WAITER | EVD_DISABLED));
}

/* The two bands of the state that the word holds, as a query reports them. */
static inline unsigned evd_reported(uint32_t state)
{
    return (state & EVD_DISABLED ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED) |
           (state & EVD_UNWAITABLE ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE);
}

/* The state of a wait. At its entry any `threshold` events are enough. Later a signalling event
 * must have found or made the queue that long: `mark` is the length of the queue up to and with the
 * last signalling event since the entry. */
typedef struct evd_wait {
    uint64_t threshold;
    uint64_t mark;
    bool blocked; /* the entry is over */
} evd_wait_t;

static inline bool evd_wait_enough(const evd_wait_t *wait, uint64_t queued)
{
    return (wait->blocked ? wait->mark : queued) >= wait->threshold;
}

/* Notes that event `number` of the queue is a signalling one. */
static inline void evd_wait_signal(evd_wait_t *wait, uint64_t number)
{
    if (number > wait->mark) wait->mark = number;
}

/* The streams of an EVD: which flags go together, and the configuration that its endpoints give it.
 */
enum { EVD_CQ_FLAGS = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG };

static inline bool evd_flags_legal(unsigned flags)
{
    const unsigned all = DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG;
    return flags && !(flags & ~all) && !(flags & DAT_EVD_ASYNC_FLAG && flags & EVD_CQ_FLAGS);
}

typedef struct evd_config {
    int streams;     /* in use */
    unsigned config; /* DAT_EVD_STATE_CONFIG_*, by the DTO streams; 0: none gave one */
} evd_config_t;

static inline unsigned evd_config_of(unsigned completion_flags)
{
    if (completion_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
        return DAT_EVD_STATE_CONFIG_SOLICITED;
    if (completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG) return DAT_EVD_STATE_CONFIG_NOTIFY;
    return DAT_EVD_STATE_CONFIG_THRESHOLD;
}

static inline unsigned evd_configured(const evd_config_t *config)
{
    return config->config ? config->config : DAT_EVD_STATE_CONFIG_THRESHOLD;
}

/* Adds a stream to an EVD with these EVD flags; false: it does not go with the others. */
static inline bool evd_config_add(evd_config_t *config, unsigned evd_flags,
                                  unsigned completion_flags)
{
    unsigned wish = evd_config_of(completion_flags);
    bool merged = (evd_flags & ~(unsigned)EVD_CQ_FLAGS) != 0;
    if (evd_flags & EVD_CQ_FLAGS) {
        if (merged && wish != DAT_EVD_STATE_CONFIG_THRESHOLD) return false;
        if (config->config && config->config != wish) return false;
        config->config = wish;
    }
    config->streams++;
    return true;
}

static inline void evd_config_remove(evd_config_t *config)
{
    if (!--config->streams) config->config = 0;
}

#endif
