/* sha256.h - SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), for proofs of a common secret. */
#ifndef GASNETI_SHA256_H
#define GASNETI_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GASNETI_DIGEST = 32 };

struct gasneti_sha256 {
    uint32_t h[8];
    uint64_t length;
    uint8_t block[64];
};

void gasneti_sha256_start(struct gasneti_sha256 *s);
void gasneti_sha256_add(struct gasneti_sha256 *s, const void *data, size_t n);
void gasneti_sha256_end(struct gasneti_sha256 *s, uint8_t digest[GASNETI_DIGEST]);

struct gasneti_hmac {
    struct gasneti_sha256 inner;
    uint8_t outer[64];
};

void gasneti_hmac_start(struct gasneti_hmac *m, const void *key, size_t key_len);
void gasneti_hmac_add(struct gasneti_hmac *m, const void *data, size_t n);
void gasneti_hmac_end(struct gasneti_hmac *m, uint8_t mac[GASNETI_DIGEST]);
/* The three at once. */
void gasneti_hmac(const void *key, size_t key_len, const void *data, size_t n,
                  uint8_t mac[GASNETI_DIGEST]);
/* Whether two digests are equal; takes as long for any bytes. */
bool gasneti_digest_equal(const uint8_t a[GASNETI_DIGEST], const uint8_t b[GASNETI_DIGEST]);

#endif
