/* ssh_seal.h - encrypts the connection between the launcher and a control process. A process that
 * does not know the job's secret cannot read it, nor add, change, repeat or leave out anything.
 *
 * Pure. AES-256-GCM of OpenSSL's libcrypto, with a key for each direction of each connection, and
 * the record's number as nonce. That the connection is cut is noticed as well.
 */
#ifndef SSH_SEAL_H
#define SSH_SEAL_H

#include "other/base/mutual_proof.h"
#include "other/launch/ssh/ssh_wire.h"

enum {
    SSH_SEAL_KEY = GASNETI_DIGEST,
    SSH_SEAL_HEAD = 4,       /* the length of the encrypted bytes */
    SSH_SEAL_TAG = 16,       /* the tag, behind the encrypted bytes */
    SSH_SEAL_MOST = 1 << 15, /* bytes in one record */
};

/* A direction of a connection. */
struct ssh_seal {
    uint8_t key[SSH_SEAL_KEY];
    uint64_t next; /* number of the next record */
};

struct ssh_seals {
    struct ssh_seal out, in;
};

/* Sets the keys of the end that accepted the connection, or of the end that connected. */
void ssh_seal_keys(struct ssh_seals *seals, const char *secret, const struct gasneti_said *said,
                   bool acceptor);

/* Appends a record of `len` bytes, at most SSH_SEAL_MOST. */
void ssh_seal_close(struct ssh_seal *seal, const uint8_t *plain, size_t len,
                    struct ssh_wire_buf *record);
/* Decrypts the record at the front of `bytes`, where it is. Returns its length, with its contents
 * in *plain; 0: the record is incomplete; -1: the peer has not sent this as its next record. */
ssize_t ssh_seal_open(struct ssh_seal *seal, uint8_t *bytes, size_t len, uint8_t **plain,
                      size_t *plain_len);

#endif
