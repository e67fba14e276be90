/* hook.c - the entry of hooked system calls: keeps every register that a system call keeps.
 *
 * Stubs come here (sites.c) with the registers as the kernel expects them.  The program's code may
 * hold values in any register but rax, rcx and r11, so vector registers are saved as well, but only
 * where callbacks are called.
 */
#include "other/base/memory-events/hook.h"

#if defined __x86_64__ && defined __linux__ && !defined __ILP32__

#include <cpuid.h>

unsigned long me_hook_state_size;

/* x87, SSE, AVX and AVX-512: what compiled callbacks may change. */
#define STATE_MASK      0xe7
#define TEXT_OF(number) #number
#define TEXT(macro)     TEXT_OF(macro)

/* clang-format off */
__asm__(
    ".text\n"
    ".balign 16\n"
    ".globl me_hook_entry\n"
    ".hidden me_hook_entry\n"
    ".type me_hook_entry, @function\n"
    "me_hook_entry:\n"
    "    push %rbp\n"
    "    mov %rsp, %rbp\n"
    "    push %rbx\n"
    "    push %rax\n"
    "    push %rcx\n"
    "    push %rdx\n"
    "    push %rsi\n"
    "    push %rdi\n"
    "    push %r8\n"
    "    push %r9\n"
    "    push %r10\n"
    "    push %r11\n"
    "    sub $56, %rsp\n"          /* me_call_t */
    "    and $-64, %rsp\n"
    "    mov %rax, (%rsp)\n"
    "    mov %rdi, 8(%rsp)\n"
    "    mov %rsi, 16(%rsp)\n"
    "    mov %rdx, 24(%rsp)\n"
    "    mov %r10, 32(%rsp)\n"
    "    mov %r8, 40(%rsp)\n"
    "    mov %r9, 48(%rsp)\n"
    "    mov %rsp, %rbx\n"
    "    mov %rsp, %rdi\n"
    "    call me_hook_wants\n"
    "    test %eax, %eax\n"
    "    jz 1f\n"
    "    sub me_hook_state_size(%rip), %rsp\n"
    "    and $-64, %rsp\n"
    "    xor %eax, %eax\n"         /* the header, which XRSTOR checks */
    "    mov %rax, 512(%rsp)\n"
    "    mov %rax, 520(%rsp)\n"
    "    mov %rax, 528(%rsp)\n"
    "    mov %rax, 536(%rsp)\n"
    "    mov %rax, 544(%rsp)\n"
    "    mov %rax, 552(%rsp)\n"
    "    mov %rax, 560(%rsp)\n"
    "    mov %rax, 568(%rsp)\n"
    "    mov $" TEXT(STATE_MASK) ", %eax\n"
    "    xor %edx, %edx\n"
    "    xsave64 (%rsp)\n"
    "    mov %rbx, %rdi\n"
    "    call me_hook_tell\n"
    "    mov $" TEXT(STATE_MASK) ", %eax\n"
    "    xor %edx, %edx\n"
    "    xrstor64 (%rsp)\n"
    "1:  lea -80(%rbp), %rsp\n"
    "    pop %r11\n"
    "    pop %r10\n"
    "    pop %r9\n"
    "    pop %r8\n"
    "    pop %rdi\n"
    "    pop %rsi\n"
    "    pop %rdx\n"
    "    pop %rcx\n"
    "    pop %rax\n"
    "    pop %rbx\n"
    "    pop %rbp\n"
    "    ret\n"
    ".size me_hook_entry, .-me_hook_entry\n"
    ".section .note.GNU-stack,\"\",@progbits\n"
    ".text\n");

/* The request that valgrind's translator answers with 1 and more; a processor leaves 0. */
static unsigned long under_valgrind(void)
{
    volatile unsigned long request[6] = {0x1001};
    unsigned long result = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(&request[0])
                     : "cc", "memory");
    return result;
}
/* clang-format on */

/* Bytes of the components in STATE_MASK in the standard format. CPUID also reports the size of all
 * components that the system has enabled, which is four times as much with AMX. */
static unsigned long state_size(void)
{
    unsigned size, offset, c, d;
    unsigned long end = 512 + 64; /* x87 and SSE, and the header */
    for (unsigned i = 2; i < 32; i++)
        if ((unsigned)STATE_MASK >> i & 1 && __get_cpuid_count(0xd, i, &size, &offset, &c, &d) &&
            size && offset + size > end)
            end = offset + size;
    return end;
}

/* ThreadSanitizer's own threads unmap memory, and cannot run instrumented callbacks. */
extern void __tsan_init(void) __attribute__((weak));

bool me_hook_possible(const char **why)
{
    unsigned a, b, c, d;
    if (under_valgrind()) {
        *why = "valgrind, which gives memory back itself, runs the program";
        return false;
    }
    if (__tsan_init) {
        *why = "ThreadSanitizer's threads give memory back";
        return false;
    }
    const bool has_xsave = __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE;
    if (!has_xsave || !__get_cpuid_count(0xd, 0, &a, &b, &c, &d)) {
        *why = "the processor has no XSAVE";
        return false;
    }
    me_hook_state_size = state_size();
    return true;
}

#else

unsigned long me_hook_state_size;

void me_hook_entry(void) {}

bool me_hook_possible(const char **why)
{
    *why = "system calls are seen on x86-64 Linux alone";
    return false;
}

#endif
