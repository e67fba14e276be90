/* gate.h - a thread that is kept inside a critical section, and what the others do meanwhile.
 *
 * A test interposes a function that the library calls with a lock held, and calls gate_pass() in
 * it. Nothing depends on which thread is faster: the test waits for the state that the kernel shows
 * of a thread.
 */
#ifndef TESTS_GATE_H
#define TESTS_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Of a function that a shared library is to call instead of its own. */
#define GATE_INTERPOSED __attribute__((visibility("default")))

extern pthread_mutex_t gate_lock; /* the test may use it, too */
extern pthread_cond_t gate_changed;

/* The first thread that passes a gate of this number, above 0, stays there until it is opened; the
 * others pass. */
void gate_shut(int number);
void gate_pass(int number);
void gate_await_inside(void);
void gate_open(void);

/* A thread that makes one call. */
typedef int gate_call(void *argument);
struct gate_worker {
    gate_call *call;
    void *argument;
    int code;
    bool ended;                  /* with gate_lock, as is: */
    pid_t id;                    /* 0 until it runs */
    struct rusage before, after; /* of this thread, before and after the call */
    pthread_t thread;
};
void gate_begin(struct gate_worker *w, void *argument, gate_call *call);
int gate_end(struct gate_worker *w); /* returns the result of the call */

/* Waits until the thread has ended its call (false), or sleeps and goes on sleeping: a thread that
 * wakes now and then, or spins, does not. */
bool gate_sleeps(struct gate_worker *w);
/* Waits until all threads but the calling one sleep and go on sleeping. */
bool gate_others_sleep(void);

#endif
