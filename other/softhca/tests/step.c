/* step.c - single-stepping by ptrace; see step.h. x86-64 only. */
#include "step.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "pair.h"

enum { MARK = 0xcc };

bool step_attach(pid_t pid)
{
    return ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
}

static void try_it(struct side *s)
{
    if (s->is_a) CHECK(step_attach(s->other));
    meet(s);
}

bool step_permitted(void)
{
    return run_pair(try_it, NULL);
}

/* Waits for a stop; signals other than the trap are delivered. */
static void await_trap(pid_t pid)
{
    for (;;) {
        int status;
        CHECK(waitpid(pid, &status, __WALL) == pid);
        CHECK(WIFSTOPPED(status));
        int signal = WSTOPSIG(status);
        if (signal == SIGTRAP && status >> 16 == 0) return;
        CHECK(ptrace(PTRACE_CONT, pid, NULL, signal == SIGTRAP ? 0 : signal) == 0);
    }
}

static uint64_t code_at(pid_t pid, uint64_t address)
{
    errno = 0;
    uint64_t code = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, address, NULL);
    CHECK(errno == 0);
    return code;
}

void step_to_mark(pid_t pid)
{
    await_trap(pid);
}

/* LOCK, or an exchange with memory, which is locked implicitly. */
static bool is_locked(uint64_t code)
{
    for (;; code >>= 8) {
        unsigned byte = code & 255;
        if (byte == 0xf0) return true;
        bool prefix = byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x64 ||
                      byte == 0x65 || byte == 0x2e || byte == 0x3e || byte >> 4 == 4;
        if (!prefix) return (byte == 0x86 || byte == 0x87) && (code >> 8 & 0xc0) != 0xc0;
    }
}

/* Addresses are the same in both processes, which one process forked. */
static bool allocates(uint64_t address)
{
    return address == (uintptr_t)&malloc || address == (uintptr_t)&calloc ||
           address == (uintptr_t)&realloc || address == (uintptr_t)&free;
}

bool step_on(pid_t pid, long limit, struct steps *count)
{
    *count = (struct steps){0};
    for (;;) {
        struct user_regs_struct regs;
        CHECK(ptrace(PTRACE_GETREGS, pid, NULL, &regs) == 0);
        uint64_t code = code_at(pid, regs.rip);
        count->at = regs.rip;
        if ((code & 255) == MARK) {
            regs.rip++;
            CHECK(ptrace(PTRACE_SETREGS, pid, NULL, &regs) == 0);
            return true;
        }
        if (count->instructions == limit) return false;
        count->instructions++;
        count->locked += is_locked(code);
        count->system_calls += (code & 0xffff) == 0x050f;
        count->allocations += allocates(regs.rip);
        CHECK(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0);
        await_trap(pid);
    }
}

void step_release(pid_t pid)
{
    CHECK(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
}

void step_kill(pid_t pid)
{
    int status;
    CHECK(kill(pid, SIGKILL) == 0);
    while (waitpid(pid, &status, __WALL) == pid && !WIFSIGNALED(status)) continue;
}
