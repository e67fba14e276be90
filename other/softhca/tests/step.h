/* step.h - runs another process instruction by instruction between two marks, to count what an
 * operation executes, or to kill the process at any point of it.
 */
#ifndef SOFTHCA_TEST_STEP_H
#define SOFTHCA_TEST_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct steps {
    long instructions, locked, system_calls, allocations;
    uint64_t at; /* the next instruction */
};

/* In the stepped process: counting begins, and ends. Without a stepper these kill the process. */
static inline void step_mark(void)
{
    __asm__ volatile("int3" ::: "memory");
}

/* Whether this system permits ptrace of another process. */
bool step_permitted(void);
/* Attaches to PID until one of the two ends; false when not permitted. */
bool step_attach(pid_t pid);
/* Runs it to its next mark. */
void step_to_mark(pid_t pid);
/* Steps from a mark to the next one, at most LIMIT instructions; true when it got there. */
bool step_on(pid_t pid, long limit, struct steps *count);
/* Detaches: it runs on. */
void step_release(pid_t pid);
/* Kills it. */
void step_kill(pid_t pid);

#endif
