/* ask.c - gasnetrun --stats where something is missing: the launcher when a rank sends only a part
 * of its answer, and the thread of a rank that answers for itself when there is no descriptor.
 *
 * The calls of the kernel that would wait are played by the test.
 */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "other/launch/modules/module.h"
#include "other/launch/ssh/ssh_master.h"
#include "tests/unit/check.h"

/* --- the launcher --- */

static void send_nothing(void *ctx, uint32_t rank, enum ssh_wire_type type, const void *data,
                         size_t len)
{
    (void)ctx, (void)rank, (void)type, (void)data, (void)len;
}

/* The part of an answer that ends with `last` 1. */
static void part_arrives(struct ssh_master *master, uint32_t question, uint32_t last,
                         const char *text)
{
    struct ssh_wire_buf part = {0};
    ssh_wire_put_u32(&part, question);
    ssh_wire_put_u32(&part, last);
    ssh_wire_put(&part, text, strlen(text));
    const struct ssh_wire_frame frame = {
        .type = SSH_WIRE_ANSWER, .data = part.data, .len = part.len};
    ssh_ask_frame(master, 0, &frame);
    ssh_wire_free(&part);
}

/* A client has asked the only rank; returns the client's end. */
static int begin(struct ssh_master *master)
{
    static const char *const host = "h0";
    int ends[2];
    memset(master, 0, sizeof *master);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
        !ssh_job_open(&master->job, 1, &host, send_nothing, NULL))
        abort();
    master->ask = (struct ssh_ask){.listener = -1,
                                   .client = ends[0],
                                   .number = 7,
                                   .waiting = 1,
                                   .text = calloc(1, sizeof *master->ask.text),
                                   .pending = calloc(1, sizeof *master->ask.pending)};
    if (!master->ask.text || !master->ask.pending) abort();
    master->ask.pending[0] = true;
    return ends[1];
}

/* The text that the client has received, up to the end of the connection. */
static const char *answer(struct ssh_master *master, int client)
{
    static char text[1000];
    const ssize_t n = recv(client, text, sizeof text - 1, MSG_WAITALL | MSG_DONTWAIT);
    text[n > 0 ? n : 0] = 0;
    close(client);
    ssh_ask_close(master);
    ssh_job_close(&master->job);
    return text;
}

static void launcher(void)
{
    static struct ssh_master master;
    int client = begin(&master);
    part_arrives(&master, 7, 0, "one\n");
    part_arrives(&master, 6, 1, "of an earlier question\n");
    part_arrives(&master, 7, 1, "two\n");
    check(!strcmp(answer(&master, client), "one\ntwo\n"), "an answer in two parts is one");
    client = begin(&master);
    part_arrives(&master, 7, 0, "one\n");
    ssh_ask_late(&master);
    const char *text = answer(&master, client), *line = strchr(text, '\n');
    check(!strncmp(text, "# rank 0 of 1 on h0: no answer within 3 s", 41) && line && !line[1],
          "of one that lacks a part there is only the line that says so: %.*s",
          (int)strcspn(text, "\n"), text);
}

/* --- a rank that answers for itself --- */

static const int failures[] = {EMFILE, ENFILE, EMFILE, EINTR, EBADF};
static unsigned accepts, pauses, pauses_at_end;
static int longest;
static sem_t ended;

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags)
{
    (void)listener, (void)address, (void)length, (void)flags;
    const int error = failures[accepts++];
    if (error == EBADF) {
        pauses_at_end = pauses;
        sem_post(&ended);
    }
    errno = error;
    return -1;
}

int poll(struct pollfd *list, nfds_t count, int milliseconds)
{
    (void)list, (void)count;
    pauses++;
    longest = milliseconds;
    return 0;
}

static void rank(void)
{
    sem_init(&ended, 0, 0);
    module_answer_start(0, 1);
    sem_wait(&ended);
    check(pauses_at_end == 3 && longest == 1000,
          "where a descriptor is missing the thread waits a second for it: %u times",
          pauses_at_end);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    launcher();
    rank();
    return check_end();
}
