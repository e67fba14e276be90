/* user_memory.c - access to memory of the program, which the program may have unmapped under a WR.
 *
 * Such a fault must not crash a thread of this library: the kernel copies (process_vm_*) and
 * reports EFAULT. Called by the wire thread and by posting threads.
 */
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "other/base/mapped.h"
#include "other/softhca/src/tcp/remote_process.h"

/* The pieces of LEN bytes at OFFSET of G; returns their number. */
int shca_slice(const struct shca_gather *g, size_t offset, size_t len, struct iovec *out)
{
    int k = 0;
    for (int i = 0; i < g->n && len > 0; i++) {
        size_t skip = offset < g->iov[i].iov_len ? offset : g->iov[i].iov_len;
        size_t n = g->iov[i].iov_len - skip;
        offset -= skip;
        if (n > len) n = len;
        if (n == 0) continue;
        out[k++] = (struct iovec){(char *)g->iov[i].iov_base + skip, n};
        len -= n;
    }
    return k;
}

/* Where a seccomp filter refuses the call on the own process, memcpy is the only way left; also for
 * memory that the kernel does not access in this way, as that of memfd_secret. */
static bool user_memory_refused(ssize_t n, const struct iovec *memory, bool write)
{
    return n < 0 && (errno != EFAULT ||
                     gasneti_mapped(memory->iov_base, memory->iov_len, write) != GASNETI_UNMAPPED);
}

bool shca_user_memory_read(void *to, const struct iovec *from, int n)
{
    char *at = to;
    for (int i = 0; i < n; i++) {
        struct iovec here = {at, from[i].iov_len};
        ssize_t got = here.iov_len ? process_vm_readv(getpid(), &here, 1, &from[i], 1, 0) : 0;
        if (user_memory_refused(got, &from[i], false)) {
            memcpy(at, from[i].iov_base, from[i].iov_len);
            got = from[i].iov_len;
        }
        if (got != (ssize_t)from[i].iov_len) return false;
        at += got;
    }
    return true;
}

bool shca_user_memory_write(const void *from, const struct iovec *to, int n)
{
    const char *at = from;
    for (int i = 0; i < n; i++) {
        struct iovec here = {(void *)at, to[i].iov_len};
        ssize_t put = process_vm_writev(getpid(), &here, 1, &to[i], 1, 0);
        if (user_memory_refused(put, &to[i], true)) {
            memcpy(to[i].iov_base, at, to[i].iov_len);
            put = to[i].iov_len;
        }
        if (put != (ssize_t)to[i].iov_len) return false;
        at += put;
    }
    return true;
}
