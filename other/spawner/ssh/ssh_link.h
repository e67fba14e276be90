/* ssh_link.h - one end of a connection as an event loop needs it: never blocks.
 *
 * Launcher and control processes keep one link per rank (packets, AF_UNIX) and one between them
 * (a byte stream, TCP).  Frames queue here until the peer takes them.
 */
#ifndef SSH_LINK_H
#define SSH_LINK_H

#include "other/spawner/ssh/ssh_wire.h"

/* Framed bytes that may wait in many queues at once. */
struct ssh_parcel {
    unsigned refs;
    size_t len;
    uint8_t bytes[];
};

struct ssh_link {
    int fd; /* -1: closed */
    bool packets;
    struct ssh_wire_buf in; /* bytes not yet parsed (streams only) */
    struct ssh_parcel **queue;
    size_t head, tail, cap; /* queue[head..tail) waits */
    size_t sent;            /* of queue[head] */
    int error;              /* why sending failed; 0: it did not */
};

typedef void (*ssh_link_frame_fn)(void *ctx, const struct ssh_wire_frame *frame);

enum ssh_link_state { SSH_LINK_OPEN, SSH_LINK_EOF, SSH_LINK_GARBAGE };

void ssh_link_open(struct ssh_link *link, int fd, bool packets);

/* A TCP connection to another host: frames leave at once, and a host that vanishes without a word
 * is noticed within SSH_LINK_PATIENCE seconds, whether or not there is something to send. */
enum { SSH_LINK_PATIENCE = 12 };
void ssh_link_watch_host(int fd);
void ssh_link_close(struct ssh_link *link);
/* poll events to wait for */
short ssh_link_events(const struct ssh_link *link);

/* One reference, the caller's; NULL: out of memory. */
struct ssh_parcel *ssh_parcel_new(enum ssh_wire_type type, uint32_t rank, const void *data,
                                  size_t len);
struct ssh_parcel *ssh_parcel_of_frame(const struct ssh_wire_frame *frame);
void ssh_parcel_drop(struct ssh_parcel *parcel);

/* Queues a parcel (taking a reference of its own) and sends what can be sent.  A peer that is gone
 * is not reported here: reading will tell. */
void ssh_link_post(struct ssh_link *link, struct ssh_parcel *parcel);
void ssh_link_flush(struct ssh_link *link);

/* Reads all there is and hands each frame on.  `frame` must not close the link. */
enum ssh_link_state ssh_link_read(struct ssh_link *link, ssh_link_frame_fn frame, void *ctx,
                                  const char **why);

#endif
