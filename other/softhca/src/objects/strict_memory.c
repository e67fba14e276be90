/* strict_memory.c - SOFTHCA_MEMORY=strict: a region cannot be used any more when the program has
 * unmapped a part of its memory.
 *
 * A device has pinned the pages: it would access the old ones, which are not at that address any
 * more. On this device each later access to the region fails, as an access outside the region does.
 * The kernel's events of a userfaultfd report munmap, mmap over a mapping, mremap, madvise and brk,
 * for anonymous memory; a thread reads them. The program's call waits until the thread has read its
 * event, so this thread takes no lock and frees nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "other/base/quiet_thread.h"
#include "other/softhca/src/objects/mr.h"
#include "other/softhca/src/segment/process.h"
#include "other/softhca/src/settings/say.h"
#include "other/softhca/src/settings/settings.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static struct {
    pthread_mutex_t lock;
    bool tried;
    int fd;           /* -1: refused */
    atomic_bool busy; /* an event is being read, or has been and is not acted on yet */
} strict = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static void strict_lost(uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; i < SHCA_MRS; i++) {
        struct shm_mr *s = &shca.h->mr[i];
        const uint32_t key = atomic_load_explicit(&s->key, memory_order_acquire);
        if (key >> 8 == 0 || s->va >= to || s->va + s->length <= from) continue;
        if (atomic_load(&s->key) != key) continue;
        s->length = 0;
        atomic_fetch_add(&s->changes, 1);
    }
}

static void *strict_run(void *unused)
{
    struct pollfd ready = {.fd = strict.fd, .events = POLLIN};
    struct uffd_msg m;
    do {
        atomic_store(&strict.busy, false);
        if (poll(&ready, 1, -1) < 0) continue;
        atomic_store(&strict.busy, true);
        if (read(strict.fd, &m, sizeof m) != sizeof m) continue;
        if (m.event == UFFD_EVENT_UNMAP || m.event == UFFD_EVENT_REMOVE)
            strict_lost(m.arg.remove.start, m.arg.remove.end);
        else if (m.event == UFFD_EVENT_REMAP)
            strict_lost(m.arg.remap.from, m.arg.remap.from + m.arg.remap.len);
    } while (!(ready.revents & POLLNVAL));
    return NULL;
}

static void strict_open(void)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE |
                                         UFFD_FEATURE_EVENT_UNMAP};
    strict.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    int error = strict.fd < 0 || ioctl(strict.fd, UFFDIO_API, &api) ? errno : 0;
    if (!error) error = gasneti_quiet_thread(NULL, 0, strict_run, NULL);
    if (!error) return;
    shca_say("SOFTHCA_MEMORY=strict has no effect: a userfaultfd is refused: %s", strerror(error));
    if (strict.fd >= 0) close(strict.fd);
    strict.fd = -1;
}

void shca_strict_memory(const void *addr, size_t len)
{
    if (shca_settings()->memory != SHCA_MEMORY_STRICT || len == 0) return;
    pthread_mutex_lock(&strict.lock);
    if (!strict.tried) strict_open();
    strict.tried = true;
    pthread_mutex_unlock(&strict.lock);
    if (strict.fd < 0) return;
    const uint64_t page = 4095, start = (uintptr_t)addr & ~page;
    struct uffdio_register r = {
        .range = {start, (((uintptr_t)addr + len + page) & ~page) - start},
        .mode = UFFDIO_REGISTER_MODE_WP, /* no page is ever protected: events alone */
    };
    ioctl(strict.fd, UFFDIO_REGISTER, &r); /* refused for files and shared memory */
    /* Waits until the thread has handled the events that it has read: they are of the memory that
     * was at this address before, and must not end the new region. */
    while (atomic_load(&strict.busy)) sched_yield();
}

/* Closes the parent's userfaultfd in the child of a fork, whose mappings it does not report. */
void shca_strict_in_child(void)
{
    if (strict.fd >= 0) close(strict.fd);
    strict.fd = -1;
    strict.tried = false;
    pthread_mutex_init(&strict.lock, NULL);
}
