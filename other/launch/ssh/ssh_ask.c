/* ssh_ask.c - the launcher's answer to gasnetrun --stats, --why and --top; see ssh_ask.h.
 *
 * Called by the launcher's event loop.  Must never delay the job: a client that does not read is
 * dropped, and a rank that does not answer is reported.
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
#include <sys/un.h>
#include <unistd.h>

#include "other/launch/ask_socket.h"
#include "other/launch/bootstrap.h"
#include "other/launch/output.h"
#include "other/launch/ssh/ssh_master.h"
#include "other/launch/why.h"

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
    ask->read = ask->own = false;
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

/* The report for the launcher's own question. */
static void ask_report(struct ssh_ask *ask)
{
    char end = 0;
    ssh_wire_put(&ask->out, &end, 1);
    char *text = ask->out.failed ? NULL : why_report((const char *)ask->out.data, WHY_SHORT);
    if (text) output_put(OUTPUT_STDERR, text, strlen(text));
    free(text);
    ask_hang_up(ask);
}

/* Sends as much as the client takes; closes the connection when everything is sent. */
static void ask_flush(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    if (ask->own) {
        if (!ask->waiting) ask_report(ask);
        return;
    }
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

static void ask_send_question(struct ssh_master *m, enum bootstrap_question what)
{
    struct ssh_ask *ask = &m->ask;
    ask->number = ssh_wire_question((ask->number >> 2) + 1, what);
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
    ssh_timer_set(m, SSH_TIMER_ASK, ASK_ANSWER_MS);
    ask_flush(m);
}

static void ask_admit(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    uid_t user = 0;
    ask->client = accept4(ask->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (ask->client < 0) return;
    if (ask_trusted(ask->client, &user)) {
        ssh_timer_set(m, SSH_TIMER_ASK, ASK_ANSWER_MS);
        return;
    }
    ask_printf(ask, "# refused: this job is of user %u, who alone may ask\n", (unsigned)geteuid());
    ask_flush(m);
    ask_hang_up(ask);
}

/* The client sends its question, or is gone. */
static void ask_read_question(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    char question = 0;
    const ssize_t n = recv(ask->client, &question, 1, MSG_DONTWAIT);
    const char *known = question ? strchr(ASK_QUESTIONS, question) : NULL;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    ask->read = n == 1 && known;
    if (ask->read)
        ask_send_question(m, (enum bootstrap_question)(known - ASK_QUESTIONS));
    else
        ask_hang_up(ask);
}

bool ssh_ask_why(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    if (!ask->text || !ask->pending || ask->client >= 0 || ask->own) return false;
    ask->own = true;
    ask_send_question(m, BOOTSTRAP_WHY);
    return true;
}

size_t ssh_ask_poll(struct ssh_master *m, struct pollfd *fds)
{
    struct ssh_ask *ask = &m->ask;
    bool busy = ask->client >= 0 || ask->own;
    short events = ask->read ? 0 : POLLIN;
    fds[0] = (struct pollfd){.fd = busy ? -1 : ask->listener, .events = POLLIN};
    fds[1] =
        (struct pollfd){.fd = ask->client, .events = ask->sent < ask->out.len ? POLLOUT : events};
    return SSH_ASK_FDS;
}

void ssh_ask_ready(struct ssh_master *m, const struct pollfd *fds, size_t count)
{
    struct ssh_ask *ask = &m->ask;
    if (count < SSH_ASK_FDS) return;
    if (fds[0].revents && ask->client < 0 && !ask->own) ask_admit(m);
    if (!fds[1].revents || ask->client < 0) return;
    if (!ask->read && (fds[1].revents & POLLIN))
        ask_read_question(m);
    else if (fds[1].revents & (POLLHUP | POLLERR))
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
    if ((ask->client < 0 && !ask->own) || message.value != ask->number || !ask->pending[rank])
        return;
    ssh_wire_put(&ask->text[rank], message.data, message.data_len);
    if (message.seq) ask_settle(ask, rank);
    ask_flush(m);
}

void ssh_ask_late(struct ssh_master *m)
{
    struct ssh_ask *ask = &m->ask;
    if (ask->client < 0 && !ask->own) return;
    if (!ask->waiting) { /* the client does not ask; or all is answered, and it does not read */
        ask_hang_up(ask);
        return;
    }
    for (uint32_t r = 0; r < m->job.size; r++) {
        if (!ask->pending[r]) continue;
        ssh_wire_free(&ask->text[r]);
        ask_printf(ask, "# rank %" PRIu32 " of %" PRIu32 " on %s: no answer within %d s: %s\n", r,
                   m->job.size, m->job.ranks[r].host, ASK_ANSWER_MS / 1000,
                   m->job.ranks[r].phase == SSH_RANK_GONE
                       ? "it has ended"
                       : "is it stopped, or its host out of reach?");
        ask_settle(ask, r);
    }
    ssh_timer_set(m, SSH_TIMER_ASK, ASK_ANSWER_MS);
    ask_flush(m);
}
