/* noptrace.c - runs a program without the right to read or write other processes' memory.
 *
 * What a container's default seccomp profile does: process_vm_readv, process_vm_writev, ptrace and
 * pidfd_getfd fail with EPERM, for the program and all it starts.  Used by hardship.sh.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct sock_filter deny[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {sizeof deny / sizeof deny[0], (struct sock_filter *)deny};
    if (argc < 2) {
        fprintf(stderr, "usage: noptrace PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        fprintf(stderr, "noptrace: seccomp: %s\n", strerror(errno));
        return 3; /* hardship.sh skips with this reason */
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "noptrace: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
