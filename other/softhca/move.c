/* move.c - move bytes between this process and a peer, the best way that both allow.
 *
 * Memory that is mapped here is copied directly. Other memory goes by process_vm_readv/writev,
 * and where the kernel refuses that (seccomp, no ptrace right) the peer's answering thread copies.
 * Callers have checked keys and ranges, and are inside the peer QP's active guard.
 */
#include "hot.h"

#include <string.h>
#include <sys/uio.h>

static void copy_direct(bool write, const struct iovec *local, int n_local,
                        const struct shca_piece *remote)
{
    size_t at = 0; /* in *remote */
    for (int i = 0; i < n_local; i++) {
        char *here = local[i].iov_base;
        size_t left = local[i].iov_len;
        while (left > 0) {
            if (at == remote->len) {
                remote++;
                at = 0;
                continue;
            }
            size_t n = remote->len - at < left ? remote->len - at : left;
            char *there = (char *)remote->direct + at;
            if (write)
                shca_copy_in_order(there, here, n);
            else
                memcpy(here, there, n);
            here += n;
            left -= n;
            at += n;
        }
    }
}

static int copy_asking(struct shca_peer *p, bool write, const struct iovec *local, int n_local,
                       const struct shca_piece *remote)
{
    size_t at = 0;
    for (int i = 0; i < n_local; i++) {
        char *here = local[i].iov_base;
        size_t left = local[i].iov_len;
        while (left > 0) {
            if (at == remote->len) {
                remote++;
                at = 0;
                continue;
            }
            size_t n = remote->len - at < left ? remote->len - at : left;
            int error = shca_ask_copy(p, write, remote->va + at, here, n);
            if (error) return error;
            here += n;
            left -= n;
            at += n;
        }
    }
    return 0;
}

static int copy_by_kernel(struct shca_peer *p, bool write, const struct iovec *local, int n_local,
                          const struct shca_piece *remote, int n_remote, size_t total)
{
    struct iovec there[SHCA_MAX_SGE];
    for (int i = 0; i < n_remote; i++)
        there[i] = (struct iovec){(void *)(uintptr_t)remote[i].va, remote[i].len};
    ssize_t n = write ? process_vm_writev(p->pid, local, n_local, there, n_remote, 0)
                      : process_vm_readv(p->pid, local, n_local, there, n_remote, 0);
    if (n == (ssize_t)total) return 0;
    return n < 0 ? errno : EFAULT;
}

/* 0, or an errno value: EFAULT when the peer's memory is gone, ESRCH when the peer is. */
int shca_move(struct shca_peer *p, bool write, struct iovec *local, int n_local,
              const struct shca_piece *remote, int n_remote)
{
    bool direct = true;
    size_t total = 0;
    for (int i = 0; i < n_remote; i++) direct = direct && remote[i].direct;
    if (direct) {
        copy_direct(write, local, n_local, remote);
        return 0;
    }
    for (int i = 0; i < n_local; i++) total += local[i].iov_len;
    if (total == 0) return 0;
    if (!p->no_pvm) {
        int error = copy_by_kernel(p, write, local, n_local, remote, n_remote, total);
        if (error != EPERM && error != ENOSYS && error != EACCES) return error;
        p->no_pvm = true;
    }
    int error = copy_asking(p, write, local, n_local, remote);
    if (error && error != EFAULT && !shca_peer_dead_slow(p))
        shca_say("cannot reach the memory of process %d: process_vm_%sv is refused and its thread "
                 "does not answer (%s). Run both processes as one user, allow ptrace between them "
                 "(docker: --cap-add=SYS_PTRACE), or use softhca_alloc() memory",
                 (int)p->pid, write ? "write" : "read", strerror(error));
    return error;
}
