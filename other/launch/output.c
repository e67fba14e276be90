/* output.c - writes standard output and standard error in threads; see output.h.
 *
 * Called by the event loops of launcher and control process, which have one thread each; that one
 * alone forks, so that a child has none of these threads and must not call this.
 */
#define _GNU_SOURCE
#include "other/launch/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "other/base/quiet_thread.h"

enum { OUTPUT_STACK = 64 * 1024 };

struct stream {
    bool started;     /* the stream's thread runs; only the event loop uses this */
    char *bytes;      /* [cap]; the rest is guarded by the lock */
    size_t head, len; /* bytes[head .. head + len) wait */
    size_t cap;
    struct output_loss loss;
};

static struct stream streams[OUTPUT_STREAMS];
static const int fd_of[OUTPUT_STREAMS] = {STDOUT_FILENO, STDERR_FILENO};
static uint64_t done;
static int events = -1; /* -1: not open */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;

bool output_open(void)
{
    if (events < 0) events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return events >= 0;
}

/* --- writing --- */

/* Writes all bytes, or returns how many were written, with errno. */
static size_t output_write(int fd, const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) {
        ssize_t wrote = write(fd, bytes + at, len - at);
        if (wrote > 0) {
            at += (size_t)wrote;
        } else if (wrote < 0 && errno == EAGAIN) { /* another program set O_NONBLOCK */
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            poll(&room, 1, -1);
        } else if (wrote == 0 || errno != EINTR) {
            if (wrote == 0) errno = EIO;
            break;
        }
    }
    return at;
}

static void output_lose(struct stream *s, size_t bytes, int error)
{
    if (!s->loss.error) s->loss.error = error;
    s->loss.bytes += bytes;
}

/* Copies the next bytes to write: whole lines, where there are any, which a pipe takes in one
 * piece. */
static size_t output_next(const struct stream *s, char piece[PIPE_BUF])
{
    size_t len = s->len < PIPE_BUF ? s->len : PIPE_BUF;
    memcpy(piece, s->bytes + s->head, len);
    const char *end = memrchr(piece, '\n', len);
    return end ? (size_t)(end - piece) + 1 : len;
}

static void *output_thread(void *stream)
{
    struct stream *s = stream;
    static const uint64_t one = 1;
    char piece[PIPE_BUF];
    pthread_mutex_lock(&lock);
    for (;;) {
        while (s->len == 0) pthread_cond_wait(&queued, &lock);
        const size_t len = output_next(s, piece);
        pthread_mutex_unlock(&lock);
        const size_t wrote = output_write(fd_of[s - streams], piece, len);
        const int error = errno;
        pthread_mutex_lock(&lock);
        const bool first = wrote < len && !s->loss.error, was_full = s->len >= OUTPUT_BOUND;
        if (wrote < len) output_lose(s, len - wrote, error);
        s->head += len;
        s->len -= len;
        done += wrote;
        if (first || s->len == 0 || (was_full && s->len < OUTPUT_BOUND))
            while (write(events, &one, sizeof one) < 0 && errno == EINTR) continue;
    }
    return NULL;
}

/* --- queueing --- */

static bool output_make_room(struct stream *s, size_t len)
{
    if (s->head && s->head + s->len + len > s->cap) {
        memmove(s->bytes, s->bytes + s->head, s->len);
        s->head = 0;
    }
    if (s->len + len <= s->cap) return true;
    const size_t cap = 2 * (s->len + len);
    char *grown = realloc(s->bytes, cap);
    if (!grown) return false;
    s->bytes = grown;
    s->cap = cap;
    return true;
}

void output_put(enum output_stream stream, const char *bytes, size_t len)
{
    struct stream *s = &streams[stream];
    if (events >= 0 && !s->started) {
        errno = gasneti_quiet_thread(NULL, OUTPUT_STACK, output_thread, s);
        s->started = errno == 0;
    }
    const bool direct = events < 0 || !s->started; /* no event loop yet, or no thread may start */
    const size_t wrote = direct ? output_write(fd_of[stream], bytes, len) : 0;
    const int error = errno;
    pthread_mutex_lock(&lock);
    if (direct) {
        if (wrote < len) output_lose(s, len - wrote, error);
    } else if (output_make_room(s, len)) {
        memcpy(s->bytes + s->head + s->len, bytes, len);
        s->len += len;
        pthread_cond_broadcast(&queued);
    } else if (s->len == 0) { /* nothing is before it: written at once, though that may block */
        const size_t now = output_write(fd_of[stream], bytes, len);
        if (now < len) output_lose(s, len - now, errno);
    } else {
        output_lose(s, len, ENOMEM);
    }
    pthread_mutex_unlock(&lock);
}

/* --- the state of the queues --- */

size_t output_pending_of(enum output_stream stream)
{
    pthread_mutex_lock(&lock);
    const size_t len = streams[stream].len;
    pthread_mutex_unlock(&lock);
    return len;
}

size_t output_pending(void)
{
    return output_pending_of(OUTPUT_STDOUT) + output_pending_of(OUTPUT_STDERR);
}

bool output_full(enum output_stream stream)
{
    return output_pending_of(stream) >= OUTPUT_BOUND;
}

int output_events(void)
{
    return events;
}

void output_noted(void)
{
    uint64_t count;
    while (read(events, &count, sizeof count) < 0 && errno == EINTR) continue;
}

uint64_t output_done(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t now = done;
    pthread_mutex_unlock(&lock);
    return now;
}

struct output_loss output_lost(enum output_stream stream)
{
    pthread_mutex_lock(&lock);
    const struct output_loss loss = streams[stream].loss;
    pthread_mutex_unlock(&lock);
    return loss;
}

const char *output_name(enum output_stream stream)
{
    return stream == OUTPUT_STDOUT ? "standard output" : "standard error";
}

void output_finish(void)
{
    uint64_t before;
    bool empty = false;
    do {
        struct pollfd note = {.fd = events, .events = POLLIN};
        before = output_done();
        while (!(empty = output_pending_of(OUTPUT_STDERR) == 0) && poll(&note, 1, OUTPUT_GRACE) > 0)
            output_noted();
    } while (!empty && output_done() != before);
}
