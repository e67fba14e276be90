/* greet.h - how two processes on different hosts make sure who they talk to.
 *
 * Pure. The connector says HELLO, the acceptor a CHALLENGE that proves that it knows the secret,
 * the connector a PROOF that it does too; then the acceptor, having made up its mind whether it
 * wants this connection, says WELCOME or REJECT. The secret itself never travels, and what is
 * proven covers both names, both nonces and both challenges. Without a secret the proofs are of
 * nothing, but two processes still tell that they use one library, one host list and one idea of
 * who they are.
 */
#ifndef SOFTHCA_GREET_H
#define SOFTHCA_GREET_H

#include "other/softhca/tcp/wire.h"

struct greet_self {
    struct wire_process me;
    uint64_t hosts;
    const char *secret; /* NULL = none */
};

enum greet_state {
    GREET_AWAITS_HELLO,
    GREET_AWAITS_CHALLENGE,
    GREET_AWAITS_PROOF,
    GREET_PROVEN, /* the acceptor's to decide: greet_welcome() or greet_reject() */
    GREET_AWAITS_WELCOME,
    GREET_WELCOME, /* done: the other is known, the connection is called g->serial */
    GREET_FAILED   /* g->reason; g->told: it was the other who said so */
};

struct greet {
    enum greet_state state;
    enum wire_reason reason;
    bool by_other;
    struct wire_process other;
    uint32_t serial;
    struct wire_hello hello;
    struct wire_challenge challenge;
    /* what to send now, when out.type is not 0; its payload has out.length bytes */
    struct wire_frame out;
    uint8_t payload[WIRE_GREETING];
};

/* Begin as the one who connects. NOISE is fresh randomness. */
void greet_connect(struct greet *g, const struct greet_self *self, uint32_t host, uint32_t slot,
                   uint32_t serial, const uint8_t random[WIRE_NONCE]);
void greet_accept(struct greet *g, const uint8_t random[WIRE_NONCE]);
/* Frame F with its payload has arrived. False when it has no place here: close. */
bool greet_on_frame(struct greet *g, const struct greet_self *self, const struct wire_frame *f,
                    const uint8_t *payload);
void greet_welcome(struct greet *g, uint32_t serial);
void greet_reject(struct greet *g, enum wire_reason reason);

#endif
