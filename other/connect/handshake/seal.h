/* seal.h - handshake messages that only owners of a key can make, and only for one sender and one
 * receiver: a code of authentication (HMAC-SHA-256, its first 128 bits) behind the message.
 *
 * It covers the names of sender and receiver, in this order, and all bytes of the message.  A
 * message that was recorded is authentic still: the engine must bear repetitions, or detect them
 * (other/portals3/src/transport/connect_guard.h).
 */
#ifndef HANDSHAKE_SEAL_H
#define HANDSHAKE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "other/connect/handshake/handshake_wire.h"

enum { HANDSHAKE_KEY_LEAST = 16, HANDSHAKE_KEY_MOST = 64 };

/* Secret bytes, at random, of which the peers have the same. */
typedef struct handshake_key {
    size_t size;
    uint8_t bytes[HANDSHAKE_KEY_MOST];
} handshake_key_t;

/* The names of sender and receiver, each unique among all processes that have the key. */
typedef struct handshake_way {
    uint64_t from, to;
} handshake_way_t;

/* Appends the code to the message of `size` bytes, which has room for HANDSHAKE_SEAL more; returns
 * the new size. */
size_t handshake_seal(const handshake_key_t *key, handshake_way_t way, void *bytes, size_t size);

/* Size of the message without its code; 0: it is not of an owner of the key, or not for this way.
 * Takes as long for any code. */
size_t handshake_unseal(const handshake_key_t *key, handshake_way_t way, const void *bytes,
                        size_t size);

#endif
