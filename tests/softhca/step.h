/* step.h - another process made to run instruction by instruction between two marks.
 *
 * To count what an operation executes, or to end a process at any point of it.
 */
#ifndef SOFTHCA_TEST_STEP_H
#define SOFTHCA_TEST_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct steps {
    long instructions, locked, system_calls, allocations;
    uint64_t at; /* the instruction that comes next */
};

/* In the process that is stepped: where counting begins, and where it ends. Deadly without a
 * stepper. */
static inline void step_mark(void)
{
    __asm__ volatile("int3" ::: "memory");
}

/* Whether this system lets one process step another at all. */
bool step_permitted(void);
/* Become the stepper of PID, until one of the two ends; false when that is not permitted. */
bool step_attach(pid_t pid);
/* Let it run to its next mark. */
void step_to_mark(pid_t pid);
/* From a mark to the next one, but at most LIMIT instructions; true when it came to the mark. */
bool step_on(pid_t pid, long limit, struct steps *count);
/* Let it run freely on from where it stands. */
void step_release(pid_t pid);
/* End it where it stands. */
void step_kill(pid_t pid);

#endif
