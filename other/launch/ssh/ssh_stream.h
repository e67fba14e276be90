/* ssh_stream.h - one end of a connection for an event loop; no call blocks.
 *
 * Launcher and control processes have a stream for each rank (packets, AF_UNIX) and one between
 * each other (a byte stream, TCP, sealed).  Frames are queued until the peer takes them.
 */
#ifndef SSH_STREAM_H
#define SSH_STREAM_H

#include "other/launch/ssh/ssh_seal.h"

/* Framed bytes with a reference count: one parcel may be in several queues. */
struct ssh_parcel {
    unsigned refs;
    size_t len;
    uint8_t bytes[];
};

/* State that only a sealed stream has. */
struct ssh_stream_sealed {
    struct ssh_seals seals;
    struct ssh_wire_buf in;  /* received, not yet opened */
    struct ssh_wire_buf out; /* the part of queue[head] that is being sent */
    size_t part, at;         /* length of the part in queue[head]; bytes of `out` that are sent */
};

struct ssh_stream {
    int fd; /* -1: closed */
    bool packets;
    struct ssh_wire_buf in; /* bytes not yet parsed (streams only) */
    struct ssh_parcel **queue;
    size_t head, tail, cap;           /* queue[head..tail) waits */
    size_t sent;                      /* of queue[head] */
    int error;                        /* errno of the first failure; 0: none */
    struct ssh_stream_sealed *sealed; /* NULL: bytes travel as they are */
};

typedef void (*ssh_stream_frame_fn)(void *ctx, const struct ssh_wire_frame *frame);

enum ssh_stream_state { SSH_STREAM_OPEN, SSH_STREAM_EOF, SSH_STREAM_GARBAGE };

void ssh_stream_open(struct ssh_stream *stream, int fd, bool packets);

/* From now on all that is sent and received is sealed.  Nothing is queued or received yet. */
bool ssh_stream_seal(struct ssh_stream *stream, const struct ssh_seals *seals);

/* Sets up a TCP connection to another host: frames are sent at once, and a host that vanishes is
 * detected within SSH_STREAM_PATIENCE seconds, also without traffic. */
enum { SSH_STREAM_PATIENCE = 12 };
void ssh_stream_watch_host(int fd);
void ssh_stream_close(struct ssh_stream *stream);
/* The events to poll for. */
short ssh_stream_events(const struct ssh_stream *stream);

/* The caller owns the one reference; NULL: out of memory. */
struct ssh_parcel *ssh_parcel_new(enum ssh_wire_type type, uint32_t rank, const void *data,
                                  size_t len);
struct ssh_parcel *ssh_parcel_of_frame(const struct ssh_wire_frame *frame);
void ssh_parcel_drop(struct ssh_parcel *parcel);

/* Queues a parcel, with a reference of its own, and sends as much as possible.  Errors are
 * reported by the next read. */
void ssh_stream_post(struct ssh_stream *stream, struct ssh_parcel *parcel);
void ssh_stream_flush(struct ssh_stream *stream);

/* Reads all available bytes and calls `frame` for each frame; `frame` must not close the stream. */
enum ssh_stream_state ssh_stream_read(struct ssh_stream *stream, ssh_stream_frame_fn frame,
                                      void *ctx, const char **why);

#endif
