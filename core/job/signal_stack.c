/* signal_stack.c - the alternate signal stacks of threads with a record.
 *
 * The main thread gets one in gasnet_init, a client thread or the receive thread with its record
 * (thread.c).  Without such a stack, the kernel kills a process whose stack overflows without a
 * message.  A stack that the program has set itself is never replaced.
 */
#define _GNU_SOURCE
#include "core/job/signal_stack.h"

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = GASNETC_SIGNAL_STACK_SIZE };

static size_t guard_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *gasnetc_signal_stack_map(stack_t *stack)
{
    const size_t guard = guard_size();
    char *memory = mmap(NULL, guard + SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    if (mprotect(memory, guard, PROT_NONE) != 0) {
        munmap(memory, guard + SIZE);
        return NULL;
    }
    *stack = (stack_t){.ss_sp = memory + guard, .ss_size = SIZE};
    return memory;
}

void *gasnetc_signal_stack_make(void)
{
    stack_t stack;
    if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE)) return NULL;
    void *memory = gasnetc_signal_stack_map(&stack);
    if (!memory || sigaltstack(&stack, NULL) == 0) return memory;
    munmap(memory, guard_size() + SIZE);
    return NULL;
}

/* Keeps the stack if the thread is running on it: a handler of the program may end its thread. */
void gasnetc_signal_stack_free(void *memory)
{
    stack_t stack, none = {.ss_flags = SS_DISABLE};
    const size_t guard = guard_size();
    if (!memory || sigaltstack(NULL, &stack)) return;
    if (stack.ss_sp == (char *)memory + guard && sigaltstack(&none, NULL)) return;
    munmap(memory, guard + SIZE);
}
