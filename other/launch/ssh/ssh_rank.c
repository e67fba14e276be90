/* ssh_rank.c - the ssh spawner in a rank: one socket to the process that started it.
 *
 * Called through spawner_ssh by bootstrap.c.  From init on a thread reads the socket: it gives
 * results to the waiting collective call, and ends the process when the launcher orders it or is
 * gone.  The program's threads only send; each frame is one atomic packet, so that sending needs
 * no lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "other/launch/spawner_ops.h"
#include "other/launch/ssh/ssh_wire.h"

static struct {
    int fd; /* -1: not joined */
    uint32_t rank, size;
    uint32_t seq; /* collective calls made so far */
    _Atomic(bootstrap_death_fn) on_death;
    _Atomic(bootstrap_word_fn) on_word;
    bootstrap_meanwhile_fn meanwhile; /* used by the program's thread only */
    atomic_bool aborting;             /* this process has ordered the job's end */
    struct ssh_wire_assembly in;      /* used by the reading thread only */
    _Atomic(bootstrap_answer_fn) answer;
    atomic_bool answering;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t arrived;
    bool ready; /* a result is there for the collective call */
    uint32_t result_seq;
    struct ssh_wire_buf result;
} me = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

static void rank_fatal(const char *what, const char *why) __attribute__((noreturn));
static void rank_fatal(const char *what, const char *why)
{
    fprintf(stderr, "bootstrap: rank %" PRIu32 ": %s: %s; ending the job\n", me.rank, what, why);
    spawner_ssh.abort(1);
}

/* --- sending --- */

/* A program that closes all descriptors, as daemons do, closes this socket. */
static const char closed_here[] =
    "this process closed its connection to the launcher: it may close no descriptor that it did "
    "not open";

static bool rank_is_closed_here(void)
{
    return errno == EBADF || errno == ENOTSOCK;
}

/* No stdio: a thread of the program may hold its lock. */
static void rank_announce_end(const char *why)
{
    char line[256];
    int len = snprintf(line, sizeof line, "bootstrap: rank %" PRIu32 ": %s; ending this process\n",
                       me.rank, why);
    if (write(STDERR_FILENO, line, (size_t)len) < 0) len = 0;
}

/* Sends one frame atomically.  A failure other than EINTR means that the launcher is gone, for
 * which the watch ends this process; no error is returned.  But the watch may sleep in a
 * descriptor that the program closed, and not notice. */
static void rank_send_frame(const uint8_t *frame, size_t len)
{
    ssize_t sent;
    do sent = send(me.fd, frame, len, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0) return;
    if (!rank_is_closed_here()) {
        /* The frame is lost: the watch ends this process, and the launcher the job. */
        shutdown(me.fd, SHUT_RDWR);
        return;
    }
    rank_announce_end(closed_here);
    spawner_ssh.abort(1);
}

static void rank_send_value(enum ssh_wire_type type, uint32_t value)
{
    uint8_t frame[SSH_WIRE_VALUE_FRAME];
    rank_send_frame(frame, ssh_wire_value_frame(frame, type, me.rank, value));
}

static void rank_send_message(enum ssh_wire_type type, const struct ssh_wire_buf *message)
{
    struct ssh_wire_buf out = {0};
    ssh_wire_put_message(&out, type, me.rank, message->data, message->len);
    if (message->failed || out.failed) rank_fatal("collective call", "out of memory");
    struct ssh_wire_frame frame;
    const char *why;
    for (size_t at = 0; at < out.len;) {
        size_t len = (size_t)ssh_wire_parse_frame(out.data + at, out.len - at, &frame, &why);
        rank_send_frame(out.data + at, len);
        at += len;
    }
    ssh_wire_free(&out);
}

/* --- receiving --- */

/* Reads the next message; returns false when the launcher is gone or sent a wrong frame (*why). */
static bool rank_receive(struct ssh_wire_message *message, const char **why)
{
    static uint8_t packet[SSH_WIRE_FRAME]; /* used by one thread at a time: init, then the watch */
    *why = "the launcher is gone";
    for (;;) {
        ssize_t got = recv(me.fd, packet, sizeof packet, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && rank_is_closed_here()) *why = closed_here;
        if (got <= 0) return false;
        struct ssh_wire_frame frame;
        ssize_t used = ssh_wire_parse_frame(packet, (size_t)got, &frame, why);
        if (used == 0) *why = "frame cut short";
        if (used != got) return false;
        int complete = ssh_wire_assemble(&me.in, &frame, message, why);
        if (complete != 0) return complete > 0;
    }
}

static void rank_hand_over(const struct ssh_wire_message *message)
{
    pthread_mutex_lock(&me.lock);
    me.result.len = 0;
    ssh_wire_put(&me.result, message->data, message->data_len);
    me.result_seq = message->seq;
    me.ready = true;
    pthread_cond_signal(&me.arrived);
    pthread_mutex_unlock(&me.lock);
}

/* --- answering --- */

/* Sends the answer in parts of one frame each; frames of the program's calls may come between. */
static void rank_send_answer(uint32_t question, const char *text, size_t len)
{
    enum { PART = SSH_WIRE_PAYLOAD - 8 };
    do {
        struct ssh_wire_buf part = {0};
        size_t now = len < PART ? len : PART;
        ssh_wire_put_u32(&part, question);
        ssh_wire_put_u32(&part, now == len);
        ssh_wire_put(&part, text, now);
        if (!part.failed) rank_send_message(SSH_WIRE_ANSWER, &part);
        ssh_wire_free(&part);
        text += now;
        len -= now;
    } while (len);
}

/* In a thread of its own: the watch must not wait for the answer. */
static void *rank_answer_thread(void *asked)
{
    const uint32_t question = (uint32_t)(uintptr_t)asked;
    bootstrap_answer_fn fn = atomic_load(&me.answer);
    char early[80];
    size_t len = 0;
    char *text = fn ? fn((enum bootstrap_question)(question & 3), &len) : NULL;
    if (!text)
        len = (size_t)snprintf(early, sizeof early,
                               "# rank %" PRIu32 " of %" PRIu32 ": has no counters yet\n", me.rank,
                               me.size);
    rank_send_answer(question, text ? text : early, len);
    free(text);
    atomic_store(&me.answering, false);
    return NULL;
}

static void rank_asked(uint32_t question)
{
    if (atomic_exchange(&me.answering, true)) return; /* the launcher reports it */
    if (!spawner_start_thread(rank_answer_thread, (void *)(uintptr_t)question))
        atomic_store(&me.answering, false);
}

static void rank_deliver_word(const struct ssh_wire_message *message)
{
    bootstrap_word_fn on_word = atomic_load(&me.on_word);
    if (!on_word) return;
    if (message->type == SSH_WIRE_NOTED) on_word(BOOTSTRAP_NOTED, 0);
    if (message->type == SSH_WIRE_LEAVE) on_word(BOOTSTRAP_LEAVE, (int)message->value & 0xff);
    if (message->type == SSH_WIRE_TOGETHER) on_word(BOOTSTRAP_TOGETHER, (int)message->value & 0xff);
    pthread_mutex_lock(&me.lock);
    pthread_cond_signal(&me.arrived); /* a waiting call acts upon it */
    pthread_mutex_unlock(&me.lock);
}

static void *rank_watch_launcher(void *unused)
{
    struct ssh_wire_message message;
    const char *why;
    while (rank_receive(&message, &why)) {
        if (message.type == SSH_WIRE_RESULT) rank_hand_over(&message);
        if (message.type == SSH_WIRE_ASK) rank_asked(message.value);
        rank_deliver_word(&message);
        if (message.type == SSH_WIRE_DIE && atomic_load(&me.aborting))
            _exit((int)message.value & 0xff);
        if (message.type == SSH_WIRE_DIE)
            spawner_run_death(atomic_load(&me.on_death), (int)message.value);
    }
    /* The launcher usually ends this process with itself; a message would only add noise. */
    usleep(100000);
    rank_announce_end(why);
    spawner_run_death(atomic_load(&me.on_death), 1);
}

/* --- joining --- */

/* "ssh <fd> <inode> <rank>": the inode proves that the descriptor is the launcher's socket, and
 * not another file that a wrapper opened under this number. */
static bool rank_read_handover(char *why, size_t why_size)
{
    const char *text = getenv(SPAWNER_CONTROL);
    uintmax_t inode;
    struct stat st;
    int fd, used = 0;
    if (!text ||
        sscanf(text, "ssh %d %" SCNuMAX " %" SCNu32 "%n", &fd, &inode, &me.rank, &used) < 3 ||
        text[used]) {
        snprintf(why, why_size,
                 "spawner ssh: %s=\"%s\" is not what a launcher writes: is it left "
                 "over from another job? unset it",
                 SPAWNER_CONTROL, text ? text : "");
        return false;
    }
    if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode) || (uintmax_t)st.st_ino != inode) {
        snprintf(why, why_size,
                 "spawner ssh: rank %" PRIu32 ": descriptor %d is not the launcher's "
                 "any more: a wrapper between launcher and program closed it; run the program "
                 "without that wrapper",
                 me.rank, fd);
        return false;
    }
    me.fd = fd;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return true;
}

static bool rank_adopt_welcome(const struct ssh_wire_message *message, struct bootstrap_job *job,
                               struct spawner_console *console)
{
    uint32_t size = message->welcome.size;
    uint32_t *host_of = malloc(size * sizeof *host_of);
    console->block = malloc(message->data_len + 1);
    if (!host_of || !console->block || me.rank >= size) return false;
    console->len = message->data_len;
    memcpy(console->block, message->data, message->data_len);
    for (uint32_t r = 0; r < size; r++)
        host_of[r] = ssh_wire_u32(message->welcome.host_of + 4 * (size_t)r);
    me.size = size;
    *job = (struct bootstrap_job){
        .rank = me.rank, .size = size, .host = host_of[me.rank], .host_of = host_of};
    for (uint32_t r = 0; r < size; r++) job->host_size += host_of[r] == job->host;
    return true;
}

static enum bootstrap_status ssh_init(int *argc, char ***argv, struct bootstrap_job *job,
                                      struct spawner_console *console, char *why, size_t why_size)
{
    struct ssh_wire_message message;
    const char *reason;
    if (!rank_read_handover(why, why_size)) return BOOTSTRAP_FAILED;
    rank_send_value(SSH_WIRE_HELLO, (uint32_t)getpid());
    if (!rank_receive(&message, &reason)) {
        snprintf(why, why_size,
                 "spawner ssh: rank %" PRIu32 ": %s, or another program of this rank has ended "
                 "before: where the words given to the launcher start several programs, start "
                 "each by a launcher of its own",
                 me.rank, reason);
        return BOOTSTRAP_FAILED;
    }
    if (message.type == SSH_WIRE_DIE) _exit((int)message.value & 0xff);
    if (message.type != SSH_WIRE_WELCOME || !rank_adopt_welcome(&message, job, console)) {
        snprintf(why, why_size,
                 "spawner ssh: rank %" PRIu32 ": unusable welcome from the launcher "
                 "(a launcher of another version, or out of memory)",
                 me.rank);
        return BOOTSTRAP_FAILED;
    }
    if (!spawner_start_thread(rank_watch_launcher, NULL)) {
        snprintf(why, why_size,
                 "spawner ssh: rank %" PRIu32 ": cannot start the watch thread: %s "
                 "(see ulimit -u)",
                 me.rank, strerror(errno));
        return BOOTSTRAP_FAILED;
    }
    return BOOTSTRAP_OK;
}

/* --- collective calls --- */

/* Lock held: waits for the result of a collective call. */
static void rank_await_result(void)
{
    while (!me.meanwhile && !me.ready) pthread_cond_wait(&me.arrived, &me.lock);
    for (unsigned turn = 0; me.meanwhile; turn++) {
        pthread_mutex_unlock(&me.lock);
        me.meanwhile();
        pthread_mutex_lock(&me.lock);
        const struct timespec next = spawner_next_turn(turn);
        if (me.ready) break;
        pthread_cond_timedwait(&me.arrived, &me.lock, &next);
    }
    me.ready = false;
}

/* Makes a collective call and copies `expect` bytes of its result to `out`. */
static void rank_collective(enum ssh_wire_collective kind, uint32_t root, size_t block,
                            const void *mine, size_t mine_len, void *out, size_t expect)
{
    struct ssh_wire_buf call = {0};
    if (block > SSH_WIRE_MESSAGE / 2 / me.size)
        rank_fatal("collective call", "more data than start-up exchange is made for");
    ssh_wire_put_u32(&call, kind);
    ssh_wire_put_u32(&call, root);
    ssh_wire_put_u32(&call, ++me.seq);
    ssh_wire_put_u64(&call, block);
    ssh_wire_put(&call, mine, mine_len);
    rank_send_message(SSH_WIRE_COLLECTIVE, &call);
    ssh_wire_free(&call);

    pthread_mutex_lock(&me.lock);
    rank_await_result();
    bool good = !me.result.failed && me.result.len == expect && me.result_seq == me.seq;
    if (good && expect) memcpy(out, me.result.data, expect);
    ssh_wire_free(&me.result);
    pthread_mutex_unlock(&me.lock);
    if (!good) rank_fatal("collective call", "unexpected result from the launcher");
}

static void ssh_barrier(void)
{
    rank_collective(SSH_WIRE_BARRIER, 0, 0, NULL, 0, NULL, 0);
}

static void ssh_exchange(const void *mine, size_t len, void *all)
{
    rank_collective(SSH_WIRE_EXCHANGE, 0, len, mine, len, all, len * me.size);
}

static void ssh_alltoall(const void *mine, size_t len, void *all)
{
    rank_collective(SSH_WIRE_ALLTOALL, 0, len, mine, len * me.size, all, len * me.size);
}

static void ssh_broadcast(void *data, size_t len, uint32_t root)
{
    rank_collective(SSH_WIRE_BROADCAST, root, len, data, root == me.rank ? len : 0, data, len);
}

/* --- leaving --- */

static void ssh_meanwhile(bootstrap_meanwhile_fn meanwhile)
{
    me.meanwhile = meanwhile;
}

static void ssh_watch(bootstrap_death_fn on_death)
{
    atomic_store(&me.on_death, on_death);
    rank_send_value(SSH_WIRE_ARMED, 0);
}

static void ssh_answer(bootstrap_answer_fn fn)
{
    atomic_store(&me.answer, fn);
}

static void ssh_moves(bool moves, double seconds)
{
    rank_send_value(SSH_WIRE_MOVES, ssh_wire_moves(moves, seconds));
}

static void ssh_listen(bootstrap_word_fn on_word)
{
    atomic_store(&me.on_word, on_word);
}

static void ssh_leaving(int exitcode, double seconds)
{
    rank_send_value(SSH_WIRE_LEAVING, ssh_wire_leaving((uint32_t)exitcode, seconds));
}

static bool ssh_complain(const char *what, const char *why, bool once)
{
    struct ssh_wire_buf text = {0};
    if (me.fd < 0 || strlen(what) + strlen(why) + 8 > SSH_WIRE_PAYLOAD) return false;
    ssh_wire_put_string(&text, what);
    ssh_wire_put_string(&text, why);
    if (once) ssh_wire_put_string(&text, "once");
    if (!text.failed) rank_send_message(SSH_WIRE_COMPLAINT, &text);
    bool said = !text.failed;
    ssh_wire_free(&text);
    return said;
}

static void ssh_fini(int exitcode)
{
    rank_send_value(SSH_WIRE_FINI, (uint32_t)exitcode & 0xff);
}

static void ssh_abort(int exitcode) __attribute__((noreturn));

/* Async-signal-safe.  The launcher reads this frame before the exit status of this process, so
 * that the job's code is this one; it then ends the others.  If the socket stays full for half a
 * second the launcher hangs, and the process exits without the frame. */
static void ssh_abort(int exitcode)
{
    uint8_t frame[SSH_WIRE_VALUE_FRAME];
    atomic_store(&me.aborting, true);
    size_t len = ssh_wire_value_frame(frame, SSH_WIRE_ABORT, me.rank, (uint32_t)exitcode & 0xff);
    for (int tries = 0; me.fd >= 0 && tries < 5; tries++) {
        if (send(me.fd, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) break;
        if (errno != EAGAIN && errno != EINTR) break;
        struct pollfd room = {.fd = me.fd, .events = POLLOUT};
        poll(&room, 1, 100);
    }
    _exit(exitcode & 0xff);
}

const struct spawner_ops spawner_ssh = {
    .abi = SPAWNER_ABI,
    .name = "ssh",
    .init = ssh_init,
    .barrier = ssh_barrier,
    .exchange = ssh_exchange,
    .alltoall = ssh_alltoall,
    .broadcast = ssh_broadcast,
    .meanwhile = ssh_meanwhile,
    .watch = ssh_watch,
    .answer = ssh_answer,
    .moves = ssh_moves,
    .listen = ssh_listen,
    .leaving = ssh_leaving,
    .complain = ssh_complain,
    .fini = ssh_fini,
    .abort = ssh_abort,
};
