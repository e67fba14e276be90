/* connect_guard.h - distinguishes new handshake messages from recorded ones. Pure: used by
 * verbs_address.c, tests/unit, tests/fuzz and tests/sim.
 *
 * A seal (other/connect/handshake/seal.h) proves which process made a message, not when. Each
 * process draws a number at random when it opens the network, its *life*, and numbers its messages
 * by the real-time clock. A message is new if it names the receiver's life and has a number above
 * those of all messages that were accepted from its sender's name. By the life, a message to an
 * earlier process of the receiver's name is refused. To a sender that does not know the life, the
 * receiver sends it in a *challenge*, and keeps nothing until the message comes again with the life
 * in it.
 */
#ifndef PTLI_CONNECT_GUARD_H
#define PTLI_CONNECT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "other/portals3/src/transport/connect_payload.h"

/* Of a peer.  Zeroed: nothing is known of it. */
typedef struct ptli_guard {
    uint64_t life;  /* 0: not known */
    uint64_t heard; /* number of the latest message that was accepted */
    uint64_t sent;  /* number of the latest message that was sent to it */
} ptli_guard_t;

enum ptli_verdict {
    PTLI_NEW,
    PTLI_STALE,   /* of an earlier life of the receiver, or of a sender that does not know it */
    PTLI_REPEATED /* the message, or one with a higher number, was accepted before */
};

/* Judges a message. `self`: the receiver's life. `guard`: of the sender; NULL: the receiver has no
 * record of the sender. */
enum ptli_verdict ptli_guard_judge(const ptli_guard_t *guard, uint64_t self,
                                   const ptli_connect_payload_t *message);

/* A new message of the peer is accepted. */
void ptli_guard_accept(ptli_guard_t *guard, const ptli_connect_payload_t *message);

/* A challenge has arrived for the process of life `self`, which named `named`, with the number of
 * the message that it answers, from a process of life `life`.  True: the latest message to the peer
 * is to be sent again, with that life. */
bool ptli_guard_challenged(ptli_guard_t *guard, uint64_t self, uint64_t named, uint64_t number,
                           uint64_t life);

#endif
