/* decode.c - undoes the %0XX encoding with which launchers pass special characters through shells.
 *
 * Used by env.c, and by the core for the argument vector.  "%0" and two hex digits are one byte;
 * any other percent sign is a percent sign.
 */
#include "config.h"

#include "tools.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

size_t gasneti_decode(char *text)
{
    char *out = text;
    for (const char *in = text; *in;) {
        if (in[0] == '%' && in[1] == '0' && hex_digit(in[2]) >= 0 && hex_digit(in[3]) >= 0) {
            *out++ = (char)(hex_digit(in[2]) << 4 | hex_digit(in[3]));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

static void *must_alloc(void *p, const char *what)
{
    if (!p) gasnett_fatalerror("out of memory for %s", what);
    return p;
}

/* Appends the words of one decoded argument; zero bytes separate them. */
static void append_words(char ***out, int *n, char *text, size_t len)
{
    for (char *word = text; word <= text + len; word += strlen(word) + 1) {
        *out = must_alloc(realloc(*out, sizeof **out * (size_t)(*n + 2)), "arguments");
        (*out)[(*n)++] = word;
    }
    (*out)[*n] = NULL;
}

void gasneti_decode_args(int *argc, char ***argv)
{
    char **decoded = NULL;
    int n = 0;

    if (!argc || !argv || !*argv || *argc == 0) return;
    if (gasnett_getenv_yesno_withdefault("GASNET_DISABLE_ARGDECODE", 0)) return;
    for (int i = 0; i < *argc; i++) {
        char *text = must_alloc(strdup((*argv)[i]), "arguments");
        append_words(&decoded, &n, text, gasneti_decode(text));
    }
    *argc = n;
    *argv = decoded;
}
