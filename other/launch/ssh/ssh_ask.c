/* ssh_ask.c - gasnetrun --stats, on the side of the launcher and on that of the client; see
 * ssh_ask.h.
 *
 * Called by the launcher's event loop, and by gasnetrun --stats.  Must never delay the job: a
 * client that does not read is dropped, and a rank that does not answer is reported.
 */
#define _GNU_SOURCE /* struct ucred */
#include "other/launch/ssh/ssh_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "other/launch/ask_socket.h"
#include "other/launch/launcher_log.h"
#include "other/launch/ssh/ssh_launch.h"
#include "other/launch/ssh/ssh_master.h"

enum { ANSWER_TIME = 3000, PATIENCE_SECONDS = 15 };

/* --- the launcher --- */

void ssh_ask_open(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    struct sockaddr_un address;
    socklen_t len = ask_address(getpid(), 0, 0, &address);
    ask->client = -1;
    ask->text = calloc(m->job.size, sizeof *ask->text);
    ask->pending = calloc(m->job.size, sizeof *ask->pending);
    ask->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ask->listener < 0) return;
    if (ask->text && ask->pending && bind(ask->listener, (struct sockaddr *)&address, len) == 0 &&
        listen(ask->listener, 4) == 0)
        return;
    close(ask->listener); /* the job does not depend on it */
    ask->listener = -1;
}

static void ask_hang_up(struct ssh_ask *ask)
{
    if (ask->client >= 0) close(ask->client);
    ask->client = -1;
    ask->sent = 0;
    ask->waiting = 0;
    ssh_wire_free(&ask->out);
}

void ssh_ask_close(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    if (!ask->text) return;
    ask_hang_up(ask);
    if (ask->listener >= 0) close(ask->listener);
    for (uint32_t r = 0; r < m->job.size; r++) ssh_wire_free(&ask->text[r]);
    free(ask->text);
    free(ask->pending);
}

static void ask_printf(struct ssh_ask *ask, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void ask_printf(struct ssh_ask *ask, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n > 0) ssh_wire_put(&ask->out, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* Sends as much as the client takes; closes the connection when everything is sent. */
static void ask_flush(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    while (ask->sent < ask->out.len) {
        ssize_t n = send(ask->client, ask->out.data + ask->sent, ask->out.len - ask->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) break; /* the client is gone */
        ask->sent += (size_t)n;
    }
    if (!ask->waiting) ask_hang_up(ask);
}

/* Completes the answer of one rank. */
static void ask_settle(struct ssh_ask *ask, uint32_t rank)
{
    ssh_wire_put(&ask->out, ask->text[rank].data, ask->text[rank].len);
    ssh_wire_free(&ask->text[rank]);
    ask->pending[rank] = false;
    ask->waiting--;
}

static void ask_send_question(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    ask->number++;
    ask->waiting = 1; /* held while the ranks are asked */
    for (uint32_t r = 0; r < m->job.size; r++) {
        const struct ssh_job_rank *rank = &m->job.ranks[r];
        uint8_t number[4] = {(uint8_t)ask->number, (uint8_t)(ask->number >> 8),
                             (uint8_t)(ask->number >> 16), (uint8_t)(ask->number >> 24)};
        ssh_wire_free(&ask->text[r]); /* left by a client that was dropped */
        ask->pending[r] = rank->phase == SSH_RANK_JOINED;
        if (ask->pending[r]) {
            ask->waiting++;
            m->job.send(m->job.ctx, r, SSH_WIRE_ASK, number, sizeof number);
        } else {
            ask_printf(ask, "# rank %" PRIu32 " of %" PRIu32 " on %s: %s\n", r, m->job.size,
                       rank->host,
                       rank->phase == SSH_RANK_STARTED ? "has not joined the job yet"
                                                       : "has ended, or is about to");
        }
    }
    ask->waiting--;
    ssh_timer_set(m, SSH_TIMER_ASK, ANSWER_TIME);
    ask_flush(m);
}

static void ask_admit(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    uid_t user = 0;
    ask->client = accept4(ask->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (ask->client < 0) return;
    if (ask_trusted(ask->client, &user)) {
        ask_send_question(m);
        return;
    }
    ask_printf(ask, "# refused: this job is of user %u, who alone may ask\n", (unsigned)geteuid());
    ask_flush(m);
    ask_hang_up(ask);
}

size_t ssh_ask_poll(struct ssh_master *m, struct pollfd *fds)
{
    struct ssh_ask *ask = &m->ask;
    bool busy = ask->client >= 0;
    fds[0] = (struct pollfd){.fd = busy ? -1 : ask->listener, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = ask->client, .events = ask->sent < ask->out.len ? POLLOUT : 0};
    return SSH_ASK_FDS;
}

void ssh_ask_ready(struct ssh_master *m, const struct pollfd *fds, size_t count)
{
    struct ssh_ask *ask = &m->ask;
    if (count < SSH_ASK_FDS) return;
    if (fds[0].revents && ask->client < 0) ask_admit(m);
    if (!fds[1].revents || ask->client < 0) return;
    if (fds[1].revents & (POLLHUP | POLLERR))
        ask_hang_up(ask);
    else
        ask_flush(m);
}

void ssh_ask_frame(struct ssh_master *m, uint32_t rank, const struct ssh_wire_frame *frame)
{
    struct ssh_ask *ask = &m->ask;
    struct ssh_wire_message message;
    const char *why;
    if (frame->more ||
        !ssh_wire_decode(frame->type, rank, frame->data, frame->len, &message, &why)) {
        ssh_job_fail(&m->job, 1, "rank %" PRIu32 " on host %s sent a broken answer; ending the job",
                     rank, m->job.ranks[rank].host);
        return;
    }
    /* A late answer to an earlier question is dropped. */
    if (ask->client < 0 || message.value != ask->number || !ask->pending[rank]) return;
    ssh_wire_put(&ask->text[rank], message.data, message.data_len);
    if (message.seq) ask_settle(ask, rank);
    ask_flush(m);
}

void ssh_ask_late(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    if (ask->client < 0) return;
    if (!ask->waiting) { /* all is answered, and the client does not read */
        ask_hang_up(ask);
        return;
    }
    for (uint32_t r = 0; r < m->job.size; r++) {
        if (!ask->pending[r]) continue;
        ssh_wire_free(&ask->text[r]);
        ask_printf(ask, "# rank %" PRIu32 " of %" PRIu32 " on %s: no answer within %d s: %s\n", r,
                   m->job.size, m->job.ranks[r].host, ANSWER_TIME / 1000,
                   m->job.ranks[r].phase == SSH_RANK_GONE
                       ? "it has ended"
                       : "is it stopped, or its host out of reach?");
        ask_settle(ask, r);
    }
    ssh_timer_set(m, SSH_TIMER_ASK, ANSWER_TIME);
    ask_flush(m);
}

/* --- who asks --- */

/* Reports why there is no answer for that process. */
static void ask_explain_failure(pid_t job, int error)
{
    char file[64], name[64] = "";
    snprintf(file, sizeof file, "/proc/%d/comm", (int)job);
    FILE *comm = fopen(file, "r");
    bool exists = comm != NULL;
    if (comm) {
        if (!fgets(name, sizeof name, comm)) name[0] = 0;
        fclose(comm);
        name[strcspn(name, "\n")] = 0;
    }
    if (!exists)
        launcher_log("--stats %d: there is no such job here: a job is named by the process id of "
                     "its gasnetrun, on the machine where that runs (-v prints it)",
                     (int)job);
    else
        launcher_log("--stats %d: process %d (%s) is no launcher that can be asked, and no rank of "
                     "such a job is here (%s): a job is named by the process id of its gasnetrun "
                     "(-v prints it)",
                     (int)job, (int)job, name, strerror(error));
}

/* Returns a connected socket, or -1 with errno. */
static int ask_connect(const struct sockaddr_un *address, socklen_t len, int seconds)
{
    struct timeval patience = {.tv_sec = seconds};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)address, len) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

enum answer { ANSWERED, SILENT, UNTRUSTED };

/* Whether what listens there may be believed.  Anyone may listen under any name: it must be of this
 * user, or of root; root also believes the user of the process that names the job. */
static bool ask_believed(int fd, pid_t job, uid_t *user)
{
    char process[32];
    struct stat of_job;
    if (ask_trusted(fd, user)) return true;
    snprintf(process, sizeof process, "/proc/%d", (int)job);
    const bool known = stat(process, &of_job) == 0;
    if (known && of_job.st_uid == *user && geteuid() == 0) return true;
    launcher_log(known && of_job.st_uid != *user
                     ? "--stats %d: user %u, whose job that is not, listens under its name"
                     : "--stats %d: that job is of user %u, who alone may ask",
                 (int)job, (unsigned)*user);
    return false;
}

/* Replaces control characters: another user's text must not command this user's terminal. */
static void ask_make_plain(char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') ||
            bytes[i] == 0x7f)
            bytes[i] = '?';
}

/* Prints the answer up to its end. */
static enum answer ask_print_answer(int fd, pid_t job)
{
    char bytes[65536];
    bool any = false;
    ssize_t n;
    uid_t user = 0;
    if (!ask_believed(fd, job, &user)) return UNTRUSTED;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0) continue;
        if (user != geteuid()) ask_make_plain(bytes, (size_t)n);
        any = true;
        fwrite(bytes, 1, (size_t)n, stdout); /* launcher_end_print reports a failure */
    }
    return n < 0 || !any ? SILENT : ANSWERED;
}

/* --- ranks that answer for themselves --- */

/* A name under which a rank of the job would listen; not known yet whether one does. */
struct found {
    uint32_t rank, size;
};

enum rank_found { RANK_ENDED, RANK_HERE, RANK_FALSE };

static enum rank_found ask_rank(pid_t job, const struct found *found)
{
    struct sockaddr_un address;
    socklen_t len = ask_address(job, found->rank, found->size, &address);
    int fd = ask_connect(&address, len, ANSWER_TIME / 1000);
    if (fd < 0 && errno == ECONNREFUSED) {
        printf("# rank %" PRIu32 " of %" PRIu32 ": has ended\n", found->rank, found->size);
        return RANK_ENDED;
    }
    const enum answer answer = fd < 0 ? SILENT : ask_print_answer(fd, job);
    if (answer == SILENT)
        printf("# rank %" PRIu32 " of %" PRIu32 ": no answer within %d s: is it stopped?\n",
               found->rank, found->size, ANSWER_TIME / 1000);
    if (fd >= 0) close(fd);
    return answer == UNTRUSTED ? RANK_FALSE : RANK_HERE;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

/* Returns the names on this host, in the order of ranks, each once. */
static struct found *find_ranks(pid_t job, size_t *count)
{
    char line[512], format[64];
    struct ssh_wire_buf buf = {0};
    FILE *sockets = fopen("/proc/net/unix", "r");
    snprintf(format, sizeof format, "@" ASK_NAME "/%%" SCNu32 "/%%" SCNu32, (int)job);
    while (sockets && fgets(line, sizeof line, sockets)) {
        const char *name = strchr(line, '@');
        struct found one;
        if (!name || sscanf(name, format, &one.rank, &one.size) != 2 || one.rank >= one.size)
            continue;
        ssh_wire_put(&buf, &one, sizeof one);
    }
    if (sockets) fclose(sockets);
    struct found *all = (struct found *)(void *)buf.data;
    size_t kept = 0, n = buf.len / sizeof *all;
    if (n) qsort(all, n, sizeof *all, compare_found);
    for (size_t i = 0; i < n; i++)
        if (!i || compare_found(&all[i], &all[i - 1])) all[kept++] = all[i];
    *count = kept;
    return all;
}

static bool ask_ranks(pid_t job)
{
    size_t count, false_names = 0;
    uint32_t size = 0, here = 0;
    struct found *all = find_ranks(job, &count);
    for (size_t i = 0; i < count; i++) {
        const enum rank_found found = ask_rank(job, &all[i]);
        false_names += found == RANK_FALSE;
        if (found != RANK_HERE) continue;
        size = all[i].size;
        here++;
    }
    if (here && here < size)
        printf("# %" PRIu32 " of %" PRIu32 " ranks are not on this machine, or have ended: ask on "
               "their hosts: --stats %d\n",
               size - here, size, (int)job);
    free(all);
    return count > false_names;
}

int ssh_ask(pid_t job)
{
    struct sockaddr_un address;
    socklen_t len = ask_address(job, 0, 0, &address);
    int fd = ask_connect(&address, len, PATIENCE_SECONDS);
    if (fd < 0) {
        int error = errno;
        if (ask_ranks(job)) return launcher_end_print();
        ask_explain_failure(job, error);
        return 1;
    }
    enum answer answer = ask_print_answer(fd, job);
    if (answer == SILENT)
        launcher_log("--stats %d: the launcher does not answer: the job has just ended, or is "
                     "stopped",
                     (int)job);
    close(fd);
    return launcher_end_print() || answer != ANSWERED;
}
