/* log_levels.c - the value of GASNET_LOG.  Pure. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/log.h"

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const component_names[] = {
#define NAME(name) #name,
    GASNETI_LOG_COMPONENTS(NAME)
#undef NAME
};
enum { LEVELS = sizeof level_names / sizeof *level_names };

/* The index of a word among the names; -1: it is none of them. */
static int find(const char *const *names, int count, const char *word, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == length && !strncasecmp(names[i], word, length)) return i;
    return -1;
}

static void explain(const char *word, size_t length, char *why, size_t size)
{
    char components[128] = "";
    for (int i = 0; i < GASNETI_LOG_COUNT; i++) {
        const size_t n = strlen(components);
        snprintf(components + n, sizeof components - n, "%s%s", i ? ", " : "", component_names[i]);
    }
    snprintf(why, size,
             "\"%.*s\" is neither a level (error, warn, info, debug) nor COMPONENT:LEVEL; the "
             "components are %s",
             (int)(length < 40 ? length : 40), word, components);
}

/* Reads one "LEVEL" or "COMPONENT:LEVEL"; false if it is malformed. */
static bool parse_word(const char *word, size_t length, gasneti_log_levels_t *levels)
{
    const char *colon = memchr(word, ':', length);
    const char *name = colon ? colon + 1 : word;
    const int level = find(level_names, LEVELS, name, length - (size_t)(name - word));
    if (level < 0) return false;
    if (colon) {
        const int component =
            find(component_names, GASNETI_LOG_COUNT, word, (size_t)(colon - word));
        if (component < 0) return false;
        levels->of[component] = (uint8_t)level;
        return true;
    }
    levels->general = (uint8_t)level;
    memset(levels->of, level, sizeof levels->of);
    return true;
}

bool gasneti_log_parse(const char *text, gasneti_log_levels_t *levels, char *why, size_t size)
{
    gasneti_log_levels_t parsed = {.general = GASNETI_LOG_WARN};
    memset(parsed.of, GASNETI_LOG_WARN, sizeof parsed.of);
    for (const char *word = text; *word;) {
        const size_t length = strcspn(word, ",");
        if (!parse_word(word, length, &parsed)) {
            explain(word, length, why, size);
            return false;
        }
        word += length + (word[length] == ',');
    }
    *levels = parsed;
    return true;
}

bool gasneti_log_check(const char *text, char *why, size_t size)
{
    gasneti_log_levels_t levels;
    return gasneti_log_parse(text, &levels, why, size);
}
