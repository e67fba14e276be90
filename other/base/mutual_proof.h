/* mutual_proof.h - how two processes prove to each other that they know the same secret, which is
 * never sent.
 *
 * Pure. The connector sends its words, with a random challenge; the acceptor its own words, with a
 * challenge, and the proof for side 'a'; then the connector the proof for side 'c'. A proof covers
 * the words of both, and its side, so that it can neither be used again nor be sent back.
 */
#ifndef GASNETI_MUTUAL_PROOF_H
#define GASNETI_MUTUAL_PROOF_H

#include "other/base/sha256.h"

/* The words of both sides, of lengths that both know. */
struct gasneti_said {
    const void *connector, *acceptor;
    size_t connector_len, acceptor_len;
};

/* The proof of SIDE. Another value of SIDE makes a key that both sides alone know. SECRET may be
 * NULL: then it proves nothing. */
void gasneti_mutual_proof(const char *secret, char side, const struct gasneti_said *said,
                          uint8_t proof[GASNETI_DIGEST]);

#endif
