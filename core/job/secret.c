/* secret.c - see secret.h. */
#include "core/job/secret.h"

#include <sys/random.h>

#include "core/report.h"
#include "other/base/hex.h"

static uint8_t secret[GASNETC_SECRET_BYTES];
static char text[2 * GASNETC_SECRET_BYTES + 1];

void gasnetc_secret_share(const struct bootstrap_job *job)
{
    if (job->rank == 0 && getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        gasneti_fatal("getrandom: no random numbers for the key of the job");
    if (job->size > 1) bootstrap_broadcast(secret, sizeof secret, 0);
    gasneti_hex(text, secret, sizeof secret);
}

const uint8_t *gasnetc_secret(void)
{
    return secret;
}

const char *gasnetc_secret_text(void)
{
    return text;
}
