/* handshake_wire.h - the bytes of a handshake message: a header, then a payload that only the
 * engine reads (numbers of queue pairs and what connecting them needs).
 *
 * Integers are in host byte order: both ends run the same build.
 */
#ifndef HANDSHAKE_WIRE_H
#define HANDSHAKE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message with its seal (seal.h) fits into a datagram of the smallest MTU of InfiniBand. */
enum { HANDSHAKE_HEADER = 24, HANDSHAKE_SEAL = 16, HANDSHAKE_MOST = 256 };
enum { HANDSHAKE_MOST_PAYLOAD = HANDSHAKE_MOST - HANDSHAKE_HEADER - HANDSHAKE_SEAL };

typedef struct handshake_message {
    uint64_t mine;       /* stamp of the sender's queue pair */
    uint64_t yours;      /* stamp of the receiver's that it is connected to; 0: of none */
    bool ask;            /* the sender may not send yet: please answer */
    const void *payload; /* not necessarily aligned */
    size_t payload_size;
} handshake_message_t;

/* Writes at most HANDSHAKE_MOST - HANDSHAKE_SEAL bytes; returns how many.  `protocol` names the
 * format of the payload; the peer's is the same. */
size_t handshake_encode(const handshake_message_t *message, uint32_t protocol, void *bytes);

/* Takes `length` bytes apart; the payload stays in `bytes`.  NULL, or the name of the field that is
 * wrong. */
const char *handshake_parse(const void *bytes, size_t length, uint32_t protocol,
                            handshake_message_t *message);

#endif
