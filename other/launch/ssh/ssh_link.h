/* ssh_link.h - one end of a connection for an event loop; no call blocks.
 *
 * Launcher and control processes have a link for each rank (packets, AF_UNIX) and one between each
 * other (a byte stream, TCP, sealed).  Frames are queued until the peer takes them.
 */
#ifndef SSH_LINK_H
#define SSH_LINK_H

#include "other/launch/ssh/ssh_seal.h"

/* Framed bytes with a reference count: one parcel may be in several queues. */
struct ssh_parcel {
    unsigned refs;
    size_t len;
    uint8_t bytes[];
};

/* State that only a sealed link has. */
struct ssh_link_sealed {
    struct ssh_seals seals;
    struct ssh_wire_buf in;  /* received, not yet opened */
    struct ssh_wire_buf out; /* the part of queue[head] that is being sent */
    size_t part, at;         /* length of the part in queue[head]; bytes of `out` that are sent */
};

struct ssh_link {
    int fd; /* -1: closed */
    bool packets;
    struct ssh_wire_buf in; /* bytes not yet parsed (streams only) */
    struct ssh_parcel **queue;
    size_t head, tail, cap;         /* queue[head..tail) waits */
    size_t sent;                    /* of queue[head] */
    int error;                      /* errno of the first failure; 0: none */
    struct ssh_link_sealed *sealed; /* NULL: bytes travel as they are */
};

typedef void (*ssh_link_frame_fn)(void *ctx, const struct ssh_wire_frame *frame);

enum ssh_link_state { SSH_LINK_OPEN, SSH_LINK_EOF, SSH_LINK_GARBAGE };

void ssh_link_open(struct ssh_link *link, int fd, bool packets);

/* From now on all that is sent and received is sealed.  Nothing is queued or received yet. */
bool ssh_link_seal(struct ssh_link *link, const struct ssh_seals *seals);

/* Sets up a TCP connection to another host: frames are sent at once, and a host that vanishes is
 * detected within SSH_LINK_PATIENCE seconds, also without traffic. */
enum { SSH_LINK_PATIENCE = 12 };
void ssh_link_watch_host(int fd);
void ssh_link_close(struct ssh_link *link);
/* The events to poll for. */
short ssh_link_events(const struct ssh_link *link);

/* The caller owns the one reference; NULL: out of memory. */
struct ssh_parcel *ssh_parcel_new(enum ssh_wire_type type, uint32_t rank, const void *data,
                                  size_t len);
struct ssh_parcel *ssh_parcel_of_frame(const struct ssh_wire_frame *frame);
void ssh_parcel_drop(struct ssh_parcel *parcel);

/* Queues a parcel, with a reference of its own, and sends as much as possible.  Errors are
 * reported by the next read. */
void ssh_link_post(struct ssh_link *link, struct ssh_parcel *parcel);
void ssh_link_flush(struct ssh_link *link);

/* Reads all available bytes and calls `frame` for each frame; `frame` must not close the link. */
enum ssh_link_state ssh_link_read(struct ssh_link *link, ssh_link_frame_fn frame, void *ctx,
                                  const char **why);

#endif
