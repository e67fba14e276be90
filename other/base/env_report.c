/* env_report.c - GASNET_VERBOSEENV: one line on stderr for each variable that is read, once a run.
 *
 * Called by env.c and by clients that parse variables themselves.  Lines are kept until it is known
 * whether this process is the one that reports.
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>

#include "tools.h"

/* A variable that was reported, or is to be; `line` is freed once printed. */
struct report {
    struct report *next;
    char *line;
    char key[];
};
static struct report *reports, **reports_end = &reports;
static pthread_mutex_t reports_lock = PTHREAD_MUTEX_INITIALIZER;

int gasnett_verboseenv(void)
{
    if (gasneti_verboseenv_hook) return gasneti_verboseenv_hook();
    return gasnett_getenv("GASNET_VERBOSEENV") != NULL;
}

static void print_kept(int verbose)
{
    if (verbose < 0) return;
    for (struct report *r = reports; r; r = r->next) {
        if (r->line && verbose) (void)fputs(r->line, stderr);
        free(r->line);
        r->line = NULL;
    }
}

void gasneti_verboseenv_flush(void)
{
    int verbose = gasnett_verboseenv();
    (void)pthread_mutex_lock(&reports_lock);
    print_kept(verbose);
    (void)pthread_mutex_unlock(&reports_lock);
}

static bool already_reported(const char *key)
{
    struct report *r = reports;
    while (r && strcmp(r->key, key) != 0) r = r->next;
    return r != NULL;
}

enum { COLUMN = 50 }; /* of the word (default): beyond the longest name and value */

static char *format_line(const char *key, const char *text, int is_dflt)
{
    char *line;
    int width = (int)(strlen(key) + strlen(text));
    int pad = is_dflt && width < COLUMN ? COLUMN - width : 0;
    if (asprintf(&line, "ENV parameter: %s = %s%*s%s\n", key, text, pad, "",
                 is_dflt ? "   (default)" : "") < 0)
        return NULL;
    return line;
}

/* Without memory nothing is reported, which is no error. */
static void report(const char *key, const char *text, int is_dflt)
{
    int verbose = gasnett_verboseenv();
    size_t size = strlen(key) + 1;

    if (!verbose) return;
    (void)pthread_mutex_lock(&reports_lock);
    if (!already_reported(key)) {
        struct report *r = malloc(sizeof *r + size);
        if (r) {
            r->next = NULL;
            r->line = format_line(key, text, is_dflt);
            memcpy(r->key, key, size);
            *reports_end = r;
            reports_end = &r->next;
        }
    }
    print_kept(verbose);
    (void)pthread_mutex_unlock(&reports_lock);
}

/* "value as given (normalised)" where the two differ. */
static void report_number(const char *key, const char *normal, int is_dflt)
{
    const char *value = is_dflt ? NULL : gasnett_getenv(key);
    char *both = NULL;

    if (value && strcmp(value, normal) != 0 && asprintf(&both, "%s (%s)", value, normal) < 0)
        both = NULL;
    report(key, both ? both : normal, is_dflt);
    free(both);
}

void gasnett_envstr_display(const char *key, const char *val, int is_dflt)
{
    report(key, !val ? "*not set*" : !*val ? "*empty*" : val, is_dflt);
}

void gasnett_envint_display(const char *key, int64_t val, int is_dflt, int is_mem_size)
{
    char text[64];
    report_number(key, gasnett_format_number(val, text, sizeof text, is_mem_size), is_dflt);
}

void gasnett_envdbl_display(const char *key, double val, int is_dflt)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%g", val);
    report_number(key, text, is_dflt);
}
