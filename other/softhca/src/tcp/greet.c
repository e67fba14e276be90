/* greet.c - the handshake between two processes on different hosts; see greet.h. Pure, called by
 * the wire thread.
 */
#include "other/softhca/src/tcp/greet.h"

#include <string.h>

#include "other/base/mutual_proof.h"

/* The HMAC that SIDE sends: 'a' acceptor, 'c' connector. */
static void greet_prove(const struct greet *g, const struct greet_self *self, char side,
                        uint8_t mac[WIRE_MAC])
{
    uint8_t hello[WIRE_GREETING], challenge[WIRE_GREETING];
    struct wire_challenge c = g->challenge;
    memset(c.mac, 0, sizeof c.mac);
    const struct gasneti_said said = {.connector = hello,
                                      .connector_len = wire_put_hello(&g->hello, hello),
                                      .acceptor = challenge,
                                      .acceptor_len = wire_put_challenge(&c, challenge)};
    gasneti_mutual_proof(self->secret, side, &said, mac);
}

static void greet_emit(struct greet *g, enum wire_type type, uint64_t value, size_t length)
{
    g->out = (struct wire_frame){.type = type, .value = value, .length = length};
}

void greet_connect(struct greet *g, const struct greet_self *self, uint32_t host, uint32_t slot,
                   uint32_t serial, const uint8_t random[WIRE_NONCE])
{
    *g = (struct greet){.state = GREET_AWAITS_CHALLENGE,
                        .hello = {.version = WIRE_VERSION,
                                  .hosts = self->hosts,
                                  .from = self->me,
                                  .to_host = host,
                                  .to_slot = slot,
                                  .serial = serial}};
    memcpy(g->hello.challenge, random, WIRE_NONCE);
    g->other.host = host;
    g->other.slot = slot;
    greet_emit(g, WIRE_HELLO, WIRE_MAGIC, wire_put_hello(&g->hello, g->payload));
}

void greet_accept(struct greet *g, const uint8_t random[WIRE_NONCE])
{
    *g = (struct greet){.state = GREET_AWAITS_HELLO};
    memcpy(g->challenge.challenge, random, WIRE_NONCE);
}

void greet_reject(struct greet *g, enum wire_reason reason)
{
    g->state = GREET_FAILED;
    g->reason = reason;
    greet_emit(g, WIRE_REJECT, reason, 0);
}

void greet_welcome(struct greet *g, uint32_t serial)
{
    g->state = GREET_WELCOME;
    g->serial = serial;
    greet_emit(g, WIRE_WELCOME, serial, 0);
}

static bool greet_on_hello(struct greet *g, const struct greet_self *self,
                           const struct wire_frame *f, const uint8_t *payload)
{
    struct wire_hello *h = &g->hello;
    if (!wire_get_hello(payload, f->length, h)) return false;
    g->other = h->from;
    if (h->version != WIRE_VERSION)
        greet_reject(g, WIRE_OTHER_LIB);
    else if (h->hosts != self->hosts)
        greet_reject(g, WIRE_OTHER_HOSTS);
    else if (h->to_host != self->me.host || h->to_slot != self->me.slot)
        greet_reject(g, WIRE_NOT_ME);
    else {
        g->challenge.nonce = self->me.nonce;
        g->challenge.number = self->me.number;
        greet_prove(g, self, 'a', g->challenge.mac);
        g->state = GREET_AWAITS_PROOF;
        greet_emit(g, WIRE_CHALLENGE, 0, wire_put_challenge(&g->challenge, g->payload));
    }
    return true;
}

static bool greet_on_challenge(struct greet *g, const struct greet_self *self,
                               const struct wire_frame *f, const uint8_t *payload)
{
    uint8_t mac[WIRE_MAC];
    if (!wire_get_challenge(payload, f->length, &g->challenge)) return false;
    greet_prove(g, self, 'a', mac);
    if (!gasneti_digest_equal(mac, g->challenge.mac)) {
        greet_reject(g, WIRE_OTHER_SECRET);
        return true;
    }
    g->other.nonce = g->challenge.nonce;
    g->other.number = g->challenge.number;
    greet_prove(g, self, 'c', g->payload);
    g->state = GREET_AWAITS_WELCOME;
    greet_emit(g, WIRE_PROOF, 0, WIRE_MAC);
    return true;
}

static bool greet_on_proof(struct greet *g, const struct greet_self *self,
                           const struct wire_frame *f, const uint8_t *payload)
{
    uint8_t mac[WIRE_MAC];
    if (f->length != WIRE_MAC) return false;
    greet_prove(g, self, 'c', mac);
    if (gasneti_digest_equal(mac, payload))
        g->state = GREET_PROVEN;
    else
        greet_reject(g, WIRE_OTHER_SECRET);
    return true;
}

static bool greet_on_reject(struct greet *g, const struct wire_frame *f)
{
    if (g->state == GREET_PROVEN || g->state == GREET_WELCOME) return false;
    if (f->value < WIRE_BUSY || f->value > WIRE_NOT_YOU) return false;
    g->state = GREET_FAILED;
    g->reason = (enum wire_reason)f->value;
    g->by_other = true;
    return true;
}

bool greet_on_frame(struct greet *g, const struct greet_self *self, const struct wire_frame *f,
                    const uint8_t *payload)
{
    g->out.type = 0;
    if (f->type == WIRE_REJECT) return greet_on_reject(g, f);
    if (f->type == WIRE_HELLO && g->state == GREET_AWAITS_HELLO)
        return greet_on_hello(g, self, f, payload);
    if (f->type == WIRE_CHALLENGE && g->state == GREET_AWAITS_CHALLENGE)
        return greet_on_challenge(g, self, f, payload);
    if (f->type == WIRE_PROOF && g->state == GREET_AWAITS_PROOF)
        return greet_on_proof(g, self, f, payload);
    if (f->type == WIRE_WELCOME && g->state == GREET_AWAITS_WELCOME) {
        g->state = GREET_WELCOME;
        g->serial = (uint32_t)f->value;
        return true;
    }
    return false;
}
