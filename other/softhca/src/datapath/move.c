/* move.c - copies bytes between this process and a peer by the fastest method available.
 *
 * Mapped memory is copied directly. Other memory goes by process_vm_readv/writev. Where the kernel
 * refuses these (seccomp, no ptrace right) the peer's RPC thread copies; also for memory that only
 * its own process can access, as that of memfd_secret. Callers have checked keys and ranges, and
 * hold the target QP's active word odd.
 */
#include <string.h>
#include <sys/uio.h>

#include "other/base/mapped.h"
#include "other/softhca/src/datapath/hot.h"
#include "other/softhca/src/settings/say.h"

/* A position in two lists of pieces; the remote list is at least as long. */
struct walk {
    const struct iovec *local, *end;
    const struct shca_piece *remote;
    size_t local_at, remote_at; /* offsets in *local, *remote */
};

/* The next bytes that are in one piece on both sides. */
struct run {
    char *here;
    const struct shca_piece *piece;
    size_t there, length; /* offset in the piece */
};

static bool move_next_run(struct walk *w, struct run *run)
{
    while (w->local < w->end && w->local_at == w->local->iov_len) {
        w->local++;
        w->local_at = 0;
    }
    if (w->local == w->end) return false;
    while (w->remote_at == w->remote->len) {
        w->remote++;
        w->remote_at = 0;
    }
    size_t here = w->local->iov_len - w->local_at, there = w->remote->len - w->remote_at;
    *run = (struct run){.here = (char *)w->local->iov_base + w->local_at,
                        .piece = w->remote,
                        .there = w->remote_at,
                        .length = here < there ? here : there};
    w->local_at += run->length;
    w->remote_at += run->length;
    return true;
}

static void move_copy_direct(bool write, struct walk w)
{
    for (struct run run; move_next_run(&w, &run);) {
        char *there = (char *)run.piece->direct + run.there;
        if (write)
            shca_copy_in_order(there, run.here, run.length);
        else
            memcpy(run.here, there, run.length);
    }
}

static int move_copy_by_rpc(struct shca_peer *p, bool write, struct walk w)
{
    int error = 0;
    for (struct run run; !error && move_next_run(&w, &run);)
        error = shca_rpc_copy(p, write, run.piece->va + run.there, run.here, run.length);
    return error;
}

static int move_copy_by_kernel(struct shca_peer *p, bool write, const struct iovec *local,
                               int n_local, const struct shca_piece *remote, int n_remote,
                               size_t total)
{
    struct iovec there[SHCA_MAX_SGE];
    for (int i = 0; i < n_remote; i++)
        there[i] = (struct iovec){(void *)(uintptr_t)remote[i].va, remote[i].len};
    ssize_t n = write ? process_vm_writev(p->pid, local, n_local, there, n_remote, 0)
                      : process_vm_readv(p->pid, local, n_local, there, n_remote, 0);
    if (n == (ssize_t)total) return 0;
    return n < 0 ? errno : EFAULT;
}

static bool move_local_is_mapped(bool write, const struct iovec *local, int n_local)
{
    for (int i = 0; i < n_local; i++)
        if (gasneti_mapped(local[i].iov_base, local[i].iov_len, !write) == GASNETI_UNMAPPED)
            return false;
    return true;
}

/* 0 or an errno value: EFAULT when the peer's memory is unmapped, ESRCH when the peer has ended. */
int shca_move(struct shca_peer *p, bool write, struct iovec *local, int n_local,
              const struct shca_piece *remote, int n_remote)
{
    const struct walk walk = {.local = local, .end = local + n_local, .remote = remote};
    bool direct = true;
    size_t total = 0;
    for (int i = 0; i < n_remote; i++) direct = direct && remote[i].direct;
    if (direct) {
        move_copy_direct(write, walk);
        return 0;
    }
    for (int i = 0; i < n_local; i++) total += local[i].iov_len;
    if (total == 0) return 0;
    if (!p->no_pvm) {
        int error = move_copy_by_kernel(p, write, local, n_local, remote, n_remote, total);
        const bool refused = error == EPERM || error == ENOSYS || error == EACCES;
        if (refused) p->no_pvm = true;
        /* EFAULT: memory of the peer that other processes cannot access, or unmapped memory. */
        if (!refused && (error != EFAULT || !move_local_is_mapped(write, local, n_local)))
            return error;
    }
    int error = move_copy_by_rpc(p, write, walk);
    if (error && error != EFAULT && !shca_peer_dead_slow(p))
        shca_say("cannot reach the memory of process %d: process_vm_%sv is refused and its thread "
                 "does not answer (%s). Run both processes as one user, allow ptrace between them "
                 "(docker: --cap-add=SYS_PTRACE), or use softhca_alloc() memory",
                 (int)p->pid, write ? "write" : "read", strerror(error));
    return error;
}
