/* module_answer.c - see module.h.
 *
 * Linked into the modules.  mpirun and srun cannot be asked about the job, so gasnetrun --stats
 * asks the ranks of its host one by one.  The thread sleeps in accept and must never call MPI or
 * PMIx.
 */
#define _GNU_SOURCE /* struct ucred, accept4 */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "other/launch/ask_socket.h"
#include "other/launch/modules/module.h"
#include "other/launch/spawner_ops.h"

static _Atomic(bootstrap_answer_fn) answer_fn;
static int listener = -1;
static uint32_t my_rank, job_size;

static void module_send_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; /* the client is gone, or does not read */
        text += n;
        len -= (size_t)n;
    }
}

static void module_answer_client(int fd)
{
    static const struct timeval patience = {.tv_sec = 3};
    bootstrap_answer_fn fn = atomic_load(&answer_fn);
    char question = 0;
    char line[120];
    size_t len = 0;
    uid_t user;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!ask_trusted(fd, &user)) {
        len = (size_t)snprintf(line, sizeof line,
                               "# refused: this job is of user %u, who alone may ask\n",
                               (unsigned)geteuid());
        module_send_all(fd, line, len);
        return;
    }
    if (recv(fd, &question, 1, 0) != 1) return;
    const char *known = question ? strchr(ASK_QUESTIONS, question) : NULL;
    if (!known) return;
    char *text = fn ? fn((enum bootstrap_question)(known - ASK_QUESTIONS), &len) : NULL;
    if (!text)
        len = (size_t)snprintf(line, sizeof line,
                               "# rank %" PRIu32 " of %" PRIu32 ": has no counters yet\n", my_rank,
                               job_size);
    module_send_all(fd, text ? text : line, len);
    free(text);
}

/* Whether accept failed for a transient reason. */
static bool module_is_transient(int error)
{
    if (error == EMFILE || error == ENFILE) poll(NULL, 0, 1000); /* until a descriptor is free */
    return error == EMFILE || error == ENFILE || error == EINTR || error == ECONNABORTED;
}

static void *module_answer_thread(void *unused)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && module_is_transient(errno)) continue;
        if (fd < 0) return NULL; /* the program closed it */
        module_answer_client(fd);
        close(fd);
    }
}

/* The job's number: gasnetrun's process id, or without gasnetrun that of the parent process. */
static int module_job_number(void)
{
    const char *text = getenv(SPAWNER_JOB);
    int number = text ? atoi(text) : 0;
    return number > 0 ? number : (int)getppid();
}

void module_answer_start(uint32_t rank, uint32_t size)
{
    struct sockaddr_un address;
    socklen_t len = ask_address(module_job_number(), rank, size, &address);
    my_rank = rank;
    job_size = size;
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) return;
    if (bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 4) == 0 &&
        spawner_start_thread(module_answer_thread, NULL))
        return;
    close(listener);
    listener = -1;
}

void module_answer(bootstrap_answer_fn answer_by)
{
    atomic_store(&answer_fn, answer_by);
}
