/* thread.c - records of client threads: a thread takes one at its first call and returns it when it
 * ends.
 */
#include "core/job/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/job/signal_stack.h"
#include "core/params/params.h"
#include "core/report.h"
#include "gasnet.h"
#include "other/base/clock.h"

/* Steps of one wait follow each other more closely. */
enum { STALL_GAP_MS = 1000 };

void gasneti_note_stall(enum gasneti_stall why, uint32_t peer)
{
    gasneti_stalled_t *stalled = &gasneti_self()->stalled;
    const uint64_t now = gasneti_clock_coarse_ms();
    if (stalled->why != why || stalled->peer != peer || now - stalled->last_ms > STALL_GAP_MS) {
        stalled->why = why;
        stalled->peer = peer;
        stalled->since_ms = now;
    }
    stalled->last_ms = now;
}

#if GASNETI_ONE_RECORD

gasneti_thread_t gasneti_the_thread;
int32_t gasneti_my_handlers;
void *gasneti_my_extended;

uint32_t gasneti_threads_in_handlers(void)
{
    return gasneti_my_handlers > 0;
}

void gasneti_threads_get_signal_stacks(void)
{
    gasneti_the_thread.signal_stack = gasnetc_signal_stack_make();
}

const gasneti_thread_t *gasneti_all_threads(void)
{
    return &gasneti_the_thread;
}

#else

GASNETI_OF_THREAD gasneti_thread_t *gasneti_my_thread;
GASNETI_OF_THREAD int32_t gasneti_my_handlers = GASNETI_NO_RECORD;
GASNETI_OF_THREAD void *gasneti_my_extended;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* only for its destructor */
static gasneti_thread_t *free_slots;
static uint32_t made;
static gasneti_thread_t *_Atomic all_slots;

const gasneti_thread_t *gasneti_all_threads(void)
{
    return atomic_load(&all_slots);
}

/* A thread that ends takes the pointer back under the lock, before its memory is freed. */
__attribute__((no_sanitize("thread"))) uint32_t gasneti_threads_in_handlers(void)
{
    uint32_t count = 0;
    pthread_mutex_lock(&lock);
    for (const gasneti_thread_t *thread = gasneti_all_threads(); thread; thread = thread->made_next)
        count += thread->handlers && *thread->handlers > 0;
    pthread_mutex_unlock(&lock);
    return count;
}

static bool with_signal_stacks;

static void make_signal_stack(gasneti_thread_t *self)
{
    if (with_signal_stacks && !self->signal_stack) self->signal_stack = gasnetc_signal_stack_make();
}

void gasneti_threads_get_signal_stacks(void)
{
    with_signal_stacks = true;
    make_signal_stack(gasneti_self());
}

static void leave(void *slot)
{
    gasneti_thread_t *thread = slot;
    gasneti_my_thread = NULL;
    gasneti_my_handlers = GASNETI_NO_RECORD;
    gasneti_my_extended = NULL;
    void *signal_stack = thread->signal_stack;
    thread->signal_stack = NULL;
    pthread_mutex_lock(&lock);
    thread->handlers = NULL;
    thread->trace_is_left = true;
    thread->next = free_slots;
    free_slots = thread;
    pthread_mutex_unlock(&lock); /* not the last call: the thread sanitizer would take it for a call
                                    of the C library */
    gasnetc_signal_stack_free(signal_stack);
}

static void make_key(void)
{
    if (pthread_key_create(&key, leave)) gasneti_fatal("no thread-specific key is left");
}

static gasneti_thread_t *take_slot(void)
{
    const uint32_t limit =
        gasnetc_params.max_threads ? (uint32_t)gasnetc_params.max_threads : GASNETC_MAX_THREADS;
    pthread_mutex_lock(&lock);
    gasneti_thread_t *thread = free_slots;
    if (thread) {
        free_slots = thread->next;
    } else if (made < limit && (thread = calloc(1, sizeof *thread))) {
        thread->index = made++;
        thread->made_next = atomic_load(&all_slots);
        atomic_store(&all_slots, thread);
    }
    if (thread) thread->handlers = &gasneti_my_handlers;
    pthread_mutex_unlock(&lock);
    if (!thread)
        gasneti_fatal("more than %u client threads at once: the limit is GASNET_MAX_THREADS, which "
                      "may be larger",
                      limit);
    return thread;
}

gasneti_thread_t *gasneti_thread_enter(void)
{
    pthread_once(&once, make_key);
    gasneti_thread_t *thread = take_slot();
    make_signal_stack(thread);
    pthread_setspecific(key, thread);
    gasneti_my_thread = thread;
    gasneti_my_handlers = 0;
    gasneti_my_extended = thread->extended;
    return thread;
}

#endif
