/* ssh_seal.c - see ssh_seal.h. */
#include "other/launch/ssh/ssh_seal.h"

#include <openssl/evp.h>
#include <string.h>

enum { SEAL_NONCE = 12 };

_Static_assert(SSH_SEAL_KEY == 32, "the length of an AES-256 key");

/* Encrypts `len` bytes where they are and writes the tag of them and of `head`, or decrypts them if
 * the tag is right. False: the tag is wrong, or there is no memory. */
static bool seal_crypt(const struct ssh_seal *seal, bool encrypt, const uint8_t *head,
                       uint8_t *bytes, size_t len, uint8_t tag[SSH_SEAL_TAG])
{
    uint8_t nonce[SEAL_NONCE] = {0};
    int done;
    for (int i = 0; i < 8; i++) nonce[4 + i] = (uint8_t)(seal->next >> (8 * i));
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good =
        ctx && EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, seal->key, nonce, encrypt) == 1 &&
        (encrypt || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, SSH_SEAL_TAG, tag) == 1) &&
        EVP_CipherUpdate(ctx, NULL, &done, head, SSH_SEAL_HEAD) == 1 &&
        EVP_CipherUpdate(ctx, bytes, &done, bytes, (int)len) == 1 &&
        EVP_CipherFinal_ex(ctx, bytes + len, &done) == 1 &&
        (!encrypt || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, SSH_SEAL_TAG, tag) == 1);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

void ssh_seal_close(struct ssh_seal *seal, const uint8_t *plain, size_t len,
                    struct ssh_wire_buf *record)
{
    uint8_t tag[SSH_SEAL_TAG] = {0};
    const size_t at = record->len;
    ssh_wire_put_u32(record, (uint32_t)len);
    ssh_wire_put(record, plain, len);
    ssh_wire_put(record, tag, sizeof tag);
    if (record->failed) return;
    uint8_t *head = record->data + at, *bytes = head + SSH_SEAL_HEAD;
    if (!seal_crypt(seal, true, head, bytes, len, bytes + len)) record->failed = true;
    seal->next++;
}

ssize_t ssh_seal_open(struct ssh_seal *seal, uint8_t *bytes, size_t len, uint8_t **plain,
                      size_t *plain_len)
{
    if (len < SSH_SEAL_HEAD) return 0;
    const size_t inside = ssh_wire_u32(bytes), sealed = SSH_SEAL_HEAD + inside;
    if (inside > SSH_SEAL_MOST) return -1;
    if (len < sealed + SSH_SEAL_TAG) return 0;
    *plain = bytes + SSH_SEAL_HEAD;
    *plain_len = inside;
    if (!seal_crypt(seal, false, bytes, *plain, inside, bytes + sealed)) return -1;
    seal->next++;
    return (ssize_t)(sealed + SSH_SEAL_TAG);
}

/* --- keys --- */

static void seal_direction(struct ssh_seal *seal, const char *secret,
                           const struct gasneti_said *said, bool by_acceptor)
{
    gasneti_mutual_proof(secret, by_acceptor ? 'A' : 'C', said, seal->key);
    seal->next = 0;
}

void ssh_seal_keys(struct ssh_seals *seals, const char *secret, const struct gasneti_said *said,
                   bool acceptor)
{
    seal_direction(&seals->out, secret, said, acceptor);
    seal_direction(&seals->in, secret, said, !acceptor);
}
