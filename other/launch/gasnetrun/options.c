/* options.c - parses the launcher's command line; see options.h.
 *
 * Called by main.  Parsing ends at the first word that is no option, since the following words are
 * the program and its arguments.
 */
#include "other/launch/gasnetrun/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 65535, JOB_MAX = 1 << 30 };

struct parser {
    char **at; /* the current word */
    char *why;
    size_t why_size;
};

static bool options_complain(struct parser *p, const char *problem, const char *word)
{
    snprintf(p->why, p->why_size, problem, word);
    return false;
}

/* The value of an option: the rest of its word (-n4, -spawner=ssh) or the next word. */
static const char *options_value(struct parser *p, const char *name)
{
    const char *glued = *p->at + strlen(name);
    if (*glued == '=') return glued + 1;
    if (*glued) return glued;
    return p->at[1] ? *++p->at : NULL;
}

static bool options_take_number_to(struct parser *p, const char *name, unsigned long most,
                                   uint32_t *number)
{
    char problem[160], *end;
    const char *text = options_value(p, name);
    snprintf(problem, sizeof problem, "%s %%s: a whole number from 1 to %lu is needed here", name,
             most);
    if (!text) return options_complain(p, problem, "(nothing)");
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < 1 || value > most)
        return options_complain(p, problem, text);
    *number = (uint32_t)value;
    return true;
}

static bool options_take_number(struct parser *p, const char *name, uint32_t *number)
{
    return options_take_number_to(p, name, RANKS_MAX, number);
}

static bool options_take_text(struct parser *p, const char *name, const char **text)
{
    *text = options_value(p, name);
    return (*text && **text) || options_complain(p, "%s: a value is needed behind it", name);
}

static bool options_is(const char *word, const char *name)
{
    return strcmp(word, name) == 0;
}

/* "-n", "-n4": the option, alone or followed by a number. */
static bool is_number_option(const char *word, const char *name)
{
    size_t len = strlen(name);
    return strncmp(word, name, len) == 0 &&
           (!word[len] || word[len] == '=' || strspn(word + len, "0123456789") > 0);
}

static bool is_encoding(const char *word)
{
    static const char *const known[] = {"-encode",   "-encode-args",   "-encode-env",
                                        "-noencode", "-noencode-args", "-noencode-env"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (options_is(word, known[i])) return true;
    return false;
}

static bool options_take_option(struct parser *p, struct options *o)
{
    const char *word = *p->at;
    if (is_number_option(word, "-np")) return options_take_number(p, "-np", &o->ranks);
    if (is_number_option(word, "-n")) return options_take_number(p, "-n", &o->ranks);
    if (is_number_option(word, "-N")) return options_take_number(p, "-N", &o->hosts);
    if (is_number_option(word, "-c")) return options_take_number(p, "-c", &o->cpus);
    if (options_is(word, "-E") || strncmp(word, "-E=", 3) == 0)
        return options_take_text(p, "-E", &o->export_);
    if (options_is(word, "-spawner") || strncmp(word, "-spawner=", 9) == 0)
        return options_take_text(p, "-spawner", &o->spawner);
    if (strncmp(word, "--spawner=", 10) == 0) return options_take_text(p, "--spawner", &o->spawner);
    if (is_encoding(word)) return true; /* arguments need no encoding here */
    if (options_is(word, "-v")) return o->verbose = true;
    if (options_is(word, "-t")) return o->verbose = o->dry_run = true;
    if (options_is(word, "-k")) return o->verbose = o->keep = true;
    if (options_is(word, "-h") || options_is(word, "-help") || options_is(word, "--help"))
        return o->action = OPTIONS_HELP, true;
    if (options_is(word, "--help-env")) return o->action = OPTIONS_HELP_ENV, true;
    if (options_is(word, "--doctor")) return o->action = OPTIONS_DOCTOR, true;
    if (options_is(word, "--stats") || strncmp(word, "--stats=", 8) == 0)
        return o->action = OPTIONS_STATS, options_take_number_to(p, "--stats", JOB_MAX, &o->job);
    if (options_is(word, "--why") || strncmp(word, "--why=", 6) == 0)
        return o->action = OPTIONS_WHY, options_take_number_to(p, "--why", JOB_MAX, &o->job);
    if (options_is(word, "--trace-report")) return o->action = OPTIONS_TRACE_REPORT, true;
    if (options_is(word, "-o") || strncmp(word, "-o=", 3) == 0)
        return options_take_text(p, "-o", &o->output);
    if (options_is(word, "--top") || strncmp(word, "--top=", 6) == 0)
        return o->action = OPTIONS_TOP, options_take_number_to(p, "--top", JOB_MAX, &o->job);
    if (options_is(word, "-V") || options_is(word, "--version"))
        return o->action = OPTIONS_VERSION, true;
    return options_complain(p, "unknown option %s", word);
}

bool options_parse(struct options *options, char **argv, char *why, size_t why_size)
{
    struct parser p = {.at = argv + 1, .why = why, .why_size = why_size};
    memset(options, 0, sizeof *options);
    for (; *p.at && **p.at == '-'; p.at++) {
        if (options_is(*p.at, "--")) {
            p.at++;
            break;
        }
        if (!options_take_option(&p, options)) return false;
        if (options->action != OPTIONS_RUN && options->action != OPTIONS_TRACE_REPORT) return true;
    }
    options->program = p.at;
    if (options->action == OPTIONS_TRACE_REPORT)
        return *p.at ||
               options_complain(&p, "%s: the files with the traces are missing", "--trace-report");
    if (options->output)
        return options_complain(&p, "-o %s: only --trace-report writes a file", options->output);
    if (!options->ranks)
        return options_complain(&p, "%s: the number of processes is missing: -n <processes>",
                                *p.at ? *p.at : "no program");
    if (!*p.at) return options_complain(&p, "%s: a program to run is missing", "command line");
    return true;
}
