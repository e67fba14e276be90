/* find.c - finds the processes that have the device open, and reads their segments.
 *
 * It connects as a peer does: to the abstract socket that a process holds while it has a slot. A
 * stopped process cannot answer; its segment is opened through /proc. All reads use pread(), so
 * that nothing is disturbed and no page is allocated. Any process may end meanwhile.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "other/softhca/src/run/run.h"
#include "other/softhca/src/segment/rpc.h"

static int find_connect(uint32_t slot)
{
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) return -1;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n =
        snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "softhca.%u.%u", (unsigned)getuid(), slot);
    if (connect(s, (struct sockaddr *)&a, offsetof(struct sockaddr_un, sun_path) + 1 + n) == 0) {
        struct timeval patience = {.tv_sec = 1};
        setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        fcntl(s, F_SETFL, 0);
        return s;
    }
    close(s);
    return -1;
}

/* Receives the greeting as a peer does, in the name of slot 0, which no process has. */
static int find_request_memfd(int s)
{
    uint32_t slot = 0;
    struct shca_greeting g;
    int fd;
    union {
        char space[CMSG_SPACE(sizeof fd)];
        struct cmsghdr align;
    } control;
    struct iovec iov = {&g, sizeof g};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    if (send(s, &slot, sizeof slot, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return -1;
    struct cmsghdr *c = recvmsg(s, &m, MSG_CMSG_CLOEXEC) == sizeof g ? CMSG_FIRSTHDR(&m) : NULL;
    if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof fd)) return -1;
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static int find_memfd_from_proc(pid_t pid)
{
    char path[300], link[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    int fd = -1;
    for (struct dirent *e; d && fd < 0 && (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, e->d_name);
        ssize_t n = readlink(path, link, sizeof link - 1);
        if (n < 0) continue;
        link[n] = 0;
        if (!strncmp(link, "/memfd:softhca ", 15)) fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (d) closedir(d);
    return fd;
}

static void find_read_proc(struct process *p)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)p->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (n > 0) {
        text[n] = 0;
        char *end = strrchr(text, ')');
        if (end && end[1] == ' ') p->state = end[2];
    }
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)p->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, p->command, sizeof p->command - 1);
    if (fd >= 0) close(fd);
    for (ssize_t i = 0; i + 1 < n; i++)
        if ((unsigned char)p->command[i] < ' ') p->command[i] = ' ';
    if (n <= 0) strcpy(p->command, "?");
}

static bool find_is_stopped(const struct process *p)
{
    return p->state == 'T' || p->state == 't';
}

/* Reads the header up to the tables of QPs and CQs. */
static bool find_read_tables(struct process *p)
{
    ssize_t size = offsetof(struct shm_header, srq);
    struct shm_header *h = p->h = malloc(sizeof *h); /* pages that are not read are not allocated */
    if (!h || pread(p->memfd, h, size, 0) != size || h->magic != SHCA_MAGIC)
        p->why = "its segment cannot be read";
    else if (h->layout != SHCA_LAYOUT)
        p->why = "it uses another version of libsofthca";
    else
        return true;
    return false;
}

/* Fills in what the slot of the table of processes tells.  False: no process has the slot. */
static bool find_inspect(struct process *p, uint32_t slot)
{
    *p = (struct process){.slot = slot, .memfd = -1, .why = "it does not answer"};
    int s = find_connect(slot);
    if (s < 0) return errno == EAGAIN; /* the backlog is full: the process does not accept */
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t len = sizeof cred;
    getsockopt(s, SOL_SOCKET, SO_PEERCRED, &cred, &len);
    if (cred.uid != geteuid() && cred.uid != 0) { /* another user has taken the name */
        close(s);
        return false;
    }
    p->pid = cred.pid;
    if (p->pid) find_read_proc(p);
    if (!find_is_stopped(p)) p->memfd = find_request_memfd(s);
    if (p->memfd < 0 && p->pid) p->memfd = find_memfd_from_proc(p->pid);
    close(s);
    if (p->memfd >= 0 && !find_read_tables(p)) {
        close(p->memfd);
        p->memfd = -1;
    }
    s = p->memfd < 0 ? find_connect(slot) : -1; /* connect again: has the process ended? */
    if (p->memfd < 0 && s < 0) return false;
    if (s >= 0) close(s);
    return true;
}

static int find_by_slot(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

void processes_find(struct processes *all)
{
    char line[512], name[32];
    static bool seen[SHCA_SLOTS];
    int n = snprintf(name, sizeof name, "@softhca.%u.", (unsigned)getuid());
    FILE *f = fopen("/proc/net/unix", "re");
    all->p = calloc(SHCA_SLOTS, sizeof *all->p);
    all->count = 0;
    while (f && all->p && fgets(line, sizeof line, f)) {
        char *at = strstr(line, name), *end;
        unsigned long slot = at ? strtoul(at + n, &end, 10) : 0;
        if (!at || end == at + n || slot >= SHCA_SLOTS || seen[slot]) continue;
        seen[slot] = true;
        if (find_inspect(&all->p[all->count], (uint32_t)slot)) all->count++;
    }
    if (f) fclose(f);
    qsort(all->p, all->count, sizeof *all->p, find_by_slot);
}

struct process *processes_at(const struct processes *all, uint32_t slot)
{
    struct process key = {.slot = slot};
    return bsearch(&key, all->p, all->count, sizeof *all->p, find_by_slot);
}

void process_walk(const struct process *p, uint64_t offset, size_t size, size_t count,
                  void (*seen)(const void *entry, size_t index, void *context), void *context)
{
    enum { PAGE = 4096 };
    _Alignas(64) char entry[4096];
    uint64_t end = offset + size * count;
    for (size_t i = 0; i < count;) {
        /* offset of the next data */
        off_t data = lseek(p->memfd, (off_t)(offset + i * size), SEEK_DATA);
        if (data < 0 || (uint64_t)data >= end) return;
        i = ((uint64_t)data - offset) / size;
        uint64_t stop = ((uint64_t)data / PAGE + 1) * PAGE;
        for (; i < count && offset + i * size < stop; i++)
            if (pread(p->memfd, entry, size, (off_t)(offset + i * size)) == (ssize_t)size)
                seen(entry, i, context);
    }
}
