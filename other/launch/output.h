/* output.h - standard output and standard error of a launcher or control process.
 *
 * For event loops, which must never block: a thread for each stream writes what is queued. The
 * descriptors are shared with other programs, a terminal's among them, so O_NONBLOCK must not be
 * set on them. A write to a terminal, a file or a socket may block whatever poll() says.
 */
#ifndef SPAWNER_OUTPUT_H
#define SPAWNER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum output_stream { OUTPUT_STDOUT, OUTPUT_STDERR, OUTPUT_STREAMS };

enum {
    OUTPUT_BOUND = 1 << 20, /* bytes kept of a stream before its sources are held up */
    OUTPUT_GRACE = 500,     /* ms without a byte taken, after which a reader is given up */
};

/* The output that a stream could not write. */
struct output_loss {
    uint64_t bytes;
    int error; /* errno of the first failure; 0: none */
};

/* From now on output_put queues the output and returns at once; before, it writes. Returns false
 * with errno. */
bool output_open(void);
/* Queues a copy of the bytes.  The order of one stream is kept. */
void output_put(enum output_stream stream, const char *bytes, size_t len);
/* Whether a stream keeps OUTPUT_BOUND bytes or more; then no more should be read from its sources.
 * output_put still accepts: the caller's own messages are few. */
bool output_full(enum output_stream stream);
/* A descriptor to poll for reading: a stream is empty, no longer full, or has failed.
 * output_noted makes it unreadable again. */
int output_events(void);
void output_noted(void);
/* Bytes that are queued in all streams, and bytes that have left the queues so far. */
size_t output_pending(void);
size_t output_pending_of(enum output_stream stream);
uint64_t output_done(void);
struct output_loss output_lost(enum output_stream stream);
/* "standard output", or "standard error". */
const char *output_name(enum output_stream stream);
/* Before an exit: waits while messages are pending on standard error and its reader takes some
 * within each OUTPUT_GRACE. */
void output_finish(void);

#endif
