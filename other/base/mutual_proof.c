/* mutual_proof.c - see mutual_proof.h. */
#include "other/base/mutual_proof.h"

#include <string.h>

void gasneti_mutual_proof(const char *secret, char side, const struct gasneti_said *said,
                          uint8_t proof[GASNETI_DIGEST])
{
    struct gasneti_hmac m;
    gasneti_hmac_start(&m, secret, secret ? strlen(secret) : 0);
    gasneti_hmac_add(&m, &side, 1);
    gasneti_hmac_add(&m, said->connector, said->connector_len);
    gasneti_hmac_add(&m, said->acceptor, said->acceptor_len);
    gasneti_hmac_end(&m, proof);
}
