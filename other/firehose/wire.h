/* wire.h - the messages of firehoses: their bytes, and the check of received messages. Pure.
 *
 * All numbers are in the byte order of the hosts, which is the same for all.  Nothing is aligned.
 */
#ifndef FIREHOSE_WIRE_H
#define FIREHOSE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fh_kind {
    FH_REQUEST = 1, /* returned tokens, regions asked for, data that rides with them */
    FH_REPLY,       /* for each region: the registered range, its token and key */
    FH_REVOKE       /* tokens of memory that the program has unmapped */
};

enum { FH_HEADER = 12, FH_TOKEN = 4, FH_PIN = 16 };

/* A region in a message. `extra` is in a request the size of the data that rides, in a reply the
 * token. */
typedef struct fh_pin {
    uint64_t start;
    uint32_t pages, extra;
} fh_pin_t;

/* A message that has arrived, or that is composed: the parts lie in its bytes. */
typedef struct fh_message {
    enum fh_kind kind;
    uint32_t tokens, pins;
    uint32_t extra_size; /* bytes behind the pins: data in their order, or keys of equal size */
    uint8_t *token, *pin, *extra;
} fh_message_t;

static inline size_t fh_message_size(uint32_t tokens, uint32_t pins, size_t extra)
{
    return FH_HEADER + (size_t)tokens * FH_TOKEN + (size_t)pins * FH_PIN + extra;
}

/* Writes the header, and sets the pointers to the parts, in `bytes` of at least fh_message_size. */
void fh_compose(fh_message_t *m, enum fh_kind kind, uint32_t tokens, uint32_t pins, void *bytes);
/* The size of the message; to be called when all parts are written. */
size_t fh_composed(fh_message_t *m, size_t extra, void *bytes);

/* NULL, or what is wrong with the message.  Its numbers are at most most_tokens and most_pins. */
const char *fh_parse(fh_message_t *m, const void *bytes, size_t size, uint32_t most_tokens,
                     uint32_t most_pins, uint32_t key_size);

void fh_put_token(const fh_message_t *m, uint32_t i, uint32_t token);
uint32_t fh_get_token(const fh_message_t *m, uint32_t i);
void fh_put_pin(const fh_message_t *m, uint32_t i, const fh_pin_t *pin);
fh_pin_t fh_get_pin(const fh_message_t *m, uint32_t i);

#endif
