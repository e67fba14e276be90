/* signal_stack.c - the alternate signal stacks of the threads that the library knows of.
 *
 * The main thread gets one in gasnet_init, a client thread or the receive thread with its record
 * (thread.c).  Without one, a handler for a stack overflow has no stack to run on, and the kernel
 * ends the process without a line.  A stack that the program has set itself is never replaced.
 */
#define _GNU_SOURCE
#include "core/job/signal_stack.h"

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* A signal frame with every vector register, a backtrace by the C library's unwinder, and what a
 * client's own backtrace function takes.  Pages that are not touched cost nothing. */
enum { SIZE = 128 << 10 };

static size_t guard_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *gasnetc_signal_stack_make(void)
{
    stack_t stack;
    if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE)) return NULL;
    const size_t guard = guard_size();
    char *memory = mmap(NULL, guard + SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    stack = (stack_t){.ss_sp = memory + guard, .ss_size = SIZE};
    if (mprotect(memory, guard, PROT_NONE) == 0 && sigaltstack(&stack, NULL) == 0) return memory;
    munmap(memory, guard + SIZE);
    return NULL;
}

/* A handler of the program's that ends its thread may be running on it: then it stays. */
void gasnetc_signal_stack_free(void *memory)
{
    stack_t stack, none = {.ss_flags = SS_DISABLE};
    const size_t guard = guard_size();
    if (!memory || sigaltstack(NULL, &stack)) return;
    if (stack.ss_sp == (char *)memory + guard && sigaltstack(&none, NULL)) return;
    munmap(memory, guard + SIZE);
}
