/* signal_stack.c - core/job/signal_stack.h: a stack for handlers is made, freed, and made only for
 * a thread that has none; a failed attempt leaves no memory behind.
 */
#define _GNU_SOURCE
#include "core/job/signal_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/check.h"

static bool refuses;

int mprotect(void *memory, size_t size, int protection)
{
    if (!refuses) return (int)syscall(SYS_mprotect, memory, size, protection);
    errno = ENOMEM;
    return -1;
}

/* Pages of this process. */
static long pages(void)
{
    char text[100] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    if (read(fd, text, sizeof text - 1) < 0) return -1;
    close(fd);
    return atol(text);
}

static const void *stack_now(void)
{
    stack_t stack;
    sigaltstack(NULL, &stack);
    return stack.ss_flags & SS_DISABLE ? NULL : stack.ss_sp;
}

int main(int argc, char **argv)
{
    static char own[128 << 10];
    check_begin(argc, argv);
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL); /* a sanitizer's */
    const long before = pages();
    refuses = true;
    check(!gasnetc_signal_stack_make() && !stack_now() && pages() == before,
          "a stack without a guard page is not made, and leaves no memory");
    refuses = false;
    void *memory = gasnetc_signal_stack_make();
    check(memory && stack_now() && pages() > before, "one with a guard page is");
    check(!gasnetc_signal_stack_make(), "a second is not");
    gasnetc_signal_stack_free(memory);
    check(!stack_now() && pages() == before, "one that is freed leaves no memory");
    stack_t stack = {.ss_sp = own, .ss_size = sizeof own};
    sigaltstack(&stack, NULL);
    check(!gasnetc_signal_stack_make() && stack_now() == own && pages() == before,
          "the program's own is kept");
    return check_end();
}
