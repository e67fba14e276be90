/* env.c - environment variables: looked up, decoded, and parsed as yes/no, integer or number.
 *
 * Used by the core and by clients.  A value that does not parse is a fatal error that names the
 * variable; env_report.c reports the variables that are read.
 */
#include "config.h"

#include <pthread.h>

#include "environment.h"
#include "tools.h"

/* Decoded values, never freed since callers keep pointers to them. */
struct decoded {
    struct decoded *next;
    char *value;
    char raw[];
};
static struct decoded *decoded_values;
static pthread_mutex_t decoded_lock = PTHREAD_MUTEX_INITIALIZER;

static char *raw_value(const char *key)
{
    char *value = gasneti_getenv_hook ? gasneti_getenv_hook(key) : NULL;
    return value ? value : gasneti_variable(key);
}

static struct decoded *find_decoded(const char *raw)
{
    struct decoded *d = decoded_values;
    while (d && strcmp(d->raw, raw) != 0) d = d->next;
    return d;
}

static struct decoded *add_decoded(const char *raw)
{
    size_t size = strlen(raw) + 1;
    struct decoded *d = malloc(sizeof *d + 2 * size);
    if (!d) gasnett_fatalerror("out of memory for the environment");
    memcpy(d->raw, raw, size);
    d->value = memcpy(d->raw + size, raw, size);
    (void)gasneti_decode(d->value);
    d->next = decoded_values;
    decoded_values = d;
    return d;
}

char *gasnett_getenv(const char *key)
{
    char *value = key && *key ? raw_value(key) : NULL;
    struct decoded *d;

    if (!value || !strstr(value, "%0") || raw_value("GASNET_DISABLE_ENVDECODE")) return value;
    (void)pthread_mutex_lock(&decoded_lock);
    d = find_decoded(value);
    if (!d) d = add_decoded(value);
    (void)pthread_mutex_unlock(&decoded_lock);
    return d->value;
}

void gasnett_setenv(const char *key, const char *value)
{
    if (setenv(key, value, 1)) gasnett_fatalerror("setenv %s: %s", key, strerror(errno));
}

void gasnett_unsetenv(const char *key)
{
    if (unsetenv(key)) gasnett_fatalerror("unsetenv %s: %s", key, strerror(errno));
}

char *gasnett_getenv_withdefault(const char *key, const char *dflt)
{
    char *value = gasnett_getenv(key);
    gasnett_envstr_display(key, value ? value : dflt, value == NULL);
    /* The caller must not modify the result; the cast is the interface's. */
    return value ? value : (char *)(uintptr_t)dflt;
}

int gasnett_getenv_yesno_withdefault(const char *key, int dflt)
{
    const char *value = gasnett_getenv(key);
    int result = value ? gasneti_parse_yesno(value) : (dflt != 0);

    if (result < 0) gasnett_fatalerror("%s=%s: must be Y, YES or 1, or N, NO or 0", key, value);
    gasnett_envstr_display(key, result ? "YES" : "NO", value == NULL);
    return result;
}

int64_t gasnett_getenv_int_withdefault(const char *key, int64_t dflt, uint64_t mem_multiplier)
{
    const char *value = gasnett_getenv(key);
    int64_t result = dflt;

    if (value && !gasneti_parse_int(value, mem_multiplier, &result))
        gasnett_fatalerror("%s=%s: %s", key, value,
                           errno == ERANGE  ? "too large: its magnitude must be below 2^63"
                           : mem_multiplier ? "must be a memory size, for example 4096, 64KB or "
                                              "1.5GB"
                                            : "must be an integer, decimal or 0x hexadecimal");
    gasnett_envint_display(key, result, value == NULL, mem_multiplier != 0);
    return result;
}

double gasnett_getenv_dbl_withdefault(const char *key, double dflt)
{
    const char *value = gasnett_getenv(key);
    double result = dflt;

    if (value && !gasneti_parse_double(value, &result))
        gasnett_fatalerror("%s=%s: must be a number or a fraction such as 1/4", key, value);
    gasnett_envdbl_display(key, result, value == NULL);
    return result;
}

int64_t gasnett_parse_int(const char *str, uint64_t mem_multiplier)
{
    int64_t value;
    bool fits;
    (void)gasneti_read_number(str, mem_multiplier, &value, &fits);
    return value;
}

char *gasnett_format_number(int64_t val, char *buf, size_t bufsz, int is_mem_size)
{
    return gasneti_format_number(val, buf, bufsz, is_mem_size != 0);
}
