/* greet.h - the handshake by which two processes on different hosts authenticate each other.
 *
 * Pure. The connector sends HELLO; the acceptor a CHALLENGE, which proves that it knows the secret;
 * the connector a PROOF that it does; then the acceptor decides and sends WELCOME or REJECT. The
 * secret itself is never sent. The proofs (HMACs) cover both identities, nonces and challenges.
 * Without a secret the proofs authenticate nothing, but both processes still compare library
 * version, host list and identities.
 */
#ifndef SOFTHCA_GREET_H
#define SOFTHCA_GREET_H

#include "other/softhca/src/tcp/wire.h"

struct greet_self {
    struct wire_process me;
    uint64_t hosts;
    const char *secret; /* NULL = none */
};

enum greet_state {
    GREET_AWAITS_HELLO,
    GREET_AWAITS_CHALLENGE,
    GREET_AWAITS_PROOF,
    GREET_PROVEN, /* the acceptor calls greet_welcome() or greet_reject() */
    GREET_AWAITS_WELCOME,
    GREET_WELCOME, /* done: the other process is known, g->serial is the connection's */
    GREET_FAILED   /* g->reason; g->by_other: rejected by the other process */
};

struct greet {
    enum greet_state state;
    enum wire_reason reason;
    bool by_other;
    struct wire_process other;
    uint32_t serial;
    struct wire_hello hello;
    struct wire_challenge challenge;
    /* the frame to send, when out.type is not 0; its payload has out.length bytes */
    struct wire_frame out;
    uint8_t payload[WIRE_GREETING];
};

/* Begins as connector. RANDOM is fresh random bytes. */
void greet_connect(struct greet *g, const struct greet_self *self, uint32_t host, uint32_t slot,
                   uint32_t serial, const uint8_t random[WIRE_NONCE]);
void greet_accept(struct greet *g, const uint8_t random[WIRE_NONCE]);
/* Handles frame F. False: not expected here, close the connection. */
bool greet_on_frame(struct greet *g, const struct greet_self *self, const struct wire_frame *f,
                    const uint8_t *payload);
void greet_welcome(struct greet *g, uint32_t serial);
void greet_reject(struct greet *g, enum wire_reason reason);

#endif
