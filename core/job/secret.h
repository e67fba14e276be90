/* secret.h - the key of the job: random bytes that its processes alone know.  Part of the contract
 * with the networks, which seal their messages with it where other processes can send messages.
 */
#pragma once

#include <stdint.h>

#include "other/launch/bootstrap.h"

enum { GASNETC_SECRET_BYTES = 16 };

/* Collective, in gasnet_init and before net_open: rank 0 draws the key, and the bootstrap sends it
 * to the other ranks.  The key is in no environment and on no command line. */
void gasnetc_secret_share(const struct bootstrap_job *job);

/* The key, GASNETC_SECRET_BYTES; and as text, in hexadecimal digits. */
const uint8_t *gasnetc_secret(void);
const char *gasnetc_secret_text(void);
