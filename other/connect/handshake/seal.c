/* seal.c - see seal.h.  Pure. */
#include "other/connect/handshake/seal.h"

#include <string.h>

#include "other/base/sha256.h"

static void code_of(const handshake_key_t *key, handshake_way_t way, const void *bytes, size_t size,
                    uint8_t code[GASNETI_DIGEST])
{
    struct gasneti_hmac mac;
    gasneti_hmac_start(&mac, key->bytes, key->size);
    gasneti_hmac_add(&mac, &way.from, sizeof way.from);
    gasneti_hmac_add(&mac, &way.to, sizeof way.to);
    gasneti_hmac_add(&mac, bytes, size);
    gasneti_hmac_end(&mac, code);
}

size_t handshake_seal(const handshake_key_t *key, handshake_way_t way, void *bytes, size_t size)
{
    uint8_t code[GASNETI_DIGEST];
    code_of(key, way, bytes, size, code);
    memcpy((char *)bytes + size, code, HANDSHAKE_SEAL);
    return size + HANDSHAKE_SEAL;
}

size_t handshake_unseal(const handshake_key_t *key, handshake_way_t way, const void *bytes,
                        size_t size)
{
    uint8_t code[GASNETI_DIGEST], received[GASNETI_DIGEST];
    if (size <= HANDSHAKE_SEAL || size > HANDSHAKE_MOST || key->size < HANDSHAKE_KEY_LEAST)
        return 0;
    const size_t rest = size - HANDSHAKE_SEAL;
    code_of(key, way, bytes, rest, code);
    memcpy(received, code, sizeof received); /* the part that is not sent is equal */
    memcpy(received, (const char *)bytes + rest, HANDSHAKE_SEAL);
    return gasneti_digest_equal(code, received) ? rest : 0;
}
