/* thread.h - the library's record of each client thread.
 *
 * A thread takes a record at its first call and returns it when it ends.  Records are reused, so
 * the number of threads over time is not limited.  In SEQ without a receive thread there is one
 * static record.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/counters/counters.h"
#include "gasnet_config.h"

/* What a thread waits for before it tries to post or send again. */
enum gasneti_stall {
    GASNETI_STALL_NONE, /* zeroed */
    GASNETI_STALL_CREDIT,
    GASNETI_STALL_SLOT,
    GASNETI_STALL_REPLY_BUFFER,
    GASNETI_STALL_BOUNCE_BUFFER,
    GASNETI_STALL_CONNECTION
};
enum { GASNETI_STALL_OF_NO_PEER = UINT32_MAX };

/* The last wait of this kind.  Written by the thread, read by gasnetrun --stats at any time. */
typedef struct gasneti_stalled {
    uint32_t why, peer;         /* enum gasneti_stall; the rank, or GASNETI_STALL_OF_NO_PEER */
    uint64_t since_ms, last_ms; /* its first and its last step, by gasneti_clock_coarse_ms */
} gasneti_stalled_t;

/* Polls of a thread that find nothing.  Written by the thread off the hot path, and read as the
 * above. */
typedef struct gasneti_idle {
    uint64_t since_ms; /* by gasneti_clock_coarse_ms */
    uint32_t rounds;   /* grows while the thread polls and finds nothing; 0: not for long */
} gasneti_idle_t;

typedef struct gasneti_thread {
    uint32_t index;              /* 0 .. GASNET_MAX_THREADS-1, stable while the thread lives */
    uint32_t lock_misses;        /* polls that found the poll lock taken */
    uint32_t interrupts_held;    /* debug builds: inside a no-interrupt section */
    void *locks;                 /* debug builds: the last handler-safe lock acquired */
    const char *prepared;        /* debug builds: the call that prepared a payload; NULL: none */
    void *loop_buffer[2];        /* loopback Mediums: one for a Request, one for its Reply */
    void *extended;              /* the Extended API's record of the thread, or NULL; not freed when
                                    the thread ends, but reused with this one */
    struct gasneti_thread *next; /* free list */
    struct gasneti_thread *made_next; /* all records */
    void *token;               /* debug builds: token of the handler that runs; see context.c */
    uint64_t interrupts_since; /* debug builds: start of the no-interrupt section, ns */
    gasnetc_counts_t counts;   /* sums over all threads that had this record */
    void *signal_stack;        /* signal_stack.h; NULL: not set, or the program's own */
    gasneti_stalled_t stalled;
    struct gasneti_trace_thread *trace; /* core/trace/trace.c; NULL: no event yet */
    bool trace_is_left;                 /* the thread that used it has ended */
    gasneti_idle_t idle;
    const int32_t *handlers; /* if not GASNETI_ONE_RECORD: gasneti_my_handlers of the thread, or
                                NULL; under the lock of thread.c */
} gasneti_thread_t;

/* The first of all records, linked by made_next; read only. */
const gasneti_thread_t *gasneti_all_threads(void);

/* The number of threads that are inside a handler now; any thread. */
uint32_t gasneti_threads_in_handlers(void);

/* Notes one step of a wait in the record of the calling thread. */
void gasneti_note_stall(enum gasneti_stall why, uint32_t peer);

/* Gives an alternate signal stack to the calling thread and to all that take a record later. */
void gasneti_threads_get_signal_stacks(void);

#ifdef GASNET_SEQ
enum { GASNETI_ONE_THREAD = 1 }; /* only the thread of gasnet_init may call the library */
#else
enum { GASNETI_ONE_THREAD = 0 };
#endif

/* GASNETI_OF_THREAD: the storage class of static variables that each thread has. */
#if defined(GASNET_SEQ) && !GASNETI_SEQ_RCV_THREAD
#define GASNETI_ONE_RECORD 1
#define GASNETI_OF_THREAD
#pragma GCC visibility push(hidden)
extern gasneti_thread_t gasneti_the_thread;
#pragma GCC visibility pop
static inline gasneti_thread_t *gasneti_self(void)
{
    return &gasneti_the_thread;
}
#else
#define GASNETI_ONE_RECORD 0
#define GASNETI_OF_THREAD  __thread __attribute__((tls_model("initial-exec")))
#pragma GCC visibility push(hidden)
extern GASNETI_OF_THREAD gasneti_thread_t *gasneti_my_thread;
#pragma GCC visibility pop
/* Fatal, naming the limit, when more than GASNET_MAX_THREADS threads are alive at once. */
gasneti_thread_t *gasneti_thread_enter(void);
static inline gasneti_thread_t *gasneti_self(void)
{
    gasneti_thread_t *self = gasneti_my_thread;
    return self != NULL ? self : gasneti_thread_enter();
}
#endif

/* The number of handlers that the calling thread is inside; not in its record, whose address a poll
 * would have to keep while a handler runs.  GASNETI_NO_RECORD: the thread has no record, which the
 * result of an increment shows too, as it is far below 0. */
enum { GASNETI_NO_RECORD = INT32_MIN };
#pragma GCC visibility push(hidden)
extern GASNETI_OF_THREAD int32_t gasneti_my_handlers;
extern GASNETI_OF_THREAD void *gasneti_my_extended; /* of the calling thread's record, if any */
#pragma GCC visibility pop

static inline int32_t gasneti_handler_depth(void)
{
    return gasneti_my_handlers < 0 ? 0 : gasneti_my_handlers;
}

static inline void gasneti_handler_enter(void)
{
    gasneti_my_handlers++;
#if !GASNETI_ONE_RECORD
    if (gasneti_my_handlers < 0) {
        gasneti_thread_enter();
        gasneti_my_handlers = 1;
    }
#endif
}

static inline void gasneti_handler_leave(void)
{
    gasneti_my_handlers--;
}

/* The calling thread's `extended`; NULL also when the thread has no record yet.  Makes no record.
 */
static inline void *gasneti_self_extended(void)
{
    return gasneti_my_extended;
}

static inline void gasneti_self_extend(void *extended)
{
    gasneti_self()->extended = extended;
    gasneti_my_extended = extended;
}
