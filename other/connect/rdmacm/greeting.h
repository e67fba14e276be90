/* greeting.h - the private data of a request and of its acceptance or refusal: the names of sender
 * and receiver. Pure.
 *
 * Any process on the network can send a request. Each process has a random key, which only the
 * processes of its job learn; messages to it carry the key.
 */
#ifndef RDMACM_GREETING_H
#define RDMACM_GREETING_H

#include <stddef.h>
#include <stdint.h>

/* A request on InfiniBand has room for 56 bytes, the least of all. */
enum { RDMACM_GREETING = 24 };

enum rdmacm_word {
    RDMACM_HELLO = 1,  /* a request, or its acceptance */
    RDMACM_CROSSED = 2 /* refused: the refuser's own attempt stands, or the two are connected */
};

typedef struct rdmacm_greeting {
    uint64_t key;      /* the receiver's */
    uint32_t from, to; /* ranks */
    enum rdmacm_word word;
} rdmacm_greeting_t;

void rdmacm_greeting_encode(const rdmacm_greeting_t *greeting, uint8_t bytes[RDMACM_GREETING]);

/* `length` may count padding after the greeting.  NULL, or the name of the field that is wrong for
 * process `self` of a job of `ranks`. */
const char *rdmacm_greeting_parse(const void *bytes, size_t length, uint64_t key, uint32_t self,
                                  uint32_t ranks, rdmacm_greeting_t *greeting);

#endif
