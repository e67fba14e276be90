/* sha256.c - SHA-256 and HMAC, written from FIPS 180-4 and RFC 2104; see sha256.h.
 *
 * Pure. Used by handshakes between processes, and by the launcher for each message to another host.
 */
#include "other/base/sha256.h"

#include <string.h>

static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t sha256_rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t sha256_big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void sha256_schedule(const uint8_t *block, uint32_t w[64])
{
    for (int t = 0; t < 16; t++) w[t] = sha256_big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];
        uint32_t s0 = sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3;
        uint32_t s1 = sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
}

static void sha256_compress(uint32_t h[8], const uint8_t *block)
{
    uint32_t w[64], v[8]; /* v: a to h of the standard */
    sha256_schedule(block, w);
    memcpy(v, h, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t s1 = sha256_rotate(v[4], 6) ^ sha256_rotate(v[4], 11) ^ sha256_rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + round_constant[t] + w[t];
        uint32_t s0 = sha256_rotate(v[0], 2) ^ sha256_rotate(v[0], 13) ^ sha256_rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}

void gasneti_sha256_start(struct gasneti_sha256 *s)
{
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, initial, sizeof initial);
    s->length = 0;
}

void gasneti_sha256_add(struct gasneti_sha256 *s, const void *data, size_t n)
{
    const uint8_t *p = data;
    while (n > 0) {
        size_t at = s->length % 64, take = 64 - at < n ? 64 - at : n;
        memcpy(s->block + at, p, take);
        s->length += take;
        p += take;
        n -= take;
        if (at + take == 64) sha256_compress(s->h, s->block);
    }
}

void gasneti_sha256_end(struct gasneti_sha256 *s, uint8_t digest[GASNETI_DIGEST])
{
    uint8_t tail[72] = {0x80};
    uint64_t bits = s->length * 8;
    size_t zeros = (119 - s->length % 64) % 64; /* up to eight bytes before the end of a block */
    for (int i = 0; i < 8; i++) tail[1 + zeros + i] = bits >> (56 - 8 * i);
    gasneti_sha256_add(s, tail, 1 + zeros + 8);
    for (int i = 0; i < GASNETI_DIGEST; i++) digest[i] = s->h[i / 4] >> (24 - i % 4 * 8);
}

void gasneti_hmac_start(struct gasneti_hmac *m, const void *key, size_t key_len)
{
    uint8_t block[64] = {0}, inner[64];
    if (key_len > sizeof block) {
        struct gasneti_sha256 s;
        gasneti_sha256_start(&s);
        gasneti_sha256_add(&s, key, key_len);
        gasneti_sha256_end(&s, block);
    } else if (key_len > 0)
        memcpy(block, key, key_len);
    for (int i = 0; i < 64; i++) {
        inner[i] = block[i] ^ 0x36;
        m->outer[i] = block[i] ^ 0x5c;
    }
    gasneti_sha256_start(&m->inner);
    gasneti_sha256_add(&m->inner, inner, sizeof inner);
}

void gasneti_hmac_add(struct gasneti_hmac *m, const void *data, size_t n)
{
    gasneti_sha256_add(&m->inner, data, n);
}

void gasneti_hmac_end(struct gasneti_hmac *m, uint8_t mac[GASNETI_DIGEST])
{
    struct gasneti_sha256 s;
    gasneti_sha256_end(&m->inner, mac);
    gasneti_sha256_start(&s);
    gasneti_sha256_add(&s, m->outer, sizeof m->outer);
    gasneti_sha256_add(&s, mac, GASNETI_DIGEST);
    gasneti_sha256_end(&s, mac);
}

void gasneti_hmac(const void *key, size_t key_len, const void *data, size_t n,
                  uint8_t mac[GASNETI_DIGEST])
{
    struct gasneti_hmac m;
    gasneti_hmac_start(&m, key, key_len);
    gasneti_hmac_add(&m, data, n);
    gasneti_hmac_end(&m, mac);
}

bool gasneti_digest_equal(const uint8_t a[GASNETI_DIGEST], const uint8_t b[GASNETI_DIGEST])
{
    volatile uint8_t differ = 0;
    for (int i = 0; i < GASNETI_DIGEST; i++) differ |= a[i] ^ b[i];
    return differ == 0;
}
