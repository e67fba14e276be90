/* os.h - the operating system's part for the event core: time, descriptors to sleep on, the barrier
 * of the consumer role. os.c is its only implementation, for Linux.
 *
 * Times are in nanoseconds of a clock that is never set; a deadline of OS_NEVER does not come.
 */
#ifndef DAPL_OS_H
#define DAPL_OS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define OS_NEVER INT64_MAX

/* OS_NEVER if `timeout` is negative. */
int64_t dapl_os_deadline(int64_t timeout);

/* A counter to sleep on: readable after dapl_os_wake until dapl_os_clear. -errno without
 * descriptors. */
int dapl_os_wake_open(void);
void dapl_os_wake(int fd);
void dapl_os_clear(int fd);
void dapl_os_close(int fd);

/* Sleeps until one of the two (-1: none) is readable: bits 1 and 2; 0 at the deadline; -EINTR. */
int dapl_os_sleep(int first, int second, int64_t deadline);

/* A set of descriptors, each with a key. */
int dapl_os_set_open(void);
/* `watch` false: it stays in the set, and is not reported. */
int dapl_os_set_add(int set, int fd, uint64_t key, bool watch);
void dapl_os_set_watch(int set, int fd, uint64_t key, bool watch);
void dapl_os_set_remove(int set, int fd);
/* For sets in a set: reports each change once. */
int dapl_os_set_add_edge(int set, int fd, uint64_t key);
/* The keys of up to `most` (at most DAPL_OS_AT_ONCE) descriptors that are readable: their number; 0
 * at the deadline; -EINTR. */
enum { DAPL_OS_AT_ONCE = 16 };
int dapl_os_set_sleep(int set, int64_t deadline, uint64_t *keys, int most);

/* Lets another thread run; `round` counts the calls in one loop, which get longer. */
void dapl_os_yield(unsigned round);

/* Whether dapl_os_barrier works here. */
bool dapl_os_barrier_ready(void);
/* Every thread of the process executes a full memory barrier. */
void dapl_os_barrier(void);

/* A full barrier against another thread's full barrier on the same word. */
static inline void dapl_os_fence(_Atomic uint32_t *word)
{
#if defined(__SANITIZE_THREAD__)
    atomic_fetch_add(word, 0); /* the sanitizer does not know fences */
#else
    (void)word;
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
