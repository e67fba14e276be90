/* sha256.h - SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), for the proofs of greet.h. */
#ifndef SOFTHCA_SHA256_H
#define SOFTHCA_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHCA_DIGEST = 32 };

struct shca_sha256 {
    uint32_t h[8];
    uint64_t length;
    uint8_t block[64];
};

void shca_sha256_start(struct shca_sha256 *s);
void shca_sha256_add(struct shca_sha256 *s, const void *data, size_t n);
void shca_sha256_end(struct shca_sha256 *s, uint8_t digest[SHCA_DIGEST]);

void shca_hmac(const void *key, size_t key_len, const void *data, size_t n,
               uint8_t mac[SHCA_DIGEST]);
/* Runs in constant time. */
bool shca_digest_equal(const uint8_t a[SHCA_DIGEST], const uint8_t b[SHCA_DIGEST]);

#endif
